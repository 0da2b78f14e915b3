//! Signals that ask for the end.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::exit::Exit;

/// Set once somebody asks for the end by SIGINT (Ctrl-C), SIGTERM or SIGHUP. Whoever asks a second time gets it at once;
/// what was measured is safe then too, and the job ends when it finds nobody listening.
pub(crate) fn flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
            // The order matters: the first signal finds the flag unset. A system that refuses leaves its default.
            let _ = flag::register_conditional_shutdown(signal, i32::from(Exit::Incomplete.code()), Arc::clone(&asked));
            let _ = flag::register(signal, Arc::clone(&asked));
        }
        // A file that may not grow shall be an error of the write, which says what is safe, and not the end.
        let _ = flag::register(SIGXFSZ, Arc::default());
        asked
    });
    Arc::clone(flag)
}

/// Whether this process was started with a signal ignored, as by nohup or in the background of a script: then it is to
/// stay so. Linux tells by a bit mask (proc(5), `/proc/pid/status`); elsewhere the answer is no.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
