//! Faults that make Open MPI reject a classic file.

use std::fmt;

use crate::collective::Collective;

/// A field of a classic file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Number of collectives that follow.
    Collectives,
    /// The id of a collective.
    CollectiveId,
    /// Number of communicator rules that follow.
    CommRules,
    /// The size of a communicator.
    CommSize,
    /// Number of message rules that follow.
    MessageRules,
    /// The first lookup bytes of a rule.
    MessageSize,
    /// The algorithm id.
    Algorithm,
    /// Fan-in and fan-out.
    Faninout,
    /// The segment size.
    Segsize,
}

/// Fault that makes Open MPI reject a classic file, always as a whole and without a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassicFault {
    /// The file ends before an announced field.
    #[error("line {line}: the file ends where {field} should follow")]
    End {
        /// The line where the file ends.
        line: usize,
        /// The missing field.
        field: Field,
    },
    /// A negative number; outside comments, a minus sign or dash right before a digit makes one.
    #[error("line {line}: {field} is {value}, and no number may be negative")]
    Negative {
        /// The line of the number.
        line: usize,
        /// The field that it was read as.
        field: Field,
        /// The number.
        value: i64,
    },
    /// More entries than a C `int` can count.
    #[error("line {line}: {count} as {field} is more than Open MPI has room for")]
    TooMany {
        /// The line of the count.
        line: usize,
        /// Quantity that is counted.
        field: Field,
        /// The count.
        count: u64,
    },
    /// More collectives than exist.
    #[error("line {line}: {count} collectives are announced, but there are only {}", Collective::ID_COUNT)]
    TooManyCollectives {
        /// The line of the count.
        line: usize,
        /// The count.
        count: u64,
    },
    /// An id beyond the last collective.
    #[error("line {line}: {id} is not a collective; the last id is {}", Collective::ID_COUNT - 1)]
    NoSuchCollective {
        /// The line of the id.
        line: usize,
        /// The id.
        id: u64,
    },
    /// The message rules of a communicator size do not begin at 0.
    #[error("line {line}: the first message size of a communicator size must be 0, not {size}")]
    FirstSize {
        /// The line of the size.
        line: usize,
        /// The size.
        size: u64,
    },
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Collectives => "the number of collectives",
            Self::CollectiveId => "the id of a collective",
            Self::CommRules => "the number of communicator sizes",
            Self::CommSize => "a communicator size",
            Self::MessageRules => "the number of message sizes",
            Self::MessageSize => "a message size",
            Self::Algorithm => "an algorithm",
            Self::Faninout => "a fan-in and fan-out",
            Self::Segsize => "a segment size",
        })
    }
}
