//! Fitted times of patterns: lines over sizes, with bends where the library changes its protocol.

use collrules_record::pattern::Shape;
use collrules_record::{Bytes, Cast, Estimate, Ranks};
use serde::{Deserialize, Serialize};

/// Time of a pattern with a cast, fitted to each launch with errors relative to the time. For a ping-pong it is half of
/// the round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternFit {
    /// Messages and operations of the ranks.
    pub shape: Shape,
    /// Number of ranks.
    pub ranks: Ranks,
    /// The cast.
    pub cast: Cast,
    /// True if all of them are on one host.
    pub inside: bool,
    /// The lines, in order of size; bends lie between them.
    pub regimes: Vec<PatternRegime>,
}

/// A range of sizes on one line, `start + per_byte * bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternRegime {
    /// Its smallest timed size.
    pub first: Bytes,
    /// Its largest timed size.
    pub last: Bytes,
    /// Seconds to begin (alpha of messages). Negative if part of long messages passes the link for free.
    pub start: Estimate,
    /// Seconds for a byte (beta of messages, gamma of the operation).
    pub per_byte: Estimate,
    /// The root mean square error of the line, relative to the time.
    pub misfit: f64,
}

impl PatternFit {
    /// The line for a size: the first below all sizes, the last above all, and between two the nearer one, in the
    /// logarithm.
    pub fn regime(&self, bytes: f64) -> Option<&PatternRegime> {
        let gives_way =
            |pair: &&[PatternRegime]| bytes * bytes >= pair[0].last.0.max(1) as f64 * pair[1].first.0.max(1) as f64;
        self.regimes.get(self.regimes.windows(2).take_while(gives_way).count())
    }

    /// Seconds at a size; 0 if nothing was fitted. Between two lines, interpolated from the end of one to the beginning
    /// of the next.
    pub fn seconds(&self, bytes: f64) -> f64 {
        let between = |pair: &&[PatternRegime]| (pair[0].last.0 as f64) < bytes && bytes < pair[1].first.0 as f64;
        if let Some([one, other]) = self.regimes.windows(2).find(between) {
            let (from, to) = (one.last.0 as f64, other.first.0 as f64);
            return one.at(from) + (other.at(to) - one.at(from)) * (bytes - from) / (to - from);
        }
        self.regime(bytes).map_or(0.0, |regime| regime.at(bytes))
    }
}

impl PatternRegime {
    /// Seconds at a size on this line.
    pub fn at(&self, bytes: f64) -> f64 {
        (self.start.point + self.per_byte.point * bytes).max(0.0)
    }
}
