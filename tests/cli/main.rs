//! The programs as their users run them.

#![allow(missing_docs, clippy::unwrap_used)]

mod accounts;
#[path = "../../crates/workflow/tests/agreement/mod.rs"]
mod agreement;
mod analyze;
mod bad_input;
mod check;
mod collectives;
mod compared;
mod documents;
mod drift;
mod examples;
mod figures;
mod files;
mod hostile;
mod import;
mod inputs;
mod install;
mod instruments;
mod large;
mod made_once;
mod merge;
mod output;
mod page;
mod papers;
mod programs;
mod promises;
mod replay;
mod reseal;
mod rooms;
mod same_results;
mod session;
mod settings_search;
mod site;
mod support;
mod tree;
mod validate;

#[cfg(feature = "mpi")]
mod bad_days;
#[cfg(feature = "mpi")]
mod bench;
#[cfg(feature = "mpi")]
mod bits;
#[cfg(feature = "mpi")]
mod conditions;
#[cfg(feature = "mpi")]
mod differential;
#[cfg(feature = "mpi")]
mod doctor;
#[cfg(feature = "mpi")]
mod faults;
#[cfg(feature = "mpi")]
mod guidelines;
#[cfg(feature = "mpi")]
mod han;
#[cfg(feature = "mpi")]
mod kills;
#[cfg(feature = "mpi")]
mod obeyed;
#[cfg(feature = "mpi")]
mod profile;
#[cfg(feature = "mpi")]
mod running;
#[cfg(feature = "mpi")]
mod settings;
#[cfg(feature = "mpi")]
mod side_by_side;
#[cfg(feature = "mpi")]
mod study;
#[cfg(feature = "mpi")]
mod timing;
#[cfg(feature = "mpi")]
mod traffic;
#[cfg(feature = "mpi")]
mod transports;
#[cfg(feature = "mpi")]
mod tuned;
#[cfg(feature = "mpi")]
mod virtual_cluster;
#[cfg(feature = "mpi")]
mod virtual_slurm;

/// Lets the results of a run be those of another version of Open MPI.
pub(crate) fn relabel(run: &std::path::Path, version: &str) {
    let path = run.join("state.json");
    let mut state: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for step in state["steps"].as_array_mut().unwrap().iter_mut().filter(|step| step["evidence"].is_object()) {
        step["evidence"]["found"]["version"] = version.into();
    }
    std::fs::write(&path, state.to_string()).unwrap();
}
