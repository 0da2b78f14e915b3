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
    /// The measured lookup bytes of each measured communicator size, both ascending strictly.
    pub(crate) blocks: Vec<Vec<Site>>,
    /// True if neighbouring communicator sizes may share their rules.
    pub(crate) merge: bool,
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

/// Blocks that share their rules. The spans of a solution cover all blocks, in order.
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
