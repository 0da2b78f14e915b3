//! Campaigns whose processes get signals at random moments: in the end every one is complete, nothing that was written is
//! lost, nothing is there twice, no candidate is blamed, and no process is left.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::running::{Process, Running, kill, wait_for};
use crate::support::{OpenMpi, collrules, say, under_each_release};

const SIGNALS: [&str; 8] = ["KILL", "TERM", "SEGV", "STOP", "INT", "HUP", "ABRT", "BUS"];

/// Sends so many signals, over as many campaigns as it takes, and returns how many campaigns were completed.
fn harass(mpi: &OpenMpi, signals: u32, seed: u64) -> u32 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut sent, mut campaigns) = (0, 0);
    while sent < signals {
        campaigns += 1;
        let scratch = tempfile::tempdir().unwrap();
        let mut run = Running::start(mpi, scratch.path(), u64::from(campaigns));
        let mut before = String::new();
        let mut jobs: Vec<Process> = Vec::new();
        loop {
            thread::sleep(Duration::from_millis(rng.random_range(0..2500)));
            let (victim, signal) = (rng.random_range(0..3), SIGNALS[rng.random_range(0..SIGNALS.len())]);
            let pid = match victim {
                0 => Some(run.pid()),
                1 => run.launcher(),
                _ => run.rank(),
            };
            jobs.extend(run.descendants());
            if let Some(pid) = pid.filter(|_| sent < signals && run.is_running()) {
                say(&format!("{sent}: SIG{signal} to {}", ["the controller", "mpirun", "a rank"][victim]));
                kill(pid, signal);
                sent += 1;
                if victim == 0 && signal == "STOP" {
                    thread::sleep(Duration::from_millis(rng.random_range(0..6000)));
                    kill(pid, "CONT");
                }
            }
            if sent < signals && run.is_running() {
                continue;
            }
            let ran = run.wait();
            wait_for("the end of all jobs", || !jobs.iter().any(Process::is_alive));
            let text = run.text();
            let is_same = text == before;
            assert!(text.starts_with(&before), "something was lost\n{}", ran.stderr);
            // What follows the last line break was not written whole, and will be cut off.
            before = text[..text.rfind('\n').map_or(0, |end| end + 1)].to_owned();
            match ran.code {
                Some(0) => break,
                // A signal, an end in order, or too many failures in a row.
                None | Some(5) => {}
                // A job that looks at the system before anything is measured was hit.
                Some(4) if is_same || !run.out.exists() => {}
                code => panic!("exit code {code:?}\n{}", ran.stderr),
            }
            if run.out.join("manifest.json").exists() {
                run.resume();
            } else {
                assert!(!run.out.exists() || fs::read_dir(&run.out).unwrap().count() <= 1, "{}", ran.stderr);
                let _ = fs::remove_dir_all(&run.out);
                run = Running::start(mpi, scratch.path(), u64::from(campaigns));
            }
        }
        run.check_samples();
        collrules("analyze", &run.out).exits(0);
        let names = fs::read_dir(&run.out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
    campaigns
}

#[test]
#[ignore = "part of `make test-all`"]
fn a_handful_of_signals_is_survived() {
    under_each_release(|mpi| {
        harass(mpi, 4, 11);
    });
}

/// `cargo test --test cli a_hundred_signals -- --ignored --nocapture`
#[test]
#[ignore = "takes many minutes"]
fn long_a_hundred_signals_are_survived() {
    under_each_release(|mpi| {
        let begin = Instant::now();
        let campaigns = harass(mpi, 100, 12);
        let seconds = begin.elapsed().as_secs_f64();
        say(&format!("Open MPI {}: 100 signals, {campaigns} campaigns completed, {seconds:.0} s", mpi.version));
    });
}
