//! The steps of a mock-up on one rank.

use collrules_record::cell::type_size;
use collrules_record::{Bytes, Cell, Even};
use collrules_rules::Collective;

/// A rank of a cell. The root of rooted collectives is rank 0.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// The collective.
    pub collective: Collective,
    /// The rank.
    pub rank: usize,
    /// The size of the communicator.
    pub ranks: usize,
    /// The message bytes of the cell.
    pub bytes: usize,
    /// The nodes of the communicator, if each has as many ranks.
    pub even: Option<Even>,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// All ranks of the communicator.
    All,
    /// The ranks of each node among themselves.
    Node,
    /// The same on the root's node; others pass by.
    FirstNode,
    /// The ranks with the same place on their nodes among themselves.
    Lane,
    /// The same with the first place; others pass by.
    Leaders,
}

/// A buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// What the caller sends. It is not written to.
    Send,
    /// Where the caller wants the result; for bcast the only buffer.
    Receive,
    /// A buffer of the mock-up's own, which holds zeros at first.
    Extra(usize),
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The buffer.
    pub place: Buffer,
    /// The first byte.
    pub first: usize,
    /// How many.
    pub len: usize,
}

/// What is done with contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducing {
    /// `MPI_SUM` of `MPI_INT`.
    Sum,
    /// `MPI_BOR` of `MPI_BYTE`: the one operation that puts blocks together. `MPI_CHAR` must not be reduced.
    Or,
}

/// A call, as every rank of the communicator makes it. Counts are in bytes; blocks lie one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Call {
    Allgather,
    Allgatherv(Vec<usize>),
    /// Each rank's block is in its place already.
    AllgathervInPlace(Vec<usize>),
    Allreduce(Reducing),
    Alltoall,
    Alltoallv(Vec<usize>),
    Alltoallw(Vec<usize>),
    Barrier,
    /// The root sends what it has in the first part, others receive into the second.
    Bcast,
    Exscan,
    Gather,
    Gatherv(Vec<usize>),
    Reduce(Reducing),
    ReduceScatter(Vec<usize>),
    ReduceScatterBlock,
    Scan,
    Scatter,
    Scatterv(Vec<usize>),
    /// All blocks are in the root's buffer, and those of others go where they belong in theirs.
    ScattervInPlace(Vec<usize>),
    /// Point to point: what the rank before has.
    Shift,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copies bytes.
    Copy {
        /// From here.
        from: Part,
        /// To here, as many.
        to: Part,
    },
    /// `MPI_Reduce_local`: adds to the left of what is there.
    Combine {
        /// The left operand.
        from: Part,
        /// The right operand, and the result.
        to: Part,
    },
    /// A call. All ranks have it in the same place of their programs, those that pass by too.
    Call {
        /// Who makes it.
        on: Group,
        /// Which.
        call: Call,
        /// What is sent; nothing where the call sends nothing from this rank.
        from: Part,
        /// Where the result goes.
        to: Part,
    },
}

/// What a rank does instead of the collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The bytes of each extra buffer.
    pub extra: Vec<usize>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The caller's buffer for what is sent, whole.
pub const NOTHING: Part = Part { place: Buffer::Send, first: 0, len: 0 };

impl Seat {
    /// A rank of a cell, with the nodes of the communicator if each has as many ranks.
    pub fn of(cell: Cell, rank: usize, even: Option<Even>) -> Self {
        Self { collective: cell.collective, rank, ranks: cell.ranks.0 as usize, bytes: cell.bytes.0 as usize, even }
    }

    /// The number of nodes, and of the ranks of each; where there are no even ones, all ranks are on one.
    pub(crate) fn shape(self) -> (usize, usize) {
        self.even.map_or((1, self.ranks), |even| (even.nodes as usize, even.each as usize))
    }

    /// Its node, and its place there.
    pub(crate) fn place(self) -> (usize, usize) {
        let (_, each) = self.shape();
        (self.rank / each.max(1), self.rank % each.max(1))
    }

    /// The number of ranks that make a call together, and the place among them; none where it passes by.
    pub fn seat_in(self, group: Group) -> Option<(usize, usize)> {
        let ((nodes, each), (node, place)) = (self.shape(), self.place());
        match group {
            Group::All => Some((self.ranks, self.rank)),
            Group::Node => Some((each, place)),
            Group::FirstNode => (node == 0).then_some((each, place)),
            Group::Lane => Some((nodes, node)),
            Group::Leaders => (place == 0).then_some((nodes, node)),
        }
    }

    /// Whether it is the root.
    pub fn is_root(self) -> bool {
        self.rank == 0
    }

    /// Bytes of an element.
    pub fn element(self) -> usize {
        type_size(self.collective) as usize
    }

    /// The same rank for another message.
    pub(crate) fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The bytes of each rank's share of a whole vector: what does not divide evenly goes to the first ranks, an element each.
    pub(crate) fn shares(self) -> Vec<usize> {
        self.shares_among(self.ranks)
    }

    /// The same for so many ranks.
    pub(crate) fn shares_among(self, ranks: usize) -> Vec<usize> {
        let (element, elements) = (self.element(), self.bytes / self.element());
        (0..ranks).map(|rank| (elements / ranks + usize::from(rank < elements % ranks)) * element).collect()
    }

    /// What the caller of the collective sends.
    pub fn send(self) -> Part {
        let all = self.bytes * self.ranks;
        let len = match self.collective {
            Collective::Barrier | Collective::Bcast => 0,
            Collective::Scatter if self.is_root() => all,
            Collective::Scatter => 0,
            Collective::Alltoall | Collective::Alltoallv | Collective::ReduceScatterBlock => all,
            _ => self.bytes,
        };
        Part { place: Buffer::Send, first: 0, len }
    }

