//! Decisions on a cost model, whose crossovers are known on paper.

use collrules_record::condition::{Arrival, BufferUse, Condition, Root};
use collrules_record::findings::{Conduct, Crossover, TrialOutcome, Verdict};
use collrules_record::options::Request;
use collrules_record::proof::ProofFact;
use collrules_record::remark::Remark;
use collrules_record::validation::Check;
use collrules_record::{Bytes, Ranks, Validation, rundir};
use collrules_rules::bits::{self, Effect, Keep};
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Observations, analyze};
use collrules_workflow::campaign::{Begin, measure};
use collrules_workflow::publish::Published;

use crate::stage::{TuningFixture, means, tuning};

/// With latency a = 10 µs and byte time b = 1 ns, 8 ranks:
///
/// * the builtin is binomial, 3(a + bm); scatter_allgather takes 6a + 1.75bm: equal at 1.25bm = 3a, m = 24000;
/// * pipeline in s = 64 KiB segments takes (m/s + 6)(a + bs): equal to scatter_allgather where
///   m (1.75b - (a + bs)/s) = 6(a + bs) - 6a, which is m = 6bs / (0.75b - a/s) = 6 s / (0.75 - 10000/65536), about
///   658 000.
///
/// Times have 2 % of noise of their own; over 48 rounds and more a median is good to about half a per cent.
#[test]
fn crossovers_of_the_cost_model_are_recovered() {
    let (stage, Published { findings, .. }) = TuningFixture::tuned(
        "--simulate --np 2,8 --sizes 8K,16K,32K,512K,1M --segments 8K,64K --refine 0 --no-validate",
    );
    let crossover = |below, above| -> &Crossover {
        let wanted = (Collective::Bcast, Ranks(8), below, above);
        let is_wanted = |it: &&Crossover| (it.collective, it.ranks, it.below, it.above) == wanted;
        findings.crossovers.iter().find(is_wanted).unwrap_or_else(|| panic!("{:?}", findings.crossovers))
    };
    let scatter_allgather = Choice::plain(8);
    let first = crossover(Choice::BUILTIN, scatter_allgather);
    assert_eq!(first.bracket, (Bytes(16 << 10), Bytes(32 << 10)));
    assert!((23_000..25_000).contains(&first.at.0), "{first:?}");
    let second = crossover(scatter_allgather, Choice::plain(3).with_segsize(64 << 10));
    assert!((620_000..700_000).contains(&second.at.0), "{second:?}");

    // The file says what the findings say, to every release.
    for release in Release::ALL.into_iter().filter(|release| *release != Release::V4_0) {
        assert_eq!(means(&stage.path().join(rundir::RULES), release), findings.table, "{release}");
    }
    let in_use = |ranks, bytes| findings.table.lookup(Collective::Bcast, ranks, bytes);
    assert_eq!(in_use(8, 1 << 19), scatter_allgather);
    for (ranks, bytes) in [(8, 8 << 10), (8, (1 << 20) + 1), (7, 1 << 19), (9, 1 << 19), (4, 1 << 19), (2, 1 << 19)] {
        assert_eq!(in_use(ranks, bytes), Choice::BUILTIN, "{ranks} ranks, {bytes} bytes");
    }
}

/// Linear takes 14a, recursive doubling and bruck both 3a: 4.67 times as fast. At 2 ranks linear takes 2a, and three
/// algorithms a.
#[test]
fn the_barrier_of_the_cost_model_is_improved() {
    let (_stage, Published { findings, proof, .. }) = TuningFixture::tuned("--simulate --np 2,8 --ops barrier");
    assert!(proof.iter().any(|fact| matches!(fact, ProofFact::Rules { cells: 2, .. })), "{proof:?}");
    let in_use = |ranks| findings.table.lookup(Collective::Barrier, ranks, 0).algorithm;
    assert!([3, 4].contains(&in_use(8)), "{}", in_use(8));
    assert!([3, 4, 5].contains(&in_use(2)), "{}", in_use(2));
    assert_eq!((in_use(3), in_use(7), in_use(9)), (0, 0, 0));
    for cell in &findings.cells {
        let Verdict::Replace { gain, .. } = &cell.verdict else { panic!("{cell:?}") };
        let truth = if cell.cell.ranks == Ranks(8) { 14.0 / 3.0 } else { 2.0 };
        assert!((gain.point / truth - 1.0).abs() < 0.02, "{gain:?}");
    }
}

