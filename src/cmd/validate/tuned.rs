//! Validation at the end of `tune`: what it leaves behind has lost nowhere.

use std::time::{Duration, Instant};

use collrules_record::findings::Findings;
use collrules_record::plan::{DeployWay, Schedule};
use collrules_record::validation::Criteria;
use collrules_record::{Seconds, Validation};
use collrules_runner::proof::Proof;
use collrules_runner::validation::{FURTHER_LOOKS, Spending, spending};

use super::comparison::Bench;
use super::rounds::Rounds;
use super::subject::Subject;
use crate::args::{DEFAULT_PAIRS, Tune};
use crate::cmd::measure::Measured;
use crate::failure::Failure;
use crate::progress::{Reporter, say};

/// The share of the budget that is for validation.
const SHARE: f64 = 0.25;

/// What the first comparison may take of it; the rest is for proving and comparing what was repaired.
const FIRST: f64 = 0.6;

/// Seconds of the budget that are left to validation: none where they would not pay for two pairs of launches.
pub(in crate::cmd) fn reserved(args: &Tune, startup: Seconds) -> f64 {
    let wanted = args.budget.0.filter(|_| !args.validation.no_validate).map(|budget| budget.0 * SHARE);
    wanted.filter(|seconds| first(Some(Seconds(*seconds)), startup).is_some()).unwrap_or(0.0)
}

fn first(seconds: Option<Seconds>, startup: Seconds) -> Option<Spending> {
    spending(seconds.map(|seconds| Seconds(seconds.0 * FIRST)), startup, DEFAULT_PAIRS)
}

/// What validation left behind.
pub(in crate::cmd) struct Validated {
    pub(in crate::cmd) validation: Validation,
    /// The findings, and the proof, of the rules that are in place now; none where nothing was repaired.
    pub(in crate::cmd) repaired: Option<(Findings, Proof)>,
}

/// Compares the rules of a run that was just measured, proven and put in place, and repairs them; nothing where there is no time
/// for it, or nobody wants it.
pub(in crate::cmd) fn run(measured: &mut Measured, findings: &Findings) -> Result<Option<Validated>, Failure> {
    let options = measured.options.clone();
    if options.validation.no_validate || findings.table.is_empty() {
        return Ok(None);
    }
    let startup = measured.manifest.plan.schedule.startup;
    let share = options.budget.0.map(|budget| Seconds(budget.0 * SHARE));
    let Some(spending) = first(share, startup) else {
        say(&format!(
            "a quarter of the budget does not pay for two pairs of launches, whose start takes {startup} each: not \
             compared with the builtin in fresh launches; `collrules validate {}` does it",
            measured.run.path().display(),
        ));
        return Ok(None);
    };
    let deadline = share.and_then(|share| Instant::now().checked_add(Duration::try_from_secs_f64(share.0).ok()?));
    let mut subject = Subject::of_run(measured.run.clone(), &measured.manifest, findings, &measured.started);
    subject.afford(spending.launch);
    let schedule = Schedule { startup, ..super::schedule(&options.timing, startup) };
    let home = measured.run.clone();
    let mut bench = Bench {
        backend: measured.started.backend.as_mut(),
        survey: &measured.started.survey,
        layout: options.launch.layout,
        way: DeployWay::Environment,
        schedule,
        spending,
        budget: share.map(|share| Seconds(share.0 * FIRST)),
        deadline,
        seed: options.seed,
        repair: true,
        criteria: Criteria {
            min_difference: options.criteria.min_gain,
            error_rate: options.criteria.error_rate,
            clock_step: measured.started.survey.clock_step,
            looks: 1 + FURTHER_LOOKS,
            ..Criteria::default()
        },
        chosen: false,
        failures: options.session.failures,
        reporter: Reporter::quiet(&options.session),
    };
    let validation = Rounds { home: &home }.run(&mut bench, &mut subject)?;
    bench.reporter.validated(&home, &validation);
    Ok(Some(Validated { validation, repaired: subject.findings.zip(subject.proof) }))
}
