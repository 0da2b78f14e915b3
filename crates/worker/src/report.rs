//! Events, on the standard output of rank 0.

use std::io::{self, Write};

use collrules_runner::wire::{MARK, WorkerEvent};

use crate::control::Control;

/// Reports an event if this is rank 0.
pub(crate) fn report(control: &Control, event: &WorkerEvent) {
    if control.is_root() {
        emit(event);
    }
}

/// Writes an event line. Errors are left to `leave_with_controller`: they mean that the controller no longer reads.
pub(crate) fn emit(event: &WorkerEvent) {
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(event) {
        let _ = writeln!(out, "{MARK}{text}");
        let _ = out.flush();
    }
}
