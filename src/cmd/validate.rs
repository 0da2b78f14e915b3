//! `collrules validate`: finds sizes that a rules file makes slower, in fresh launches with and without it.

use std::path::PathBuf;

use clap::FromArgMatches;
use collrules_record::condition::Arrival;
use collrules_record::experiment::Experiment;
use collrules_record::options::Validating;
use collrules_record::rundir;
use collrules_workflow::{profile, tuning, validate};

use crate::args::Given;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if the file makes nothing slower (with --repair: after the repair), 8 if it does. For \
                  a rules file of a run, the sizes that were tuned are compared, and options about launching, \
                  simulation and timing are those of the run unless they are given."
)]
pub(crate) struct Validate {
    /// The rules file: that of a run (or the run's directory), or any other, also one of coll/han alone
    #[arg(value_name = "RULES")]
    pub(crate) rules: PathBuf,
    /// The rules file of coll/han beside one from elsewhere: both are put in force together
    #[arg(long, value_name = "FILE", help_heading = None)]
    pub(crate) han: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) validating: Validating,
    /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = None)]
    pub(crate) failures: u32,
}

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let tuning = tuning::open(&args.rules, args.han.as_deref())?;
    let (mut options, mut arrivals, given) = (args.validating.clone(), Vec::new(), Given::here());
    // A run is validated with its own options, unless the user gives others.
    if let Some(Experiment { mut system, mut timing, mut condition, arrivals: known, .. }) =
        validate::as_measured(&tuning)?
    {
        let updated = system
            .update_from_arg_matches(&given.matches)
            .and_then(|()| timing.update_from_arg_matches(&given.matches))
            .and_then(|()| condition.update_from_arg_matches(&given.matches));
        updated.map_err(|error| Failure::usage(error.to_string()))?;
        (options.system, options.timing, options.condition, arrivals) = (system, timing, condition, known);
    }
    if args.validating.condition.arrival == Arrival::Profile {
        arrivals = profile::read_arrivals(&given.arrival())?;
    }
    let validated = session::with(args.failures, Output::new(args.json), |session| {
        validate::validate(tuning, (&options, arrivals), args.out.as_deref(), session)
    })?;
    if !args.json {
        let text = collrules_report::validation::text(&validated.validation, validated.release);
        let file = validated.home.file(rundir::VALIDATION);
        screen::print(&format!("{text}\nAll numbers: {}", file.display()))?;
    }
    Ok(if validated.validation.loses() { Exit::Slower } else { Exit::Done })
}
