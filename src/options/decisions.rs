//! Options of decisions, and of the rules that they become.

use clap::ArgAction;
use collrules_record::criteria::Middle;
use collrules_record::options::Demands;
use collrules_record::policy::{Assumption, Assumptions, Between, Policy};
use collrules_rules::bits::Keep;
use collrules_workflow::values::percent;

use super::{Layer, layer, words};

layer! {
    #[command(next_help_heading = "Decisions")]
    DecisionArgs over Demands {
        /// Gain, in percent, that an algorithm needs to replace the default
        #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
        min_gain: Option<f64>,
        /// Maximum share of wrong replacements among all, in percent (false discovery rate)
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        error_rate: Option<f64>,
        /// Gain, in percent, that an algorithm needs if there are too few values for a test. The mean with the gains on
        /// neighbouring communicator sizes must be as large
        #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = percent)]
        untested_gain: Option<f64>,
        /// Statistic to compare
        #[arg(long = "statistic", default_value = "median", value_parser = words!(
            Middle,
            "Their median, in which rare slow calls do not count",
            "Their mean, in which they do",
        ))]
        middle: Option<Middle>,
        /// Choose what is faster by the median even if rare slow calls make it slower on average
        #[arg(long, action = ArgAction::SetTrue)]
        accept_stalls: Option<bool>,
    }
}

layer! {
    #[command(next_help_heading = "Rules")]
    PolicyArgs over Policy {
        /// Maximum loss of a measured size by sharing a rule, in percent of the time of its best algorithm; the fewest
        /// rules within this limit are written
        #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
        max_regret: Option<f64>,
        /// Rules for communicator sizes between measured ones: keep (the default), agree (the neighbours' choice, if both
        /// have the same), lower (the choice of the next smaller one)
        #[arg(long, value_name = "HOW", default_value = "keep")]
        between: Option<Between>,
        #[command(flatten)]
        assumptions: AssumptionArgs,
    }
}

#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct AssumptionArgs {
    /// Guarantees of your programs beyond MPI's rules, separated by commas: commutative-ops (reduction operations
    /// commute), consistent-arguments (all ranks pass the same counts and datatypes to scatter and gather)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) assume: Option<Vec<Assumption>>,
    /// standard, or strict: also avoid what fails if ranks describe the same data by different datatypes
    #[arg(long, value_name = "HOW", default_value = "standard")]
    safety: Option<Safety>,
    /// Choose only algorithms that keep the bits of floating-point sums: default (those of Open MPI's default at the same
    /// size), ranks (the same on all ranks), sizes (the same for every message size)
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

impl Layer<Assumptions> for AssumptionArgs {
    /// Guarantees add to those below.
    fn over(self, below: Assumptions) -> Assumptions {
        let strict = self.safety.map(|safety| safety == Safety::Standard);
        let below = Assumptions {
            uniform_datatypes: strict.over(below.uniform_datatypes),
            keep_bits: self.keep_bits.over(below.keep_bits),
            ..below
        };
        self.assume.into_iter().flatten().fold(below, Assumptions::with)
    }
}
