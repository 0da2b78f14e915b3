//! Going on with a run: with the options that it began with, on the system that it began on.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Display;

use clap::parser::ValueSource;
use clap::{Args as _, CommandFactory, FromArgMatches};
use collrules_record::Manifest;
use collrules_record::rundir::RunDir;

use super::start::Started;
use crate::args::{Args, Command, CriteriaArgs, Launch, Session, Tune, Validation};
use crate::failure::Failure;

/// The options in force: those of the command that began the run, then those of this one. What decides what is
/// measured cannot be changed any more.
pub(super) fn options(manifest: &Manifest) -> Result<Tune, Failure> {
    let now: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    merged(&manifest.command, &now)
}

/// The options that a run began with; none where this version does not know its command.
pub(super) fn begun_with(command: &[String]) -> Option<Tune> {
    let matches = Args::command().try_get_matches_from(command).ok()?;
    match Args::from_arg_matches(&matches).ok()?.command {
        Command::Tune(options) | Command::Measure(options) => Some(options),
        _ => None,
    }
}

fn merged(before: &[String], now: &[String]) -> Result<Tune, Failure> {
    let unusable = |error: clap::Error| Failure::Usage(error.to_string());
    let matches = Args::command().try_get_matches_from(now).map_err(unusable)?;
    let changeable: BTreeSet<String> =
        [Launch::augment_args, CriteriaArgs::augment_args, Session::augment_args, Validation::augment_args]
            .iter()
            .flat_map(|augment| names(&augment(clap::Command::new(""))))
            .collect();
    if let Some((_, given)) = matches.subcommand() {
        let fixed = names(&Tune::augment_args(clap::Command::new("")))
            .into_iter()
            .find(|name| given.value_source(name) == Some(ValueSource::CommandLine) && !changeable.contains(name));
        if let Some(name) = fixed {
            let option = name.replace('_', "-");
            return Err(Failure::Usage(format!(
                "--{option} was decided when the run began; with --resume, only options about launching, decisions and \
                 the session can be given"
            )));
        }
    }
    // Program and subcommand come first; of an option given twice the later one holds.
    let words: Vec<&String> = before.iter().chain(now.iter().skip(2)).collect();
    let command = Args::command().args_override_self(true);
    let parsed = command.try_get_matches_from(words).and_then(|matches| Args::from_arg_matches(&matches));
    match parsed.map(|args| args.command) {
        Ok(Command::Tune(options) | Command::Measure(options)) => Ok(options),
        _ => Err(Failure::Usage(
            "the command that began the run is not one of this collrules; go on with the version that began it"
                .to_owned(),
        )),
    }
}

pub(super) fn names(command: &clap::Command) -> Vec<String> {
    command.get_arguments().map(|argument| argument.get_id().to_string()).collect()
}

/// Samples of one run are compared with each other, so that they have to come from one system.
pub(super) fn refuse_other_system(run: &RunDir, manifest: &Manifest, started: &Started) -> Result<(), Failure> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, then: &dyn Display, now: &dyn Display| {
        let (then, now) = (then.to_string(), now.to_string());
        if then != now {
            differences.push(format!("{what}: {then} then, {now} now"));
        }
    };
    let (then, now) = (&manifest.survey, &started.survey);
    compare("backend", &manifest.backend, &started.backend.name());
    compare("Open MPI", &then.version, &now.version);
    compare("library", &then.library, &now.library);
    compare("slots", &then.slots(), &now.slots());
    compare("hosts of the ranks", &then.hosts.join(" "), &now.hosts.join(" "));
    compare("settings that the rules need", &listed(&manifest.pins), &listed(&started.pins));
    compare("coll_tuned parameters set before", &listed(&then.preset), &listed(&now.preset));
    compare("options of mpirun", &middle(&manifest.launcher), &middle(&started.backend.launcher(&manifest.plan)));
    let parameters = |all: &BTreeMap<String, String>| {
        let set = all.iter().filter(|(name, _)| name.contains("_MCA_"));
        listed(&set.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let environment = super::measure::environment();
    compare("MCA parameters in the environment", &parameters(&manifest.environment), &parameters(&environment));
    if then.algorithms != now.algorithms {
        differences.push("the library lists other algorithms".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::OtherSystem { run: run.path().display().to_string(), differences })
}

fn listed(settings: &BTreeMap<String, String>) -> String {
    if settings.is_empty() {
        return "none".to_owned();
    }
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// A launching command without its two programs, which may lie elsewhere today.
fn middle(command: &[String]) -> String {
    command.get(1..command.len().saturating_sub(1)).unwrap_or_default().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn later_options_hold_and_what_was_decided_stays() {
        let before = words("collrules tune --np 2,4 --min-gain 5 --hang-timeout 9s --out there");
        let options =
            merged(&before, &words("collrules measure --resume there --min-gain 7 --oversubscribe")).expect("reads");
        assert_eq!(options.np.len(), 2);
        assert_eq!((options.criteria.min_gain, options.launch.hang_timeout.0), (0.07, 9.0));
        assert!(options.launch.oversubscribe);
        let refused = merged(&before, &words("collrules tune --resume there --np 8")).expect_err("is another plan");
        assert!(refused.to_string().starts_with("--np was decided when the run began"), "{refused}");
        assert!(merged(&words("other"), &words("collrules tune --resume there")).is_err());
    }
}
