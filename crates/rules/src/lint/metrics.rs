//! Rules whose message sizes have another meaning than they seem to.

use super::code::{Code, Severity};
use super::collect::Collector;
use super::problem::Related;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::{self, Hazard};
use crate::metric::{Metric, metric};
use crate::reach::ReachedCommRule;
use crate::release::Release;
use crate::span::Span;
use crate::steps::Steps;
use crate::table::{RuleTable, all_builtin};
use crate::units::Ranks;

/// Reports communicator rules whose choice should not depend on the message size, or not in this way.
pub(super) fn check(reached: &ReachedCommRule<'_>, problems: &mut Collector) {
    let choices = reached.choices();
    if choices.count() < 2 {
        return;
    }
    // The places where the choice changes.
    let change = |(start, ..): (u64, Option<u64>, &Choice)| {
        let place = reached.steps.partition_point(|(at, _)| *at < start);
        reached.steps.get(place)?.1.map(|rule| rule.span)
    };
    let changes: Vec<Span> = choices.iter().skip(1).filter_map(change).collect();
    let at = changes.first().copied().unwrap_or(reached.comm_rule.size);
    match reached.collective {
        Collective::Gather | Collective::Scatter => size_dependent(reached, &choices, &changes, problems),
        _ => unseen(reached, at, problems),
    }
    other_metric(reached, at, problems);
    per_rank(reached, &choices, at, problems);
}

fn size_dependent(reached: &ReachedCommRule<'_>, choices: &Steps<Choice>, changes: &[Span], problems: &mut Collector) {
    let collective = reached.collective;
    let mut comm_rules = all_builtin();
    comm_rules.set(reached.first(), None, choices.clone());
    let mut table = RuleTable::new();
    table.set(collective, comm_rules);
    if !hazard::check(&table).iter().any(|hazard| matches!(hazard, Hazard::SizeDependent { .. })) {
        return;
    }
    let ranks = reached.ranks.first().map_or_else(String::new, ToString::to_string);
    let message = format!("the {collective} rules for {ranks} change with the message size");
    let problem = problems.merge(Code::SizeDependent, reached.comm_rule.size, reached.version, message);
    if problem.related.is_empty() {
        let related = |span: &Span| Related { span: *span, message: "changes here".to_owned() };
        problem.related = changes.iter().take(3).map(related).collect();
    }
}

fn unseen(reached: &ReachedCommRule<'_>, at: Span, problems: &mut Collector) {
    let collective = reached.collective;
    let seen = match metric(reached.version.release, collective, Ranks(reached.first() as u32)) {
        Metric::Times(_) => return,
        Metric::None => "always 0",
        Metric::CountFree => "the size of the datatype times the number of ranks",
    };
    let message = format!("{collective} rules differ by size, but what is looked up is {seen}");
    problems.merge(Code::SizeUnseen, at, reached.version, message);
}

fn other_metric(reached: &ReachedCommRule<'_>, at: Span, problems: &mut Collector) {
    let collective = reached.collective;
    let seen = match collective {
        _ if reached.version.release != Release::V4_0 => return,
        Collective::Allgatherv => "the total instead of the average",
        Collective::Gather | Collective::Scatter => "the size of the datatype times the ranks, without the count",
        _ => return,
    };
    problems.merge(Code::OtherMetric, at, reached.version, format!("for {collective}, 4.0 looks up {seen}"));
}

/// Says what thresholds in lookup totals are for each rank. Totals of non-empty messages are multiples of the number of
/// ranks: powers of two that are no multiples, or are smaller, were probably meant as bytes per rank.
fn per_rank(reached: &ReachedCommRule<'_>, choices: &Steps<Choice>, at: Span, problems: &mut Collector) {
    let (version, collective) = (reached.version, reached.collective);
    // The size in the list, rather than smaller ones to which it applies as well.
    let listed = reached.comm_rule.listed.filter(|_| !version.shifts_sizes).and_then(|size| u64::try_from(size).ok());
    let count = listed.map_or(reached.first(), |size| size.max(reached.first()));
    let factor = metric(version.release, collective, Ranks(count as u32));
    let thresholds: Vec<u64> = choices.iter().skip(1).map(|(start, _, _)| start).collect();
    let Some(first) = thresholds.first() else { return };
    if factor != Metric::Times(count) || count <= 2 || !thresholds.iter().all(|size| size.is_power_of_two()) {
        return;
    }
    let each = (100.0 * *first as f64 / count as f64).round() / 100.0;
    let message = format!("a threshold of {first} bytes for {collective} on {count} ranks is {each} bytes per rank");
    let problem = problems.merge(Code::PerRankSizes, at, version, message);
    let is_doubtful = *first < count || thresholds.len() > 2 && !count.is_power_of_two();
    if thresholds.len() < 2 || !is_doubtful {
        problem.severity = Severity::Note;
    }
}
