//! Faults for which Open MPI rejects a file of coll/tuned or of coll/han, or crashes.

use crate::collective::Collective;
use crate::json::SyntaxError;
use crate::names;
use crate::span::Span;

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

/// Fault for which Open MPI ignores a file as a whole, without a message at default verbosity, or crashes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{kind}", if kind.crashes() { "MPI_Init crashes: " } else { "" }, begin_line(*line))]
pub struct Fault {
    /// Place of the fault.
    pub span: Span,
    /// The line of the fault, in a file that is not JSON.
    pub line: Option<usize>,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Syntax error that made a version that tries JSON first read the file as classic.
    pub not_json: Option<SyntaxError>,
}

fn begin_line(line: Option<usize>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}

impl Fault {
    pub(crate) fn new(span: Span, kind: FaultKind) -> Self {
        Self { span, line: None, kind, not_json: None }
    }
}

/// Kind of fault.
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
    /// A file of HAN, and the version has no HAN (4.0).
    #[error("this version has no HAN")]
    NoHan,
    /// JSON: the root has no `collectives`, or is no object. The classic reader is not tried.
    #[error("the file is JSON without the member `collectives`")]
    NoMember,
    /// JSON: `collectives` has another type.
    #[error("`collectives` must be an object")]
    CollectivesNotObject,
    /// JSON: a name that is no collective.
    #[error("`{0}` is not a collective; names are in lower case with underscores, as in reduce_scatter_block")]
    UnknownCollective(String),
    /// JSON: a collective whose value has another type.
    #[error("the value of `{0}` must be an array of communicator rules")]
    NotAnArray(String),
    /// JSON: a number of another type under this key: a float, a number in quotes, or too large.
    #[error("`{0}` must be an integer of 64 bits")]
    NotAnInteger(&'static str),
    /// JSON: a distribution of another type than string.
    #[error("`comm_rank_distribution` must be a string")]
    DistributionNotString,
    /// JSON: a communicator rule without `rules`, or with `rules` of another type.
    #[error("a communicator rule needs the member `rules`")]
    NoRules,
    /// JSON: `rules` without elements, of another type.
    #[error("`rules` must be an array")]
    RulesNotArray,
    /// JSON, a crash: a fault after a valid communicator rule, which the error path frees again.
    #[error("{0}; after a valid communicator rule Open MPI does not ignore this, it crashes")]
    AfterGoodRule(Box<FaultKind>),
    /// JSON, a crash: an algorithm for a collective that has none; the missing table is used nonetheless.
    #[error("`{0}` has no tuned algorithms, and so no rule for it may have the member `alg`, whatever its value")]
    AlgorithmOfUntuned(&'static str),
    /// JSON, a crash: `rules` is an object with members, which are then read as if they were elements.
    #[error("`rules` must be an array; an object is read as if it were one")]
    RulesAreObject,
    /// Classic, a crash: Open MPI allocates fewer entries than it then reads, and overwrites memory.
    #[error("{1} as {0} is more than Open MPI has room for; what it reads beyond that overwrites memory")]
    Overwrites(Field, u64),
    /// HAN, a crash: an algorithm for a collective that has none; the missing table is used nonetheless.
    #[error("HAN has no algorithms for {0}, and looks this one up in a table that does not exist")]
    NoTable(&'static str),
}

impl FaultKind {
    /// Returns true if `MPI_Init` crashes with a segmentation fault.
    pub fn crashes(&self) -> bool {
        matches!(
            self,
            Self::AfterGoodRule(_)
                | Self::AlgorithmOfUntuned(_)
                | Self::RulesAreObject
                | Self::Overwrites(..)
                | Self::NoTable(_)
        )
    }
}
