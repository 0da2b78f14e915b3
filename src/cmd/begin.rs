//! The experiment of `tune`, `measure` and `plan`, from their command line.

use std::path::PathBuf;

use clap::FromArgMatches;
use collrules_record::condition::Arrival;
use collrules_record::experiment::Experiment;
use collrules_record::manifest;
use collrules_record::options::{Request, TuneOptions};
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::profile;

use super::tune::Tune;
use crate::args::Given;
use crate::failure::Failure;
use crate::progress::say;

/// The experiment of these options, or that of a resumed run, with the options that may be changed.
pub(super) fn begin(args: &Tune) -> Result<Begin, Failure> {
    let Some(run) = &args.session.resume else {
        args.consistent()?;
        // The name has the time, so that calls do not collide.
        let default = || PathBuf::from(format!("collrules-run-{}", manifest::stamp()));
        return new(args, args.out.clone().unwrap_or_else(default));
    };
    let (mut begin, given) = (Begin::recorded(run)?, Given::here());
    match &mut begin.request {
        Request::Tune(options) => {
            **options = resumed(options.as_ref().clone(), &given)?;
            let Experiment { grid, arrivals, .. } = begin.experiment;
            begin.experiment = Experiment { arrivals, ..options.experiment(grid.weights) };
        }
        _ => {
            refuse_decided(&given)?;
            let updated = begin.experiment.system.update_from_arg_matches(&given.matches);
            updated.map_err(|error| Failure::usage(error.to_string()))?;
        }
    }
    Ok(begin)
}

/// The options of a resumed run: those that decide on the measurements stay, others may be changed.
fn resumed(mut before: TuneOptions, given: &Given) -> Result<TuneOptions, Failure> {
    refuse_decided(given)?;
    before.update_from_arg_matches(&given.matches).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(before)
}

/// Refuses options that decide on the measurements.
fn refuse_decided(given: &Given) -> Result<(), Failure> {
    const FREE: [&str; 4] = ["Launching", "Decisions", "Validation", "Session"];
    const ABOUT_OUTPUT: [&str; 3] = ["dry_run", "verbose", "quiet"];
    let decided = given.arguments().find(|argument| {
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
    let options = args.options.clone();
    let (mut weights, mut arrivals) = (Vec::new(), Vec::new());
    if !args.profile.is_empty() {
        let mut tell = |sentence: &str| {
            if !args.quiet && !args.session.json {
                say(sentence);
            }
        };
        (weights, arrivals) = profile::weigh(&args.profile, &options, &mut tell)?;
    }
    if options.condition.arrival == Arrival::Profile {
        arrivals = profile::read_arrivals(&Given::here().arrival())?;
    }
    let is_free = !weights.is_empty() && Given::here().arguments().all(|argument| argument.get_id() != "layout");
    let place = if is_free { RunPlace::NewInBestLayout(out) } else { RunPlace::New(out) };
    let experiment = Experiment { arrivals, ..options.experiment(weights) };
    Ok(Begin { experiment, request: Request::Tune(Box::new(options)), place })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use collrules_record::Seconds;
    use collrules_record::options::{self, Jobs};

    use super::*;
    use crate::args::Args;

    #[test]
    fn what_was_decided_stays_and_what_is_said_anew_holds() {
        let words = "--np 2,4 --min-gain 5 --hang-timeout 9s --keep-slow --assume commutative-ops --safety strict";
        let before: TuneOptions = options::read(words.split(' ')).expect("reads");
        let given = |line: &str| Given::from_words(Args::command(), line.split(' ')).expect("is a command line");
        let now = given("collrules tune --resume there --min-gain 7 --oversubscribe --no-validate");
        let resumed_as = resumed(before.clone(), &now).expect("may be changed");
        let mut expected = before.clone();
        (expected.criteria.min_gain, expected.system.oversubscribe, expected.validate) = (0.07, true, false);
        assert_eq!(resumed_as, expected);
        let Jobs::Mpi(launching) = resumed_as.system.jobs else { panic!("nothing is simulated") };
        assert_eq!(launching.hang_timeout, Seconds(9.0));
        for decided in ["--np 2", "--safety standard", "--refine-np", "--simulate=noise", "--sync barrier", "--out x"] {
            let now = given(&format!("collrules tune --resume there {decided}"));
            let refused = resumed(before.clone(), &now).expect_err("would be another plan").to_string();
            let name = decided.split([' ', '=']).next().unwrap_or_default();
            assert!(refused.starts_with(&format!("{name} cannot be changed for this run")), "{refused}");
        }
    }
}
