//! Tests of grids on simulated clusters, whose survey lists every algorithm of a release.

use collrules_record::plan::PatternPlan;
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Nodes, Pattern};

use super::*;
use crate::Backend;
use crate::simulate::{Scenario, Simulation};

fn grid(collectives: &[Collective]) -> Grid {
    Grid { collectives: collectives.to_vec(), ranks: vec![Ranks(2), Ranks(3), Ranks(4)].into(), ..Grid::default() }
}

fn of_bcast(name: &str) -> (Collective, CandidateName) {
    (Collective::Bcast, CandidateName::read(name))
}

fn survey(release: Release) -> Survey {
    Simulation::new(Scenario::Stale, release, 4).survey().expect("a simulation")
}

fn plan(grid: &Grid, release: Release) -> Plan {
    planned(grid, Layout::Block, &survey(release)).expect("a plan")
}

fn planned(grid: &Grid, layout: Layout, survey: &Survey) -> Result<Plan, RunnerError> {
    Planner { grid, layout, oversubscribe: true, survey }.plan(3, Schedule::default(), 1)
}

/// A named algorithm runs as when Open MPI is forced to use it: a chain with its fan-out of 4. On 2 ranks all send the
/// same message, and scatter keeps all algorithms.
#[test]
fn algorithms_can_be_chosen() {
    let only = ["basic_linear", "chain", "6"].map(of_bcast).to_vec();
    let both = [Collective::Bcast, Collective::Scatter];
    let restricted = Grid { only, ..grid(&both) };
    let restricted = plan(&restricted, Release::V4_1);
    let chosen = [Choice::plain(1), Choice::plain(2).with_faninout(4), Choice::plain(6)];
    for planned in &restricted.cells {
        let all = planned.candidates.iter().chain(planned.shared.iter().map(|shared| &shared.candidate));
        let tuned: BTreeSet<Choice> =
            all.filter(|it| **it != Candidate::Builtin).filter_map(|it| it.choice()).collect();
        match planned.cell.collective {
            Collective::Bcast => assert_eq!(tuned, BTreeSet::from(chosen), "{}", planned.cell),
            _ => assert!(tuned.len() >= 3, "{}", planned.cell),
        }
        assert_eq!(planned.candidates[0], Candidate::Builtin);
    }
    let unknown = Grid { only: vec![of_bcast("tree")], ..grid(&both) };
    let error = planned(&unknown, Layout::Block, &survey(Release::V4_1)).expect_err("no such algorithm");
    assert!(error.to_string().contains("has no bcast algorithm `tree`"), "{error}");
}

/// Every algorithm of the release is measured somewhere, or shared everywhere it is admitted.
#[test]
fn no_algorithm_is_forgotten() {
    for release in Release::ALL {
        let plan = plan(&grid(&Collective::ALL), release);
        for collective in Collective::ALL {
            for algorithm in registry::algorithms(release, collective) {
                for planned in plan.cells.iter().filter(|planned| planned.cell.collective == collective) {
                    let mut all =
                        planned.candidates.iter().chain(planned.shared.iter().map(|shared| &shared.candidate));
                    let planned_at_all =
                        all.any(|candidate| candidate.choice().is_some_and(|choice| choice.algorithm == algorithm.id));
                    let admitted = algorithm.admits(planned.cell.ranks);
                    assert_eq!(planned_at_all, admitted, "{release} {} {}", planned.cell, algorithm.name);
                }
            }
        }
    }
}

/// Shared choices refer to a measured one of the same cell, and no choice is both.
#[test]
fn what_is_shared_is_measured() {
    for release in Release::ALL {
        for planned in plan(&grid(&Collective::ALL), release).cells {
            assert_eq!(planned.candidates[0], Candidate::Builtin);
            let mut seen = BTreeSet::new();
            assert!(planned.candidates.iter().all(|candidate| seen.insert(*candidate)), "{planned:?}");
            for shared in &planned.shared {
                assert!(planned.candidates.contains(&shared.measured_as), "{shared:?}");
                assert!(seen.insert(shared.candidate), "{shared:?}");
            }
        }
    }
}

/// Every planned candidate can be written to a rules file of that release without breaking programs of that size.
#[test]
fn candidates_never_fail_or_hang() {
    use collrules_rules::call::Call;
    use collrules_rules::effective::{EffectiveAlgorithm, effective};
    for release in Release::ALL {
        for planned in plan(&grid(&Collective::ALL), release).cells {
            let cell = planned.cell;
            for candidate in &planned.candidates[1..] {
                let call = Call::new(cell.collective, cell.ranks, cell.bytes);
                let algorithm =
                    effective(release, cell.collective, candidate.choice().expect("is a choice"), &call).algorithm;
                assert!(matches!(algorithm, EffectiveAlgorithm::Algorithm(_)), "{cell} {candidate}: {algorithm:?}");
            }
        }
    }
}

