//! How verdicts become rules: how many, how safe, and what holds where nothing was measured.

use clap::{ArgMatches, Command, FromArgMatches};
use collrules_rules::hazard::Hazard;
use collrules_rules::metric::{Metric, metric};
use collrules_rules::registry::Algorithm;
use collrules_rules::{Collective, Release, names};
use serde::{Deserialize, Serialize};

use crate::arrangement::Shares;
use crate::units::Ranks;
use crate::values::percent;

/// How verdicts become rules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Rules")]
pub struct Policy {
    /// What sharing a rule may cost a measured cell, in percent of the time of its best permitted candidate; the fewest
    /// rules that keep to it are written
    // As a share: the cell's time over the other, minus one.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub max_regret: f64,
    /// What holds on communicator sizes between measured ones: keep (the builtin), agree (what both neighbours choose,
    /// where they agree), lower (what the next smaller one chooses)
    #[arg(long, value_name = "HOW", default_value = "keep")]
    pub between: Between,
    /// Where communicators of one size were measured in several layouts: what counts how much, such as
    /// full=0.8,one-per-node=0.2 (several nodes with several ranks, with one each; single-node is the third). What is not
    /// named must not get slower, and counts for nothing else; =0 leaves it out [default: all count alike]
    #[arg(long = "weight", value_name = "LIST", default_value = "", hide_default_value = true)]
    #[serde(default, skip_serializing_if = "Shares::is_empty")]
    pub shares: Shares,
    /// What programs are taken to keep to.
    #[command(flatten)]
    pub assumptions: Assumptions,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_regret: 0.03,
            between: Between::Keep,
            shares: Shares::default(),
            assumptions: Assumptions::default(),
        }
    }
}

/// What holds for communicator sizes between two measured ones. Below the smallest and above the largest one the builtin
/// stays in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// The builtin: nothing was measured there.
    #[default]
    Keep,
    /// What both neighbours choose, where they agree; else the builtin.
    Agree,
    /// What the next smaller measured size chooses, as Open MPI itself reads rules files.
    Lower,
}

/// What programs are taken to keep to, beyond what MPI asks of them. Each makes more choices permissible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumptions {
    /// Reduction operations commute.
    pub commutative_ops: bool,
    /// All ranks pass the same counts and datatypes to scatter and gather, also where MPI ignores them.
    pub consistent_arguments: bool,
    /// All ranks describe the same data by the same counts and datatypes. Open MPI's own decision takes this for granted
    /// as well; only strict safety does not.
    pub uniform_datatypes: bool,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self { commutative_ops: false, consistent_arguments: false, uniform_datatypes: true }
    }
}

/// How assumptions are said.
#[derive(clap::Args)]
struct Assumed {
    /// What your programs guarantee beyond what MPI asks of them, separated by commas: commutative-ops (reduction
    /// operations commute), consistent-arguments (all ranks pass the same counts and datatypes to scatter and gather)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    assume: Vec<Assumption>,
    /// standard, or strict: avoid as well what fails where ranks describe the same data by different datatypes
    #[arg(long, value_name = "HOW", default_value = "standard")]
    safety: Safety,
}

/// How careful the rules are.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Safety {
    /// As safe as Open MPI's own decision
    Standard,
    /// Safer
    Strict,
}

impl FromArgMatches for Assumptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut made = Self::default();
        made.update_from_arg_matches(matches).map(|()| made)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        if let Some(safety) = matches.get_one::<Safety>("safety") {
            self.uniform_datatypes = *safety == Safety::Standard;
        }
        let assumed = matches.get_many::<Assumption>("assume").unwrap_or_default();
        *self = assumed.fold(*self, |made, assumption| made.with(*assumption));
        Ok(())
    }
}

impl clap::Args for Assumptions {
    fn augment_args(command: Command) -> Command {
        Assumed::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Assumed::augment_args_for_update(command)
    }
}

/// One of the assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// Reduction operations commute.
    CommutativeOps,
    /// Ranks agree on arguments of scatter and gather that MPI ignores.
    ConsistentArguments,
    /// Ranks agree on counts and datatypes of the same data.
    UniformDatatypes,
}

names!(Between, read as "way between communicator sizes" {
    Keep "keep",
    Agree "agree",
    Lower "lower",
});

names!(Assumption, read as "assumption" {
    CommutativeOps "commutative-ops",
    ConsistentArguments "consistent-arguments",
    UniformDatatypes "uniform-datatypes",
});

impl Assumptions {
    /// All assumptions made: whatever was measured may be chosen unless it fails outright.
    pub const ALL: Self = Self { commutative_ops: true, consistent_arguments: true, uniform_datatypes: true };

    /// Whether all message sizes of a communicator size have to share one choice: the lookup does not see the message
    /// size, or ranks may pass other counts to scatter and gather where MPI ignores them. A threshold would make ranks of one call
    /// run different algorithms there, and a range left to the builtin is such a threshold too.
    pub fn one_choice(self, release: Release, collective: Collective, ranks: Ranks) -> bool {
        let blind = matches!(metric(release, collective, ranks), Metric::CountFree | Metric::None);
        blind || (matches!(collective, Collective::Scatter | Collective::Gather) && !self.consistent_arguments)
    }

    /// What is not assumed, and an algorithm with segments of this size needs to give right results.
    pub fn lacking(&self, algorithm: &Algorithm, segsize: u64) -> Option<Assumption> {
        if algorithm.reorders() && !self.commutative_ops {
            return Some(Assumption::CommutativeOps);
        }
        (algorithm.wants_one_datatype(segsize) && !self.uniform_datatypes).then_some(Assumption::UniformDatatypes)
    }

    /// Whether they are those that hold unless somebody says otherwise.
    pub fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is made.
    pub fn makes(self, assumption: Assumption) -> bool {
        match assumption {
            Assumption::CommutativeOps => self.commutative_ops,
            Assumption::ConsistentArguments => self.consistent_arguments,
            Assumption::UniformDatatypes => self.uniform_datatypes,
        }
    }

    /// The same with this one made.
    #[must_use]
    pub fn with(mut self, assumption: Assumption) -> Self {
        match assumption {
            Assumption::CommutativeOps => self.commutative_ops = true,
            Assumption::ConsistentArguments => self.consistent_arguments = true,
            Assumption::UniformDatatypes => self.uniform_datatypes = true,
        }
        self
    }

    /// Whether a hazard of the rules is none to programs that keep to the assumptions.
    pub fn accept(self, hazard: &Hazard) -> bool {
        match hazard {
            Hazard::NonCommutative { .. } => self.commutative_ops,
            Hazard::SizeDependent { .. } => self.consistent_arguments,
            Hazard::TwoProcesses { .. } | Hazard::EndlessLoop { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_are_added_one_by_one() {
        for assumption in Assumption::ALL {
            assert!(Assumptions::ALL.makes(assumption) && Assumptions::default().with(assumption).makes(assumption));
        }
    }
}
