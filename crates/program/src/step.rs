//! Steps: actions of a rank, and the bytes that they work on.

use collrules_rules::{Collective, Operation};

/// A buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The caller's data. No step writes to it.
    Send,
    /// The place for the caller's result; for bcast the only buffer.
    Receive,
    /// A buffer of the program's own, which holds zeros at first.
    Extra(usize),
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferPart {
    /// The buffer.
    pub place: Buffer,
    /// The first byte.
    pub first: usize,
    /// The number of bytes.
    pub len: usize,
}

/// No bytes: for calls that send or receive nothing on a rank.
pub const NOTHING: BufferPart = BufferPart { place: Buffer::Send, first: 0, len: 0 };

/// Ranks that make a call together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankGroup {
    /// All ranks of the communicator.
    All,
    /// The ranks of each node among themselves.
    Node,
    /// The ranks of the root's node; others do not take part.
    FirstNode,
    /// The ranks with the same place on their nodes among themselves.
    Lane,
    /// The first ranks of all nodes; others do not take part.
    Leaders,
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducing {
    /// `MPI_SUM` of `MPI_INT`.
    Sum,
    /// `MPI_BOR` of `MPI_BYTE`: an operation that joins zero-padded blocks; MPI does not reduce `MPI_CHAR`.
    Or,
}

/// A call, as every rank of the group makes it. Counts are in bytes; blocks lie one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CollectiveCall {
    Allgather,
    Allgatherv(Vec<usize>),
    /// Each rank's block is already in place.
    AllgathervInPlace(Vec<usize>),
    Allreduce(Reducing),
    Alltoall,
    Alltoallv(Vec<usize>),
    Alltoallw(Vec<usize>),
    Barrier,
    /// The root sends the first part; others receive into the second.
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
    /// All blocks are in the root's buffer; those of others go to their places in the other buffers.
    ScattervInPlace(Vec<usize>),
    /// Point to point: sends to the next rank, receives from the one before.
    Shift,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a message, as `MPI_Send` does: whether it waits for the receiver depends on the costs.
    Send {
        /// The rank that receives it.
        to: u32,
        /// The bytes.
        part: BufferPart,
    },
    /// Waits for the next message of a rank, and receives it.
    Receive {
        /// The rank that sends it.
        from: u32,
        /// Destination of the message.
        part: BufferPart,
    },
    /// Sends and receives at the same time, and waits for both.
    Exchange {
        /// The rank that receives.
        to: u32,
        /// The bytes that are sent.
        send: BufferPart,
        /// The rank that sends.
        from: u32,
        /// The place for the received bytes.
        receive: BufferPart,
    },
    /// Prepares for the next message of a rank, so that its sender need not wait; [`Step::Receive`] receives it later.
    Expect {
        /// The rank that sends it.
        from: u32,
    },
    /// Waits until the receivers of all sent messages have asked for them.
    Settle,
    /// Copies bytes.
    Copy {
        /// The source.
        from: BufferPart,
        /// The destination, of the same length.
        to: BufferPart,
    },
    /// Applies the operation, as `MPI_Reduce_local` does.
    Reduce {
        /// The left operand.
        from: BufferPart,
        /// The right operand, and the result.
        to: BufferPart,
    },
    /// Makes a call. All ranks have it at the same place of their programs, even those that do not take part.
    Call {
        /// The ranks that make it together.
        on: RankGroup,
        /// The call.
        call: CollectiveCall,
        /// The data sent; empty if the call sends nothing from this rank.
        from: BufferPart,
        /// The place for the result.
        to: BufferPart,
    },
    /// Computes, without touching messages.
    Busy {
        /// Duration.
        nanoseconds: u64,
    },
}

impl BufferPart {
    /// Bytes within it.
    pub fn cut(self, first: usize, len: usize) -> Self {
        Self { first: self.first + first, len, ..self }
    }

    /// Like `cut`, but nothing if the part is empty on this rank.
    pub fn cut_if_any(self, first: usize, len: usize) -> Self {
        if self.len == 0 { self } else { self.cut(first, len) }
    }

    /// The bytes, by their places in the buffer.
    pub fn range(self) -> std::ops::Range<usize> {
        self.first..self.first + self.len
    }
}

impl CollectiveCall {
    /// The call of a collective, with these counts if it takes any.
    pub(crate) fn of(collective: Collective, counts: Vec<usize>) -> Self {
        match collective {
            Collective::Allgather => Self::Allgather,
            Collective::Allgatherv => Self::Allgatherv(counts),
            Collective::Allreduce => Self::Allreduce(Reducing::Sum),
            Collective::Alltoall => Self::Alltoall,
            Collective::Alltoallv => Self::Alltoallv(counts),
            Collective::Barrier => Self::Barrier,
            Collective::Bcast => Self::Bcast,
            Collective::Exscan => Self::Exscan,
            Collective::Gather => Self::Gather,
            Collective::Reduce => Self::Reduce(Reducing::Sum),
            Collective::ReduceScatter => Self::ReduceScatter(counts),
            Collective::ReduceScatterBlock => Self::ReduceScatterBlock,
            Collective::Scan => Self::Scan,
            Collective::Scatter => Self::Scatter,
        }
    }

