//! `collrules`: tunes Open MPI's coll/tuned.

mod args;
mod cmd;
mod exit;
mod failure;
mod interrupt;
mod options;
mod progress;
mod screen;
mod session;

use std::io::{self, Write};
use std::process::ExitCode;

use collrules_report::plain;

use crate::args::Command;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{TextStyle, paint};

fn main() -> ExitCode {
    let result = match args::parse() {
        Ok(args) => run(args.command),
        // Help and version go to standard output.
        Err(said) if !said.use_stderr() => said.print().map(|()| Exit::Done).map_err(Failure::Stdout),
        Err(wrong) => wrong.exit(),
    };
    let lost = |exit| progress::lost().map_or(Ok(exit), |cause| Err(Failure::Stdout(cause)));
    let exit = result.and_then(lost).unwrap_or_else(|failure| {
        tell(&failure);
        failure.exit()
    });
    exit.into()
}

fn run(command: Command) -> Result<Exit, Failure> {
    let done = |()| Exit::Done;
    match command {
        Command::Tune(tune) => cmd::tune::run(&tune),
        Command::Measure(tune) => cmd::measure::run(&tune).map(done),
        Command::Plan(tune) => cmd::plan::run(&tune).map(done),
        Command::Analyze(analyze) => cmd::analyze::run(&analyze).map(done),
        Command::Tree(tree) => cmd::tree::run(&tree).map(done),
        Command::Report(report) => cmd::report::run(&report).map(done),
        Command::Import(import) => cmd::import::run(&import).map(done),
        Command::Verify(verify) => cmd::verify::run(&verify).map(done),
        Command::Validate(validate) => cmd::validate::run(&validate),
        Command::Doctor(doctor) => cmd::doctor::run(&doctor),
        Command::Settings(settings) => cmd::settings::run(&settings).map(done),
        Command::Worker(worker) => cmd::worker::run(&worker).map(done),
        Command::Check(check) => cmd::check::run(&check),
        Command::Explain(explain) => cmd::explain::run(&explain).map(done),
        Command::Convert(convert) => cmd::convert::run(&convert).map(done),
        Command::Diff(diff) => cmd::diff::run(&diff),
        Command::Guidelines(guidelines) => cmd::guidelines::run(&guidelines),
        Command::Bench(bench) => cmd::bench::run(&bench),
        Command::Irregular(irregular) => cmd::irregular::run(&irregular).map(done),
        Command::Model(model) => cmd::model::run(&model),
        Command::Study(study) => cmd::study::run(&study).map(done),
        Command::Profile(profile) => cmd::profile::run(&profile),
        Command::Try(tried) => cmd::ab_test::run(&tried),
        Command::Merge(merge) => cmd::merge::run(&merge).map(done),
        Command::Drift(drift) => cmd::drift::run(&drift),
        Command::Install(install) => cmd::install::run(&install).map(done),
        Command::Installed(installed) => cmd::installed::run(&installed),
        Command::Port(port) => cmd::port::run(&port),
        Command::Submit(submit) => cmd::submit::run(&submit).map(done),
        Command::Status(status) => cmd::status::run(&status).map(done),
        Command::Watch(watch) => cmd::status::watch(&watch).map(done),
        Command::Completions(completions) => cmd::completions::run(&completions).map(done),
        Command::Man(man) => cmd::man::run(&man).map(done),
    }
}

/// Reports an error on standard error.
fn tell(failure: &Failure) {
    if matches!(failure, Failure::Stdout(cause) if cause.kind() == io::ErrorKind::BrokenPipe) {
        // A user who closes the pipe, as with `head`, has read enough.
        return;
    }
    // Without standard error nothing is left to do. The message may quote a file, so it must not control the terminal.
    let said = failure.to_string().lines().map(plain::line).collect::<Vec<_>>().join("\n");
    let text = screen::logged("collrules: ", &said);
    let text = text.strip_prefix("collrules:").unwrap_or(&text);
    let _ = writeln!(screen::stderr(), "{}{text}", paint(TextStyle::Bad, "collrules:"));
}
