//! `collrules measure`: plans, or resumes a run, and measures.

use collrules_workflow::WorkflowError;
use collrules_workflow::campaign;

use super::begin::{Tune, begin};
use crate::progress::say;
use crate::session::run_in_session;

pub(crate) fn run(args: &Tune) -> Result<(), WorkflowError> {
    let begin = begin(args)?;
    let measured =
        run_in_session(args.session.events.failures, args.output(), |session| campaign::measure(&begin, session))?;
    if args.quiet {
        return Ok(());
    }
    let run = measured.run.path().display();
    say(&format!(
        "`collrules tune --resume {run}` makes the rules and proves them, `collrules analyze {run}` needs no MPI"
    ));
    Ok(())
}
