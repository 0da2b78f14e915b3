//! What a report says beside the findings.

use collrules_record::Manifest;
use collrules_record::validation::Validation;

/// What a report says beside the findings.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// Where the numbers come from; missing for an imported table.
    pub manifest: Option<&'a Manifest>,
    /// How to switch the rules on, line by line; empty where there are none.
    pub switch_on: Vec<String>,
    /// What was shown about the file and the Open MPI in use, in whole sentences.
    pub proof: Vec<String>,
    /// What fresh launches without and with the rules showed; missing where there were none.
    pub validation: Option<&'a Validation>,
    /// The name and version of the program that writes the report; empty where it does not matter.
    pub tool: String,
}
