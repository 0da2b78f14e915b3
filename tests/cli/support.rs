//! Running the program, and finding the releases of Open MPI to run it under.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
#[cfg(feature = "mpi")]
use std::sync::{Condvar, LazyLock, Mutex};

use collrules_record::findings::Findings;
use collrules_rules::{Behaviour, Release, RuleTable, load};
#[cfg(feature = "mpi")]
use collrules_runner::mpi::worker::{linked_library, list_interfaces, name_worker};

/// A finished program.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Fails with everything that was said unless the exit code is this one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Fails unless standard error says this, however its lines are broken.
    #[track_caller]
    pub(crate) fn complains(&self, text: &str) {
        let words = self.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(self.stderr.contains(text) || words.contains(text), "`{text}` is not in:\n{}", self.stderr);
    }

    /// Fails unless standard output says this, however its lines are broken.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        let words = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(text), "`{text}` is not in:\n{}", self.stdout);
    }
}

/// `collrules`, bounded in time so that a job that hangs fails its test and no other.
pub(crate) fn bounded() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "240"]).arg(env!("CARGO_BIN_EXE_collrules")).env_remove("COLUMNS");
    prepare(&mut command);
    command
}

/// `collrules` with arguments separated by blanks, and one more that may hold blanks, and with room for tables.
pub(crate) fn collrules(arguments: &str, last: &Path) -> Ran {
    bounded().env("COLUMNS", "100").args(arguments.split_whitespace()).arg(last).output().unwrap().into()
}

/// Components that look for networks which jobs on one host don't need. In 5.0 that takes a second per start of a job, in
/// 4.1 half of one.
const NO_NETWORKS: [(&str, &str); 3] = [("pml", "^ucx,cm"), ("mtl", "^ofi"), ("btl", "^uct,openib,ofi")];

/// Undoes that.
#[cfg(feature = "mpi")]
pub(crate) fn with_networks(command: &mut Command) -> &mut Command {
    for (framework, _) in NO_NETWORKS {
        command.env_remove(format!("OMPI_MCA_{framework}"));
    }
    command
}

/// Returns the options of mpirun that leave out networks, for tests that start jobs themselves.
#[cfg(feature = "mpi")]
pub(crate) fn no_networks() -> String {
    NO_NETWORKS.map(|(framework, components)| format!("--mca {framework} {components}")).join(" ")
}

/// Tests run as root where continuous integration does; Open MPI wants to hear that this is meant. In a terminal
/// that is said to be dumb, faults are framed in ASCII.
pub(crate) fn prepare(command: &mut Command) {
    command.env_remove("TERM");
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
    }
    for (framework, components) in NO_NETWORKS {
        command.env(format!("OMPI_MCA_{framework}"), components);
    }
}

/// The findings that a directory holds.
pub(crate) fn findings(directory: &Path) -> Findings {
    serde_json::from_str(&fs::read_to_string(directory.join("findings.json")).unwrap()).unwrap()
}

/// Returns the meaning of a rules file for a release.
pub(crate) fn means(file: &Path, release: Release) -> RuleTable {
    let text = fs::read(file).unwrap();
    load(&text, &Behaviour::latest(release)).unwrap().to_table()
}

/// A file of the test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Says aloud that a test does nothing, past the capture of the test runner.
pub(crate) fn skip(why: &str) {
    say(&format!("skipped: {why}"));
}

/// Writes a line to standard error past the harness, which shows what `eprintln!` writes only where a test fails.
pub(crate) fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns true if several hosts can be had here, from the end of a script that makes them: it ends with 4 if the
/// system cannot provide them, and for no other reason; any other failure is its own. Says aloud if not; in continuous
/// integration they have to be there.
#[cfg(feature = "mpi")]
pub(crate) fn has_hosts(ran: &Ran) -> bool {
    let has = ran.code != Some(4);
    if !has {
        let why = ran.stderr.trim();
        assert!(std::env::var_os("CI").is_none(), "several hosts are to be tested: {why}");
        skip(&format!("no virtual hosts here: {why}"));
    }
    has
}

