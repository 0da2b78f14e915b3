//! Findings and advice of the doctor.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::support::{OpenMpi, Ran, bounded, prepare, under_each_release};

/// `collrules doctor --json` with these variables, its exit code, and its findings as `subject state what remedy`.
fn doctor(mpi: &OpenMpi, environment: &[(&str, &str)]) -> (Option<i32>, Vec<String>) {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = mpi.collrules("doctor --json --oversubscribe --scratch", scratch.path());
    findings(command.envs(environment.iter().copied()))
}

fn findings(command: &mut Command) -> (Option<i32>, Vec<String>) {
    let ran = Ran::from(command.output().unwrap());
    let answer: serde_json::Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    assert_eq!(answer["able"].as_bool(), Some(ran.code == Some(0)), "{}", ran.stdout);
    let line = |finding: &serde_json::Value| {
        ["subject", "state", "what", "remedy"].map(|key| finding[key].as_str().unwrap_or_default()).join(" ")
    };
    (ran.code, answer["findings"].as_array().unwrap().iter().map(line).collect())
}

#[track_caller]
fn has(findings: &[String], beginning: &str, part: &str) {
    let found = findings.iter().any(|finding| finding.starts_with(beginning) && finding.contains(part));
    assert!(found, "no `{beginning}` with `{part}` in {findings:#?}");
}

#[test]
fn an_installation_that_works_is_named() {
    under_each_release(|mpi| {
        let (code, found) = doctor(mpi, &[]);
        // With a single slot nothing can be measured, and that is what it has to say.
        if std::thread::available_parallelism().unwrap().get() < 2 {
            return has(&found, "slots problem", "a collective needs 2");
        }
        assert_eq!(code, Some(0), "{found:#?}");
        has(&found, "launcher ok", &format!("Open MPI {}", mpi.version));
        has(&found, "worker ok", "collrules-worker (next to collrules, for libmpi.so.");
        has(&found, "slots ok", "on 1 host");
        has(&found, "components ok", "tuned 30");
        has(&found, "components ok", "tuned runs allgather, allgatherv, allreduce");
    });
}

#[test]
fn settings_in_the_way_are_found() {
    under_each_release(|mpi| {
        let (code, found) = doctor(mpi, &[("OMPI_MCA_coll_tuned_bcast_algorithm", "1")]);
        assert_eq!(code, Some(0));
        has(&found, "settings warning", "the environment sets coll_tuned_bcast_algorithm = 1");
        has(&found, "settings warning", "a forced algorithm beats it");
        let (code, found) = doctor(mpi, &[("OMPI_MCA_coll_tuned_priority", "0")]);
        assert_eq!(code, Some(4));
        has(&found, "components problem", "not run by coll/tuned");
    });
}

/// A parameter that Open MPI does not know has no effect, whichever way it is set.
#[test]
fn settings_without_effect_are_found() {
    const VARIABLES: [(&str, &str); 4] = [
        ("OMPI_MCA_coll_tuned_use_dynamic_rule", "1"),
        ("OMPI_MCA_coll_tuned_dynamic_rule_filename", "/x"),
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "True"),
        ("OMPI_MCA_coll_han_priorty", "0"),
    ];
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = mpi.collrules("doctor --json --oversubscribe --scratch", scratch.path());
        command.args(["--mpirun-args", "--mca coll_tuned_bcast_algorithms 3"]).envs(VARIABLES);
        let (_, found) = findings(&mut command);
        for (place, name, nearest) in [
            ("the environment", "coll_tuned_use_dynamic_rule", "coll_tuned_use_dynamic_rules"),
            ("the environment", "coll_tuned_dynamic_rule_filename", "coll_tuned_dynamic_rules_filename"),
            ("the environment", "coll_han_priorty", "coll_han_priority"),
            ("the command line of mpirun", "coll_tuned_bcast_algorithms", "coll_tuned_bcast_algorithm"),
        ] {
            let about = format!("settings warning {place} sets {name} = ");
            has(&found, &about, &format!("the nearest name is {nearest}"));
            assert_eq!(
                found.iter().filter(|finding| finding.contains(&format!("sets {name} ="))).count(),
                1,
                "{found:#?}"
            );
        }
        has(&found, "settings warning the environment sets coll_tuned_use_dynamic_rules = True", "no boolean");
    });
}

/// Hosts that do not answer are a finding, after a while.
#[test]
fn a_job_that_never_starts_is_a_problem() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = mpi.collrules("doctor --json --scratch", scratch.path());
        command.args(["--hang-timeout", "1s", "--launcher", "sh -c 'sleep 100'"]);
        let (code, found) = findings(&mut command);
        assert_eq!(code, Some(4), "{found:#?}");
        has(&found, "job problem", "ssh HOST true");
    });
}

#[test]
fn what_is_missing_is_found() {
    let (code, found) = findings(bounded().args(["doctor", "--json", "--mpirun", "/nowhere/mpirun"]));
    assert_eq!(code, Some(4));
    has(&found, "launcher problem", "there is no `/nowhere/mpirun`");
    assert_eq!(Ran::from(bounded().args(["doctor", "--mpirun", "/nowhere/mpirun"]).output().unwrap()).code, Some(4));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        under_each_release(|mpi| {
            let scratch = tempfile::tempdir().unwrap();
            let mut command = mpi.collrules("doctor --json --scratch", scratch.path());
            prepare(&mut command);
            for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
                command.env_remove(name);
            }
            let (code, found) = findings(&mut command);
            assert_eq!(code, Some(4), "{found:#?}");
            has(&found, "user warning", "export OMPI_ALLOW_RUN_AS_ROOT=1");
            has(&found, "job problem", "ALLOW_RUN_AS_ROOT");
        });
    }
}
