//! From a file to another format, by its meaning, and what that loses.

mod losses;

use std::fmt;

use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::diff::{self, Difference, FileDifference};
use crate::emit::{self, Target, TargetFormat};
use crate::emit::{EmitError, Notes};
use crate::explain::{self, Group, said};
use crate::file::{Load, Loaded, load};
use crate::hazard::{self, Hazard};
use crate::json::{Document, Kind};
use crate::lines::Lines;
use crate::metric;
use crate::registry::{self, UnknownAlgorithm};
use crate::table::RuleTable;
use crate::units::Ranks;

pub use losses::{Loss, Lost};

/// A converted file.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// Its text.
    pub text: String,
    /// The version whose reading of the source it means.
    pub meaning: Behaviour,
    /// The versions that it is for.
    pub versions: Vec<Behaviour>,
    /// The versions that read the format but lack an algorithm.
    pub lacking: Vec<(Behaviour, UnknownAlgorithm)>,
    /// What the source says and the result does not, by line.
    pub losses: Vec<Loss>,
    /// Calls that versions serve otherwise by the result (right) than the meaning has it (left).
    pub changes: Vec<Group<Vec<FileDifference>>>,
    /// Versions that look up other sizes for the calls of a collective than the version whose reading is the meaning.
    pub metrics: Vec<(Collective, Behaviour)>,
    /// What the rules do to programs, as they did before.
    pub hazards: Vec<Hazard>,
}

/// Why a file is not converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// No version has it in force.
    #[error("Open MPI does not accept it: {}", .0.join("; "))]
    Unreadable(Vec<String>),
    /// Versions read it differently.
    #[error(transparent)]
    Ambiguous(Box<Ambiguity>),
    /// The result cannot be written.
    #[error(transparent)]
    Emit(#[from] EmitError),
}

/// A call that two versions serve differently by the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Ambiguity {
    /// One version.
    pub older: Behaviour,
    /// The other.
    pub newer: Behaviour,
    /// What they decide differently, older to the left.
    pub example: FileDifference,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { collective, sizes, left, right, .. } = self.example.difference;
        let ranks = self.example.difference.smallest();
        let [left, right] = [(self.older, left), (self.newer, right)]
            .map(|(version, choice)| said(version.release, collective, choice));
        write!(
            f,
            "releases read it differently: {collective} on {ranks} ranks, looked up as {}B, gets {left} in Open MPI {}, \
             and {right} in {}",
            sizes.first, self.older, self.newer
        )
    }
}

/// Whether a version that reads no JSON is given JSON. It may still take the digits in it for a classic file.
pub fn is_foreign(bytes: &[u8], version: &Behaviour) -> bool {
    let object = |document: Document<'_>| matches!(document.root().kind(), Kind::Object);
    !version.reads_json && Document::parse(bytes).is_ok_and(object)
}

/// What the file means: to the version given, or to the newest that has it in force, provided that all others that have
/// it in force read it alike. JSON means nothing to a version that does not know it, unless that version is given.
pub fn meaning(bytes: &[u8], version: Option<Behaviour>) -> Result<Loaded, ConvertError> {
    let versions = version.map_or_else(Behaviour::distinct, |version| vec![version]);
    let foreign = |of: &Behaviour| version.is_none() && is_foreign(bytes, of);
    let mut accepted: Vec<Loaded> = Vec::new();
    let mut refused: Vec<(Behaviour, String)> = Vec::new();
    for version in versions {
        match load(bytes, &version) {
            Load::Accepted(_) if foreign(&version) => refused.push((version, "reads no JSON".to_owned())),
            Load::Accepted(loaded) => accepted.push(loaded),
            Load::Rejected(rejection) => refused.push((version, rejection.to_string())),
            Load::Crashes(crash) => refused.push((version, crash.to_string())),
        }
    }
    let Some(newest) = accepted.pop() else {
        let groups = explain::group(refused);
        let reason = |group: &Group<String>| format!("{}: {}", group.label(), group.answer);
        return Err(ConvertError::Unreadable(groups.iter().map(reason).collect()));
    };
    for other in accepted.iter().rev() {
        if let Some(example) = unlike(other, &newest) {
            let (older, newer) = (other.behaviour, newest.behaviour);
            return Err(ConvertError::Ambiguous(Box::new(Ambiguity { older, newer, example })));
        }
    }
    Ok(newest)
}

/// The first thing that two readings of a file decide differently, to the last parameter.
fn unlike(older: &Loaded, newer: &Loaded) -> Option<FileDifference> {
    Distribution::ALL.into_iter().find_map(|distribution| {
        let found = diff::tables(&older.to_table_for(distribution), &newer.to_table_for(distribution));
        let difference = found.into_iter().find(|difference| difference.is_reachable(newer.behaviour.release))?;
        Some(FileDifference { distribution, difference })
    })
}

/// Writes what a file means in another format, for every version that reads the format and has the algorithms. Hazards
/// are written as they are.
pub fn convert(bytes: &[u8], source: &Loaded, format: TargetFormat, notes: &Notes) -> Result<Conversion, ConvertError> {
    let readers = Target::all(format).versions;
    let table = writable(&source.to_table(), format, &readers);
    let lacks = |version: &Behaviour| missing(&table, version).into_iter().find(|unknown| known(unknown, &readers));
    let lacking: Vec<_> = readers.iter().filter_map(|version| Some((*version, lacks(version)?))).collect();
    let mut versions = readers.clone();
    versions.retain(|version| lacking.iter().all(|(other, _)| other != version));
    // Algorithms that nobody has are written too: no version is then asked whether it has them.
    let strange = versions.iter().any(|version| !missing(&table, version).is_empty());
    let asked = if strange { Vec::new() } else { versions.clone() };
    let text = emit::write_accepting(&table, notes, &Target::new(format, asked), |_| true)?;

    let changes = versions.iter().filter_map(|version| {
        let changes = diff::files(version.release, Some(source), load(text.as_bytes(), version).accepted());
        (!changes.is_empty()).then_some((*version, changes))
    });
    let read = Behaviour::distinct().into_iter().filter_map(|version| load(bytes, &version).into_accepted());
    let read = read.filter(|loaded| !is_foreign(bytes, &loaded.behaviour));
    let alike: Vec<Loaded> = read.filter(|loaded| unlike(loaded, source).is_none()).collect();
    let lines = Lines::new(bytes);
    Ok(Conversion {
        changes: explain::group(changes),
        metrics: metrics(source, &alike, &table, &versions),
        hazards: hazard::check(&emit::portable(&table)),
        losses: losses::of(bytes, &lines, source, &alike, format),
        meaning: source.behaviour,
        text,
        versions,
        lacking,
    })
}

/// The table as far as a format can say it at all: without bounds on requests in version 1, and in JSON without
/// algorithms that nobody has, since a rule for one is dropped there.
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

/// Whether another version has it.
fn known(unknown: &UnknownAlgorithm, versions: &[Behaviour]) -> bool {
    versions.iter().any(|version| registry::algorithm(version.release, unknown.collective, unknown.id).is_ok())
}

/// Versions that look up other sizes than the one whose reading is the meaning, where sizes matter. Not those that read
/// the source alike: to them nothing changes.
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
