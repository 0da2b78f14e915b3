//! `collrules try`: whether a tuning makes a program faster.

use collrules_record::tried::FILE;
use collrules_workflow::{tried, validate};

use crate::args::Try;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &Try) -> Result<Exit, Failure> {
    let opened = validate::open(&args.rules)?;
    let out = args.out.clone().unwrap_or_else(tried::default_home);
    let tried = session::plain(|session| tried::try_program(&opened, &args.trying, &out, session))?;
    if args.json {
        screen::raw((serde_json::to_string_pretty(&tried)? + "\n").as_bytes())?;
    } else {
        let text = collrules_report::tried::text(&tried, screen::width());
        screen::print(&format!("{text}\nAll numbers: {}", out.join(FILE).display()))?;
    }
    Ok(if tried.loses() { Exit::Slower } else { Exit::Done })
}