/// Binomial takes 3a + 7bm, linear 7a + 7bm: binomial is never slower, and it alone is used for all sizes.
#[test]
fn scatter_has_one_algorithm_for_all_sizes() {
    let (_stage, published) = TuningFixture::tuned("--simulate --ops scatter");
    for bytes in [0, 1, 1 << 10, 1 << 24, u64::MAX] {
        assert_eq!(published.findings.table.lookup(Collective::Scatter, 8, bytes), Choice::plain(2));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let samples = |seed| {
        let words = format!("--simulate --ops bcast,scatter,barrier --np 4 --sizes 1K,64K --seed {seed}");
        TuningFixture::tuned(&words).0.read(rundir::SAMPLES)
    };
    let first = samples(1);
    assert_eq!(first, samples(1));
    assert_ne!(first, samples(2));
}

/// The samples of a run can be decided on again, with the same or other criteria, and earlier findings stay.
#[test]
fn a_run_is_analysed_again() {
    let (mut stage, published) = TuningFixture::tuned("--simulate --ops bcast,scatter,barrier");
    let (table, before) = (published.findings.table, stage.read(rundir::FINDINGS));
    assert_eq!(stage.analyze(Some("same"), "").findings.table, table);
    assert!(stage.analyze(Some("other"), "--min-gain 100").findings.table.rules() < table.rules());
    assert!(stage.read(rundir::FINDINGS) == before);
}

/// Reference algorithms are timed and told of; rules are the same as if they had not been there.
#[test]
fn reference_algorithms_change_no_rule() {
    // What fresh launches take back is not in the samples.
    let (stage, Published { findings: found, .. }) = TuningFixture::tuned(
        "--simulate --np 4,6 --ops bcast,allreduce,scatter --refine 0 --keep-slow --reference --no-validate",
    );
    assert!(!found.table.is_empty());
    let tells = |remark: &Remark| matches!(remark, Remark::NoReferenceFaster | Remark::ReferenceFaster { .. });
    assert!(found.remarks.iter().any(tells), "{:?}", found.remarks);
    let samples = stage.read(rundir::SAMPLES);
    let without: String = samples.split_inclusive('\n').filter(|line| !line.contains(",chan:")).collect();
    assert!(without.len() < samples.len());
    let observations = Observations::from_samples(&without).unwrap();
    let again = analyze(&observations, found.release, found.criteria, found.tree.policy, "the rest").unwrap();
    assert_eq!((again.table, again.cells), (found.table, found.cells));
}

/// On paper: bcast long becomes faster than short at `(p - 1) / (L - 2 (p - 1) / p)` times a / b = 10 000 B, which is
/// 60 000 B on 4 ranks; on 6 ranks at 37 500 B. The played times are those of the formulas.
#[test]
fn played_reference_algorithms_cross_where_the_formulas_do() {
    let mut stage = TuningFixture::new();
    let only = "--only bcast:chan:short,bcast:chan:long --keep-slow --launches 6";
    let options = tuning(&format!("--simulate --np 4,6 --sizes 37000,38000,59400,60600 {only}"));
    let begin = Begin::tuning(options, stage.path());
    stage.play(|session| measure(&begin, session).map(drop)).unwrap();
    let samples = stage.read(rundir::SAMPLES);
    let median = |ranks: &str, bytes: &str, candidate: &str| {
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            let wanted = fields.get(4..7) == Some(&[ranks, bytes, candidate]);
            wanted.then(|| fields[7].parse::<f64>().ok()).flatten()
        };
        let mut seconds: Vec<f64> = samples.lines().filter_map(row).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    // Medians are good to half a per cent, and next to the crossing the two differ by less.
    for (ranks, bytes, short, long) in [
        ("4", "60600", 2.0 * 70.6e-6, 5.0 * 10e-6 + 1.5 * 60.6e-6),
        ("6", "37000", 3.0 * 47e-6, 8.0 * 10e-6 + 10.0 / 6.0 * 37e-6),
    ] {
        for (candidate, expected) in [("chan:short", short), ("chan:long", long)] {
            let found = median(ranks, bytes, candidate);
            assert!((found / expected - 1.0).abs() < 0.02, "{candidate} on {ranks}: {found}, not {expected}");
        }
    }
}

/// Rules from the same timings keep each kind of bits that they have to keep.
#[test]
fn rules_keep_the_bits_that_they_have_to_keep() {
    let (mut stage, tuned) = TuningFixture::tuned(
        "--simulate=deceptive --np 5,8 --ops allreduce,reduce,reduce_scatter,scan --sizes 16,4K,256K --refine 0 \
         --no-validate",
    );
    let bits = |conduct: &[Conduct]| conduct.iter().map(|rule| rule.bits).collect::<Vec<_>>();
    assert!(bits(&tuned.findings.conduct).contains(&Effect::Other), "{:?}", tuned.findings.conduct);
    let mut keeping = |keep: Keep| {
        let found = stage.analyze(Some(&keep.to_string()), &format!("--keep-bits {keep}")).findings;
        for cell in found.cells.iter().filter(|cell| !cell.in_use.is_builtin()) {
            let bytes = if keep == Keep::Default { cell.cell.bytes.0 } else { 0 };
            let sizes = bytes..=if keep == Keep::Default { bytes } else { u64::MAX };
            let kept = bits::keeps(keep, found.release, cell.cell.collective, cell.in_use, cell.cell.ranks, &sizes);
            assert!(kept, "{keep}: {} with {}", cell.cell, cell.in_use);
        }
        bits(&found.conduct)
    };
    let same = keeping(Keep::Default);
    assert_eq!(same, vec![Effect::Same; same.len()]);
    assert!(!keeping(Keep::Ranks).contains(&Effect::Unknown));
    keeping(Keep::Sizes);
}

/// Tunes bcast; returns the algorithms of the rules as well.
fn tune_bcast(words: &str) -> (Vec<u32>, TuningFixture, Published) {
    let (stage, published) = TuningFixture::tuned(&format!("--sizes 64K:1M --segments 64K --refine 0 {words}"));
    let choices = published.findings.table.choices();
    (choices.map(|(.., choice)| choice.algorithm).filter(|id| *id != 0).collect(), stage, published)
}

/// The comparison under a condition.
fn check(validation: Option<&Validation>, condition: Condition) -> &Check {
    validation.unwrap().checks.iter().find(|check| check.condition == condition).unwrap()
}

const REUSED: Condition = Condition { buffers: BufferUse::Reuse, ..Condition::OF_PROGRAMS };
const ROOTED: Condition = Condition { root: Root::Last, ..Condition::OF_PROGRAMS };
const LATE: Condition = Condition { arrival: Arrival::Random, ..Condition::OF_PROGRAMS };

/// scatter_allgather of bcast is the fastest in the calls that decide, and loses in others: from the last rank, with other
/// buffers if the same ones decided, or if a rank is late. Its rules go; pipeline's stay.
#[test]
fn rules_that_lose_in_calls_of_programs_are_removed() {
    for (words, condition) in [
        ("--simulate=rooted", ROOTED),
        ("--simulate=rotated --buffers reuse", Condition::OF_PROGRAMS),
        ("--simulate=late", LATE),
    ] {
        let (before, mut given, _) = tune_bcast(&format!("{words} --no-validate"));
        assert!(before.contains(&8), "{words}: {before:?}");
        let (chosen, _stage, published) = tune_bcast(words);
        assert!(!chosen.contains(&8) && chosen.contains(&3), "{words}: {chosen:?}");
        assert!(!check(published.validation.as_ref(), condition).round.repaired.is_empty(), "{words}");
        // Without repairs the loss is said.
        let validated = given.validate("--budget none").unwrap();
        assert!(validated.loses() && check(validated.validation.as_ref(), condition).losses().count() > 0, "{words}");
    }
    let (stale, stage, published) = tune_bcast("--simulate=stale");
    assert!(stale.contains(&8), "the same machine keeps it if all calls are alike: {stale:?}");
    let findings = stage.run().findings().unwrap();
    let rule = findings.conduct.iter().find(|rule| rule.by.to_string() == "tuned:8/0/0/0").unwrap();
    assert!(rule.trials.len() == 3 && rule.trials.iter().all(|it| it.outcome == TrialOutcome::Holds), "{rule:?}");
    let (comments, rules) = (published.comments(), stage.read(rundir::RULES));
    assert!(!comments.is_empty() && comments.iter().all(|comment| rules.contains(comment)), "{rules}");
    for condition in [REUSED, ROOTED, LATE] {
        let check = check(published.validation.as_ref(), condition);
        assert!(check.losses().chain(check.unexcluded()).count() + check.round.repaired.len() == 0, "{check:?}");
    }
    // A loss that the user allows removes nothing.
    let (chosen, _stage, published) = tune_bcast("--simulate=rooted --max-loss 500");
    assert!(chosen.contains(&8), "{chosen:?}");
    let check = check(published.validation.as_ref(), ROOTED);
    assert!(check.max_loss == 5.0 && check.round.repaired.is_empty(), "{check:?}");
}

/// Calls that the user wants timed otherwise decide on the rules; other calls are then among the others.
#[test]
fn rules_can_be_decided_in_calls_of_programs() {
    for words in
        ["--simulate=rooted --root last", "--simulate=rotated --buffers rotate", "--simulate=late --arrival last"]
    {
        let (chosen, stage, published) = tune_bcast(words);
        assert!(!chosen.contains(&8) && chosen.contains(&3), "{words}: {chosen:?}");
        let condition = tuning(words).condition;
        let reused = Condition { buffers: BufferUse::Reuse, ..condition };
        assert_eq!(check(published.validation.as_ref(), reused).losses().count(), 0);
        let manifest = stage.run().manifest().unwrap();
        assert_eq!(manifest.plan.schedule.condition, condition);
        let Request::Tune(request) = manifest.request else { panic!("{words}") };
        assert_eq!(request.condition, condition);
    }
}

/// Rules for allreduce that lose in place are removed, and nothing else is compared in place.
#[test]
fn rules_that_lose_in_place_are_removed() {
    let tune = |validate: &str| {
        let words = "--simulate=rotated --ops allreduce,bcast --sizes 4K,64K --refine 0";
        let published = TuningFixture::tuned(&format!("{words} {validate}")).1;
        let rules = published.findings.table.choices();
        let rules = rules.filter(|(of, .., choice)| *of == Collective::Allreduce && !choice.is_builtin()).count();
        (rules, published)
    };
    assert!(tune("--no-validate").0 > 0);
    let (left, Published { findings, validation, .. }) = tune("");
    assert_eq!(left, 0);
    let of_allreduce = findings.tree.collectives.iter().filter(|branch| branch.collective == Collective::Allreduce);
    let leaves: Vec<_> = of_allreduce.flat_map(|branch| &branch.ranges).flat_map(|range| &range.leaves).collect();
    assert!(!leaves.is_empty() && leaves.iter().all(|leaf| leaf.choice.is_builtin()), "{leaves:?}");
    let in_place = Condition { buffers: BufferUse::InPlace, ..Condition::OF_PROGRAMS };
    let round = &check(validation.as_ref(), in_place).round;
    assert!(round.cells.iter().all(|cell| cell.cell.collective == Collective::Allreduce), "{round:?}");
    assert!(!round.repaired.is_empty(), "{round:?}");
}
