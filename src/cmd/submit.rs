//! `collrules submit`: batch jobs that tune.

use collrules_batch::script::dialect;
use collrules_record::options::Submitting;
use collrules_workflow::submit::{All, submit};

use crate::failure::Failure;
use crate::screen;

#[derive(Debug, clap::Args)]
#[command(after_help = "No MPI is needed here. The script begins the run, or resumes it: submit it again where a \
job ran out of time. Behind -- comes the command of the job:

  collrules submit --nodes 8 --ppn 32 --time 30m --out tuned -- tune --ops all")]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) submitting: Submitting,
}

pub(crate) fn run(args: &Submit) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::Stdout)?;
    let All { system, jobs } = submit(&args.submitting, &program)?;
    let dialect = dialect(system);
    for submitted in &jobs {
        let Some(job) = &submitted.job else {
            screen::raw(submitted.script.as_bytes())?;
            continue;
        };
        let directory = submitted.directory.display();
        let lines = [
            format!("{system} has job {job}, which tunes into {directory}. Follow it:"),
            format!("  collrules watch {directory}"),
            format!("  {} {job}", dialect.follow.join(" ")),
            format!(
                "`{} {job}` ends it; what was measured is kept, and the same `collrules submit` resumes it.",
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
