//! The rule table of one collective as an optimisation problem.

/// Choices are numbered from plain to elaborate; this one leaves the decision to Open MPI.
pub(crate) const BUILTIN: usize = 0;

/// What the rules of a collective may look like, and what each costs.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The number of choices.
    pub(crate) choices: usize,
    /// Which choices may stand beside each other for one communicator size.
    pub(crate) classes: Vec<Vec<usize>>,
    /// One for each measured communicator size, ascending.
    pub(crate) blocks: Vec<Block>,
    /// Whether neighbouring communicator sizes may share their rules.
    pub(crate) merge: bool,
}

/// A measured communicator size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Measured lookup bytes, ascending strictly.
    pub(crate) sites: Vec<Site>,
}

/// What may serve calls that look up the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Lookup bytes.
    pub(crate) at: u64,
    /// What the cells behind it count for under the best permitted choice, all together: the unit of costs.
    pub(crate) weight: f64,
    /// The number of cells behind it.
    pub(crate) cells: u32,
    /// By choice, each once.
    pub(crate) offers: Vec<Offer>,
}

impl Site {
    /// What a cell of it counts for.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.weight / f64::from(self.cells.max(1))
    }
}

/// A choice that does no harm at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) choice: usize,
    /// What it costs beside the best permitted candidate, over the cells of the site: the logarithm of its time over that one's,
    /// or the time that programs lose.
    pub(crate) cost: f64,
    /// Cells in which it was not shown to be better than the builtin.
    pub(crate) unproven: u32,
    /// Whether the cost is within the bound.
    pub(crate) within: bool,
}

/// The rules of a collective: ranges of communicator sizes, which cover all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) ranges: Vec<Range>,
}

/// Blocks that share their rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first block.
    pub(crate) first: usize,
    /// The first block beyond.
    pub(crate) end: usize,
    /// The choice at each of the lookup bytes of these blocks, ascending.
    pub(crate) choices: Vec<(u64, usize)>,
}

/// How many rules a range with this choice counts for.
pub(crate) fn weight(choice: usize) -> u32 {
    u32::from(choice != BUILTIN)
}
