//! A whole tuning: measure, decide, prove, compare, publish.

use collrules_record::options::{Request, TuneOptions};
use collrules_record::{Findings, Settings, Step, TuningState, rundir};
use collrules_runner::RunnerError;

use crate::analyze::Source;
use crate::campaign::{Begin, Measurement, prepare};
use crate::error::WorkflowError;
use crate::prove;
use crate::publish::Published;
use crate::session::Session;
use crate::{refine, tuning};

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

/// The steps of a tuning, in an open run, in passes: the first one makes what is not done, others go on with what it left
/// undecided, in the rest of the budget.
fn carry_out(
    measured: &mut Measurement,
    options: &TuneOptions,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    measured.measure(session)?;
    let mut state = tuning::read_next_state(&measured.run)?;
    // One that cannot be read is made again.
    let mut latest = Published::open(measured.run.path()).ok();
    let mut launches = None;
    loop {
        let goes_on = begin_pass(measured, options, (&mut state, latest.as_ref()), &mut launches, session)?;
        latest = match latest {
            Some(published) if !goes_on => return Ok(published),
            before => Some(conclude(measured, options, &mut state, before, session)?),
        };
    }
}

/// Begins a pass. With more time, what is undecided or not measured enough is taken up again; the files stay until there is a
/// result. `launches` are those before the last pass, none before the first one. Returns false if there is nothing to go on with.
fn begin_pass(
    measured: &mut Measurement,
    options: &TuneOptions,
    (state, latest): (&mut TuningState, Option<&Published>),
    launches: &mut Option<usize>,
    session: &mut Session<'_>,
) -> Result<bool, WorkflowError> {
    let is_open = latest.is_some_and(|latest| refine::is_open(measured, latest));
    let Some(before) = launches.replace(measured.launches()?) else {
        let earlier = state.budget();
        if earlier != Some(options.budget) {
            if earlier.is_some() && is_open {
                state.reopen(Step::Decide.into());
            }
            state.steps.push(Step::Begin(options.budget).into());
            measured.run.write_next_state(state)?;
        }
        // A batch job may have cut the budget.
        let cut = options.budget.zip(measured.experiment.budget).map_or(0.0, |(asked, budget)| asked.0 - budget.0);
        measured.clock.add_earlier(state, cut);
        return Ok(true);
    };
    let is_second = !std::mem::replace(&mut measured.clock.is_rest, true);
    let goes_on = is_open && (is_second || *launches > Some(before));
    let Some(rest) = measured.time().rest().filter(|_| goes_on) else {
        if measured.experiment.budget.is_some() && !is_open && latest.is_some_and(Published::is_confirmed) {
            session.say(&format!("stopped after {}: everything decided", measured.clock.passed().rounded()));
        }
        return Ok(false);
    };
    session.say(&format!("{} of the budget are left for what is undecided", rest.rounded()));
    state.reopen(measured.clock.end(Step::Decide));
    measured.run.write_next_state(state)?;
    Ok(true)
}

/// Keeps the earlier result of a run, if more of its sizes are confirmed: among equally fast algorithms further timings may
/// choose others, which there was no time to compare.
fn keep_confirmed(before: Option<Published>, published: Published, session: &mut Session<'_>) -> Published {
    let is_alike = |before: &Published| {
        let terms = |it: &Published| (it.findings.criteria, it.findings.tree.policy);
        terms(before) == terms(&published) && before.has_settings() == published.has_settings()
    };
    let Some(mut before) = before.filter(is_alike) else { return published };
    // All launches so far count.
    before.state.steps.clone_from(&published.state.steps);
    before.validation = before.judge(None, &Settings::new());
    let count = |it: &Published| it.gains().fates().confirmed;
    if !before.is_confirmed() || count(&before) <= count(&published) {
        return published;
    }
    session.say("the rules that were confirmed before stay: there was no time to confirm others in their place");
    before
}

/// Decides on rules, compares them, and publishes what is left of them.
fn conclude(
    measured: &mut Measurement,
    options: &TuneOptions,
    state: &mut TuningState,
    before: Option<Published>,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let findings = decide(measured, options, state, session)?;
    let tuning = tuning::decide(&measured.run, &findings, &measured.started.pins)?;
    let mut run = prove::prove_run(measured, options, findings, tuning, state.clone(), session)?;
    let search = run.plan_search()?;
    // Without settings to try, rules have all of the time.
    run.measured.experiment.searches &= search.is_some();
    let compared = run.compare_all(search);
    if let Err(error @ (WorkflowError::Unvalidated { .. } | WorkflowError::Record(_))) = compared {
        // Do not replace files by incomplete results.
        return Err(error);
    }
    let mut published = keep_confirmed(before, run.published, run.session);
    published.publish(run.session)?;
    run.measured.run.remove(rundir::NEXT_STATE)?;
    compared?;
    *state = published.whole_state();
    Ok(published)
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
    let mut goes_on = is_refined && (measured.clock.is_rest || !state.has(Step::Measure));
    let findings = loop {
        let (samples, release) = (measured.log.samples()?, measured.started.release);
        let source = Source::of_measured(&measured.run, measured.manifest.clone(), release, samples, session)?;
        let findings = source.decide_reverting(options.criteria, options.policy, &state.reverted)?;
        let only_open = std::mem::take(&mut goes_on);
        let plan = (only_open || !is_refined).then(|| refine::plan_round(measured, &findings, only_open, session));
        let Some(plan) = plan.flatten() else { break findings };
        measured.measure_round(&plan, session)?;
    };
    if !state.has(Step::Measure) {
        state.steps.push(measured.clock.end(Step::Measure));
        measured.run.write_next_state(state)?;
    }
    Ok(findings)
}
