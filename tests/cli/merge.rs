//! One run of several.

use collrules_record::Manifest;
use collrules_record::findings::Findings;
use collrules_report::remarks::remarks;

use crate::support::{Ran, bounded};

fn findings(run: &std::path::Path) -> Findings {
    serde_json::from_str(&std::fs::read_to_string(run.join("findings.json")).unwrap()).unwrap()
}

#[test]
fn runs_of_one_system_become_one() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |arguments: &str| -> Ran {
        let mut command = bounded();
        command.current_dir(scratch.path()).args(arguments.split_whitespace()).output().unwrap().into()
    };
    let measure = "measure --simulate --ops bcast,scatter --sizes 1:64K --launches 2 -q";
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
    assert!(!remarks(&both).iter().any(|remark| remark.starts_with("Launches with timings")), "{:?}", both.remarks);

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
