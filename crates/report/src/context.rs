//! Contents of a report in addition to the findings.

use collrules_record::settings::SettingsFindings;
use collrules_record::validation::Validation;
use collrules_record::{Layout, Manifest};
use collrules_tuner::results::limitation::PoorData;

use crate::gains::Gains;

/// Contents of a report in addition to the findings.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// Manifest of the run that was measured; missing for an imported table.
    pub manifest: Option<&'a Manifest>,
    /// State and speedup of each size under the whole tuning.
    pub gains: Gains<'a>,
    /// Those under the rules alone, whatever became of them under settings.
    pub rules: Gains<'a>,
    /// Instructions to switch the rules on, line by line; empty if there are none.
    pub switch_on: Vec<String>,
    /// The command that installs what is confirmed, or compares what is not; none if there is nothing to switch on.
    pub next: Option<String>,
    /// Results of the proof of the file and the Open MPI in use, in whole sentences.
    pub proof: Vec<String>,
    /// Comparison of fresh launches without and with the rules; missing if there was none.
    pub validation: Option<&'a Validation>,
    /// Other layouts that use the rules, and whose fresh launches did not confirm them.
    pub open_layouts: Vec<Layout>,
    /// Result of the search for settings; missing if there was none.
    pub settings: Option<&'a SettingsFindings>,
    /// Doubts about the numbers.
    pub doubts: Vec<PoorData>,
    /// The name and version of the program that writes the report; empty if irrelevant.
    pub tool: String,
}
