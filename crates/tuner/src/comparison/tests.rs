//! Searches on synthetic systems, over many seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use collrules_record::comparison::{LaunchFailure, Stage};
use collrules_record::condition::Condition;
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::{Guard, Settings};
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Bytes, Cell, Ranks};
use collrules_rules::Collective;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::judge::judge;
use super::{
    ArmBlock, ArmDemand, ArmLauncher, Compared, Comparison, Factor, Looks, Searched, SubjectResult, SubjectTimes,
    compare, compare_in_parts, has_control, mean_speedup, search,
};

/// Standard deviations of the logarithm of a time: shared by a launch, and a subject's own.
const NOISE: (f64, f64) = (0.03, 0.05);

/// Rates at which a burst of other work begins and ends, for each block, or each launch of jobs one after the other; log
/// slowdowns by it, below 8 KiB and from there on; and the factor of noise. Of 240 launches with the default, 50 were slow by
/// 40 to 70 %, up to ten in a row.
const BURSTS: (f64, f64) = (0.05, 0.13);
const SLOWDOWNS: (f64, f64) = (0.6, 0.2);
const BURST_NOISE: f64 = 1.6;

/// A system whose speedups are known.
struct KnownSystem {
    rng: ChaCha8Rng,
    truth: fn(&Settings, u64) -> f64,
    launches: usize,
    failing: Option<(&'static str, &'static str)>,
    /// Deviations of a launch, and of each of its calls.
    shared: f64,
    noise: f64,
    /// Rate of launches in which everything is slow, and the factor.
    disturbed: (f64, f64),
    /// Rate of launches that are as slow with settings only.
    disturbed_by_settings: f64,
    /// True if other work comes and goes, as measured on a virtual host of two processors.
    bursts: bool,
    /// True while it is there.
    is_slow: bool,
    /// Factor on the log speedups of settings, which phases of the machine change.
    phase: f64,
    /// True if it has phases.
    has_phases: bool,
    /// True if jobs run one after the other, so that each has its own share of other work.
    is_apart: bool,
    /// Largest number of launches.
    most: usize,
    /// The subjects of a launch; all if empty.
    subjects: BTreeSet<ArmSubject>,
    timed: usize,
}

fn cell(bytes: u64) -> Cell {
    Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(bytes) }
}

fn measure(bytes: u64) -> ArmSubject {
    ArmSubject::Call(cell(bytes), Condition::UNALIGNED)
}

const SIZES: [u64; 9] = [8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

impl KnownSystem {
    fn new(seed: u64, truth: fn(&Settings, u64) -> f64) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let subjects = BTreeSet::new();
        let disturbed = (0.0, 1.0);
        Self {
            rng,
            truth,
            launches: 0,
            failing: None,
            shared: NOISE.0,
            noise: NOISE.1,
            disturbed,
            disturbed_by_settings: 0.0,
            bursts: false,
            is_slow: false,
            phase: 1.0,
            has_phases: false,
            is_apart: false,
            most: usize::MAX,
            subjects,
            timed: 0,
        }
    }

    fn with_other_work(self, work: OtherWork) -> Self {
        match work {
            OtherWork::None => self,
            OtherWork::Tenth => Self { disturbed: (0.1, 1.7), ..self },
            OtherWork::Bursts { is_apart } => Self { bursts: true, is_apart, ..self },
        }
    }

    fn normal(&mut self) -> f64 {
        self.rng.sample(StandardNormal)
    }

    /// Log slowdown of what happens to the machine, which all jobs share that take turns.
    fn change_machine(&mut self) -> f64 {
        let is_disturbed = self.rng.random::<f64>() < self.disturbed.0;
        if self.has_phases && self.rng.random::<f64>() < 0.2 {
            self.phase = if self.phase < 1.0 { 1.0 } else { 0.35 };
        }
        let changes = self.rng.random::<f64>() < if self.is_slow { BURSTS.1 } else { BURSTS.0 };
        self.is_slow = self.bursts && (self.is_slow != changes);
        if is_disturbed { self.disturbed.1.ln() } else { 0.0 }
    }

    fn launch(&mut self, settings: &Settings, machine: f64) -> SubjectTimes {
        self.launches += 1;
        let machine = if self.is_apart { self.change_machine() } else { machine };
        let is_own = !settings.is_empty() && self.rng.random::<f64>() < self.disturbed_by_settings;
        let own = if is_own { self.disturbed.1.ln() } else { 0.0 };
        let factor = if self.is_slow { BURST_NOISE } else { 1.0 };
        let shared = factor * self.shared * self.normal() + machine + own;
        let burst = |bytes: u64| match (self.is_slow, bytes < 8 << 10) {
            (true, true) => SLOWDOWNS.0,
            (true, false) => SLOWDOWNS.1,
            (false, _) => 0.0,
        };
        let time = |bytes: u64, own: f64| {
            let log = shared + burst(bytes) + factor * self.noise * own - self.phase * (self.truth)(settings, bytes);
            (measure(bytes), 1e-6 * log.exp())
        };
        let mut rng = self.rng.clone();
        let times = SIZES.into_iter().map(|bytes| time(bytes, rng.sample(StandardNormal)));
        let times: SubjectTimes =
            times.filter(|(it, _)| self.subjects.is_empty() || self.subjects.contains(it)).collect();
        self.rng = rng;
        self.timed += times.len();
        times
    }
}

