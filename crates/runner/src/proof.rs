//! Proof that the Open MPI in use accepts a rules file and uses the intended rule for each measured cell.
//!
//! Open MPI says nothing about a file that it rejects. But some rules make exactly the calls that use them fail
//! ([`collrules_rules::probe`]). So a copy of the file is loaded in which the choices alternate between failing and the
//! builtin, with unchanged boundaries, and calls are made in every measured cell and on both sides of every boundary.
//! Exactly the right calls fail only if the file was accepted and its boundaries are read as intended. This takes one
//! launch, or two if collectives call each other. If HAN has a rules file too, HAN is switched off for this, and
//! launches with its file show the component that handles its calls. The last launch loads the files themselves, and
//! makes the measured calls with checked data.

mod handed;
mod logged;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::tuning::RulesFile;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Tuning};
use collrules_rules::emit::{self, Notes, TargetFormat};
use collrules_rules::file::Format;
use collrules_rules::metric::{Metric, metric};
use collrules_rules::probe::{self, Checkerboard};
use collrules_rules::registry;
use collrules_rules::steps::Steps;
use collrules_rules::{Behaviour, Choice, Collective, Release, RuleTable, load};

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::grid::{DEFAULT_MEMORY, obstacle};
use crate::scratch;
use crate::wire::CallEnd;

use handed::sides;

/// A priority with which HAN leaves all communicators to others.
const WITHOUT_HAN: (&str, &str) = ("coll_han_priority", "0");

/// Largest message of calls on both sides of a boundary: the root of a scatter holds as much per rank.
const MAX_PROBED: Bytes = Bytes(64 << 20);

/// Result of a proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Number of measured cells that were shown to use the intended rule, among collectives with rules.
    pub cells: usize,
    /// Number of calls under the copy with alternating choices.
    pub probed: usize,
    /// Number of calls that were shown to use a rule of the files, and not the default.
    pub ruled: usize,
    /// Number of calls whose component was shown, under HAN's rules file.
    pub asked: usize,
    /// Number of calls under the files themselves.
    pub used: usize,
    /// Number of calls for which Open MPI's own log shows the intended rule.
    pub logged: usize,
    /// Collectives with rules that no probe can show: in JSON, no rule makes their calls fail on the communicators of
    /// this job.
    pub unshown: Vec<Collective>,
    /// Deviations; empty if the file is obeyed.
    pub faults: Vec<ProofFault>,
}

/// A deviation from the file's meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    /// The text of the file has another meaning than the table that it was made from.
    #[error("the file differs from what was decided: {0}")]
    Misread(String),
    /// The job failed, for example because ranks that read different rules wait for each other.
    #[error("{0}\n  (the directory of the rules file has to be visible, with the same content, on all nodes)")]
    Broken(String),
    /// No call failed under the copy: the file was not read, or rejected as a whole.
    #[error("Open MPI did not load the file: no call used any of its rules")]
    NotAccepted,
    /// A call used another rule than the intended one.
    #[error("{call} did not use the intended rule ({outcome:?})")]
    WrongRule {
        /// The call.
        call: Cell,
        /// Outcome of the call.
        outcome: CallEnd,
    },
    /// Open MPI logs that it selects another rule than the intended one for a call.
    #[error("{call} uses another rule: {why}")]
    OtherSelection {
        /// The call.
        call: Cell,
        /// The intended and the logged rule.
        why: String,
    },
    /// A call did not use the component that HAN's file names.
    #[error(
        "{call} {} HAN's rules file ({outcome:?})",
        if *handed { "was not delegated to coll/tuned by" } else { "did not stay with HAN with" }
    )]
    OtherComponent {
        /// The call.
        call: Cell,
        /// Outcome of the call.
        outcome: CallEnd,
        /// True if the file delegates it to coll/tuned, false if HAN has to carry it out.
        handed: bool,
    },
    /// A call failed or had a wrong result under the file itself.
    #[error("{call} does not work with the file ({outcome:?})")]
    Unusable {
        /// The call.
        call: Cell,
        /// Outcome of the call.
        outcome: CallEnd,
    },
}

