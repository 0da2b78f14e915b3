//! In the jobs of a real Slurm, on hosts that are network namespaces.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use collrules_record::allocation::BatchSystem;
use collrules_record::rundir::RunDir;
use collrules_tuner::results::ab_test::AbTest;

use crate::profile::{compiled, counts, expected, library, read};
use crate::support::{OpenMpi, Ran, alone, beside_others, has_hosts, prepare, under_each_release};
use crate::virtual_cluster::name_cluster;

/// Runs lines of a shell on the first host. `C` is collrules, `OUT` a directory, `OPTIONS` those of a small tuning.
pub(crate) fn in_slurm(hosts: &str, mpi: Option<&OpenMpi>, out: &Path, lines: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/virtual-slurm");
    let mut bounded = Command::new("timeout");
    bounded.args(["--kill-after=10", "280"]).arg(script).args(["--name", &name_cluster()]);
    bounded.args(hosts.split_whitespace()).args(["--", "bash", "-ec", lines]);
    prepare(&mut bounded);
    bounded.env("C", env!("CARGO_BIN_EXE_collrules")).env("OUT", out);
    bounded.env(
        "OPTIONS",
        "--ops bcast --np 4 --sizes 64K --segments 8K --fanouts 2 --launches 2 --no-validate --no-settings --refine 0",
    );
    // The mpirun of the machine has no directory: it is in PATH already.
    if let Some(directory) = mpi.and_then(|mpi| mpi.mpirun.parent()).filter(|path| !path.as_os_str().is_empty()) {
        let path = std::env::var("PATH").unwrap_or_default();
        bounded.env("PATH", format!("{}:{path}", directory.canonicalize().unwrap().display()));
    }
    Ran::from(bounded.output().unwrap())
}

/// Returns true if a Slurm can be had here. Says aloud if not, and why.
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: LazyLock<bool> = LazyLock::new(|| {
        let ran = alone(|| in_slurm("--hosts 2", None, Path::new("/"), "srun --nodes 2 hostname | sort"));
        let has = has_hosts(&ran);
        if has {
            let hosts: Vec<char> = ran.exits(0).stdout.lines().filter_map(|host| host.chars().last()).collect();
            assert_eq!(hosts, ['1', '2']);
        }
        has
    });
    *POSSIBLE
}

/// Nodes, slots, launcher and the end of the job are found without a word about them, for mpirun and for srun.
#[test]
#[ignore = "part of `make test-all`"]
fn a_job_is_tuned_in_without_a_word_about_it() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        // A job for each, so that one that is slow leaves the other its time.
        let lines = "budget=10m; for by in mpirun srun; do cat > $OUT/$by.sh <<X\n#!/bin/bash\n\
                     [ $by = mpirun ] || export SLURM_MPI_TYPE=pmix\n$C tune $OPTIONS --budget $budget --out $OUT/$by\nX\n\
                     sbatch --wait -N2 --ntasks-per-node=2 --time 1 -o $OUT/log $OUT/$by.sh || true; cat $OUT/log; budget=20s; done";
        let ran = in_slurm("--hosts 2 --slots 2", Some(mpi), scratch.path(), lines).exits(0);
        let log = ran.stdout.replace("\ncollrules:   ", " ");
        assert!(log.contains("mpirun starts the jobs") && log.contains("2 nodes, 4 slots"), "{log}");
        assert!(log.contains("the budget is") && log.contains("instead of 10 min"), "{log}");
        assert!(log.contains("since SLURM_MPI_TYPE is pmix"), "{log}");
        for name in ["mpirun", "srun"] {
            let run = RunDir::open(scratch.path().join(name)).unwrap();
            let manifest = run.manifest().unwrap();
            assert_eq!(manifest.survey.hosts.len(), 4, "{name}");
            let allocation = &manifest.allocations[0];
            assert_eq!((allocation.system, allocation.nodes, allocation.slots.0), (BatchSystem::Slurm, 2, 4));
            assert!(allocation.left.is_some_and(|left| left.0 <= 60.0), "{allocation:?}");
            assert!(run.file("rules.conf").exists(), "{name}: not proven\n{log}");
        }
        let launcher = RunDir::open(scratch.path().join("srun")).unwrap().manifest().unwrap().launcher;
        assert!(launcher.iter().any(|word| word == "--mpi=pmix") && launcher[0] == "env", "{launcher:?}");
    });
}

/// A job that was ended in the middle, and one that was requeued, go on where they were.
#[test]
#[ignore = "part of `make test-all`"]
fn jobs_that_were_ended_go_on() {
    if !is_possible() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let lines = "submit() { $C submit --nodes 2 --ppn 2 --time 4m --out $OUT/run -- tune $OPTIONS --budget 40s; }\n\
         job() { grep -o '\"job\": \"[0-9]*' $OUT/run/submission.json | tail -n 1 | grep -o '[0-9]*$'; }\n\
         begun() { until grep -q ended $OUT/run/launches.jsonl 2>/dev/null; do sleep 0.2; done; }\n\
         submit; begun; $C status $OUT/run; submit && exit 1; scancel $(job)\n\
         $C status --follow --every 1s --lag 2s $OUT/run; wc -l < $OUT/run/samples.csv > $OUT/before; submit\n\
         until [ $(wc -l < $OUT/run/samples.csv) -gt $(cat $OUT/before) ]; do sleep 0.2; done; scontrol requeue $(job)\n\
         $C status --follow --every 1s $OUT/run; cat $OUT/run/job-*.log";
    let ran = beside_others(|| in_slurm("--hosts 2 --slots 2", None, scratch.path(), lines)).exits(0);
    assert!(ran.stdout.contains("Slurm job 1: RUNNING"), "{}", ran.stdout);
    ran.complains("Slurm job 1, submitted at");
    let run = RunDir::open(scratch.path().join("run")).unwrap();
    assert!(run.file("rules.conf").exists(), "{}", ran.stdout);
    let before: usize = fs::read_to_string(scratch.path().join("before")).unwrap().trim().parse().unwrap();
    let after = fs::read_to_string(run.file("samples.csv")).unwrap().lines().count();
    assert!(before > 2 && after > before, "{before} lines, then {after}");
    let jobs: Vec<String> = run.manifest().unwrap().allocations.into_iter().map(|one| one.job).collect();
    assert!(jobs.starts_with(&["1".to_owned(), "2".to_owned()]) && jobs.len() >= 2, "{jobs:?}");
}

