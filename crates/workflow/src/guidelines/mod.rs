//! Whether Open MPI keeps performance guidelines: mock-ups measured beside the builtin, and judged.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, and judging again |
//! | `under_rules` | the same check in launches with a rules file in force |

mod under_rules;

use std::path::Path;

use collrules_record::findings::Criteria;
use collrules_record::guidelines::{Change, Changed, Checked, FORMAT, LeftOutCell, UnderRules};
use collrules_record::policy::Assumptions;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Manifest, Placement};
use collrules_report::guidelines as report;
use collrules_rules::Release;
use collrules_tuner::guidelines::{self, Terms};

use crate::TOOL;
use crate::analyze::Source;
use crate::campaign::{Begin, prepare};
use crate::error::WorkflowError;
use crate::session::Session;

/// By what mock-ups are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judging {
    /// The slowdown that is tolerated, such as 0.05.
    pub tolerate: f64,
    /// The bound on the share of wrong violations among all.
    pub error_rate: f64,
    /// What programs are taken to keep to, which decides what rules would cure; nothing for what the run assumed.
    pub assumptions: Option<Assumptions>,
}

/// Begins a check or resumes one, and leaves what it found in its directory.
pub fn run(begin: &Begin, judging: Judging, session: &mut Session<'_>) -> Result<(RunDir, Checked), WorkflowError> {
    if let Begin::Resume { run, tuning } = begin
        && tuning.grid.mockups.is_none()
    {
        let shown = run.display();
        return Err(WorkflowError::Usage(format!(
            "{shown} is no check of guidelines; `collrules tune --resume {shown}` resumes it"
        )));
    }
    let mut measured = prepare(begin, session)?;
    let rules = measured.tuning.grid.mockups.as_ref().and_then(|mockups| mockups.rules.clone());
    // Before anything is measured: what is wrong with a file is not found out after the first half.
    let in_force = match rules.map(|rules| under_rules::prepared(&rules, &measured, session)).transpose() {
        Ok(in_force) => in_force,
        Err(error) => {
            measured.give_up()?;
            return Err(error);
        }
    };
    measured.grid(session).map_err(as_check)?;
    if let Some(in_force) = in_force {
        under_rules::measure(in_force, &mut measured, session).map_err(as_check)?;
    }
    let directory = measured.run().path().to_owned();
    // What was measured may be measured into again from here on.
    drop(measured);
    let (source, run) = Source::of_run(&directory, session)?;
    let checked = judge(&source, judging)?;
    write(&run, &checked)?;
    Ok((run, checked))
}

/// Says how a check is resumed.
fn as_check(error: WorkflowError) -> WorkflowError {
    match error {
        WorkflowError::Incomplete { cause, samples, run, kept, .. } => {
            WorkflowError::Unchecked { cause, samples, kept, run }
        }
        other => other,
    }
}

/// Judges a run, or a table of a release.
pub fn of_input(
    input: &Path,
    release: Release,
    judging: Judging,
    session: &mut Session<'_>,
) -> Result<(Option<RunDir>, Checked), WorkflowError> {
    let (source, run) = if input.is_dir() {
        let (source, run) = Source::of_run(input, session)?;
        say_what_is_missing(&source, session)?;
        (source, Some(run))
    } else {
        (Source::of_table(input, collrules_import::Options::of(release), session)?, None)
    };
    Ok((run, judge(&source, judging)?))
}

/// Says that a check was interrupted, and how it is resumed.
fn say_what_is_missing(source: &Source, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let (Some(run), Some(manifest)) = (source.run(), source.manifest()) else { return Ok(()) };
    let plans = if under_rules::deployment(run)?.is_some() { 2 } else { 1 };
    let (planned, complete) = (plans * manifest.plan.launches, run.progress().complete);
    if complete < planned {
        session.say(&format!(
            "only {complete} of {planned} launches are complete; `collrules guidelines --resume {}` measures the others",
            source.name(),
        ));
    }
    Ok(())
}

fn judge(source: &Source, judging: Judging) -> Result<Checked, WorkflowError> {
    let manifest = source.manifest();
    let nowhere = Placement::default();
    let terms = Terms {
        release: source.release,
        criteria: Criteria {
            min_gain: judging.tolerate,
            error_rate: judging.error_rate,
            clock_step: source.clock_step,
            ..Criteria::default()
        },
        assumptions: source.assumptions(judging.assumptions),
        placement: manifest.map_or(&nowhere, |manifest| &manifest.plan.placement),
        source: source.name(),
    };
    let failed = WorkflowError::analysis(source.name());
    let mut checked = guidelines::check(&source.observations, &terms).map_err(&failed)?;
    if let (Some(observations), Some(run)) = (&source.under_rules, source.run()) {
        let after = guidelines::check_under_rules(observations, &terms).map_err(&failed)?;
        let deployment = under_rules::deployment(run)?;
        checked.under_rules = Some(UnderRules {
            changes: guidelines::became(&checked, &after),
            settings: deployment.map(|deployment| deployment.settings).unwrap_or_default(),
            cells: after.cells,
        });
    }
    Ok(manifest.map_or(checked.clone(), |manifest| with_origin(checked, manifest)))
}

/// Adds where the numbers come from, and what was not measured.
fn with_origin(checked: Checked, manifest: &Manifest) -> Checked {
    let left_out = manifest.plan.cells.iter().flat_map(|planned| {
        planned.left_out.iter().map(|left| LeftOutCell {
            cell: planned.cell,
            mockup: left.mockup,
            why: left.why.clone(),
        })
    });
    Checked {
        simulated: manifest.backend == "simulation",
        library: Some(manifest.survey.library.clone()),
        command: manifest.command.clone(),
        left_out: left_out.collect(),
        skipped: manifest.plan.skipped.clone(),
        ..checked
    }
}

/// Writes what a check found, for people and programs.
pub fn write(run: &RunDir, checked: &Checked) -> Result<(), WorkflowError> {
    run.write_json(rundir::GUIDELINES, checked)?;
    run.write(rundir::GUIDELINES_TEXT, &report::markdown(checked))?;
    run.write(rundir::GUIDELINES_PAGE, &report::page(checked, TOOL))?;
    let table =
        report::csv(checked).map_err(|cause| WorkflowError::write(&run.file(rundir::GUIDELINES_TABLE), cause))?;
    run.write(rundir::GUIDELINES_TABLE, &table)?;
    Ok(())
}

/// An earlier check, which lies in a directory or a file of its own.
pub fn earlier(earlier: &Path) -> Result<Checked, WorkflowError> {
    Ok(rundir::read_json_file(&rundir::within(earlier, rundir::GUIDELINES), FORMAT)?)
}

/// What changed since an earlier check.
pub fn changes(before: &Checked, now: &Checked) -> Vec<Changed> {
    guidelines::changes(before, now)
}

/// Whether a check fails: by what is new or worse, where there is an earlier one, else by any violation; under the rules
/// file, where there is one.
pub fn fails(checked: &Checked, changes: Option<&[Changed]>) -> bool {
    match changes {
        Some(changes) => changes.iter().any(|changed| matches!(changed.how, Change::New | Change::Worse)),
        // What users get is what there is under their rules file.
        None => !checked.under_file().as_ref().unwrap_or(checked).violations().is_empty(),
    }
}
