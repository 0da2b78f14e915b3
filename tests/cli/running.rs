//! A campaign under way, with its processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{OpenMpi, Ran, prepare};

/// A process; the time of its start tells it from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    start: String,
    pub(crate) command: String,
}

/// State, parent and start of a process.
fn stat(pid: u32) -> Option<(String, u32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.first()?.to_string(), fields.get(1)?.parse().ok()?, fields.get(19)?.to_string()))
}

impl Process {
    pub(crate) fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|(state, _, start)| start == self.start && state != "Z" && state != "X")
    }
}

/// Returns true if there is a process of this number that did not end.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, ..)| state != "Z" && state != "X")
}

/// A campaign that runs for some seconds, and the directory that it writes to.
pub(crate) struct Running {
    child: Option<Child>,
    mpirun: PathBuf,
    scratch: PathBuf,
    pub(crate) out: PathBuf,
}

impl Running {
    /// Begins a campaign.
    pub(crate) fn start(mpi: &OpenMpi, scratch: &Path, seed: u64) -> Self {
        let out = scratch.join(format!("run{seed}"));
        let mut run = Self { child: None, mpirun: mpi.mpirun.clone(), scratch: scratch.to_owned(), out };
        let mut command = run.bare();
        let calls = "--ops bcast,allreduce --np 2,4 --sizes 4,1K,64K --oversubscribe --launches 2";
        // Whichever comes first: on a busy machine so many calls may take minutes.
        let bounds = "--budget 240s --calls 10";
        command.arg("measure").args(calls.split(' ')).args(bounds.split(' '));
        command.args(["--hang-timeout", "4s", "--failures", "1000", "--seed", &seed.to_string(), "--mpirun"]);
        command.arg(&run.mpirun).arg("--out").arg(&run.out);
        run.spawn(command);
        run
    }

    /// Begins a comparison of a rules file with the default.
    pub(crate) fn compare(mpi: &OpenMpi, scratch: &Path, rules: &Path) -> Self {
        let out = scratch.join("compared");
        let mut run = Self { child: None, mpirun: mpi.mpirun.clone(), scratch: scratch.to_owned(), out };
        let mut command = run.bare();
        command.arg("validate").arg(rules).args(["--np", "2", "--pairs", "1000", "--budget", "240s", "--mpirun"]);
        command.arg(&run.mpirun).arg("--out").arg(&run.out);
        run.spawn(command);
        run
    }

    fn bare(&self) -> Command {
        // Not under `timeout`: signals go to this process. What it may take is bounded by `wait_for`.
        let mut command = Command::new(env!("CARGO_BIN_EXE_collrules"));
        prepare(&mut command);
        // What killed jobs leave behind in shared memory and elsewhere goes with the directory of the test.
        command.env("TMPDIR", &self.scratch);
        command.env("OMPI_MCA_btl_vader_backing_directory", &self.scratch);
        command.env("OMPI_MCA_btl_sm_backing_directory", &self.scratch);
        command
    }

    /// A command that goes on with the run.
    pub(crate) fn collrules(&self, subcommand: &str) -> Command {
        let mut command = self.bare();
        command.arg(subcommand).arg("--resume").arg(&self.out);
        command
    }

    fn spawn(&mut self, mut command: Command) {
        // Pipes that are not read would block a process that says much.
        let said = fs::File::create(self.scratch.join("said")).unwrap();
        command.stdout(Stdio::null()).stderr(said);
        self.child = Some(command.spawn().unwrap());
    }

