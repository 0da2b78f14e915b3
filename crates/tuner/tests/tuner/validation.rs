//! Pairs of launches whose truth is known: how often a verdict is wrong, and how often a loss is found.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use collrules_record::comparison::Stage;
use collrules_record::condition::Condition;
use collrules_record::pattern::ArmSubject;
use collrules_record::policy::Assumptions;
use collrules_record::settings::Settings;
use collrules_record::tuning::revert_table;
use collrules_record::validation::{FailedCell, Outcome, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Bytes, Cell, Estimate, HanRule, HanRules, Ranks};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Collective, Release, RuleTable};
use collrules_tuner::comparison::{ArmBlock, ArmDemand, ArmLauncher, Comparison, Looks, SubjectTimes, compare};
use collrules_tuner::repair::{Reach, Repair, RuleSet, repair, share_gains};
use collrules_tuner::validation::{CellFacts, charge_lookups, describe_round};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Deviations of logarithms: of what a whole launch shares, what all cells of a communicator share in it, and what one cell
/// has; the last differs from cell to cell by up to `spread`, and one launch of a cell in 20 is `outlier` times off. Each
/// call has a deviation of its own, and cells have had from 1 to 24 rounds.
#[derive(Clone, Copy)]
struct Launches {
    call: f64,
    whole: f64,
    communicator: f64,
    cell: f64,
    spread: f64,
    outlier: f64,
}

const QUIET: Launches = Launches { call: 0.0, whole: 0.0, communicator: 0.0, cell: 0.03, spread: 1.0, outlier: 1.0 };
const SHARED: Launches = Launches { call: 0.0, whole: 0.03, communicator: 0.03, cell: 0.02, spread: 1.0, outlier: 1.0 };
const UNEVEN: Launches = Launches { call: 0.0, whole: 0.01, communicator: 0.02, cell: 0.03, spread: 4.0, outlier: 1.0 };
const WILD: Launches = Launches { call: 0.0, whole: 0.02, communicator: 0.01, cell: 0.03, spread: 2.0, outlier: 1.5 };

const HASTY: Launches = Launches { call: 0.05, whole: 0.01, communicator: 0.0, cell: 0.01, spread: 1.0, outlier: 1.0 };

/// Three communicators with 20 sizes each.
fn cells() -> Vec<Cell> {
    let of = |ranks| {
        (0..20).map(move |size| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(1 << size) })
    };
    [2, 4, 8].into_iter().flat_map(of).collect()
}

struct Study {
    rng: ChaCha8Rng,
    launches: Launches,
    speedups: BTreeMap<Cell, f64>,
    /// Blocks that time allows.
    most: u32,
}

const DECIDED: Condition = Condition::OF_PROGRAMS;

/// A rule for algorithm 6.
fn six() -> CellFacts {
    CellFacts { tuned: true, in_use: Choice::plain(6), control: false, han: HanRule::Default, looked_up: true }
}

/// The rules, in place of their files.
fn rules() -> Settings {
    BTreeMap::from([("rules".to_owned(), "1".to_owned())])
}

impl Study {
    fn new(seed: u64, launches: Launches, speedup: impl Fn(Cell) -> f64) -> Self {
        let speedups = cells().into_iter().map(|cell| (cell, speedup(cell))).collect();
        Self { rng: ChaCha8Rng::seed_from_u64(seed), launches, speedups, most: 8 }
    }

    fn normal(&mut self) -> f64 {
        self.rng.sample(StandardNormal)
    }

    fn launch(&mut self, gains: bool, cells: &[Cell]) -> SubjectTimes {
        let Launches { call, whole, communicator, cell, spread, outlier } = self.launches;
        let all = whole * self.normal();
        let shared: BTreeMap<Ranks, f64> = [2, 4, 8].map(|ranks| (Ranks(ranks), communicator * self.normal())).into();
        let mut times = SubjectTimes::new();
        for at in cells {
            let own = cell * spread.powf((f64::from(at.bytes.0.trailing_zeros()) / 19.0) * 2.0 - 1.0) * self.normal();
            let slip = if self.rng.random::<f64>() < 0.05 { outlier.ln() } else { 0.0 };
            let gain = if gains { self.speedups[at] } else { 1.0 };
            let rounds = [1.0, 2.0, 3.0, 24.0][at.bytes.0.trailing_zeros() as usize % 4];
            let calls = call * self.normal() / f64::sqrt(rounds);
            let seconds = 1e-4 / gain * (all + shared[&at.ranks] + own + slip + calls).exp();
            times.insert(ArmSubject::Call(*at, DECIDED), seconds);
        }
        times
    }

