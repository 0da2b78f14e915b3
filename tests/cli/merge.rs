//! One run of several.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::Manifest;
use collrules_record::remark::Remark;

use crate::support::{Ran, bounded, findings};

fn run(directory: &Path, arguments: &str) -> Ran {
    bounded().current_dir(directory).args(arguments.split_whitespace()).output().unwrap().into()
}

#[test]
fn runs_of_one_system_become_one() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |arguments: &str| run(scratch.path(), arguments);
    let measure = "measure --simulate --ops bcast,scatter --sizes 1,1K,64K --launches 2 -q";
    run(&format!("{measure} --np 2,4 --out small")).exits(0);
    run(&format!("{measure} --np 8 --seed 5 --out large")).exits(0);
    run(&format!("{measure} --np 8 --seed 6 --out again")).exits(0);
    run(&format!("{measure} --np 8 --simulated-release 4.1 --out other")).exits(0);

    run("merge small large --out both").exits(0);
    run("analyze both").exits(0);
    run("analyze small").exits(0);
    let (both, small) = (findings(&scratch.path().join("both")), findings(&scratch.path().join("small")));
    let of_small: Vec<_> = both.cells.iter().filter(|cell| cell.cell.ranks.0 < 8).collect();
    assert_eq!(of_small.len(), small.cells.len());
    for (one, other) in of_small.iter().zip(&small.cells) {
        assert_eq!((one.cell, one.points.len()), (other.cell, other.points.len()));
        assert_eq!(one.points[0].time, other.points[0].time, "the samples are the same");
    }
    assert_eq!(both.cells.len(), 3 * small.cells.len() / 2);
    let is_missing = |remark: &Remark| matches!(remark, Remark::MissingLaunches { .. });
    assert!(!both.remarks.iter().any(is_missing), "{:?}", both.remarks);

    // Launches of one cell from two runs stay apart.
    run("merge large again --out twice").exits(0);
    run("analyze twice").exits(0);
    let twice = findings(&scratch.path().join("twice"));
    let manifest = std::fs::read_to_string(scratch.path().join("twice/manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&manifest).unwrap();
    assert_eq!((manifest.plan.launches, manifest.merged.len()), (4, 2));
    assert_eq!(twice.cells.len(), both.cells.len() / 3);

    run("merge large other --out wrong").exits(3);
    run("merge large ./large --out wrong").exits(2);
    run("merge large again --out twice").exits(6);
    run("measure --resume both").exits(3);
    assert!(!scratch.path().join("wrong").exists());
}

/// Runs of a collective each, as separate jobs make them, become a tuning with the rules of each.
#[test]
fn runs_of_different_collectives_add_up() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |arguments: &str| run(scratch.path(), arguments);
    let in_use = |name: &str| {
        let found = findings(&scratch.path().join(name));
        found.cells.iter().map(|found| (found.cell, found.in_use)).collect::<BTreeMap<_, _>>()
    };
    let mut parts = BTreeMap::new();
    for collective in ["bcast", "allgatherv"] {
        let tune = "tune --simulate --np 4,8 --sizes 1K,64K,1M --refine 0 --budget 20s -q";
        run(&format!("{tune} --ops {collective} --out {collective}")).exits(0);
        parts.extend(in_use(collective));
    }
    assert!(parts.values().filter(|choice| !choice.is_builtin()).count() > 2, "{parts:?}");
    run("merge bcast allgatherv --out both").exits(0);
    run("analyze both").exits(0);
    assert_eq!(in_use("both"), parts);
    // Fresh launches of a part are not about the merged file.
    run("validate both --repair --budget 20s").exits(0);
    assert_eq!(in_use("both"), parts);
}

#[test]
fn runs_of_several_layouts_become_one() {
    let scratch = tempfile::tempdir().unwrap();
    let measure = "measure --simulate=arranged --simulated-slots 8 --simulated-ppn 2 --ops bcast --np 4 \
                   --sizes 1K,64K,1M -q";
    run(scratch.path(), &format!("{measure} --out full")).exits(0);
    run(scratch.path(), &format!("{measure} --layout one-per-node --seed 5 --out each")).exits(0);
    run(scratch.path(), "merge full each --out site").exits(0);
    assert!(scratch.path().join("site/layout-one-per-node/samples.csv").is_file());
    run(scratch.path(), "analyze site").exits(0);
    let found = findings(&scratch.path().join("site"));
    let in_use: Vec<_> = found.cells.iter().map(|cell| cell.in_use.algorithm).collect();
    assert_eq!((in_use, found.layouts.len()), (vec![0, 2, 3], 2));
    let lies_alike = "measure --simulate --simulated-slots 8 --simulated-ppn 2 --ops bcast --np 2 --sizes 8 --out same \
                      --layout one-per-node --also-layout spread";
    run(scratch.path(), lies_alike).exits(0).complains("it places all communicators as one-per-node does");
}
