//! Predictions of a model for a collective.

use std::cell::RefCell;
use std::collections::BTreeMap;

use collrules_program::{Platform, Program, play_again, tuned};
use collrules_record::{Candidate, Cell, Estimate, Mockup};
use collrules_rules::{Choice, Release, registry};

use crate::machine::{IntervalEnd, Unsaid, platform};
use crate::model::{Model, Predicted};

/// Simulated time until the last rank ends a call. As in measurements, a barrier separates it from the call before. The
/// ends of its interval have all parameters at the quick or at the slow ends of their intervals.
pub(crate) fn played(model: &Model, release: Release, cell: Cell, choice: Choice) -> Result<Estimate, Unsaid> {
    let programs = tuned(release, cell.collective, choice, cell.ranks.0, cell.bytes.0)?;
    let time = |side: IntervalEnd| {
        let platform = platform(model, cell.ranks.0 as usize, side)?;
        call_seconds(&platform, &programs).ok_or(Unsaid::Endless)
    };
    let point = time(IntervalEnd::Middle)?;
    let certain = model.launches > 1;
    Ok(Estimate {
        point,
        low: if certain { Some(time(IntervalEnd::Quick)?.min(point)) } else { None },
        high: if certain { Some(time(IntervalEnd::Slow)?.max(point)) } else { None },
        level: model.level,
        samples: model.launches,
    })
}

/// Predicts the time of a call like `played`, corrected by the errors of predictions of this algorithm on as many ranks,
/// if the model has such cells. The flag is true if it was corrected.
pub fn predict(model: &Model, release: Release, cell: Cell, choice: Choice) -> Result<(Estimate, bool), Unsaid> {
    let played = played(model, release, cell, choice)?;
    // Algorithms have other numbers in other releases.
    let same = model.release.is_none_or(|measured| measured == release);
    let said = corrected(model.quality.iter().filter(|_| same), cell, choice, played.point);
    let factor = said.map_or(1.0, |said| said / played.point);
    Ok((played.map(|time| time * factor), said.is_some()))
}

/// The longest time that the model predicts for a cell with any algorithm of coll/tuned, in one piece, whichever of them
/// carries out a candidate. Missing for calls in pieces or padded, and for collectives without known messages.
pub fn longest(model: &Model, release: Release) -> impl Fn(Cell, Candidate) -> Option<f64> {
    let known: RefCell<BTreeMap<Cell, Option<f64>>> = RefCell::default();
    let play = move |cell: Cell| {
        let choices = registry::algorithms(release, cell.collective).map(|known| Choice::plain(known.id));
        let times = choices.filter_map(|choice| Some(played(model, release, cell, choice).ok()?.point));
        times.max_by(f64::total_cmp)
    };
    move |cell, candidate| match candidate {
        Candidate::Mockup(Mockup::Split { .. } | Mockup::Pad(_)) => None,
        _ => *known.borrow_mut().entry(cell).or_insert_with(|| play(cell)),
    }
}

/// Corrects the prediction of a call by the errors of predictions at other sizes of its algorithm: by the difference
/// between the sizes on both sides, or by the factor of the nearest one. Errors that come from other causes than messages
/// (shared processors, uneven sharing of links) hardly change from one size to the next.
pub(crate) fn corrected<'a>(
    cells: impl Iterator<Item = &'a Predicted>,
    cell: Cell,
    choice: Choice,
    played: f64,
) -> Option<f64> {
    let alike = |it: &&Predicted| {
        (it.cell.collective, it.cell.ranks, it.choice) == (cell.collective, cell.ranks, choice) && played > 0.0
    };
    let (below, above): (Vec<_>, Vec<_>) = cells.filter(alike).partition(|it| it.cell.bytes <= cell.bytes);
    let below = below.into_iter().max_by_key(|it| it.cell.bytes);
    match (below, above.into_iter().min_by_key(|it| it.cell.bytes)) {
        (Some(less), Some(more)) => {
            let size = |of: Cell| of.bytes.0 as f64;
            let share = (size(cell) - size(less.cell)) / (size(more.cell) - size(less.cell));
            let (before, after) = (less.measured - less.model, more.measured - more.model);
            let between = played + before + (after - before) * share;
            Some(between).filter(|time| *time > 0.0).or(Some(played))
        }
        (one, other) => one.or(other).map(|it| played * it.measured / it.model),
    }
}

/// The time of a call that follows another one like it after a barrier; none if it never ends.
pub(crate) fn call_seconds(platform: &Platform, programs: &[Program]) -> Option<f64> {
    let ends = play_again(programs, platform, pause(platform)).ok()?;
    Some(ends.into_iter().fold(0.0, f64::max))
}

/// Estimates the time of a barrier: as many empty messages one after the other as a rank needs to hear from all others.
fn pause(platform: &Platform) -> f64 {
    let ranks = platform.ranks();
    let way = |(i, j): (usize, usize)| platform.handling(i, 0) + platform.latency[i][j] + platform.handling(j, 0);
    let pairs = (0..ranks).flat_map(|i| (0..ranks).filter(move |j| *j != i).map(move |j| (i, j)));
    let steps = f64::from(ranks.next_power_of_two().trailing_zeros());
    steps * pairs.map(way).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn corrections_are_those_of_the_sizes_beside() {
        let cell = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) };
        // Predicted are 1 and 4 microseconds, measured twice and half as much.
        let known = [(1000, 2e-6, 1e-6), (4000, 2e-6, 4e-6)].map(|(bytes, measured, model)| Predicted {
            cell: cell(bytes),
            algorithm: 1,
            name: String::new(),
            choice: Choice::plain(1),
            measured,
            model,
            corrected: None,
            neighbour: None,
            line: None,
        });
        let of = |bytes, predicted| {
            let said = corrected(known.iter(), cell(bytes), Choice::plain(1), predicted);
            said.map(|time| (time * 1e9).round())
        };
        assert_eq!([of(500, 1e-6), of(1000, 1e-6), of(8000, 8e-6)], [Some(2000.0), Some(2000.0), Some(4000.0)]);
        assert_eq!(of(2000, 2e-6), Some(2000.0), "the difference goes from 1 to -2 microseconds");
        assert_eq!(corrected(known.iter(), cell(7), Choice::plain(2), 1.0), None);
    }
}
