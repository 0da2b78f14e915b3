//! The programs whose output is read: their marks, and the meaning of their sizes.
//!
//! Message sizes are those of [`collrules_rules::metric`]. Programs print other sizes in the two reduce-scatters alone,
//! so [`Meaning`] is about these; the guide has the same table, with sources.

use std::sync::LazyLock;

use collrules_record::{Bytes, Ranks};
use collrules_rules::{Collective, names};
use regex::Regex;
use serde::{Deserialize, Serialize};

names! {
    /// A format that is read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ImportFormat {
        /// Text of the OSU micro-benchmarks, or in its form.
        Osu "text of OSU micro-benchmarks",
        /// Text of IMB-MPI1.
        Imb "text of IMB-MPI1",
        /// Text of ReproMPI.
        Reprompi "text of ReproMPI",
        /// A table with named columns.
        Table "a table",
    }
}

/// Forms of lines that say something about the rows below them, each with its format. A group is named after what its value
/// is about.
static MARKS: LazyLock<Vec<(ImportFormat, Regex)>> = LazyLock::new(|| {
    let forms = include_str!("marks.txt").lines().filter_map(|line| line.split_once(": "));
    let format = |name| {
        [ImportFormat::Osu, ImportFormat::Imb, ImportFormat::Reprompi].into_iter().find(|it| format!("{it:?}") == name)
    };
    let compile = |(name, form)| Some((format(name)?, Regex::new(form).expect("an expression that a test compiles")));
    forms.filter_map(compile).collect()
});

/// The mark of a line: the format, what it is about, and its value.
pub(super) fn mark(line: &str) -> Option<(ImportFormat, &'static str, &str)> {
    // No other line is one; most lines are rows.
    let may_be = line.starts_with('#') || line.contains("ERROR") || line.contains(": Error ");
    MARKS.iter().filter(|_| may_be).find_map(|(format, expression)| {
        let (found, about) = (expression.captures(line)?, expression.capture_names().flatten().next()?);
        Some((*format, about, found.name(about)?.as_str().trim()))
    })
}

/// The begin of an output or of a header within a line, behind something else than `#`: the line in front of it was not
/// ended.
pub(super) fn banner_within(line: &str, is_header: impl Fn(&str) -> bool) -> Option<&str> {
    let begins = line.match_indices('#').filter(|(at, _)| line[..*at].contains(|sign| sign != '#' && sign != ' '));
    begins.map(|(at, _)| &line[at..]).find(|rest| {
        let begins = |about| ["test", "nameless_test", "program", "ranks"].contains(&about);
        mark(rest).is_some_and(|(_, about, _)| begins(about)) || is_header(rest)
    })
}

/// Meaning of a printed size in the two reduce-scatters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The message size as collrules has it: the whole vector of reduce_scatter, a block of reduce_scatter_block.
    Message,
    /// The whole vector.
    Whole,
    /// The block of one rank.
    PerRank,
    /// Unknown.
    #[default]
    Unknown,
}

impl Meaning {
    /// The meaning of the sizes of a format. IMB changed it with a version, as year and update.
    pub(super) fn of(format: ImportFormat, version: Option<(u32, u32)>, collective: Option<Collective>) -> Self {
        match (format, version) {
            (ImportFormat::Osu, _) => Self::Whole,
            (ImportFormat::Reprompi, _) => Self::PerRank,
            (ImportFormat::Imb, _) if collective == Some(Collective::ReduceScatterBlock) => Self::PerRank,
            (ImportFormat::Imb, Some(version)) if version >= (2019, 1) => Self::PerRank,
            (ImportFormat::Imb, Some(_)) => Self::Whole,
            _ => Self::Unknown,
        }
    }
}

/// A printed size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) printed: Option<u64>,
    pub(super) meaning: Meaning,
    /// Bytes of an element, if the output says so: ranks have whole numbers of them.
    pub(super) element: Option<u64>,
}

impl Size {
    /// The message size of a call, or why it is unknown.
    pub(super) fn message(self, collective: Collective, ranks: Ranks) -> Result<Bytes, &'static str> {
        let Self { printed, meaning, element } = self;
        let (ranks, element) = (u64::from(ranks.0), element.unwrap_or(1));
        if !collective.has_sizes() {
            return Ok(Bytes(0));
        }
        let printed = printed.ok_or("there is no column message_bytes, and this collective has sizes")?;
        match (meaning, collective) {
            (Meaning::Whole, Collective::ReduceScatterBlock) => Ok(Bytes(printed / element / ranks * element)),
            (Meaning::PerRank, Collective::ReduceScatter) => {
                printed.checked_mul(ranks).map(Bytes).ok_or("the whole vector has more than 2^64 bytes")
            }
            (Meaning::Unknown, Collective::ReduceScatter | Collective::ReduceScatterBlock) => Err(
                "it is unknown whether sizes of this reduce-scatter are those of the whole vector or of one rank; for \
                 IMB its line with the version tells, in a table the column name message_bytes",
            ),
            _ => Ok(Bytes(printed)),
        }
    }
}
