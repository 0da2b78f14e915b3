//! `collrules measure`: plans, or resumes a run, and measures.

use std::path::PathBuf;

use clap::CommandFactory;
use clap::parser::ValueSource;
use collrules_record::manifest;
use collrules_workflow::campaign::{self, Begin};

use super::plan;
use crate::args::{Args, Tune};
use crate::failure::Failure;
use crate::progress::say;
use crate::session;

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    if args.dry_run {
        return plan::run(args);
    }
    let begin = begin(args)?;
    let measured = session::with(args.session.failures, args.output(), |session| campaign::measure(&begin, session))?;
    if args.quiet {
        return Ok(());
    }
    let run = measured.run().path().display();
    say(&format!(
        "`collrules tune --resume {run}` makes the rules and proves them, `collrules analyze {run}` needs no MPI"
    ));
    Ok(())
}

/// Where the campaign begins: with these options, or with those of a run and what of these may change them.
pub(super) fn begin(args: &Tune) -> Result<Begin, Failure> {
    let Some(run) = &args.session.resume else {
        args.consistent()?;
        // Named after the time, so that one call does not get in the way of another.
        let default = || PathBuf::from(format!("collrules-run-{}", manifest::stamp()));
        return Ok(Begin::New { tuning: args.tuning(), out: args.out.clone().unwrap_or_else(default) });
    };
    let before = campaign::options_of(run)?;
    let matches = Args::command().get_matches();
    let said = |name: &str| {
        let given = matches.subcommand().map(|(_, given)| given);
        given.is_some_and(|given| given.value_source(name) == Some(ValueSource::CommandLine))
    };
    Ok(Begin::Resume { run: run.clone(), tuning: args.resuming(before, &said)? })
}
