//! Showing that HAN's rules file is obeyed: on both sides of each of its boundaries the calls that it hands over come to
//! coll/tuned, and the others do not.
//!
//! Beside HAN's file lies a rules file by which exactly these calls fail in coll/tuned ([`exactly`]). Calls that stay with
//! HAN have launches of their own: what fails must not be what HAN itself calls on the same communicator while it sets
//! itself up, since it crashes then. That is small, so that small calls of HAN's are not asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::cell::type_size;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Handover};
use collrules_rules::deploy::{HAN_FILE, USE_HAN};
use collrules_rules::{Behaviour, Collective, Release, han};

use super::{Fault, MAX_PROBED, Proof};
use crate::backend::Backend;
use crate::error::RunnerError;
use crate::grid::{DEFAULT_MEMORY, obstacle};
use crate::scratch;
use crate::serving::exactly;
use crate::wire::CallEnd;

/// What HAN calls to set itself up looks up fewer bytes: a number or two for each rank.
const SET_UP: u64 = 1024;

/// HAN's half of a tuning.
#[derive(Clone, Copy, Debug)]
pub struct HanFile<'a> {
    /// Its rules file.
    pub file: &'a Path,
    /// What the file was made from.
    pub handover: &'a Handover,
}

impl HanFile<'_> {
    /// The settings that switch it on.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let file = self.file.to_string_lossy().into_owned();
        [(USE_HAN.to_owned(), "1".to_owned()), (HAN_FILE.to_owned(), file)].into()
    }

    /// What is wrong with its text.
    pub(super) fn misread(&self, release: Release) -> Result<Option<Fault>, RunnerError> {
        let text =
            std::fs::read(self.file).map_err(|cause| RunnerError::Rules { path: self.file.to_owned(), cause })?;
        let why = match han::load(&text, &Behaviour::latest(release)) {
            han::Load::Accepted(read) if Handover::of_han(&read.to_table()) == *self.handover => return Ok(None),
            han::Load::Accepted(_) => "it hands other calls over".to_owned(),
            han::Load::Rejected(rejection) | han::Load::Crashes(rejection) => rejection.to_string(),
            han::Load::NoHan => format!("Open MPI {release} has no HAN"),
        };
        Ok(Some(Fault::Misread(format!("{}: {why}", self.file.display()))))
    }

    /// Asks who serves.
    pub(super) fn probe(
        &self,
        backend: &mut dyn Backend,
        scratch: &Path,
        release: Release,
        cells: &[Cell],
        proof: &mut Proof,
    ) -> Result<(), RunnerError> {
        let calls = self.calls(cells);
        let ranks: BTreeSet<Ranks> = calls.iter().map(|call| call.ranks).collect();
        for (ranks, handed) in ranks.into_iter().flat_map(|ranks| [(ranks, true), (ranks, false)]) {
            let asked = |call: &&Cell| {
                call.ranks == ranks
                    && self.handover.hands(**call) == handed
                    && (handed || call.lookup_bytes(release) >= SET_UP)
            };
            let calls: Vec<Cell> = calls.iter().filter(asked).copied().collect();
            if calls.is_empty() {
                continue;
            }
            let copy = scratch::file(scratch, "probe", &exactly(&calls, release)?)?;
            let outcomes = backend.probe(copy.path(), &calls)?;
            proof.probed += calls.len();
            for (call, outcome) in calls.into_iter().zip(outcomes) {
                let obeyed = match outcome {
                    CallEnd::Refused(_) => handed,
                    CallEnd::Right => !handed,
                    CallEnd::Wrong | CallEnd::Mixed(_) => false,
                };
                if obeyed {
                    proof.asked += 1;
                } else {
                    proof.faults.push(Fault::OtherComponent { call, outcome, handed });
                }
            }
        }
        Ok(())
    }

    /// The measured cells that the file has a say in, and both sides of its boundaries.
    fn calls(&self, cells: &[Cell]) -> Vec<Cell> {
        let mut calls = BTreeSet::new();
        for cell in cells.iter().filter(|cell| self.handover.touches(cell.collective, cell.ranks)) {
            calls.insert(*cell);
            let Some(sizes) = self.handover.get(cell.collective).map(|steps| steps.get(cell.ranks.0.into())) else {
                continue;
            };
            let edges = sizes.iter().map(|(first, ..)| first).filter(|first| *first > 0);
            let sides = edges.flat_map(|edge| sides(cell.collective, edge)).map(|bytes| Cell { bytes, ..*cell });
            calls.extend(sides.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()));
        }
        calls.into_iter().collect()
    }
}

/// The largest whole number of elements below a boundary, and the smallest from it on.
pub(super) fn sides(collective: Collective, edge: u64) -> impl Iterator<Item = Bytes> {
    let element = type_size(collective);
    let above = edge.div_ceil(element).saturating_mul(element);
    let sides = [above.saturating_sub(element), above];
    sides.into_iter().filter(|bytes| *bytes > 0).map(Bytes).filter(|bytes| *bytes <= MAX_PROBED)
}
