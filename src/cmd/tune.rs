//! `collrules tune`: all of it.

use collrules_workflow::tune::tune;

use super::{conclude, measure, plan};
use crate::args::Tune;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session;

pub(crate) fn run(args: &Tune) -> Result<Exit, Failure> {
    if args.dry_run {
        return plan::run(args).map(|()| Exit::Done);
    }
    let begin = measure::begin(args)?;
    let published = session::with(args.session.failures, args.output(), |session| tune(&begin, session))?;
    if !args.session.json && !args.quiet {
        conclude::print(&published)?;
    }
    let loses = published.validation.is_some_and(|validation| validation.loses());
    Ok(if loses { Exit::Slower } else { Exit::Done })
}
