//! Batch systems: facts about the job in which collrules runs, and scripts of jobs.
//!
//! Each system has a file, which turns variables, files and answers of its tools ([`Here`]) into the same facts
//! ([`JobFacts`]), and a template of its job's script next to it (`templates`). Nothing here starts MPI jobs: facts become
//! defaults of options.
//!
//! | module | job |
//! |---|---|
//! | [`here`] | variables, files and tools of the machine; synthetic in tests |
//! | `slurm`, `pbs`, `lsf`, `sge` | a batch system each |
//! | `times` | durations and dates as batch systems write them |
//! | [`job`], [`script`] | description of a job, and its script |
//! | [`submission`] | jobs that were submitted for a run: `submission.json` |
//! | [`status`] | progress of the jobs and runs of a directory |

pub mod here;
pub mod job;
mod lsf;
mod pbs;
pub mod script;
mod sge;
mod slurm;
pub mod status;
pub mod submission;
mod times;

use std::collections::BTreeMap;

use collrules_record::allocation::Allocation;
use collrules_rules::words::some;

pub use here::{Here, System};

/// Facts about the job in which collrules runs.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFacts {
    /// The facts.
    pub allocation: Allocation,
    /// Variables for the launcher: they name the nodes if it would not find them by itself, and let its steps start
    /// next to others.
    pub environment: BTreeMap<String, String>,
    /// The system's own launcher of MPI jobs, if it has one.
    pub own: Option<BatchLauncher>,
    /// Other programs that run in the job now, and would disturb the timings.
    pub others: Vec<String>,
    /// Parts of the job that do not compute, that jobs do not reach, or that differ, in sentences.
    pub unused: Vec<String>,
}

/// A launcher that belongs to a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchLauncher {
    /// Its command line, without the program to be started. It fills all slots.
    pub words: Vec<String>,
    /// Reason why it starts MPI jobs here instead of mpirun, if the environment gives one.
    pub preferred: Option<String>,
}

/// The batch job in which this process runs, if any.
pub fn find_job(here: &dyn Here) -> Option<JobFacts> {
    [slurm::find_job, pbs::find_job, lsf::find_job, sge::find_job].into_iter().find_map(|find| find(here))
}

/// Counts the different hosts in a list that has one word per slot.
fn distinct<'a>(hosts: impl Iterator<Item = &'a str>) -> u32 {
    hosts.collect::<std::collections::BTreeSet<_>>().len() as u32
}

/// A sentence about nodes with different numbers of slots.
fn describe_uneven(slots: &[u32]) -> Option<String> {
    let slots: Vec<String> = slots.iter().map(u32::to_string).collect();
    let differ = slots.windows(2).any(|pair| pair[0] != pair[1]);
    differ.then(|| format!("nodes have different numbers of slots: {}", some(&slots, NAMED_SLOTS)))
}

/// Largest number of nodes whose slots a sentence names.
const NAMED_SLOTS: usize = 8;

/// The variables by which mpirun of 4.x and of 5.0 finds a file of hosts.
fn hostfile(file: &str) -> BTreeMap<String, String> {
    let names = ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
    names.map(|name| (name.to_owned(), file.to_owned())).into()
}