    /// A comparison of the rules: a look after four blocks, and one after eight.
    fn run(&mut self) -> Round {
        self.run_with(ValidationCriteria::default().min_difference)
    }

    fn run_with(&mut self, min_difference: f64) -> Round {
        self.compare(min_difference, |_| six())
    }

    /// A comparison of rules of which these facts are known: gains are asked of sizes with a rule, no loss of others.
    fn compare(&mut self, min_difference: f64, known: impl Fn(Cell) -> CellFacts) -> Round {
        let is_ruled = |it: &ArmSubject| it.cell().is_some_and(|cell| known(cell).is_ruled());
        let comparison = Comparison {
            stage: Stage::Rules,
            base: &Settings::new(),
            arms: &[rules()],
            demand: &|_, it| if is_ruled(it) { ArmDemand::Gain } else { ArmDemand::NoLoss },
            weight: &|_, _| 1.0,
            criteria: ValidationCriteria { min_difference, ..ValidationCriteria::default() },
            max_loss: 0.05,
            looks: Looks::from(4),
            chooses: false,
        };
        let Ok(compared) = compare(&comparison, self);
        describe_round(&compared, &rules(), (DECIDED, min_difference), known)
    }
}

impl ArmLauncher for Study {
    type Error = Infallible;

    fn block(
        &mut self,
        _: Stage,
        number: u32,
        (base, arms): (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Infallible> {
        if number >= self.most {
            return Ok(None);
        }
        let all = cells();
        let cells: Vec<Cell> = subjects.map_or(all, |some| some.iter().filter_map(ArmSubject::cell).collect());
        let mut block = ArmBlock::default();
        for arm in std::iter::once(base).chain(arms) {
            let times = self.launch(!arm.is_empty(), &cells);
            block.push(arm.clone(), times);
        }
        Ok(Some(block))
    }
}

fn slower(round: &Round) -> usize {
    round.count(Outcome::Slower)
}

// Without a difference, one validation in 20 may call anything slower or faster, all cells and looks together, though
// no difference is too small. Of 30, more than 5 do by chance in one case of 200, and of 120 more than 13.
#[test]
fn noise_is_called_slower_or_faster_as_seldom_as_stated() {
    assert_seldom(30, 5);
}

/// The figures of RESULTS.md; they take half a minute.
#[test]
#[ignore = "long; last run when the test was written, with at most 3 of 120"]
fn long_noise_is_called_slower_or_faster_as_seldom_as_stated_in_many_validations() {
    assert_seldom(120, 13);
}

fn assert_seldom(validations: u64, most: usize) {
    for (name, launches) in [("quiet", QUIET), ("shared", SHARED), ("uneven", UNEVEN), ("wild", WILD), ("hasty", HASTY)]
    {
        let wrong = |seed| {
            let round = Study::new(seed, launches, |_| 1.0).run_with(0.0);
            round.cells.iter().any(|cell| matches!(cell.verdict, Outcome::Faster | Outcome::Slower))
        };
        let wrong = (0..validations).filter(|seed| wrong(*seed)).count();
        assert!(wrong <= most, "{name}: {wrong} of {validations} validations");
    }
}

/// That two thirds of the cells gain does not make it any likelier that one of the others is called slower.
#[test]
fn wins_elsewhere_do_not_make_losses() {
    for (name, launches) in [("quiet", QUIET), ("shared", SHARED), ("uneven", UNEVEN), ("hasty", HASTY)] {
        let wrong =
            |seed| slower(&Study::new(seed, launches, |cell| if cell.ranks == Ranks(2) { 1.0 } else { 1.3 }).run()) > 0;
        let wrong = (0..24).filter(|seed| wrong(*seed)).count();
        assert!(wrong <= 5, "{name}: {wrong} of 24 validations");
    }
}

/// A gain of 20 % at all sizes, and a size without any among such: 8 blocks on a busy host.
#[test]
fn a_range_without_a_hole_is_confirmed_without_one() {
    let is_between = |round: &Round, wanted: &dyn Fn(&ValidatedCell) -> bool| {
        let faster = |cell: &ValidatedCell| cell.verdict == Outcome::Faster;
        let around = round.cells.windows(3).filter(|it| it[0].cell.ranks == it[2].cell.ranks);
        around.filter(|it| faster(&it[0]) && faster(&it[2]) && wanted(&it[1])).count()
    };
    for (name, launches) in [("shared", SHARED), ("uneven", UNEVEN), ("hasty", HASTY)] {
        let (mut holes, mut all, mut filled) = (0, 0, 0);
        for seed in 0..16 {
            let round = Study::new(seed, launches, |_| 1.2).run();
            holes += is_between(&round, &|cell| cell.verdict != Outcome::Faster);
            all += is_between(&round, &|_| true);
            let lacks = |cell: Cell| cell.bytes.0.trailing_zeros() == 10;
            let round = Study::new(seed, launches, |cell| if lacks(cell) { 0.97 } else { 1.2 }).run();
            filled += is_between(&round, &|cell| cell.verdict == Outcome::Faster && lacks(cell.cell));
        }
        assert!(holes * 50 <= all, "{name}: {holes} holes in {all}");
        assert!(filled <= 2, "{name}: {filled} of 48 are filled, and lose 3 %");
    }
}

/// Five of 60 cells lose 13 % or 25 %, under launches that differ by 4 to 7 %.
#[test]
fn true_losses_are_found() {
    for (name, launches, loss, least) in
        [("quiet", QUIET, 0.87, 0.9), ("shared", SHARED, 0.75, 0.9), ("uneven", UNEVEN, 0.75, 0.8)]
    {
        let loses = |cell: Cell| cell.ranks == Ranks(8) && (10..15).contains(&cell.bytes.0.trailing_zeros());
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..16 {
            let round = Study::new(seed, launches, |cell| if loses(cell) { loss } else { 1.1 }).run();
            for cell in round.cells.iter().filter(|cell| cell.verdict == Outcome::Slower) {
                if loses(cell.cell) { found += 1 } else { wrong += 1 }
            }
        }
        assert!(f64::from(found) >= least * 80.0, "{name}: {found} of 80 found");
        assert!(wrong <= 2, "{name}: {wrong} wrongly");
    }
}

/// The intervals hold the truth as often as they say.
#[test]
fn intervals_cover_the_truth() {
    for (name, launches, least) in [("quiet", QUIET, 0.93), ("shared", SHARED, 0.90), ("uneven", UNEVEN, 0.92)] {
        let (mut inside, mut all) = (0, 0);
        for seed in 0..30 {
            let mut study = Study { most: 4, ..Study::new(seed, launches, |_| 1.1) };
            for cell in study.run().cells {
                let (low, high) = (cell.speedup.low.unwrap(), cell.speedup.high.unwrap());
                inside += usize::from(low <= 1.1 && 1.1 <= high);
                all += 1;
            }
        }
        let share = inside as f64 / f64::from(all);
        assert!(share >= least, "{name}: {share}");
    }
}

/// A comparison that came out like this: communicator size, message size, choice, speedup, verdict.
fn round(collective: Collective, rows: &[(u32, u64, u32, f64, Outcome)]) -> Round {
    let estimate =
        |point: f64| Estimate { point, low: Some(point * 0.97), high: Some(point * 1.03), level: 0.95, samples: 4 };
    let cell = |(ranks, bytes, algorithm, speedup, verdict): &(u32, u64, u32, f64, Outcome)| ValidatedCell {
        cell: Cell { collective, ranks: Ranks(*ranks), bytes: Bytes(*bytes) },
        tuned: true,
        in_use: Choice::plain(*algorithm),
        han: HanRule::Default,
        control: *algorithm == 0,
        without: estimate(1e-5),
        with: estimate(1e-5 / speedup),
        speedup: estimate(*speedup),
        q_value: None,
        verdict: *verdict,
    };
    Round { pairs: 4, cells: rows.iter().map(cell).collect(), ..Round::default() }
}

/// Algorithm 6 for one size on communicators of one size.
fn one_size(ranks: u64, bytes: u64) -> RuleTable {
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(bytes, Some(bytes + 1), Choice::plain(6));
    let mut steps = all_builtin();
    steps.set(ranks, Some(ranks + 1), sizes);
    let mut table = RuleTable::new();
    table.set(Collective::Bcast, steps);
    table
}

/// Algorithm 6 from 1 KiB on, 3 from 16 KiB to 64 KiB, for communicators of these sizes.
fn table(collective: Collective, ranks: (u64, Option<u64>)) -> RuleTable {
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(1 << 10, Some(16 << 10), Choice::plain(6));
    sizes.set(16 << 10, Some(64 << 10), Choice::plain(3));
    let mut steps = all_builtin();
    steps.set(ranks.0, ranks.1, sizes);
    let mut table = RuleTable::new();
    table.set(collective, steps);
    table
}

fn repaired(round: &Round, table: &RuleTable, freed: &[Collective]) -> (Vec<Cell>, RuleTable) {
    let found = repair_of(round, table, freed);
    let left = revert_table(table, &found.ranges);
    (found.cells, left)
}

fn rule_set(table: &RuleTable, release: Release) -> RuleSet {
    RuleSet { table: table.clone(), han: HanRules::default(), release, of_programs: false }
}

fn repair_of(round: &Round, table: &RuleTable, freed: &[Collective]) -> Repair {
    let inside = |_: Cell| Vec::new();
    let freed = freed.iter().copied().collect();
    let reach = Reach { freed, below: &|_| false, inside: &inside };
    let criteria = ValidationCriteria::default();
    repair(round, criteria, &rule_set(table, Release::V4_1), Assumptions::default(), &reach)
}

// Slower and undecided sizes are reverted with the gaps next to them, and a rule ends at sizes at which it was
// confirmed to be faster.
#[test]
fn rules_begin_and_end_at_confirmed_sizes() {
    use Outcome::{Faster, Same, Slower, Undecided};
    let before = table(Collective::Bcast, (8, Some(9)));
    let rows = [
        (8, 1 << 10, 6, 1.2, Faster),
        (8, 2 << 10, 6, 1.0, Same),
        (8, 2560, 6, 1.2, Faster),
        (8, 3 << 10, 6, 0.8, Slower),
        (8, 4 << 10, 6, 1.1, Same),
        (8, 16 << 10, 3, 1.3, Faster),
        (8, 23 << 10, 3, 0.95, Undecided),
    ];
    let (cells, after) = repaired(&round(Collective::Bcast, &rows), &before, &[]);
    assert_eq!(cells.iter().map(|cell| cell.bytes.0).collect::<Vec<_>>(), [3 << 10, 4 << 10, 23 << 10]);
    let in_use = |bytes| after.lookup(Collective::Bcast, 8, bytes).algorithm;
    assert_eq!([1 << 10, 2 << 10, 2560, 2561, 3 << 10, 4 << 10].map(in_use), [6, 6, 6, 0, 0, 0]);
    assert_eq!([16 << 10, (16 << 10) + 1, (64 << 10) - 1, 64 << 10].map(in_use), [3, 0, 0, 0]);
    // Sizes of programs answer for those that are measured as one with them, up to one that was compared itself.
    let of_programs = RuleSet { of_programs: true, ..rule_set(&before, Release::V4_1) };
    let reach = Reach { freed: BTreeSet::new(), below: &|_| false, inside: &|_| Vec::new() };
    let compared = round(Collective::Bcast, &rows);
    let found = repair(&compared, ValidationCriteria::default(), &of_programs, Assumptions::default(), &reach);
    let after = revert_table(&before, &found.ranges);
    let in_use = |bytes| after.lookup(Collective::Bcast, 8, bytes).algorithm;
    assert_eq!([1 << 10, 2560, 2815, 2816, 3 << 10, 4 << 10].map(in_use), [6, 6, 6, 0, 0, 0]);
    assert_eq!([16 << 10, (18 << 10) - 1, 18 << 10].map(in_use), [3, 3, 0]);
    // A size at which the rule is no better than the default confirms nothing.
    let level = round(Collective::Bcast, &[(8, 2 << 10, 6, 1.01, Same)]);
    assert!(repaired(&level, &before, &[]).1.is_empty());
}

/// Lookup bytes of allgather on 4 ranks are 4 times those of a message, and HAN's rule ends at a size of messages: between the
/// largest confirmed size and that end there is no call, so nothing is left to revert.
#[test]
fn confirmed_rules_of_han_are_left_alone() {
    let (first, end) = (1 << 10, (1 << 20) + 1);
    let mut own = Steps::constant(HanRule::Default);
    own.set(first, Some(end), HanRule::Delegate);
    let mut steps = all_builtin();
    steps.set(4, Some(5), own);
    let mut han = HanRules::default();
    han.set(Collective::Allgather, steps);
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(4 * first, Some((4 << 20) + 1), Choice::plain(6));
    let mut steps = all_builtin();
    steps.set(4, Some(5), sizes);
    let mut table = RuleTable::new();
    table.set(Collective::Allgather, steps);
    let repaired = |verdict| {
        let rows = [(4, first, 6, 1.5, Outcome::Faster), (4, 1 << 20, 6, 1.5, verdict)];
        let mut compared = round(Collective::Allgather, &rows);
        compared.cells.iter_mut().for_each(|it| it.han = HanRule::Delegate);
        let rules = RuleSet { han: han.clone(), ..rule_set(&table, Release::V5_0) };
        let reach = Reach { freed: BTreeSet::new(), below: &|_| false, inside: &|_| Vec::new() };
        repair(&compared, ValidationCriteria::default(), &rules, Assumptions::default(), &reach).ranges
    };
    assert_eq!(repaired(Outcome::Faster), []);
    assert_eq!(repaired(Outcome::Slower)[0].lookup, (4 * first + 1, Some(4 * end)));
}

/// Layouts that share a rule need no gain in each of them, but in one.
#[test]
fn a_gain_in_one_layout_keeps_a_rule_that_makes_no_difference_in_another() {
    use Outcome::{Faster, Same, Undecided};
    let before = one_size(4, 2048);
    let here = |verdict| round(Collective::Bcast, &[(4, 2048, 6, 1.01, verdict)]);
    let left = |mut compared: Round, is_awaited: bool, elsewhere: &[Round]| {
        share_gains(&mut compared, |_| is_awaited, elsewhere);
        repaired(&compared, &before, &[]).1
    };
    let confirmed = [round(Collective::Bcast, &[(4, 2048, 6, 1.5, Faster)])];
    assert!(left(here(Same), false, &[]).is_empty(), "no layout confirms it");
    assert_eq!(left(here(Same), true, &[]), before, "the other layout is still to be compared");
    assert_eq!(left(here(Same), false, &confirmed), before);
    assert!(left(here(Undecided), true, &confirmed).is_empty());
}

/// A rule for the ranks of a node acts inside HAN on many nodes, and goes where it makes HAN slower.
#[test]
fn rules_that_slow_han_down_from_inside_are_reverted() {
    use Outcome::{Faster, Slower};
    let before = one_size(2, 4 << 10);
    let rows = [(2, 4 << 10, 6, 1.3, Faster), (8, 4 << 10, 0, 0.7, Slower)];
    let round = round(Collective::Bcast, &rows);
    let repaired = |inside: &dyn Fn(Cell) -> Vec<(Collective, Ranks)>, settled: &[Collective]| {
        let below = |cell: Cell| settled.contains(&cell.collective);
        let reach = Reach { freed: BTreeSet::new(), below: &below, inside };
        let rules = rule_set(&before, Release::V5_0);
        repair(&round, ValidationCriteria::default(), &rules, Assumptions::default(), &reach)
    };
    let inside = |cell: Cell| if cell.ranks.0 == 8 { vec![(Collective::Bcast, Ranks(2))] } else { Vec::new() };
    let found = repaired(&inside, &[]);
    assert_eq!(found.cells.iter().map(|cell| cell.ranks.0).collect::<Vec<_>>(), [8]);
    assert!(revert_table(&before, &found.ranges).is_empty());
    // Without such a rule it is the settings that go, and without settings it is no business of the tuning.
    let nothing = |_: Cell| Vec::new();
    let found = repaired(&nothing, &[Collective::Bcast]);
    assert!(found.ranges.iter().all(|range| range.is_settings()) && found.ranges.len() == 1);
    assert_eq!(revert_table(&before, &found.ranges), before);
    let mut open = RuleTable::new();
    open.set(Collective::Bcast, Steps::constant(Steps::constant(Choice::plain(3))));
    assert_eq!(revert_table(&open, &found.ranges), open, "a rule without an end keeps it");
    assert!(repaired(&nothing, &[]).ranges.is_empty());
}

#[test]
fn communicators_are_reverted_up_to_those_that_were_looked_at() {
    use Outcome::{Faster, Slower};
    let before = table(Collective::Bcast, (4, None));
    let rows = [(4, 2048, 6, 1.2, Faster), (8, 2048, 6, 0.5, Slower), (16, 2048, 6, 1.2, Faster)];
    let after = repaired(&round(Collective::Bcast, &rows), &before, &[]).1;
    let in_use = |ranks| after.lookup(Collective::Bcast, ranks, 2048).algorithm;
    assert_eq!([4, 5, 8, 15, 16, 99].map(in_use), [6, 0, 0, 0, 6, 6]);
    assert!(after.lookup(Collective::Bcast, 4, 32 << 10).is_builtin(), "no launch looked at this rule");
}

/// Scatter has one choice for all sizes of a communicator, or none: ranks may see different sizes of one call.
#[test]
fn what_sizes_share_is_reverted_as_a_whole() {
    use Outcome::{Faster, Same, Slower, Undecided};
    let mut steps = all_builtin();
    steps.set(8, Some(9), Steps::constant(Choice::plain(2)));
    let mut before = RuleTable::new();
    before.set(Collective::Scatter, steps);
    let lost = round(Collective::Scatter, &[(8, 1024, 2, 1.3, Same), (8, 2048, 2, 0.5, Slower)]);
    assert!(repaired(&lost, &before, &[]).1.is_empty());
    // A suspicion at one size does not outweigh the others.
    let mixed = round(Collective::Scatter, &[(8, 1024, 2, 1.3, Same), (8, 2048, 2, 0.9, Same)]);
    assert_eq!(repaired(&mixed, &before, &[]).1, before);
    let suspected = round(Collective::Scatter, &[(8, 1024, 2, 0.9, Same), (8, 2048, 2, 0.95, Same)]);
    assert!(repaired(&suspected, &before, &[]).1.is_empty());
    // The mean carries a size that is undecided, if a loss is excluded.
    let carried = |speedup| {
        let open = round(Collective::Scatter, &[(8, 1024, 2, 1.3, Faster), (8, 2048, 2, speedup, Undecided)]);
        let found = repair_of(&open, &before, &[]);
        (found.ranges.is_empty(), found.carried.len())
    };
    assert_eq!(carried(1.01), (true, 1));
    assert_eq!(carried(0.93), (false, 0), "a rule for all sizes is confirmed at all, or goes");
}

// If a setting puts `coll/tuned` in place of another component, calls without a rule may lose by it too.
#[test]
fn a_component_gets_its_collective_back_where_calls_without_rules_lose() {
    use Outcome::{Faster, Slower};
    let before = one_size(8, 2048);
    let lost = round(Collective::Bcast, &[(8, 16, 0, 0.7, Slower), (8, 2048, 6, 1.3, Faster)]);
    assert_eq!(repaired(&lost, &before, &[]), (Vec::new(), before.clone()), "the rules have no part in it");
    assert!(repaired(&lost, &before, &[Collective::Bcast]).1.is_empty());
}

/// Messages up to 512 B without a rule, next to such that gain 1.3x, in jobs that take turns: launches of a cell differ by 7 %. A
/// lookup that costs 7 % costs the communicator its rules, one that costs 2 % or nothing does not.
#[test]
fn rules_go_if_their_lookups_slow_down_calls_without_one() {
    let side_by_side = Launches { cell: 0.07, ..QUIET };
    let before = table(Collective::Bcast, (2, None));
    let lost = |factor: f64, looked_up: bool| {
        let is_short = |cell: Cell| cell.bytes.0 <= 512;
        let known = |cell: Cell| {
            if is_short(cell) {
                CellFacts { in_use: Choice::BUILTIN, control: true, looked_up, ..six() }
            } else {
                six()
            }
        };
        let is_lost = |seed: &u64| {
            let speedup = |cell| if is_short(cell) { factor } else { 1.3 };
            let mut study = Study { most: 16, ..Study::new(*seed, side_by_side, speedup) };
            let mut round = study.compare(0.03, known);
            charge_lookups(&mut round.cells, 0.05, known);
            round.cells.retain(|cell| cell.cell.ranks == Ranks(8));
            let after = repaired(&round, &before, &[]).1;
            after.lookup(Collective::Bcast, 8, 2048).is_builtin()
        };
        (1..=40).filter(is_lost).count()
    };
    assert!(lost(0.93, true) >= 36, "{}", lost(0.93, true));
    assert!(lost(0.98, true) <= 2, "{}", lost(0.98, true));
    assert_eq!(lost(1.0, true), 0);
    assert_eq!(lost(0.93, false), 0, "there is no lookup");
}

/// Calls that fail under the file cost their communicator size all rules.
#[test]
fn calls_that_fail_under_the_file_are_reverted() {
    let failed = Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(2048) };
    let mut found = Study::new(1, QUIET, |_| 1.2).run();
    found.failed.push(FailedCell { cell: failed, with: true, why: "its calls end the job".to_owned() });
    let before = table(Collective::Bcast, (4, Some(9)));
    let (cells, after) = repaired(&found, &before, &[]);
    assert!(cells.contains(&failed), "{cells:?}");
    let in_use = |ranks, bytes| after.lookup(Collective::Bcast, ranks, bytes).algorithm;
    assert_eq!((in_use(8, 2048), in_use(8, 32 << 10), in_use(4, 2048)), (0, 0, 6));
}
