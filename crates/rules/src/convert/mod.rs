//! Conversion of a file to another format, by its meaning, with a list of losses.

mod losses;

use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::diff::{self, Difference};
use crate::emit::{self, EmitError, Notes, TargetFormat};
use crate::explain::{self, VersionGroup};
use crate::file::{Loaded, load};
use crate::hazard::{self, Hazard};
use crate::json::{JsonDocument, ValueKind};
use crate::kind::Part;
use crate::lines::Lines;
use crate::metric;
use crate::registry::{self, UnknownAlgorithm};
use crate::table::RuleTable;
use crate::units::Ranks;

/// A converted file.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// Its text.
    pub text: String,
    /// The version whose reading of the source it means.
    pub meaning: Behaviour,
    /// The versions that it is written for.
    pub versions: Vec<Behaviour>,
    /// The versions that read the format but lack an algorithm.
    pub lacking: Vec<(Behaviour, UnknownAlgorithm)>,
    /// Contents of the source that the result lacks: the line, counted from 1, and the loss in a sentence.
    pub losses: Vec<(usize, String)>,
    /// Calls for which versions choose differently with the result (right) than with the meaning (left).
    pub changes: Vec<VersionGroup<Vec<Difference>>>,
    /// Versions with other lookup sizes for a collective than the version whose reading is the meaning.
    pub metrics: Vec<(Collective, Behaviour)>,
    /// Hazards of the rules for programs, which the source file already had.
    pub hazards: Vec<Hazard>,
}

/// Reason why a file is not converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// No version accepts it.
    #[error("it is not accepted: {}", .0.join("; "))]
    Unreadable(Vec<String>),
    /// Versions read it differently: a call for which they do, with the older version on the left.
    #[error("{}", describe_ambiguity(*older, *newer, example))]
    Ambiguous {
        /// One version.
        older: Behaviour,
        /// The other.
        newer: Behaviour,
        /// The call.
        example: Box<Difference>,
    },
    /// The result cannot be written.
    #[error(transparent)]
    Emit(#[from] EmitError),
}

/// Describes a call for which two versions choose differently, with the older one on the left.
fn describe_ambiguity(older: Behaviour, newer: Behaviour, example: &Difference) -> String {
    let Difference { collective, sizes, left, right, .. } = *example;
    let ranks = example.smallest();
    let [left, right] =
        [(older, left), (newer, right)].map(|(version, choice)| choice.words(version.release, collective));
    format!(
        "releases read it differently: {collective} on {ranks} ranks, looked up as {} B, gets {left} in Open MPI {older}, \
         and {right} in {newer}",
        sizes.first
    )
}

/// Returns true if the bytes are JSON and the version reads no JSON. It may still read the digits in them as a classic
/// file.
pub fn is_foreign(bytes: &[u8], version: &Behaviour) -> bool {
    let object = |document: JsonDocument<'_>| matches!(document.root().kind(), ValueKind::Object);
    !version.reads_json && JsonDocument::parse(bytes).is_ok_and(object)
}

/// Reads the meaning of a file for the given version. Without one, reads it for the newest version that accepts the
/// file, and requires that all others that accept it read it alike; versions that read no JSON then count as
/// rejecting it.
pub fn meaning(bytes: &[u8], version: Option<Behaviour>) -> Result<Loaded, ConvertError> {
    let versions = version.map_or_else(Behaviour::distinct, |version| vec![version]);
    let foreign = |of: &Behaviour| version.is_none() && is_foreign(bytes, of);
    let mut accepted: Vec<Loaded> = Vec::new();
    let mut refused: Vec<(Behaviour, String)> = Vec::new();
    for version in versions {
        match load(bytes, &version) {
            Ok(_) if foreign(&version) => refused.push((version, "reads no JSON".to_owned())),
            Ok(loaded) => accepted.push(loaded),
            Err(fault) => refused.push((version, fault.to_string())),
        }
    }
    let Some(newest) = accepted.pop() else {
        let groups = explain::group(refused);
        let reason = |group: &VersionGroup<String>| format!("{}: {}", group.label(), group.answer);
        return Err(ConvertError::Unreadable(groups.iter().map(reason).collect()));
    };
    for other in accepted.iter().rev() {
        if let Some(example) = unlike(other, &newest) {
            let (older, newer) = (other.behaviour, newest.behaviour);
            return Err(ConvertError::Ambiguous { older, newer, example: Box::new(example) });
        }
    }
    Ok(newest)
}

