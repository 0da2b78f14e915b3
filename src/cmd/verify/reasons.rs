//! Reasons why a rules file is not obeyed, in whole sentences.

use collrules_record::{Cell, Component, Survey, Tuning};
use collrules_rules::words::first_lines;
use collrules_rules::{Release, RuleTable, registry};
use collrules_runner::circumstances::Obstacle;
use collrules_runner::messages::Messages;
use collrules_runner::mpi::MpiBackend;

/// Largest number of sentences of a kind.
pub(super) const NAMED: usize = 10;

/// The obstacle with the source of its setting.
pub(super) fn with_source(obstacle: &Obstacle, backend: &MpiBackend) -> String {
    let Obstacle { why, parameter } = obstacle;
    let source = parameter.as_ref().and_then(|parameter| Some((parameter, backend.source_of(parameter)?)));
    source.map_or_else(|| why.clone(), |(parameter, source)| format!("{why} ({parameter} comes from: {source})"))
}

/// Calls whose messages differ from those of the intended algorithm.
pub(super) fn of_messages(messages: &Messages, table: &RuleTable, release: Release) -> Vec<String> {
    let sentence = |cell: &Cell| {
        let choice = table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(release));
        let name = registry::algorithm(release, cell.collective, choice.algorithm).map_or("?", |it| it.name);
        format!("{cell} does not send the messages of algorithm {} ({name})", choice.algorithm)
    };
    first_lines(messages.other.iter().map(sentence).collect(), NAMED)
}

/// Lists possible reasons for faults of the proof.
pub(super) fn explaining(tuning: &Tuning, survey: &Survey, release: Release) -> Vec<String> {
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
    let origin = super::origin(tuning);
    if let Some(origin) = origin.filter(|origin| !origin.same.contains(&release)) {
        reasons.push(format!(
            "the file was measured on Open MPI {} and does not mean the same to {release}; tune again with the Open MPI \
             in use",
            origin.measured
        ));
    }
    reasons
}
