//! Signals that request an end.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::exit::Exit;

/// Returns the flag that SIGINT (Ctrl-C), SIGTERM or SIGHUP sets to request an end. A second signal ends the program at
/// once; the measurements are saved then too, and the job ends when nothing reads its output.
pub(crate) fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
            // The order matters: the first signal finds the flag unset. If the system refuses, the default remains.
            let _ = flag::register_conditional_shutdown(signal, i32::from(Exit::INCOMPLETE.0), Arc::clone(&asked));
            let _ = flag::register(signal, Arc::clone(&asked));
        }
        // A write beyond the file size limit should fail, not end the program: the error names the saved files.
        let _ = flag::register(SIGXFSZ, Arc::default());
        asked
    });
    Arc::clone(flag)
}

/// Returns true if this process was started with a signal ignored, as by nohup or in the background of a script: then
/// it stays ignored. Linux reports it in a bit mask (proc(5), `/proc/pid/status`); elsewhere the result is false.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
