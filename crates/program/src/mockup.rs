//! The name of a mock-up: other calls that do what a collective does. Programs can make them; rules cannot ask for them.

use std::fmt;

use collrules_rules::units::Bytes;
use collrules_rules::{names, names::distance, read_from_text, stored_as_text};
use serde::{Deserialize, Serialize};

/// Other calls of the same library that do what a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Mockup {
    /// Calls of other collectives: `mockup:reduce+bcast`.
    Pattern(MockupPattern),
    /// Several calls of the same collective, each on its part of the data: `split:4`.
    Split {
        /// Number of calls.
        pieces: u32,
        /// A barrier between them: `split:4+barrier`.
        barrier: bool,
    },
    /// One call of the same collective with a larger message, whose surplus is ignored: `pad:64KiB`.
    Pad(Bytes),
}

names! {
    /// The calls of a mock-up, in their order; the name has them joined by `+`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum MockupPattern {
        Allgather "allgather",
        AllgatherLocal "allgather+local",
        Allgatherv "allgatherv",
        Allreduce "allreduce",
        Alltoall "alltoall",
        Alltoallv "alltoallv",
        Alltoallw "alltoallw",
        Bcast "bcast",
        ExscanReduceLocal "exscan+reduce_local",
        GatherBcast "gather+bcast",
        GatherLocal "gather+local",
        Gatherv "gatherv",
        GathervBcast "gatherv+bcast",
        Hier "hier",
        Lane "lane",
        Reduce "reduce",
        ReduceBcast "reduce+bcast",
        ReduceScatter "reduce_scatter",
        ReduceScatterAllgatherv "reduce_scatter+allgatherv",
        ReduceScatterBlockAllgather "reduce_scatter_block+allgather",
        ReduceScatterBlockGather "reduce_scatter_block+gather",
        ReduceScatterGatherv "reduce_scatter+gatherv",
        // As two calls; `reduce_scatter` is one.
        ReduceThenScatter "reduce+scatter",
        ReduceThenScatterv "reduce+scatterv",
        ScanShift "scan+shift",
        ScatterAllgather "scatter+allgather",
        Scatterv "scatterv",
        ScattervAllgatherv "scatterv+allgatherv",
    }
}

impl Mockup {
    /// Returns true if its calls use the nodes of a communicator, and ranks of different nodes, instead of the whole
    /// communicator.
    pub fn needs_nodes(self) -> bool {
        matches!(self, Self::Pattern(MockupPattern::Hier | MockupPattern::Lane))
    }

    fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("mockup", calls)) => Ok(Self::Pattern(calls.parse()?)),
            Some(("split", split)) => {
                let (pieces, barrier) = split.strip_suffix("+barrier").map_or((split, false), |pieces| (pieces, true));
                let pieces = pieces.parse().ok().filter(|pieces| *pieces >= 2);
                let pieces = pieces.ok_or_else(|| format!("`{text}` is no split; the number of pieces begins at 2"))?;
                Ok(Self::Split { pieces, barrier })
            }
            Some(("pad", size)) => {
                let bytes = size.parse().ok().filter(|bytes| *bytes > Bytes(0));
                bytes.map(Self::Pad).ok_or_else(|| format!("`{size}` is not a size to pad to, such as 64 KiB"))
            }
            _ => Err(format!(
                "`{text}` is no mock-up; write mockup:CALLS, split:PIECES, split:PIECES+barrier or pad:SIZE"
            )),
        }
    }
}

read_from_text!(Mockup);

impl fmt::Display for Mockup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => write!(f, "mockup:{}", pattern.name()),
            Self::Split { pieces, barrier } => write!(f, "split:{pieces}{}", if *barrier { "+barrier" } else { "" }),
            Self::Pad(bytes) => write!(f, "pad:{bytes:#}"),
        }
    }
}

stored_as_text!(Mockup);

impl MockupPattern {
    fn read(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|pattern| pattern.name() == name);
        known.ok_or_else(|| {
            let nearest = Self::ALL.map(Self::name).into_iter().min_by_key(|known| distance(known, name));
            format!("no guideline has the calls `{name}`; the nearest name is `{}`", nearest.unwrap_or_default())
        })
    }
}

read_from_text!(MockupPattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mockups_read_back() {
        let patterns = MockupPattern::ALL.iter().map(|pattern| Mockup::Pattern(*pattern));
        let split = [false, true].map(|barrier| Mockup::Split { pieces: 4, barrier });
        for mockup in patterns.chain(split).chain([Mockup::Pad(Bytes(65536)), Mockup::Pad(Bytes(65537))]) {
            assert_eq!(mockup.to_string().parse(), Ok(mockup));
        }
        for bad in ["", "mockup:", "split:0", "split:1", "split:x", "split:2+barriers", "pad:0", "pad:", "reduce+bcast"]
        {
            assert!(bad.parse::<Mockup>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest_name() {
        let error = "mockup:reduce+bcst".parse::<Mockup>().expect_err("is a slip").to_string();
        assert!(error.ends_with("the nearest name is `reduce+bcast`"), "{error}");
    }
}
