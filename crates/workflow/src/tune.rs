//! A whole tuning: measure, decide, prove, compare, publish.

use collrules_record::options::{Request, TuneOptions};
use collrules_record::rundir::ComparisonLog;
use collrules_record::units::Seconds;
use collrules_report::gains::Gains;
use collrules_report::progress;
use collrules_runner::RunnerError;

use crate::analyze::Source;
use crate::campaign::{Begin, Measurement, RunPlace, prepare};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::{prove, refine, settings, tuning, validate};

/// Begins a run or resumes one, and creates proven and compared rules and settings in its directory.
pub fn tune(begin: &Begin, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    let Request::Tune(options) = &begin.request else { return Err(begin.refuse_tuning()) };
    let mut measured = prepare(begin, session)?;
    measured.reopens = has_more_time(begin, &measured)?;
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
    // Other sizes would be other rules than those that were compared.
    let is_compared = !ComparisonLog::open(&measured.run)?.is_empty();
    // Where measuring is worth its time follows from the decision on what was measured.
    let findings = loop {
        let source = Source::of_measured(&measured.run, measured.manifest.clone(), session)?;
        let findings = source.decide_reverting(options.criteria, options.policy, &[], measured.reopens)?;
        let plan = if is_compared { None } else { refine::plan_round(measured, &findings, session) };
        let Some(plan) = plan else { break findings };
        measured.measure_round(&plan, session)?;
    };
    let tuning = tuning::decide(&measured.run, &findings, &measured.started.pins)?;
    let mut published = prove::prove_run(measured, findings, tuning, session)?;
    let search = settings::plan_search(measured, options, &published, session)?;
    // Without settings to try, rules have all of the time.
    measured.experiment.searches &= search.is_some();
    let is_compared = published.validation.is_some() && !measured.reopens;
    let compared = validate::after_tuning(measured, options, &mut published, session)
        .and_then(|()| settings::choose(measured, options, search, &mut published, session))
        .and_then(|()| match is_compared {
            true => Ok(()),
            false => validate::see_again(measured, options, &mut published, session)
                .and_then(|()| settings::see_rules_again(measured, options, &mut published, session)),
        });
    if let Err(error @ (WorkflowError::Unvalidated { .. } | WorkflowError::Record(_))) = compared {
        // What is incomplete takes the place of nothing.
        return Err(error);
    }
    published.place(true, session)?;
    published.write()?;
    compared?;
    describe_time(measured, &published, session);
    Ok(published)
}

/// Returns true if a run is resumed with another budget after a comparison that left rules undecided: it goes on, and its
/// launches count. The files stay until it has a result.
fn has_more_time(begin: &Begin, measured: &Measurement) -> Result<bool, WorkflowError> {
    let RunPlace::Resumed(path) = &begin.place else { return Ok(false) };
    let is_same = Begin::recorded(path)?.experiment.budget == begin.experiment.budget;
    let validation = measured.run.validation()?;
    Ok(!is_same && validation.is_some_and(|validation| Gains::of_comparison(&validation).fates().undecided > 0))
}

/// Explains why a tuning took longer than its budget, or reports that everything was decided before its end.
fn describe_time(measured: &Measurement, published: &Published, session: &mut Session<'_>) {
    let Measurement { phases, experiment, .. } = measured;
    phases.excess(experiment.budget).iter().for_each(|why| session.say(why));
    let is_decided = published.validation.is_some() && published.gains().fates().undecided == 0;
    if experiment.budget.is_some() && is_decided && published.is_confirmed() {
        session.say(&progress::budget::decided(Seconds(phases.elapsed())));
    }
}
