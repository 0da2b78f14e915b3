//! Writing a rule table as a file that every version it is for reads alike.

mod classic;
pub mod confirmation;
mod error;
mod json;
mod notes;

use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::Hazard;
use crate::layout_rules::{LayoutRules, table_of};
use crate::table::RuleTable;
use crate::{names, read_from_text};

pub use error::EmitError;
pub(crate) use error::{INT_MAX, LONG_MAX};
use error::{refuse_hazards, refuse_inexpressible};
pub use notes::Notes;
pub(crate) use notes::harmless;

names! {
    /// A format that can be written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TargetFormat {
        /// The classic format, version 1.
        Classic "classic",
        /// The classic format with `rule-file-version-2` and a fifth column for bounds on requests.
        V2 "v2",
        /// JSON.
        Json "json",
    }
}

impl TargetFormat {
    /// Returns true if a version reads the format.
    pub fn is_read_by(self, version: &Behaviour) -> bool {
        match self {
            Self::Classic => true,
            Self::V2 => version.reads_header,
            Self::Json => version.reads_json,
        }
    }

    /// One version for each behaviour, of those that read the format.
    pub fn readers(self) -> Vec<Behaviour> {
        Behaviour::distinct().into_iter().filter(|version| self.is_read_by(version)).collect()
    }
}

// `v1` is classic.
read_from_text!(TargetFormat, |name| {
    names::find("format", &Self::ALL, Self::name, if name.trim() == "v1" { "classic" } else { name })
});

/// The text of a file that means [`portable`] of this table to every version that reads the format, hazards included.
pub fn write(table: &RuleTable, notes: &Notes, format: TargetFormat) -> Result<String, EmitError> {
    text(&portable(table), notes, format)
}

fn text(table: &RuleTable, notes: &Notes, format: TargetFormat) -> Result<String, EmitError> {
    refuse_inexpressible(table, format != TargetFormat::Classic)?;
    Ok(match format {
        TargetFormat::Json => json::text(table, &[], notes),
        TargetFormat::Classic | TargetFormat::V2 => classic::text(table, notes, format == TargetFormat::V2),
    })
}

/// Returns true if any choice bounds its requests, so that only versions that know `rule-file-version-2` read the file.
pub fn bounds_requests(table: &RuleTable) -> bool {
    table.choices().any(|(.., choice)| choice.max_requests > 0 && !choice.is_builtin())
}

/// The text of a classic file that means exactly this table to every release: version 1, which all of them read, or
/// version 2 if a choice bounds its requests. Tables with hazards are refused, unless the caller accepts these; hazards
/// are judged for all releases, since a file may outlive its Open MPI.
pub fn classic(table: &RuleTable, notes: &Notes, accepted: impl Fn(&Hazard) -> bool) -> Result<String, EmitError> {
    refuse_hazards(table, accepted)?;
    let format = if bounds_requests(table) { TargetFormat::V2 } else { TargetFormat::Classic };
    text(table, notes, format)
}

/// The text of a JSON file that means this table, except on communicators with one of these arrangements. Their rules
/// come first, since the first match wins.
pub fn json_with_layouts(
    table: &RuleTable,
    layout_rules: &[LayoutRules],
    notes: &Notes,
    accepted: impl Fn(&Hazard) -> bool,
) -> Result<String, EmitError> {
    let table = portable(table);
    let mut tables = vec![table.clone()];
    tables.extend(Distribution::ALL.into_iter().map(|distribution| portable(&table_of(layout_rules, distribution))));
    for table in &tables {
        refuse_hazards(table, &accepted)?;
        refuse_inexpressible(table, true)?;
    }
    let portable = |block: &LayoutRules| {
        let sizes = block.sizes.map(|choice| portable_choice(block.collective, *choice));
        LayoutRules { sizes, ..block.clone() }
    };
    let layout_rules: Vec<LayoutRules> =
        layout_rules.iter().filter(|block| block.distribution != Distribution::Any).map(portable).collect();
    Ok(json::text(&table, &layout_rules, notes))
}

/// The table as it is written: allgather's Bruck gets a fan-out of at least 2, which releases up to 5.0 ignore; 6.0
/// then runs the same algorithm, while a smaller one would never end. Algorithm 0 has no parameters.
pub fn portable(table: &RuleTable) -> RuleTable {
    table.map(portable_choice)
}

fn portable_choice(collective: Collective, choice: Choice) -> Choice {
    match (collective, choice.algorithm) {
        (_, 0) => Choice::BUILTIN,
        (Collective::Allgather, 2) => choice.with_faninout(choice.faninout.max(2)),
        _ => choice,
    }
}

#[cfg(test)]
mod tests;
