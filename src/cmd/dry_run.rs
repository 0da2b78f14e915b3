//! Output of `--dry-run`: the measurements, and an estimate of their duration.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::options::Budget;
use collrules_record::plan::{CellPlan, Shared};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Cell, Plan};
use collrules_report::terminal::aligned;
use collrules_rules::Collective;
use collrules_rules::words::counted;
use collrules_runner::forecast::{Forecast, forecast};
use collrules_runner::grid::reasons;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::remarks_on;
use collrules_workflow::plan::PROOF_JOBS;
use collrules_workflow::start::Started;

use crate::screen::{self, wrapped};

/// Times a few calls and prints points and estimate. `beyond` are the steps after the grid, with the largest number of
/// seconds of each, `budgets` the plans for several budgets of a tuning. `verbose` is missing if the command has no such
/// option.
pub(super) fn print(
    started: &mut Started,
    plan: &Plan,
    budget: Budget,
    beyond: &[(&str, Seconds)],
    budgets: &[(Seconds, Plan)],
    verbose: Option<bool>,
) -> Result<(), WorkflowError> {
    let forecast = forecast(started.backend.as_mut(), plan)?;
    let mut lines = wrapped(&started.survey.library, "", "  ");
    if verbose == Some(true) {
        let (release, arguments) = (started.release, plan.arguments);
        let cells = plan.cells.chunk_by(alike);
        lines.extend(cells.flat_map(|cells| points(cells, |cell, shared| reasons(release, cell, shared, arguments))));
    } else {
        lines.extend([String::new(), overview(plan), String::new()]);
    }
    let mut remarks = remarks_on(plan);
    remarks.push(format!(
        "{}, {}, {}",
        counted(plan.cells.len(), "size"),
        counted(plan.points(), "point"),
        counted(plan.launches as usize, "launch"),
    ));
    if !plan.patterns.is_empty() {
        let probes = counted(plan.patterns.len(), "probe");
        remarks.push(format!("{probes} in addition, to fit the model of the machine."));
    }
    let others = (1.0 + PROOF_JOBS) * started.startup.0;
    remarks.extend(sentences(&forecast, budget, others));
    let (table, reached) = budgets_buy(&forecast, budgets, screen::width());
    remarks.extend(reached);
    let beyond: Vec<_> = beyond.iter().filter(|(_, most)| most.0 > 0.0).collect();
    for (what, most) in &beyond {
        remarks.push(format!("{what} comes on top, for up to {}.", most.rounded()));
    }
    if let Some(budget) = budget.filter(|_| !beyond.is_empty()) {
        remarks.push(format!("The budget of {} is for all of it.", budget.rounded()));
    }
    if started.backend.name() == "simulation" {
        remarks.push("All times are simulated.".to_owned());
    }
    if verbose == Some(false) {
        remarks.push("--verbose lists every point.".to_owned());
    }
    lines.extend(remarks.iter().flat_map(|line| wrapped(line, "", "  ")));
    lines.extend(table.into_iter().flat_map(|table| [String::new(), table]));
    screen::print(&lines.join("\n"))
}

/// Number of sizes of each collective that each of these budgets decides, as a table; a sentence if the smallest one is
/// enough for all.
fn budgets_buy(forecast: &Forecast, budgets: &[(Seconds, Plan)], width: usize) -> (Option<String>, Option<String>) {
    let Some((least, first)) = budgets.first() else { return (None, None) };
    let reach: Vec<BTreeMap<Collective, usize>> = budgets.iter().map(|(_, plan)| forecast.reach(plan)).collect();
    // A small budget may leave collectives out.
    let largest = budgets.iter().map(|(_, plan)| plan).max_by_key(|plan| plan.cells.len()).unwrap_or(first);
    let mut planned: BTreeMap<Collective, usize> = BTreeMap::new();
    largest.cells.iter().for_each(|planned_cell| *planned.entry(planned_cell.cell.collective).or_default() += 1);
    let all: usize = planned.values().sum();
    if reach[0].values().sum::<usize>() == all {
        return (None, Some(format!("A budget of {} is enough for a decision on every size.", least.rounded())));
    }
    let share = |reached: usize, of: usize| format!("{} %", 100 * reached / of.max(1));
    let header = ["decided sizes".to_owned(), "of".to_owned()];
    let header: Vec<String> =
        header.into_iter().chain(budgets.iter().map(|(of, _)| of.rounded().to_string())).collect();
    let row = |(collective, of): (&Collective, &usize)| {
        let counts = reach.iter().map(|reach| reach.get(collective).copied().unwrap_or_default().to_string());
        [collective.to_string(), of.to_string()].into_iter().chain(counts).collect::<Vec<_>>()
    };
    let shares = reach.iter().map(|reach| share(reach.values().sum(), all));
    let sum = ["all".to_owned(), all.to_string()].into_iter().chain(shares).collect();
    let rows = planned.iter().map(row).chain([sum]);
    let right: Vec<usize> = (1..header.len()).collect();
    (Some(aligned(width, &header, rows, &right)), None)
}

