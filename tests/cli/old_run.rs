//! A run directory as an earlier version left it is read by every command that reads runs.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::{collrules, data};

/// A copy of the run that version 0.1.0 made with `tune --simulate`: formats 1.0, findings 1.1.
pub(crate) fn copy() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    copy_all(&data("run-1.0"), &run);
    (scratch, run)
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn reports_and_trees_are_made_of_it() {
    let (_scratch, run) = copy();
    collrules("report", &run).exits(0).says("recursive_doubling");
    collrules("report --format md", &run).exits(0).says("5.0.0");
    let ran = collrules(&format!("report --format json --compare {}", run.display()), &run).exits(0);
    let compared: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(compared["obstacles"].as_array().unwrap().is_empty(), "{compared}");
    collrules("tree", &run).exits(0).says("barrier");
}

#[test]
fn it_is_analyzed_anew() {
    let (scratch, run) = copy();
    let out = scratch.path().join("out");
    collrules(&format!("analyze --out {}", out.display()), &run).exits(0);
    let rules = |directory: &Path| {
        let text = fs::read_to_string(directory.join("rules.conf")).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rules(&out), rules(&run));
}

#[test]
fn it_is_validated_with_the_options_that_it_was_measured_with() {
    let (_scratch, run) = copy();
    collrules("validate --budget 5s", &run).exits(0).says("1 cell is faster");
    assert!(run.join("validation-2/samples.csv").exists());
    // What is said replaces what the run has, and what means nothing to it is refused.
    let other = run.parent().unwrap().join("other");
    let layout = format!("validate --budget 5s --layout spread --out {}", other.display());
    collrules(&layout, &run).exits(0).says("1 cell is faster");
    collrules("validate --budget 5s --mpirun mpirun", &run).exits(2).complains("the run was simulated");
}

#[test]
fn it_is_resumed_and_nothing_is_left_to_measure() {
    let (_scratch, run) = copy();
    let samples = || fs::read_to_string(run.join("samples.csv")).unwrap();
    let before = samples();
    collrules("measure --resume", &run).exits(0);
    assert_eq!(samples(), before);
}
