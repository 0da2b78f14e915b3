//! Figures as they are shown by what knows no style sheets.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::made_once::TUNED;
use crate::support::{Ran, collrules};

/// All colours were variables of a style sheet, so that viewers showed black on black.
#[test]
#[ignore = "part of `make test-all`"]
fn every_kind_of_figure_has_colours_without_style_sheets() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    TUNED.at(&at("run"));
    let definition = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/studies/bcast-scatter.toml");
    collrules(&format!("lab study {definition} --simulate --out"), &at("study")).exits(0);
    collrules("lab irregular --simulate --ops gather --sizes 4K,8K --launches 2 --calls 7 --out", &at("irregular"))
        .exits(0);
    let of_study = fs::read_dir(at("study")).unwrap().map(|entry| entry.unwrap().path());
    let of_study: Vec<PathBuf> = of_study.filter(|file| file.extension().is_some_and(|end| end == "svg")).collect();
    assert!(of_study.len() > 2, "{of_study:?}");
    let others = ["run/report.html", "irregular/irregular.html"];
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/figures/Cargo.toml")]);
    cargo.args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/figures"), "--"]);
    cargo.args(others.map(at)).args(of_study);
    Ran::from(cargo.output().unwrap()).exits(0);
}