    /// Goes on with the run.
    pub(crate) fn resume(&mut self) {
        self.spawn(self.collrules("measure"));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until there are more samples than this; fails with what the controller said if it ends before.
    #[track_caller]
    pub(crate) fn await_samples(&mut self, count: usize) {
        wait_for("samples", || {
            if !self.is_running() && self.samples() <= count {
                let ran = self.wait();
                panic!("it ended with {:?} before it had {count} samples\n{}", ran.code, ran.stderr);
            }
            self.samples() > count
        });
    }

    /// Waits for the end, and says how it was.
    pub(crate) fn wait(&mut self) -> Ran {
        wait_for("the end of the controller", || !self.is_running());
        let status = self.child.take().unwrap().wait().unwrap();
        let stderr = fs::read_to_string(self.scratch.join("said")).unwrap();
        Ran { code: status.code(), stdout: String::new(), stderr }
    }

    /// Waits for a good end.
    #[track_caller]
    pub(crate) fn complete(&mut self) {
        self.wait().exits(0);
    }

    /// The samples file.
    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.out.join("samples.csv")).unwrap_or_default()
    }

    /// Lines with samples.
    pub(crate) fn samples(&self) -> usize {
        self.text().lines().count().saturating_sub(2)
    }

    /// The processes that descend from the controller.
    pub(crate) fn descendants(&self) -> Vec<Process> {
        let all: Vec<u32> = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
            .collect();
        let mut parents: Vec<u32> = self.child.iter().map(Child::id).collect();
        let mut found = Vec::new();
        while let Some(parent) = parents.pop() {
            for pid in &all {
                if let Some((_, _, start)) = stat(*pid).filter(|(_, its, _)| *its == parent) {
                    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    let command = String::from_utf8_lossy(&command).replace('\0', " ");
                    found.push(Process { pid: *pid, start, command });
                    parents.push(*pid);
                }
            }
        }
        found
    }

    /// The process that started the job.
    pub(crate) fn launcher(&self) -> Option<u32> {
        self.descendants().into_iter().find(|process| process.command.contains("run ")).map(|process| process.pid)
    }

    /// A rank of the job, the last one found.
    pub(crate) fn rank(&self) -> Option<u32> {
        let is_rank = |process: &&Process| {
            process.command.split(' ').next().is_some_and(|program| program.contains("/collrules-worker"))
        };
        self.descendants().iter().rev().find(is_rank).map(|process| process.pid)
    }

    /// Fails unless the run is complete: the first launch has times, none is there twice, and no candidate was blamed for what
    /// came from outside.
    #[track_caller]
    pub(crate) fn check_samples(&self) {
        let journal = fs::read_to_string(self.out.join("launches.jsonl")).unwrap();
        let entries: Vec<serde_json::Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let planned_of: BTreeMap<u64, u64> = entries
            .iter()
            .filter_map(|entry| Some((entry["begun"]["launch"].as_u64()?, entry["begun"]["planned"].as_u64()?)))
            .collect();
        let begun = entries.iter().filter(|entry| !entry["begun"].is_null()).count();
        assert_eq!(planned_of.len(), begun, "a launch number was used twice");
        let mut seen = BTreeSet::new();
        let mut cells: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for line in self.text().lines().skip(2) {
            let fields: Vec<&str> = line.splitn(11, ',').collect();
            assert_eq!(fields.len(), 11, "{line}");
            // An algorithm may be wrong in place: see conditions.rs.
            let is_blamed = fields[10].contains("disqualified") && !fields[10].ends_with("in place");
            assert!(!is_blamed, "blamed for nothing: {line}");
            if fields[10].is_empty() {
                assert!(seen.insert(fields[..7].join(",")), "there twice: {line}");
                let launch: u64 = fields[0].parse().unwrap();
                cells.entry(planned_of[&launch]).or_default().insert(fields[3..6].join(","));
            }
        }
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(self.out.join("manifest.json")).unwrap()).unwrap();
        let name = |cell: &serde_json::Value| {
            format!("{},{},{}", cell["collective"].as_str().unwrap(), cell["ranks"], cell["bytes"])
        };
        let planned: BTreeSet<String> =
            manifest["plan"]["cells"].as_array().unwrap().iter().map(|planned| name(&planned["cell"])).collect();
        // Starts and stops use the budget up: sizes that a decision has no time for are not begun.
        assert!(cells.get(&0).is_some_and(|first| !first.is_empty()), "the first launch takes place in any case");
        assert!(cells.values().all(|seen| seen.is_subset(&planned)), "{cells:?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A test that failed; the job ends when its reader is gone.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a signal; who is gone already needs none.
pub(crate) fn kill(pid: u32, signal: &str) {
    let _ = Command::new("kill").args(["-s", signal, &pid.to_string()]).stderr(Stdio::null()).status();
}

#[track_caller]
pub(crate) fn wait_for(what: &str, mut happens: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !happens() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
