//! The main job, on real releases of Open MPI.

use std::collections::BTreeSet;
use std::fs;

use collrules_rules::{Collective, Version, patches};

use crate::agreement::contradictions;
use crate::reseal::reseal;
use crate::support::{OpenMpi, Ran, bounded, findings, under_each_release, with_networks};

/// Every algorithm that the release has for these collectives, at 2, 3 and 4 ranks: all are timed, none fails its
/// check, and the file that comes of it is obeyed.
#[test]
fn tune_measures_everything_and_proves_its_rules() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let arguments = "tune --ops bcast,scatter,barrier --np 2,3,4 --sizes 1,4K,64K --budget none --calls 6 \
                         --oversubscribe --no-validate --verbose --out";
        let mut command = mpi.collrules(arguments, &out);
        // As users have it: with whatever components this release takes by itself.
        Ran::from(with_networks(&mut command).output().unwrap()).exits(0);
        assert_eq!(contradictions(&out), [""; 0]);
        let proof: serde_json::Value = serde_json::from_slice(&fs::read(out.join("proof.json")).unwrap()).unwrap();
        let fact = if findings(&out).table.is_empty() { "no_rule" } else { "rules" };
        let shown = proof["shown"].as_array().unwrap().iter().find(|shown| shown["code"] == fact).unwrap();
        if fact == "rules" {
            assert_eq!(shown["of"]["openmpi"]["version"], mpi.version.as_str());
        }
        for file in ["rules.conf", "mca-params.conf", "env.sh", "tune.conf", "report.md", "manifest.json"] {
            assert!(out.join(file).is_file(), "{file}");
        }
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["survey"]["version"], mpi.version.as_str());

        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        let mut timed = BTreeSet::new();
        // What another candidate stands for is as good as timed.
        for planned in manifest["plan"]["cells"].as_array().unwrap() {
            for shared in planned["shared"].as_array().into_iter().flatten() {
                let algorithm = shared["candidate"].as_str().unwrap().trim_start_matches("tuned:").split('/').next();
                let (collective, ranks) = (&planned["cell"]["collective"], &planned["cell"]["ranks"]);
                timed.insert((
                    collective.as_str().unwrap().to_owned(),
                    ranks.to_string(),
                    algorithm.unwrap().to_owned(),
                ));
            }
        }
        for line in samples.lines().skip(2) {
            let fields: Vec<&str> = line.split(',').collect();
            let [_, _, _, collective, ranks, _, candidate, max, min, mean, ended] = fields[..] else {
                panic!("{line}");
            };
            assert!(!ended.starts_with("disqualified"), "{line}");
            if ended.is_empty() {
                let [max, min, mean] = [max, min, mean].map(|seconds| seconds.parse::<f64>().unwrap());
                assert!(0.0 < min && min <= mean * (1.0 + 1e-9) && mean <= max * (1.0 + 1e-9), "{line}");
                let algorithm =
                    candidate.strip_prefix("tuned:").map_or("0", |choice| choice.split('/').next().unwrap());
                timed.insert((collective.to_owned(), ranks.to_owned(), algorithm.to_owned()));
            }
        }
        for ranks in ["2", "3", "4"] {
            let expected = (0..=9).map(|id| ("bcast", id)).chain((0..=3).map(|id| ("scatter", id)));
            // Algorithm 5 of barrier is for two processes alone.
            let barriers = (0..=6).filter(|id| *id != 5 || ranks == "2").map(|id| ("barrier", id));
            for (collective, id) in expected.chain(barriers) {
                let point = (collective.to_owned(), ranks.to_owned(), id.to_string());
                assert!(timed.contains(&point), "{point:?} was not timed under {}", mpi.version);
            }
            assert!(ranks == "2" || !timed.contains(&("barrier".to_owned(), ranks.to_owned(), "5".to_owned())));
        }
    });
}

#[test]
fn more_ranks_than_slots_are_refused_before_anything_is_measured() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let ran = Ran::from(mpi.collrules("tune --np 2,4096 --out", &out).output().unwrap()).exits(4);
        ran.complains("--oversubscribe");
        assert!(!out.exists());
    });
}

/// Calls that another component than coll/tuned runs are not measured: timing algorithms would time that component,
/// over and over.
#[test]
fn what_coll_tuned_does_not_serve_is_not_measured() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let mut command = mpi.collrules("tune --np 2,3 --oversubscribe --out", &out);
        Ran::from(command.env("OMPI_MCA_coll_tuned_priority", "0").output().unwrap()).exits(4);
        assert!(!out.exists());
    });
}