/// A line per collective.
fn overview(plan: &Plan) -> String {
    let of_collective = plan.cells.chunk_by(|one, other| one.cell.collective == other.cell.collective);
    let rows = of_collective.map(|cells| {
        let ranks: BTreeSet<Ranks> = cells.iter().map(|planned| planned.cell.ranks).collect();
        let sizes: BTreeSet<Bytes> = cells.iter().map(|planned| planned.cell.bytes).collect();
        let candidates: BTreeSet<Candidate> = cells.iter().flat_map(|planned| planned.candidates.clone()).collect();
        let points: usize = cells.iter().map(|planned| planned.candidates.len()).sum();
        let has_sizes = cells[0].cell.collective.has_sizes();
        vec![
            cells[0].cell.collective.to_string(),
            ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            if has_sizes { range(&sizes) } else { "-".to_owned() },
            cells.len().to_string(),
            candidates.len().to_string(),
            points.to_string(),
        ]
    });
    let header = ["collective", "ranks", "message sizes", "sizes", "algorithms", "points"];
    aligned(screen::width(), &header, rows, &[3, 4, 5])
}

/// `21 from 1B to 1 MiB`.
fn range(sizes: &BTreeSet<Bytes>) -> String {
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) if first != last => format!("{} from {first} to {last}", sizes.len()),
        (first, _) => first.map(ToString::to_string).unwrap_or_default(),
    }
}

/// Returns true if both cells have equal candidates, collective and ranks. The second comes after the first.
fn alike(first: &CellPlan, second: &CellPlan) -> bool {
    let pairs = |planned: &CellPlan| -> Vec<_> {
        planned.shared.iter().map(|shared| (shared.candidate, shared.measured_as)).collect()
    };
    let communicator = |planned: &CellPlan| (planned.cell.collective, planned.cell.ranks);
    communicator(first) == communicator(second)
        && first.candidates == second.candidates
        && pairs(first) == pairs(second)
}

/// Lists the candidates of equal cells, and those left out because they equal another.
fn points(cells: &[CellPlan], reasons: impl Fn(Cell, Shared) -> Vec<String>) -> Vec<String> {
    // Reasons are those of the largest message: if one holds for all of it, it holds for smaller ones.
    let (first, last) = (&cells[0], &cells[cells.len() - 1]);
    let cell = match cells.len() {
        1 => first.cell.to_string(),
        count => {
            let Cell { collective, ranks, bytes } = first.cell;
            format!("{collective} of {bytes} to {} on {ranks} ranks ({count} sizes)", last.cell.bytes)
        }
    };
    let candidates: Vec<String> = first.candidates.iter().map(ToString::to_string).collect();
    let mut lines = wrapped(&format!("{cell}: {}", candidates.join(" ")), "", "    ");
    lines.extend(last.shared.iter().flat_map(|shared| {
        let Shared { candidate, measured_as } = shared;
        let why = reasons(last.cell, *shared).join("; ");
        wrapped(&format!("{candidate} equals {measured_as}: {why}"), "    ", "        ")
    }));
    lines
}

/// Describes the estimated duration. `others` are the seconds of jobs that do not measure.
fn sentences(forecast: &Forecast, budget: Budget, others: f64) -> Vec<String> {
    let total = Seconds(forecast.measuring.0 + others);
    let mut lines = vec![format!(
        "It will take about {}: a rough estimate from calls of the default for {}. It may take half as long, up to four \
         times as long where the default is the fastest, and longer if other programs use the processors.",
        total.rounded(),
        counted(forecast.timed.len(), "size"),
    )];
    if forecast.unknown > 0 {
        lines.push(format!(
            "The estimate leaves out {}: no similar calls could be timed.",
            counted(forecast.unknown, "size"),
        ));
    }
    if let Some(budget) = budget {
        let free = Seconds(forecast.unbounded.0 + others);
        lines.push(if free.0 > total.0 * 1.1 {
            format!(
                "With --budget none it would take about {}, until every size is as precise as asked for.",
                free.rounded()
            )
        } else {
            format!("It ends before the budget of {} is spent if every size is precise by then.", budget.rounded())
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use collrules_record::Subject;
    use collrules_runner::forecast::CandidateCost;

    use super::*;

    #[test]
    fn a_budget_that_binds_is_told_from_one_that_does_not() {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(8) };
        let timed = vec![(Subject::Cell(cell), CandidateCost::default()); 4];
        let forecast = |unbounded| {
            let (measuring, timed) = (Seconds(20.0), timed.clone());
            Forecast { measuring, unbounded: Seconds(unbounded), timed, unknown: 0 }
        };
        let budget = Some(Seconds(25.0));
        let text = sentences(&forecast(300.0), budget, 5.0).join(" ");
        assert!(text.contains("about 25 s: a rough estimate from calls of the default for 4 sizes"), "{text}");
        assert!(text.contains("--budget none it would take about 5.1 min"), "{text}");
        assert!(sentences(&forecast(20.0), budget, 5.0)[1].contains("before the budget of 25 s is spent"));
        assert_eq!(sentences(&forecast(20.0), None, 5.0).len(), 1);
    }
}
