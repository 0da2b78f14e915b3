//! Why a rules file is not obeyed, in whole sentences.

use collrules_record::{Cell, Component, Survey};
use collrules_report::notes;
use collrules_rules::words::first_lines;
use collrules_rules::{Release, RuleTable, registry};
use collrules_runner::circumstances::Obstacle;
use collrules_runner::messages::Messages;
use collrules_runner::mpi::MpiBackend;
use collrules_runner::proof::Proof;

use super::Question;

/// How many of a kind are named.
const NAMED: usize = 10;

/// The obstacle, and where its setting comes from.
pub(super) fn with_source(obstacle: &Obstacle, backend: &MpiBackend) -> String {
    let Some(parameter) = obstacle.parameter() else { return obstacle.to_string() };
    match backend.source_of(&parameter) {
        Some(source) => format!("{obstacle} ({parameter} comes from: {source})"),
        None => obstacle.to_string(),
    }
}

pub(super) fn of_proof(proof: &Proof) -> Vec<String> {
    first_lines(proof.faults.iter().map(ToString::to_string).collect(), NAMED)
}

/// Calls that send other messages than the intended algorithm does.
pub(super) fn of_messages(messages: &Messages, table: &RuleTable, release: Release) -> Vec<String> {
    let sentence = |cell: &Cell| {
        let choice = table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(release));
        let name = registry::algorithm(release, cell.collective, choice.algorithm).map_or("?", |it| it.name);
        format!("{cell} does not send what algorithm {} ({name}) sends", choice.algorithm)
    };
    first_lines(messages.other.iter().map(sentence).collect(), NAMED)
}

/// What may be behind faults of the proof.
pub(super) fn explaining(question: &Question, survey: &Survey, release: Release) -> Vec<String> {
    let mut reasons = Vec::new();
    let tuned = survey.components.get(&Component::TUNED).copied();
    let above = survey.components.iter().filter(|(_, priority)| Some(**priority) > tuned);
    let above: Vec<String> = above.map(|(component, priority)| format!("{component} ({priority})")).collect();
    if let Some(priority) = tuned.filter(|_| !above.is_empty()) {
        reasons.push(format!(
            "components with a priority above that of coll/tuned ({priority}) may take the calls: {}; see \
             coll_tuned_priority and `collrules doctor`",
            above.join(", ")
        ));
    }
    let origin = notes::origin(&String::from_utf8_lossy(&question.bytes));
    if let Some(origin) = origin.filter(|origin| !origin.same.contains(&release)) {
        reasons.push(format!(
            "the file was measured on Open MPI {} and does not mean the same to {release}; tune again with the Open MPI \
             in use",
            origin.measured
        ));
    }
    reasons
}
