//! `collrules validate`: finds sizes that a rules file makes slower, in fresh launches with and without it.

use std::path::PathBuf;

use collrules_record::criteria::Middle;
use collrules_record::options::{Budget, MOST_PAIRS, PAIRS, Validating};
use collrules_record::plan::DeployWay;
use collrules_record::rundir;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::Collective;
use collrules_workflow::values::{budget, collectives, communicators, percent, sizes, slowdown};
use collrules_workflow::{profile, publish, validate};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::{ConditionArgs, Given, List, SystemArgs, TimingArgs, arguments, words};
use crate::progress::Output;
use crate::{screen, session};

arguments! {
    #[command(
        after_help = "Exit code: 0 if the file makes nothing slower (with --repair: after the repair), 8 if it does. For \
                      a rules file of a run, the sizes that were tuned are compared, and options about launching, \
                      simulation and timing are those of the run unless they are given."
    )]
    Validate {
        /// A run, whose settings are then compared as well, with the rules that are named with them; or a rules file, of a
        /// run or any other, also one of coll/han alone
        #[arg(value_name = "RUN|RULES")]
        rules: PathBuf,
        /// The rules file of coll/han beside one from elsewhere: both are put in force together
        #[arg(long, value_name = "FILE", help_heading = None)]
        han: Option<PathBuf>,
    } => Validating {
        /// Collectives to compare, separated by commas, or all [default: those that the file has rules for]
        #[arg(long = "ops", value_name = "LIST", value_parser = collectives)]
        collectives: Option<List<Collective>>,
        /// Communicator sizes, as for tune [default: those of the run; for other files the powers of two up to the
        /// available slots, and the slots]
        #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
        ranks: List<Ranks>,
        /// Message sizes [default: those of the run and sizes between them; for other files both ends and the middle of each
        /// of its ranges]
        #[arg(long, value_name = "SIZES", value_parser = sizes)]
        sizes: Option<List<Bytes>>,
        /// Pairs of launches, one without and one with the file; undecided sizes get more while there is time
        #[arg(long, value_name = "N", default_value_t = PAIRS, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_PAIRS)))]
        pairs: u32,
        /// Time for the whole command, half of it for the settings of a run that has some; with --repair, 60 % of the rest
        /// for the first comparison, and repaired rules are compared again while there is time. With `none`, each launch goes on until every size is precise or has its maximum of
        /// rounds
        #[arg(long, value_name = "TIME|none", default_value = "60s", value_parser = budget)]
        budget: Budget,
        /// Differences, in percent, that count as none
        #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
        min_difference: f64,
        /// Maximum loss in percent: of a rule in other calls than those that decided on it, and of any size with settings
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = slowdown)]
        max_loss: f64,
        /// Statistic to compare [default: that of the run; for other files the median]
        #[arg(long = "statistic", value_parser = words!(
            Middle,
            "Their median, in which rare slow calls do not count",
            "Their mean, in which they do",
        ))]
        middle: Option<Middle>,
        /// Maximum share of wrong verdicts among those of faster and slower, in percent (false discovery rate)
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        error_rate: f64,
        /// Method of passing the file's settings to launches
        #[arg(long, value_name = "HOW", default_value = "environment", value_parser = words!(
            DeployWay,
            "By variables in mpirun's environment, as env.sh sets them",
            "By options of mpirun",
        ))]
        deploy: DeployWay,
        /// Remove rules that are slower, write the file again, prove it and compare it again, until nothing is slower; and
        /// settings that make something slower
        #[arg(long)]
        repair: bool,
        /// Seed of every random order
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        timing: Given<TimingArgs>,
        #[command(flatten)]
        condition: Given<ConditionArgs>,
        #[command(flatten)]
        system: Given<SystemArgs>,
    } {
        /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
        #[arg(long, value_name = "DIR", help_heading = None)]
        out: Option<PathBuf>,
        /// Report what happens as JSON, one event per line on standard output
        #[arg(long, help_heading = None)]
        json: bool,
        /// Give up after this many launches that failed for no known reason
        #[arg(long, value_name = "N", default_value_t = 20, help_heading = None)]
        failures: u32,
    }
}

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let tuning = publish::open(&args.rules, args.han.as_deref())?;
    let (mut options, mut arrivals) = (args.resolve(), Vec::new());
    // A run is validated with its own options, unless the user gives others.
    if let Some(measured) = validate::as_measured(&tuning)? {
        args.system.0.jobs.refuse_others(&measured.system.jobs)?;
        options.system = args.system.over(measured.system);
        options.timing = args.timing.over(measured.timing);
        (options.condition, arrivals) = (args.condition.over(measured.condition), measured.arrivals);
    }
    if let Some(profile) = args.condition.0.profile() {
        arrivals = profile::read_arrivals(profile)?;
    }
    let validated = session::with(args.failures, Output::new(args.json), |session| {
        validate::validate((tuning, args.rules.is_dir()), (&options, arrivals), args.out.as_deref(), session)
    })?;
    let loses = validated.loses();
    if !args.json {
        let rules = validated.validation.iter().map(|validation| {
            (collrules_report::validation::document(validation, validated.release), rundir::VALIDATION)
        });
        let whole =
            validated.settings.iter().map(|found| (collrules_report::settings::document(found), rundir::SETTINGS));
        for (document, file) in rules.chain(whole) {
            let file = validated.home.file(file);
            screen::print(&format!("{}\nAll numbers: {}", document.text(screen::width()), file.display()))?;
        }
    }
    Ok(if loses { Exit::Slower } else { Exit::Done })
}
