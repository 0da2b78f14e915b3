//! Profiles of programs.

use std::fmt::Display;
use std::path::Path;

use collrules_record::Profile;
use collrules_record::policy::Assumption;

use crate::profile::remarks;
use crate::words::whole;

/// Record of a rank that another user wrote.
pub fn foreign_record(file: &Path) -> String {
    format!("a rank's record is left out: {} belongs to another user", file.display())
}

/// Record of a rank that cannot be read.
pub fn unreadable_record(error: &dyn Display) -> String {
    format!("a rank's record is left out: {error}")
}

/// Place of a profile, with the command that shows it.
pub fn written(file: &Path) -> String {
    format!("the profile is in {0}; `collrules profile show {0}` summarizes it", file.display())
}

/// Lists remarks for the reader of one of several profiles.
pub fn remarks_on(file: &Path, profile: &Profile) -> Vec<String> {
    remarks(profile).iter().map(|remark| format!("{}: {remark}", file.display())).collect()
}

/// Assumption that programs fulfil and the options do not make.
pub fn fulfilled(assumption: Assumption) -> String {
    format!(
        "these programs keep to {assumption}: `--assume {assumption}` permits more algorithms; the rules are then safe \
         only for programs that keep to it"
    )
}

/// Share of the programs' time that measurements cover.
pub fn coverage(share: f64) -> String {
    format!(
        "the measurements cover {} of the time in collectives that rules can act on and that can be measured here",
        whole(share)
    )
}

/// Profiles without arrivals of ranks.
pub const NO_ARRIVALS: &str = "the profile does not say how late ranks were (`collrules profile --imbalance=1` \
                               records it): rules are compared with one random rank late instead";