/// The first difference between two readings of a file, down to the last parameter.
fn unlike(older: &Loaded, newer: &Loaded) -> Option<Difference> {
    Distribution::ALL.into_iter().find_map(|distribution| {
        let found = diff::tables(&older.to_table_for(distribution), &newer.to_table_for(distribution));
        let difference = found.into_iter().find(|difference| difference.is_reachable(newer.behaviour.release))?;
        Some(Difference { part: Part::Distribution(distribution), ..difference })
    })
}

/// Writes what a file means in another format, for every version that reads the format and has the algorithms. Hazards
/// are written as they are.
pub fn convert(bytes: &[u8], source: &Loaded, format: TargetFormat, notes: &Notes) -> Result<Conversion, ConvertError> {
    let readers = format.readers();
    let table = writable(&source.to_table(), format, &readers);
    let lacks = |version: &Behaviour| missing(&table, version).into_iter().find(|unknown| known(unknown, &readers));
    let lacking: Vec<_> = readers.iter().filter_map(|version| Some((*version, lacks(version)?))).collect();
    let mut versions = readers.clone();
    versions.retain(|version| lacking.iter().all(|(other, _)| other != version));
    let text = emit::write(&table, notes, format)?;

    let changes = versions.iter().filter_map(|version| {
        let changes = diff::files(version.release, Some(source), load(text.as_bytes(), version).ok().as_ref());
        (!changes.is_empty()).then_some((*version, changes))
    });
    let read = Behaviour::distinct().into_iter().filter_map(|version| load(bytes, &version).ok());
    let read = read.filter(|loaded| !is_foreign(bytes, &loaded.behaviour));
    let alike: Vec<Loaded> = read.filter(|loaded| unlike(loaded, source).is_none()).collect();
    let lines = Lines::new(bytes);
    Ok(Conversion {
        changes: explain::group(changes),
        metrics: metrics(source, &alike, &table, &versions),
        hazards: hazard::check(&emit::portable(&table)),
        losses: losses::list_losses(bytes, &lines, source, &alike, format),
        meaning: source.behaviour,
        text,
        versions,
        lacking,
    })
}

/// The part of a table that a format can express: without bounds on requests in version 1, and without algorithms that
/// no version has in JSON, since a rule for one is dropped there.
fn writable(table: &RuleTable, format: TargetFormat, readers: &[Behaviour]) -> RuleTable {
    table.map(|collective, choice| match format {
        TargetFormat::Classic => Choice { max_requests: 0, ..choice },
        TargetFormat::V2 => choice,
        TargetFormat::Json => {
            let exists =
                |version: &Behaviour| registry::algorithm(version.release, collective, choice.algorithm).is_ok();
            if choice.is_builtin() || readers.iter().any(exists) { choice } else { Choice::BUILTIN }
        }
    })
}

/// The algorithms of a table that a version does not have.
fn missing(table: &RuleTable, version: &Behaviour) -> Vec<UnknownAlgorithm> {
    let choices = table.choices().filter(|(.., choice)| !choice.is_builtin());
    let unknown = |(collective, _, _, choice): (_, _, _, Choice)| {
        registry::algorithm(version.release, collective, choice.algorithm).err()
    };
    choices.filter_map(unknown).collect()
}

/// Returns true if one of these versions has the algorithm.
fn known(unknown: &UnknownAlgorithm, versions: &[Behaviour]) -> bool {
    versions.iter().any(|version| registry::algorithm(version.release, unknown.collective, unknown.id).is_ok())
}

/// Versions with other lookup sizes than the one whose reading is the meaning, if sizes matter; except those that read
/// the source alike, for which nothing changes.
fn metrics(
    source: &Loaded,
    alike: &[Loaded],
    table: &RuleTable,
    versions: &[Behaviour],
) -> Vec<(Collective, Behaviour)> {
    let sees = |of: &Behaviour, collective| metric::metric(of.release, collective, Ranks(7));
    let news = |version: &&Behaviour| alike.iter().all(|loaded| loaded.behaviour != **version);
    let mut metrics = Vec::new();
    for version in versions.iter().filter(news) {
        for (collective, blocks) in table.collectives() {
            let sized = blocks.iter().any(|(_, _, sizes)| sizes.count() > 1);
            if sized && sees(version, collective) != sees(&source.behaviour, collective) {
                metrics.push((collective, *version));
            }
        }
    }
    metrics
}

#[cfg(test)]
mod tests;
