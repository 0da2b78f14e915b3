//! Arms of a comparison; the calls, messages and guards that their launches time, and how long.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::options::TimingOptions;
use collrules_record::pattern::Shape;
use collrules_record::plan::{PatternPlan, Schedule};
use collrules_record::tuning::{digest_of_rules, read_text_of};
use collrules_record::{ArmSubject, Bytes, Cast, Cell, Pattern, Ranks, Seconds, Settings, Survey};
use collrules_rules::Collective;
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_runner::grid::{DEFAULT_MEMORY, obstacle};
use collrules_tuner::comparison::class;

use crate::error::WorkflowError;
use crate::plan::timed;

/// The message sizes of the guard set, for collectives that are not tuned.
const GUARDED: [u64; 3] = [8, 4 << 10, 256 << 10];

/// Time of a turn: a loop of calls. Short, so that jobs alternate faster than the machine changes; several times as long as
/// a job takes to be as fast as before it slept.
pub(crate) const TURN: Seconds = Seconds(5e-4);

/// Time of a turn with the untimed calls before it, in seconds.
const WHOLE_TURN: f64 = 7e-4;

/// Ratio of the variance of a log speedup between turns to that between blocks: 0.1 and 0.07 for calls below 1 us.
const VARIANCES: f64 = 2.0;

/// Smallest and largest number of passes of a block.
const PASSES: (f64, f64) = (2.0, 16.0);

/// Largest number of calls of a turn.
const MOST_CALLS: u32 = 4000;

/// Arms of a comparison, with the settings that switch them on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arms {
    jobs: BTreeMap<Settings, Settings>,
}

impl Arms {
    /// Adds an arm, and returns what tells it from others: its settings, with the digest of a file in place of its path.
    pub(crate) fn add(&mut self, job: Settings) -> Result<Settings, WorkflowError> {
        let arm = identify(&job)?;
        self.jobs.insert(arm.clone(), job);
        Ok(arm)
    }

    /// The settings of a job of an arm. What only settings tell, such as a combination of a search, is its own.
    pub(crate) fn job(&self, arm: &Settings) -> Settings {
        self.jobs.get(arm).unwrap_or(arm).clone()
    }

    /// The settings of all arms.
    pub(crate) fn settings_of_jobs(&self) -> Vec<Settings> {
        self.jobs.values().filter(|job| !job.is_empty()).cloned().collect()
    }
}

/// Settings with digests of the files that they name.
fn identify(job: &Settings) -> Result<Settings, WorkflowError> {
    let mut arm = job.clone();
    for name in [RULES_FILE, HAN_FILE] {
        if let Some(value) = arm.get_mut(name) {
            *value = format!("sha256:{}", digest_of_rules(&read_text_of(Path::new(value.as_str()))?));
        }
    }
    Ok(arm)
}

/// The schedule of a launch of an arm: each subject is called in turns, which are unbroken loops, as programs and benchmarks
/// make them.
pub(crate) fn loop_schedule(timing: &TimingOptions, startup: Seconds, launch: Option<Seconds>) -> Schedule {
    let (least, most) = timing.calls.map_or((1, MOST_CALLS), |calls| (calls, calls));
    let usual = Schedule { rounds_per_visit: least, startup, budget: launch, ..Schedule::default() };
    Schedule { max_rounds: most, ..timed(timing, usual) }
}

/// Passes of a block whose jobs take this long to start. Its error has a variance between blocks and one between turns, which
/// passes divide; its time is that of starts and turns. The product of both is least at the root of the ratio of times and
/// variances.
pub(crate) fn count_passes(startup: Seconds, subjects: usize) -> u32 {
    let pass = WHOLE_TURN * subjects.max(1) as f64;
    (startup.0 / pass * VARIANCES).sqrt().round().clamp(PASSES.0, PASSES.1) as u32
}

/// Share of the time of a start that each job of a block adds, since they start at the same time.
pub(crate) const OWN_START: f64 = 0.5;

/// Expected measuring time of a launch of so many subjects, in seconds.
pub(crate) fn measuring_time(startup: Seconds, subjects: usize) -> f64 {
    WHOLE_TURN * subjects as f64 * f64::from(count_passes(startup, subjects))
}

/// Seconds per byte of long messages, between the shortest and the longest call of the collective and communicator with the
/// longest of all; 0 if there are no two.
fn seconds_per_byte(call_times: &BTreeMap<Cell, Seconds>) -> f64 {
    let Some((long, most)) = call_times.iter().max_by_key(|(cell, _)| cell.vector()) else { return 0.0 };
    let alike = |(cell, _): &(&Cell, _)| (cell.collective, cell.ranks) == (long.collective, long.ranks);
    let (short, least) = call_times.iter().find(alike).unwrap_or((long, most));
    let bytes = long.vector().0 - short.vector().0;
    if bytes == 0 { 0.0 } else { ((most.0 - least.0) / bytes as f64).max(0.0) }
}