#[test]
fn bounds_on_requests_are_tried_where_a_file_can_say_them() {
    let bounded = |release| {
        let plan = plan(&grid(&[Collective::Alltoall, Collective::Reduce]), release);
        let candidates = plan.cells.into_iter().flat_map(|planned| planned.candidates);
        candidates.filter(|candidate| candidate.choice().is_some_and(|choice| choice.max_requests > 0)).count()
    };
    assert_eq!(bounded(Release::V4_0), 0);
    assert!(bounded(Release::V6_0) > 0);
}

#[test]
fn times_jump_where_the_default_changes_and_beyond_eager_limits() {
    let sizes = [1, 4, 8, 1024, 4096, 8192, 16384].map(Bytes);
    let grid = |collective| Grid { ranks: vec![Ranks(2)].into(), sizes: sizes.into(), ..grid(&[collective]) };
    let mut survey = survey(Release::V5_0);
    let mut jumps = |collective| -> Vec<u64> {
        survey.eager = [("sm".to_owned(), Bytes(4096))].into();
        let plan = planned(&grid(collective), Layout::Block, &survey).expect("a plan");
        plan.cells.iter().filter(|planned| planned.is_jump).map(|planned| planned.cell.bytes.0).collect()
    };
    // Recursive doubling below 8 B, ring from 4096 B on, and so on.
    assert_eq!(jumps(Collective::Allreduce), [8, 4096, 8192, 16384]);
    assert_eq!(jumps(Collective::Bcast), [8192], "its decision is not known");
}

#[test]
fn what_cannot_be_switched_gets_launches_of_its_own() {
    let both = [Collective::Allgatherv, Collective::Bcast];
    let automatic = plan(&grid(&both), Release::V5_0).separate;
    assert_eq!(automatic, Separate { collectives: BTreeSet::from([Collective::Allgatherv]), series: SERIES });
    let wanted = plan(&Grid { launch_per_candidate: true, ..grid(&both) }, Release::V5_0).separate;
    assert_eq!(wanted, Separate { collectives: BTreeSet::from(both), series: 3 });
    assert!(plan(&grid(&[Collective::Bcast]), Release::V5_0).separate.is_empty());
}

#[test]
fn what_is_left_out_is_named() {
    let plan = plan(&grid(&[Collective::Allreduce]), Release::V5_0);
    let sizes: BTreeSet<u64> = plan.skipped.iter().map(|skipped| skipped.cell.bytes.0).collect();
    assert_eq!(sizes, BTreeSet::from([1, 2]));
    let nothing = Grid { sizes: vec![Bytes(2)], ..grid(&[Collective::Allreduce]) };
    let error = planned(&nothing, Layout::Block, &survey(Release::V5_0)).expect_err("nothing is left");
    assert!(error.to_string().contains("no multiple of 4 B"), "{error}");
}

/// Reference algorithms are measured on request, or by name; if both send the same, one is measured.
#[test]
fn reference_algorithms_are_measured_on_request() {
    let both = [Collective::Bcast, Collective::Scatter, Collective::Alltoall];
    let chan = |planned: &CellPlan| {
        let measured = planned.candidates.iter().filter(|it| it.to_string().starts_with("chan:")).count();
        let shared = planned.shared.iter().filter(|it| it.candidate.to_string().starts_with("chan:")).count();
        (measured, shared)
    };
    assert!(plan(&grid(&both), Release::V5_0).cells.iter().all(|planned| chan(planned) == (0, 0)));
    for planned in plan(&Grid { reference: true, ..grid(&both) }, Release::V5_0).cells {
        let expected = match (planned.cell.collective, planned.cell.ranks.0) {
            (Collective::Alltoall, _) => (0, 0),
            (Collective::Scatter, 2) => (1, 1),
            // The only byte goes the same way.
            (Collective::Bcast, 2) if planned.cell.bytes == Bytes(1) => chan(&planned),
            _ => (2, 0),
        };
        assert_eq!(chan(&planned), expected, "{}", planned.cell);
    }
    let none = Grid { reference: true, ..grid(&both[2..]) };
    let error = planned(&none, Layout::Block, &survey(Release::V5_0)).expect_err("alltoall has none");
    assert!(error.to_string().contains("none of these collectives has; bcast, reduce"), "{error}");
    let named = plan(&Grid { only: vec![of_bcast("chan:long")], ..grid(&both[..1]) }, Release::V5_0);
    let candidates: BTreeSet<String> =
        named.cells.iter().flat_map(|planned| planned.candidates.iter().map(ToString::to_string)).collect();
    assert_eq!(candidates, BTreeSet::from(["builtin", "chan:long"].map(str::to_owned)));
}