    /// The operation of MPI; none for a shift.
    pub fn operation(&self) -> Option<Operation> {
        Some(match self {
            Self::Allgather => Operation::Allgather,
            Self::Allgatherv(_) | Self::AllgathervInPlace(_) => Operation::Allgatherv,
            Self::Allreduce(_) => Operation::Allreduce,
            Self::Alltoall => Operation::Alltoall,
            Self::Alltoallv(_) => Operation::Alltoallv,
            Self::Alltoallw(_) => Operation::Alltoallw,
            Self::Barrier => Operation::Barrier,
            Self::Bcast => Operation::Bcast,
            Self::Exscan => Operation::Exscan,
            Self::Gather => Operation::Gather,
            Self::Gatherv(_) => Operation::Gatherv,
            Self::Reduce(_) => Operation::Reduce,
            Self::ReduceScatter(_) => Operation::ReduceScatter,
            Self::ReduceScatterBlock => Operation::ReduceScatterBlock,
            Self::Scan => Operation::Scan,
            Self::Scatter => Operation::Scatter,
            Self::Scatterv(_) | Self::ScattervInPlace(_) => Operation::Scatterv,
            Self::Shift => return None,
        })
    }

    /// The counts of all ranks, in bytes; none if all have the same.
    pub fn counts(&self) -> Option<&[usize]> {
        match self {
            Self::Allgatherv(counts)
            | Self::AllgathervInPlace(counts)
            | Self::Alltoallv(counts)
            | Self::Alltoallw(counts)
            | Self::Gatherv(counts)
            | Self::ReduceScatter(counts)
            | Self::Scatterv(counts)
            | Self::ScattervInPlace(counts) => Some(counts),
            _ => None,
        }
    }

    /// The bytes of the arrays of counts and displacements that a rank needs for it.
    pub(crate) fn arrays(&self, ranks: usize, is_root: bool) -> usize {
        match self {
            Self::Gatherv(_) | Self::Scatterv(_) | Self::ScattervInPlace(_) if !is_root => 0,
            Self::ReduceScatter(_) => 4 * ranks,
            Self::Alltoallw(_) => 32 * ranks,
            _ => self.counts().map_or(0, |_| 8 * ranks),
        }
    }

    /// The collective that is called among this many ranks, or the one most like it, with its message bytes; none for
    /// steps that are no collective.
    pub fn collective(&self, from: BufferPart, to: BufferPart, ranks: usize) -> Option<(Collective, usize)> {
        let collective = match self.operation()? {
            Operation::Alltoallw => Collective::Alltoallv,
            Operation::Gatherv => Collective::Gather,
            Operation::Scatterv => Collective::Scatter,
            operation => Collective::from_operation(operation)?,
        };
        let all = self.counts().map(|counts| counts.iter().sum::<usize>());
        let bytes = match (self, all) {
            (Self::ReduceScatter(_), Some(all)) => all,
            (_, Some(all)) => all.div_ceil(ranks.max(1)),
            (Self::Alltoall, None) => from.len / ranks.max(1),
            (Self::Bcast, None) => from.len.max(to.len),
            (Self::ReduceScatterBlock | Self::Scatter, None) => to.len,
            (_, None) => from.len,
        };
        Some((collective, bytes))
    }
}

impl Step {
    /// The step without empty messages, if neither side sends or expects those.
    pub(crate) fn without_empty_messages(self) -> Option<Self> {
        match self {
            Self::Send { part, .. } | Self::Receive { part, .. } if part.len == 0 => None,
            Self::Reduce { to, .. } | Self::Copy { to, .. } if to.len == 0 => None,
            Self::Exchange { to, send, from, receive } => match (send.len, receive.len) {
                (0, 0) => None,
                (_, 0) => Some(Self::Send { to, part: send }),
                (0, _) => Some(Self::Receive { from, part: receive }),
                _ => Some(self),
            },
            step => Some(step),
        }
    }

    /// The step with other numbers for its ranks.
    pub fn rename(self, name: impl Fn(u32) -> u32) -> Self {
        match self {
            Self::Send { to, part } => Self::Send { to: name(to), part },
            Self::Receive { from, part } => Self::Receive { from: name(from), part },
            Self::Exchange { to, send, from, receive } => {
                Self::Exchange { to: name(to), send, from: name(from), receive }
            }
            Self::Expect { from } => Self::Expect { from: name(from) },
            step => step,
        }
    }

    /// The bytes that it reads or writes.
    pub fn parts(&self) -> Vec<BufferPart> {
        match *self {
            Self::Send { part, .. } | Self::Receive { part, .. } => vec![part],
            Self::Exchange { send, receive, .. } => vec![send, receive],
            Self::Copy { from, to } | Self::Reduce { from, to } | Self::Call { from, to, .. } => vec![from, to],
            Self::Expect { .. } | Self::Settle | Self::Busy { .. } => Vec::new(),
        }
    }

    /// The message that the rank sends in this step, with its receiver.
    pub fn sent(&self) -> Option<(u32, BufferPart)> {
        match *self {
            Self::Send { to, part } => Some((to, part)),
            Self::Exchange { to, send, .. } => Some((to, send)),
            _ => None,
        }
    }

    /// The place for the message that the rank receives in this step, with its sender.
    pub fn received(&self) -> Option<(u32, BufferPart)> {
        match *self {
            Self::Receive { from, part } => Some((from, part)),
            Self::Exchange { from, receive, .. } => Some((from, receive)),
            _ => None,
        }
    }
}