/// Proves that a tuning is obeyed in `cells`. Its files are in place; copies are made temporarily in `scratch`, which
/// all nodes have to see. The caller sets its parameters.
pub fn prove(
    backend: &mut dyn Backend,
    tuning: &Tuning,
    scratch: &Path,
    release: Release,
    cells: &[Cell],
) -> Result<Proof, RunnerError> {
    let mut proof = Proof::default();
    let mut read = None;
    if let Some(file) = &tuning.tuned {
        match load(&file.text, &Behaviour::latest(release)) {
            Ok(accepted) if accepted.to_table() == file.table => read = Some(accepted),
            Ok(_) => proof.faults.push(ProofFault::Misread("it reads back as another table".to_owned())),
            Err(fault) => proof.faults.push(ProofFault::Misread(fault.to_string())),
        }
    }
    proof.faults.extend(handed::misread(tuning, release));
    let has_rules = tuning.tuned.as_ref().is_some_and(RulesFile::has_rules);
    if (!has_rules && tuning.han.is_none()) || !proof.faults.is_empty() {
        return Ok(proof);
    }
    let before = backend.pin(&BTreeMap::new());
    let mut prover = Prover { backend, scratch, release, cells, proof };
    let shown = prover.show(tuning);
    // What Open MPI logs says more of a JSON file than calls that fail can, and of rules for one layout all.
    let shown = shown.and_then(|()| match (&tuning.tuned, &read) {
        (Some(file), Some(read)) if read.format == Format::Json && prover.proof.faults.is_empty() => {
            prover.show_by_log(&std::path::absolute(&file.path)?, read)
        }
        _ => Ok(()),
    });
    prover.backend.set_pins(before);
    let mut proof = prover.proof;
    match shown {
        // A job that breaks down in its calls under a rules file is a finding about the file. One that never began, or
        // that was ended from outside, says nothing about it.
        Err(broken @ (RunnerError::JobDied { outside: false, .. } | RunnerError::JobHung { .. })) => {
            proof.faults.push(ProofFault::Broken(broken.to_string()));
            Ok(proof)
        }
        shown => shown.map(|()| proof),
    }
}

/// A proof in progress.
struct Prover<'p> {
    backend: &'p mut dyn Backend,
    /// Directory for copies of rules files.
    scratch: &'p Path,
    release: Release,
    /// The measured cells.
    cells: &'p [Cell],
    proof: Proof,
}

