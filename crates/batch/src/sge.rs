//! Grid Engine.

use std::collections::BTreeMap;

use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::{Ranks, Seconds};

use crate::here::Here;
use crate::job::{Dialect, Queue};
use crate::times::clock;
use crate::{JobFacts, describe_uneven};

pub(crate) fn find_job(here: &dyn Here) -> Option<JobFacts> {
    // Other programs may use the name of its variable for the job, but not that of its root.
    here.variable("SGE_ROOT")?;
    let id = here.variable("JOB_ID")?;
    let task = here.variable("SGE_TASK_ID").filter(|task| task != "undefined");
    let job = task.map_or(id.clone(), |task| format!("{id}.{task}"));
    // A host, its slots, and more that does not matter here. Open MPI reads the file itself.
    let text = here.variable("PE_HOSTFILE").and_then(|file| here.file(&file)).unwrap_or_default();
    let hosts = text.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok());
    let hosts: Vec<u32> = hosts.collect();
    let slots = if hosts.is_empty() { here.number("NSLOTS").unwrap_or(0) } else { hosts.iter().sum() };
    let allocation = Allocation {
        system: BatchSystem::Sge,
        partition: here.variable("QUEUE"),
        nodes: hosts.len() as u32,
        slots: Ranks(slots),
        left: left(here, &id),
        job,
    };
    let unused = describe_uneven(&hosts).into_iter().collect();
    Some(JobFacts { allocation, environment: BTreeMap::new(), own: None, others: Vec::new(), unused })
}

/// The requested limit less the age of the process that runs the script.
fn left(here: &dyn Here, id: &str) -> Option<Seconds> {
    let text = here.answer(&["qstat", "-j", id])?;
    let asked = text.lines().find_map(|line| line.strip_prefix("hard resource_list:"))?;
    let limit = asked.split([',', ' ']).find_map(|part| clock(part.trim().strip_prefix("h_rt=")?))?;
    let shepherd = here.variable("SGE_JOB_SPOOL_DIR").and_then(|place| here.file(&format!("{place}/pid")));
    let age = shepherd.and_then(|pid| clock(&here.answer(&["ps", "-o", "etimes=", "-p", pid.trim()])?))?;
    Some(Seconds((limit.0 - age.0).max(0.0)))
}

pub(crate) const DIALECT: Dialect = Dialect {
    mark: "#$",
    template: include_str!("templates/sge.sh"),
    expanded: &['$', ':'],
    ends_constraint: char::is_whitespace,
    submit: &["qsub", "-terse"],
    by_input: false,
    job: |said| said.trim().split('.').next().filter(|job| !job.is_empty()).map(str::to_owned),
    state: |here, job| {
        let states = |answer: &str| {
            let words = answer.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let mine = words.filter(|words| words.first() == Some(&job));
            mine.filter_map(|words| Some(format!("state {}", words.get(4)?))).take(1).collect()
        };
        Queue::from_answer(here.asked(&["qstat"]), states, &[])
    },
    follow: &["qstat", "-j"],
    cancel: "qdel",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::made::Made;

    const JOB: [(&str, &str); 5] = [
        ("SGE_ROOT", "/opt/sge"),
        ("JOB_ID", "5"),
        ("SGE_TASK_ID", "undefined"),
        ("PE_HOSTFILE", "/spool/pe_hostfile"),
        ("/spool/pe_hostfile", "n1 8 all.q@n1 UNDEFINED\nn2 8 all.q@n2 UNDEFINED\n"),
    ];

    #[test]
    fn a_job_is_known_by_its_variables_and_its_file() {
        let job = find_job(&Made::from_facts(&JOB)).expect("is a job");
        assert_eq!(job.allocation.to_string(), "Grid Engine job 5: 2 nodes, 16 slots");
        let limited = [
            ("qstat -j 5", "job_number: 5\nhard resource_list:         h_rt=3600,mem_free=1G\n"),
            ("SGE_JOB_SPOOL_DIR", "/spool/5"),
            ("/spool/5/pid", "77\n"),
            ("ps -o etimes= -p 77", "  600\n"),
        ];
        let facts: Vec<_> = JOB.into_iter().chain(limited).collect();
        assert_eq!(find_job(&Made::from_facts(&facts)).expect("is a job").allocation.left, Some(Seconds(3000.0)));
    }

    #[test]
    fn a_variable_of_this_name_alone_is_no_job() {
        assert_eq!(find_job(&Made::from_facts(&[("JOB_ID", "5")])), None);
    }
}
