//! What anchor cells showed that were measured again, for a terminal of 80 columns.

use collrules_record::Candidate;
use collrules_record::drift::Drift;
use collrules_record::validation::Outcome;
use collrules_rules::words::counted;

use crate::terminal::{side_by_side, side_by_side_head};
use crate::words::{percent, ratio, wrapped};

/// The width of a terminal that nobody has widened.
const WIDTH: usize = 80;

/// Every point, then what they come to.
pub fn text(drift: &Drift) -> String {
    let mut lines = Vec::new();
    for collective in drift.points.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        lines.push(collective[0].cell.collective.to_string());
        lines.push(side_by_side_head(["then", "now", "now/then"], "by"));
        lines.extend(collective.iter().map(|point| {
            let by = match point.candidate {
                Candidate::Builtin => "builtin".to_owned(),
                other => other.to_string(),
            };
            side_by_side(point.cell, [point.then, point.now], point.shift.ratio, point.shift.change, &by)
        }));
        lines.push(String::new());
    }
    lines.extend(sentences(drift).iter().flat_map(|sentence| wrapped(WIDTH, sentence, "", "")));
    lines.join("\n")
}

/// What the points come to.
pub fn sentences(drift: &Drift) -> Vec<String> {
    let mut sentences = Vec::new();
    let all = counted(drift.points.len(), "point");
    let (slower, faster) = (drift.those(Outcome::Slower).count(), drift.those(Outcome::Faster).count());
    let beyond = percent(drift.criteria.min_change);
    sentences.push(match (drift.changed(), slower + faster) {
        (false, _) => format!(
            "The machine behaves as it did {}: none of {all} is shown to have changed by more than {beyond}.",
            drift.measured
        ),
        (true, 0) => format!("The machine changed since {}: all points together did, by more than {beyond}.", drift.measured),
        (true, _) => format!(
            "The machine changed since {}: of {all}, {slower} take longer and {faster} less time, by more than {beyond}.",
            drift.measured
        ),
    });
    if let Some(together) = &drift.together {
        sentences.push(format!("All points together take {} the time of then.", ratio(together.ratio)));
    }
    let round = &drift.rules;
    let lost = round.count(Outcome::Slower) + round.failed.iter().filter(|failed| failed.with).count();
    sentences.push(match (round.cells.len(), lost) {
        (0, 0) => "No rule serves any of these cells.".to_owned(),
        (cells, 0) => format!(
            "The rules still hold: in none of {} are they shown to be slower than the builtin of today; {} are faster.",
            counted(cells, "cell") + " with a rule",
            round.count(Outcome::Faster)
        ),
        (cells, lost) => format!(
            "The rules do NOT hold any more: in {lost} of {cells} cells they fail or are slower than the builtin. `collrules \
             validate --repair {}` gives these back, `collrules tune` finds better ones.",
            drift.run
        ),
    });
    sentences.push(format!(
        "Where nothing changed, an alarm comes up in at most {} of such checks.",
        percent(drift.criteria.error_rate)
    ));
    sentences.extend(drift.obstacles.iter().cloned());
    sentences.extend(
        drift.differences.iter().map(|it| format!("Not the same: {}: {} then, {} now.", it.what, it.before, it.after)),
    );
    sentences
}