    /// Where the caller of the collective wants the result.
    pub fn receive(self) -> Part {
        let all = self.bytes * self.ranks;
        let len = match self.collective {
            Collective::Barrier => 0,
            Collective::Gather | Collective::Reduce if !self.is_root() => 0,
            Collective::Gather
            | Collective::Allgather
            | Collective::Allgatherv
            | Collective::Alltoall
            | Collective::Alltoallv => all,
            Collective::ReduceScatter => self.shares()[self.rank],
            _ => self.bytes,
        };
        Part { place: Buffer::Receive, first: 0, len }
    }
}

impl Part {
    /// Bytes within it.
    pub(crate) fn cut(self, first: usize, len: usize) -> Self {
        Self { first: self.first + first, len, ..self }
    }

    /// Bytes within it, or none where it holds nothing on this rank.
    pub(crate) fn cut_if_any(self, first: usize, len: usize) -> Self {
        if self.len == 0 { self } else { self.cut(first, len) }
    }
}

impl Call {
    /// The bytes of the arrays of counts and displacements that a rank needs for it.
    fn arrays(&self, ranks: usize, is_root: bool) -> usize {
        match self {
            Self::Allgatherv(_) | Self::AllgathervInPlace(_) | Self::Alltoallv(_) => 8 * ranks,
            Self::Gatherv(_) | Self::Scatterv(_) | Self::ScattervInPlace(_) if is_root => 8 * ranks,
            Self::ReduceScatter(_) => 4 * ranks,
            Self::Alltoallw(_) => 32 * ranks,
            _ => 0,
        }
    }

    /// What is called, with the message bytes that its callers would speak of. Nothing for what is no collective.
    pub fn cell(&self, from: Part, to: Part, ranks: usize) -> Option<Cell> {
        let all = |counts: &[usize]| counts.iter().sum::<usize>();
        let mean = |counts: &[usize]| all(counts).div_ceil(ranks.max(1));
        let (collective, bytes) = match self {
            Self::Allgather => (Collective::Allgather, from.len),
            Self::Allgatherv(counts) | Self::AllgathervInPlace(counts) => (Collective::Allgatherv, mean(counts)),
            Self::Allreduce(_) => (Collective::Allreduce, from.len),
            Self::Alltoall => (Collective::Alltoall, from.len / ranks.max(1)),
            Self::Alltoallv(counts) | Self::Alltoallw(counts) => (Collective::Alltoallv, mean(counts)),
            Self::Barrier => (Collective::Barrier, 0),
            Self::Bcast => (Collective::Bcast, from.len.max(to.len)),
            Self::Exscan => (Collective::Exscan, from.len),
            Self::Gather => (Collective::Gather, from.len),
            Self::Gatherv(counts) => (Collective::Gather, mean(counts)),
            Self::Reduce(_) => (Collective::Reduce, from.len),
            Self::ReduceScatter(counts) => (Collective::ReduceScatter, all(counts)),
            Self::ReduceScatterBlock => (Collective::ReduceScatterBlock, to.len),
            Self::Scan => (Collective::Scan, from.len),
            Self::Scatter => (Collective::Scatter, to.len),
            Self::Scatterv(counts) | Self::ScattervInPlace(counts) => (Collective::Scatter, mean(counts)),
            Self::Shift => return None,
        };
        Some(Cell { collective, ranks: collrules_record::Ranks(ranks as u32), bytes: Bytes(bytes as u64) })
    }
}

impl Program {
    /// The bytes that it needs beside the caller's buffers, arrays of counts included.
    pub fn memory(&self, seat: Seat) -> usize {
        let arrays = |step: &Step| match step {
            Step::Call { on, call, .. } => seat.seat_in(*on).map_or(0, |(ranks, rank)| call.arrays(ranks, rank == 0)),
            Step::Copy { .. } | Step::Combine { .. } => 0,
        };
        // The arrays of one call serve the next: most of these mock-ups have the same counts in both.
        self.extra.iter().sum::<usize>() + self.steps.iter().map(arrays).max().unwrap_or(0)
    }

    /// Bytes copied.
    pub fn copied(&self) -> usize {
        self.steps.iter().map(|step| if let Step::Copy { to, .. } = step { to.len } else { 0 }).sum()
    }

    /// Bytes combined here rather than in a call.
    pub fn combined(&self) -> usize {
        self.steps.iter().map(|step| if let Step::Combine { to, .. } = step { to.len } else { 0 }).sum()
    }

    /// The calls, in their order, with who makes them, and what is sent and received.
    pub fn calls(&self) -> impl Iterator<Item = (Group, &Call, Part, Part)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Call { on, call, from, to } => Some((*on, call, *from, *to)),
            Step::Copy { .. } | Step::Combine { .. } => None,
        })
    }

    pub(crate) fn extra(&mut self, len: usize) -> Part {
        self.extra.push(len);
        Part { place: Buffer::Extra(self.extra.len() - 1), first: 0, len }
    }

    pub(crate) fn copy(&mut self, from: Part, to: Part) {
        if to.len > 0 {
            self.steps.push(Step::Copy { from: from.cut(0, to.len), to });
        }
    }

    pub(crate) fn combine(&mut self, from: Part, to: Part) {
        self.steps.push(Step::Combine { from, to });
    }

    pub(crate) fn call(&mut self, call: Call, from: Part, to: Part) {
        self.call_on(Group::All, call, from, to);
    }

    pub(crate) fn call_on(&mut self, on: Group, call: Call, from: Part, to: Part) {
        self.steps.push(Step::Call { on, call, from, to });
    }
}
