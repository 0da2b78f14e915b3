//! A whole tuning: measure, decide, prove, compare, publish.

use collrules_record::Validation;
use collrules_record::options::{Request, TuneOptions};
use collrules_record::rundir::{ComparisonLog, FINDINGS};
use collrules_record::units::Seconds;
use collrules_report::gains::Gains;
use collrules_runner::RunnerError;

use crate::analyze::Source;
use crate::campaign::{Begin, Measurement, prepare};
use crate::error::WorkflowError;
use crate::plan::unreached;
use crate::prove::{self, ProvenRun};
use crate::publish::Published;
use crate::session::Session;
use crate::{refine, tuning};

/// Begins a run or resumes one, and creates proven and compared rules and settings in its directory.
pub fn tune(begin: &Begin, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    let Request::Tune(options) = &begin.request else { return Err(begin.refuse_tuning()) };
    let mut measured = prepare(begin, session)?;
    measured.reopens = has_more_time(options, &measured)?;
    let run = measured.run.path().display().to_string();
    carry_out(&mut measured, options, session).map_err(|error| match error {
        // These errors do not affect the measurements.
        WorkflowError::Record(_)
        | WorkflowError::Unshown { .. }
        | WorkflowError::Runner(RunnerError::Interrupted | RunnerError::Scratch { .. }) => {
            WorkflowError::Unconcluded { cause: Box::new(error), run }
        }
        error => error,
    })
}

/// The steps of a tuning, in an open run.
fn carry_out(
    measured: &mut Measurement,
    options: &TuneOptions,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    measured.measure(session)?;
    // Do not add sizes: the rules compared so far would change.
    let is_compared = !ComparisonLog::open(&measured.run)?.is_empty();
    // Refinement needs the decision on the measurements so far.
    let mut reaches = measured.reopens;
    let findings = loop {
        let source = Source::of_measured(&measured.run, measured.manifest.clone(), session)?;
        let findings = source.decide_reverting(options.criteria, options.policy, &[], measured.reopens)?;
        let more =
            if std::mem::take(&mut reaches) { refine::plan_unreached(measured, &findings, session) } else { None };
        let plan = match more {
            None if !is_compared => refine::plan_round(measured, &findings, session),
            more => more,
        };
        let Some(plan) = plan else { break findings };
        measured.measure_round(&plan, session)?;
    };
    let tuning = tuning::decide(&measured.run, &findings, &measured.started.pins)?;
    let mut run = prove::prove_run(measured, options, findings, tuning, session)?;
    let search = run.plan_search()?;
    // Without settings to try, rules have all of the time.
    run.measured.experiment.searches &= search.is_some();
    let is_compared = run.published.validation.is_some() && !run.measured.reopens;
    let compared = run.compare().and_then(|()| run.choose_settings(search)).and_then(|()| match is_compared {
        true => Ok(()),
        false => run.compare_again().and_then(|()| run.compare_under_again()),
    });
    if let Err(error @ (WorkflowError::Unvalidated { .. } | WorkflowError::Record(_))) = compared {
        // Do not replace files by incomplete results.
        return Err(error);
    }
    run.published.place(run.session)?;
    run.published.write()?;
    compared?;
    let ProvenRun { measured, published, session, .. } = run;
    let is_decided = published.validation.is_some() && published.gains().fates().undecided == 0;
    if measured.experiment.budget.is_some() && is_decided && published.is_confirmed() {
        session.say(&format!("stopped after {}: everything decided", Seconds(measured.elapsed()).rounded()));
    }
    Ok(published)
}

/// Returns true if a run is resumed with another budget after a comparison that left rules undecided, or a grid that left
/// sizes unmeasured: it goes on, and its launches count. The files stay until it has a result.
fn has_more_time(options: &TuneOptions, measured: &Measurement) -> Result<bool, WorkflowError> {
    // Not that of the experiment, which the batch job limited.
    let is_same = matches!(&measured.manifest.request, Request::Tune(before) if before.budget == options.budget);
    if is_same || !measured.run.file(FINDINGS).exists() {
        return Ok(false);
    }
    let is_undecided = |found: Validation| Gains::of_comparison(&found).fates().undecided > 0;
    Ok(measured.run.validation()?.is_some_and(is_undecided)
        || !unreached(&measured.manifest.plan, &measured.run.findings()?).is_empty())
}