/// An installation of Open MPI.
#[cfg(feature = "mpi")]
pub(crate) struct OpenMpi {
    pub(crate) mpirun: PathBuf,
    /// As in `4.1.4`.
    pub(crate) version: String,
}

#[cfg(feature = "mpi")]
impl OpenMpi {
    fn at(mpirun: PathBuf) -> Option<Self> {
        let output = Command::new(&mpirun).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.lines().next()?.split_once("(Open MPI) ")?.1.trim().to_owned();
        Some(Self { mpirun, version })
    }

    /// The worker that fits: the one that `cargo test` builds, or one that `collrules worker build` put next to it.
    pub(crate) fn worker(&self) -> PathBuf {
        let own = PathBuf::from(env!("CARGO_BIN_EXE_collrules-worker"));
        let names = list_interfaces(&self.mpirun);
        let others = names.iter().map(|library| own.with_file_name(name_worker(library))).filter(|file| file.is_file());
        let mut fitting = std::iter::once(own.clone()).chain(others);
        let fits = |file: &PathBuf| linked_library(file).is_some_and(|library| names.contains(&library));
        fitting.find(fits).unwrap_or(own)
    }

    /// The compiler whose programs run under this installation: that in PATH, as the worker of `cargo test`, or else its own.
    pub(crate) fn compiler(&self, name: &str) -> PathBuf {
        let names = list_interfaces(&self.mpirun);
        let library = linked_library(Path::new(env!("CARGO_BIN_EXE_collrules-worker")));
        let fits = names.is_empty() || library.is_none_or(|library| names.contains(&library));
        if fits { PathBuf::from(name) } else { self.mpirun.with_file_name(name) }
    }

    /// The family of its version.
    pub(crate) fn release(&self) -> Release {
        self.version.parse().unwrap()
    }

    pub(crate) fn is_before(&self, major: u32) -> bool {
        self.version.split('.').next().and_then(|first| first.parse::<u32>().ok()).is_some_and(|first| first < major)
    }

    /// A subcommand under this installation, with arguments separated by blanks, and one more that may hold blanks.
    pub(crate) fn collrules(&self, arguments: &str, last: &Path) -> Command {
        let mut command = bounded();
        command.args(arguments.split_whitespace()).arg(last).arg("--mpirun").arg(&self.mpirun);
        command
    }
}

/// Places for jobs that run at the same time: they wait for starts, ends and time limits more than they compute.
#[cfg(feature = "mpi")]
static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let all = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    Places { all, state: Mutex::new((all, 0)), changed: Condvar::new() }
});

/// Places for jobs; who wants all of them goes before who wants one.
#[cfg(feature = "mpi")]
struct Places {
    all: usize,
    /// Free places, and how many wait for all of them.
    state: Mutex<(usize, usize)>,
    changed: Condvar,
}

#[cfg(feature = "mpi")]
struct Taken(usize);

#[cfg(feature = "mpi")]
impl Places {
    fn take(&self, alone: bool) -> Taken {
        let wanted = if alone { self.all } else { 1 };
        let mut state = self.state.lock().unwrap();
        state.1 += usize::from(alone);
        while state.0 < wanted || (!alone && state.1 > 0) {
            state = self.changed.wait(state).unwrap();
        }
        state.0 -= wanted;
        state.1 -= usize::from(alone);
        Taken(wanted)
    }
}

#[cfg(feature = "mpi")]
impl Drop for Taken {
    fn drop(&mut self) {
        PLACES.state.lock().unwrap().0 += self.0;
        PLACES.changed.notify_all();
    }
}

/// The variable that names other installations for the tests: their directories, separated by colons.
#[cfg(feature = "mpi")]
const INSTALLATIONS: &str = "COLLRULES_OPENMPI";

/// The variable that asks for two releases: `make test-all` sets it. `both` are for each test, `either` is one for each test,
/// told by its name, so that half of the tests run under each.
#[cfg(feature = "mpi")]
const RELEASES: &str = "COLLRULES_RELEASES";

