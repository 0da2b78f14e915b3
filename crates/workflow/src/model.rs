//! Communication models: fitted to probes, kept, and asked.

use std::fs;
use std::path::Path;

use collrules_model::{Call, Limit, Origin, Terms, fit, predict, table};
use collrules_record::Estimate;
use collrules_record::model::{FORMAT, Model};
use collrules_record::rundir::{self, RunDir};
use collrules_report::model as report;
use collrules_rules::{Choice, Collective, Release, registry};

use crate::TOOL;
use crate::error::WorkflowError;
use crate::session::Session;

/// Fits a table of probes.
pub fn of_table(
    path: &Path,
    release: Option<Release>,
    terms: Terms,
    session: &mut Session<'_>,
) -> Result<Model, WorkflowError> {
    let shown = path.display();
    let unusable = |why: &dyn std::fmt::Display| WorkflowError::Input(format!("{shown}: {why}"));
    let text = fs::read_to_string(path).map_err(|cause| unusable(&cause))?;
    let (probes, faults) = table::read(&text).map_err(|bad| unusable(&bad))?;
    faults.iter().for_each(|fault| session.say(&format!("left out of {shown}: {fault}")));
    let origin = Origin { source: shown.to_string(), simulated: false, library: None, release };
    fit(&probes, &Limit::known(), terms, origin).map_err(|unfit| unusable(&unfit))
}

/// Reads a model: its file, or the directory that it is in.
pub fn open(path: &Path) -> Result<Model, WorkflowError> {
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let name = if path.is_dir() {
        rundir::MODEL.to_owned()
    } else {
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    Ok(RunDir::derived(directory)?.read_json(&name, FORMAT)?)
}

/// Writes a model, for people and programs.
pub fn write(run: &RunDir, model: &Model) -> Result<(), WorkflowError> {
    run.write_json(rundir::MODEL, model)?;
    run.write(rundir::MODEL_TEXT, &report::markdown(model))?;
    run.write(rundir::MODEL_PAGE, &report::page(model, TOOL))?;
    Ok(())
}

/// A call, as people ask about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The collective.
    pub collective: Collective,
    /// The algorithm: its number, its name, or a whole choice.
    pub algorithm: String,
    /// The segment size and the fan-out, where the algorithm is not a whole choice.
    pub segment: u64,
    /// The fan-out; 0 is the algorithm's own.
    pub fanout: u32,
    /// The size of the communicator.
    pub ranks: u32,
    /// The message bytes.
    pub bytes: u64,
    /// The release whose algorithms are meant, instead of that of the model.
    pub release: Option<Release>,
}

/// What a model says of a call: the choice that it was taken for, and the time.
pub fn ask(model: &Model, question: &Question) -> Result<(Choice, Estimate), WorkflowError> {
    let release = question.release.or(model.release).unwrap_or(Release::V5_0);
    let collective = question.collective;
    let choice = match question.algorithm.parse::<Choice>() {
        Ok(choice) => choice,
        Err(_) => {
            let id =
                question.algorithm.parse().ok().or_else(|| registry::id_of(release, collective, &question.algorithm));
            let id = id.ok_or_else(|| {
                let known: Vec<&str> = registry::algorithms(release, collective).map(|known| known.name).collect();
                let asked = &question.algorithm;
                WorkflowError::Usage(format!(
                    "{collective} has no algorithm `{asked}` in {release}; it has {}",
                    known.join(", ")
                ))
            })?;
            Choice::plain(id).with_segsize(question.segment).with_faninout(question.fanout)
        }
    };
    let call = Call { collective, choice, ranks: question.ranks, bytes: question.bytes };
    let said = predict(model, release, call).map_err(|unsaid| WorkflowError::Usage(unsaid.to_string()))?;
    Ok((choice, said))
}
