//! Patterns on real Open MPI: timed beside the cells of a study, fitted, and blamed where they fail.

use std::fs;

use collrules_lab::study::results::Study;
use collrules_record::pattern::Shape;

use crate::support::{Ran, under_each_release};

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
        let mut command = mpi.collrules("study --oversubscribe --out", &out);
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
