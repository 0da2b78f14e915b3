//! Batch systems: what the job in which collrules runs was given, and the scripts of jobs.
//!
//! Each system has a file, which turns variables, files and answers of its tools ([`Here`]) into the same facts
//! ([`Found`]), and what a job asks for ([`job::Job`]) into its own words. Nothing here starts MPI jobs: what is found becomes
//! defaults of options.
//!
//! | module | job |
//! |---|---|
//! | [`here`] | what is asked: variables, files, tools; made up in tests |
//! | `slurm`, `pbs`, `lsf`, `sge` | a batch system each |
//! | `times` | durations and dates as batch systems write them |
//! | [`job`], [`script`] | what a job asks for, and its script |

pub mod here;
pub mod job;
mod lsf;
mod pbs;
pub mod script;
mod sge;
mod slurm;
mod times;

use std::collections::BTreeMap;

use collrules_record::allocation::Allocation;

pub use here::{Here, System};

/// What was found out about the job in which collrules runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The facts.
    pub allocation: Allocation,
    /// Variables for the launcher: how it finds the nodes where it would not by itself, and what lets its steps start beside
    /// others.
    pub environment: BTreeMap<String, String>,
    /// The system's own launcher of MPI jobs, if it has one.
    pub own: Option<Own>,
    /// What else runs in the job now, and would be timed along.
    pub others: Vec<String>,
}

/// A launcher that belongs to a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its command line, without the program to be started. It fills all slots.
    pub words: Vec<String>,
    /// Why it starts MPI jobs here rather than mpirun, if somebody said so.
    pub preferred: Option<String>,
}

/// The job in which this runs, if it is one.
pub fn found(here: &dyn Here) -> Option<Found> {
    [slurm::found, pbs::found, lsf::found, sge::found].into_iter().find_map(|find| find(here))
}

/// How many different hosts a list with one word for each slot has.
fn distinct<'a>(hosts: impl Iterator<Item = &'a str>) -> u32 {
    hosts.collect::<std::collections::BTreeSet<_>>().len() as u32
}

/// The variables that name a file of hosts to mpirun of 4.x and of 5.0.
fn hostfile(file: &str) -> BTreeMap<String, String> {
    let names = ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
    names.map(|name| (name.to_owned(), file.to_owned())).into()
}
