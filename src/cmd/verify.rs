//! `collrules verify`: shows whether the Open MPI in use obeys a rules file.

use std::fs;
use std::io::Write;

use collrules_record::Cell;
use collrules_record::units::Bytes;
use collrules_rules::{Collective, classic};
use collrules_runner::grid;
use collrules_runner::proof;

use super::start::{self, Started};
use crate::args::Verify;
use crate::failure::Failure;

pub(crate) fn run(args: &Verify) -> Result<(), Failure> {
    let text = fs::read_to_string(&args.rules).map_err(|cause| Failure::Open { path: args.rules.clone(), cause })?;
    let file = classic::read(&text).map_err(|cause| Failure::Rejected { path: args.rules.clone(), cause })?;
    let ids = file.collectives.iter().map(|collective| collective.id);
    let ruled: Vec<Collective> = ids.filter_map(Collective::from_id).collect();

    let Started { mut backend, survey, release, .. } = start::mpi(&args.launch)?;
    let table = file.to_table(release);
    let ranks = grid::communicator_sizes(&args.np, survey.slots(), args.launch.oversubscribes())?;
    let cells: Vec<Cell> = ruled
        .iter()
        .flat_map(|collective| ranks.iter().map(move |ranks| (*collective, *ranks)))
        .flat_map(|(collective, ranks)| {
            let sizes = if collective.has_sizes() { args.sizes.0.clone() } else { vec![Bytes(0)] };
            sizes.into_iter().map(move |bytes| Cell { collective, ranks, bytes })
        })
        .filter(|cell| grid::obstacle(*cell, grid::DEFAULT_MEMORY).is_none())
        .collect();
    let proof = proof::prove(backend.as_mut(), &args.rules, &args.scratch, &table, release, &cells)?;
    if !proof.faults.is_empty() {
        return Err(Failure::unproven(format!("{} is NOT obeyed", args.rules.display()), &proof));
    }
    let mut out = std::io::stdout().lock();
    let said = if table.is_empty() {
        writeln!(out, "{} leaves everything to the builtin: there is nothing to obey.", args.rules.display())
    } else {
        writeln!(
            out,
            "Open MPI {} accepts {} and serves every call by the intended rule: {} calls, on both sides of every \
             boundary within reach. With the file in force, {} calls with checked data were right.",
            survey.version,
            args.rules.display(),
            proof.probed,
            proof.used,
        )
    };
    said.map_err(Failure::Stdout)
}
