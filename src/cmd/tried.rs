//! `collrules try`: whether a tuning makes a program faster, or the profiler makes it slower.

use collrules_record::tried::FILE;
use collrules_workflow::{tried, validate};

use crate::args::Try;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &Try) -> Result<Exit, Failure> {
    let opened = args.rules.as_deref().map(|rules| validate::open(rules, None)).transpose()?;
    let out = args.out.clone().unwrap_or_else(tried::default_home);
    let tried = session::plain(|session| tried::try_program(opened.as_ref(), &args.trying, &out, session))?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = collrules_report::tried::text(&tried, screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(if tried.loses() { Exit::Slower } else { Exit::Done })
}
