//! Session of a workflow that the command line starts.

use collrules_workflow::start::start;
use collrules_workflow::{Event, Session};

use crate::interrupt;
use crate::progress::{OutputMode, Reporter};

/// Maximum number of failed launches if no option sets it.
pub(crate) const FAILURES: u32 = 20;

/// Runs a workflow, whose events go to a reporter.
pub(crate) fn run_in_session<T>(failures: u32, output: OutputMode, run: impl FnOnce(&mut Session<'_>) -> T) -> T {
    let mut reporter = Reporter::new(output);
    let mut watch = |event: Event<'_>| reporter.see(&event);
    run(&mut Session { stop: interrupt::flag(), failures, command: command_line(), start: &start, watch: &mut watch })
}

/// The command line of this process, as manifests have it.
pub(crate) fn command_line() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Like [`run_in_session`], for workflows that start no campaign.
pub(crate) fn plain<T>(run: impl FnOnce(&mut Session<'_>) -> T) -> T {
    run_in_session(0, OutputMode::Text, run)
}
