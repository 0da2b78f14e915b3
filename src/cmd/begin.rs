//! The experiment of `tune`, `measure` and `plan`, from their command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, Command};
use collrules_record::Layout;
use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{Budget, Request, TuneOptions};
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::profile::{self, weighted};
use collrules_workflow::values::{MOST_LAUNCHES, budget, slowdown};

use crate::failure::Failure;
use crate::options::{
    ConditionArgs, DecisionArgs, Given, GridArgs, Layer, Named, PolicyArgs, RefinementArgs, SearchArgs, SessionArgs,
    SystemArgs, TimingArgs, layer, named_or_new,
};
use crate::progress::{Output, say};

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

/// The experiment of these options, or that of a resumed run, with the options that may be changed.
pub(super) fn begin(args: &Tune) -> Result<Begin, Failure> {
    let Some(run) = &args.session.resume else {
        args.consistent()?;
        return new(args, named_or_new(args.out.as_deref(), "run"));
    };
    let mut begin = Begin::recorded(run)?;
    refuse_decided(&args.named)?;
    args.options.0.system.jobs.refuse_others(&begin.experiment.system.jobs)?;
    match &mut begin.request {
        Request::Tune(options) => {
            **options = args.options.over(options.as_ref().clone());
            let Experiment { grid, arrivals, .. } = begin.experiment;
            begin.experiment = Experiment { arrivals, ..options.experiment(grid.weights) };
        }
        _ => begin.experiment.system = args.options.0.system.clone().over(begin.experiment.system),
    }
    Ok(begin)
}

/// Refuses options that decide on the measurements.
fn refuse_decided(named: &Named) -> Result<(), Failure> {
    const FREE: [&str; 4] = ["Launching", "Decisions", "Validation", "Session"];
    const ABOUT_OUTPUT: [&str; 3] = ["dry_run", "verbose", "quiet"];
    let tune = Tune::augment_args(Command::new("tune"));
    let given = tune.get_arguments().filter(|argument| named.0.iter().any(|id| argument.get_id() == id.as_str()));
    let decided = given.into_iter().find(|argument| {
        let free = argument.get_help_heading().is_some_and(|heading| FREE.contains(&heading));
        // More time allows a decision on undecided rules.
        let free = free || argument.get_id() == "budget";
        !free && !ABOUT_OUTPUT.contains(&argument.get_id().as_str())
    });
    decided.map_or(Ok(()), |argument| {
        Err(Failure::usage(format!(
            "--{} cannot be changed for this run; start a new one with --out (--resume accepts --budget and options \
             about launching, decisions and the session)",
            argument.get_long().unwrap_or_default(),
        )))
    })
}

/// The experiment of options and profiles, in a new directory.
pub(super) fn new(args: &Tune, out: PathBuf) -> Result<Begin, Failure> {
    let options = TuneOptions::from(args.options.clone());
    let (mut weights, mut arrivals) = (Vec::new(), Vec::new());
    if !args.profile.is_empty() {
        let mut tell = |sentence: &str| {
            if !args.quiet && !args.session.json {
                say(sentence);
            }
        };
        (weights, arrivals) = profile::weigh(&args.profile, &options, &mut tell)?;
    }
    if let Some(profile) = args.options.0.condition.profile() {
        arrivals = profile::read_arrivals(profile)?;
    }
    let is_free = !weights.is_empty() && args.options.0.system.layout.is_none();
    let place = if is_free { RunPlace::NewInBestLayout(out) } else { RunPlace::New(out) };
    let experiment = Experiment { arrivals, ..options.experiment(weights) };
    Ok(Begin { experiment, request: Request::Tune(Box::new(options)), place })
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;
    use collrules_record::Seconds;
    use collrules_record::options::{Jobs, TuneOptions};

    use super::*;

    fn tune(words: &str) -> Tune {
        let matches = Tune::augment_args(Command::new("tune")).get_matches_from(words.split(' '));
        Tune::from_arg_matches(&matches).expect("is a command line")
    }

    #[test]
    fn what_was_decided_stays_and_what_is_said_anew_holds() {
        let words = "tune --np 2,4 --min-gain 5 --hang-timeout 9s --keep-slow --assume commutative-ops --safety strict";
        let before: TuneOptions = tune(words).options.into();
        let now = tune("tune --resume there --min-gain 7 --oversubscribe --no-validate");
        refuse_decided(&now.named).expect("may be changed");
        let resumed_as = now.options.over(before.clone());
        let mut expected = before;
        (expected.criteria.min_gain, expected.system.oversubscribe, expected.validate) = (0.07, true, false);
        assert_eq!(resumed_as, expected);
        let Jobs::Mpi(launching) = resumed_as.system.jobs else { panic!("nothing is simulated") };
        assert_eq!(launching.hang_timeout, Seconds(9.0));
        for decided in ["--np 2", "--safety standard", "--refine-np", "--simulate=noise", "--sync barrier", "--out x"] {
            let now = tune(&format!("tune --resume there {decided}"));
            let refused = refuse_decided(&now.named).expect_err("would be another plan").to_string();
            let name = decided.split([' ', '=']).next().unwrap_or_default();
            assert!(refused.starts_with(&format!("{name} cannot be changed for this run")), "{refused}");
        }
    }
}
