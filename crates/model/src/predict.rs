//! What a model says of a collective.

use collrules_record::Estimate;
use collrules_record::model::{Model, Predicted};
use collrules_rules::{Choice, Collective, Release};

use crate::correct::corrected;
use crate::machine::{Side, Unsaid, platform};
use crate::platform::Platform;
use crate::play::{Action, play_again};
use crate::schedule::programs;

/// A call that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// The algorithm with its parameters.
    pub choice: Choice,
    /// The size of the communicator.
    pub ranks: u32,
    /// The message bytes.
    pub bytes: u64,
}

/// The time until the last rank is through, played on the model, for a call that follows another with a barrier between them,
/// as calls are measured. Its interval has all parameters at the quick ends of their
/// intervals on one side, and at the slow ends on the other.
pub(crate) fn played(model: &Model, release: Release, call: Call) -> Result<Estimate, Unsaid> {
    let programs = programs(release, call.collective, call.choice, call.ranks, call.bytes)?;
    let time = |side: Side| {
        let platform = platform(model, call.ranks as usize, side)?;
        call_seconds(&platform, &programs).ok_or(Unsaid::Endless)
    };
    let point = time(Side::Middle)?;
    let certain = model.launches > 1;
    Ok(Estimate {
        point,
        low: if certain { Some(time(Side::Quick)?.min(point)) } else { None },
        high: if certain { Some(time(Side::Slow)?.max(point)) } else { None },
        level: model.level,
        samples: model.launches,
    })
}

/// The same, corrected by what this algorithm took over its predictions on as many ranks, where the model has seen it.
pub fn predict(model: &Model, release: Release, call: Call) -> Result<(Estimate, bool), Unsaid> {
    let played = played(model, release, call)?;
    // Algorithms have other numbers in other releases.
    let same = model.release.is_none_or(|measured| measured == release);
    let said = correction(model.quality.iter().filter(|_| same), call, played.point);
    let factor = said.map_or(1.0, |said| said / played.point);
    Ok((played.map(|time| time * factor), said.is_some()))
}

/// What these cells make of the prediction of a call: they have times of its algorithm beside their predictions.
pub(crate) fn correction<'a>(cells: impl Iterator<Item = &'a Predicted>, call: Call, played: f64) -> Option<f64> {
    let alike = |cell: &&Predicted| {
        (cell.cell.collective, cell.cell.ranks.0, cell.choice) == (call.collective, call.ranks, call.choice)
    };
    let known: Vec<(u64, f64, f64)> =
        cells.filter(alike).map(|cell| (cell.cell.bytes.0, cell.measured, cell.model)).collect();
    corrected(&known, call.bytes, played).filter(|_| played > 0.0)
}

/// The time of a call that follows another one like it with a barrier between them; none if it never ends.
pub fn call_seconds(platform: &Platform, programs: &[Vec<Action>]) -> Option<f64> {
    let ends = play_again(platform, programs, pause(platform)).ok()?;
    Some(ends.into_iter().fold(0.0, f64::max))
}

/// What a barrier takes: as many empty messages one after the other as it takes to hear of everybody.
fn pause(platform: &Platform) -> f64 {
    let ranks = platform.ranks();
    let way = |(i, j): (usize, usize)| platform.handling(i, 0) + platform.latency[i][j] + platform.handling(j, 0);
    let pairs = (0..ranks).flat_map(|i| (0..ranks).filter(move |j| *j != i).map(move |j| (i, j)));
    let steps = f64::from(ranks.next_power_of_two().trailing_zeros());
    steps * pairs.map(way).fold(0.0, f64::max)
}
