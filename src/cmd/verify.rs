//! `collrules verify`: shows whether the Open MPI in use obeys a rules file.

use std::io::Write;
use std::path::Path;

use collrules_record::Cell;
use collrules_record::units::Bytes;
use collrules_rules::{Behaviour, Collective, Load, Loaded, Release, load};
use collrules_runner::RunnerError;
use collrules_runner::grid;
use collrules_runner::proof;

use super::start::{self, Started};
use super::{served, source};
use crate::args::Verify;
use crate::failure::Failure;

pub(crate) fn run(args: &Verify) -> Result<(), Failure> {
    let bytes = source::read(&args.rules)?;
    let ruled = collectives(&args.rules, &bytes)?;
    let Started { mut backend, survey, release, .. } = start::mpi(&args.launch)?;
    let table = in_force(&args.rules, &bytes, &Behaviour::of(survey.version).map_err(RunnerError::from)?)?.to_table();
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
    let displaced = served::displacing(backend.as_mut(), &args.scratch, &cells, &survey, release, args.launch.layout)?;
    if !displaced.is_empty() {
        return Err(Failure::Unproven { what: format!("{} is NOT obeyed", args.rules.display()), faults: displaced });
    }
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

/// The collectives that the file has rules for, whichever version reads them.
fn collectives(path: &Path, bytes: &[u8]) -> Result<Vec<Collective>, Failure> {
    let read = Behaviour::distinct().into_iter().rev().find_map(|version| load(bytes, &version).into_accepted());
    match read {
        Some(file) => Ok(file.to_table().collectives().map(|(collective, _)| collective).collect()),
        None => in_force(path, bytes, &Behaviour::latest(Release::V5_0)).map(|_| Vec::new()),
    }
}

/// What a version reads.
fn in_force(path: &Path, bytes: &[u8], version: &Behaviour) -> Result<Loaded, Failure> {
    match load(bytes, version) {
        Load::Accepted(file) => Ok(file),
        Load::Rejected(rejection) => Err(Failure::NotInForce {
            path: path.to_owned(),
            reasons: vec![format!("{}: {rejection}", version.name())],
        }),
        Load::Crashes(crash) => {
            Err(Failure::NotInForce { path: path.to_owned(), reasons: vec![format!("{}: {crash}", version.name())] })
        }
    }
}
