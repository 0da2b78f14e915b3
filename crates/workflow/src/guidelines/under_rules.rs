//! The same check once more, in launches with a rules file in force: what a tuning makes of the guidelines.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::plan::{CellPlan, DeployWay, Deployment, Launched};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Candidate, Plan};

use crate::campaign::Measured;
use crate::error::WorkflowError;
use crate::session::{Event, Session};
use crate::validate::{InForce, in_force};

/// Finds out what a file is here, and keeps a copy of it in the directory of the check. One that was resumed has a copy,
/// and goes on with the same file only.
pub(super) fn prepared(rules: &Path, measured: &Measured, session: &mut Session<'_>) -> Result<InForce, WorkflowError> {
    let found = in_force(rules, &measured.started, session)?;
    let run = measured.run();
    for (name, file) in [(rundir::RULES, &found.rules), (rundir::HAN, &found.han)] {
        let Some(file) = file else { continue };
        let bytes = std::fs::read(file).map_err(|cause| WorkflowError::open(file, cause))?;
        let copy = run.file(name);
        if !copy.exists() {
            run.write_bytes(name, &bytes)?;
        } else if std::fs::read(&copy).map_err(|cause| WorkflowError::open(&copy, cause))? != bytes {
            return Err(WorkflowError::Input(format!(
                "{} is not what it was when this check began; put back what is kept in {}, or begin a new check",
                file.display(),
                copy.display(),
            )));
        }
    }
    Ok(found)
}

/// Measures builtin and mock-ups in launches with the file in force, after those without it.
pub(super) fn measure(found: InForce, measured: &mut Measured, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let plan = plan(&measured.manifest.plan, found.settings);
    if plan.cells.is_empty() {
        return Ok(());
    }
    let Measured { started, campaign, .. } = measured;
    campaign.further(started.backend.as_mut(), session, |run, number, session| {
        if number > 1 {
            return Ok(None);
        }
        session.say(&format!("the same mock-ups once more, with {} in force", found.shown));
        session.tell(Event::Measuring { run: run.path(), plan: &plan, resumed: false });
        Ok(Some(plan.clone()))
    })?;
    Ok(())
}

/// The cells of a check with its mock-ups, under these settings. Remedies are what rules ask for: they are not timed again.
fn plan(before: &Plan, settings: BTreeMap<String, String>) -> Plan {
    let kept = |candidate: &Candidate| *candidate == Candidate::Builtin || candidate.is_mockup();
    let cells = before
        .cells
        .iter()
        .map(|planned| CellPlan::new(planned.cell, planned.candidates.iter().copied().filter(kept).collect()));
    let deployment = Deployment { way: DeployWay::Environment, settings, first_pair: 0, launched: Launched::Together };
    Plan {
        cells: cells.filter(|planned| planned.candidates.len() > 1).collect(),
        // Orders of its own.
        seed: before.seed.wrapping_add(1 << 16),
        skipped: Vec::new(),
        deployment: Some(deployment),
        ..before.clone()
    }
}

/// How the file of a check is put in force, if it has launches under one.
pub(super) fn deployment(run: &RunDir) -> Result<Option<Deployment>, WorkflowError> {
    Ok(run.refinement(1)?.and_then(|plan| plan.deployment))
}
