//! Check by counted messages that the algorithm named by a rule is the one that runs.
//!
//! The messages of a call under the rules file are counted, and so are those on a communicator for which `MPI_T` has
//! set the intended choice. Calls with the same messages between the same ranks count as the same algorithm; if the
//! builtin sends the same too, messages cannot distinguish them.

use std::path::Path;

use collrules_record::plan::Schedule;
use collrules_record::{Candidate, Cell, Launch, Survey};
use collrules_rules::{Collective, Release, RuleTable, registry};

use crate::error::RunnerError;
use crate::launch::{LaunchCell, LaunchPlan};
use crate::mpi::{MpiBackend, Traffic};

/// Result of counting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Cells whose calls send the messages of the intended choice, and not those of the builtin.
    pub shown: Vec<Cell>,
    /// Cells like those in `shown`, except that the builtin would send the same messages.
    pub alike: Vec<Cell>,
    /// Cells whose messages Open MPI does not report, or cannot be compared: the collective cannot be switched, or the
    /// algorithm calls other collectives with rules.
    pub silent: Vec<Cell>,
    /// Cells whose calls send other messages.
    pub other: Vec<Cell>,
    /// Cells whose calls could not be counted, with the reason.
    pub uncounted: Vec<(Cell, String)>,
}

/// Counts messages in those cells for which the file, made from `table`, has a choice other than the builtin.
pub fn count(
    backend: &mut MpiBackend,
    rules: &Path,
    table: &RuleTable,
    release: Release,
    survey: &Survey,
    cells: &[Cell],
) -> Result<Messages, RunnerError> {
    let choice = |cell: &Cell| table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(release));
    let ruled = cells.iter().filter(|cell| !choice(cell).is_builtin()).copied();
    let (silent, counted): (Vec<Cell>, Vec<Cell>) = ruled.partition(|cell| {
        let algorithm = choice(cell).algorithm;
        survey.not_switchable.contains(&cell.collective)
            || passes_by(cell.collective, algorithm)
            || calls_ruled(release, table, cell.collective, algorithm)
    });
    let mut messages = Messages { silent, ..Messages::default() };
    if counted.is_empty() {
        return Ok(messages);
    }
    let plan = |candidates: &dyn Fn(&Cell) -> Vec<Candidate>, launch| {
        let cells = counted.iter().map(|cell| LaunchCell::new(*cell, candidates(cell))).collect();
        LaunchPlan { launch, ..LaunchPlan::new(cells, Schedule::default(), 1) }
    };
    let alone = Launch::Alone { series: 0, collective: None, candidate: Candidate::Builtin };
    let under_rules = plan(&|_| vec![Candidate::Builtin], alone);
    let intended = plan(&|cell| vec![Candidate::from_choice(choice(cell)), Candidate::Builtin], Launch::shared(0));
    let under_rules = backend.count(&under_rules, Some(rules))?;
    let intended = backend.count(&intended, None)?;
    for ((cell, found), compared) in counted.into_iter().zip(under_rules).zip(intended) {
        match (found.as_deref(), compared.as_deref()) {
            (Ok([found]), Ok([intended, builtin])) => messages.sort_in(cell, found, intended, builtin),
            (Err(why), _) | (_, Err(why)) => messages.uncounted.push((cell, why.clone())),
            _ => return Err(RunnerError::WorkerFailed(format!("it did not count the messages of {cell}"))),
        }
    }
    Ok(messages)
}

/// Returns true if an algorithm sends with persistent requests, which Open MPI's monitoring layer does not see.
pub fn passes_by(collective: Collective, algorithm: u32) -> bool {
    matches!((collective, algorithm), (Collective::Alltoall | Collective::Alltoallv, 1))
}

/// Returns true if an algorithm calls collectives of the same communicator that have rules of their own: these decide
/// the inner calls under the file, but the builtin does with the algorithm alone.
fn calls_ruled(release: Release, table: &RuleTable, collective: Collective, algorithm: u32) -> bool {
    let calls = registry::algorithm(release, collective, algorithm).map_or(&[][..], |algorithm| algorithm.calls);
    table.collectives().any(|(ruled, _)| calls.contains(&ruled))
}

impl Messages {
    fn sort_in(&mut self, cell: Cell, found: &Traffic, intended: &Traffic, builtin: &Traffic) {
        let list = if found != intended {
            &mut self.other
        } else if intended.iter().all(|receivers| receivers.is_empty()) {
            &mut self.silent
        } else if intended == builtin {
            &mut self.alike
        } else {
            &mut self.shown
        };
        list.push(cell);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use collrules_record::units::{Bytes, Ranks};

    use super::*;
    use crate::wire::Sent;

    #[test]
    fn messages_tell_what_they_can() {
        let sent = |to: u32, messages| vec![BTreeMap::from([(to, Sent { messages, bytes: 8 })]), BTreeMap::new()];
        let nothing = vec![BTreeMap::new(); 2];
        let cell = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(bytes) };
        let mut messages = Messages::default();
        messages.sort_in(cell(1), &sent(1, 1), &sent(1, 1), &sent(1, 2));
        messages.sort_in(cell(2), &sent(1, 1), &sent(1, 1), &sent(1, 1));
        messages.sort_in(cell(3), &nothing, &nothing, &sent(1, 1));
        messages.sort_in(cell(4), &sent(1, 2), &sent(1, 1), &sent(1, 2));
        let expected = Messages {
            shown: vec![cell(1)],
            alike: vec![cell(2)],
            silent: vec![cell(3)],
            other: vec![cell(4)],
            uncounted: Vec::new(),
        };
        assert_eq!(messages, expected);
    }
}
