//! `collrules try`: A/B test of a tuning, or of the profiler, on a program.

use collrules_record::ab_test::{FILE, OutputComparison};
use collrules_workflow::{ab_test, tuning};

use crate::args::Try;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &Try) -> Result<Exit, Failure> {
    let tuning = args.rules.as_deref().map(|rules| tuning::open(rules, None)).transpose()?;
    let out = args.out.clone().unwrap_or_else(ab_test::default_home);
    let tried = session::plain(|session| ab_test::try_program(tuning.as_ref(), &args.trying, &out, session))?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = collrules_report::ab_test::text(&tried, screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(match tried.compare_written() {
        _ if tried.loses() => Exit::Slower,
        Some(OutputComparison::Different) => Exit::Problems,
        _ => Exit::Done,
    })
}
