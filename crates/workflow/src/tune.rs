//! A whole tuning: measure, decide, prove, compare, publish.

use collrules_record::findings::Findings;
use collrules_record::options::{Request, TuneOptions};
use collrules_record::rundir::FINDINGS;
use collrules_record::state::{Step, TuningState};
use collrules_record::units::Seconds;
use collrules_runner::RunnerError;

use crate::analyze::Source;
use crate::campaign::{Begin, Measurement, prepare};
use crate::error::WorkflowError;
use crate::plan::unreached;
use crate::prove::{self, ProvenRun};
use crate::publish::Published;
use crate::session::Session;
use crate::{refine, state, tuning};

/// Begins a run or resumes one, and creates proven and compared rules and settings in its directory.
pub fn tune(begin: &Begin, session: &mut Session<'_>) -> Result<Published, WorkflowError> {
    let Request::Tune(options) = &begin.request else { return Err(begin.refuse_tuning()) };
    let mut measured = prepare(begin, session)?;
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

/// The steps of a tuning, in an open run. Those that ended in an earlier session are left out.
fn carry_out(
    measured: &mut Measurement,
    options: &TuneOptions,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let mut state = begin_steps(measured, options)?;
    measured.measure(session)?;
    let findings = decide(measured, options, &mut state, session)?;
    let tuning = tuning::decide(&measured.run, &findings, &measured.started.pins)?;
    let mut run = prove::prove_run(measured, options, findings, tuning, session)?;
    let search = run.plan_search()?;
    // Without settings to try, rules have all of the time.
    run.measured.experiment.searches &= search.is_some();
    let compared = run.compare_all(search);
    if let Err(error @ (WorkflowError::Unvalidated { .. } | WorkflowError::Record(_))) = compared {
        // Do not replace files by incomplete results.
        return Err(error);
    }
    run.published.publish(run.session)?;
    compared?;
    let ProvenRun { measured, published, session, .. } = run;
    let is_decided = published.validation.is_some() && published.gains().fates().undecided == 0;
    if measured.experiment.budget.is_some() && is_decided && published.is_confirmed() {
        session.say(&format!("stopped after {}: everything decided", Seconds(measured.clock.of_rules()).rounded()));
    }
    Ok(published)
}

/// Reads the steps that ended. With another budget than before, what they left undecided or unmeasured is taken up again, and the
/// time of earlier sessions does not count. The files stay until there is a result.
fn begin_steps(measured: &mut Measurement, options: &TuneOptions) -> Result<TuningState, WorkflowError> {
    let mut state = state::read(&measured.run)?;
    let is_first = state.budget().is_none();
    if state.budget() != Some(options.budget) {
        if !is_first && is_open(measured)? {
            state::reopen(&mut state);
        }
        state.steps.push(Step::Begin(options.budget).into());
        measured.run.write_state(&state)?;
    }
    // A batch job may have cut the budget.
    let cut = options.budget.zip(measured.experiment.budget).map_or(0.0, |(asked, budget)| asked.0 - budget.0);
    measured.clock.add_earlier(&state, cut);
    Ok(state)
}

/// Returns true if rules are undecided, or sizes unmeasured, for which there is time with another budget.
fn is_open(measured: &Measurement) -> Result<bool, WorkflowError> {
    if !measured.run.file(FINDINGS).exists() {
        return Ok(false);
    }
    let published = Published::open(measured.run.path())?;
    let is_undecided = published.validation.is_some() && published.gains().fates().undecided > 0;
    Ok(is_undecided || !unreached(&measured.manifest.plan, &published.findings).is_empty())
}

/// Decides, and measures further sizes until none is worth its time: refinement needs the decision on the measurements so far.
fn decide(
    measured: &mut Measurement,
    options: &TuneOptions,
    state: &mut TuningState,
    session: &mut Session<'_>,
) -> Result<Findings, WorkflowError> {
    // Do not add sizes: the rules compared so far would change.
    let is_refined = state.steps.iter().any(|it| it.step == Step::Measure);
    let mut reaches = is_refined && !state.has(Step::Measure);
    let findings = loop {
        let source = Source::of_measured(&measured.run, measured.manifest.clone(), session)?;
        let findings = source.decide_reverting(options.criteria, options.policy, &state.reverted)?;
        let more =
            if std::mem::take(&mut reaches) { refine::plan_unreached(measured, &findings, session) } else { None };
        let plan = match more {
            None if !is_refined => refine::plan_round(measured, &findings, session),
            more => more,
        };
        let Some(plan) = plan else { break findings };
        measured.measure_round(&plan, session)?;
    };
    if !state.has(Step::Measure) {
        state.steps.push(measured.clock.end(Step::Measure));
        measured.run.write_state(state)?;
    }
    Ok(findings)
}
