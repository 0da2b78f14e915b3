//! Workers that do not start, die, hang or talk nonsense, and a controller that is killed: one clear message, nothing
//! measured is lost, nothing is left running.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{OpenMpi, Ran, allow_root, collrules, under_each_release};

/// A stand-in for the worker.
fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("worker");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn tune_with_worker(mpi: &OpenMpi, directory: &Path, worker: &Path) -> Ran {
    let out = directory.join("run");
    let mut command = mpi.collrules("tune --np 2 --oversubscribe --hang-timeout 3s --out", &out);
    let ran = command.arg("--worker").arg(worker).output().unwrap();
    assert!(!out.exists(), "nothing was measured");
    ran.into()
}

#[test]
fn workers_that_do_not_do_their_job_are_named() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = |text: &str| tune_with_worker(mpi, scratch.path(), &script(scratch.path(), text));
        run("echo 'no such luck' >&2; exit 3").exits(4).complains("the worker did not start");
        let ran = run("sleep 20").exits(5);
        ran.complains("said nothing for 3 s");
        ran.complains("--hang-timeout");
        run("echo '@collrules {\"hello\":'; sleep 5").exits(4).complains("cannot be read");
        let other = "echo '@collrules {\"hello\":{\"protocol\":999,\"ranks\":1}}'; sleep 5";
        run(other).exits(4).complains("protocol 999");
        let missing = tune_with_worker(mpi, scratch.path(), Path::new("/nowhere/collrules-worker")).exits(4);
        missing.complains("no `collrules-worker` found");
    });
}

/// A campaign that runs for a while, and the number of samples that it has written.
struct Running {
    child: Child,
    out: PathBuf,
}

impl Running {
    fn start(mpi: &OpenMpi, scratch: &Path) -> Self {
        let out = scratch.join("run");
        // Not under `timeout`: signals go to this process. What it may take is bounded by `wait_for`.
        let mut command = Command::new(env!("CARGO_BIN_EXE_collrules"));
        command.args(["tune", "--np", "2,4", "--oversubscribe", "--budget", "200s", "--out"]).arg(&out);
        command.arg("--mpirun").arg(&mpi.mpirun);
        allow_root(&mut command);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, out }
    }

    fn samples(&self) -> usize {
        fs::read_to_string(self.out.join("samples.csv")).map_or(0, |text| text.lines().count().saturating_sub(2))
    }

    /// The processes that descend from this one, with the text of their command.
    fn descendants(&self) -> Vec<(u32, String)> {
        let mut parents = vec![self.child.id()];
        let mut found = Vec::new();
        while let Some(parent) = parents.pop() {
            for entry in fs::read_dir("/proc").unwrap().flatten() {
                let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
                let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                // The fields after the name in parentheses: state, parent.
                let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
                if fields.split_whitespace().nth(1) == Some(&parent.to_string()) {
                    let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    found.push((pid, String::from_utf8_lossy(&command).replace('\0', " ")));
                    parents.push(pid);
                }
            }
        }
        found
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

#[track_caller]
fn wait_for(what: &str, mut happens: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while !happens() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn when_a_worker_dies_what_was_measured_is_kept() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = Running::start(mpi, scratch.path());
        wait_for("samples", || run.samples() > 300);
        let workers = run.descendants();
        let victim = workers.iter().find(|(_, command)| {
            command.starts_with('/') && command.contains("collrules-worker ") && !command.contains("-np")
        });
        kill(victim.unwrap_or_else(|| panic!("no worker among {workers:?}")).0);
        let out = run.out.clone();
        let ran = Ran::from(run.child.wait_with_output().unwrap()).exits(5);
        ran.complains("the MPI job ended too early");
        ran.complains("cells were measured before that and are kept in");
        ran.complains("collrules analyze");
        collrules("analyze", &out).exits(0);
    });
}

#[test]
fn when_the_controller_dies_the_job_ends_and_the_samples_stay() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path());
        wait_for("samples", || run.samples() > 100);
        let jobs = run.descendants();
        assert!(jobs.len() >= 3, "{jobs:?}");
        kill(run.child.id());
        run.child.wait().unwrap();
        wait_for("the end of the job", || !jobs.iter().any(|(pid, _)| is_alive(*pid)));
        assert!(run.samples() >= 100);
        collrules("analyze", &run.out).exits(0);
    });
}
