//! PBS Professional and OpenPBS. Jobs of Torque are recognized as well, but not submitted: its requests for nodes and its
//! arrays differ.

use std::collections::BTreeMap;

use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::{Ranks, Seconds};

use crate::here::Here;
use crate::job::{Dialect, Queue};
use crate::times::clock;
use crate::{JobFacts, describe_uneven, distinct, hostfile};

pub(crate) fn find_job(here: &dyn Here) -> Option<JobFacts> {
    let job = here.variable("PBS_JOBID")?;
    let file = here.variable("PBS_NODEFILE");
    // One line for each rank that the chunks of the request have (mpiprocs, or ppn).
    let text = file.as_deref().and_then(|file| here.file(file)).unwrap_or_default();
    let hosts = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let allocation = Allocation {
        system: BatchSystem::Pbs,
        partition: here.variable("PBS_QUEUE"),
        nodes: distinct(hosts()),
        slots: Ranks(hosts().count() as u32),
        left: left(here, &job),
        job,
    };
    // An mpirun that was built without PBS would see this host alone, and another takes the file as it takes its own list.
    let environment = file.as_deref().map(hostfile).unwrap_or_default();
    let mut slots: BTreeMap<&str, u32> = BTreeMap::new();
    hosts().for_each(|host| *slots.entry(host).or_default() += 1);
    let unused = describe_uneven(&slots.into_values().collect::<Vec<_>>()).into_iter().collect();
    Some(JobFacts { allocation, environment, own: None, others: Vec::new(), unused })
}

/// Returns the requested time less the used time, by `qstat -f`; Torque has the former in a variable as well.
fn left(here: &dyn Here, job: &str) -> Option<Seconds> {
    let text = here.answer(&["qstat", "-f", job]).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().strip_prefix('='))?;
        clock(line)
    };
    if let Some(remaining) = value("Walltime.Remaining") {
        return Some(remaining);
    }
    let whole = value("Resource_List.walltime").or_else(|| clock(&here.variable("PBS_WALLTIME")?))?;
    let used = value("resources_used.walltime").unwrap_or(Seconds(0.0));
    Some(Seconds((whole.0 - used.0).max(0.0)))
}

pub(crate) const DIALECT: Dialect = Dialect {
    mark: "#PBS",
    template: include_str!("templates/pbs.sh"),
    expanded: &['^', ':'],
    ends_constraint: char::is_whitespace,
    submit: &["qsub"],
    by_input: false,
    job: |said| said.lines().last().map(str::trim).filter(|job| !job.is_empty()).map(str::to_owned),
    state: |here, job| {
        let states = |answer: &str| {
            let state = answer.lines().find_map(|line| line.trim().strip_prefix("job_state"));
            state.map(|state| format!("state {}", state.trim_start_matches([' ', '=']))).into_iter().collect()
        };
        Queue::from_answer(here.asked(&["qstat", "-f", job]), states, &["Unknown Job", "has finished"])
    },
    follow: &["qstat"],
    cancel: "qdel",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::made::Made;

    #[test]
    fn a_job_is_known_by_its_variables_and_its_file() {
        let answer =
            "Job Id: 7.server\n    Resource_List.walltime = 01:00:00\n    resources_used.walltime = 00:10:00\n";
        let facts = [
            ("PBS_JOBID", "7.server"),
            ("PBS_QUEUE", "workq"),
            ("PBS_NODEFILE", "/var/spool/pbs/aux/7.server"),
            ("/var/spool/pbs/aux/7.server", "n1\nn1\nn2\nn2\n"),
            ("qstat -f 7.server", answer),
        ];
        let job = find_job(&Made::from_facts(&facts)).expect("is a job");
        assert_eq!(job.allocation.to_string(), "PBS job 7.server in workq: 2 nodes, 4 slots, 50 min left");
        let file = job.environment.get("PRTE_MCA_prte_default_hostfile");
        assert_eq!(file.map(String::as_str), Some("/var/spool/pbs/aux/7.server"));
        let torque = find_job(&Made::from_facts(&[("PBS_JOBID", "8"), ("PBS_WALLTIME", "600")])).expect("is a job");
        assert_eq!(torque.allocation.to_string(), "PBS job 8: 10 min left");
    }
}