/// Segment size and fan-out that a site has set for forced algorithms have no part in what is measured, and settings that
/// are in force while measuring are part of what is deployed.
#[test]
fn settings_in_force_are_deployed() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let arguments = "tune --np 2 --sizes 64K --ops bcast --budget none --calls 3 --refine 0 --no-validate \
                         --oversubscribe --verbose --out";
        let mut command = mpi.collrules(arguments, &out);
        command
            .args(["--mpirun-args", "--mca coll_sm_priority 0"])
            .env("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "1024");
        Ran::from(command.output().unwrap()).exits(0);
        let settings = fs::read_to_string(out.join("mca-params.conf")).unwrap();
        assert!(settings.contains("coll_sm_priority = 0\n"), "{settings}");
    });
}

#[test]
fn a_dry_run_lists_points_and_leaves_nothing_behind() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let ran = mpi.collrules("plan --json --np 2,3 --oversubscribe --sizes 1K:64K --out", &out).output().unwrap();
        let plan: serde_json::Value = serde_json::from_str(&Ran::from(ran).exits(0).stdout).unwrap();
        let planned = |collective: &str, ranks: u32, bytes: u64| {
            let cell = serde_json::json!({ "collective": collective, "ranks": ranks, "bytes": bytes });
            plan["cells"].as_array().unwrap().iter().find(|planned| planned["cell"] == cell).unwrap()
        };
        let bcast = planned("bcast", 3, 64 << 10)["candidates"].as_array().unwrap();
        assert_eq!(bcast[..4], ["builtin", "tuned:1/0/0/0", "tuned:2/2/0/0", "tuned:2/2/8192/0"]);
        let barrier = planned("barrier", 2, 0);
        let candidates = ["builtin", "tuned:1/0/0/0", "tuned:2/0/0/0", "tuned:3/0/0/0", "tuned:6/0/0/0"];
        assert_eq!(barrier["candidates"].as_array().unwrap()[..], candidates);
        // On 2 ranks there is one exchange.
        let shared = barrier["shared"].as_array().unwrap().iter().find(|it| it["candidate"] == "tuned:5/0/0/0");
        assert_eq!(shared.unwrap()["measured_as"], "tuned:3/0/0/0");
        assert!(!out.exists());
    });
}

/// A run that says it was measured on the first patch level of its release: scatter was changed since, and is measured
/// again; bcast was not, and keeps its samples.
#[test]
fn port_measures_again_what_a_patch_changed_and_keeps_the_rest() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = scratch.path().join("run");
        let arguments = "tune --ops bcast,scatter --np 2 --sizes 4K,64K --budget none --calls 5 --refine 0 --no-validate \
                         --oversubscribe --out";
        Ran::from(mpi.collrules(arguments, &run).output().unwrap()).exits(0);
        let path = run.join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let (release, _) = mpi.version.rsplit_once('.').unwrap();
        manifest["survey"]["version"] = format!("{release}.0").into();
        fs::write(&path, manifest.to_string()).unwrap();
        reseal(&run);

        let out = scratch.path().join("ported");
        let mut command = bounded();
        command.args(["port", "--budget", "20s", "--to"]).arg(&mpi.mpirun).arg("--out").arg(&out).arg(&run);
        let ran = Ran::from(command.output().unwrap());
        assert!(matches!(ran.code, Some(0 | 8)), "{}: {}{}", mpi.version, ran.stdout, ran.stderr);
        if scatter_was_changed(mpi) {
            let ported: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
            assert_eq!(ported["survey"]["version"], mpi.version.as_str());
            assert_eq!(ported["merged"].as_array().map(Vec::len), Some(2), "{ported}");
            let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
            let rows = |text: &str, name: &str| text.matches(&format!(",{name},")).count();
            let before = fs::read_to_string(run.join("samples.csv")).unwrap();
            assert_eq!(rows(&samples, "bcast"), rows(&before, "bcast"));
            let again = fs::read_to_string(scratch.path().join("ported-again/samples.csv")).unwrap();
            assert_eq!((rows(&samples, "scatter"), rows(&again, "bcast")), (rows(&again, "scatter"), 0));
            let collectives: BTreeSet<_> = findings(&out).cells.iter().map(|cell| cell.cell.collective).collect();
            assert_eq!(collectives.len(), 2);
        } else {
            assert!(!scratch.path().join("ported-again").exists(), "nothing has to be measured again");
        }
    });
}

/// Returns true if scatter was changed between the first version of a release and this one.
fn scatter_was_changed(mpi: &OpenMpi) -> bool {
    let version: Version = mpi.version.parse().unwrap();
    let first = Version { patch: 0, ..version.as_release() };
    patches::between(first, version).any(|patch| patch.collectives.contains(&Collective::Scatter))
}
