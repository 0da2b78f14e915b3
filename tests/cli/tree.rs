//! The rules as a tree, how many there are, and what is measured to place them.

use std::fs;

use collrules_record::Bytes;
use collrules_record::findings::Findings;
use collrules_record::tree::Leaf;
use collrules_report::remarks::remarks;
use collrules_rules::Collective;
use collrules_rules::registry::{self, MixedTypes};

use crate::session::{Session, assert_said};
use crate::support::{bounded, collrules, data, findings};

fn leaves(findings: &Findings) -> impl Iterator<Item = (Collective, &Leaf)> {
    let branches = findings.tree.collectives.iter();
    branches.flat_map(|branch| {
        branch.ranges.iter().flat_map(|range| &range.leaves).map(move |leaf| (branch.collective, leaf))
    })
}

/// With latency 10 µs and byte time 1 ns on 8 ranks, the builtin and scatter_allgather are equal at 24000 bytes (see
/// `simulated.rs`): refinement measures between 16 KiB and 32 KiB until the gap is narrow or not worth the time.
#[test]
fn crossovers_are_refined_between_the_sizes_of_the_grid() {
    let scratch = tempfile::tempdir().unwrap();
    let (coarse, fine) = (scratch.path().join("coarse"), scratch.path().join("fine"));
    collrules("tune --simulate --np 8 --ops bcast --refine 0 --no-validate --out", &coarse).exits(0);
    collrules("tune --simulate --np 8 --ops bcast --no-validate --out", &fine).exits(0);
    let first = |findings: &Findings| findings.crossovers.iter().find(|it| it.below.is_builtin()).unwrap().clone();
    assert_eq!(first(&findings(&coarse)).bracket, (Bytes(16 << 10), Bytes(32 << 10)));
    let refined = first(&findings(&fine));
    let (low, high) = refined.bracket;
    assert!(low.0 > 16 << 10 || high.0 < 32 << 10, "{refined:?}");
    assert!((23_000..25_000).contains(&refined.at.0), "{refined:?}");
    let (from, to) = refined.interval.unwrap();
    assert!(from <= refined.at && refined.at <= to && from.0 <= 24_300 && to.0 >= 23_700, "{refined:?}");

    // What was added has launches of its own, and nothing takes it for a launch that was cut short.
    assert!(!coarse.join("refinement-1.json").exists());
    let added: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(fine.join("refinement-1.json")).unwrap()).unwrap();
    assert!(added["cells"].as_array().is_some_and(|cells| !cells.is_empty()));
    let samples = fs::read_to_string(fine.join("samples.csv")).unwrap();
    let launches: std::collections::BTreeSet<u32> =
        samples.lines().skip(2).filter_map(|line| line.split(',').next()?.parse().ok()).collect();
    assert!(launches.contains(&3) && launches.len().is_multiple_of(3), "{launches:?}");
    assert!(
        !remarks(&findings(&fine)).iter().any(|remark| remark.contains("in fewer launches than others")),
        "{:?}",
        findings(&fine).remarks
    );
}

#[test]
fn the_report_shows_the_tree_with_its_evidence() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --ops bcast,scatter,barrier --np 2,8 --out", &out).exits(0);
    let text = fs::read_to_string(out.join("report.md")).unwrap();
    let findings = findings(&out);
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut ruled = 0;
    for (collective, leaf) in leaves(&findings) {
        let Some(evidence) = &leaf.evidence else {
            assert!(leaf.choice.is_builtin(), "{collective}: {leaf:?} rests on nothing");
            continue;
        };
        let name = registry::describe(findings.release, collective, leaf.choice);
        assert!(told.contains(&name), "{leaf:?}");
        assert!(evidence.samples > 0);
        if !leaf.choice.is_builtin() {
            ruled += 1;
            let (low, high) = evidence.gain.interval.unwrap();
            assert!(low <= evidence.gain.mean && evidence.gain.mean <= high && evidence.q_value.is_some());
        }
    }
    assert_eq!(ruled, findings.table.rules());
}

#[test]
fn what_sharing_a_rule_may_cost_and_how_safe_rules_are_are_options() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |name: &str, options: &str| {
        let out = scratch.path().join(name);
        let mut command = bounded();
        command.arg("analyze").arg(data("epyc-two-nodes-osu.csv")).args(options.split_whitespace());
        let ran: crate::support::Ran = command.arg("--out").arg(&out).output().unwrap().into();
        ran.exits(0);
        findings(&out)
    };
    let all = run("all", "");
    assert!(all.table.rules() > 3 && all.tree.worst_regret <= 0.03 + 1e-12, "{:?}", all.tree.worst_regret);
    let exact = run("exact", "--max-regret 0");
    assert!(exact.tree.regret.abs() < 1e-12 && exact.table.rules() >= all.table.rules());
    let lower = run("lower", "--between lower");
    assert!(lower.table.rules() <= all.table.rules(), "neighbours may share rules");

    let strict = run("strict", "--safety strict");
    for (collective, leaf) in leaves(&strict).filter(|(_, leaf)| !leaf.choice.is_builtin()) {
        let algorithm = registry::algorithm(strict.release, collective, leaf.choice.algorithm).unwrap();
        assert_ne!(algorithm.mixed_types, MixedTypes::Fail, "{collective} {}", leaf.choice);
    }
    let free = run("free", "--assume consistent-arguments");
    assert!(free.tree.gain >= all.tree.gain && free.table.rules() >= all.table.rules());
    let said = all.tree.alternatives.iter().find(|other| other.assumption.name() == "consistent-arguments");
    if let Some(said) = said {
        assert_eq!((said.rules, said.gain), (free.tree.rules, free.tree.gain), "as it was said");
    } else {
        assert_eq!(free.table, all.table);
    }
}

#[test]
fn options_with_unknown_values_are_refused() {
    let session = Session::new();
    session.copy(&data("epyc-two-nodes-osu.csv"), "epyc.csv");
    for options in ["--between upper", "--assume nothing"] {
        session.run(&format!("analyze epyc.csv --out x {options}")).exits(2);
    }
    assert_said!(session);
}
