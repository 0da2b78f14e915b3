//! The last screen of a tuning: the verdict, confirmed gains, what was dropped, the quality of the data, and the next
//! command.

use collrules_record::findings::{CellFinding, Findings, Statistic, Verdict};
use collrules_record::validation::{Fates, Validation};
use collrules_record::{Cell, Estimate, Layout};
use collrules_rules::words::{counted, listed};

use crate::context::Context;
use crate::gains::Gains;
use crate::plain;
use crate::summary::sizes;
use crate::validation::verdict;
use crate::words::{ends, number, times};

/// Number of collectives whose gains get a line each.
const GAINS: usize = 3;

/// The speedup of each collective with rules, the largest first: `bcast: 1.64x faster (1.59 to 1.69), 64 KiB to 1 MiB, 8
/// ranks, 5 sizes`.
pub(crate) fn describe_gains(gains: &Gains<'_>) -> Vec<String> {
    let means = gains.collectives().into_iter().filter_map(|collective| {
        let speedup = gains.mean(|cell| cell.collective == collective)?;
        let cells = gains.of_collective(collective).filter(|(_, gain)| gain.speedup.is_some());
        Some((speedup, cells.map(|(cell, _)| cell).collect()))
    });
    let mut means: Vec<(Estimate, Vec<Cell>)> = means.collect();
    means.sort_by(|(a, _), (b, _)| b.point.total_cmp(&a.point));
    let describe = |(speedup, cells): (Estimate, Vec<Cell>)| {
        Some(format!(
            "{}: {} faster{}, {}, {}",
            cells.first()?.collective,
            times(speedup.point),
            ends(speedup, number),
            describe_place(&cells)?,
            counted(cells.len(), "size")
        ))
    };
    means.into_iter().filter_map(describe).collect()
}

/// Sizes and numbers of ranks of a collective's cells: `1 B to 4 KiB, 2 to 8 ranks`.
fn describe_place(cells: &[Cell]) -> Option<String> {
    let collective = cells.first()?.collective;
    let (first, last) = (cells.iter().map(|cell| cell.bytes).min()?, cells.iter().map(|cell| cell.bytes).max()?);
    let (fewest, most) = (cells.iter().map(|cell| cell.ranks.0).min()?, cells.iter().map(|cell| cell.ranks.0).max()?);
    let ranks = if fewest == most { format!("{fewest} ranks") } else { format!("{fewest} to {most} ranks") };
    Some(if collective.has_sizes() { format!("{}, {ranks}", sizes(collective, first, last)) } else { ranks })
}

/// Returns true if a candidate seems to be faster in a cell that keeps the default, and its interval includes gains
/// that count.
pub(crate) fn is_open(cell: &CellFinding, min_gain: f64) -> bool {
    let seems = |gain: &Estimate| gain.point > 1.0 && gain.high.is_none_or(|high| high >= 1.0 + min_gain);
    matches!(cell.verdict, Verdict::Keep { .. })
        && cell.points.iter().filter_map(|point| point.gain).any(|gain| seems(&gain))
}

/// The verdict on a tuning, in a sentence. Open layouts use its rules and did not confirm them.
pub fn tuning_verdict(findings: &Findings, validation: Option<&Validation>, open_layouts: &[Layout]) -> String {
    match validation {
        Some(validation) if validation.is_confirmed() && !open_layouts.is_empty() => {
            let layouts: Vec<String> = open_layouts.iter().map(|layout| format!("--layout {layout}")).collect();
            format!("NOT CONFIRMED with {}: fresh launches there have not confirmed the rules.", listed(&layouts))
        }
        Some(validation) => verdict(validation),
        None if findings.changes_nothing() => {
            let open = findings.cells.iter().filter(|cell| is_open(cell, findings.criteria.min_gain)).count();
            if open == 0 {
                "No difference: no algorithm is shown to be faster than the default.".to_owned()
            } else {
                format!(
                    "Undecided: {open} of {} need more time; the default stays.",
                    counted(findings.cells.len(), "size")
                )
            }
        }
        None if findings.statistic != Statistic::RankMaximum => {
            "NOT CONFIRMED on this machine: the rules rest on one campaign of imported timings.".to_owned()
        }
        None => "NOT CONFIRMED: the rules were not compared with the default in fresh launches.".to_owned(),
    }
}

/// Returns true if fresh launches confirmed a tuning in every layout that uses its rules, or if it changes nothing.
pub fn is_confirmed(findings: &Findings, validation: Option<&Validation>, open_layouts: &[Layout]) -> bool {
    findings.changes_nothing() || open_layouts.is_empty() && validation.is_some_and(Validation::is_confirmed)
}

/// Sizes whose rules fresh launches did not confirm.
pub(crate) fn left_to_default(dropped: usize, undecided: usize) -> String {
    let counts = [(dropped, "dropped"), (undecided, "undecided")].into_iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    format!("Left to the default: {}.", each.join(", "))
}

/// At most eight lines: the verdict, confirmed gains, what was dropped, the quality of the data, the report, and the
/// command that installs the tuning (`next`).
pub fn lines(findings: &Findings, context: &Context<'_>, report: &str, next: Option<&str>) -> Vec<String> {
    let validation = context.validation;
    let mut lines = vec![tuning_verdict(findings, validation, &context.open_layouts)];
    let confirmed = validation.filter(|validation| validation.is_confirmed());
    let gains = confirmed.map_or_else(Vec::new, |_| describe_gains(&Gains::new(findings, validation)));
    lines.extend(gains.iter().take(GAINS).map(|gain| format!("  {gain}")));
    let others = gains.len().saturating_sub(GAINS);
    if let Some(last) = lines.last_mut().filter(|_| others > 0) {
        *last += &format!("; {} in the report", counted(others, "more collective"));
    }
    let Fates { dropped, undecided, .. } = validation.map(Validation::fates).unwrap_or_default();
    if dropped + undecided > 0 {
        lines.push(left_to_default(dropped, undecided));
    }
    lines.push(format!("Data: {}", context.quality));
    lines.push(format!("Report: {}", plain::line(report)));
    lines.extend(next.map(|next| format!("Next: {}", plain::line(next))));
    lines
}
