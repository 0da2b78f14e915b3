//! What a study leaves behind.

use std::fs;
use std::path::Path;

use collrules_record::options::Studying;
use collrules_record::rundir;
use collrules_record::study::Study;
use collrules_report::study::{self, About};
use collrules_rules::Collective;

use crate::error::WorkflowError;

/// The study, as a file.
pub const README: &str = "README.md";
/// Every time.
pub const TIMES: &str = "times.csv";
/// All of it for programs.
pub const STUDY: &str = "study.json";

/// What the names of files begin with that are as OSU's benchmarks print theirs.
const OSU: &str = "osu";

/// What a study says in short.
pub struct Studied {
    /// The conclusion, and what is not drawn.
    pub paragraphs: Vec<String>,
    /// How many figures there are.
    pub figures: usize,
    /// The placements that are compared, each with the directory of its study; none where there is one study.
    pub placements: Vec<(String, String)>,
}

/// Refuses a directory that holds anything that the study would write: measuring takes long, and its place should be sure.
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
    // A directory that cannot be read is not there yet, or creating files in it says why.
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
pub(super) fn write(options: &Studying, found: &Study, about: &About<'_>) -> Result<Studied, WorkflowError> {
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
        for (name, text) in study::osu_files(found) {
            write(&format!("{OSU}-{name}"), &text)?;
        }
    }
    write(STUDY, &(serde_json::to_string_pretty(found)? + "\n"))?;
    // Last, as a sign that all else is there.
    write(README, &study::markdown(found, about))?;
    let mut paragraphs = study::conclusion(found, about);
    paragraphs.extend(study::undrawn(found, about));
    Ok(Studied { paragraphs, figures: figures.len(), placements: Vec::new() })
}
