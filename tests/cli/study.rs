//! Studies on the simulated cluster, whose times are known on paper, and those that come with the sources.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::study::{Outcome, Study};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Collective};

use crate::support::{Ran, bounded};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studies").join(name)
}

fn study(definition: &Path, options: &str, out: &Path) -> Ran {
    let mut command = bounded();
    command.arg("study").arg(definition).args(options.split_whitespace()).arg("--out").arg(out);
    command.output().unwrap().into()
}

fn found(out: &Path) -> Study {
    serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap()
}

/// With latency a = 10 µs and byte time b = 1 ns the stale builtin of scatter is linear, 2(p - 1)a / 2 + (p - 1)bm, and
/// binomial takes log2(p) a + (p - 1)bm: on 8 ranks 70 µs and 30 µs for small messages.
#[test]
fn the_cost_model_is_found_again() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("study");
    let ran = study(&example("bcast-scatter.toml"), "--simulate", &out).exits(0);
    ran.says("scatter. The builtin is not always the best: in");
    ran.says("basic_linear cannot be told apart from the builtin in any of 63 cells");
    ran.says("they come from a cost model, and say nothing about any machine");
    ran.complains("communicators of more than 8 ranks are left out, since there are 8 slots");

    let study = found(&out);
    assert_eq!(study.launches, 6);
    let cell = Cell { collective: Collective::Scatter, ranks: Ranks(8), bytes: Bytes(1) };
    let points = &study.cells.iter().find(|found| found.cell == cell).unwrap().points;
    let point = |algorithm| {
        let candidate = if algorithm == 0 { Candidate::Builtin } else { Candidate::Tuned(Choice::plain(algorithm)) };
        points.iter().find(|point| point.candidate == candidate).unwrap()
    };
    let gain = point(2).gain.unwrap();
    assert!((gain.point / (7.0 / 3.0) - 1.0).abs() < 0.02, "{gain:?}");
    let outcomes = [0, 1, 2].map(|algorithm| point(algorithm).outcome);
    assert_eq!(outcomes, [Outcome::Reference, Outcome::Alike, Outcome::Faster]);
    // Binomial grows as the logarithm of ranks, 1, 2 and 3 times: the power of the line through these is 0.80.
    let growth = study.growths.iter().find(|growth| {
        let of = (growth.collective, growth.bytes, growth.candidate);
        of == (Collective::Scatter, Bytes(4), Candidate::Tuned(Choice::plain(2)))
    });
    let exponent = growth.unwrap().exponent;
    assert!((exponent.point - 3f64.ln() / 4f64.ln()).abs() < 0.03, "{exponent:?}");
    let line = study.lines.iter().find(|line| {
        (line.collective, line.ranks, line.candidate) == (Collective::Scatter, Ranks(8), Candidate::Builtin)
    });
    let line = line.unwrap();
    assert!(
        (line.latency.point / 70e-6 - 1.0).abs() < 0.03 && (line.per_byte.point / 7e-9 - 1.0).abs() < 0.03,
        "{line:?}"
    );
    assert!(line.misfit < 0.06, "{line:?}");

    let text = fs::read_to_string(out.join("README.md")).unwrap();
    for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
        let file = rest.split(')').next().unwrap();
        let drawing = fs::read_to_string(out.join(file)).unwrap();
        assert!(drawing.starts_with("<svg") && drawing.contains("binomial") | drawing.contains("ranks"), "{file}");
    }
    assert!(text.contains("### scatter on 8 ranks") && text.contains("over-sizes-8.svg"), "{text}");
    let rows = fs::read_to_string(out.join("times.csv")).unwrap().lines().count();
    assert_eq!(rows, 1 + study.cells.iter().map(|cell| cell.points.len()).sum::<usize>());
}

/// What was measured can be shown again without measuring, and is what `measure --resume` could go on with.
#[test]
fn a_study_is_made_of_a_run() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    let barrier = example("bcast-barrier.toml");
    study(&barrier, "--simulate=noise --np 2,4 --launches 2", &first).exits(0).says("barrier. In none of the 2 cells");
    study(&barrier, "--simulate", &first).exits(2).complains("holds a study already");
    study(&barrier, &format!("--run {}", first.join("run").display()), &second).exits(0);
    assert_eq!(found(&first), found(&second));
    let resumed = bounded().args(["measure", "--resume"]).arg(first.join("run")).output().unwrap();
    Ran::from(resumed).exits(0);
}

#[test]
fn definitions_that_make_no_sense_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let definition = scratch.path().join("study.toml");
    let refused = |text: &str, code: i32| {
        fs::write(&definition, text).unwrap();
        study(&definition, "--simulate", &scratch.path().join("out")).exits(code)
    };
    let small = "title = 'T'\nquestion = 'Q'\nnp = [2]\n[algorithms]\nbarrier = ['tree']\n";
    refused("x", 3).complains("defines no study");
    refused(&small.replace("[2]", "[64]"), 2).complains("too few for any communicator of this study");
    refused(&small.replace("tree", "three"), 2).complains("has no barrier algorithm `three`");
    refused(small, 0).says("With communicators of 2 ranks alone, these numbers say nothing about scaling.");
}

/// The studies that are checked in show figures that are there, and no path of the machine that made them.
#[test]
fn studies_in_the_sources_are_whole() {
    for name in ["bcast-barrier", "bcast-barrier/one-host", "bcast-scatter", "bcast-scatter/one-host"] {
        let directory = example(name);
        let text = fs::read_to_string(directory.join("README.md")).unwrap();
        let files: Vec<&str> = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
        assert!(!files.is_empty(), "{name} shows nothing");
        assert!(files.iter().all(|file| directory.join(file).is_file()), "{name}: {files:?}");
        assert!(text.contains("--out DIR") && !text.contains("/tmp/"), "{name}");
    }
}
