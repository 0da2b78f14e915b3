//! `collrules`: tunes Open MPI's coll/tuned.

mod args;
mod cmd;
mod exit;
mod interrupt;
mod options;
mod progress;
mod screen;
mod session;

use std::io::{self, Write};
use std::process::ExitCode;

use collrules_report::plain;
use collrules_workflow::WorkflowError;

use crate::exit::Exit;
use crate::screen::{TextStyle, paint};

fn main() -> ExitCode {
    collrules_record::ask::tell_waiting(progress::say);
    let result = match args::parse() {
        Ok(args) => args.command.run(),
        // Help and version go to standard output.
        Err(said) if !said.use_stderr() => said.print().map(|()| Exit::DONE).map_err(WorkflowError::Stdout),
        Err(wrong) => wrong.exit(),
    };
    let lost = |exit| progress::lost().map_or(Ok(exit), |cause| Err(WorkflowError::Stdout(cause)));
    let exit = result.and_then(lost).unwrap_or_else(|failure| {
        report_failure(&failure);
        Exit::from(&failure)
    });
    exit.into()
}

/// Reports an error on standard error.
fn report_failure(failure: &WorkflowError) {
    if matches!(failure, WorkflowError::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe) {
        // A user who closes the pipe, as with `head`, has read enough.
        return;
    }
    // Without standard error nothing is left to do. The message may quote a file, so it must not control the terminal.
    let said = failure.to_string().lines().map(plain::printable_line).collect::<Vec<_>>().join("\n");
    let text = screen::logged("collrules: ", &said);
    let text = text.strip_prefix("collrules:").unwrap_or(&text);
    let _ = writeln!(screen::stderr(), "{}{text}", paint(TextStyle::Bad, "collrules:"));
}
