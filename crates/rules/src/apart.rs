//! Rules for communicators that lie on nodes in one way alone, which only JSON files can tell apart.

use serde::{Deserialize, Serialize};

use crate::call::Distribution;
use crate::collective::Collective;
use crate::table::{RuleTable, SizeSteps};
use crate::units::Ranks;

/// What is chosen for a collective on so many ranks, where they lie like that. Where nothing is, the builtin decides there,
/// whatever the rules for any distribution say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// How the ranks lie: not [`Distribution::Any`], which the table is for.
    pub distribution: Distribution,
    /// The choices over lookup bytes.
    pub sizes: SizeSteps,
}

/// The table of one distribution alone.
pub(crate) fn table_of(apart: &[Apart], distribution: Distribution) -> RuleTable {
    let mut table = RuleTable::new();
    for block in apart.iter().filter(|block| block.distribution == distribution) {
        let mut steps = table.get(block.collective).cloned().unwrap_or_else(crate::table::all_builtin);
        steps.set(block.ranks.0.into(), Some(u64::from(block.ranks.0) + 1), block.sizes.clone());
        table.set(block.collective, steps);
    }
    table
}
