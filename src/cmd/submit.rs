//! `collrules submit`: batch jobs that measure.

use collrules_batch::script::dialect;
use collrules_workflow::WorkflowError;
use collrules_workflow::submit::{All, Submitting, submit};

use crate::screen;

pub(crate) fn run(options: &Submitting) -> Result<(), WorkflowError> {
    let program = std::env::current_exe().map_err(WorkflowError::Stdout)?;
    let All { system, jobs } = submit(options, &program)?;
    let dialect = dialect(system);
    for submitted in &jobs {
        let Some(job) = &submitted.job else {
            screen::raw(submitted.script.as_bytes())?;
            continue;
        };
        let directory = submitted.directory.display();
        let lines = [
            format!("{system} has job {job}, which writes into {directory}. Follow it:"),
            format!("  collrules status --follow {directory}"),
            format!("  {} {job}", dialect.follow.join(" ")),
            format!(
                "`{} {job}` ends it; what was measured is kept, and the same `collrules submit` resumes what can be.",
                dialect.cancel
            ),
        ];
        let wrapped = lines
            .iter()
            .flat_map(|line| if line.starts_with(' ') { vec![line.clone()] } else { screen::wrapped(line, "", "") });
        screen::print(&wrapped.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(())
}
