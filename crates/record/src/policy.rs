//! How verdicts become rules: how many, how safe, and what holds where nothing was measured.

use std::fmt;
use std::str::FromStr;

use collrules_rules::hazard::Hazard;
use collrules_rules::metric::{Metric, metric};
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::units::Ranks;

/// How verdicts become rules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// What sharing a rule may cost a measured cell: time over the time of its best permitted candidate, minus one.
    pub max_regret: f64,
    /// What holds for communicator sizes between measured ones.
    pub between: Between,
    /// What programs are taken to keep to.
    pub assumptions: Assumptions,
}

impl Default for Policy {
    fn default() -> Self {
        Self { max_regret: 0.03, between: Between::Keep, assumptions: Assumptions::default() }
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

/// A text that names nothing of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is none of {known}")]
pub struct UnknownName {
    found: String,
    known: String,
}

fn named<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, UnknownName> {
    let known = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    let found = all.iter().copied().find(|one| name(*one) == text);
    found.ok_or_else(|| UnknownName { found: text.to_owned(), known: known() })
}

impl Between {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Agree, Self::Lower];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Agree => "agree",
            Self::Lower => "lower",
        }
    }
}

impl FromStr for Between {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named(text, &Self::ALL, Self::name)
    }
}

impl Assumption {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::CommutativeOps, Self::ConsistentArguments, Self::UniformDatatypes];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::CommutativeOps => "commutative-ops",
            Self::ConsistentArguments => "consistent-arguments",
            Self::UniformDatatypes => "uniform-datatypes",
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Assumption {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named(text, &Self::ALL, Self::name)
    }
}

impl Assumptions {
    /// All assumptions made: whatever was measured may be chosen unless it fails outright.
    pub const ALL: Self = Self { commutative_ops: true, consistent_arguments: true, uniform_datatypes: true };

    /// Whether all message sizes of a communicator size have to share one choice: the lookup does not see the message
    /// size, or ranks may pass other counts to scatter and gather where MPI ignores them.
    pub fn one_choice(self, release: Release, collective: Collective, ranks: Ranks) -> bool {
        let blind = matches!(metric(release, collective, ranks), Metric::CountFree | Metric::None);
        blind || (matches!(collective, Collective::Scatter | Collective::Gather) && !self.consistent_arguments)
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
    fn names_read_back() {
        for between in Between::ALL {
            assert_eq!(between.name().parse(), Ok(between));
        }
        for assumption in Assumption::ALL {
            assert_eq!(assumption.name().parse(), Ok(assumption));
            assert!(Assumptions::ALL.makes(assumption) && Assumptions::default().with(assumption).makes(assumption));
        }
        let unknown = "upper".parse::<Between>().expect_err("unknown").to_string();
        assert_eq!(unknown, "`upper` is none of keep, agree, lower");
    }
}
