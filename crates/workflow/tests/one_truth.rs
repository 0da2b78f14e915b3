//! Whatever happens to a run, all that is printed follows from its files.

mod agreement;

use std::fs;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agreement::contradictions;
use collrules_record::criteria::Criteria;
use collrules_record::grid::Grid;
use collrules_record::options::{
    Jobs, RefinementOptions, Scenario, SettingsOptions, Simulated, SystemOptions, TuneOptions, Validating,
};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_rules::Collective;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::Published;
use collrules_workflow::start::start;
use collrules_workflow::{Event, Session, WorkflowError, publish, tune, validate};

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Runs a workflow, which is interrupted after so many launches of comparisons.
fn play<T>(patience: usize, workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
    let stop = Arc::<AtomicBool>::default();
    let stopped = Arc::clone(&stop);
    let mut launches = 0;
    let mut watch = |event: Event<'_>| {
        if let Event::ArmBlock { .. } = event {
            launches += 1;
            if launches > patience {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    let command = vec!["collrules".to_owned()];
    workflow(&mut Session { stop, failures: 20, command, start: &start, watch: &mut watch })
}

/// Runs a workflow that is killed at this event after its rules are decided; none if it was. A killed launch of the measurement
/// would be made again, with other times.
fn kill_at<T>(last: usize, workflow: impl FnOnce(&mut Session<'_>) -> T) -> (Option<T>, usize) {
    let (mut events, mut is_decided) = (0, false);
    let mut watch = |event: Event<'_>| {
        is_decided |= matches!(event, Event::Concluded { .. });
        events += usize::from(is_decided);
        if events >= last {
            // Without the message of a panic, and its backtrace.
            resume_unwind(Box::new("killed"));
        }
    };
    let command = vec!["collrules".to_owned()];
    let mut session = Session { stop: Arc::default(), failures: 20, command, start: &start, watch: &mut watch };
    // Nothing more is written: all that is left is on the disk.
    let ended = catch_unwind(AssertUnwindSafe(|| workflow(&mut session))).ok();
    (ended, events)
}

/// What a run says and does: its files without comments, the verdicts on each size, and the verdict on all.
fn results(run: &Path) -> Vec<String> {
    let published = Published::open(run).expect("a run");
    let lines = |name: &str| {
        let text = fs::read_to_string(run.join(name)).unwrap_or_default();
        text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    let rounds = published
        .validation
        .iter()
        .flat_map(|it| std::iter::once(&it.round).chain(it.checks.iter().map(|it| &it.round)));
    let verdicts = rounds.map(|round| {
        let cells: Vec<_> = round.cells.iter().map(|it| (it.cell.to_string(), it.in_use, it.verdict)).collect();
        format!("{cells:?} {:?}", round.repaired)
    });
    let chosen = published.settings.as_ref().and_then(|found| found.chosen());
    let settings = format!("{:?}", chosen.map(|it| (&it.settings, it.rules, it.with_rules, it.standing)));
    let verdict = published.verdict().to_string();
    let files = [rundir::RULES, rundir::MCA_PARAMS, rundir::ENVIRONMENT].map(lines);
    files.into_iter().chain(verdicts).chain([settings, verdict]).collect()
}

/// Tunings that are killed anywhere, several times, and resumed until they are done, end like those that were not. Returns how
/// many ended with a confirmed rule or setting.
fn count_surviving(seeds: RangeInclusive<u64>) -> usize {
    let (mut confirmed, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let home = tempfile::tempdir().expect("a directory");
        let run = home.path().join("run");
        let options = options(&mut random, seed > 1000);
        let begin = Begin::tuning(options, run.clone());
        let (first, events) = kill_at(usize::MAX, |session| tune::tune(&begin, session).map(drop));
        first.expect("no panic").expect("a tuning");
        let expected = results(&run);
        // In the same place, since files name it.
        fs::rename(&run, home.path().join("first")).expect("renamed");
        let mut kills = 0;
        loop {
            let last = if kills < 4 { 1 + random.below(events as u64) as usize } else { usize::MAX };
            let resume = Begin::recorded(&run).unwrap_or_else(|_| begin.clone());
            match kill_at(last, |session| tune::tune(&resume, session).map(drop)).0 {
                Some(ended) => break ended.expect("a tuning"),
                None => kills += 1,
            }
        }
        let found = results(&run);
        confirmed += usize::from(Published::open(&run).expect("a run").gains().fates().confirmed > 0);
        let differs = found.iter().zip(&expected).find(|(one, other)| one != other);
        if let Some((found, expected)) = differs.filter(|_| found != expected) {
            wrong.push(format!("run {seed}, killed {kills} times:\n{found}\ninstead of\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    confirmed
}

/// Options of a random tuning.
fn options(random: &mut Random, with_settings: bool) -> TuneOptions {
    let scenario = if with_settings { Scenario::Settings } else { random.pick(&Scenario::ALL) };
    use Collective::{Allgather, Allreduce, Barrier, Bcast, Scatter};
    let all = [Bcast, Allreduce, Scatter, Barrier, Allgather];
    // The simulated settings do little for allgather.
    let collectives = vec![random.pick(if with_settings { &all[..4] } else { &all })];
    let ranks: Vec<Ranks> = if random.below(3) > 0 { vec![Ranks(8)] } else { vec![Ranks(4), Ranks(8)] };
    let each = if scenario == Scenario::Settings { Ranks(4) } else { Ranks(1 + random.below(2) as u32) };
    let sizes: &[u64] = random.pick(&[&[8, 8192, 1 << 20], &[1 << 13, 1 << 16, 1 << 19], &[64, 1 << 17]]);
    let grid = Grid {
        collectives,
        ranks: ranks.into(),
        sizes: sizes.iter().copied().map(Bytes).collect(),
        segments: vec![Bytes(8192)],
        fanouts: vec![4],
        ..Grid::default()
    };
    let host = Simulated { scenario, slots: Ranks(8), each, ..Simulated::default() };
    let requests = ["smsc=^cma", "btl_sm_eager_limit=16384"].map(|text| text.parse().expect("a setting"));
    let settings = match scenario {
        Scenario::Settings => SettingsOptions { requests: requests.to_vec(), only: true, ..SettingsOptions::default() },
        _ => SettingsOptions { none: true, ..SettingsOptions::default() },
    };
    TuneOptions {
        grid,
        budget: None,
        settings,
        refinement: RefinementOptions { rounds: random.below(2) as u32, width: 2.0, ranks: false },
        system: SystemOptions { jobs: Jobs::Simulation(host), ..SystemOptions::default() },
        seed: random.below(1 << 20),
        validate: random.below(8) > 0,
        ..TuneOptions::default()
    }
}

/// Resumes a tuning with other criteria, other time, or without a comparison.
fn resume_again(random: &mut Random, run: &Path, options: &TuneOptions) -> Result<(), WorkflowError> {
    let criteria = Criteria { min_gain: random.pick(&[0.03, 0.1, 0.6]), ..options.criteria };
    let (validate, budget) = (random.below(3) > 0, random.pick(&[None, Some(Seconds(300.0))]));
    let begin = Begin::tuning(TuneOptions { criteria, validate, budget, ..options.clone() }, run.to_owned());
    let begin = Begin { place: RunPlace::Resumed(run.to_owned()), ..begin };
    play(random.pick(&[3, usize::MAX]), |session| tune::tune(&begin, session)).map(drop)
}

/// Compares a tuning again: some of its sizes or all, with or without a repair. A look changes no file that jobs read, and
/// takes no confirmation unless it shows a loss.
fn compare_again(random: &mut Random, run: &Path, options: &TuneOptions) -> Result<(), WorkflowError> {
    let state = || (Published::open(run).expect("a run"), fs::read(run.join(rundir::ENVIRONMENT)).ok());
    let before = state();
    let validating = Validating {
        budget: None,
        repair: random.below(2) == 0,
        pairs: 3 + random.below(4) as u32,
        sizes: (random.below(2) == 0).then(|| vec![random.pick(&options.grid.sizes)]),
        ..Validating::new(options.system.clone())
    };
    let opened = publish::open(run, None)?;
    let patience = random.pick(&[2, 5, usize::MAX]);
    let is_whole = random.below(2) == 0;
    let compared =
        play(patience, |session| validate::validate(&opened, is_whole, &validating, Vec::new(), None, session));
    let after = state();
    if !validating.repair {
        assert_eq!(before.1, after.1);
        let loses = compared.as_ref().is_ok_and(|compared| compared.loses());
        assert!(!before.0.is_confirmed() || after.0.is_confirmed() || loses, "{}", after.0.verdict());
    }
    compared.map(drop)
}

/// Runs with these seeds say only what their files do. Returns how many have confirmed rules, and how many settings.
fn count_agreeing(seeds: RangeInclusive<u64>) -> (usize, usize) {
    let (mut confirmed, mut with_settings, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let home = tempfile::tempdir().expect("a directory");
        let run = home.path().join("run");
        let options = options(&mut random, seed > 1000);
        let mut ended = play(random.pick(&[1, 6, usize::MAX, usize::MAX]), |session| {
            tune::tune(&Begin::tuning(options.clone(), run.clone()), session)
        })
        .map(drop);
        while ended.is_err() {
            let resume = Begin::recorded(&run).expect("a run");
            ended = play(random.pick(&[20, usize::MAX]), |session| tune::tune(&resume, session)).map(drop);
        }
        for again in 0..=random.below(3) {
            if again > 0 {
                // Nothing to compare is an error, and so is an interruption.
                drop(match random.below(2) {
                    0 => resume_again(&mut random, &run, &options),
                    _ => compare_again(&mut random, &run, &options),
                });
            }
            let scenario = options.system.jobs.clone();
            wrong
                .extend(contradictions(&run).into_iter().map(|it| format!("run {seed} ({scenario:?}), {again}: {it}")));
        }
        let directory = RunDir::open(run).expect("a run");
        confirmed += usize::from(directory.validation().expect("reads").is_some_and(|it| it.is_confirmed()));
        with_settings += usize::from(directory.settings().expect("reads").is_some_and(|it| it.chosen.is_some()));
    }
    assert!(wrong.is_empty(), "{} contradictions:\n{}", wrong.len(), wrong.join("\n"));
    (confirmed, with_settings)
}

// Side by side.

#[test]
fn whatever_happens_to_a_run_all_that_is_printed_follows_from_its_files() {
    // Most runs have rules: the test has something to see.
    assert!(count_agreeing(1..=50).0 > 15);
}

#[test]
#[ignore = "part of `make test-all`"]
fn the_same_holds_for_other_seeds() {
    assert!(count_agreeing(51..=100).0 > 15);
}

#[test]
fn the_same_holds_with_settings() {
    assert!(count_agreeing(1001..=1006).1 > 2);
}

#[test]
fn tunings_that_are_killed_and_resumed_end_as_if_they_had_not_been() {
    assert!(count_surviving(1..=24) > 5);
    assert!(count_surviving(1001..=1003) > 0);
}

#[test]
#[ignore = "takes an hour"]
fn long_series_of_killed_tunings_end_as_if_they_had_not_been() {
    count_surviving(25..=1000);
    count_surviving(1004..=1500);
}

#[test]
#[ignore = "takes an hour"]
fn long_series_of_commands_say_only_what_files_do() {
    count_agreeing(101..=1000);
    count_agreeing(1007..=1500);
}
