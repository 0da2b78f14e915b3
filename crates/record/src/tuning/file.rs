//! A rules file of a tuning: its place, its text, and the meaning of the text.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use collrules_rules::emit::{EmitError, TargetFormat};
use collrules_rules::file::Format;
use collrules_rules::{Behaviour, Collective, Distribution, Loaded, RuleTable, han, load};
use serde_json::Value;

use crate::file::digest;
use crate::rundir::read_at_most;

/// The longest rules file that is read: about six million rules.
const MOST_BYTES: u64 = 64 << 20;

/// A rules file with the table that it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesFile<T> {
    /// The path as the user named it, or an absolute one.
    pub path: PathBuf,
    /// The whole text.
    pub text: Vec<u8>,
    /// The meaning of the text to one version of Open MPI.
    pub table: T,
    /// The meaning of a JSON file for each distribution of communicators over nodes, if it tells them apart.
    pub layouts: BTreeMap<Distribution, T>,
}

/// Reason why a tuning cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// A file cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// Open MPI does not accept a file.
    #[error("{} is not accepted:\n  {}", path.display(), reasons.join("\n  "))]
    Refused {
        /// The file.
        path: PathBuf,
        /// Reasons, by version.
        reasons: Vec<String>,
    },
    /// The file given for coll/tuned is HAN's.
    #[error("{} is a rules file for coll/han itself: name the one for coll/tuned before --han", path.display())]
    NotOfTuned {
        /// The file.
        path: PathBuf,
    },
    /// Rules cannot be written as a file.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// Rules of HAN cannot be written as a file.
    #[error("HAN's rules file cannot be written: {0}")]
    EmitHan(EmitError),
}

/// Reads a rules file. It must have a name, since every process of a job opens it by name.
pub fn read_text_of(path: &Path) -> Result<Vec<u8>, TuningError> {
    let failed = |cause| TuningError::Open { path: path.to_owned(), cause };
    if path == Path::new("-") {
        let why = "Open MPI opens rules files by name, on every node; write it to a file first";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    File::open(path).and_then(read_from).map_err(failed)
}

/// Reads a rules file that is already open.
pub fn read_from(source: impl Read) -> io::Result<Vec<u8>> {
    read_at_most(source, MOST_BYTES)
}

impl<T: Clone> RulesFile<T> {
    /// The file with another meaning, or the reasons why it has none.
    fn with(&self, read: Result<T, Vec<String>>) -> Result<Self, TuningError> {
        match read {
            Ok(table) => Ok(Self { table, ..self.clone() }),
            Err(reasons) => Err(TuningError::Refused { path: self.path.clone(), reasons }),
        }
    }
}

impl RulesFile<RuleTable> {
    /// A file of coll/tuned, as the newest version that accepts it reads it.
    pub fn of_tuned(path: PathBuf, text: Vec<u8>) -> Self {
        let file = newest(&text);
        let table = file.as_ref().map(Loaded::to_table).unwrap_or_default();
        let file = file.filter(|file| file.format == Format::Json && file.names_layouts());
        let layouts = |file: Loaded| Distribution::ALL.map(|it| (it, file.to_table_for(it))).into();
        Self { path, text, table, layouts: file.map(layouts).unwrap_or_default() }
    }

    /// The file as a version reads it.
    pub fn read_as(&self, version: &Behaviour) -> Result<Self, TuningError> {
        let read = load(&self.text, version);
        self.with(read.map(|file| file.to_table()).map_err(|fault| vec![format!("Open MPI {version}: {fault}")]))
    }

    /// The format of the text.
    pub fn format(&self) -> TargetFormat {
        match newest(&self.text).map(|file| file.format) {
            Some(Format::Json) => TargetFormat::Json,
            Some(Format::Classic { header: Some(_) }) => TargetFormat::V2,
            Some(Format::Classic { header: None }) | None => TargetFormat::Classic,
        }
    }

    /// Returns true if there is a rule, shared or for one arrangement on nodes only.
    pub fn has_rules(&self) -> bool {
        Collective::ALL.into_iter().any(|collective| self.rules_anywhere(collective))
    }

    /// Returns true if there is a rule for a collective, in any layout.
    pub fn rules_anywhere(&self, collective: Collective) -> bool {
        self.all_tables().any(|table| table.get(collective).is_some())
    }

    /// The meaning for communicators with this distribution over nodes.
    pub fn table_for(&self, distribution: Distribution) -> &RuleTable {
        self.layouts.get(&distribution).unwrap_or(&self.table)
    }

    /// The shared meaning, and that for each distribution over nodes if there are several.
    pub fn all_tables(&self) -> impl Iterator<Item = &RuleTable> {
        std::iter::once(&self.table).chain(self.layouts.values())
    }
}

/// The digest of the text of a rules file without what changes nothing for Open MPI: comments and blank lines.
pub fn digest_of_rules(text: &[u8]) -> String {
    if let Ok(mut json) = serde_json::from_slice(text) {
        remove_comments(&mut json);
        return digest(json.to_string().as_bytes());
    }
    let lines =
        || text.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b'#').next().unwrap_or_default());
    let lines = || lines().map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty());
    // With a comment in front of it the line with the version is none.
    let is_version = |line: &[u8]| line.starts_with(VERSION_LINE);
    match lines().next() {
        Some(first) if is_version(first) && !is_version(text) => digest(text),
        _ => digest(&lines().collect::<Vec<_>>().join(&b'\n')),
    }
}

