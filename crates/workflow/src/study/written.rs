//! Output files of a study.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collrules_lab::study::results::Study;
use collrules_record::{Candidate, Cell, Seconds, rundir};
use collrules_report::study::{self, About, Varying};
use collrules_rules::Collective;

use super::Studying;
use crate::error::WorkflowError;

/// The study, as a document.
pub const README: &str = "README.md";
/// All times.
pub const TIMES: &str = "times.csv";
/// All results, for programs.
pub const STUDY: &str = "study.json";

/// Prefix of the names of files in the format of OSU's benchmarks.
const OSU: &str = "osu";

/// The mean over calls and ranks of each timed candidate, as OSU's programs print it.
pub(super) type Averages = BTreeMap<(Cell, Candidate), Seconds>;

/// Summary of a study.
pub struct Studied {
    /// The conclusion, and results without a figure.
    pub paragraphs: Vec<String>,
    /// Number of figures.
    pub figures: usize,
    /// False if the default failed or gave wrong data.
    pub default_is_right: bool,
    /// The compared variants, each with the directory of its study and its name; none for a single study.
    pub variants: Option<(Varying, Vec<(String, String)>)>,
}

/// Refuses a directory with any file that the study would write: measuring takes long, so the destination is checked
/// first.
pub(super) fn refuse_occupied(
    out: &Path,
    collectives: impl Iterator<Item = Collective> + Clone,
) -> Result<(), WorkflowError> {
    let ours = |name: &str| {
        let figure = |collective: Collective| {
            let rest = name.strip_prefix(collective.name()).unwrap_or_default();
            rest.starts_with("-over-") || rest.starts_with("-builtin")
        };
        [README, TIMES, STUDY].contains(&name)
            || name.starts_with(&format!("{OSU}-"))
            || name.ends_with(".svg") && collectives.clone().any(figure)
    };
    // If a directory cannot be read, it does not exist yet, or creating files in it gives the reason.
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    let mut taken: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    taken.retain(|name| ours(name));
    taken.sort_unstable();
    match taken.first() {
        None => Ok(()),
        Some(name) => Err(WorkflowError::Occupied(format!(
            "{} holds a study already, or a part of one: {name}; name another directory with --out",
            out.display()
        ))),
    }
}

/// Writes all files of a study.
pub(super) fn write(
    options: &Studying,
    found: &Study,
    about: &About<'_>,
    averages: &Averages,
) -> Result<Studied, WorkflowError> {
    let write = |name: &str, text: &str| {
        let path = options.out.join(name);
        fs::create_dir_all(&options.out)
            .and_then(|()| rundir::put_new(&path, text))
            .map_err(|cause| WorkflowError::write(&path, cause))
    };
    let figures = study::figures(found, about);
    for figure in &figures {
        write(&figure.file, &figure.svg)?;
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
            write(&format!("{OSU}-{name}"), &text)?;
        }
    }
    write(STUDY, &(serde_json::to_string_pretty(found)? + "\n"))?;
    // Last, as a sign that all other files are complete.
    write(README, &study::document(found, about).markdown())?;
    let mut paragraphs = study::conclusion(found, about);
    paragraphs.extend(study::undrawn(found, about));
    let default_is_right = found.failed_defaults().is_empty();
    Ok(Studied { paragraphs, figures: figures.len(), default_is_right, variants: None })
}
