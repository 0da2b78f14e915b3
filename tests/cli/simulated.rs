//! The whole pipeline on a cost model, whose crossovers are known on paper.

use collrules_record::findings::{Crossover, Findings, Verdict};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Observations, analyze_under};

use crate::support::{collrules, findings, means};

fn crossover(findings: &Findings, below: Choice, above: Choice) -> Crossover {
    let found = findings.crossovers.iter().find(|crossover| {
        let at = (crossover.collective, crossover.ranks, crossover.below, crossover.above);
        at == (Collective::Bcast, Ranks(8), below, above)
    });
    found.unwrap_or_else(|| panic!("{below} to {above} is not among {:?}", findings.crossovers)).clone()
}

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
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 2,8 --refine 0 --out", &out).exits(0);
    let findings = findings(&out);

    let scatter_allgather = Choice::plain(8);
    let first = crossover(&findings, Choice::BUILTIN, scatter_allgather);
    assert_eq!(first.bracket, (Bytes(16 << 10), Bytes(32 << 10)));
    assert!((23_000..25_000).contains(&first.at.0), "{first:?}");
    let second = crossover(&findings, scatter_allgather, Choice::plain(3).with_segsize(64 << 10));
    assert!((620_000..700_000).contains(&second.at.0), "{second:?}");

    // The file says what the findings say, to every release.
    for release in Release::ALL.into_iter().filter(|release| *release != Release::V4_0) {
        assert_eq!(means(&out.join("rules.conf"), release), findings.table, "{release}");
    }
    let served = |ranks, bytes| findings.table.lookup(Collective::Bcast, ranks, bytes);
    assert_eq!(served(8, 1 << 19), scatter_allgather);
    for (ranks, bytes) in [(8, 8 << 10), (8, (1 << 20) + 1), (7, 1 << 19), (9, 1 << 19), (4, 1 << 19), (2, 1 << 19)] {
        assert_eq!(served(ranks, bytes), Choice::BUILTIN, "{ranks} ranks, {bytes} bytes");
    }
}

/// Linear takes 14a, recursive doubling and bruck both 3a: 4.67 times as fast. At 2 ranks linear takes 2a, and three
/// algorithms a.
#[test]
fn the_barrier_of_the_cost_model_is_improved() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let ran = collrules("tune --simulate --np 2,8 --ops barrier --out", &out).exits(0);
    ran.says("To switch it on");
    ran.says("accepts the rules file and serves all 2 measured cells of barrier by the intended rule");
    let findings = findings(&out);
    let served = |ranks| findings.table.lookup(Collective::Barrier, ranks, 0).algorithm;
    assert!([3, 4].contains(&served(8)), "{}", served(8));
    assert!([3, 4, 5].contains(&served(2)), "{}", served(2));
    assert_eq!((served(3), served(7), served(9)), (0, 0, 0));
    for cell in &findings.cells {
        let Verdict::Replace { gain, .. } = &cell.verdict else { panic!("{cell:?}") };
        let truth = if cell.cell.ranks == Ranks(8) { 14.0 / 3.0 } else { 2.0 };
        assert!((gain.point / truth - 1.0).abs() < 0.02, "{gain:?}");
    }
}

/// Binomial takes 3a + 7bm, linear 7a + 7bm: binomial is never slower, and it alone serves all sizes.
#[test]
fn scatter_has_one_algorithm_for_all_sizes() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 8 --ops scatter --out", &out).exits(0);
    let table = findings(&out).table;
    for bytes in [0, 1, 1 << 10, 1 << 24, u64::MAX] {
        assert_eq!(table.lookup(Collective::Scatter, 8, bytes), Choice::plain(2));
    }
}

#[test]
fn where_nothing_beats_the_builtin_there_are_no_rules() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let ran = collrules("tune --simulate=perfect --out", &out).exits(0);
    ran.says("Nothing beats the builtin");
    assert!(findings(&out).table.is_empty());
    for file in ["rules.conf", "mca-params.conf", "report.md", "manifest.json", "samples.csv"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    assert!(means(&out.join("rules.conf"), Release::V4_1).is_empty(), "a legal file without rules");
}

/// The threshold on the gain would hide a test that lets noise through, so that it is off here. At an error rate of
/// 5 % the number of campaigns among 20 that make any rule is binomial; 5 or more have a probability of 0.3 %.
#[test]
fn pure_noise_makes_no_more_rules_than_the_error_rate() {
    let scratch = tempfile::tempdir().unwrap();
    let with_rules = (1..=20).filter(|seed| {
        let out = scratch.path().join(format!("seed{seed}"));
        let arguments = format!(
            "tune --simulate=noise --np 4 --sizes 1:4K --min-gain 0 --refine 0 --no-validate --seed {seed} --out"
        );
        collrules(&arguments, &out).exits(0);
        !findings(&out).table.is_empty()
    });
    let count = with_rules.count();
    assert!(count < 5, "{count} of 20 campaigns made rules of noise");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |name: &str, seed: u32| {
        let out = scratch.path().join(name);
        collrules(&format!("tune --simulate --np 4 --sizes 1K:64K --seed {seed} --out"), &out).exits(0);
        std::fs::read_to_string(out.join("samples.csv")).unwrap()
    };
    let first = run("a", 1);
    assert_eq!(first, run("b", 1));
    assert_ne!(first, run("c", 2));
}

/// What was measured can be decided on again, with the same or other criteria, and what was concluded before stays.
#[test]
fn a_run_is_analysed_again() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 8 --out", &out).exits(0);
    let before = findings(&out);
    collrules("analyze", &out).exits(6).complains("already holds findings");
    let again = |options: &str, name: &str| {
        let target = scratch.path().join(name);
        let arguments = format!("analyze {} {options} --out", out.display());
        collrules(&arguments, &target).exits(0);
        findings(&target)
    };
    assert_eq!(again("", "same").table, before.table);
    assert!(again("--min-gain 100", "other").table.rules() < before.table.rules());
    assert_eq!(findings(&out), before);
}

/// Reference algorithms are timed and told of; rules are the same as if they had not been there.
#[test]
fn reference_algorithms_change_no_rule() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 4,6 --ops bcast,allreduce,scatter --refine 0 --keep-slow --reference --out", &out)
        .exits(0);
    let found = findings(&out);
    assert!(!found.table.is_empty());
    assert!(
        found.remarks.iter().any(|remark| remark.to_lowercase().contains("reference algorithm")),
        "{:?}",
        found.remarks
    );
    let samples = std::fs::read_to_string(out.join("samples.csv")).unwrap();
    let without: String = samples.split_inclusive('\n').filter(|line| !line.contains(",chan:")).collect();
    assert!(without.len() < samples.len());
    let observations = Observations::from_samples(&without).unwrap();
    let again = analyze_under(&observations, found.release, found.criteria, found.tree.policy, "the rest").unwrap();
    assert_eq!((again.table, again.cells), (found.table, found.cells));
}

/// On paper: bcast short gives way to long at `(p - 1) / (L - 2 (p - 1) / p)` times a / b = 10 000 B, which is 60 000 B on 4
/// ranks; on 6 ranks at 37 500 B. The played times are those of the formulas.
#[test]
fn played_reference_algorithms_cross_where_the_formulas_do() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules(
        "measure --simulate --np 4,6 --ops bcast --sizes 37000,38000,59400,60600 --only bcast:chan:short,bcast:chan:long \
         --keep-slow --launches 6 --out",
        &out,
    )
    .exits(0);
    let samples = std::fs::read_to_string(out.join("samples.csv")).unwrap();
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
