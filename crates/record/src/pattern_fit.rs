//! What patterns take: lines over sizes, with bends where the library changes its protocol.

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::pattern::{Cast, Shape};
use crate::units::{Bytes, Ranks};

/// What a pattern takes with a cast: fitted to each launch, with errors taken relative to the time. Of a ping-pong it is one
/// way, half of the round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternFit {
    /// What the ranks do.
    pub shape: Shape,
    /// How many they are.
    pub ranks: Ranks,
    /// Which they are.
    pub cast: Cast,
    /// Whether all of them are on one host.
    pub inside: bool,
    /// The lines, in order of size; bends lie between them.
    pub regimes: Vec<Regime>,
}

/// Sizes on one line, `start + per_byte bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// The smallest size that was timed of it.
    pub first: Bytes,
    /// The largest.
    pub last: Bytes,
    /// Seconds to begin (alpha of messages).
    pub start: Estimate,
    /// Seconds for a byte (beta of messages, gamma of the operation).
    pub per_byte: Estimate,
    /// The root of the mean square of what the line misses, in parts of the time.
    pub misfit: f64,
}

impl PatternFit {
    /// The line for a size: below all sizes the first, above all the last.
    pub fn regime(&self, bytes: f64) -> Option<&Regime> {
        self.regimes.iter().rev().find(|regime| bytes >= regime.first.0 as f64).or(self.regimes.first())
    }

    /// Seconds at a size; 0 where nothing was fitted.
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.regime(bytes).map_or(0.0, |regime| regime.start.point + regime.per_byte.point * bytes)
    }
}
