//! `collrules irregular`: calls that sometimes take many times as long, and remedies.

use std::io::Write;
use std::path::PathBuf;

use collrules_record::manifest;
use collrules_record::rundir::{self, RunDir};
use collrules_report::irregular as report;
use collrules_workflow::irregular;

use crate::args::IrregularArgs;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint};
use crate::session::{self, FAILURES};

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
