//! The experiment of `tune`, `measure` and `plan`, from their command line.

use std::path::PathBuf;

use clap::{Args, Command};
use collrules_record::experiment::Experiment;
use collrules_record::options::{Request, TuneOptions};
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::profile;

use super::tune::Tune;
use crate::failure::Failure;
use crate::options::{Layer, Named, named_or_new};
use crate::progress::say;

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
