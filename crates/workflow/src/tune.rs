//! All of it: measure, refine, decide, prove, publish, validate.

use std::time::Instant;

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Validation};
use collrules_runner::RunnerError;
use collrules_runner::proof::Proof;
use collrules_tuner::prospects::saved_of;

use crate::campaign::{Begin, Measured, measure};
use crate::error::WorkflowError;
use crate::plan::Shares;
use crate::prove::{self, Draft};
use crate::publish::{self, Published};
use crate::session::{Event, Session};
use crate::{profile, refine, served, validate};

/// Begins a run or resumes one, and leaves proven and validated rules in its directory.
pub fn tune(begin: &Begin, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    let mut measured = measure(begin, session)?;
    let run = measured.run().path().display().to_string();
    conclude(&mut measured, session).map_err(|error| match error {
        // What was measured is worth the same as before.
        WorkflowError::Record(_)
        | WorkflowError::Unshown { .. }
        | WorkflowError::Runner(RunnerError::Interrupted | RunnerError::Scratch { .. }) => {
            WorkflowError::Unconcluded { cause: Box::new(error), run }
        }
        error => error,
    })
}

/// Everything after measuring the grid.
fn conclude(measured: &mut Measured, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    let shares = Shares::of(&measured.tuning, measured.started.startup);
    let findings = refine::refined(measured, session)?;
    measured.laps.end("refinement and deciding", shares.refinement);
    let validation = compared_before(measured.run(), &findings, session)?;
    let (mut published, proof) = proven(measured, findings, session)?;
    published.validation = validation;
    // Whatever becomes of the validation, what was proven is complete.
    published.write()?;
    if let Some((saved, of)) = saved_of(profile::weights(&measured.manifest), &published.findings) {
        session.say(&collrules_report::profile::expected(saved, of));
    }
    session.tell(Event::Concluded { run: &published.run, findings: &published.findings, proof: &proof });
    measured.laps.end("proving the rules", 2.0 * measured.started.startup.0);
    if published.validation.is_none() {
        published = validate::after_tuning(measured, published, session)?;
        measured.laps.end("comparing with the builtin", shares.validation);
    }
    let others = Instant::now();
    for other in measured.run().layouts()? {
        if other.validation()?.is_none() {
            published = validate::in_layout(measured, published, &other, session)?;
        }
    }
    measured.laps.leave_out(others);
    measured.laps.excess(measured.tuning.budget).iter().for_each(|why| session.say(why));
    Ok(published)
}

/// Proves the rules of these findings and puts them in place.
fn proven(
    measured: &mut Measured,
    findings: Findings,
    session: &mut Session<'_>,
) -> Result<(Published, Proof), WorkflowError> {
    let run = measured.run().clone();
    let started = &mut measured.started;
    let pins = served::pins(&started.pins, &findings);
    started.backend.pin(&findings.pins);
    run.write_findings(&findings)?;
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let draft = Draft {
        text: &publish::rules_text(&findings)?,
        table: &findings.table,
        han: publish::han_text(&findings)?.map(|text| (text, &findings.handover)),
        release: started.release,
        cells: &cells,
    };
    let consequence = |file: &std::path::Path| {
        format!("the tuning is NOT obeyed by this Open MPI; {} must not be installed", file.display())
    };
    let proof = prove::prove(started.backend.as_mut(), &run, &draft, consequence, |_| {
        Ok(run.rename(rundir::UNPROVEN, rundir::RULES)?)
    })?;
    publish::settings(&run, &publish::tuning(&run, &findings, pins), session)?;
    let shown = prove::sentences(&findings, &proof, started.backend.name(), &started.survey);
    let manifest = Some(measured.manifest.clone());
    Ok((Published { run, findings, manifest, validation: None, proof: shown }, proof))
}

/// What an earlier session showed of the same rules: it is worth as much as before.
fn compared_before(
    run: &RunDir,
    findings: &Findings,
    session: &mut Session<'_>,
) -> Result<Option<Validation>, WorkflowError> {
    let Some(validation) = run.validation()?.filter(|validation| validation.last().is_some()) else { return Ok(None) };
    // Findings that cannot be read are written anew, and so is what goes with them.
    let decided = |findings: &Findings| (findings.table.clone(), findings.handover.clone(), findings.pins.clone());
    let same = run.findings().is_ok_and(|before| decided(&before) == decided(findings));
    if same {
        session.say(&format!(
            "these rules were compared before; `collrules validate {}` compares them again",
            run.path().display(),
        ));
    }
    Ok(same.then_some(validation))
}
