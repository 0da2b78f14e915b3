//! The experiment of `tune`, `measure` and `plan`, from their command line.

use std::path::PathBuf;

use clap::{Args, Command};
use collrules_record::criteria::Criteria;
use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{Launching, Request, SystemOptions, TuneOptions};
use collrules_record::rundir::RunDir;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::{Begin, RunPlace};

use super::profile::{self, weighted};
use crate::options::{Given, SessionArgs, declares, named_or_new};
use crate::progress::{OutputMode, say};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Tune {
    // Read this first: `Given` removes options when read.
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(flatten)]
    pub(crate) options: TuneOptions,
    /// Tune for programs: measure the calls with 95 % of their time in collectives, and choose what saves them most. A
    /// profile of `collrules profile`; may be repeated
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
    /// Print every verdict, remark and file; with plan, list every point
    #[arg(long, short, help_heading = None)]
    pub(crate) verbose: bool,
    /// Print only errors
    #[arg(long, short, help_heading = None, conflicts_with_all = ["verbose", "json"])]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

impl Tune {
    /// Refuses options that contradict each other.
    pub(crate) fn consistent(&self) -> Result<(), WorkflowError> {
        let options = &self.options;
        if !options.also_layout.is_empty() && options.system.jobs.is_model() {
            return Err(WorkflowError::usage("the ranks of a model have one layout: leave out --also-layout"));
        }
        let Grid { collectives, only, .. } = &options.grid;
        // What programs call is measured whatever --ops says.
        let missing = only.iter().filter(|_| self.profile.is_empty()).find(|(named, _)| !collectives.contains(named));
        match missing {
            Some((collective, _)) => Err(WorkflowError::usage(format!(
                "--only names an algorithm of {collective}, which is not tuned: add {collective} to --ops"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the form of the output that the session writes while it runs.
    pub(crate) fn output(&self) -> OutputMode {
        if self.quiet { OutputMode::Quiet } else { OutputMode::new(self.session.events.json) }
    }
}

/// The experiment of these options, or that of a resumed run, with the options that may be changed.
pub(super) fn begin(args: &Tune) -> Result<Begin, WorkflowError> {
    let Some(run) = &args.session.resume else {
        args.consistent()?;
        // Better known before jobs start.
        args.out.as_deref().map_or(Ok(()), RunDir::refuse_used)?;
        return new(args, named_or_new(args.out.as_deref(), "run"));
    };
    let mut begin = Begin::recorded(run)?;
    refuse_decided(&args.given)?;
    args.given.refuse_other_jobs(&begin.experiment.system.jobs)?;
    match &mut begin.request {
        Request::Tune(options) => {
            **options = args.given.over(options.as_ref().clone())?;
            let Experiment { grid, arrivals, .. } = begin.experiment;
            begin.experiment = Experiment { arrivals, ..options.experiment(grid.weights) };
        }
        _ => begin.experiment.system = args.given.over(begin.experiment.system)?,
    }
    Ok(begin)
}

/// Refuses options that decide on the measurements.
fn refuse_decided(given: &Given) -> Result<(), WorkflowError> {
    let tune = Tune::augment_args(Command::new("tune"));
    let decided = tune.get_arguments().find(|it| given.has(it.get_id().as_str()) && !may_change(it.get_id().as_str()));
    decided.map_or(Ok(()), |argument| {
        Err(WorkflowError::usage(format!(
            "--{} cannot be changed for this run; start a new one with --out (--resume accepts --budget and options \
             about launching, decisions and the session)",
            argument.get_long().unwrap_or_default(),
        )))
    })
}

/// Returns true if an option may differ when a run is resumed: it decides on nothing that was measured. More time allows a
/// decision on undecided rules.
fn may_change(id: &str) -> bool {
    const FREE: [&str; 6] = ["budget", "validate", "max_loss", "also_layout", "verbose", "quiet"];
    FREE.contains(&id)
        || (id != "layout" && declares::<SystemOptions<Launching>>(id))
        || declares::<Criteria>(id)
        || declares::<SessionArgs>(id)
}

/// The experiment of options and profiles, in a new directory.
pub(super) fn new(args: &Tune, out: PathBuf) -> Result<Begin, WorkflowError> {
    let options = &args.options;
    let (mut weights, mut arrivals) = (Vec::new(), Vec::new());
    if !args.profile.is_empty() {
        let mut tell = |sentence: &str| {
            if !args.quiet && !args.session.events.json {
                say(sentence);
            }
        };
        (weights, arrivals) = profile::weigh(&args.profile, options, &mut tell)?;
    }
    if let Some(profile) = args.given.profile(&options.condition) {
        arrivals = profile::read_arrivals(profile)?;
    }
    let is_free = !weights.is_empty() && !args.given.has("layout");
    let place = if is_free { RunPlace::NewInBestLayout(out) } else { RunPlace::New(out) };
    let experiment = Experiment { arrivals, ..options.experiment(weights) };
    Ok(Begin { experiment, request: Request::Tune(Box::new(options.clone())), place })
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;
    use collrules_record::Seconds;
    use collrules_record::options::Jobs;

    use super::*;

    fn tune(words: &str) -> Tune {
        let matches = Tune::augment_args(Command::new("tune")).get_matches_from(words.split(' '));
        Tune::from_arg_matches(&matches).expect("is a command line")
    }

    #[test]
    fn what_was_decided_stays_and_what_is_said_anew_holds() {
        let words = "tune --np 2,4 --min-gain 5 --hang-timeout 9s --keep-slow --assume commutative-ops --safety strict";
        let before = tune(words).options;
        let now = tune("tune --resume there --min-gain 7 --oversubscribe --no-validate");
        refuse_decided(&now.given).expect("may be changed");
        let resumed_as = now.given.over(before.clone()).expect("was parsed");
        let mut expected = before;
        (expected.criteria.min_gain, expected.system.oversubscribe, expected.validate) = (0.07, true, false);
        assert_eq!(resumed_as, expected);
        let Jobs::Mpi(launching) = resumed_as.system.jobs else { panic!("nothing is simulated") };
        assert_eq!(launching.hang_timeout, Seconds(9.0));
        let decided = [
            "--np 2",
            "--safety standard",
            "--refine-np",
            "--simulate=noise",
            "--sync barrier",
            "--layout spread",
            "--out x",
        ];
        for decided in decided {
            let now = tune(&format!("tune --resume there {decided}"));
            let refused = refuse_decided(&now.given).expect_err("would be another plan").to_string();
            let name = decided.split([' ', '=']).next().unwrap_or_default();
            assert!(refused.starts_with(&format!("{name} cannot be changed for this run")), "{refused}");
        }
    }
}
