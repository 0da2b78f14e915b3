//! `collrules tune`: the complete tuning.

use std::path::PathBuf;

use collrules_record::options::{GridOptions, Request, TuneOptions};
use collrules_workflow::profile::weighted;
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;

use super::begin::begin;
use super::{plan, summary};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::SessionArgs;
use crate::progress::Output;
use crate::session;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) options: TuneOptions,
    /// Tune for programs: measure the calls that take 95 % of their time in collectives, and choose what saves them
    /// most. Profiles of collrules profile, or their directories; may be repeated; FILE:WEIGHT weights them
    // Without a heading, here and below: that of what was flattened before would go on.
    #[arg(
        long,
        value_name = "FILE[:WEIGHT]",
        value_parser = weighted,
        conflicts_with_all = ["collectives", "ranks", "sizes"],
        help_heading = None
    )]
    pub(crate) profile: Vec<(PathBuf, f64)>,
    /// Directory for the run, which must not hold one yet [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Show what would be measured and how long it takes, then stop
    #[arg(long, help_heading = None)]
    pub(crate) dry_run: bool,
    /// Print every verdict, remark and file; with plan or --dry-run, list every point
    #[arg(long, short, help_heading = None)]
    pub(crate) verbose: bool,
    /// Print only errors
    #[arg(long, short, help_heading = None, conflicts_with_all = ["verbose", "json", "dry_run"])]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

impl Tune {
    /// Refuses options that contradict each other.
    pub(crate) fn consistent(&self) -> Result<(), Failure> {
        if !self.options.also_layout.is_empty() && self.options.system.jobs.is_model() {
            return Err(Failure::usage("the ranks of a model have one layout: leave out --also-layout"));
        }
        let GridOptions { collectives, only, .. } = &self.options.grid;
        // What programs call is measured whatever --ops says.
        let missing = only.iter().filter(|_| self.profile.is_empty()).find(|(named, _)| !collectives.contains(named));
        match missing {
            Some((collective, _)) => Err(Failure::usage(format!(
                "--only names an algorithm of {collective}, which is not tuned: add {collective} to --ops"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the form of the output that the session writes while it runs.
    pub(crate) fn output(&self) -> Output {
        if self.quiet { Output::Quiet } else { Output::new(self.session.json) }
    }
}

pub(crate) fn run(args: &Tune) -> Result<Exit, Failure> {
    if args.dry_run {
        return plan::run(args).map(|()| Exit::Done);
    }
    let begin = begin(args)?;
    let published = session::with(args.session.failures, args.output(), |session| tune(&begin, session))?;
    if !args.session.json && !args.quiet {
        summary::print_outcome(&published, args.verbose)?;
    }
    let validates = matches!(&begin.request, Request::Tune(options) if options.validate);
    Ok(exit(&published, validates))
}

/// A tuning without a comparison, at the user's request, is unconfirmed but no failure.
fn exit(published: &Published, validates: bool) -> Exit {
    match &published.validation {
        Some(validation) if validation.loses() => Exit::Slower,
        Some(_) if !published.is_confirmed() => Exit::Unconfirmed,
        None if validates && !published.findings.changes_nothing() => Exit::Unconfirmed,
        _ => Exit::Done,
    }
}
