//! What a model says of a collective.

use collrules_record::Estimate;
use collrules_record::model::Model;
use collrules_rules::{Choice, Collective, Release};

use crate::machine::{Side, Unsaid, platform};
use crate::play::play;
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

/// The time until the last rank is through, played on the model. Its interval has all parameters at the quick ends of their
/// intervals on one side, and at the slow ends on the other.
pub fn predict(model: &Model, release: Release, call: Call) -> Result<Estimate, Unsaid> {
    let programs = programs(release, call.collective, call.choice, call.ranks, call.bytes)?;
    let time = |side: Side| {
        let platform = platform(model, call.ranks as usize, side)?;
        let ends = play(&platform, &programs).unwrap_or_default();
        Ok(ends.into_iter().fold(0.0, f64::max))
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