impl ArmLauncher for KnownSystem {
    type Error = Infallible;

    fn block(
        &mut self,
        stage: Stage,
        number: u32,
        (_, combinations): (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Infallible> {
        self.subjects = subjects.cloned().unwrap_or_default();
        let defaults = 1 + usize::from(has_control(stage, number));
        if self.launches + defaults + combinations.len() > self.most {
            return Ok(None);
        }
        let machine = self.change_machine();
        let mut block = ArmBlock::default();
        let mut order = vec![Settings::new(); defaults];
        order.extend(combinations.iter().cloned());
        for settings in order {
            let fails = |(name, value): (&str, &str)| settings.get(name).is_some_and(|set| set == value);
            let times = self.launch(&settings, machine);
            if !self.failing.is_some_and(fails) {
                block.push(settings, times);
            }
        }
        Ok(Some(block))
    }
}

fn factor(name: &str, values: &[&str]) -> Factor {
    Factor { name: name.to_owned(), values: values.iter().map(|value| (*value).to_owned()).collect() }
}

/// The pair that is known of one host of two processors: eager limit and copy mechanism.
fn pair() -> Vec<Factor> {
    vec![factor("eager", &["8K", "16K", "32K", "64K"]), factor("copies", &["emulated", "none", "other"])]
}

/// Logarithms of speedups: a main effect of each, less together than alone, and harm below 1 KiB.
fn truth_of_pair(settings: &Settings, bytes: u64) -> f64 {
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    let eager = match value("eager") {
        "8K" => 0.10,
        "16K" => 0.25,
        "32K" => 0.40,
        "64K" => 0.38,
        _ => 0.0,
    };
    let copies = match value("copies") {
        "none" => 0.58,
        "emulated" => -0.3,
        _ => 0.0,
    };
    let together = if eager > 0.3 && copies > 0.0 { -0.15 } else { 0.0 };
    if bytes < 1024 { if eager > 0.3 { -0.1 } else { 0.0 } } else { eager + copies + together }
}

fn mean_truth(truth: fn(&Settings, u64) -> f64, settings: &Settings) -> f64 {
    SIZES.iter().map(|bytes| truth(settings, *bytes)).sum::<f64>() / SIZES.len() as f64
}

/// All combinations of the factors.
fn factorial(factors: &[Factor]) -> Vec<Settings> {
    factors.iter().fold(vec![Settings::new()], |all, factor| {
        let with = |settings: &Settings| {
            let each = factor.values.iter().map(|value| {
                let mut settings = settings.clone();
                settings.insert(factor.name.clone(), value.clone());
                settings
            });
            std::iter::once(settings.clone()).chain(each).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

fn run(factors: &[Factor], known: &mut KnownSystem) -> Searched {
    let Ok(found) = search(factors, &|_| 1.0, known);
    found
}

#[test]
fn a_pair_is_found_in_a_quarter_of_the_full_factorial() {
    let all = factorial(&pair());
    let best = all.iter().map(|settings| mean_truth(truth_of_pair, settings)).fold(0.0, f64::max);
    // Each combination of the factorial has six launches.
    let quarter = all.len() * 6 / 4;
    let mut found = 0;
    for seed in 0..100 {
        let mut known = KnownSystem { most: quarter, ..KnownSystem::new(seed, truth_of_pair) };
        let searched = run(&pair(), &mut known);
        let finalist = searched.finalists.first().map_or(0.0, |first| mean_truth(truth_of_pair, first));
        found += usize::from(finalist >= best - 0.05);
    }
    assert!(found >= 90, "within 5 % of the best in {found} of 100 seeds");
}

#[test]
fn a_pair_is_a_finalist_without_time_for_a_foldover() {
    // Two rounds of seven values and of the default beside four and three of them.
    let single_values = 2 * (7 + 2);
    let found = (0..100).filter(|seed| {
        let mut known = KnownSystem { most: single_values, ..KnownSystem::new(*seed, truth_of_pair) };
        let finalists = run(&pair(), &mut known).finalists;
        finalists.iter().any(|settings| settings.len() == 2 && mean_truth(truth_of_pair, settings) > 0.5)
    });
    let found = found.count();
    assert!(found >= 95, "in {found} of 100 seeds");
}

/// As measured on a host with slow copies: one of two settings gains nearly as much as both. Chance takes others for faster.
#[test]
fn a_pair_is_a_finalist_beside_settings_that_do_nothing() {
    let truth = |settings: &Settings, bytes: u64| {
        let [a, b] = ["a", "b"].map(|name| settings.contains_key(name) && bytes >= 1024);
        if a && b {
            0.24
        } else if a {
            0.18
        } else {
            0.1 * f64::from(u8::from(b))
        }
    };
    let idle = ["c", "d", "e", "f"].map(|name| factor(name, &["1", "2"]));
    let factors: Vec<Factor> = ["a", "b"].map(|name| factor(name, &["1"])).into_iter().chain(idle).collect();
    let found = (0..100).filter(|seed| {
        let finalists = run(&factors, &mut KnownSystem { shared: 0.02, ..KnownSystem::new(*seed, truth) }).finalists;
        finalists.iter().any(|it| it.keys().eq(["a", "b"]))
    });
    let found = found.count();
    assert!(found >= 60, "in {found} of 100 seeds");
}

/// Settings of one host of two processors, most of which do nothing.
#[test]
fn settings_are_found_beside_other_work() {
    let mut factors = pair();
    factors.extend(["a", "b"].map(|name| factor(name, &["1"])));
    factors.extend(["c", "d"].map(|name| factor(name, &["1", "2"])));
    let best = factorial(&pair()).iter().map(|it| mean_truth(truth_of_pair, it)).fold(0.0, f64::max);
    let found = (0..100).filter(|seed| {
        let mut known = KnownSystem {
            most: 100,
            ..KnownSystem::new(*seed, truth_of_pair).with_other_work(OtherWork::Bursts { is_apart: false })
        };
        let finalists = run(&factors, &mut known).finalists;
        finalists.first().is_some_and(|first| mean_truth(truth_of_pair, first) >= best - 0.05)
    });
    let found = found.count();
    assert!(found >= 95, "within 5 % of the best in {found} of 100 seeds");
}

/// As measured over links of 200 Mbit/s, where calls deviate by half between blocks: what is slower in one is no loss.
#[test]
fn settings_are_found_where_single_calls_deviate() {
    let best = factorial(&pair()).iter().map(|it| mean_truth(truth_of_pair, it)).fold(0.0, f64::max);
    let found = (0..100).filter(|seed| {
        let mut known = KnownSystem { noise: 0.4, ..KnownSystem::new(*seed, truth_of_pair) };
        let finalists = run(&pair(), &mut known).finalists;
        finalists.iter().any(|it| mean_truth(truth_of_pair, it) >= best - 0.05)
    });
    let found = found.count();
    assert!(found >= 97, "within 5 % of the best in {found} of 100 seeds");
}

/// Calls of single blocks are no loss, however few rounds there is time for.
#[test]
fn settings_are_found_in_a_single_round_where_calls_deviate() {
    let truth = |settings: &Settings, bytes: u64| if settings.is_empty() || bytes < 1024 { 0.0 } else { 0.3 };
    let found = (0..100).filter(|seed| {
        let mut known = KnownSystem { noise: 0.1, most: 9, ..KnownSystem::new(*seed, truth) };
        run(&pair(), &mut known).finalists.len() >= 3
    });
    let found = found.count();
    assert!(found >= 90, "in {found} of 100 seeds");
}

/// As measured on a host on which single copies took 1.1 or 1.8 times as long as two copies, for half a minute each.
#[test]
fn settings_are_found_in_phases_of_the_machine() {
    let best = factorial(&pair()).iter().map(|it| mean_truth(truth_of_pair, it)).fold(0.0, f64::max);
    let found = (0..100).filter(|seed| {
        let mut known = KnownSystem { has_phases: true, ..KnownSystem::new(*seed, truth_of_pair) };
        let finalists = run(&pair(), &mut known).finalists;
        finalists.first().is_some_and(|first| mean_truth(truth_of_pair, first) >= best - 0.05)
    });
    let found = found.count();
    assert!(found >= 80, "within 5 % of the best in {found} of 100 seeds");
}

#[test]
fn what_helps_only_beside_another_setting_is_found_by_the_foldover() {
    let truth = |settings: &Settings, _: u64| {
        let has = |name: &str| settings.contains_key(name);
        if has("a") && has("b") {
            0.5
        } else if has("a") {
            0.2
        } else {
            0.0
        }
    };
    let factors = [factor("a", &["1"]), factor("b", &["1"]), factor("c", &["1", "2"])];
    let pairs = (0..100).filter(|seed| {
        let searched = run(&factors, &mut KnownSystem::new(*seed, truth));
        searched.finalists.first().is_some_and(|first| first.contains_key("a") && first.contains_key("b"))
    });
    assert!(pairs.count() >= 95);
}

#[test]
fn a_value_with_which_jobs_fail_is_tried_once_and_left_out() {
    for seed in 0..20 {
        let mut known = KnownSystem::new(seed, truth_of_pair);
        known.failing = Some(("copies", "none"));
        let searched = run(&pair(), &mut known);
        assert!(searched.failed.iter().all(|settings| settings["copies"] == "none"));
        assert_eq!(searched.failed.len(), 1);
        assert!(searched.finalists.iter().all(|settings| settings.get("copies").is_none_or(|value| value != "none")));
    }
}

/// A setting that harms a member of the guard set, too little for the search to see, does not keep the rest out.
#[test]
fn finalists_include_those_without_one_setting_of_the_best() {
    let truth = |settings: &Settings, bytes: u64| {
        let has = |name: &str| settings.contains_key(name);
        let gain = |name: &str, gain: f64| if has(name) && bytes >= 1024 { gain } else { 0.0 };
        gain("a", 0.4) + gain("b", 0.3) + gain("harmful", 0.2) - if has("harmful") && bytes == 8 { 0.12 } else { 0.0 }
    };
    let factors = [factor("a", &["1"]), factor("b", &["1"]), factor("harmful", &["1"])];
    let found = (0..100).filter(|seed| {
        let searched = run(&factors, &mut KnownSystem::new(*seed, truth));
        let is_rest = |it: &Settings| it.len() == 2 && !it.contains_key("harmful");
        searched.finalists.iter().any(is_rest)
    });
    assert!(found.count() >= 95);
}

/// The fastest combination slows small messages down, and the best one may turn out to do so: the next best is compared. The
/// fastest one is if nothing else gains.
#[test]
fn finalists_include_the_next_best_and_the_fastest_if_all_are_harmful() {
    let truth = |settings: &Settings, bytes: u64| match settings.get("harmful") {
        Some(_) if bytes < 1024 => -0.5,
        harmful => truth_of_pair(settings, bytes) + if harmful.is_some() { 0.6 } else { 0.0 },
    };
    let mut factors = pair();
    factors.push(factor("harmful", &["1"]));
    let found = (0..100).filter(|seed| {
        let finalists = run(&factors, &mut KnownSystem::new(*seed, truth)).finalists;
        let is_pair = |it: &&Settings| it.len() == 2 && it.get("copies").is_some_and(|value| value == "none");
        finalists.iter().filter(is_pair).filter(|it| it.contains_key("eager")).count() >= 2
    });
    let found = found.count();
    assert!(found >= 90, "{found} of 100");
    let only = [factor("harmful", &["1"])];
    let found = (0..20).filter(|seed| run(&only, &mut KnownSystem::new(*seed, truth)).finalists.len() == 1);
    assert_eq!(found.count(), 20);
}

/// Calls in which a program spends no time do not decide.
#[test]
fn the_weights_of_a_program_choose_the_settings() {
    let truth = |settings: &Settings, bytes: u64| match (settings.get("a").map(String::as_str), bytes >= 1024) {
        (Some("large"), true) | (Some("small"), false) => 0.4,
        _ => 0.0,
    };
    let factors = [factor("a", &["small", "large"])];
    for (weighs, best) in [(8, "small"), (1 << 20, "large")] {
        let weight = |subject: &ArmSubject| f64::from(u8::from(*subject == measure(weighs)));
        let found = (0..20).filter(|seed| {
            let Ok(searched) = search(&factors, &weight, &mut KnownSystem::new(*seed, truth));
            searched.finalists.first().is_some_and(|first| first["a"] == best)
        });
        assert!(found.count() >= 19, "{best}");
    }
}

/// The limits of a comparison.
fn criteria() -> ValidationCriteria {
    ValidationCriteria { min_difference: 0.03, ..ValidationCriteria::default() }
}

/// Whether every subject of a single combination passes after so many blocks.
fn passes(seed: u64, truth: fn(&Settings, u64) -> f64, pairs: usize) -> bool {
    let settings: Settings = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    let mut known = KnownSystem::new(seed, truth);
    let blocks: Vec<ArmBlock> = (0..pairs).map(|_| one_block(&mut known, &settings)).collect();
    let judged = judge(&blocks, &settings, &Settings::new(), criteria(), 0.05, 1.0, &|_| ArmDemand::ExcludeLoss);
    judged.iter().all(|it| it.guard == Guard::Passed)
}

fn one_block(known: &mut KnownSystem, settings: &Settings) -> ArmBlock {
    let Ok(block) = known.block(Stage::Tuning, 0, (&Settings::new(), std::slice::from_ref(settings)), None);
    block.unwrap_or_default()
}

#[test]
fn a_loss_beyond_the_limit_passes_rarely() {
    let harm = |settings: &Settings, bytes: u64| match (settings.is_empty(), bytes) {
        (false, 64) => -0.1,
        (false, _) => 0.5,
        _ => 0.0,
    };
    let passed = (0..400).filter(|seed| passes(*seed, harm, 6)).count();
    assert!(passed <= 10, "{passed} of 400 pass, 2.5 % is the nominal rate for a loss of just 5 %");
    let gain = |settings: &Settings, _: u64| if settings.is_empty() { 0.0 } else { 0.5 };
    let passed = (0..100).filter(|seed| passes(*seed, gain, 6)).count();
    assert!(passed >= 95, "{passed} of 100 that gain everywhere pass");
}

/// At the limit itself 2.5 % may pass: 10 of 400, and more than 18 by chance in one case of 100.
#[test]
fn a_loss_at_the_limit_passes_as_seldom_as_stated() {
    let harm = |settings: &Settings, bytes: u64| match (settings.is_empty(), bytes) {
        (false, 64) => f64::ln(0.95),
        (false, _) => 0.5,
        _ => 0.0,
    };
    let passed = (0..400).filter(|seed| passes(*seed, harm, 6)).count();
    assert!(passed <= 18, "{passed} of 400");
}

/// A whole confirmation of one combination: whether it may be installed, and the pairs of launches.
fn confirmed(known: &mut KnownSystem) -> (bool, u32) {
    let compared = confirm_all(&[BTreeMap::from([("a".to_owned(), "1".to_owned())])], known);
    (compared.chosen.is_some(), compared.arms[0].pairs)
}

/// A whole confirmation.
fn confirm_all(arms: &[Settings], launcher: &mut impl ArmLauncher<Error = Infallible>) -> Compared {
    confirm_with(ArmDemand::ExcludeClassLoss, arms, launcher)
}

/// A whole confirmation with this demand on each size.
fn confirm_with(demand: ArmDemand, arms: &[Settings], launcher: &mut impl ArmLauncher<Error = Infallible>) -> Compared {
    // The larger half is tuned, the rest is the guard set.
    let comparison = Comparison {
        stage: Stage::Tuning,
        base: &Settings::new(),
        arms,
        demand: &|_, _| demand,
        weight: &|_, subject| f64::from(u8::from(SIZES[4..].iter().any(|bytes| measure(*bytes) == *subject))),
        criteria: criteria(),
        max_loss: 0.05,
        looks: Looks::from(4),
        chooses: true,
    };
    let Ok(compared) = compare(&comparison, launcher);
    compared
}

/// Ends and middle of a range whose middle loses, then the sizes between: each part has its own looks, what was decided stays,
/// and parts without time have no result.
#[test]
fn parts_are_decided_one_after_the_other_while_there_is_time() {
    let truth = |settings: &Settings, bytes: u64| match (settings.is_empty(), bytes) {
        (true, _) => 0.0,
        (false, 4096) => -0.4,
        (false, _) => 0.4,
    };
    let arm = Settings::from([("a".to_owned(), "1".to_owned())]);
    let parts: Vec<Option<BTreeSet<ArmSubject>>> = [vec![8, 4096, 1 << 20], vec![64, 512], vec![16 << 10]]
        .map(|it| Some(it.into_iter().map(measure).collect()))
        .into();
    let comparison = Comparison {
        stage: Stage::Rules,
        base: &Settings::new(),
        arms: std::slice::from_ref(&arm),
        demand: &|_, _| ArmDemand::Gain,
        weight: &|_, _| 1.0,
        criteria: criteria(),
        max_loss: 0.05,
        looks: Looks::between(4, 16),
        chooses: false,
    };
    let results = |most: usize| {
        let mut known = KnownSystem { most, ..KnownSystem::new(1, truth) };
        let Ok(compared) = compare_in_parts(&comparison, &parts, &mut known);
        let subjects = compared.of(&arm).map(|result| result.subjects.clone()).unwrap_or_default();
        let outcome = |it: &SubjectResult| (it.subject.cell().map_or(0, |cell| cell.bytes.0), it.verdict, it.pairs);
        (subjects.iter().map(outcome).collect::<Vec<_>>(), known.timed)
    };
    use Outcome::{Faster, Slower};
    let first = [(8, Faster), (4096, Slower), (1 << 20, Faster)];
    let outcomes = |found: &[(u64, Outcome, u32)]| found.iter().map(|(size, it, _)| (*size, *it)).collect::<Vec<_>>();
    let (all, timed) = results(usize::MAX);
    assert_eq!(
        outcomes(&all),
        [(8, Faster), (64, Faster), (512, Faster), (4096, Slower), (16 << 10, Faster), (1 << 20, Faster)]
    );
    // Four blocks, of which the first has a control, or twice as many decide on each part.
    assert!(all.iter().all(|(.., pairs)| [4, 8].contains(pairs)) && timed <= 18 * 6, "{all:?}, {timed} timings");
    assert_eq!(outcomes(&results(9).0), first, "no time for more than a look at the first part");
}

/// In 60 launches, as many as two minutes have.
#[test]
fn pooled_classes_decide_with_fewer_launches() {
    let harmless = |settings: &Settings, bytes: u64| truth_with_guard(settings, bytes, 0.0);
    let arm = [Settings::from([("a".to_owned(), "1".to_owned())])];
    let [single, pooled] = [ArmDemand::ExcludeLoss, ArmDemand::ExcludeClassLoss].map(|demand| {
        let confirmed = |seed: &u64| {
            let mut known = KnownSystem { most: 60, ..KnownSystem::new(*seed, harmless) };
            confirm_with(demand, &arm, &mut known).chosen.is_some()
        };
        (0..40).filter(confirmed).count()
    });
    assert!(pooled >= single + 8, "{pooled} with classes, {single} without");
}

/// A system whose shortest calls, of twelve collectives, deviate by 0.12 between blocks, and whose long ones settings make faster.
struct ShortCalls {
    rng: ChaCha8Rng,
    /// Log speedups of the short calls.
    truth: fn(usize) -> f64,
    /// Launches that are left.
    left: usize,
}

impl ShortCalls {
    fn subjects() -> Vec<ArmSubject> {
        let cell = |collective: &Collective| Cell { collective: *collective, ranks: Ranks(2), bytes: Bytes(8) };
        let call = |cell| ArmSubject::Call(cell, Condition::UNALIGNED);
        std::iter::once(measure(1 << 20)).chain(Collective::ALL.iter().take(12).map(cell).map(call)).collect()
    }

    fn launch(&mut self, is_arm: bool, subjects: Option<&BTreeSet<ArmSubject>>) -> SubjectTimes {
        let all = Self::subjects().into_iter().enumerate();
        let wanted = all.filter(|(_, it)| subjects.is_none_or(|subjects| subjects.contains(it)));
        let time = |(at, it): (usize, ArmSubject)| {
            let (deviation, gain) = if at == 0 { (0.05, 0.3) } else { (0.12, (self.truth)(at)) };
            let noise: f64 = self.rng.sample(StandardNormal);
            let log = deviation / 2.0_f64.sqrt() * noise - if is_arm { gain } else { 0.0 };
            (it, 5e-7 * log.exp())
        };
        wanted.map(time).collect()
    }
}

impl ArmLauncher for ShortCalls {
    type Error = Infallible;

    fn block(
        &mut self,
        stage: Stage,
        number: u32,
        (base, arms): (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Infallible> {
        let bases = 1 + usize::from(has_control(stage, number));
        let Some(left) = self.left.checked_sub(bases + arms.len()) else { return Ok(None) };
        self.left = left;
        let mut block = ArmBlock::default();
        for settings in std::iter::repeat_n(base, bases).chain(arms) {
            block.push(settings.clone(), self.launch(settings != base, subjects));
        }
        Ok(Some(block))
    }
}

/// Nothing is lost, which forty launches show for all together and not for each; few may pass if all lose a 20th, or one a fifth.
#[test]
fn calls_that_are_alone_in_their_class_are_judged_with_others_of_their_size() {
    let confirmed = |demand: ArmDemand, truth: fn(usize) -> f64, left: usize| {
        let arm = [Settings::from([("a".to_owned(), "1".to_owned())])];
        let is_confirmed = |seed: &u64| {
            let mut system = ShortCalls { rng: ChaCha8Rng::seed_from_u64(*seed), truth, left };
            confirm_with(demand, &arm, &mut system).chosen.is_some()
        };
        (0..200).filter(is_confirmed).count()
    };
    let [alone, together] =
        [ArmDemand::ExcludeClassLoss, ArmDemand::ExcludeSizeLoss].map(|demand| confirmed(demand, |_| 0.0, 40));
    assert!(alone <= 20 && together >= 160, "{alone} and {together} of 200");
    for left in [40, 400] {
        let all_lose = confirmed(ArmDemand::ExcludeSizeLoss, |_| f64::ln(0.95), left);
        let one = |at| if at == 3 { f64::ln(0.8) } else { 0.0 };
        let one_loses = confirmed(ArmDemand::ExcludeSizeLoss, one, left);
        assert!(all_lose <= 10 && one_loses <= 4, "{left}: {all_lose} and {one_loses} of 200");
    }
}

/// In 48 blocks, as many as the share of a default run for rules has.
#[test]
fn a_gain_of_three_percent_is_shown() {
    let gain = |settings: &Settings, _: u64| if settings.is_empty() { 0.0 } else { f64::ln(1.03) };
    let arm = Settings::from([("a".to_owned(), "1".to_owned())]);
    let shown = (0..40).filter(|seed| {
        let mut known = KnownSystem::new(*seed, gain).with_other_work(OtherWork::Bursts { is_apart: false });
        let blocks: Vec<ArmBlock> = (0..48).map(|_| one_block(&mut known, &arm)).collect();
        let speedup = mean_speedup(&blocks, &arm, &Settings::new(), &|_| 1.0, 0.95);
        speedup.is_some_and(|speedup| speedup.low.is_some_and(|low| low > 1.0))
    });
    let shown = shown.count();
    assert!(shown >= 36, "in {shown} of 40");
}

/// The best combination gains most, but slows down a class of the guard set: by more than the limit, which takes more than
/// eight pairs to show, by so little more that there is no time to show it, or by about the limit, which no launches decide.
#[test]
fn the_next_best_takes_the_place_of_a_harmful_combination() {
    let truth = |settings: &Settings, bytes: u64| match settings.get("a").map(String::as_str) {
        Some("harmful") if bytes <= 512 => -0.11,
        Some("slow") if bytes <= 512 => -0.07,
        Some("open") if bytes <= 512 => -0.045,
        Some("harmful" | "slow" | "open") if bytes >= SIZES[4] => 0.4,
        Some("harmless") if bytes >= SIZES[4] => 0.2,
        _ => 0.0,
    };
    for (best, most, least) in [("harmful", usize::MAX, 14), ("slow", 90, 14), ("open", 120, 12)] {
        let finalists = [best, "harmless"].map(|value| BTreeMap::from([("a".to_owned(), value.to_owned())]));
        let right = (0..20).filter(|seed| {
            let found = confirm_all(&finalists, &mut KnownSystem { most, ..KnownSystem::new(*seed, truth) });
            let chosen = found.chosen.map(|chosen| &found.arms[chosen].arm);
            // What loses less than the limit may be installed, once the next best is confirmed.
            chosen == finalists.last() || best == "open" && chosen.is_some() && found.arms.iter().all(|it| it.pairs > 4)
        });
        let right = right.count();
        assert!(right >= least, "{best}: {right} of 20");
    }
}

/// The faster combination slows a class down by less than the limit, which takes many blocks to show.
#[test]
fn a_confirmed_combination_does_not_end_the_comparison_with_a_faster_one() {
    let truth = |settings: &Settings, bytes: u64| match settings.get("a").map(String::as_str) {
        Some("faster") if bytes <= 512 => -0.025,
        Some("faster") if bytes >= SIZES[4] => 0.4,
        Some("harmless") if bytes >= SIZES[4] => 0.2,
        _ => 0.0,
    };
    let finalists = ["faster", "harmless"].map(|value| BTreeMap::from([("a".to_owned(), value.to_owned())]));
    // With little time the other one is confirmed.
    for (most, best, least) in [(usize::MAX, &finalists[..1], 16), (60, &finalists[..], 12)] {
        let right = (0..20).filter(|seed| {
            let found = confirm_all(&finalists, &mut KnownSystem { most, ..KnownSystem::new(*seed, truth) });
            found.chosen.is_some_and(|chosen| best.contains(&found.arms[chosen].arm))
        });
        let right = right.count();
        assert!(right >= least, "{most} launches: {right} of 20");
    }
}

/// Of combinations that differ by less than blocks deviate, one within 6 % of the best is chosen. Of jobs one after the other,
/// fewer are.
#[test]
fn one_of_the_best_combinations_is_chosen() {
    let truth = |settings: &Settings, bytes: u64| match settings.get("a").map(String::as_str) {
        Some("best") if bytes >= SIZES[4] => 0.30,
        Some("next") if bytes >= SIZES[4] => 0.27,
        Some("third") if bytes >= SIZES[4] => 0.24,
        Some("fourth") if bytes >= SIZES[4] => 0.20,
        Some("fifth") if bytes >= SIZES[4] => 0.10,
        _ => 0.0,
    };
    let arms = ["fifth", "next", "fourth", "best", "third"].map(|it| BTreeMap::from([("a".to_owned(), it.to_owned())]));
    for (work, least) in OTHER_WORK.into_iter().zip([57, 57, 56, 22]) {
        let right = (0..60).filter(|seed| {
            let mut known = KnownSystem { most: 120, ..KnownSystem::new(*seed, truth).with_other_work(work) };
            let found = confirm_all(&arms, &mut known);
            found.chosen.is_some_and(|chosen| truth(&found.arms[chosen].arm, 1 << 20) >= 0.25)
        });
        let right = right.count();
        assert!(right >= least, "{work:?}: {right} of 60");
    }
}

/// A second setting adds 3 %, or nothing. Means of arms beside each other differ by 0.015 from block to block, as measured.
#[test]
fn settings_that_add_something_are_set_and_no_others() {
    let truth = |settings: &Settings, bytes: u64| match settings.len() {
        2 if settings.contains_key("adds") && bytes >= SIZES[4] => 0.15,
        1.. if bytes >= SIZES[4] => 0.12,
        _ => 0.0,
    };
    for (second, count, least) in [("adds", 2, 48), ("nothing", 1, 54)] {
        let arms = [&["a"][..], &["a", second]].map(|it| it.iter().map(|it| (it.to_string(), "1".into())).collect());
        let right = (0..60).filter(|seed| {
            let mut known = KnownSystem { shared: 0.01, noise: 0.01, most: 60, ..KnownSystem::new(*seed, truth) };
            let found = confirm_all(&arms, &mut known);
            found.chosen.is_some_and(|chosen| found.arms[chosen].arm.len() == count)
        });
        let right = right.count();
        assert!(right >= least, "{second}: {right} of 60");
    }
}

/// A system on which jobs with settings fail from a block on.
struct Failing {
    known: KnownSystem,
    arm: Settings,
    from: u32,
}

impl ArmLauncher for Failing {
    type Error = Infallible;

    fn block(
        &mut self,
        stage: Stage,
        number: u32,
        arms: (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Infallible> {
        let mut block = self.known.block(stage, number, arms, subjects)?;
        if let Some(block) = block.as_mut().filter(|_| number >= self.from)
            && block.launches.remove(&self.arm).is_some()
        {
            block.failed.insert(self.arm.clone(), LaunchFailure { why: "exit 1".to_owned(), subject: None });
        }
        Ok(block)
    }
}

/// Jobs with the best combination fail beside the next best, or once only the best has launches.
#[test]
fn the_next_best_takes_the_place_of_a_combination_that_fails() {
    let truth = |settings: &Settings, bytes: u64| match settings.get("a").map(String::as_str) {
        Some("fails") if bytes >= SIZES[4] => 0.4,
        Some("works") if bytes >= SIZES[4] => 0.2,
        _ => 0.0,
    };
    let arms = ["fails", "works"].map(|value| BTreeMap::from([("a".to_owned(), value.to_owned())]));
    for from in [3, 4, 8] {
        let found = (0..20).map(|seed| {
            let mut system = Failing { known: KnownSystem::new(seed, truth), arm: arms[0].clone(), from };
            confirm_all(&arms, &mut system)
        });
        let failed: Vec<Compared> = found.filter(|found| !found.failed.is_empty()).collect();
        assert!(!failed.is_empty());
        let is_right = |found: &&Compared| found.chosen.is_some_and(|chosen| found.arms[chosen].arm == arms[1]);
        // A control is off in one of a hundred.
        let wrong = failed.len() - failed.iter().filter(is_right).count();
        assert!(wrong <= 1, "{from}: {wrong} of {}", failed.len());
    }
}

/// Other work on the host.
#[derive(Clone, Copy, Debug)]
enum OtherWork {
    None,
    /// One block of ten is 1.7 times as slow.
    Tenth,
    Bursts {
        is_apart: bool,
    },
}

const OTHER_WORK: [OtherWork; 4] =
    [OtherWork::None, OtherWork::Tenth, OtherWork::Bursts { is_apart: false }, OtherWork::Bursts { is_apart: true }];

/// A gain of 1.3 times where speed is asked for, and this in one class of the guard set.
fn truth_with_guard(settings: &Settings, bytes: u64, guard: f64) -> f64 {
    match (settings.is_empty(), bytes) {
        (true, _) => 0.0,
        (false, ..=512) => guard,
        (false, bytes) if bytes >= SIZES[4] => 0.26,
        (false, _) => 0.0,
    }
}

/// One size of a class is a fifth slower: 1 % may pass, and more than 3 of 60 by chance in one case of 1000.
#[test]
fn a_large_loss_of_one_size_is_confirmed_rarely() {
    let harm = |settings: &Settings, bytes: u64| match (settings.is_empty(), bytes) {
        (false, 64) => f64::ln(0.8),
        _ => truth_with_guard(settings, bytes, 0.0),
    };
    for work in OTHER_WORK {
        let most = 150;
        let passed = (0..60).filter(|seed| {
            confirmed(&mut KnownSystem { most, ..KnownSystem::new(*seed, harm).with_other_work(work) }).0
        });
        let passed = passed.count();
        assert!(passed <= 3, "{work:?}: {passed} of 60");
    }
}

/// A size loses a seventh, which the others of its class gain: 2.5 % may pass, 6 of 240.
#[test]
fn a_loss_beside_gains_of_its_class_is_confirmed_rarely() {
    let harm = |settings: &Settings, bytes: u64| match (settings.is_empty(), bytes) {
        (false, 64) => f64::ln(0.85),
        _ => truth_with_guard(settings, bytes, 0.1),
    };
    let systems = OTHER_WORK.into_iter().flat_map(|work| {
        (0..60).map(move |seed| KnownSystem { most: 60, ..KnownSystem::new(seed, harm).with_other_work(work) })
    });
    let passed = systems.filter_map(|mut known| confirmed(&mut known).0.then_some(())).count();
    assert!(passed <= 6, "{passed} of 240");
}

/// The number of seeds that confirm a combination with a loss at the limit in the guard set, in at most `most` launches.
fn confirmed_at_limit(seeds: u64, work: OtherWork, most: usize) -> usize {
    let at_limit = |settings: &Settings, bytes: u64| truth_with_guard(settings, bytes, f64::ln(0.95));
    let seeds = (0..seeds).map(|seed| KnownSystem { most, ..KnownSystem::new(seed, at_limit).with_other_work(work) });
    seeds.map(|mut known| confirmed(&mut known)).filter(|(passed, _)| *passed).count()
}

/// All looks together: at the limit, 2.5 % may pass; more than 6 of 60 by chance in one case of 1000.
#[test]
fn a_loss_in_the_guard_set_is_confirmed_rarely() {
    let passed = confirmed_at_limit(60, OtherWork::Tenth, 150);
    assert!(passed <= 6, "{passed} of 60");
}

#[test]
#[ignore = "long: see CONTRIBUTING"]
fn long_a_loss_in_the_guard_set_is_confirmed_as_seldom_as_stated() {
    for (work, most) in OTHER_WORK.into_iter().flat_map(|work| [(work, 150), (work, usize::MAX)]) {
        let passed = confirmed_at_limit(400, work, most);
        assert!(passed <= 18, "{work:?}, {most} launches: {passed} of 400");
    }
}

/// With every fifth launch 1.7 times as slow, a job takes a tenth longer on average.
#[test]
fn settings_that_slow_down_every_fifth_launch_are_confirmed_rarely() {
    let harmless = |settings: &Settings, bytes: u64| truth_with_guard(settings, bytes, 0.0);
    let passed = (0..60).filter(|seed| {
        let system = KnownSystem { disturbed: (0.0, 1.7), ..KnownSystem::new(*seed, harmless) };
        confirmed(&mut KnownSystem { disturbed_by_settings: 0.2, most: 200, ..system }).0
    });
    let passed = passed.count();
    assert!(passed <= 6, "{passed} of 60");
}

#[test]
fn gains_without_a_loss_are_confirmed_and_later_looks_time_little() {
    // Of jobs one after the other, fewer are.
    for (work, (least, seeds)) in OTHER_WORK.into_iter().zip([(49, 50), (49, 50), (49, 50), (1, 20)]) {
        let harmless = |settings: &Settings, bytes: u64| truth_with_guard(settings, bytes, 0.0);
        let (mut passed, mut timed, mut pairs) = (0, 0, 0);
        for seed in 0..seeds {
            let mut known = KnownSystem::new(seed, harmless).with_other_work(work);
            let (is_confirmed, of_seed) = confirmed(&mut known);
            passed += usize::from(is_confirmed);
            timed += known.timed;
            pairs += 2 * of_seed as usize * SIZES.len();
        }
        assert!(passed >= least, "{work:?}: {passed} of {seeds}");
        assert!(timed * 10 < pairs * 9, "{work:?}: {timed} of {pairs}");
    }
}

#[test]
fn noise_alone_is_chosen_rarely() {
    let factors: Vec<Factor> = (0..8).map(|number| factor(&format!("s{number}"), &["1", "2"])).collect();
    let nothing = |_: &Settings, _: u64| 0.0;
    let (mut chosen, mut finalists) = (0, 0);
    for seed in 0..200 {
        let mut known = KnownSystem::new(seed, nothing);
        let searched = run(&factors, &mut known);
        finalists += searched.finalists.len();
        for settings in &searched.finalists {
            let blocks: Vec<ArmBlock> = (0..8).map(|_| one_block(&mut known, settings)).collect();
            let speedup = mean_speedup(&blocks, settings, &Settings::new(), &|_| 1.0, 0.95);
            chosen += usize::from(speedup.is_some_and(|it| it.low.is_some_and(|low| low > 1.0) && it.point >= 1.03));
        }
    }
    assert!(chosen * 40 <= finalists, "{chosen} of {finalists} finalists that do nothing are taken for faster");
}
