//! Rules for communicators with one arrangement on nodes only, which only JSON files distinguish.

use serde::{Deserialize, Serialize};

use crate::call::Distribution;
use crate::collective::Collective;
use crate::table::{RuleTable, SizeSteps};
use crate::units::Ranks;

/// Choices for a collective on communicators of one size and distribution over nodes. Ranges without a choice are left
/// to the builtin, even if the rules for any distribution have one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutRules {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// Distribution of the ranks over nodes; never [`Distribution::Any`], which is in the table.
    pub distribution: Distribution,
    /// The choices over lookup bytes.
    pub sizes: SizeSteps,
}

/// The table of one distribution alone.
pub(crate) fn table_of(layout_rules: &[LayoutRules], distribution: Distribution) -> RuleTable {
    let mut table = RuleTable::new();
    for block in layout_rules.iter().filter(|block| block.distribution == distribution) {
        let mut steps = table.get(block.collective).cloned().unwrap_or_else(crate::table::all_builtin);
        steps.set(block.ranks.0.into(), Some(u64::from(block.ranks.0) + 1), block.sizes.clone());
        table.set(block.collective, steps);
    }
    table
}
