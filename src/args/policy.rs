//! How verdicts become rules, as options.

use collrules_record::Policy;
use collrules_record::policy::{Assumption, Assumptions, Between};

use collrules_workflow::options::percent;

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct PolicyArgs {
    /// What sharing a rule may cost a measured cell, in percent of the time of its best permitted candidate; the fewest
    /// rules that keep to it are written
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub(crate) max_regret: f64,
    /// What holds on communicator sizes between measured ones: keep (the builtin), agree (what both neighbours choose,
    /// where they agree), lower (what the next smaller one chooses)
    #[arg(long, value_name = "HOW", default_value = "keep")]
    pub(crate) between: Between,
    /// What your programs guarantee beyond what MPI asks of them, separated by commas: commutative-ops (reduction
    /// operations commute), consistent-arguments (all ranks pass the same counts and datatypes to scatter and gather)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) assume: Vec<Assumption>,
    /// standard, or strict: avoid as well what fails where ranks describe the same data by different datatypes
    #[arg(long, value_name = "HOW", default_value = "standard")]
    pub(crate) safety: Safety,
}

/// How careful the rules are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Safety {
    /// As safe as Open MPI's own decision
    Standard,
    /// Safer
    Strict,
}

impl PolicyArgs {
    /// The policy that is asked for.
    pub(crate) fn policy(&self) -> Policy {
        let none = Assumptions { uniform_datatypes: self.safety == Safety::Standard, ..Assumptions::default() };
        Policy {
            max_regret: self.max_regret,
            between: self.between,
            assumptions: self.assume.iter().fold(none, |made, assumption| made.with(*assumption)),
        }
    }
}
