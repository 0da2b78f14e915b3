//! `collrules measure`: plans, or resumes a run, and measures.

use std::path::PathBuf;

use clap::FromArgMatches;
use collrules_record::manifest;
use collrules_record::options::Tuning;
use collrules_workflow::campaign::{self, Begin};

use super::plan;
use crate::args::{Given, Tune};
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
        return Ok(Begin::New { tuning: plan::tuning(args)?, out: args.out.clone().unwrap_or_else(default) });
    };
    let tuning = resumed(campaign::options_of(run)?, &Given::here())?;
    Ok(Begin::Resume { run: run.clone(), tuning })
}

/// The options of a run that is resumed: what decides what is measured stays, the rest may be said anew.
fn resumed(mut before: Tuning, given: &Given) -> Result<Tuning, Failure> {
    const FREE: [&str; 4] = ["Launching", "Decisions", "Validation", "Session"];
    const ABOUT_OUTPUT: [&str; 3] = ["dry_run", "verbose", "quiet"];
    let decided = given.arguments().find(|argument| {
        let free = argument.get_help_heading().is_some_and(|heading| FREE.contains(&heading));
        !free && !ABOUT_OUTPUT.contains(&argument.get_id().as_str())
    });
    if let Some(argument) = decided {
        return Err(Failure::usage(format!(
            "--{} was decided when the run began; with --resume, only options about launching, decisions and the \
             session can be given",
            argument.get_long().unwrap_or_default(),
        )));
    }
    before.update_from_arg_matches(&given.matches).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(before)
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
        let before: Tuning = options::read(words.split(' ')).expect("reads");
        let given = |line: &str| Given::of(Args::command(), line.split(' ')).expect("is a command line");
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
            assert!(refused.starts_with(&format!("{name} was decided when the run began")), "{refused}");
        }
    }
}
