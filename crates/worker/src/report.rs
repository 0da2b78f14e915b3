//! Events, on the standard output of rank 0.

use std::io::{self, Write};

use collrules_runner::wire::{Event, MARK};

use crate::control::Control;

/// Reports an event if this is rank 0.
pub(crate) fn report(control: &Control, event: &Event) {
    if control.is_root() {
        emit(event);
    }
}

/// Writes an event line. Errors are left to `leave_with_controller`: they mean that nobody listens.
pub(crate) fn emit(event: &Event) {
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(event) {
        let _ = writeln!(out, "{MARK}{text}");
        let _ = out.flush();
    }
}