impl Prover<'_> {
    /// Proves one half of the tuning after the other, and then tries both together.
    fn show(&mut self, tuning: &Tuning) -> Result<(), RunnerError> {
        let before = self.backend.pin(&BTreeMap::new());
        if tuning.han.is_some() {
            // It would take calls, and crash by failing rules while it sets itself up.
            self.backend.pin(&[WITHOUT_HAN].map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        }
        // The format to probe in is that of the file itself, because the proof has to show that this file is read.
        if let Some(file) = tuning.tuned.as_ref().filter(|file| !file.table.is_empty()) {
            self.show_rules(&file.table, file.format())?;
        }
        if tuning.han.is_some() && self.proof.faults.is_empty() {
            self.backend.set_pins(before);
            self.backend.pin(&handed::settings(tuning));
            self.show_delegated(tuning)?;
        }
        if self.proof.faults.is_empty() { self.apply(tuning) } else { Ok(()) }
    }

    /// Makes the measured calls under the files themselves.
    fn apply(&mut self, tuning: &Tuning) -> Result<(), RunnerError> {
        let outcomes = match &tuning.tuned {
            Some(file) => self.backend.probe(&std::path::absolute(&file.path)?, self.cells)?,
            None => {
                let text = emit::classic(&RuleTable::new(), &Notes::default(), |_| true)
                    .map_err(|error| RunnerError::WorkerFailed(error.to_string()))?;
                self.backend.probe(scratch::file(self.scratch, "probe", &text)?.path(), self.cells)?
            }
        };
        self.proof.used = self.cells.len();
        let wrong = self.cells.iter().copied().zip(outcomes).filter(|(_, outcome)| *outcome != CallEnd::Right);
        self.proof.faults.extend(wrong.map(|(call, outcome)| ProofFault::Unusable { call, outcome }));
        Ok(())
    }

    /// Makes calls under rules of which some make calls fail.
    fn probe(&mut self, text: &str, calls: &[Cell]) -> Result<Vec<CallEnd>, RunnerError> {
        let copy = scratch::file(self.scratch, "probe", text)?;
        let outcomes = self.backend.probe(copy.path(), calls)?;
        self.proof.probed += calls.len();
        Ok(outcomes)
    }

    /// Some collectives call others on the same communicator, whose failing rules would make them fail too. So each part of
    /// the table is probed in a file of its own, without rules for inner calls.
    fn show_rules(&mut self, table: &RuleTable, format: TargetFormat) -> Result<(), RunnerError> {
        for part in parts(table, self.release) {
            self.show_part(&part, format)?;
        }
        let unshown = &self.proof.unshown;
        let ruled: Vec<Collective> = table.collectives().map(|(collective, _)| collective).collect();
        let shown = |cell: &&Cell| ruled.contains(&cell.collective) && !unshown.contains(&cell.collective);
        self.proof.cells = self.cells.iter().filter(shown).count();
        let is_shown = self.proof.unshown.len() < ruled.len();
        if is_shown || !self.proof.faults.is_empty() { Ok(()) } else { self.show_format(format) }
    }

    /// If no rule of the file can be shown, shows at least that its format is read, with a failing rule for some collective
    /// on the largest communicator.
    fn show_format(&mut self, format: TargetFormat) -> Result<(), RunnerError> {
        let largest = self.cells.iter().map(|cell| cell.ranks).max();
        let Some(ranks) = largest.filter(|ranks| ranks.0 > 2) else { return Ok(()) };
        let mut table = RuleTable::new();
        table.set(Collective::Barrier, Steps::constant(Steps::constant(Choice::plain(1))));
        let call = Cell { collective: Collective::Barrier, ranks, bytes: Bytes(0) };
        let outcomes = self.probe(&render(&Checkerboard::new(&table, format))?, &[call])?;
        if !matches!(outcomes[..], [CallEnd::Refused(_) | CallEnd::Mixed(_)]) {
            self.proof.faults.push(ProofFault::NotAccepted);
        }
        Ok(())
    }

    fn show_part(&mut self, table: &RuleTable, format: TargetFormat) -> Result<(), RunnerError> {
        let release = self.release;
        let mut board = Checkerboard::new(table, format);
        let mut calls = calls(&board, table, release, self.cells);
        for (collective, _) in table.collectives() {
            let tells = |board: &Checkerboard| {
                calls.iter().any(|call| call.collective == collective && errs(board, release, call))
            };
            // Calls that are all expected to succeed would succeed without the file as well.
            if !tells(&board) {
                board.invert(collective);
            }
            if !probe::shows(format, collective) || format == TargetFormat::Json && !tells(&board) {
                self.proof.unshown.push(collective);
            }
        }
        calls.retain(|call| !self.proof.unshown.contains(&call.collective));
        if calls.is_empty() && format == TargetFormat::Json {
            return Ok(());
        }
        let outcomes = self.probe(&render(&board)?, &calls)?;
        if !outcomes.iter().any(|outcome| matches!(outcome, CallEnd::Refused(_) | CallEnd::Mixed(_))) {
            self.proof.faults.push(ProofFault::NotAccepted);
            return Ok(());
        }
        for (call, outcome) in calls.into_iter().zip(outcomes) {
            if !outcome.is_meant(errs(&board, release, &call)) {
                self.proof.faults.push(ProofFault::WrongRule { call, outcome });
            } else if is_ruled(table, release, &call) {
                self.proof.ruled += 1;
            }
        }
        Ok(())
    }
}

/// The text of a board.
fn render(board: &Checkerboard) -> Result<String, RunnerError> {
    board.text().map_err(|error| RunnerError::WorkerFailed(error.to_string()))
}

/// The table in parts, none of which has both a collective and another that it calls.
fn parts(table: &RuleTable, release: Release) -> Vec<RuleTable> {
    let calls = |one, other| registry::algorithms(release, one).any(|algorithm| algorithm.calls.contains(&other));
    let mut parts: Vec<RuleTable> = Vec::new();
    for (collective, blocks) in table.collectives() {
        let apart = |part: &RuleTable| {
            part.collectives().all(|(other, _)| !calls(collective, other) && !calls(other, collective))
        };
        let place = parts.iter().position(apart).unwrap_or(parts.len());
        if place == parts.len() {
            parts.push(RuleTable::new());
        }
        parts[place].set(collective, blocks.clone());
    }
    parts
}

