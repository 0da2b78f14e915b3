//! The whole tool where the network decides: hosts as network namespaces, 200 Mbit/s between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use collrules_rules::Collective;

use crate::support::{OpenMpi, Ran, findings, skip, under_each_release};

const STATE: &str = "/run/collrules-virtual-cluster";

/// Not the name that people give their clusters.
const NAME: &str = "test";

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/virtual-cluster")
}

/// A command of the script, bounded in time.
fn virtual_cluster(command: &str, options: &str) -> Command {
    let mut bounded = Command::new("timeout");
    bounded.args(["--kill-after=10", "240"]).arg(script()).args([command, "--name", NAME]);
    bounded.args(options.split_whitespace());
    bounded
}

/// Whether hosts can be had here. Says aloud where not, and why.
fn is_possible() -> bool {
    let ran = Ran::from(virtual_cluster("run", "--hosts 2 -- hostname").output().unwrap());
    // The script says with 4 that the system does not serve; any other failure is its own.
    if ran.code == Some(4) {
        skip(&format!("no virtual cluster here: {}", ran.stderr.trim()));
        return false;
    }
    assert_eq!(ran.exits(0).stdout, format!("{NAME}1\n"));
    true
}

/// `collrules` on the first of several hosts.
fn on_hosts(mpi: &OpenMpi, hosts: &str, arguments: &str, out: &Path) -> Ran {
    let mut command = virtual_cluster("run", hosts);
    command.arg("--").arg(env!("CARGO_BIN_EXE_collrules")).args(arguments.split_whitespace()).arg(out);
    Ran::from(command.arg("--mpirun").arg(mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone())).output().unwrap())
}

/// The builtin never segments a broadcast of 64 KiB or more on so few ranks, and a pipeline keeps all links busy at once.
/// Measured gains are factors of 2 to 6, so that a good deal of noise leaves the verdict alone.
#[test]
fn tuning_pays_where_the_network_is_slow() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let arguments = "tune --ops bcast,scatter,barrier --np 8 --sizes 64K,256K --budget 30s --launches 2 --out";
        let arguments =
            if mpi.is_before(5) { arguments.to_owned() } else { arguments.replace("--out", "--disable-han --out") };
        let ran = on_hosts(mpi, "--hosts 8", &arguments, &out).exits(0);
        ran.says(&format!("Open MPI {} accepts the rules file", mpi.version));
        let findings = findings(&out);
        let gains: Vec<f64> = findings
            .cells
            .iter()
            .filter(|cell| cell.cell.collective == Collective::Bcast && !cell.served.is_builtin())
            .filter_map(|cell| Some(cell.served_gain()?.point))
            .collect();
        assert!(gains.iter().any(|gain| *gain >= 1.3), "{}: {gains:?}\n{}", mpi.version, ran.stdout);
        assert!(fs::read_to_string(out.join("rules.conf")).unwrap().contains("\n7 "), "{}", mpi.version);
    });
}

/// Whatever ends a command, its hosts and all that runs on them are gone soon after.
#[test]
fn nothing_is_left_behind_by_a_killed_run() {
    if !is_possible() {
        return;
    }
    for (signal, wait) in [("KILL", 300), ("TERM", 300), ("KILL", 3000), ("TERM", 3000)] {
        // Directly, without `timeout` between: the signal is for the script.
        let options = ["run", "--name", "killed", "--hosts", "3", "--", "sleep", "1000"];
        let mut running = Command::new(script()).args(options).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        end(&mut running, signal);
        let deadline = Instant::now() + Duration::from_secs(20);
        while members("killed") > 0 || Path::new(STATE).join("killed").exists() {
            assert!(Instant::now() < deadline, "{signal} after {wait} ms leaves {} hosts", members("killed"));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn end(child: &mut Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
}

/// The number of processes that belong to the cluster of this name.
fn members(name: &str) -> usize {
    let marked = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let wanted = format!("COLLRULES_VIRTUAL_CLUSTER={name}");
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    processes.filter(|process| marked(process)).count()
}
