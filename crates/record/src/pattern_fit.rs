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
    /// Seconds to begin (alpha of messages). Less than nothing where the line is that of long messages of which a part passes
    /// free of the link's time.
    pub start: Estimate,
    /// Seconds for a byte (beta of messages, gamma of the operation).
    pub per_byte: Estimate,
    /// The root of the mean square of what the line misses, in parts of the time.
    pub misfit: f64,
}

impl PatternFit {
    /// The line for a size: below all sizes the first, above all the last, and between two of them the nearer one, in the
    /// logarithm.
    pub fn regime(&self, bytes: f64) -> Option<&Regime> {
        let gives_way =
            |pair: &&[Regime]| bytes * bytes >= pair[0].last.0.max(1) as f64 * pair[1].first.0.max(1) as f64;
        self.regimes.get(self.regimes.windows(2).take_while(gives_way).count())
    }

    /// Seconds at a size; 0 where nothing was fitted. Between two lines, from the end of one to the beginning of the next.
    pub fn seconds(&self, bytes: f64) -> f64 {
        let between = |pair: &&[Regime]| (pair[0].last.0 as f64) < bytes && bytes < pair[1].first.0 as f64;
        if let Some([one, other]) = self.regimes.windows(2).find(between) {
            let (from, to) = (one.last.0 as f64, other.first.0 as f64);
            return one.at(from) + (other.at(to) - one.at(from)) * (bytes - from) / (to - from);
        }
        self.regime(bytes).map_or(0.0, |regime| regime.at(bytes))
    }
}

impl Regime {
    /// Seconds at a size on this line.
    pub fn at(&self, bytes: f64) -> f64 {
        (self.start.point + self.per_byte.point * bytes).max(0.0)
    }
}
