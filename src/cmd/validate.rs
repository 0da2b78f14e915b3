//! `collrules validate`: finds sizes that a rules file makes slower, in fresh launches with and without it.

use std::path::PathBuf;

use collrules_record::options::Validating;
use collrules_record::rundir;
use collrules_workflow::{WorkflowError, publish, validate};

use super::profile;
use crate::exit::Exit;
use crate::options::{EventArgs, Given};
use crate::progress::OutputMode;
use crate::screen;
use crate::session::run_in_session;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Options about launching, simulation and timing are those of the run unless they are given.

Exit codes:
  0  the file makes nothing slower; with --repair, after the repair
  5  interrupted before the comparison was complete
  8  the file makes calls slower")]
pub(crate) struct Validate {
    // Read this first: `Given` removes options when read.
    #[command(flatten)]
    pub(crate) given: Given,
    /// A run, with its settings; or a rules file of coll/tuned or coll/han, of a run or any other
    #[arg(value_name = "RUN|RULES")]
    pub(crate) rules: PathBuf,
    /// The rules file of coll/han that is used together with one from elsewhere
    #[arg(long, value_name = "FILE", help_heading = None)]
    pub(crate) han: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: Validating,
    /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) events: EventArgs,
}

pub(crate) fn run(args: &Validate) -> Result<Exit, WorkflowError> {
    let tuning = publish::open(&args.rules, args.han.as_deref())?;
    let (mut options, mut arrivals) = (args.options.clone(), Vec::new());
    // A run is validated with its own options, unless the user gives others.
    if let Some(measured) = validate::as_measured(&tuning)? {
        args.given.refuse_other_jobs(&measured.system.jobs)?;
        options.system = args.given.over(measured.system)?;
        options.timing = args.given.over(measured.timing)?;
        (options.condition, arrivals) = (args.given.over(measured.condition)?, measured.arrivals);
    }
    if let Some(profile) = args.given.profile(&options.condition) {
        arrivals = profile::read_arrivals(profile)?;
    }
    let validated = run_in_session(args.events.failures, OutputMode::new(args.events.json), |session| {
        validate::validate(&tuning, args.rules.is_dir(), &options, arrivals, args.out.as_deref(), session)
    })?;
    let loses = validated.loses();
    if !args.events.json {
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
    Ok(if loses { Exit::SLOWER } else { Exit::DONE })
}
