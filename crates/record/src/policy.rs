//! Policy that turns verdicts into rules: how many, how safe, and for what was not measured.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use collrules_rules::bits::{self, Effect, Keep};
use collrules_rules::hazard::Hazard;
use collrules_rules::metric::{Metric, metric};
use collrules_rules::registry::Algorithm;
use collrules_rules::{Collective, Release, names};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::Ranks;
use crate::values;

/// Policy that turns verdicts into rules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Rules")]
pub struct Policy {
    /// Maximum loss of a measured size by sharing a rule, in percent of the time of its best algorithm
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = values::percent)]
    pub max_regret: f64,
    /// Rules for communicator sizes between measured ones: keep (the default), agree (if both neighbours do), lower
    /// (the next smaller one's)
    #[arg(long, value_name = "HOW", default_value = "keep")]
    pub between: Between,
    /// Assumptions about programs.
    #[command(flatten)]
    pub assumptions: Assumptions,
}

values::default_is_no_option!(Policy);

names! {
    /// Rules for communicator sizes between two measured ones. Below the smallest and above the largest one the builtin
    /// stays in any case.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Between, read as "way between communicator sizes" {
        /// The builtin, since nothing was measured there.
        #[default]
        Keep "keep",
        /// The choice of both neighbours if they agree; else the builtin.
        Agree "agree",
        /// The choice of the next smaller measured size, as Open MPI itself reads rules files.
        Lower "lower",
    }
}

/// Assumptions about programs beyond MPI's guarantees. Each permits more choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumptions {
    /// Reduction operations commute.
    pub commutative_ops: bool,
    /// All ranks pass the same counts and datatypes to scatter and gather, even if MPI ignores them.
    pub consistent_arguments: bool,
    /// All ranks describe the same data by the same counts and datatypes. Open MPI's own decision assumes this too;
    /// only strict safety does not.
    pub uniform_datatypes: bool,
    /// Bits of sums that rules keep; if missing, programs accept other bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_bits: Option<Keep>,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self { commutative_ops: false, consistent_arguments: false, uniform_datatypes: true, keep_bits: None }
    }
}

/// Options that make assumptions.
#[derive(clap::Args)]
struct AssumptionOptions {
    /// Guarantees of your programs: commutative-ops (reduction operations commute), consistent-arguments (all ranks
    /// pass the same counts and datatypes to scatter and gather)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    assume: Vec<Assumption>,
    /// Strict avoids what fails if ranks describe the same data by different datatypes
    #[arg(long, value_name = "HOW", default_value = "standard")]
    safety: Option<Safety>,
    /// Choose only algorithms that keep the bits of floating-point sums: default (those of Open MPI's default), ranks
    /// (the same on all ranks), sizes (the same for every size)
    #[arg(long, value_name = "WHICH", conflicts_with = "between")]
    keep_bits: Option<Keep>,
}

/// Caution of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Safety {
    /// As safe as Open MPI's own decision
    Standard,
    /// Safer
    Strict,
}

impl Args for Assumptions {
    fn augment_args(command: Command) -> Command {
        AssumptionOptions::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        AssumptionOptions::augment_args_for_update(command)
    }
}

impl FromArgMatches for Assumptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut assumptions = Self::default();
        assumptions.update_from_arg_matches(matches).map(|()| assumptions)
    }

    /// Guarantees add to those that were given before.
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let AssumptionOptions { assume, safety, keep_bits } = FromArgMatches::from_arg_matches(matches)?;
        self.uniform_datatypes = safety.map_or(self.uniform_datatypes, |safety| safety == Safety::Standard);
        self.keep_bits = keep_bits.or(self.keep_bits);
        *self = assume.into_iter().fold(*self, Self::with);
        Ok(())
    }
}

names! {
    /// One of the assumptions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Assumption, read as "assumption" {
        /// Reduction operations commute.
        CommutativeOps "commutative-ops",
        /// Ranks agree on arguments of scatter and gather that MPI ignores.
        ConsistentArguments "consistent-arguments",
        /// Ranks agree on counts and datatypes of the same data.
        UniformDatatypes "uniform-datatypes",
        /// Sums may have other bits.
        OtherBits "other-bits",
    }
}

impl Assumptions {
    /// All assumptions: anything measured may be chosen unless it fails outright.
    pub const ALL: Self =
        Self { commutative_ops: true, consistent_arguments: true, uniform_datatypes: true, keep_bits: None };

    /// Returns true if all message sizes of a communicator size have to share one choice: the lookup does not see the
    /// message size, or ranks may pass different counts to scatter and gather, since MPI ignores some. A threshold
    /// would then make ranks of one call run different algorithms, and so would a range left to the builtin.
    pub fn one_choice(self, release: Release, collective: Collective, ranks: Ranks) -> bool {
        let blind = matches!(metric(release, collective, ranks), Metric::CountFree | Metric::None);
        blind
            || (collective.looks_up_by_rank() && !self.consistent_arguments)
            || (collective.reduces() && self.keep_bits == Some(Keep::Sizes))
    }

    /// Returns true if a rule with this alternative for a cell keeps the required bits, at all sizes from the next
    /// smaller one of these cells to the next larger one; false if the alternative is unknown.
    pub fn keeps_bits(self, release: Release, cell: Cell, candidate: Candidate, cells: &[Cell]) -> bool {
        let Some(keep) = self.keep_bits.filter(|_| cell.collective.reduces()) else { return true };
        let alike = |other: &&Cell| (other.collective, other.ranks) == (cell.collective, cell.ranks);
        let sizes = || cells.iter().filter(alike).map(|other| other.bytes.0);
        let first = sizes().filter(|bytes| *bytes < cell.bytes.0).max().map_or(0, |bytes| bytes + 1);
        let last = sizes().filter(|bytes| *bytes > cell.bytes.0).min().map_or(u64::MAX, |bytes| bytes - 1);
        match candidate {
            Candidate::Tuned(choice) => {
                bits::keeps(keep, release, cell.collective, choice, cell.ranks, &(first..=last))
            }
            Candidate::Han(_) => {
                // HAN ends with one sum for all ranks; its order changes with segments and nodes.
                keep == Keep::Ranks && bits::han_effect(cell.collective) == Effect::Nodes
            }
            Candidate::Component(_) => false,
            _ => true,
        }
    }

    /// The assumption that is not made, but that an algorithm with segments of this size needs for correct results.
    pub fn lacking(&self, algorithm: &Algorithm, segsize: u64) -> Option<Assumption> {
        if algorithm.reorders && !self.commutative_ops {
            return Some(Assumption::CommutativeOps);
        }
        (algorithm.wants_one_datatype(segsize) && !self.uniform_datatypes).then_some(Assumption::UniformDatatypes)
    }

    /// Returns true if it is made.
    pub fn makes(self, assumption: Assumption) -> bool {
        match assumption {
            Assumption::CommutativeOps => self.commutative_ops,
            Assumption::ConsistentArguments => self.consistent_arguments,
            Assumption::UniformDatatypes => self.uniform_datatypes,
            Assumption::OtherBits => self.keep_bits.is_none(),
        }
    }

    /// These assumptions and one more.
    #[must_use]
    pub fn with(mut self, assumption: Assumption) -> Self {
        match assumption {
            Assumption::CommutativeOps => self.commutative_ops = true,
            Assumption::ConsistentArguments => self.consistent_arguments = true,
            Assumption::UniformDatatypes => self.uniform_datatypes = true,
            Assumption::OtherBits => self.keep_bits = None,
        }
        self
    }

    /// Returns true if a hazard of the rules cannot occur in programs that keep to the assumptions.
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
