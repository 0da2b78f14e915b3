//! Studies on real Open MPI: patterns are timed beside cells, fitted, and blamed where they fail. `crates/lab/tests` has those in
//! simulation.

use std::fs;
use std::time::Duration;

use collrules_lab::study::results::Study;
use collrules_record::pattern::Shape;
use collrules_record::plan::Schedule;
use collrules_record::{Arguments, Bytes, Candidate, Cell, DataType, Layout, Ranks, Seconds};
use collrules_rules::{Choice, Collective};
use collrules_runner::Backend;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
use collrules_runner::wire::WorkerEvent;

use crate::support::{Ran, no_networks, under_each_release};

const DEFINITION: &str = "title = 'T'\nquestion = 'Q'\nnp = [3]\nvectors = '60,960,15360'\nlaunches = 2\nbudget = '14s'\n\
                          [algorithms]\nbcast = ['chan:short', 'chan:long']\nallgather = ['chan:long']\n\
                          allreduce = ['chan:short']\n";

/// All that a study of reference algorithms rests on is timed in its launches, on the ranks that it names, and nothing of
/// it is among the candidates.
#[test]
fn patterns_are_timed_beside_cells_and_give_bounds() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (definition, out) = (scratch.path().join("study.toml"), scratch.path().join("out"));
        fs::write(&definition, DEFINITION).unwrap();
        let mut command = mpi.collrules("lab study --oversubscribe --out", &out);
        Ran::from(command.arg(&definition).output().unwrap()).exits(0);
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        let of_patterns: Vec<&str> = samples.lines().filter(|line| line.contains(",pattern:")).collect();
        // Whole vectors, of which an allgather passes a third; the pattern's messages are as long as the vectors.
        let points = [
            "pingpong,2,0,ranks:0+1",
            "pingpong,2,15360,ranks:0+1",
            "rotation,3,60,ranks:0-2",
            "reduce-local,3,960,ranks:0-2",
        ];
        // On a busy machine the budget may end before the second launch comes to all.
        for point in points {
            assert!(of_patterns.iter().any(|line| line.contains(point)), "{point}: {of_patterns:#?}");
        }
        assert!(samples.contains("allgather,3,5120,chan:long"), "{samples}");
        for line in &of_patterns {
            let seconds: Vec<f64> = line.split(',').skip(7).take(3).map(|field| field.parse().unwrap()).collect();
            assert!(seconds.iter().all(|time| *time > 0.0 && *time < 1.0), "{line}");
        }
        let study: Study = serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
        let fitted: Vec<Shape> = study.patterns.iter().map(|fit| fit.shape).collect();
        for shape in [Shape::PingPong, Shape::Rotation, Shape::ReduceLocal] {
            assert!(fitted.contains(&shape), "{fitted:?}");
        }
        assert!(study.patterns.iter().all(|fit| fit.inside), "{:?}", study.patterns);
        assert_eq!(study.cells.len(), 9);
        assert!(study.cells.iter().all(|cell| cell.bound.is_some_and(|bound| bound.point > 0.0)));
        let times = fs::read_to_string(out.join("times.csv")).unwrap();
        assert!(!times.contains("pattern"), "{times}");
    });
}

/// Real calls with every rank as the root, and with each datatype: their data are right, and they have times.
#[test]
fn real_calls_with_other_roots_and_datatypes_are_right() {
    let rooted = [Collective::Bcast, Collective::Scatter, Collective::Gather, Collective::Reduce];
    let reduced = [Collective::Allreduce, Collective::Reduce, Collective::ReduceScatter];
    let usual = Arguments::default();
    let mut plans: Vec<(&[Collective], Arguments)> = Vec::new();
    plans.extend([1, 2].map(|root| (&rooted[..], Arguments { root, ..usual })));
    plans.extend([DataType::Float, DataType::Double].map(|data| (&reduced[..], Arguments { data, ..usual })));
    under_each_release(|mpi| {
        let wishes = LauncherOptions {
            mpirun: Some(mpi.mpirun.clone()),
            worker: Some(mpi.worker()),
            arguments: no_networks(),
            oversubscribe: true,
            patience: Duration::from_secs(60),
            ..LauncherOptions::default()
        };
        let mut backend = MpiBackend::new(Launcher::find(&wishes).unwrap(), Layout::Block);
        for (collectives, arguments) in &plans {
            let references = ["chan:short", "chan:long"].map(|name| name.parse::<Candidate>().unwrap());
            let cells = collectives.iter().flat_map(|collective| {
                let tuned = (1..=3).map(|id| Candidate::Tuned(Choice::plain(id)));
                let candidates: Vec<Candidate> =
                    std::iter::once(Candidate::Builtin).chain(tuned).chain(references).collect();
                [24, 2048].map(|bytes| {
                    let cell = Cell { collective: *collective, ranks: Ranks(3), bytes: Bytes(bytes) };
                    LaunchCell::new(cell, candidates.clone())
                })
            });
            let cells: Vec<LaunchCell> = cells.collect();
            let schedule = Schedule { max_rounds: 1, min_rounds: 1, budget: Some(Seconds(0.0)), ..Schedule::default() };
            let plan = LaunchPlan { arguments: *arguments, ..LaunchPlan::new(cells, schedule, 1) };
            let mut timed = 0;
            let mut see = |event| {
                match event {
                    WorkerEvent::Disqualified { cell, candidate, why } => {
                        panic!("{arguments:?}: {} in {}: {why}", plan.turn(cell, candidate), plan.subject(cell))
                    }
                    WorkerEvent::Visited { candidates, .. } => timed += candidates.len(),
                    _ => {}
                }
                Ok(())
            };
            backend.measure(&plan, &mut see).unwrap();
            assert_eq!(timed, 2 * 6 * collectives.len(), "{arguments:?}");
        }
    });
}
