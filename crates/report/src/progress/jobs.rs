//! The job of a batch system, and what starts jobs in it.

use std::fmt::Display;

use collrules_record::Ranks;
use collrules_record::allocation::Allocation;

/// A batch job with its launcher: mpirun, or a command, with the reason for it if no option names it.
pub fn launcher(allocation: &Allocation, template: Option<&str>, preferred: Option<&str>) -> String {
    let by = match (template, preferred) {
        (None, _) => "mpirun starts the jobs".to_owned(),
        (Some(template), Some(why)) => {
            format!("`{template}` starts the jobs, since {why}; --launcher mpirun overrides this")
        }
        (Some(template), None) => format!("`{template}` starts the jobs"),
    };
    format!("{allocation}; {by}")
}

/// Fewer nodes than those of the batch job.
pub fn fewer_nodes(reached: usize, allocation: &Allocation) -> String {
    let Allocation { system, nodes, .. } = allocation;
    format!(
        "jobs reach {reached} of these {nodes} nodes: this Open MPI may have been built without support for {system}; \
         --launcher or --mpirun-args '--hostfile FILE' names all"
    )
}

/// Another number of slots than the batch system reports.
pub fn other_slots(slots: Ranks, reported: Ranks) -> String {
    format!("jobs have {slots} of the {reported} slots that the batch system reports")
}

/// Other programs in the batch job.
pub fn other_steps(steps: &[String]) -> String {
    format!(
        "other steps run in this job ({}): the times include their load on processors and network",
        steps.join(", "),
    )
}

/// Other nodes of the batch job than those on which a run began.
pub fn other_nodes(now: &Allocation) -> String {
    format!(
        "{} has other nodes than the run began on: differences between nodes now add to those between launches",
        now.to_string().split(':').next().unwrap_or_default(),
    )
}

/// Installed settings that no job has.
pub fn installed_settings(names: &[String]) -> String {
    format!("installed settings are switched off in all jobs here: {}", names.join(", "))
}

/// Failure to find out which settings are installed.
pub fn unknown_installation(error: &dyn Display) -> String {
    format!("whether settings are installed is unknown: {error}")
}

/// Failure of the first job, after which a second one worked.
pub fn first_job(error: &dyn Display) -> String {
    let error = error.to_string();
    format!("the first job failed, a second one worked: {}", error.lines().next().unwrap_or_default())
}
