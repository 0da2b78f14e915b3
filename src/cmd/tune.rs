//! `collrules tune`: the complete tuning.

use collrules_record::options::Request;
use collrules_workflow::WorkflowError;
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;

use super::begin::{Tune, begin};
use super::summary;
use crate::exit::Exit;
use crate::session::run_in_session;

pub(crate) fn run(args: &Tune) -> Result<Exit, WorkflowError> {
    let begin = begin(args)?;
    let published = run_in_session(args.session.events.failures, args.output(), |session| tune(&begin, session))?;
    if !args.session.events.json && !args.quiet {
        summary::print_outcome(&published, args.verbose)?;
    }
    let validates = matches!(&begin.request, Request::Tune(options) if options.validate);
    Ok(exit(&published, validates))
}

/// A tuning without a comparison, at the user's request, is unconfirmed but no failure.
pub(super) fn exit(published: &Published, validates: bool) -> Exit {
    match &published.validation {
        _ if published.loses_by_settings() => Exit::SLOWER,
        Some(validation) if validation.loses() => Exit::SLOWER,
        Some(_) if !published.is_confirmed() => Exit::UNCONFIRMED,
        None if validates && !published.findings.changes_nothing() => Exit::UNCONFIRMED,
        _ if published.needs_time().is_some() => Exit::UNDECIDED,
        _ => Exit::DONE,
    }
}
