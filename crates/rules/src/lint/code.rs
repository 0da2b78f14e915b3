//! The codes of all problems, with fixed texts. Numbers are never changed or reused.

use std::fmt;

use serde::{Serialize, Serializer};

use Severity::{Error, Note, Warning};

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Note,
    /// Probably unintended, or harmful to some programs.
    Warning,
    /// Ignored, misread, or fatal.
    Error,
}

macro_rules! codes {
    ($($name:ident $number:literal $severity:ident $title:literal, $explanation:literal, $remedy:literal;)*) => {
        /// Code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The number.
            pub fn number(self) -> u16 {
                match self { $(Self::$name => $number,)* }
            }

            /// Returns the subject of the problem in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Returns the usual severity; single cases may have another.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => $severity,)* }
            }

            /// Returns the reason why it is a problem.
            pub fn explanation(self) -> &'static str {
                match self { $(Self::$name => $explanation,)* }
            }

            /// Returns advice for fixing it.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

codes! {
    Rejected 1 Error "rejected as a whole",
        "One fault drops the rules of all collectives. Open MPI says nothing about it: jobs run as if there were no \
         file.",
        "Correct this place; the other problems shown may be the reason for it.";
    Crashes 2 Error "crashes MPI_Init",
        "A reader frees memory twice, writes beyond it, or uses a table that is not there: every program ends with a \
         segmentation fault in MPI_Init.",
        "Correct this place before any job uses the file.";
    Misread 3 Error "accepted, but not as written",
        "Open MPI takes whatever numbers it finds, one after the other, and does not look at lines. It reads other \
         rules than the file shows, without a message.",
        "Correct the marked places.";
    HeaderUnread 4 Error "version line not read",
        "To versions before 4.1.8 and 5.0.7 the `-2` of the line is a negative number, which rejects \
         the whole file, without a message.",
        "Write version 1, without the line and the fifth column, for these versions; or check the versions that \
         matter with --release.";
    JsonUnread 5 Error "JSON not read",
        "Versions before 6.0 know classic files only and look for numbers in this text.",
        "Write a classic file for these versions; or check the versions that matter with --release.";

    CrashesVerbose 6 Warning "crashes 6.0 when its verbosity is raised",
        "coll/tuned of 6.0 has no algorithms for this collective. It ignores the rules, but from coll_tuned_verbose 2 \
         on it prints what it read and looks their names up in a table that is not there: every program ends with a \
         segmentation fault in MPI_Init.",
        "Remove the rules of this collective.";

    BrokenNumber 101 Error "broken number",
        "Open MPI reads integers with C's %li: it stops at the first character that does not fit and takes the rest \
         for further fields. A number with a leading 0 is octal, so that 0800 is 0 and then 800.",
        "Write plain decimal digits.";
    OddNumber 102 Warning "number in another notation",
        "Open MPI takes numbers with a leading 0 for octal and those with 0x for hexadecimal.",
        "Write plain decimal digits.";
    Negative 103 Error "negative number",
        "A negative number in any field rejects the whole file, without a message. A dash right before a digit is \
         enough.",
        "Write a number that is not negative, or put a # before text.";
    DigitsInText 104 Error "digits within text",
        "Open MPI skips letters but not the digits among them: these become fields, and all later fields shift.",
        "Put a # before comments.";
    StrayText 105 Warning "text outside a comment",
        "Open MPI skips it character by character. It does no harm until somebody writes a digit into it.",
        "Put a # before comments.";
    HugeNumber 106 Warning "number too large",
        "Open MPI keeps communicator sizes, algorithms, fan-outs and requests in a C int, drops the upper bits of \
         larger numbers, and cuts others to the largest long.",
        "Write a smaller number.";
    LateHeader 107 Error "version line not at the very beginning",
        "`rule-file-version-` counts only as the first bytes of the file. After a comment, a blank, or a byte order \
         mark its `-2` is a negative number, which rejects the file.",
        "Make it the first line, without anything before it.";
    OddHeader 108 Warning "unusual version line",
        "Any number above 1 means that rules may have a fifth column; other texts do not.",
        "Write rule-file-version-2, or leave the line out.";
    FifthColumn 109 Error "fifth column without version line",
        "Without `rule-file-version-2` a rule has four fields. The fifth is taken for the message size of the next \
         rule, and all later fields shift.",
        "Remove the fifth column, or make rule-file-version-2 the first line, which 4.1.8, 5.0.7 and later read.";
    RulesOnALine 110 Error "several rules on a line",
        "With rule-file-version-2 a number after the fourth field, on the same line, is the bound on requests: \
         here it is the message size of the next rule.",
        "Write each rule on a line of its own.";
    WrongCount 111 Error "count does not match",
        "Open MPI believes the counts. If one is wrong, it takes rules for sizes and sizes for rules, or finds the \
         end too early and rejects the file.",
        "Correct the count, or the lines below it.";
    EndsEarly 112 Error "ends early",
        "The counts announce more fields than there are, which rejects the whole file, without a message.",
        "Correct the counts, or add what is missing.";
    FirstSize 113 Error "first message size is not 0",
        "The message rules of every communicator size must begin at size 0, or the whole file is rejected.",
        "Begin with a rule for size 0; `0 0 0 0` leaves small messages to Open MPI.";
    Trailing 114 Warning "after the last field",
        "Open MPI stops reading when everything that was announced is there; what follows is ignored.",
        "Remove it, or raise the count that should include it.";
    Unsorted 115 Warning "sizes out of order",
        "Up to 5.0 the search stops at the first size that is too large; in 6.0 ranges are made of neighbouring \
         sizes. Sizes out of order hide rules, and not the same everywhere.",
        "Sort the sizes in ascending order.";
    Duplicate 116 Warning "size repeated",
        "If several rules have one message size, Open MPI uses only the last of them.",
        "Remove one of them.";
    NoSuchId 117 Error "no such collective",
        "There are ids from 0 to 21. A larger one rejects the whole file; it often means that a count above is \
         wrong.",
        "Correct the id, or the counts above.";
    TooManyCollectives 118 Error "too many collectives",
        "There are 22 collectives. A larger number rejects the whole file.",
        "Correct the number of collectives.";
    Untuned 119 Warning "collective without tuned algorithms",
        "coll/tuned has no algorithms for this collective: rules for it are read and ignored.",
        "Remove its rules.";
    CollectiveTwice 120 Warning "collective repeated",
        "Of several lists of rules for one collective, the last replaces the others.",
        "Put all communicator sizes of a collective into one list.";

    LineNumbers 121 Error "line numbers",
        "Open MPI reads the numbers of the lines as fields, so that all others shift.",
        "Remove the first column.";
    Utf16 122 Error "not plain text",
        "In UTF-16 every character has two bytes. Open MPI takes the zero bytes for text between the digits.",
        "Save the file as ASCII or UTF-8, such as with `iconv -f UTF-16 -t ASCII`.";
    Prose 123 Error "no rules file",
        "Rules files consist of numbers and comments. Open MPI would look for numbers within this text.",
        "Name a rules file, such as rules.conf of a run.";

    NotJson 201 Error "not JSON",
        "Text that is not JSON is read as a classic file: Open MPI looks for numbers in it.",
        "Correct the syntax; JSON has no comments.";
    UnknownKey 202 Warning "unknown member",
        "Open MPI ignores members that it does not know, without a message.",
        "Remove it.";
    MisspeltKey 203 Error "misspelt member",
        "Open MPI ignores members that it does not know, without a message: what this one says is lost.",
        "Correct the spelling.";
    InfiniteRanks 204 Error "\"inf\" as a number of ranks",
        "Open MPI puts \"inf\" into a C int, where it becomes -1: the rules of this communicator rule never applies.",
        "Leave `comm_size_max` out, or write 2147483647.";
    WrongType 205 Error "wrong type",
        "Sizes and parameters must be JSON integers, lists must be arrays. A value of another type rejects the \
         whole file, or crashes MPI_Init after a valid rule.",
        "Write a value of the right type, numbers without quotes, fraction and exponent.";
    MissingMember 206 Error "member is missing",
        "The reader needs this member and otherwise ignores the whole file, or crashes after a valid rule.",
        "Add the member.";
    UnknownCollective 207 Error "unknown collective",
        "An unknown name rejects the whole file, and crashes MPI_Init after a valid rule.",
        "Write the name in lower case with underscores.";
    UnknownName 208 Error "unknown algorithm",
        "A rule with an algorithm that does not exist is dropped, without a message; another rule or the built-in \
         decision takes its place.",
        "Write one of the names or numbers that the version knows.";
    UntunedAlgorithm 209 Error "collective without tuned algorithms",
        "This collective has no table of algorithms. A rule for it with the member `alg` crashes MPI_Init; without \
         it there is no effect.",
        "Remove the rules of this collective.";
    TrailingComma 210 Note "trailing comma",
        "Open MPI accepts it, other JSON readers do not.",
        "Remove the comma.";
    RepeatedKey 211 Warning "member repeated",
        "Of members with the same name the first counts; of collectives with the same name the last.",
        "Remove one of them.";
    NumberRange 212 Warning "number out of range",
        "Ranks, fan-outs and requests are kept in a C int, which drops the upper bits; negative sizes lie below or \
         above everything.",
        "Write a number between 0 and 2147483647.";
    UnknownDistribution 213 Warning "unknown distribution",
        "A text that is no distribution counts as \"any\".",
        "Write any, one-per-node, or single-node.";
    NoAlgorithm 214 Warning "rule without algorithm",
        "A rule without `alg`, or with one that is neither text nor an integer, leaves the decision to Open MPI.",
        "Add `alg`; 0 says the same on purpose.";

    DeadRule 301 Warning "rule never applies",
        "This rule never applies to a call, in any version that reads the file.",
        "Remove it, or correct the sizes around it.";
    DeadCommRule 302 Warning "communicator rule never applies",
        "These rules never apply to a communicator, in any version that reads the file.",
        "Remove them, or correct the sizes around them.";
    BelowFirst 303 Warning "applies to smaller communicators as well",
        "Up to 5.0 the rules of the first size listed also apply to smaller communicators.",
        "Put a communicator size 0 with the single rule `0 0 0 0` in front to leave smaller ones to Open MPI.";
    LoneSize 304 Warning "applies to communicators of every size",
        "A communicator size that is listed alone applies to all communicators, smaller and larger ones.",
        "Enclose it: a size 0 with the rule `0 0 0 0` before, and the next larger size with the same rule after it. \
         For 6.0, list each size but the first twice.";
    ShiftedSizes 305 Warning "6.0 shifts communicator sizes",
        "Open MPI 6.0 takes the communicator sizes of a classic file for the ends of ranges instead of the \
         beginnings: the rules of the next size apply to each.",
        "List each boundary twice, first with the rules below it and then with those above (`collrules convert` \
         does), or write JSON for 6.0.";
    Disagreement 306 Warning "versions disagree",
        "The versions read the sizes of this list differently.",
        "Sort the sizes, remove repeated ones, and list each communicator size where the rules change twice.";
    OtherMetric 307 Warning "4.0 looks up another size",
        "4.0 leaves the count out of the size that it looks up for gather and scatter, and takes the total for \
         allgatherv, where later versions take the average of the ranks.",
        "Use one algorithm for all message sizes, or do not use the file with 4.0.";
    SizeUnseen 308 Warning "depends on a size that is not looked up",
        "The lookup for this collective does not see how much data a call moves: it is always 0 for barrier and \
         alltoallv, and the size of the datatype times the ranks for scan and exscan.",
        "Keep one rule, for message size 0.";
    PerRankSizes 309 Warning "sizes look like bytes per rank",
        "For this collective Open MPI looks up the total: bytes per rank times the number of ranks. Benchmarks \
         print bytes per rank, and thresholds copied from them take effect at messages that are too small by that \
         factor.",
        "Multiply the thresholds by the number of ranks, if they were measured as bytes per rank.";
    Gap 310 Note "gap between sizes",
        "The first communicator rule that matches decides. Sizes that its rules leave out get the built-in \
         decision; later communicator rules are not tried.",
        "Close the gap, or leave it on purpose.";

    TwoProcesses 401 Error "made for two processes",
        "With any other number of ranks the call fails on every rank with MPI_ERR_UNSUPPORTED_OPERATION, which \
         aborts programs.",
        "Keep it to communicators of 2 ranks: list size 2, and size 3 with other rules.";
    SizeDependent 402 Warning "algorithm depends on the size",
        "Some arguments of scatter and gather are not significant, but looked up nonetheless: scatter away from the \
         root, gather in place. Ranks of correct programs then run different algorithms, which corrupts data or \
         hangs.",
        "Use one algorithm for all message sizes of a communicator size. Algorithm 0 counts as another.";
    EndlessLoop 403 Error "never ends on 6.0",
        "6.0 takes the fan-out of this algorithm for its radix and loops forever below 2.",
        "Write a fan-out of 2 or more; older versions ignore it.";
    NonCommutative 404 Warning "wrong for some operations",
        "The algorithm reorders operands and gives wrong results for user-defined operations that do not commute. \
         Nothing tests for them when a rule decides.",
        "Use an algorithm that keeps the order, unless no program has such operations.";
    MixedTypes 405 Note "wrong for mixed datatypes",
        "Ranks may describe the same data by different counts and datatypes, which MPI allows. This algorithm then \
         gives wrong data or hangs.",
        "Leave segments out, or use another algorithm, unless all programs pass the same datatypes everywhere.";
    NeverItself 406 Warning "another algorithm runs instead",
        "The algorithm cannot run on these communicators; Open MPI runs another without a message.",
        "Name what runs, or what should.";
    UnknownAlgorithm 407 Error "no such algorithm",
        "A classic file is not checked for this. The call fails with MPI_ERR_ARG, which aborts programs.",
        "Write an algorithm that all versions have, or check only those that have it.";
    IgnoredParameter 408 Note "parameter is ignored",
        "The algorithm does not use this parameter.",
        "Write 0.";
    SometimesInstead 409 Note "another algorithm runs for some calls",
        "The algorithm cannot run some of these calls; Open MPI runs another for them without a message.",
        "Nothing, if this is intended.";
    CountOverflow 410 Warning "long calls are looked up as others",
        "Up to 5.0 the elements of these calls are counted in a C int. From 2^31 on the count turns negative or small, and \
         another rule decides.",
        "Use one algorithm for all message sizes of this communicator size.";
    ActsInsideHan 411 Note "acts inside HAN as well",
        "HAN makes communicators of one rank per node for its own calls between nodes. Rules for one rank per node apply to \
         these calls too, and make collectives of all ranks on several nodes faster or slower.",
        "Compare these collectives on full nodes as well: `collrules validate` in their layout.";
    OrderOfSums 412 Note "may change the last bits of sums",
        "The last bits of floating-point sums depend on the order of additions. Programs that compare results bit by bit see \
         the difference. Rules for reductions without this note keep the order of the default.",
        "Nothing, if programs accept such differences; `collrules tune --keep-bits default` makes rules without them.";

    HanCircle 503 Error "HAN below itself",
        "HAN runs no calls of the communicators that it makes for itself. It passes these calls to the component with \
         the next lower priority and counts an error.",
        "Name tuned, or another component, on intra_node and inter_node.";
    HanCannotRun 504 Warning "component cannot run",
        "This component has no function for such calls, or is not there. HAN passes them to the component with the \
         next lower priority, which is tuned.",
        "Name the component that should handle the calls.";
    HanUnsorted 505 Warning "sizes out of order",
        "HAN takes the last entry of the file whose size is not larger. A smaller size after a larger one hides it.",
        "Sort the sizes in ascending order.";
    HanDead 506 Warning "never applies",
        "Entries further down hide this one: of collectives and levels that come twice the last counts, and of sizes \
         the last that fits.",
        "Remove it, or correct the sizes around it.";
    HanUnruled 507 Warning "HAN has no rules for this collective",
        "HAN reads these rules and never asks for them.",
        "Remove them.";
    HanSegments 508 Note "segment lengths are ignored",
        "HAN reads the numbers in brackets and drops them.",
        "Remove them; coll_han_bcast_segsize and its like set the segments.";
    HanGap 510 Note "left to HAN's parameters",
        "No rule fits these calls. coll_han_COLLECTIVE_dynamic_LEVEL_module decides: han for programs' communicators, \
         tuned for those that HAN makes.",
        "Write size 0 with a component, or leave the gap on purpose.";
    HanAbsent 511 Note "no HAN in this version",
        "HAN came with 4.1, where it stands back unless coll_han_priority is raised.",
        "Check the versions that matter with --release.";
    HanDisagreement 512 Warning "versions read other rules",
        "4.1 knows no names of levels and no algorithms. It skips words on its way to the next number, and takes that \
         for what should have stood there.",
        "If 4.1 should read the file too, write levels as ids, and no algorithms.";
}

impl fmt::Display for Code {
    /// As in `CR101`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("CR{:03}", self.number()))
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
