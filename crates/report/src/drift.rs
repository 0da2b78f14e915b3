//! Result of timing sizes of a run again.

use collrules_record::validation::Outcome;
use collrules_rules::Release;
use collrules_rules::words::counted;
use collrules_tuner::results::drift::{Drift, DriftPoint};

use crate::cells::{SideBySide, side_by_side};
use crate::changes::{describe_limitation, property};
use crate::document::Document;
use crate::quality::describe_doubt;
use crate::validation::compared_cells;
use crate::words::{percent, ratio};

/// The default's times then and now, the tuning beside today's default, and the result.
pub fn document(drift: &Drift) -> Document {
    let row = |point: &DriftPoint| SideBySide {
        cell: point.cell,
        times: [point.then, point.now],
        ratio: point.shift.ratio,
        outcome: point.shift.change,
        by: "default".to_owned(),
    };
    let rows: Vec<SideBySide> = drift.points.iter().map(row).collect();
    let mut blocks = side_by_side(["then:", "now:", "now/then:", "by"], &rows);
    blocks.extend(
        Release::from_version(drift.version)
            .ok()
            .map(|release| compared_cells(&drift.tuning, release))
            .into_iter()
            .flatten(),
    );
    Document { subject: "drift of a machine".to_owned(), answer: sentences(drift), blocks, ..Document::default() }
}

/// Describes the result over all sizes.
fn sentences(drift: &Drift) -> Vec<String> {
    let mut sentences = Vec::new();
    let all = counted(drift.points.len(), "size");
    let (slower, faster) = (drift.points_with(Outcome::Slower).count(), drift.points_with(Outcome::Faster).count());
    let then = drift.doubts_then.iter().map(|doubt| format!("when the run was made, {}", describe_doubt(doubt)));
    let now = drift.doubts_now.iter().map(|doubt| format!("now {}", describe_doubt(doubt)));
    let doubts: Vec<String> = then.chain(now).collect();
    let beyond = percent(drift.criteria.min_change);
    let open = drift.points_with(Outcome::Undecided).count();
    sentences.push(match (drift.changed(), slower + faster) {
        (false, _) if drift.is_unchanged() => {
            let open = if open > 0 { format!("; {open} of {all} are undecided") } else { String::new() };
            format!(
                "No change since {}: the default's times are within {beyond} of the earlier ones{open}.",
                drift.measured
            )
        }
        (false, _) => format!(
            "Undecided: no change by more than {beyond} since {} is shown, and for {open} of {all} none is excluded. \
             Repeat the check on an idle machine, or with more --launches and --budget.",
            drift.measured
        ),
        (true, changed) if !doubts.is_empty() => format!(
            "Times changed since {} ({changed} of {all} by more than {beyond}), but the data is poor: {}. The cause \
             may be other load: repeat the check on an idle machine.",
            drift.measured,
            doubts.join("; "),
        ),
        (true, 0) => {
            format!("The machine changed since {}: by more than {beyond} over all sizes together.", drift.measured)
        }
        (true, _) => format!(
            "The machine changed since {}: of {all}, {slower} take longer and {faster} less time by default, by more \
             than {beyond}.",
            drift.measured
        ),
    });
    if let Some(together) = &drift.together {
        sentences.push(format!("Over all sizes, times are {} the earlier ones.", ratio(together.ratio)));
    }
    let round = &drift.tuning;
    let lost = round.count(Outcome::Slower) + round.failed.iter().filter(|failed| failed.with).count();
    sentences.push(match (&drift.failed, lost) {
        (Some(why), _) => format!("The tuning does NOT hold any more: jobs with it fail ({why})."),
        (None, 0) => {
            let faster = round.count(Outcome::Faster);
            let head = if faster > 0 { "The tuning still holds" } else { "The tuning is not shown to be faster any more" };
            let all = counted(round.cells.len(), "size");
            let open = round.count(Outcome::Undecided);
            format!(
                "{head}: none of {all} is shown to be slower than the default today; {faster} are faster, {open} undecided."
            )
        }
        (None, lost) => format!(
            "The tuning does NOT hold any more: {lost} of {} fail with it or are slower than the default. `collrules \
             validate --repair {}` removes what loses, `collrules tune` finds a better one.",
            counted(round.cells.len(), "size"),
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
