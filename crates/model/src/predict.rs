//! Predictions of a model for a collective.

use std::cell::RefCell;
use std::collections::BTreeMap;

use collrules_program::{Platform, Program, play_again, tuned};
use collrules_record::{Candidate, Cell, Estimate, Mockup};
use collrules_rules::{Choice, Collective, Release, registry};

use crate::correct::corrected;
use crate::machine::{IntervalEnd, Unsaid, platform};
use crate::model::{Model, Predicted};

/// A call to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictedCall {
    /// The collective.
    pub collective: Collective,
    /// The algorithm with its parameters.
    pub choice: Choice,
    /// The size of the communicator.
    pub ranks: u32,
    /// The message bytes.
    pub bytes: u64,
}

/// Simulated time until the last rank ends a call. As in measurements, a barrier separates it from the call before. The
/// ends of its interval have all parameters at the quick or at the slow ends of their intervals.
pub(crate) fn played(model: &Model, release: Release, call: PredictedCall) -> Result<Estimate, Unsaid> {
    let programs = tuned(release, call.collective, call.choice, call.ranks, call.bytes)?;
    let time = |side: IntervalEnd| {
        let platform = platform(model, call.ranks as usize, side)?;
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
pub fn predict(model: &Model, release: Release, call: PredictedCall) -> Result<(Estimate, bool), Unsaid> {
    let played = played(model, release, call)?;
    // Algorithms have other numbers in other releases.
    let same = model.release.is_none_or(|measured| measured == release);
    let said = correction(model.quality.iter().filter(|_| same), call, played.point);
    let factor = said.map_or(1.0, |said| said / played.point);
    Ok((played.map(|time| time * factor), said.is_some()))
}

/// The longest time that the model predicts for a cell with any algorithm of coll/tuned, in one piece, whichever of them
/// carries out a candidate. Missing for calls in pieces or padded, and for collectives without known messages.
pub fn longest(model: &Model, release: Release) -> impl Fn(Cell, Candidate) -> Option<f64> {
    let known: RefCell<BTreeMap<Cell, Option<f64>>> = RefCell::default();
    let play = move |Cell { collective, ranks, bytes }| {
        let call = |choice| PredictedCall { collective, choice, ranks: ranks.0, bytes: bytes.0 };
        let choices = registry::algorithms(release, collective).map(|known| Choice::plain(known.id));
        let times = choices.filter_map(|choice| Some(played(model, release, call(choice)).ok()?.point));
        times.max_by(f64::total_cmp)
    };
    move |cell, candidate| match candidate {
        Candidate::Mockup(Mockup::Split { .. } | Mockup::Pad(_)) => None,
        _ => *known.borrow_mut().entry(cell).or_insert_with(|| play(cell)),
    }
}

/// Corrects the prediction of a call by cells that have both measured and predicted times of its algorithm.
pub(crate) fn correction<'a>(
    cells: impl Iterator<Item = &'a Predicted>,
    call: PredictedCall,
    played: f64,
) -> Option<f64> {
    let alike = |cell: &&Predicted| {
        (cell.cell.collective, cell.cell.ranks.0, cell.choice) == (call.collective, call.ranks, call.choice)
    };
    let known: Vec<(u64, f64, f64)> =
        cells.filter(alike).map(|cell| (cell.cell.bytes.0, cell.measured, cell.model)).collect();
    corrected(&known, call.bytes, played).filter(|_| played > 0.0)
}

/// The time of a call that follows another one like it after a barrier; none if it never ends.
pub fn call_seconds(platform: &Platform, programs: &[Program]) -> Option<f64> {
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
