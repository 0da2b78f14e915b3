//! Result of measuring anchor cells again.

use collrules_record::Candidate;
use collrules_record::validation::Outcome;
use collrules_rules::words::counted;
use collrules_tuner::results::drift::Drift;

use crate::cells::{SideBySide, side_by_side};
use crate::changes::{describe_limitation, property};
use crate::document::Document;
use crate::quality::describe_doubt;
use crate::words::{percent, ratio};

/// Every point, and the result.
pub fn document(drift: &Drift) -> Document {
    let points = drift.points.iter().map(|point| {
        let by = match point.candidate {
            Candidate::Builtin => "default".to_owned(),
            other => other.to_string(),
        };
        SideBySide {
            cell: point.cell,
            times: [point.then, point.now],
            ratio: point.shift.ratio,
            outcome: point.shift.change,
            by,
        }
    });
    Document {
        subject: "drift of a machine".to_owned(),
        answer: sentences(drift),
        blocks: side_by_side(["then:", "now:", "now/then:", "by"], &points.collect::<Vec<_>>()),
        ..Document::default()
    }
}

/// Describes the result over all points.
fn sentences(drift: &Drift) -> Vec<String> {
    let mut sentences = Vec::new();
    let all = counted(drift.points.len(), "point");
    let (slower, faster) = (drift.those(Outcome::Slower).count(), drift.those(Outcome::Faster).count());
    let then = drift.doubts_then.iter().map(|doubt| format!("when the run was made, {}", describe_doubt(doubt)));
    let now = drift.doubts_now.iter().map(|doubt| format!("now {}", describe_doubt(doubt)));
    let doubts: Vec<String> = then.chain(now).collect();
    let beyond = percent(drift.criteria.min_change);
    sentences.push(match (drift.changed(), slower + faster) {
        (false, _) => {
            format!("No change since {}: none of {all} is shown to have changed by more than {beyond}.", drift.measured)
        }
        (true, changed) if !doubts.is_empty() => format!(
            "Times changed since {} ({changed} of {all} by more than {beyond}), but the data is poor: {}. The cause \
             may be other load: repeat the check on an idle machine.",
            drift.measured,
            doubts.join("; "),
        ),
        (true, 0) => {
            format!("The machine changed since {}: by more than {beyond} over all points together.", drift.measured)
        }
        (true, _) => format!(
            "The machine changed since {}: of {all}, {slower} take longer and {faster} less time, by more than \
             {beyond}.",
            drift.measured
        ),
    });
    if let Some(together) = &drift.together {
        sentences.push(format!("Over all points, times are {} the earlier ones.", ratio(together.ratio)));
    }
    let round = &drift.rules;
    let lost = round.count(Outcome::Slower) + round.failed.iter().filter(|failed| failed.with).count();
    sentences.push(match (round.cells.len(), lost) {
        (0, 0) => "No rule applies to any of these sizes.".to_owned(),
        (cells, 0) => format!(
            "The rules still hold: none of {} is slower than today's default; {} are faster.",
            counted(cells, "size") + " with a rule",
            round.count(Outcome::Faster)
        ),
        (cells, lost) => format!(
            "The rules do NOT hold any more: for {lost} of {cells} sizes they fail or are slower than the default. \
             `collrules validate --repair {}` removes these rules, `collrules tune` finds better ones.",
            drift.run
        ),
    });
    sentences.push(format!(
        "If nothing changed, at most {} of such checks give a false alarm.",
        percent(drift.criteria.error_rate)
    ));
    sentences.extend(drift.obstacles.iter().map(describe_limitation));
    sentences.extend(
        drift
            .differences
            .iter()
            .map(|it| format!("Differs: {}: {} then, {} now.", property(it.what), it.before, it.after)),
    );
    sentences
}
