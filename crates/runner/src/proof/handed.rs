//! Proof that HAN's rules file is obeyed: on both sides of each boundary, the delegated calls reach coll/tuned, and the
//! others do not.
//!
//! HAN's file is loaded with a rules file that makes exactly these calls fail in coll/tuned ([`exactly`]). Calls that
//! stay with HAN have separate launches: the failing calls must not include HAN's own set-up calls on the same
//! communicator, since HAN would crash. These are small, so small calls that stay with HAN are not tested.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::cell::type_size;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, HanRule, HanRules, Tuning};
use collrules_rules::{Behaviour, Collective, Release, han};

use super::{MAX_PROBED, ProofFault, Prover};
use crate::error::RunnerError;
use crate::grid::{DEFAULT_MEMORY, obstacle};
use crate::running::exactly;

/// Upper bound on the lookup bytes of HAN's set-up calls, which send a number or two per rank.
const SET_UP: u64 = 1024;

/// The settings that switch on only HAN's rules.
pub(super) fn settings(tuning: &Tuning) -> BTreeMap<String, String> {
    Tuning { han: tuning.han.clone(), ..Tuning::default() }.settings().by_name()
}

/// The fault of a HAN file with another meaning than its table.
pub(super) fn misread(tuning: &Tuning, release: Release) -> Option<ProofFault> {
    let file = tuning.han.as_ref()?;
    let why = match han::load(&file.text, &Behaviour::latest(release)) {
        Ok(read) if HanRules::of_han(&read.to_table()) == tuning.han_rules() => return None,
        Ok(_) => "it delegates other calls".to_owned(),
        Err(fault) => fault.to_string(),
    };
    Some(ProofFault::Misread(format!("{}: {why}", file.path.display())))
}

impl Prover<'_> {
    /// Determines the component of the calls that HAN's rules are about.
    pub(super) fn show_delegated(&mut self, tuning: &Tuning) -> Result<(), RunnerError> {
        let release = self.release;
        let calls = calls(&tuning.han_rules(), self.cells);
        let ranks: BTreeSet<Ranks> = calls.iter().map(|call| call.ranks).collect();
        for (ranks, handed) in ranks.into_iter().flat_map(|ranks| [(ranks, true), (ranks, false)]) {
            let asked = |call: &&Cell| {
                call.ranks == ranks
                    && (tuning.han_rule(**call) == HanRule::Delegate) == handed
                    && (handed || call.lookup_bytes(release) >= SET_UP)
            };
            let calls: Vec<Cell> = calls.iter().filter(asked).copied().collect();
            if calls.is_empty() {
                continue;
            }
            let outcomes = self.probe(&exactly(&calls, release)?, &calls)?;
            for (call, outcome) in calls.into_iter().zip(outcomes) {
                if outcome.is_meant(handed) {
                    self.proof.asked += 1;
                    self.proof.ruled += usize::from(tuning.han_rule(call) != HanRule::Default);
                } else {
                    self.proof.faults.push(ProofFault::OtherComponent { call, outcome, handed });
                }
            }
        }
        Ok(())
    }
}

/// The measured cells with rules of HAN, and calls on both sides of their boundaries.
fn calls(han: &HanRules, cells: &[Cell]) -> Vec<Cell> {
    let mut calls = BTreeSet::new();
    for cell in cells.iter().filter(|cell| han.touches(cell.collective, cell.ranks)) {
        calls.insert(*cell);
        let Some(sizes) = han.get(cell.collective).map(|steps| steps.get(cell.ranks.0.into())) else { continue };
        let edges = sizes.iter().map(|(first, ..)| first).filter(|first| *first > 0);
        let sides = edges.flat_map(|edge| sides(cell.collective, edge)).map(|bytes| Cell { bytes, ..*cell });
        calls.extend(sides.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()));
    }
    calls.into_iter().collect()
}

/// The largest whole number of elements below a boundary, and the smallest from it on.
pub(super) fn sides(collective: Collective, edge: u64) -> impl Iterator<Item = Bytes> {
    let element = type_size(collective);
    let above = edge.div_ceil(element).saturating_mul(element);
    let sides = [above.saturating_sub(element), above];
    sides.into_iter().filter(|bytes| *bytes > 0).map(Bytes).filter(|bytes| *bytes <= MAX_PROBED)
}
