//! Tables of a validation.

use collrules_record::findings::Findings;
use collrules_record::validation::{FailedCell, Outcome, ValidatedCell, Validation};
use collrules_rules::registry;

use crate::cells::describe_outcome;
use crate::document::Block;
use crate::gains::Gains;
use crate::words::{describe_way, percent, ratio};

/// Numbers of sizes by outcome, and the criteria.
pub(crate) fn numbers(validation: &Validation) -> Block {
    let round = &validation.round;
    let criteria = &validation.criteria;
    let count = |is_wanted: &dyn Fn(&ValidatedCell) -> bool| round.cells.iter().filter(|cell| is_wanted(cell)).count();
    let ruled = |outcome| count(&|cell| cell.is_ruled() && cell.verdict == outcome).to_string();
    let left = round.cells.iter().filter(|cell| cell.is_ruled() && !round.repaired.contains(&cell.cell));
    let lowest = left.min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point));
    let visible = round.resolution().map_or("-".to_owned(), percent);
    let same = percent(criteria.same_within.max(criteria.min_difference));
    let rows = [
        ("version of Open MPI", validation.version.to_string()),
        ("pairs of fresh launches, without and with the rules file", round.pairs.to_string()),
        ("compared", describe_way(round.apart.as_deref())),
        ("speedup of a second launch without it (control)", round.control.map_or("-".to_owned(), ratio)),
        ("sizes compared", round.cells.len().to_string()),
        ("of these, between the sizes measured for tuning", count(&|cell| !cell.tuned).to_string()),
        ("sizes not compared", round.unreached.to_string()),
        ("sizes with a rule", count(&ValidatedCell::is_ruled).to_string()),
        ("faster with it", ruled(Outcome::Faster)),
        ("slower with it", ruled(Outcome::Slower)),
        ("the same", format!("{} (within {same})", ruled(Outcome::Same))),
        ("undecided", ruled(Outcome::Undecided)),
        (
            "slower without a rule, so not because of the file",
            count(&|cell| cell.control && cell.verdict == Outcome::Slower).to_string(),
        ),
        (
            "lowest speedup under a rule",
            lowest.map_or("-".to_owned(), |cell| format!("{} for {}", ratio(cell.speedup), cell.cell)),
        ),
        ("smallest difference that is seen for half of the sizes", visible),
        ("smallest difference that counts", format!("{} of {}s", percent(criteria.min_difference), criteria.middle)),
        ("false discovery rate", percent(criteria.error_rate)),
        ("confidence of intervals", percent(criteria.level)),
    ];
    Block::table(["over all", "number"], rows.map(|(what, number)| [what.to_owned(), number]))
}

/// Cells that were slower, failed, or lost their rule.
pub(crate) fn telling(findings: &Findings, validation: &Validation, gains: &Gains<'_>) -> Block {
    let removed = |cell| gains.removal(cell).map_or(String::new(), |why| format!("; rule removed: {}", why.describe()));
    let compared = |cell: &ValidatedCell| {
        let rule = registry::describe(findings.release, cell.cell.collective, cell.in_use);
        let outcome = describe_outcome(cell.verdict).to_owned() + &removed(cell.cell);
        [cell.cell.to_string(), rule, ratio(cell.speedup), outcome]
    };
    let failed = |failed: &FailedCell| {
        let side = if failed.with { "with" } else { "without" };
        let why = format!("failed {side} the file: {}{}", failed.why, removed(failed.cell));
        [failed.cell.to_string(), "-".to_owned(), "-".to_owned(), why]
    };
    let told = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower || gains.removal(cell.cell).is_some();
    let round = &validation.round;
    let rows = round.cells.iter().filter(told).map(compared).chain(round.failed.iter().map(failed));
    Block::table(["size", "rule", "speedup", "verdict"], rows)
}
