//! Output files of a study.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collrules_lab::study::definition::Definition;
use collrules_lab::study::results::Study;
use collrules_record::{Candidate, Cell, Seconds, rundir};
use collrules_report::Document;
use collrules_report::study::{self, About, MeasuredBy};
use collrules_rules::deploy;

use super::Studying;
use crate::error::WorkflowError;
use crate::session::Session;

/// The study, as a document.
pub(super) const README: &str = "README.md";
/// All times.
const TIMES: &str = "times.csv";
/// All results, for programs.
const STUDY: &str = "study.json";

/// The mean over calls and ranks of each timed candidate, as OSU's programs print it.
pub(super) type Averages = BTreeMap<(Cell, Candidate), Seconds>;

/// A written study.
pub struct Studied {
    /// The study for people.
    pub document: Document,
    /// False if the default failed or gave wrong data.
    pub default_is_right: bool,
    /// Its main files, each with a description.
    pub files: Vec<(String, String)>,
}

/// Refuses a directory with a study: measuring takes long, so the destination is checked first.
pub(super) fn refuse_occupied(out: &Path) -> Result<(), WorkflowError> {
    match [README, TIMES, STUDY].into_iter().find(|name| out.join(name).exists()) {
        None => Ok(()),
        Some(name) => Err(WorkflowError::Occupied(format!(
            "{} holds a study already, or a part of one: {name}; name another directory with --out",
            out.display()
        ))),
    }
}

/// Writes a file into the directory of a study.
pub(super) fn put(out: &Path, name: &str, text: &str) -> Result<(), WorkflowError> {
    let path = out.join(name);
    fs::create_dir_all(out)
        .and_then(|()| rundir::put_new(&path, text))
        .map_err(|cause| WorkflowError::write(&path, cause))
}

/// The subject of a page, with the user's note.
pub(super) fn about<'a>(
    options: &Studying,
    definition: &'a Definition,
    remarks: Vec<String>,
    session: &Session<'_>,
) -> About<'a> {
    let words = session.command.iter().skip(1).map(|word| deploy::quoted(word));
    let command = std::iter::once("collrules".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    About { definition, remarks: options.note.iter().cloned().chain(remarks).collect(), command }
}

/// Writes all files of a study.
pub(super) fn write(
    options: &Studying,
    definition: &Definition,
    found: &Study,
    origin: &MeasuredBy<'_>,
    remarks: Vec<String>,
    averages: &Averages,
    session: &Session<'_>,
) -> Result<Studied, WorkflowError> {
    let about = about(options, definition, remarks, session);
    let write = |name: &str, text: &str| put(&options.out, name, text);
    let figures = study::figures(found, &about);
    for figure in &figures {
        figure.svg.iter().try_for_each(|svg| write(&figure.file, svg))?;
    }
    write(TIMES, &study::csv(found))?;
    if options.osu_files {
        if averages.is_empty() {
            return Err(WorkflowError::Input(
                "--osu-files needs averages over ranks, as OSU's programs print them, but these are times of the \
                 slowest rank"
                    .to_owned(),
            ));
        }
        for (name, text) in study::osu_files(found, |cell, candidate| averages.get(&(cell, candidate)).copied()) {
            write(&format!("osu-{name}"), &text)?;
        }
    }
    write(STUDY, &(serde_json::to_string_pretty(found)? + "\n"))?;
    let document = study::document(found, origin, &about, &figures);
    // Last, as a sign that all other files are complete.
    write(README, &document.markdown())?;
    let files =
        [(README, "the study, with all tables and figures"), (TIMES, "every time"), (STUDY, "all of it for programs")]
            .map(|(name, what)| (name.to_owned(), what.to_owned()));
    Ok(Studied { document, default_is_right: found.failed_defaults().is_empty(), files: files.into() })
}
