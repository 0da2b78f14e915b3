//! Second half of a check, in launches with an active rules file: the effect of a tuning on the guidelines.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::plan::{CellPlan, Deployment};
use collrules_record::rundir::RunDir;
use collrules_record::{Candidate, Plan, Tuning};
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::Measurement;
use collrules_workflow::validate;
use collrules_workflow::{Event, Session};

/// Reads the file for this system, and copies it to the directory of the check. A resumed check has a copy, and
/// continues only with an identical file.
pub(super) fn prepared(
    rules: &Path,
    measured: &Measurement,
    session: &mut Session<'_>,
) -> Result<Tuning, WorkflowError> {
    let tuning = validate::other_than_here(rules, &measured.started, session)?;
    let run = &measured.run;
    for (name, path, text) in tuning.files() {
        let copy = run.file(name);
        if !copy.exists() {
            run.write(name, text)?;
        } else if std::fs::read(&copy).map_err(|cause| WorkflowError::open(&copy, cause))? != text {
            return Err(WorkflowError::Input(format!(
                "{} was changed since this check began; restore it from {}, or begin a new check",
                path.display(),
                copy.display(),
            )));
        }
    }
    Ok(tuning)
}

/// Measures builtin and mock-ups in launches with the active file, after those without it.
pub(super) fn measure(
    tuning: &Tuning,
    measured: &mut Measurement,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let plan = plan(&measured.manifest.plan, tuning.settings().by_name());
    if plan.cells.is_empty() {
        return Ok(());
    }
    measured.measure_kept(session)?;
    if measured.next_round() > 1 {
        return Ok(());
    }
    session.say(&format!("measuring the same mock-ups once more, with {} active", tuning.path().display()));
    session.tell(Event::Measuring { run: measured.run.path(), plan: &plan, resumed: false });
    measured.measure_round(&plan, session)
}

/// The cells of a check with its mock-ups, under these settings. Remedies are not timed again: rules select them.
fn plan(before: &Plan, settings: BTreeMap<String, String>) -> Plan {
    let kept = |candidate: &Candidate| *candidate == Candidate::Builtin || candidate.is_mockup();
    let cells = before
        .cells
        .iter()
        .map(|planned| CellPlan::new(planned.cell, planned.candidates.iter().copied().filter(kept).collect()));
    let mut plan = Plan {
        cells: cells.filter(|planned| planned.candidates.len() > 1).collect(),
        // A seed of its own for orders.
        seed: before.seed.wrapping_add(1 << 16),
        skipped: Vec::new(),
        deployment: Some(Deployment::new(settings)),
        ..before.clone()
    };
    plan.sort_groups();
    plan
}

/// Reads the plan of a check's launches under a rules file, if it has any.
pub(super) fn read_plan(run: &RunDir) -> Result<Option<Plan>, WorkflowError> {
    Ok(run.refinement(1)?.filter(Plan::is_under_rules))
}
