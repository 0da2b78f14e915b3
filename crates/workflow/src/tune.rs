//! A whole tuning: measure, decide, prove, compare, publish.

use collrules_record::findings::Findings;
use collrules_record::options::{Request, TuneOptions};
use collrules_record::rundir;
use collrules_record::settings::Settings;
use collrules_record::state::{Step, TuningState};
use collrules_runner::RunnerError;

use crate::analyze::Source;
use crate::campaign::{Begin, Measurement, prepare};
use crate::error::WorkflowError;
use crate::prove;
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

/// The steps of a tuning, in an open run. Those that ended in an earlier session are left out. What they leave of the budget
/// is for what is undecided.
fn carry_out(
    measured: &mut Measurement,
    options: &TuneOptions,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    // One that cannot be read is made again.
    let mut before = Published::open(measured.run.path()).ok();
    let mut state = begin_steps(measured, options, before.as_ref())?;
    measured.measure(session)?;
    loop {
        let launches = measured.launches()?;
        let published = conclude(measured, options, state, before, session)?;
        let is_open = is_open(measured, &published);
        let is_first = !std::mem::replace(&mut measured.clock.is_rest, true);
        let goes_on = is_open && (is_first || measured.launches()? > launches);
        let Some(rest) = measured.time().rest().filter(|_| goes_on) else {
            if measured.experiment.budget.is_some() && !is_open && published.is_confirmed() {
                let took = measured.clock.passed().rounded();
                session.say(&format!("stopped after {took}: everything decided"));
            }
            return Ok(published);
        };
        session.say(&format!("{} of the budget are left for what is undecided", rest.rounded()));
        state = published.whole_state();
        state::reopen(&mut state, measured.clock.end(Step::Decide));
        measured.run.write_next_state(&state)?;
        before = Some(published);
    }
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
    mut state: TuningState,
    before: Option<Published>,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let findings = decide(measured, options, &mut state, session)?;
    let tuning = tuning::decide(&measured.run, &findings, &measured.started.pins)?;
    let mut run = prove::prove_run(measured, options, findings, tuning, state, session)?;
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
    Ok(published)
}

/// Reads the steps that ended. With another budget than before, what they left undecided or unmeasured is taken up again, and the
/// time of earlier sessions does not count. The files stay until there is a result.
fn begin_steps(
    measured: &mut Measurement,
    options: &TuneOptions,
    before: Option<&Published>,
) -> Result<TuningState, WorkflowError> {
    let mut state = state::read_next(&measured.run)?;
    if state.budget() != Some(options.budget) {
        if state.budget().is_some() && before.is_some_and(|before| is_open(measured, before)) {
            state::reopen(&mut state, Step::Decide.into());
        }
        state.steps.push(Step::Begin(options.budget).into());
        measured.run.write_next_state(&state)?;
    }
    // A batch job may have cut the budget.
    let cut = options.budget.zip(measured.experiment.budget).map_or(0.0, |(asked, budget)| asked.0 - budget.0);
    measured.clock.add_earlier(&state, cut);
    Ok(state)
}

/// Returns true if rules are undecided, or sizes need more timings.
fn is_open(measured: &Measurement, published: &Published) -> bool {
    let is_undecided = published.validation.is_some() && published.gains().fates().undecided > 0;
    is_undecided || !refine::list_open(measured, &published.findings).is_empty()
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
        let source = Source::of_measured(&measured.run, measured.manifest.clone(), session)?;
        let findings = source.decide_reverting(options.criteria, options.policy, &state.reverted)?;
        let plan = match () {
            () if std::mem::take(&mut goes_on) => refine::plan_open(measured, &findings, session),
            () if !is_refined => refine::plan_round(measured, &findings, session),
            () => None,
        };
        let Some(plan) = plan else { break findings };
        measured.measure_round(&plan, session)?;
    };
    if !state.has(Step::Measure) {
        state.steps.push(measured.clock.end(Step::Measure));
        measured.run.write_next_state(state)?;
    }
    Ok(findings)
}