#[test]
fn patterns_are_planned_inside_a_host_and_between_hosts() {
    let both = Grid {
        ranks: vec![Ranks(2), Ranks(4)].into(),
        sizes: vec![Bytes(2), Bytes(64)],
        patterns: true,
        ..grid(&[Collective::Bcast])
    };
    let hosts = ["a", "a", "b", "b"].map(str::to_owned).to_vec();
    let of = |grid: &Grid, layout: Layout| {
        let survey = Survey { hosts: hosts.clone(), ..survey(Release::V5_0) };
        let plan = planned(grid, layout, &survey).expect("a plan");
        let told = |planned: &PatternPlan| {
            let Pattern { shape, ranks, bytes } = planned.pattern;
            let casts: Vec<String> = planned.casts.iter().map(ToString::to_string).collect();
            format!("{shape} {ranks} {} {}", bytes.0, casts.join(","))
        };
        plan.patterns.iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(
        of(&both, Layout::Block),
        [
            "pingpong 2 0 0+1,0+2",
            "pingpong 2 2 0+1,0+2",
            "pingpong 2 64 0+1,0+2",
            "rotation 2 2 0+1",
            "rotation 4 2 0-3",
            "rotation 2 64 0+1",
            "rotation 4 64 0-3",
            "reduce-local 4 64 0-3",
        ]
    );
    let two = Grid { ranks: vec![Ranks(2)].into(), ..both.clone() };
    assert!(of(&two, Layout::OnePerNode).contains(&"pingpong 2 64 0+1".to_owned()));
    assert!(of(&both, Layout::Spread).contains(&"pingpong 2 64 0+2,0+1".to_owned()));
    assert_eq!(of(&Grid { patterns: false, ..both }, Layout::Block), [""; 0]);
}

/// Two hosts of two slots; programs spend 6 s on pairs with one rank of each host, 3 s on two ranks of one host, 1 s on
/// more ranks than exist.
#[test]
fn the_layout_of_programs_is_the_one_with_the_most_time() {
    let mut survey = survey(Release::V4_1);
    survey.hosts = ["a", "a", "b", "b"].map(str::to_owned).to_vec();
    let weight = |ranks: u32, bytes: u64, nodes: &[u32], time: f64| Weight {
        cell: Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) },
        nodes: Nodes(nodes.to_vec()),
        time: Seconds(time),
    };
    let across = [weight(2, 1024, &[1, 1], 4.0), weight(2, 4096, &[1, 1], 2.0)];
    let others = [weight(2, 64, &[2], 3.0), weight(8, 64, &[4, 4], 0.6), weight(8, 128, &[4, 4], 0.4)];
    let wanted = Grid { weights: [&across[..], &others].concat(), ranks: Vec::new().into(), ..grid(&[]) };
    let planner = |grid, layout| Planner { grid, layout, oversubscribe: false, survey: &survey };
    assert_eq!(planner(&wanted, Layout::Block).layout_of_programs(), Layout::OnePerNode);
    let plan = planned(&wanted, Layout::OnePerNode, &survey).expect("a plan");
    let cells: Vec<u64> = plan.cells.iter().map(|planned| planned.cell.bytes.0).collect();
    assert_eq!(cells, [1024, 4096]);
    let mut why: Vec<String> = plan.skipped.iter().map(|skipped| skipped.why.to_string()).collect();
    why.sort_unstable();
    let slots = "there are 2 slots; 10.0 % of the programs' time in collectives";
    assert_eq!(why[1..], [slots, slots]);
    let there = "30.0 % of the programs' time in collectives; --layout block measures that";
    assert!(why[0].ends_with(there), "{}", why[0]);
    // Nothing is known of where they lie: the layout that was asked for stays.
    let unknown = Grid { weights: vec![weight(2, 64, &[], 1.0)], ..wanted.clone() };
    assert_eq!(planner(&unknown, Layout::OnePerNode).layout_of_programs(), Layout::OnePerNode);
}
