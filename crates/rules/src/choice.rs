//! The choice of a rule line.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read_from_text;

/// A complete choice: the algorithm and the values of all its parameters, as in a rule line.
///
/// The text form is `algorithm/faninout/segsize/max_requests`, e.g. `3/0/8192/0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// Algorithm id within the collective; 0 lets the builtin decide.
    pub algorithm: u32,
    /// Fan-in and fan-out of trees and chains; each algorithm has its own limits.
    pub faninout: u32,
    /// Segment size in bytes; 0 sends the message in one piece.
    pub segsize: u64,
    /// Bound on outstanding requests; 0 is the algorithm's own default.
    pub max_requests: u32,
}

impl Choice {
    /// Algorithm 0: the builtin decides.
    pub const BUILTIN: Self = Self { algorithm: 0, faninout: 0, segsize: 0, max_requests: 0 };

    /// An algorithm with every parameter 0.
    pub fn plain(algorithm: u32) -> Self {
        Self { algorithm, ..Self::BUILTIN }
    }

    /// Sets the segment size in bytes.
    pub fn with_segsize(self, segsize: u64) -> Self {
        Self { segsize, ..self }
    }

    /// Sets the fan-in and fan-out.
    pub fn with_faninout(self, faninout: u32) -> Self {
        Self { faninout, ..self }
    }

    /// Returns true if the choice leaves the decision to the builtin.
    pub fn is_builtin(self) -> bool {
        self.algorithm == 0
    }

    fn read(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split('/').collect();
        let [algorithm, faninout, segsize, max_requests] = fields[..] else { return None };
        Some(Self {
            algorithm: algorithm.parse().ok()?,
            faninout: faninout.parse().ok()?,
            segsize: segsize.parse().ok()?,
            max_requests: max_requests.parse().ok()?,
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.algorithm, self.faninout, self.segsize, self.max_requests)
    }
}

read_from_text!(Choice, "is not a choice; write algorithm/faninout/segsize/max_requests, such as 3/0/8192/0");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_read_back() {
        let choice = Choice::plain(2).with_faninout(4).with_segsize(8192);
        assert_eq!(choice.to_string(), "2/4/8192/0");
        assert_eq!("2/4/8192/0".parse(), Ok(choice));
        for bad in ["", "2", "2/4/8192", "2/4/8192/0/1", "a/0/0/0", "2/-1/0/0"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }
}
