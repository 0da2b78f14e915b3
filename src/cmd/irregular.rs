//! `collrules irregular`: calls that sometimes take many times as long, and remedies.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use collrules_record::manifest;
use collrules_record::options::Irregularity;
use collrules_record::rundir::{self, RunDir};
use collrules_report::irregular as report;
use collrules_workflow::irregular;

use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint};
use crate::session::{self, FAILURES};

#[derive(Debug, Args)]
#[command(
    after_help = "Stalls are calls that take several times as long as usual, all by about the same; on TCP they are \
timeouts for retransmission. A median does not show them."
)]
pub(crate) struct IrregularArgs {
    /// Measure nothing: look at the calls of this run, of whichever command
    #[arg(value_name = "RUN")]
    pub(crate) input: Option<PathBuf>,
    /// Directory for what is measured, and for irregular.html, irregular.md, irregular.json and hmpi.h [default:
    /// collrules-irregular-DATE-TIME where something is measured]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) irregularity: Irregularity,
}

pub(crate) fn run(args: &IrregularArgs) -> Result<(), Failure> {
    let (run, found) = match &args.input {
        Some(input) => {
            let found = irregular::of_run(input)?;
            let run = match &args.out {
                Some(out) => RunDir::prepare_derived(out)?,
                None => RunDir::open(input)?,
            };
            (run, found)
        }
        None => {
            let default = || PathBuf::from(format!("collrules-irregular-{}", manifest::stamp()));
            let out = args.out.clone().unwrap_or_else(default);
            session::with(FAILURES, Output::new(args.json), |session| {
                irregular::measured(&args.irregularity, &out, session)
            })?
        }
    };
    irregular::write(&run, &found)?;
    if args.json {
        return writeln!(std::io::stdout(), "{}", serde_json::to_string(&found)?).map_err(Failure::Stdout);
    }
    let mut text = report::text(&found, screen::width());
    text += &format!("\n{}\n", paint(TextStyle::Heading, &format!("Files in {}:", run.path().display())));
    let functions = report::header(&found).map(|_| (rundir::HMPI, "gathers and scatters in pieces, for programs in C"));
    let files = [
        (rundir::IRREGULAR_PAGE, "times by size for every alternative, and all distributions"),
        (rundir::IRREGULAR_TEXT, "the same as text"),
        (rundir::IRREGULAR, "all of it for programs"),
    ];
    for (name, what) in files.into_iter().chain(functions) {
        text += &format!("  {name:<14}  {what}\n");
    }
    screen::print(&text)
}