/// `doctor` names the second component of a job, and with its remedy ranks start in both.
#[test]
#[ignore = "part of `make test-all`"]
fn jobs_of_two_components_start_in_both() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let remedy = match mpi.is_before(5) {
            true => "--mca plm rsh --mca ras ^slurm",
            false => "--prtemca plm ssh --prtemca ras ^slurm",
        };
        let hosts = "${N}1:2,${N}2:2,${N}3:1";
        // The agent of the virtual cluster in place of ssh.
        let lines = format!(
            "export N=$COLLRULES_VIRTUAL_CLUSTER\n\
             export OMPI_MCA_plm_rsh_agent=/run/collrules-virtual-cluster/$N/agent\n\
             export PRTE_MCA_plm_ssh_agent=$OMPI_MCA_plm_rsh_agent\n\
             cat > $OUT/job.sh <<'X'\n#!/bin/bash\n#SBATCH -N2 -n4\n#SBATCH hetjob\n#SBATCH -N1 -n1\n\
             $C doctor > $OUT/alone\n$C doctor --mpirun-args \"--host {hosts} {remedy}\" > $OUT/all\nX\n\
             sbatch --wait -o $OUT/log $OUT/job.sh || true; cat $OUT/log"
        );
        in_slurm("--hosts 3 --slots 2", Some(mpi), scratch.path(), &lines).exits(0);
        let doctor = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap();
        let (alone, all) = (doctor("alone"), doctor("all"));
        assert!(alone.contains("2 components") && alone.contains("4 slots on 2 hosts"), "{alone}");
        assert!(all.contains("5 slots on 3 hosts") && all.contains("collrules can measure here"), "{all}");
    });
}

/// Each job of an array has a run of its own.
#[test]
#[ignore = "part of `make test-all`"]
fn arrays_have_a_run_for_each_job() {
    if !is_possible() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let lines = "$C submit --nodes 1 --ppn 4 --time 2m --array 2 --out $OUT/runs -- tune $OPTIONS --budget 15s\n\
                 $C status --follow --every 1s $OUT/runs; $C status $OUT/runs --json";
    let ran = alone(|| in_slurm("--hosts 2 --slots 4", None, scratch.path(), lines)).exits(0);
    for task in ["task-1", "task-2"] {
        let run = RunDir::open(scratch.path().join("runs").join(task)).unwrap();
        assert!(run.file("rules.conf").exists(), "{task}\n{}", ran.stdout);
        assert_eq!(run.manifest().unwrap().allocations[0].job, format!("1_{}", &task[5..]));
    }
}

/// A program that Slurm's own srun starts is counted to the last call, whatever of the environment srun hands on.
#[test]
#[ignore = "part of `make test-all`"]
fn programs_that_srun_starts_are_counted() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compiled(mpi, scratch.path(), "mpicc", "calls.c", &[]) else { return };
        let libraries = match mpi.mpirun.parent().and_then(Path::parent) {
            Some(installed) if !mpi.is_before(5) => installed.join("lib").canonicalize().unwrap().display().to_string(),
            _ => String::new(),
        };
        let lines = format!(
            "export LD_LIBRARY_PATH={libraries}\nprofiled() {{ $C profile --library {library} --out $OUT/$1 -- \
             srun $2 -N2 --ntasks-per-node=2 --mpi=pmix {program}; }}\nprofiled plain\n\
             profiled listed --export=HOME,PATH,LD_LIBRARY_PATH\n! profiled none --export=NONE\n\
             printf '1\\n7\\n1\\n64 1\\n0 1 0 0\\n' > $OUT/other.conf\n\
             $C try $OUT/other.conf --pairs 3 --out $OUT/tried -- srun -N2 --ntasks-per-node=2 --mpi=pmix {program} || [ $? = 8 ]\n",
            library = library().display(),
            program = program.display(),
        );
        let ran = in_slurm("--hosts 2 --slots 2", Some(mpi), scratch.path(), &lines).exits(0);
        ran.complains("--export=NONE keeps all variables from the ranks");
        // A file that acts on no call, in pairs of srun's jobs.
        let tried: AbTest =
            serde_json::from_str(&fs::read_to_string(scratch.path().join("tried/try.json")).unwrap()).unwrap();
        assert_eq!(tried.runs.iter().filter(|run| run.failed.is_none()).count(), 6, "{}", ran.stdout);
        for name in ["plain", "listed"] {
            let profile = read(&scratch.path().join(name));
            assert_eq!(counts(&profile), expected(), "{name} under {}", mpi.version);
            assert_eq!(profile.nodes.0, [2, 2], "{name} under {}", mpi.version);
        }
    });
}
