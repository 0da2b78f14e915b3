//! Connects calls with the recorder; begins and ends recording.

use std::env;
use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread;

use collrules_record::profile::Mode;
use collrules_record::profile::rank::{DIRECTORY, IMBALANCE, RankRecord};
use collrules_rules::Operation;

use super::Comm;
use super::mpi::{Mpi, number_of};
use super::next;
use super::passed::Passed;
use crate::communicators::LiveCommunicator;
use crate::leave::{RecordFile, leave_foreign, leave_session};
use crate::recorder::{OtherCall, Recorder, inside, is_inside};
use crate::table::{ANY_GROUP, CallFacts, CallKey};

/// State behind the definitions.
struct Hook {
    mpi: Mpi,
    recorder: Recorder,
    place: RecordFile,
    /// The attribute key of the numbers stored with communicators.
    key: Option<c_int>,
}

static HOOK: OnceLock<Hook> = OnceLock::new();

/// True if calls are counted: between init and finalize.
static COUNTING: AtomicBool = AtomicBool::new(false);

#[inline]
fn hook() -> Option<&'static Hook> {
    if COUNTING.load(Acquire) { HOOK.get() } else { None }
}

/// Calls a collective, and counts it if counting is on.
#[inline]
pub(super) fn collective(
    operation: Operation,
    mode: Mode,
    comm: Comm,
    passed: impl FnOnce(&Mpi, &LiveCommunicator) -> Passed,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(hook) = hook().filter(|hook| !is_inside() && hook.mpi.is_communicator(comm)) else { return call() };
    let counted = inside(|| {
        let known = hook.recorder.communicators.find(comm.addr() as u64).or_else(|| hook.meet(comm));
        // What a communicator between two groups passes depends on the side, and rules don't act on it.
        let passed =
            known.filter(|known| !known.is_between_groups()).map_or(Passed::NOTHING, |known| passed(&hook.mpi, known));
        let group = known.map_or(ANY_GROUP, LiveCommunicator::group);
        let key = CallKey { group, operation, mode, flags: passed.flags };
        let seen = CallFacts { key, bytes: passed.bytes, root: passed.root, passed: passed.mixed };
        hook.recorder.collective(known, seen, || hook.mpi.barrier(comm), call)
    });
    counted.unwrap_or(-1)
}

/// Makes any other call, and counts it if counting is on.
#[inline]
pub(super) fn other_call(what: OtherCall, call: impl FnOnce() -> c_int) -> c_int {
    match hook() {
        Some(hook) if !is_inside() => inside(|| hook.recorder.other_call(what, call)).unwrap_or(-1),
        _ => call(),
    }
}

impl Hook {
    /// Registers a communicator that is not in the cache.
    #[cold]
    fn meet(&self, comm: Comm) -> Option<&LiveCommunicator> {
        let (handle, communicators) = (comm.addr() as u64, &self.recorder.communicators);
        let key = self.key?;
        if let Some(number) = self.mpi.stored_number(comm, key) {
            return Some(communicators.numbered(handle, number));
        }
        let (number, known) = communicators.admit(handle, &self.mpi.describe(comm)?)?;
        self.mpi.keep(comm, key, number);
        Some(known)
    }
}

/// Called when MPI frees a communicator with a number of ours.
unsafe extern "C" fn freed(_: Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    if let (Some(hook), Some(number)) = (HOOK.get(), number_of(value)) {
        hook.recorder.communicators.forget(number);
    }
    0
}

/// Notes an MPI session: without `MPI_COMM_WORLD`, its communicators cannot be distinguished.
pub(super) fn begin_session() {
    if let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) {
        leave_session(&directory);
    }
}

/// Starts counting after MPI was initialized, if `collrules profile` asks for it.
pub(super) fn begin() {
    let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let Some(mpi) = Mpi::find() else {
        leave_foreign(&directory, &other_library());
        return;
    };
    let Some((ranks, rank)) = mpi.size_and_rank(mpi.world()) else { return };
    let imbalance = env::var(IMBALANCE).ok().and_then(|every| every.parse().ok()).filter(|every| *every > 0);
    let spawned = mpi.is_spawned();
    // Both launchers of Open MPI name the job; without a name the process tells spawned ones apart.
    let named =
        ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_STEP_ID"].into_iter().find_map(|name| env::var(name).ok());
    let unnamed = || if spawned { format!("{}-{}", mpi.host(), std::process::id()) } else { String::new() };
    let job = named.unwrap_or_else(unnamed);
    let process = RankRecord {
        job,
        spawned,
        program: env::args_os().next().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        library: mpi.library(),
        host: mpi.host(),
        rank: rank.unsigned_abs(),
        ranks,
        imbalance,
        ..RankRecord::default()
    };
    let place = RecordFile::new(&directory, &process.job, process.rank);
    let key = mpi.key(freed);
    let hook = HOOK.get_or_init(|| Hook { mpi, recorder: Recorder::new(process), place, key });
    COUNTING.store(true, Release);
    let _ = hook.place.leave(&hook.recorder, false);
    keep_leaving(hook);
}

/// Starts the thread that writes from time to time; it blocks all signals.
fn keep_leaving(hook: &'static Hook) {
    // SAFETY: signal sets are plain numbers, for which zero is a value.
    let (mut all, mut before) = unsafe { (std::mem::zeroed::<libc::sigset_t>(), std::mem::zeroed::<libc::sigset_t>()) };
    // SAFETY: both are valid places; threads take over the mask of who starts them.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let _ = thread::Builder::new()
        .name("collrules".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || hook.place.keep_leaving(&hook.recorder));
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
}

/// Counts the processes that a communicator started, on its root alone.
pub(super) fn started(comm: Comm, root: c_int, processes: impl Iterator<Item = c_int>) {
    if let Some(hook) = hook()
        && hook.mpi.size_and_rank(comm).is_some_and(|(_, rank)| rank == root)
    {
        hook.recorder.start(processes.filter_map(|count| u64::try_from(count).ok()).sum());
    }
}

/// Notes that the program is about to finalize MPI.
pub(super) fn finalize() {
    if let Some(hook) = hook() {
        COUNTING.store(false, Relaxed);
        hook.recorder.finalize();
        let _ = hook.place.leave(&hook.recorder, true);
    }
}

/// Writes the record of a program that ends without finalizing MPI, or aborts.
pub(super) fn end() {
    if let Some(hook) = hook() {
        let _ = hook.place.leave(&hook.recorder, false);
    }
}

/// Returns the version string of an MPI other than Open MPI.
fn other_library() -> String {
    let function = next::function(c"PMPI_Get_library_version");
    if function.is_null() {
        return String::new();
    }
    // Longer than any library's longest name: MPICH has 8192.
    let mut text = vec![0u8; 65_536];
    let mut length: c_int = 0;
    // SAFETY: every MPI has this function with these arguments, and the room for the text is longer than what it writes.
    unsafe {
        let ask = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut u8, *mut c_int) -> c_int>(function);
        ask(text.as_mut_ptr(), &raw mut length);
    }
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs at the end of the process, called by the loader.
extern "C" fn at_exit() {
    end();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