/// Removes the comments of a rules file in JSON.
fn remove_comments(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            fields.remove("comment");
            fields.values_mut().for_each(remove_comments);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_comments),
        _ => {}
    }
}

/// The beginning of the first line of a classic file with a version.
const VERSION_LINE: &[u8] = b"rule-file-version-";

impl RulesFile<han::HanTable> {
    /// A file of HAN, as the newest version that accepts it reads it.
    pub fn of_han(path: PathBuf, text: Vec<u8>) -> Self {
        let accepted = |version: Behaviour| han::load(&text, &version).ok();
        let newest = Behaviour::distinct().into_iter().rev().find_map(accepted);
        let table = newest.map(|file| file.to_table()).unwrap_or_default();
        Self { path, text, table, layouts: BTreeMap::new() }
    }

    /// The file as a version reads it.
    pub fn read_as(&self, version: &Behaviour) -> Result<Self, TuningError> {
        if !han::is_han(&self.text) && load(&self.text, version).is_ok() {
            let why = "this is a rules file for coll/tuned, which coll_han_dynamic_rules_filename does not read";
            return self.with(Err(vec![why.to_owned()]));
        }
        let reasons = |why: String| std::iter::once(why).chain(self.name_other_readers(version)).collect();
        let read = han::load(&self.text, version);
        self.with(read.map(|file| file.to_table()).map_err(|fault| reasons(format!("Open MPI {version}: {fault}"))))
    }

    fn name_other_readers(&self, version: &Behaviour) -> Option<String> {
        let accepts = |other: &Behaviour| han::load(&self.text, other).is_ok();
        let others = Behaviour::distinct().into_iter().filter(|other| other != version && accepts(other));
        let names: Vec<&str> = others.map(|other| other.name()).collect();
        (!names.is_empty()).then(|| format!("it was written for another release: {} would read it", names.join(", ")))
    }
}

/// The file as loaded by the newest version that accepts it.
fn newest(text: &[u8]) -> Option<Loaded> {
    Behaviour::distinct().into_iter().rev().find_map(|version| load(text, &version).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_make_no_other_rules() {
        let same = |one: &str, other: &str| digest_of_rules(one.as_bytes()) == digest_of_rules(other.as_bytes());
        assert!(same("1 # bcast\n7 1\n", "# mine\n\n1\n7 1 # 8 ranks"));
        assert!(!same("1\n7 1\n", "1\n7 2\n"));
        assert!(!same("1 7\n", "17\n"));
        assert!(same("rule-file-version-2\n# a\n1\n", "rule-file-version-2\n1\n"));
        assert!(!same("# a\nrule-file-version-2\n1\n", "rule-file-version-2\n1\n"), "that has no version");
        assert!(!same("\nrule-file-version-2\n1\n", "rule-file-version-2\n1\n"), "nor has that");
        assert!(same(r#"{"comment": ["a"], "collectives": {}}"#, "{\n\"collectives\": {} }"));
        assert!(!same(r#"{"collectives": {"bcast": []}}"#, r#"{"collectives": {}}"#));
    }
}
