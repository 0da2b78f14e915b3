//! `collrules tune`: all of it.

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Survey, Validation};
use collrules_report::Context;
use collrules_runner::RunnerError;
use collrules_runner::proof::{self, Proof};

use super::analyze::findings_of_run;
use super::measure::{self, Measured};
use super::start::Started;
use super::validate::Validated;
use super::{conclude, plan, refine, served, validate};
use crate::args::Tune;
use crate::deliver;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::say;

pub(crate) fn run(args: &Tune) -> Result<Exit, Failure> {
    if args.dry_run {
        return plan::run(args).map(|()| Exit::Done);
    }
    let mut measured = measure::campaign(args)?;
    let run = measured.run.path().display().to_string();
    decide(&mut measured).map_err(|failure| match failure {
        // What was measured is worth the same as before.
        Failure::Record(_) | Failure::Runner(RunnerError::Interrupted | RunnerError::Scratch { .. }) => {
            Failure::Unconcluded { cause: Box::new(failure), run }
        }
        Failure::Runner(cause) if cause.is_of_job() => {
            Failure::Unconcluded { cause: Box::new(Failure::Unshown { cause }), run }
        }
        failure => failure,
    })
}

/// Everything after measuring.
fn decide(measured: &mut Measured) -> Result<Exit, Failure> {
    let Measured { manifest, run, options, started, .. } = measured;
    let findings = findings_of_run(run, manifest, started.release, &options.criteria, options.policy.policy())?;
    let mut findings = refine::rounds(measured, findings)?;
    let kept = compared_before(&measured.run, &findings)?;
    let Measured { started, manifest, run, reporter, .. } = measured;
    let Started { backend, survey, release, pins } = started;
    let pins = served::pins(pins, &findings);
    backend.pin(&findings.pins);
    deliver::rules(run, &findings, rundir::UNPROVEN)?;
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let unproven = run.file(rundir::UNPROVEN);
    let proof = proof::prove(backend.as_mut(), &unproven, run.path(), &findings.table, *release, &cells)?;
    if !proof.faults.is_empty() {
        let file = unproven.display();
        let what = format!("the rules are NOT obeyed by this Open MPI; {file} must not be installed");
        return Err(Failure::unproven(what, &proof));
    }
    run.rename(rundir::UNPROVEN, rundir::RULES)?;
    deliver::settings(run, &pins)?;
    let mut context = Context {
        manifest: Some(manifest),
        switch_on: deliver::switch_on(run, &findings, &pins),
        proof: shown(&findings, &proof, backend.name(), survey),
        tool: deliver::TOOL.to_owned(),
        ..Context::default()
    };
    // Whatever becomes of the validation, what was proven is complete.
    deliver::report(run, &findings, &context)?;
    reporter.concluded(run, &findings, &proof);
    let (switch_on, proof) = (context.switch_on, context.proof);
    let validated = match kept {
        Some(validation) => Some(Validated { validation, repaired: None }),
        None => validate::after_tuning(measured, &findings)?,
    };
    let Measured { started, manifest, run, options, .. } = measured;
    let Started { backend, survey, pins, .. } = started;
    context = Context { manifest: Some(manifest), switch_on, proof, tool: deliver::TOOL.to_owned(), validation: None };
    let mut validation = None;
    if let Some(validated) = validated {
        if let Some((repaired, proof)) = validated.repaired {
            let pins = served::pins(pins, &repaired);
            context.switch_on = deliver::switch_on(run, &repaired, &pins);
            context.proof = shown(&repaired, &proof, backend.name(), survey);
            findings = repaired;
        }
        validation = Some(validated.validation);
    }
    context.validation = validation.as_ref();
    deliver::report(run, &findings, &context)?;
    if !options.session.json {
        conclude::print(run, &findings, &context)?;
    }
    Ok(if validation.is_some_and(|validation| validation.loses()) { Exit::Slower } else { Exit::Done })
}

/// What an earlier session showed of the same rules: it is worth as much as before.
fn compared_before(run: &RunDir, findings: &Findings) -> Result<Option<Validation>, Failure> {
    let Some(validation) = run.validation()?.filter(|validation| validation.last().is_some()) else { return Ok(None) };
    // Findings that cannot be read are written anew, and so is what goes with them.
    let before = std::fs::read_to_string(run.file(rundir::FINDINGS)).ok();
    let before: Option<Findings> = before.and_then(|text| serde_json::from_str(&text).ok());
    let same = before.is_some_and(|before| before.table == findings.table && before.pins == findings.pins);
    if same {
        say(&format!(
            "the rules are those that were compared before; `collrules validate {}` compares them once more",
            run.path().display(),
        ));
    }
    Ok(same.then_some(validation))
}

pub(super) fn shown(findings: &Findings, proof: &Proof, backend: &str, survey: &Survey) -> Vec<String> {
    if findings.table.is_empty() {
        return vec!["There is no rule whose effect could be shown.".to_owned()];
    }
    let who = if backend == "mpi" {
        format!("Open MPI {}", survey.version)
    } else {
        format!("The simulated Open MPI {}", survey.version)
    };
    let ruled: Vec<&str> = findings.table.collectives().map(|(collective, _)| collective.name()).collect();
    vec![
        format!(
            "{who} accepts the rules file and serves all {} measured cells of {} by the intended rule ({} calls, on both \
             sides of every boundary within reach).",
            proof.cells,
            ruled.join(", "),
            proof.probed,
        ),
        format!("With the file in force, {} calls with checked data were right.", proof.used),
    ]
}