/// The installations of Open MPI that tests run under: those that [`INSTALLATIONS`] names, or else the one in PATH, with
/// [`RELEASES`] also the one that `make test-all` puts into the target directory. Says aloud if there is none; in
/// continuous integration all have to be there, and what is named has to be there always.
#[cfg(feature = "mpi")]
fn installations() -> Vec<OpenMpi> {
    if let Some(named) = std::env::var_os(INSTALLATIONS).filter(|named| !named.is_empty()) {
        let found = std::env::split_paths(&named).map(|directory| {
            let mpirun = std::path::absolute(directory.join("bin/mpirun")).unwrap();
            OpenMpi::at(mpirun).unwrap_or_else(|| panic!("no Open MPI in {} ({INSTALLATIONS})", directory.display()))
        });
        return found.collect();
    }
    let second = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/openmpi-5.0.11/bin/mpirun");
    let mut wanted = vec![PathBuf::from("mpirun")];
    wanted.extend(std::env::var_os(RELEASES).map(|_| second));
    let asked = wanted.len();
    let found: Vec<OpenMpi> = wanted.into_iter().filter_map(OpenMpi::at).collect();
    if std::env::var_os("CI").is_some() {
        assert!(found.len() == asked, "all releases of Open MPI that are asked for are to be tested");
    }
    if found.is_empty() {
        skip("no Open MPI found");
    }
    found
}

/// The installations for a test that runs under each release that it is about.
#[cfg(feature = "mpi")]
fn installations_of_test(is_about: fn(&OpenMpi) -> bool) -> Vec<OpenMpi> {
    let mut all = installations();
    all.retain(is_about);
    let is_named = std::env::var_os(INSTALLATIONS).is_some_and(|named| !named.is_empty());
    if std::env::var(RELEASES).as_deref() == Ok("either") && !is_named && all.len() > 1 {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        all = vec![all.swap_remove(name.len() % all.len())];
    }
    all
}

/// Runs a test under each installation, side by side, and beside other tests: for those that judge no times.
#[cfg(feature = "mpi")]
pub(crate) fn under_each_release(test: impl Fn(&OpenMpi) + Sync) {
    under_each_release_that(|_| true, test);
}

/// Like [`under_each_release`], for a test about some releases.
#[cfg(feature = "mpi")]
pub(crate) fn under_each_release_that(is_about: fn(&OpenMpi) -> bool, test: impl Fn(&OpenMpi) + Sync) {
    let installations = installations_of_test(is_about);
    let test = &test;
    std::thread::scope(|scope| {
        let run = |installation| {
            scope.spawn(move || {
                let _place = PLACES.take(false);
                test(installation);
            })
        };
        let runs: Vec<_> = installations.iter().map(run).collect();
        for run in runs {
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// Runs a test beside others.
#[cfg(feature = "mpi")]
pub(crate) fn beside_others<T>(test: impl FnOnce() -> T) -> T {
    let _place = PLACES.take(false);
    test()
}

/// Runs a test under the first installation: for what does not depend on the release.
#[cfg(feature = "mpi")]
pub(crate) fn under_one_release(test: impl Fn(&OpenMpi)) {
    beside_others(|| installations().first().into_iter().for_each(test));
}

/// Runs a test while no other job runs: for those that judge times, or bring up what there is once.
#[cfg(feature = "mpi")]
pub(crate) fn alone<T>(test: impl FnOnce() -> T) -> T {
    let _places = PLACES.take(true);
    test()
}

/// Runs a test under each installation, one after the other, [`alone`].
#[cfg(feature = "mpi")]
pub(crate) fn alone_under_each_release(test: impl Fn(&OpenMpi)) {
    alone_under_each_release_that(|_| true, test);
}

/// Like [`alone_under_each_release`], for a test about some releases.
#[cfg(feature = "mpi")]
pub(crate) fn alone_under_each_release_that(is_about: fn(&OpenMpi) -> bool, test: impl Fn(&OpenMpi)) {
    alone(|| installations_of_test(is_about).iter().for_each(test));
}

/// Runs a test under the first installation, [`alone`].
#[cfg(feature = "mpi")]
pub(crate) fn alone_under_one_release(test: impl Fn(&OpenMpi)) {
    alone(|| installations().first().into_iter().for_each(test));
}
