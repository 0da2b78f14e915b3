//! Criteria that a candidate has to meet to replace the default.

use collrules_rules::names;
use serde::{Deserialize, Serialize};

use crate::units::Seconds;
use crate::values;

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

/// Criteria that a candidate has to meet to replace the default. Shares are given in percent on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Decisions")]
pub struct Criteria {
    /// Gain, in percent, that an algorithm needs to replace the default
    // At 0.03 the default takes at least 1.03 times as long.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = values::percent)]
    pub min_gain: f64,
    /// Maximum share of wrong replacements among all, in percent (false discovery rate)
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = values::percent)]
    pub error_rate: f64,
    /// Confidence of the intervals.
    #[arg(skip = 0.95)]
    pub level: f64,
    /// Gain, in percent, that an algorithm needs without a test, also in the mean with those on neighbouring
    /// communicator sizes
    #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = values::percent)]
    pub untested_gain: f64,
    /// Statistic to compare
    #[arg(long = "statistic", default_value = "median")]
    pub middle: Middle,
    /// Choose what is faster by the median even if rare slow calls make it slower on average
    #[arg(long)]
    pub accept_stalls: bool,
    /// The smallest step of the clock; smaller differences between medians prove nothing. 0 if it is unknown.
    #[arg(skip)]
    pub clock_step: Seconds,
}

values::default_is_no_option!(Criteria);
