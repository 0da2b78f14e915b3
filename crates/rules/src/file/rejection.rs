//! Faults that make Open MPI reject a text: a classic file of coll/tuned, or a file of coll/han.

use crate::collective::Collective;
use crate::names;

names! {
    /// A field of a text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Field {
        /// Number of collectives that follow.
        Collectives "the number of collectives",
        /// The id of a collective; HAN reads names as well.
        Collective "the id of a collective",
        /// Number of topology levels that follow, in HAN's files.
        Levels "the number of topology levels",
        /// A topology level, in HAN's files.
        Level "a topology level",
        /// Number of communicator rules that follow: HAN's configurations.
        CommRules "the number of communicator sizes",
        /// The size of a communicator.
        CommSize "a communicator size",
        /// Number of message rules that follow.
        MessageRules "the number of message sizes",
        /// The first lookup bytes of a rule.
        MessageSize "a message size",
        /// The name of a component, in HAN's files.
        Component "the name of a component",
        /// The algorithm: an id, in HAN's files also a name.
        Algorithm "an algorithm",
        /// Fan-in and fan-out.
        Faninout "a fan-in and fan-out",
        /// The segment size.
        Segsize "a segment size",
    }
}

/// Fault that makes Open MPI reject a text, always as a whole and without a message at default verbosity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct TextFault {
    /// The line of the fault.
    pub line: usize,
    /// Kind of fault.
    pub kind: FaultKind,
}

/// Kind of fault in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The file ends before an announced field.
    #[error("the file ends where {0} should follow")]
    End(Field),
    /// A negative number in a field; in a classic file, a minus sign or dash right before a digit makes one.
    #[error("{0} is {1}, and no number may be negative")]
    Negative(Field, i64),
    /// More entries than a C `int` can count, in a field that counts them.
    #[error("{1} as {0} is more than Open MPI has room for")]
    TooMany(Field, u64),
    /// More collectives than exist.
    #[error("{0} collectives are announced, but there are only {most}", most = Collective::ID_COUNT)]
    TooManyCollectives(u64),
    /// A name that is no collective, or an id beyond the last one.
    #[error("`{0}` is not a collective; the last id is {last}", last = Collective::ID_COUNT - 1)]
    NoSuchCollective(String),
    /// The message rules of a communicator size do not begin at 0.
    #[error("the first message size of a communicator size must be 0, not {0}")]
    FirstSize(u64),
    /// HAN: no collectives at all.
    #[error("the number of collectives is 0")]
    NoCollectives,
    /// HAN: a name or number that is no level.
    #[error("`{0}` is not a topology level")]
    NoLevel(String),
    /// HAN: a communicator size below 1, or a first one above 1.
    #[error("the communicator size {0} is not allowed here: the first one must be 1, and no other may be smaller")]
    CommSize(i64),
    /// HAN: a name that is no component.
    #[error("`{0}` is not a component")]
    NoComponent(String),
    /// An algorithm that HAN does not have for the collective.
    #[error("HAN has no algorithm `{0}` for {1}")]
    NoAlgorithm(String, &'static str),
}
