//! One driver for the experiments of researchers: guidelines, studies, models, stalls.

use std::path::Path;

use collrules_record::Survey;
use collrules_record::experiment::Experiment;
use collrules_record::options::{Request, SystemOptions};
use collrules_record::rundir::{self, RunDir};
use collrules_report::Document;
use collrules_workflow::Session;
use collrules_workflow::TOOL;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::{Begin, Measurement, RunPlace, prepare, prepare_on, survey};
use serde::Serialize;

/// Experiment and analysis of an instrument.
pub trait Instrument {
    /// The result.
    type Found: Serialize;

    /// The name of its command.
    const NAME: &'static str;
    /// Files of the result: for programs, and as text.
    const FILES: [&'static str; 2];
    /// The result as a page; none if its figures are files of their own.
    const PAGE: Option<&'static str>;

    /// The system that runs the jobs.
    fn system(&self) -> &SystemOptions;

    /// The experiment on a surveyed system.
    fn experiment(&self, survey: &Survey) -> Result<Experiment, WorkflowError>;

    /// Measures, with further rounds if it needs any.
    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        measured.grid(session)
    }

    /// Analyses a run, or other measurements of which the instrument has the place.
    fn analyse(&self, input: &Path, session: &mut Session<'_>) -> Result<Self::Found, WorkflowError>;

    /// The result for people.
    fn document(found: &Self::Found) -> Document;

    /// Writes further files.
    fn write_more(_run: &RunDir, _found: &Self::Found) -> Result<(), WorkflowError> {
        Ok(())
    }
}

/// Measures, or resumes that, and writes the results into the run.
pub fn run<I: Instrument>(
    instrument: &I,
    place: &RunPlace,
    session: &mut Session<'_>,
) -> Result<(RunDir, I::Found), WorkflowError> {
    let mut measured = begin(instrument, place, session)?;
    match instrument.measure(&mut measured, session) {
        // It can be resumed.
        Err(error @ WorkflowError::Incomplete { .. }) => Err(error),
        Err(error) => {
            // What failed first is the cause.
            let _ = measured.give_up();
            Err(error)
        }
        Ok(()) => finish(instrument, measured, session),
    }
}

/// Begins to measure, or resumes that.
pub(crate) fn begin<I: Instrument>(
    instrument: &I,
    place: &RunPlace,
    session: &mut Session<'_>,
) -> Result<Measurement, WorkflowError> {
    match place {
        RunPlace::Resumed(path) => {
            let begin = Begin::recorded(path)?;
            let (shown, own) = (path.display(), Request::Lab(I::NAME.to_owned()));
            if begin.request != own {
                let command = match &begin.request {
                    Request::Tune(_) => "tune".to_owned(),
                    Request::Lab(name) => format!("lab {name}"),
                };
                return Err(WorkflowError::Usage(format!(
                    "{shown} was made by another command; `collrules {command} --resume {shown}` resumes it"
                )));
            }
            prepare(&begin, session)
        }
        RunPlace::New(out) | RunPlace::NewInBestLayout(out) => {
            refuse_occupied::<I>(out)?;
            let started = survey(instrument.system(), out, session)?;
            let experiment = instrument.experiment(&started.survey)?;
            prepare_on(started, experiment, Request::Lab(I::NAME.to_owned()), out, session)
        }
    }
}

/// Analyses what was measured, and writes the results.
pub(crate) fn finish<I: Instrument>(
    instrument: &I,
    measured: Measurement,
    session: &mut Session<'_>,
) -> Result<(RunDir, I::Found), WorkflowError> {
    let run = measured.run.clone();
    // Unlocks the run: it may be measured further.
    drop(measured);
    let found = instrument.analyse(run.path(), session)?;
    write::<I>(&run, &found)?;
    Ok((run, found))
}

/// Refuses a directory with results: measuring takes long, so the destination is checked first.
pub(crate) fn refuse_occupied<I: Instrument>(out: &Path) -> Result<(), WorkflowError> {
    let found = I::FILES.into_iter().find(|name| out.join(name).exists());
    found.map_or(Ok(()), |name| {
        let shown = out.display();
        Err(WorkflowError::Occupied(format!("{shown} holds {name} already; name another directory with --out")))
    })
}

/// Analyses earlier measurements. The results go to `out` or, without it, into the run; none are written for a table.
pub fn of_input<I: Instrument>(
    instrument: &I,
    input: &Path,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<(Option<RunDir>, I::Found), WorkflowError> {
    out.map_or(Ok(()), refuse_occupied::<I>)?;
    let found = instrument.analyse(input, session)?;
    let target = match out {
        Some(out) => Some(RunDir::prepare_derived(out)?),
        // After an analysis with other options, the run's own files are updated.
        None if input.join(rundir::SAMPLES).exists() => Some(RunDir::open(input)?),
        None => None,
    };
    if let Some(target) = &target {
        write::<I>(target, &found)?;
    }
    Ok((target, found))
}

/// Writes the results, for people and programs.
fn write<I: Instrument>(run: &RunDir, found: &I::Found) -> Result<(), WorkflowError> {
    let [file, text] = I::FILES;
    I::write_more(run, found)?;
    run.write_json(file, found)?;
    if let Some(page) = I::PAGE {
        run.write(page, I::document(found).page(TOOL))?;
    }
    run.write(text, I::document(found).markdown())?;
    Ok(())
}