/// Returns true if a table has a rule other than the default for a call.
fn is_ruled(table: &RuleTable, release: Release, call: &Cell) -> bool {
    !table.lookup(call.collective, call.ranks.0.into(), call.lookup_bytes(release)).is_builtin()
}

/// Returns true if a call must fail under the copy.
fn errs(board: &Checkerboard, release: Release, call: &Cell) -> bool {
    board.errs(call.collective, call.ranks.0.into(), call.lookup_bytes(release))
}

/// The measured cells of the table's collectives, and calls on both sides of every boundary that a job of this size can
/// reach.
///
/// On both sides of a boundary between communicator sizes, calls are made at the message boundaries of all of them: if
/// two blocks fail alike at one size, they differ at another.
fn calls(board: &Checkerboard, table: &RuleTable, release: Release, cells: &[Cell]) -> Vec<Cell> {
    let largest = cells.iter().map(|cell| cell.ranks.0).max().unwrap_or(2);
    let mut calls = BTreeSet::new();
    for (collective, _) in table.collectives() {
        let measured = || cells.iter().filter(|cell| cell.collective == collective);
        calls.extend(measured().copied());
        let bytes: BTreeSet<Bytes> = measured().map(|cell| cell.bytes).collect();
        let blocks = board.edges(collective);
        let edges: BTreeSet<u64> = blocks.iter().flat_map(|(_, sizes)| sizes.iter().copied()).collect();
        // The first size of a block and the last one below it are the two sides of its lower boundary.
        let sides = blocks.iter().flat_map(|(ranks, _)| [ranks.first.saturating_sub(1), ranks.first]);
        let reachable =
            sides.filter_map(|ranks| u32::try_from(ranks).ok()).filter(|ranks| (2..=largest).contains(ranks));
        for ranks in reachable.map(Ranks).collect::<BTreeSet<_>>() {
            let sizes = bytes.iter().copied().chain(sizes(release, collective, ranks, &edges));
            let cells = sizes.map(|bytes| Cell { collective, ranks, bytes });
            calls.extend(cells.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()));
        }
    }
    calls.into_iter().collect()
}