/// Expected measuring time of a launch of subjects, of which some calls take known times, and others as long as their bytes
/// take; and whether it is their first launch.
pub(crate) fn expected_seconds(
    startup: Seconds,
    subjects: &[ArmSubject],
    call_times: &BTreeMap<Cell, Seconds>,
    is_first: impl Fn(&ArmSubject) -> bool,
) -> f64 {
    let rate = seconds_per_byte(call_times);
    let call = |subject: &ArmSubject| match subject {
        ArmSubject::Call(cell, _) => call_times.get(cell).copied().unwrap_or(Seconds(rate * cell.vector().0 as f64)),
        ArmSubject::Messages(pattern, _) => Seconds(rate * pattern.bytes.0 as f64),
        ArmSubject::Program => Seconds(0.0),
    };
    let all = subjects.iter().map(|subject| subject_time(call(subject), is_first(subject))).sum();
    measuring_time(startup, subjects.len()).max(all)
}

/// Calls of a subject with long calls in a job of a block: two passes, and an untimed call.
const LONG_CALLS: f64 = 3.0;

/// Multiple of a turn from which on a turn has one call, without calls to find that out.
const LONG: f64 = 2.0;

/// Calls of a turn of calls of about this length; none if it is to be found out.
pub(crate) fn calls_of_turn(call: Seconds) -> Option<u32> {
    (call.0 >= LONG * TURN.0).then_some(1)
}

/// Expected seconds of a subject with calls of this length in a job of a block with the fewest passes; its first block has a
/// check as well, and one job of it finds out the calls of a turn.
pub(crate) fn subject_time(call: Seconds, is_first: bool) -> f64 {
    (WHOLE_TURN * PASSES.0).max(LONG_CALLS * call.0) + if is_first { call.0.max(TURN.0) } else { 0.0 }
}

/// The messages of patterns, one by one.
pub(crate) fn list_messages(plans: &[PatternPlan]) -> impl Iterator<Item = ArmSubject> {
    plans.iter().flat_map(|plan| plan.casts.iter().map(|cast| ArmSubject::Messages(plan.pattern, cast.clone())))
}

/// Cells with their weights in a mean.
pub(crate) type CellWeights = BTreeMap<Cell, f64>;

/// Two sizes of each class for each collective, on its largest communicator: a quarter from either end of those with a
/// weight. They share the weight of all cells of their class.
pub(crate) fn screened(cells: &CellWeights) -> CellWeights {
    let mut screened = CellWeights::new();
    let collectives: BTreeSet<Collective> = cells.keys().map(|cell| cell.collective).collect();
    for collective in collectives {
        let own = cells.iter().filter(|(cell, weight)| cell.collective == collective && **weight > 0.0);
        let own: Vec<&Cell> = own.map(|(cell, _)| cell).collect();
        let ranks = own.iter().map(|cell| cell.ranks).max();
        let mut largest: Vec<&Cell> = own.iter().copied().filter(|cell| Some(cell.ranks) == ranks).collect();
        largest.sort_unstable();
        for sizes in largest.chunk_by(|a, b| class(a.bytes) == class(b.bytes)) {
            let alike = own.iter().filter(|cell| class(cell.bytes) == class(sizes[0].bytes));
            let chosen = BTreeSet::from([sizes[sizes.len() / 4], sizes[sizes.len() * 3 / 4]]);
            let weight = alike.map(|cell| cells[*cell]).sum::<f64>() / chosen.len() as f64;
            screened.extend(chosen.into_iter().map(|cell| (*cell, weight)));
        }
    }
    screened
}

/// Collectives that are not tuned, on all ranks.
pub(crate) fn guard_cells(asked: &CellWeights, ranks: Ranks) -> Vec<Cell> {
    let asked: BTreeSet<Collective> = asked.keys().map(|cell| cell.collective).collect();
    let others = Collective::ALL.into_iter().filter(|collective| !asked.contains(collective));
    let cells = others.flat_map(|collective| {
        let sizes: &[u64] = if collective.has_sizes() { &GUARDED } else { &[0] };
        sizes.iter().map(move |bytes| Cell { collective, ranks, bytes: Bytes(*bytes) })
    });
    cells.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()).collect()
}

