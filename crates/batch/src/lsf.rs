//! IBM Spectrum LSF.

use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::{Ranks, Seconds};

use crate::here::Here;
use crate::job::{Dialect, Queue};
use crate::times::clock;
use crate::{JobFacts, hostfile};

pub(crate) fn find_job(here: &dyn Here) -> Option<JobFacts> {
    let id = here.variable("LSB_JOBID")?;
    let index = here.variable("LSB_JOBINDEX").filter(|index| index != "0");
    let job = index.map_or(id.clone(), |index| format!("{id}[{index}]"));
    // Pairs of a host and its slots.
    let text = here.variable("LSB_MCPU_HOSTS").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let slots: u32 = words.chunks(2).filter_map(|pair| pair.get(1)?.parse::<u32>().ok()).sum();
    let allocation = Allocation {
        system: BatchSystem::Lsf,
        partition: here.variable("LSB_QUEUE"),
        nodes: words.len().div_ceil(2) as u32,
        slots: Ranks(slots),
        left: left(here, &job),
        job,
    };
    // A line for each slot; for an mpirun that was built without LSF, which would see this host alone.
    let environment = here.variable("LSB_DJOB_HOSTFILE").map(|file| hostfile(&file)).unwrap_or_default();
    Some(JobFacts { allocation, environment, own: None, others: Vec::new() })
}

/// Parses `HOURS:MINUTES` and a letter for the kind of limit: `0:30 L`.
fn left(here: &dyn Here, job: &str) -> Option<Seconds> {
    let answer = here.answer(&["bjobs", "-noheader", "-o", "time_left", job])?;
    let minutes = clock(answer.split_whitespace().next()?)?;
    Some(Seconds(minutes.0 * 60.0))
}

pub(crate) const DIALECT: Dialect = Dialect {
    mark: "#BSUB",
    template: include_str!("templates/lsf.sh"),
    expanded: &['%'],
    ends_constraint: |sign| matches!(sign, '"' | '\\'),
    submit: &["bsub"],
    by_input: true,
    job: |said| Some(said.split_once("Job <")?.1.split_once('>')?.0.to_owned()),
    state: |here, job| {
        let states = |answer: &str| {
            let lasting = answer.split_whitespace().filter(|state| !matches!(*state, "DONE" | "EXIT"));
            lasting.map(str::to_owned).collect()
        };
        Queue::from_answer(here.asked(&["bjobs", "-noheader", "-o", "stat", job]), states, &["is not found"])
    },
    follow: &["bjobs"],
    cancel: "bkill",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::made::Made;

    #[test]
    fn a_job_is_known_by_its_variables() {
        let facts = [
            ("LSB_JOBID", "31"),
            ("LSB_JOBINDEX", "4"),
            ("LSB_QUEUE", "normal"),
            ("LSB_MCPU_HOSTS", "n1 16 n2 12 "),
            ("LSB_DJOB_HOSTFILE", "/home/u/.lsbatch/31.hostfile"),
            ("bjobs -noheader -o time_left 31[4]", "1:30 L\n"),
        ];
        let job = find_job(&Made::from_facts(&facts)).expect("is a job");
        assert_eq!(job.allocation.to_string(), "LSF job 31[4] in normal: 2 nodes, 28 slots, 90 min left");
        let file = job.environment.get("OMPI_MCA_orte_default_hostfile");
        assert_eq!(file.map(String::as_str), Some("/home/u/.lsbatch/31.hostfile"));
        let bare = find_job(&Made::from_facts(&[("LSB_JOBID", "32"), ("LSB_JOBINDEX", "0")])).expect("is a job");
        assert_eq!(bare.allocation.to_string(), "LSF job 32");
    }
}
