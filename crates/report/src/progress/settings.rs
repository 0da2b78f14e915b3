//! The search for settings, and rules under them.

use std::fmt::Display;

use collrules_record::Seconds;
use collrules_record::settings::{Settings, SettingsFailure, describe};

use crate::settings::failure;

/// Obstacle to a search.
pub fn not_searched(why: &dyn Display) -> String {
    format!("settings: not searched: {why}")
}

/// Budget that is too short for a search, with one that is enough.
pub fn budget_too_short(startup: Seconds, enough: Seconds) -> String {
    format!("settings: not searched, since starting a job takes {startup}; --budget {:.0}s is enough", enough.0.ceil())
}

/// Start of a search over this number of values.
pub fn trying(values: usize, settings: usize) -> String {
    format!("settings: trying {values} values of {settings} settings, one at a time")
}

/// Settings that are left out after a failure.
pub fn left_out(settings: &Settings, why: &SettingsFailure) -> String {
    format!("settings: {} is left out: {}", describe(settings), failure(why))
}

/// Comparison of a combination with the default.
pub fn comparing(settings: &Settings) -> String {
    format!("settings: comparing {} with the default over all sizes", describe(settings))
}

/// Comparison of the rules under the chosen settings.
pub const COMPARING_RULES: &str = "settings: comparing the rules under them";

/// Whole tuning that is not compared, since only some sizes or another layout are.
pub const ONLY_ALL_SIZES: &str = "the settings are not compared: this takes all sizes of the run, in its layout";

/// Removal of settings that a comparison showed to be slower.
pub const REMOVED: &str =
    "removed the settings, with which fresh launches are slower: the parameter files have rules alone";