/// The message sizes just below and just above boundaries given in lookup bytes.
fn sizes(release: Release, collective: Collective, ranks: Ranks, edges: &BTreeSet<u64>) -> Vec<Bytes> {
    let Metric::Times(factor) = metric(release, collective, ranks) else { return Vec::new() };
    edges.iter().flat_map(|edge| sides(collective, edge.div_ceil(factor))).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::tuning::RulesFile;

    use super::*;
    use crate::simulate::{Scenario, Simulation};

    #[test]
    fn what_calls_each_other_is_probed_apart() {
        for release in Release::ALL {
            let mut table = RuleTable::new();
            for collective in Collective::ALL {
                if registry::algorithms(release, collective).next().is_some() {
                    table.set(collective, Steps::constant(Steps::constant(Choice::plain(1))));
                }
            }
            let parts = parts(&table, release);
            let all: Vec<Collective> =
                parts.iter().flat_map(|part| part.collectives().map(|(collective, _)| collective)).collect();
            assert_eq!(all.len(), table.collectives().count(), "{release}: each is in one part");
            for part in &parts {
                let here: Vec<Collective> = part.collectives().map(|(collective, _)| collective).collect();
                let called = here.iter().flat_map(|collective| registry::algorithms(release, *collective));
                let called: BTreeSet<Collective> =
                    called.flat_map(|algorithm| algorithm.calls.iter().copied()).collect();
                assert!(here.iter().all(|collective| !called.contains(collective)), "{release}: {here:?}");
            }
        }
    }

    /// A boundary at 1301 lookup bytes lies between messages of 1300 and 1304 bytes if elements have 4 bytes.
    #[test]
    fn boundaries_are_probed_by_whole_elements() {
        let around = |collective, edge| {
            let sizes = sizes(Release::V5_0, collective, Ranks(4), &BTreeSet::from([edge]));
            sizes.into_iter().map(|bytes| bytes.0).collect::<Vec<_>>()
        };
        assert_eq!(around(Collective::Bcast, 1301), [1300, 1301]);
        assert_eq!(around(Collective::Allreduce, 1301), [1300, 1304]);
        assert_eq!(around(Collective::ReduceScatterBlock, 4 * 1301), [1300, 1304]);
        assert_eq!(around(Collective::Allgather, 4 * 1301), [1300, 1301]);
        assert_eq!(around(Collective::Scan, 16), [0u64; 0], "its lookup does not see the size");
    }

    /// A table: allgather changes at 4 ranks and at 4 KiB looked up; bcast has one rule.
    fn table() -> RuleTable {
        let mut sizes = Steps::constant(Choice::BUILTIN);
        sizes.set(4096, None, Choice::plain(4));
        let mut ranks = Steps::constant(Steps::constant(Choice::BUILTIN));
        ranks.set(4, None, sizes);
        let mut table = RuleTable::new();
        table.set(Collective::Allgather, ranks);
        table
    }

    fn proven(table: &RuleTable, written: TargetFormat, obeyed_by: Release) -> Proof {
        let scratch = tempfile::tempdir().expect("a directory");
        let path = scratch.path().join("rules");
        let text = emit::write(table, &Notes::default(), written).expect("no hazards");
        std::fs::write(&path, &text).expect("writes");
        let file = RulesFile { table: table.clone(), ..RulesFile::of_tuned(path, text.into_bytes()) };
        let tuning = Tuning { tuned: Some(file), ..Tuning::default() };
        let cells: Vec<Cell> = table
            .collectives()
            .flat_map(|(collective, _)| {
                [2, 4, 8].map(|ranks| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(1024) })
            })
            .collect();
        let mut backend = Simulation::new(Scenario::Fastest, obeyed_by, 8);
        prove(&mut backend, &tuning, scratch.path(), Release::V6_0, &cells).expect("probes")
    }

    #[test]
    fn a_json_file_is_proved_by_json() {
        let shown = proven(&table(), TargetFormat::Json, Release::V6_0);
        assert_eq!((&shown.faults[..], &shown.unshown[..], shown.cells), (&[][..], &[][..], 3));
        assert!(shown.probed > 3, "{shown:?}");
        // Only calls from 4 KiB looked up and 4 ranks on have a rule.
        assert!(shown.ruled > 0 && shown.ruled < shown.probed, "{shown:?}");
        // A version that reads classic files only does not obey the copy, as little as the file.
        assert_eq!(proven(&table(), TargetFormat::Json, Release::V5_0).faults, [ProofFault::NotAccepted]);
        assert_eq!(proven(&table(), TargetFormat::Classic, Release::V5_0).faults, []);
        assert_eq!(proven(&table(), TargetFormat::V2, Release::V4_0).faults, [ProofFault::NotAccepted]);
    }

    /// A file for larger communicators than these is read, and none of its rules is used.
    #[test]
    fn rules_for_other_communicators_are_not_shown() {
        let mut ranks = Steps::constant(Steps::constant(Choice::BUILTIN));
        ranks.set(64, None, Steps::constant(Choice::plain(6)));
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, ranks);
        let shown = proven(&table, TargetFormat::Classic, Release::V5_0);
        assert_eq!((&shown.faults[..], shown.ruled), (&[][..], 0), "{shown:?}");
    }

    #[test]
    fn what_json_cannot_show_is_said_and_its_format_proved_nonetheless() {
        let mut bcast = RuleTable::new();
        bcast.set(Collective::Bcast, Steps::constant(Steps::constant(Choice::plain(3))));
        let shown = proven(&bcast, TargetFormat::Json, Release::V6_0);
        assert_eq!((&shown.faults[..], &shown.unshown[..], shown.cells), (&[][..], &[Collective::Bcast][..], 0));
        assert_eq!(proven(&bcast, TargetFormat::Json, Release::V5_0).faults, [ProofFault::NotAccepted]);
        // Among others that can be shown.
        let mut both = table();
        both.set(Collective::Bcast, Steps::constant(Steps::constant(Choice::plain(3))));
        let shown = proven(&both, TargetFormat::Json, Release::V6_0);
        assert_eq!((&shown.faults[..], &shown.unshown[..], shown.cells), (&[][..], &[Collective::Bcast][..], 3));
    }
}
