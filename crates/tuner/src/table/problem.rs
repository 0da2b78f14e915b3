//! The rule table of one collective as an optimisation problem.

/// Choices are numbered from plain to elaborate; this one leaves the decision to Open MPI.
pub(crate) const BUILTIN: usize = 0;

/// Possible rules of a collective, with their costs.
#[derive(Clone, Debug)]
pub(crate) struct TableProblem {
    /// The number of choices.
    pub(crate) choices: usize,
    /// Choices that may be combined for one communicator size.
    pub(crate) classes: Vec<Vec<usize>>,
    /// One for each measured communicator size, ascending.
    pub(crate) blocks: Vec<RankBlock>,
    /// True if neighbouring communicator sizes may share their rules.
    pub(crate) merge: bool,
}

/// A measured communicator size.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankBlock {
    /// Measured lookup bytes, ascending strictly.
    pub(crate) sites: Vec<Site>,
}

/// Choices that may be made for calls that look up the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Lookup bytes.
    pub(crate) at: u64,
    /// Weight of all its cells together, under the best permitted choice: the unit of costs.
    pub(crate) weight: f64,
    /// Number of its cells.
    pub(crate) cells: u32,
    /// Offers by choice, each choice once.
    pub(crate) offers: Vec<Offer>,
}

impl Site {
    /// Returns the mean weight of its cells.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.weight / f64::from(self.cells.max(1))
    }
}

/// A harmless choice at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) choice: usize,
    /// Cost relative to the best permitted candidate, over the cells of the site: the logarithm of the ratio of their
    /// times, or the time that programs lose.
    pub(crate) cost: f64,
    /// Number of cells in which it is not significantly better than the builtin.
    pub(crate) unproven: u32,
    /// True if the cost is within the bound.
    pub(crate) within: bool,
}

/// The rules of a collective: ranges of communicator sizes, which cover all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) ranges: Vec<BlockSpan>,
}

/// Blocks that share their rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockSpan {
    /// The first block.
    pub(crate) first: usize,
    /// The first block after the range.
    pub(crate) end: usize,
    /// The choice at each of the lookup bytes of these blocks, ascending.
    pub(crate) choices: Vec<(u64, usize)>,
}

/// Returns the number of rules that this choice adds to a range.
pub(crate) fn weight(choice: usize) -> u32 {
    u32::from(choice != BUILTIN)
}
