//! `collrules tune`: the complete tuning.

use std::path::PathBuf;

use clap::ArgAction;
use collrules_record::Layout;
use collrules_record::experiment::Grid;
use collrules_record::options::{Budget, Request, TuneOptions};
use collrules_workflow::profile::weighted;
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;
use collrules_workflow::values::{MOST_LAUNCHES, budget, slowdown};

use super::begin::begin;
use super::{plan, summary};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{
    ConditionArgs, DecisionArgs, Given, GridArgs, Layer, Named, PolicyArgs, RefinementArgs, SearchArgs, SessionArgs,
    SystemArgs, TimingArgs, layer,
};
use crate::progress::Output;
use crate::session;

layer! {
    TuneArgs over TuneOptions {
        #[command(flatten)]
        grid: GridArgs,
        /// Time for the whole command, starting jobs and proving the rules included. `none`: until every message size is
        /// precise or has its maximum of rounds. `rest`: the time left in the batch job, which always limits it
        #[arg(long, value_name = "TIME|none|rest", default_value = "300s", value_parser = budget)]
        budget: Option<Budget>,
        /// Number of launches. An algorithm has to be faster in every launch
        #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
        launches: Option<u32>,
        /// Seed of every random order
        #[arg(long, value_name = "N", default_value = "1")]
        seed: Option<u64>,
        /// Keep timing slow algorithms to the end of every launch
        #[arg(long, action = ArgAction::SetTrue)]
        keep_slow: Option<bool>,
        #[command(flatten)]
        timing: TimingArgs,
        #[command(flatten)]
        condition: ConditionArgs,
        #[command(flatten)]
        criteria: DecisionArgs,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        refinement: RefinementArgs,
        /// Skip the comparison of the rules with the default in fresh launches, and the removal of rules that are slower
        #[arg(long = "no-validate", action = ArgAction::SetFalse, help_heading = "Validation")]
        validate: Option<bool>,
        /// Maximum loss, in percent. A rule is removed if it is shown to lose more in other calls than those that decided
        /// on it; a setting must be shown to lose no more anywhere
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = slowdown, help_heading = "Validation")]
        max_loss: Option<f64>,
        #[command(flatten)]
        settings: SearchArgs,
        /// Measure these layouts as well. One rule then applies to communicators of one size in all layouts, which have the
        /// same weight. The layouts share the budget; nothing is refined
        #[arg(long, value_name = "LAYOUTS", value_delimiter = ',', help_heading = "Launching")]
        also_layout: Option<Vec<Layout>>,
        #[command(flatten)]
        system: SystemArgs,
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) options: Given<TuneArgs>,
    #[command(flatten)]
    pub(crate) named: Named,
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
        let options = TuneOptions::from(self.options.clone());
        if !options.also_layout.is_empty() && options.system.jobs.is_model() {
            return Err(Failure::usage("the ranks of a model have one layout: leave out --also-layout"));
        }
        let Grid { collectives, only, .. } = &options.grid;
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
        _ if published.loses_by_settings() => Exit::Slower,
        Some(validation) if validation.loses() => Exit::Slower,
        Some(_) if !published.is_confirmed() => Exit::Unconfirmed,
        None if validates && !published.findings.changes_nothing() => Exit::Unconfirmed,
        _ => Exit::Done,
    }
}
