//! Faults that make Open MPI reject a classic file.

use crate::collective::Collective;

/// A field of a classic file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Field {
    /// Number of collectives that follow.
    #[error("the number of collectives")]
    Collectives,
    /// The id of a collective.
    #[error("the id of a collective")]
    CollectiveId,
    /// Number of communicator rules that follow.
    #[error("the number of communicator sizes")]
    CommRules,
    /// The size of a communicator.
    #[error("a communicator size")]
    CommSize,
    /// Number of message rules that follow.
    #[error("the number of message sizes")]
    MessageRules,
    /// The first lookup bytes of a rule.
    #[error("a message size")]
    MessageSize,
    /// The algorithm id.
    #[error("an algorithm")]
    Algorithm,
    /// Fan-in and fan-out.
    #[error("a fan-in and fan-out")]
    Faninout,
    /// The segment size.
    #[error("a segment size")]
    Segsize,
}

/// Fault that makes Open MPI reject a classic file, always as a whole and without a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ClassicFault {
    /// The line of the fault.
    pub line: usize,
    /// Kind of fault.
    pub kind: ClassicFaultKind,
}

/// Kind of fault in a classic file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassicFaultKind {
    /// The file ends before an announced field.
    #[error("the file ends where {0} should follow")]
    End(Field),
    /// A negative number in a field; outside comments, a minus sign or dash right before a digit makes one.
    #[error("{0} is {1}, and no number may be negative")]
    Negative(Field, i64),
    /// More entries than a C `int` can count, in a field that counts them.
    #[error("{1} as {0} is more than Open MPI has room for")]
    TooMany(Field, u64),
    /// More collectives than exist.
    #[error("{0} collectives are announced, but there are only {most}", most = Collective::ID_COUNT)]
    TooManyCollectives(u64),
    /// An id beyond the last collective.
    #[error("{0} is not a collective; the last id is {last}", last = Collective::ID_COUNT - 1)]
    NoSuchCollective(u64),
    /// The message rules of a communicator size do not begin at 0.
    #[error("the first message size of a communicator size must be 0, not {0}")]
    FirstSize(u64),
}
