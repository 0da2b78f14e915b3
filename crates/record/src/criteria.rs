//! Criteria that a candidate has to meet to replace the default.

use collrules_rules::names;
use serde::{Deserialize, Serialize};

use crate::units::Seconds;

/// Statistic of the calls that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Middle {
    /// Their median, in which rare slow calls do not count
    #[default]
    Median,
    /// Their mean, in which they do
    Mean,
}

names!(Middle { Median "median", Mean "mean", });

/// Criteria that a candidate has to meet to replace the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// The gain that it must reach, as a share: at 0.03 the builtin takes at least 1.03 times as long.
    pub min_gain: f64,
    /// The bound on the false discovery rate, as a share.
    pub error_rate: f64,
    /// Confidence of the intervals.
    pub level: f64,
    /// The gain that it needs if there are too few values for a test, as a share.
    pub untested_gain: f64,
    /// Statistic of the calls that is compared.
    pub middle: Middle,
    /// True if what is faster by the median is chosen although rare slow calls make it slower on average.
    pub accept_stalls: bool,
    /// The smallest step of the clock; smaller differences between medians prove nothing. 0 if it is unknown.
    pub clock_step: Seconds,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            min_gain: 0.03,
            error_rate: 0.05,
            level: 0.95,
            untested_gain: 0.15,
            middle: Middle::Median,
            accept_stalls: false,
            clock_step: Seconds(0.0),
        }
    }
}
