//! `collrules try`: A/B test of a tuning, or of the profiler, on a program.

use std::path::PathBuf;

use collrules_record::options::Budget;
use collrules_record::values::{budget, percent};
use collrules_rules::settings::request::RequestedSetting;
use collrules_tuner::results::ab_test::{FILE, OutputComparison};
use collrules_workflow::ab_test::Trying;
use collrules_workflow::{ab_test, publish};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::arguments;
use crate::{screen, session};

arguments! {
    #[command(
        after_help = "Exit code: 0 unless the program is shown to be slower with the tuning (or the profiler), 8 if it is. The runs take turns \
    (without, with, with, without, and so on), so that drift favours neither side."
    )]
    Try {
        /// The rules file: that of a run (or the run's directory), or any other
        #[arg(value_name = "RULES|RUN", required_unless_present_any = ["profiler", "settings"], conflicts_with = "profiler")]
        rules: Option<PathBuf>,
    } => Trying {
        /// Maximum number of pairs of runs, one without and one with the tuning; stops earlier if the answer is clear
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=1000))]
        pairs: u32,
        /// Time for all of it; begins no pair that would not end in time
        #[arg(long, value_name = "TIME|none", default_value = "none", value_parser = budget)]
        budget: Budget,
        /// Differences, in percent, that do not count
        #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
        min_difference: f64,
        /// Maximum probability of a wrong verdict of faster or slower, in percent, over all looks at the pairs
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        error_rate: f64,
        /// Compare a number that the program prints, instead of the wall time: a regular expression, whose first group (or all
        /// of it) is the number. The last match counts, and lower is better
        #[arg(long, value_name = "REGEX")]
        metric: Option<String>,
        /// Higher is better
        #[arg(long, requires = "metric")]
        higher_is_better: bool,
        /// Compare this output file of the program byte by byte (- for its standard output): does the tuning change results?
        #[arg(long, value_name = "FILE")]
        same_output: Option<PathBuf>,
        /// Shell command that runs before each run, to restore what a run changes
        #[arg(long, value_name = "COMMAND")]
        setup: Option<String>,
        /// Run the program twice more with the profiler, for its time in collectives without and with the tuning
        #[arg(long, conflicts_with = "profiler")]
        collectives: bool,
        /// Try this setting, with a tuning or alone: NAME=VALUE with an MCA parameter, or with env: and an environment
        /// variable. May be repeated
        #[arg(id = "settings", long = "setting", value_name = "NAME=VALUE", conflicts_with = "profiler")]
        settings: Vec<RequestedSetting>,
        /// Try the profiler instead of a tuning: measures what `collrules profile` costs this program
        #[arg(long)]
        profiler: bool,
        /// The library to preload for these [default: libcollrules_profile.so next to collrules, or in the lib directory
        /// next to it]
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
        /// The command that starts the program: mpirun or srun with all its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    } {
        /// Directory for try.json and the output of each run [default: collrules-try-DATE-TIME]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    }
}

pub(crate) fn run(args: &Try) -> Result<Exit, Failure> {
    let tuning = args.rules.as_deref().map(publish::open_whole).transpose()?;
    let out = args.out.clone().unwrap_or_else(ab_test::default_home);
    let tried = session::plain(|session| ab_test::try_program(tuning.as_ref(), &args.resolve(), &out, session))?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = collrules_report::ab_test::document(&tried).text(screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(match tried.compare_written() {
        _ if tried.loses() => Exit::Slower,
        Some(OutputComparison::Different) => Exit::Problems,
        _ => Exit::Done,
    })
}
