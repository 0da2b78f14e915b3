//! IBM Spectrum LSF.

use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::{Ranks, Seconds};

use crate::here::Here;
use crate::job::{Dialect, Queue};
use crate::times::clock;
use crate::{JobFacts, describe_uneven, hostfile};

pub(crate) fn find_job(here: &dyn Here) -> Option<JobFacts> {
    let id = here.variable("LSB_JOBID")?;
    let index = here.variable("LSB_JOBINDEX").filter(|index| index != "0");
    let job = index.map_or(id.clone(), |index| format!("{id}[{index}]"));
    // Pairs of a host and its slots.
    let text = here.variable("LSB_MCPU_HOSTS").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut hosts: Vec<(&str, u32)> =
        words.chunks_exact(2).filter_map(|it| Some((it[0], it[1].parse().ok()?))).collect();
    let launch_node = launch_node(&hosts).map(str::to_owned);
    if launch_node.is_some() {
        hosts.remove(0);
    }
    let slots: Vec<u32> = hosts.iter().map(|(_, slots)| *slots).collect();
    let unused = launch_node.map(|host| {
        format!(
            "{host} starts the job and is no compute node; if jobs have ranks there, --mpirun-args --nolocal leaves it out"
        )
    });
    let allocation = Allocation {
        system: BatchSystem::Lsf,
        partition: here.variable("LSB_QUEUE"),
        nodes: hosts.len() as u32,
        slots: Ranks(slots.iter().sum()),
        left: left(here, &job),
        job,
    };
    // A line for each slot; for an mpirun that was built without LSF, which would see this host alone.
    let environment = here.variable("LSB_DJOB_HOSTFILE").map(|file| hostfile(&file)).unwrap_or_default();
    Some(JobFacts {
        allocation,
        environment,
        own: None,
        others: Vec::new(),
        unused: unused.into_iter().chain(describe_uneven(&slots)).collect(),
    })
}

/// The first host if it only starts the job, as on clusters with `jsrun`: its single slot and its name are unlike those of
/// the others.
fn launch_node<'a>(hosts: &[(&'a str, u32)]) -> Option<&'a str> {
    let (&(first, slots), others) = hosts.split_first()?;
    let kind = |name: &'a str| name.split(|sign: char| !sign.is_ascii_alphabetic()).next();
    let is_alike = |(name, slots): &(&'a str, u32)| *slots > 1 && kind(name) != kind(first);
    (slots == 1 && !others.is_empty() && others.iter().all(is_alike)).then_some(first)
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
        let on = |hosts: &str| {
            let facts = [("LSB_JOBID", "33"), ("LSB_MCPU_HOSTS", hosts)];
            let job = find_job(&Made::from_facts(&facts)).expect("is a job");
            (job.allocation.nodes, job.allocation.slots.0, job.unused.len())
        };
        assert_eq!(on("batch5 1 h41n07 42 h41n08 42"), (2, 84, 1), "the first one starts the job");
        assert_eq!(on("login1 1 a1 16"), (1, 16, 1));
        assert_eq!(on("n1 1 n2 16 n3 16"), (3, 33, 1), "different numbers of slots");
        assert_eq!(on("h1 42 h2 42 h3 1"), (3, 85, 1));
        assert_eq!(on("h1 4 h2 4"), (2, 8, 0));
        assert_eq!(on("a1 1 b1 1"), (2, 2, 0));
        assert_eq!(on("a1 1"), (1, 1, 0));
        let bare = find_job(&Made::from_facts(&[("LSB_JOBID", "32"), ("LSB_JOBINDEX", "0")])).expect("is a job");
        assert_eq!(bare.allocation.to_string(), "LSF job 32");
    }
}