/// Messages without collectives: round trips, trains of messages, all ranks at once. Between ranks of a node, and
/// between nodes if there are several.
pub(crate) fn guard_patterns(survey: &Survey, ranks: Ranks) -> Vec<PatternPlan> {
    let hosts = &survey.hosts;
    let near = (1..ranks.0).find(|rank| hosts.get(*rank as usize) == hosts.first());
    let far = (1..ranks.0).find(|rank| hosts.get(*rank as usize) != hosts.first());
    let casts: Vec<Cast> = [near, far].into_iter().flatten().filter_map(|other| Cast::new(vec![0, other])).collect();
    let mut plans = Vec::new();
    let mut add = |shape: Shape, ranks: Ranks, sizes: &[u64], casts: &[Cast]| {
        for bytes in sizes {
            let pattern = Pattern { shape, ranks, bytes: Bytes(*bytes) };
            plans.push(PatternPlan { pattern, casts: casts.to_vec() });
        }
    };
    if !casts.is_empty() {
        add(Shape::PingPong, Ranks(2), &[8, 1 << 10, 4 << 10, 64 << 10, 1 << 20], &casts);
        add(Shape::Train, Ranks(2), &[8, 4 << 10, 32 << 10], &casts);
    }
    if ranks.0 >= 2 {
        add(Shape::Rotation, ranks, &[8, 4 << 10, 64 << 10, 1 << 20], &[Cast::first(ranks)]);
    }
    plans
}

#[cfg(test)]
mod tests {
    use std::fs;

    use collrules_record::condition::Condition;

    use super::*;

    #[test]
    fn blocks_are_longer_if_starts_take_longer() {
        assert_eq!(count_passes(Seconds(0.4), 100), 3);
        assert_eq!(count_passes(Seconds(1.2), 100), 6);
        assert_eq!(count_passes(Seconds(0.4), 10), 11);
        assert_eq!(count_passes(Seconds(5.0), 1), 16);
        assert_eq!(count_passes(Seconds(0.0), 0), 2);
    }

    #[test]
    fn calls_of_unknown_length_take_as_long_as_their_bytes() {
        let cell = |collective, bytes| Cell { collective, ranks: Ranks(4), bytes: Bytes(bytes) };
        let call = |collective, bytes| ArmSubject::Call(cell(collective, bytes), Condition::UNALIGNED);
        let subjects =
            [call(Collective::Bcast, 8), call(Collective::Bcast, 1 << 20), call(Collective::Allgather, 1 << 18)];
        let seconds = |times: &[(u64, f64)]| {
            let times = times.iter().map(|(bytes, time)| (cell(Collective::Bcast, *bytes), Seconds(*time))).collect();
            expected_seconds(Seconds(0.4), &subjects, &times, |_| false)
        };
        let short = measuring_time(Seconds(0.4), 3);
        assert_eq!(seconds(&[]), short);
        assert_eq!(seconds(&[(8, 1e-4)]), short, "latency is no bandwidth");
        // Each takes three calls of a second, as 1 MiB of it would.
        let known = seconds(&[(0, 0.0), (1 << 19, 0.5)]);
        assert!((known - 6.0).abs() < 0.1, "{known}");
    }

    #[test]
    fn a_few_sizes_stand_for_all() {
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let cells: CellWeights =
            [2, 4].into_iter().flat_map(|ranks| (0..=20).map(move |power| (cell(ranks, 1 << power), 1.0))).collect();
        let expected = [
            (4, 10.0),
            (128, 10.0),
            (2 << 10, 4.0),
            (8 << 10, 4.0),
            (16 << 10, 3.0),
            (64 << 10, 3.0),
            (256 << 10, 4.0),
            (1 << 20, 4.0),
        ];
        assert_eq!(screened(&cells), expected.map(|(bytes, weight)| (cell(4, bytes), weight)).into());
        let guards = guard_cells(&cells, Ranks(4));
        assert!(guards.iter().all(|guard| guard.collective != Collective::Bcast) && guards.len() > 20);
    }

    #[test]
    fn an_arm_is_told_by_the_text_of_its_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("rules.conf");
        let job = Settings::from([(RULES_FILE.to_owned(), path.display().to_string())]);
        let mut arms = Arms::default();
        let mut with = |text: &str| {
            fs::write(&path, text).expect("written");
            arms.add(job.clone()).expect("reads")
        };
        let (one, other) = (with("1 # one collective\n"), with("0 # none\n"));
        assert_ne!(one, other, "the path is the same, and the rules are not");
        assert_eq!(with("# NOT CONFIRMED\n1 # mine\n"), one, "a comment is no rule");
        assert_eq!(arms.job(&one), job);
        let missing = Settings::from([(RULES_FILE.to_owned(), "/nowhere".to_owned())]);
        assert!(Arms::default().add(missing).is_err());
    }
}
