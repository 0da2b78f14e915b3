//! What a rank does at a time.

use crate::blocks::{Blocks, Range};

/// Where blocks that arrive are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// To their places in the rank's vector.
    Vector,
    /// To the same places of a second vector, from where [`Step::Reduce`] takes them.
    Scratch,
}

/// What a rank does at a time, on a vector of its own. Blocks travel to the same places on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Sends blocks of its vector and waits until they are taken.
    Send {
        /// The rank that receives them.
        to: u32,
        /// What is sent.
        blocks: Range,
    },
    /// Waits for blocks.
    Receive {
        /// The rank that sends them.
        from: u32,
        /// What is received.
        blocks: Range,
        /// Where they go.
        into: Buffer,
    },
    /// Sends and receives at once, and waits for both.
    Exchange {
        /// The rank that receives.
        to: u32,
        /// What is sent.
        send: Range,
        /// The rank that sends.
        from: u32,
        /// What is received.
        receive: Range,
        /// Where it goes.
        into: Buffer,
    },
    /// Does something else for so long, and touches no message.
    Busy {
        /// How long, in nanoseconds.
        nanoseconds: u64,
    },
    /// Applies the operation to blocks of the scratch vector and those of the vector, and puts the result into the vector.
    Reduce {
        /// Which blocks.
        blocks: Range,
    },
}

impl Step {
    /// What is left of a step where nobody sends messages without elements: both sides know how many there are.
    pub(crate) fn without_nothing(self, sizes: &Blocks) -> Option<Self> {
        match self {
            Self::Busy { .. } => Some(self),
            Self::Send { blocks, .. } | Self::Receive { blocks, .. } | Self::Reduce { blocks } => {
                (!sizes.is_empty(blocks)).then_some(self)
            }
            Self::Exchange { to, send, from, receive, into } => match (sizes.is_empty(send), sizes.is_empty(receive)) {
                (false, false) => Some(self),
                (false, true) => Some(Self::Send { to, blocks: send }),
                (true, false) => Some(Self::Receive { from, blocks: receive, into }),
                (true, true) => None,
            },
        }
    }

    /// The same step where the ranks that it deals with are called otherwise. Blocks keep their numbers.
    pub fn among(self, name: impl Fn(u32) -> u32) -> Self {
        match self {
            Self::Send { to, blocks } => Self::Send { to: name(to), blocks },
            Self::Receive { from, blocks, into } => Self::Receive { from: name(from), blocks, into },
            Self::Exchange { to, send, from, receive, into } => {
                Self::Exchange { to: name(to), send, from: name(from), receive, into }
            }
            Self::Reduce { .. } | Self::Busy { .. } => self,
        }
    }

    /// The blocks that the rank sends in this step, and to whom.
    pub fn sent(self) -> Option<(u32, Range)> {
        match self {
            Self::Send { to, blocks } => Some((to, blocks)),
            Self::Exchange { to, send, .. } => Some((to, send)),
            Self::Receive { .. } | Self::Reduce { .. } | Self::Busy { .. } => None,
        }
    }

    /// The blocks that the rank receives in this step, from whom, and where they go.
    pub fn received(self) -> Option<(u32, Range, Buffer)> {
        match self {
            Self::Receive { from, blocks, into } => Some((from, blocks, into)),
            Self::Exchange { from, receive, into, .. } => Some((from, receive, into)),
            Self::Send { .. } | Self::Reduce { .. } | Self::Busy { .. } => None,
        }
    }
}
