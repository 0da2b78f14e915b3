//! What the run directory around a rules file says about it.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::rundir;

/// The settings that the file needs beside the two that switch it on, if its run directory knows of any.
pub(super) fn pins(rules: &Path) -> Option<BTreeMap<String, String>> {
    // What cannot be read here was not written for this file; the proof will show what that means.
    let findings = rundir::read_findings(&rules.with_file_name(rundir::FINDINGS)).ok()?;
    Some(findings.pins).filter(|pins| !pins.is_empty())
}
