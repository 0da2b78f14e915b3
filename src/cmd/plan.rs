//! `collrules plan`: what would be measured, and how long it will take.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use collrules_record::CandidateName;
use collrules_record::plan::Schedule;
use collrules_record::units::Seconds;
use collrules_record::{Plan, Survey};
use collrules_rules::Collective;
use collrules_runner::RunnerError;
use collrules_runner::grid::Grid;

use super::start::Started;
use super::{foresee, measure, refine, validate};
use crate::args::Tune;
use crate::failure::Failure;
use crate::progress::say;

/// Jobs beside the survey that do not measure: before, whether `coll/tuned` serves the calls; afterwards, whether the
/// file is obeyed, and whether data are right under it.
pub(super) const PROOF_JOBS: f64 = 3.0;

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    if args.session.resume.is_some() {
        return Err(Failure::Usage("the plan of a run is in its manifest.json; --resume goes on with it".to_owned()));
    }
    let begin = Instant::now();
    let Started { mut backend, survey, .. } = measure::start(&args.launch, &args.simulate)?;
    let plan = of(args, &survey, begin.elapsed())?;
    if args.session.json {
        return writeln!(std::io::stdout(), "{}", serde_json::to_string(&plan)?).map_err(Failure::Stdout);
    }
    let reserved = validate::reserved(args, plan.schedule.startup);
    let refining = args.budget.0.map_or(0.0, |budget| (budget.0 - reserved) * (1.0 - refine::grid_share(&args.refine)));
    let beyond = [
        ("Refinement between sizes of the grid", Seconds(refining)),
        ("Validation in fresh launches", Seconds(reserved)),
    ];
    foresee::print(backend.as_mut(), &plan, &survey, args.budget, begin.elapsed(), &beyond)
}

/// The plan that the options ask for, after a survey that took so long.
pub(super) fn of(args: &Tune, survey: &Survey, taken: Duration) -> Result<Plan, RunnerError> {
    grid(args).plan(survey, args.launches, schedule(args, taken), args.seed)
}

/// How to spend the time. The budget is for the whole command: starting jobs, of which the survey was one and took
/// `survey`, measuring, and showing that the file is obeyed, which takes three more jobs.
fn schedule(args: &Tune, survey: Duration) -> Schedule {
    let startup = if args.simulate.simulate.is_some() { 0.0 } else { survey.as_secs_f64() };
    let launches = f64::from(args.launches);
    let starts = startup * (1.0 + PROOF_JOBS + launches);
    let reserved = validate::reserved(args, Seconds(startup));
    let measuring =
        args.budget.0.map(|budget| ((budget.0 - reserved) * refine::grid_share(&args.refine) - starts).max(0.0));
    if measuring == Some(0.0) {
        say(&format!(
            "starting jobs alone takes about {}, which is the whole budget: little will be measured",
            Seconds(starts).rounded(),
        ));
    }
    Schedule {
        budget: measuring.map(|seconds| Seconds(seconds / launches)),
        startup: Seconds(startup),
        min_gain: args.criteria.min_gain,
        keep_slow: args.keep_slow,
        sync: args.timing.sync.into(),
        clock_bound: args.timing.clock_bound,
        separate_clocks: args.timing.separate_clocks,
        ..Schedule::default()
    }
}

fn grid(args: &Tune) -> Grid {
    let mut only: BTreeMap<Collective, Vec<CandidateName>> = BTreeMap::new();
    for (collective, algorithm) in &args.only {
        only.entry(*collective).or_default().push(algorithm.clone());
    }
    Grid {
        only,
        collectives: args.ops.0.clone(),
        ranks: args.np.clone(),
        sizes: args.sizes.0.clone(),
        segments: args.segments.clone(),
        fanouts: args.fanouts.clone(),
        requests: args.requests.clone(),
        memory: args.max_memory,
        launch_per_candidate: args.launch_per_candidate,
        oversubscribe: args.launch.oversubscribes(),
        layout: args.launch.layout,
    }
}
