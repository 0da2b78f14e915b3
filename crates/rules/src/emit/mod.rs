//! From a rule table to a file that every version it is for reads alike.

mod json;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::classic::ClassicFile;
use crate::classic::text::Version2;
use crate::classic::write::{Layout, expressible, refuse_hazards};
pub use crate::classic::{EmitError, Notes};
use crate::collective::Collective;
use crate::hazard::{Hazard, RankRange};
use crate::registry;
use crate::steps::Steps;
use crate::table::{RuleTable, SizeSteps};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetFormat {
    /// The classic format, version 1.
    Classic,
    /// The classic format with `rule-file-version-2` and a fifth column for bounds on requests.
    V2,
    /// JSON.
    Json,
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`; known are classic, v2, json")]
pub struct UnknownFormat(pub String);

/// What a file is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its format.
    pub format: TargetFormat,
    /// The versions that shall read it.
    pub versions: Vec<Behaviour>,
}

impl TargetFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Classic, Self::V2, Self::Json];

    /// The name, as in `--to`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::V2 => "v2",
            Self::Json => "json",
        }
    }

    /// Whether a version reads it.
    pub fn is_read_by(self, version: &Behaviour) -> bool {
        match self {
            Self::Classic => true,
            Self::V2 => version.reads_header,
            Self::Json => version.reads_json,
        }
    }
}

impl fmt::Display for TargetFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TargetFormat {
    type Err = UnknownFormat;

    /// Reads a name; `v1` is classic.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let wanted = if name.trim() == "v1" { "classic" } else { name.trim() };
        let named = |format: &Self| format.name().eq_ignore_ascii_case(wanted);
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl Target {
    /// A file for these versions.
    pub fn new(format: TargetFormat, versions: impl IntoIterator<Item = Behaviour>) -> Self {
        Self { format, versions: versions.into_iter().collect() }
    }

    /// A file for every version that reads the format.
    pub fn all(format: TargetFormat) -> Self {
        Self::new(format, Behaviour::distinct().into_iter().filter(|version| format.is_read_by(version)))
    }
}

/// The text of a file that means [`portable`] of this table to every version that it is for. Tables with hazards are
/// refused; hazards are judged for all releases, since a file outlives the Open MPI that it was made for.
pub fn write(table: &RuleTable, notes: &Notes, target: &Target) -> Result<String, EmitError> {
    write_accepting(table, notes, target, |_| false)
}

/// The same, but hazards that the caller accepts are written.
pub fn write_accepting(
    table: &RuleTable,
    notes: &Notes,
    target: &Target,
    accepted: impl Fn(&Hazard) -> bool,
) -> Result<String, EmitError> {
    if let Some(version) = target.versions.iter().find(|version| !target.format.is_read_by(version)) {
        let (format, remedy) = match target.format {
            TargetFormat::Json => ("JSON", "only 6.0 and later do, so write a classic file"),
            _ => ("rule-file-version-2", "4.1.8, 5.0.7 and later do, so write version 1 or leave this version out"),
        };
        return Err(EmitError::Unreadable { version: version.name(), format, remedy });
    }
    let table = &portable(table);
    refuse_hazards(table, accepted)?;
    refuse_unknown(table, &target.versions)?;
    let doubled = target.versions.is_empty() || target.versions.iter().any(|version| version.shifts_sizes);
    match target.format {
        TargetFormat::Classic => Ok(ClassicFile::build(table, notes, Layout { version: 1, doubled })?.to_string()),
        TargetFormat::V2 => {
            let file = ClassicFile::build(table, notes, Layout { version: 2, doubled })?;
            Ok(Version2(&file).to_string())
        }
        TargetFormat::Json => {
            for (collective, blocks) in table.collectives() {
                for (first, end, sizes) in blocks.iter() {
                    expressible(collective, RankRange { first, end }, sizes, true)?;
                }
            }
            Ok(json::text(table, notes))
        }
    }
}

/// Whether a choice bounds its requests, so that only versions that know `rule-file-version-2` read the file.
pub fn bounds_requests(table: &RuleTable) -> bool {
    let choices = table.collectives().flat_map(|(_, blocks)| blocks.iter());
    let mut choices = choices.flat_map(|(_, _, sizes)| sizes.iter().map(|(_, _, choice)| *choice));
    choices.any(|choice| choice.max_requests > 0 && !choice.is_builtin())
}

/// The text of a classic file: of version 1, which every release reads, unless a choice bounds its requests, which only
/// version 2 can say.
pub fn classic(table: &RuleTable, notes: &Notes, accepted: impl Fn(&Hazard) -> bool) -> Result<String, EmitError> {
    if bounds_requests(table) {
        write_accepting(table, notes, &Target::new(TargetFormat::V2, []), accepted)
    } else {
        Ok(ClassicFile::from_table_accepting(table, notes, accepted)?.to_string())
    }
}

/// The table as it is written: allgather's Bruck gets a fan-out of 2 at least, which up to 5.0 ignores and with which
/// 6.0 does the same; below 2 it would never end there. Beside algorithm 0 nothing is said.
pub fn portable(table: &RuleTable) -> RuleTable {
    let mut portable = RuleTable::new();
    for (collective, blocks) in table.collectives() {
        let sizes = |sizes: &SizeSteps| {
            Steps::ascending(sizes.iter().map(|(start, _, choice)| (start, portable_choice(collective, *choice))))
        };
        portable.set(collective, Steps::ascending(blocks.iter().map(|(first, _, block)| (first, sizes(block)))));
    }
    portable
}

fn portable_choice(collective: Collective, choice: Choice) -> Choice {
    match (collective, choice.algorithm) {
        (_, 0) => Choice::BUILTIN,
        (Collective::Allgather, 2) => choice.with_faninout(choice.faninout.max(2)),
        _ => choice,
    }
}

/// Refuses algorithms that a version does not have.
fn refuse_unknown(table: &RuleTable, versions: &[Behaviour]) -> Result<(), EmitError> {
    for (collective, blocks) in table.collectives() {
        let choices = blocks.iter().flat_map(|(_, _, sizes)| sizes.iter().map(|(_, _, choice)| choice));
        for choice in choices.filter(|choice| !choice.is_builtin()) {
            for version in versions {
                registry::algorithm(version.release, collective, choice.algorithm)
                    .map_err(EmitError::UnknownAlgorithm)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
