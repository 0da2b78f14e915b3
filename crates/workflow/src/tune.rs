//! A whole tuning: measure, analyse, refine, prove, validate, publish.

use std::sync::atomic::Ordering;
use std::time::Instant;

use collrules_record::options::{Request, TuneOptions};
use collrules_record::settings::SettingsFindings;
use collrules_report::progress;
use collrules_runner::RunnerError;

use crate::campaign::{Begin, Measurement, prepare};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::{analyze, evidence, phases, plan, prove, refine, settings, tuning, validate};

/// Begins a run or resumes one, and creates proven and validated rules in its directory.
pub fn tune(begin: &Begin, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    evidence::reopen_undecided(begin)?;
    let begin = plan::reserve_settings(begin);
    let Request::Tune(options) = &begin.request else { return Err(begin.refuse_tuning()) };
    let mut measured = prepare(&begin, session)?;
    let run = measured.run().path().display().to_string();
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
    // Where measuring is worth its time follows from the decision on what was measured.
    let findings = loop {
        let findings = analyze::analyze_run(measured, options, session)?;
        let Some(plan) = refine::plan_round(measured, &findings, session) else { break findings };
        measured.measure_round(&plan, session)?;
    };
    let tuning = tuning::decide(measured.run(), &findings, &measured.started.pins)?;
    let mut published = prove::prove_run(measured, findings, tuning, session)?;
    let confirmed = validate::after_tuning(measured, options, &mut published, session)
        .and_then(|()| settings::search(measured, options, &mut published, session))
        .and_then(|()| tune_under_settings(measured, options, &mut published, session));
    // After any end of the comparison, the proven files are complete.
    let written = published.write();
    confirmed.and(written)?;
    phases::describe(measured, &published, session);
    Ok(published)
}

/// Tunes the rules again under the settings that a search chose, if it has just chosen some. A failure there leaves the
/// tuning as it is.
fn tune_under_settings(
    measured: &mut Measurement,
    options: &TuneOptions,
    published: &mut Published,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let began = Instant::now();
    let begin = settings::plan_under_settings(measured, options, published, session)?;
    let chosen = published.settings.as_ref().and_then(SettingsFindings::chosen);
    let chosen = chosen.map(|chosen| chosen.settings.clone()).unwrap_or_default();
    let again = begin.map(|begin| settings::under_settings(&chosen, session, |session| tune(&begin, session)));
    let again = match again.transpose() {
        Ok(again) => again,
        Err(error) if session.stop.load(Ordering::Relaxed) => return Err(error),
        Err(error) => {
            session.say(&progress::settings::rules_failed(&error));
            None
        }
    };
    let compared = settings::compare_rules(measured, options, published, again, session);
    measured.phases.leave_out(began);
    compared
}
