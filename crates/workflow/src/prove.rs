//! Shows that a text is obeyed before it gets the name of a rules file.

use std::path::Path;

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Survey};
use collrules_rules::{Release, RuleTable};
use collrules_runner::Backend;
use collrules_runner::proof::{self, Proof};

use crate::error::WorkflowError;

/// A text that shall become a rules file.
pub(crate) struct Draft<'a> {
    pub(crate) text: &'a str,
    pub(crate) table: &'a RuleTable,
    pub(crate) release: Release,
    /// The cells that the proof calls.
    pub(crate) cells: &'a [Cell],
}

/// Shows in `directory` that a draft is obeyed, and then has it `placed`. Only a text that is not obeyed stays there under
/// its own name, to be looked at; `consequence` says what that means.
pub(crate) fn prove(
    backend: &mut dyn Backend,
    directory: &RunDir,
    draft: &Draft<'_>,
    consequence: impl Fn(&Path) -> String,
    placed: impl FnOnce(&Path) -> Result<(), WorkflowError>,
) -> Result<Proof, WorkflowError> {
    let file = directory.write(rundir::UNPROVEN, draft.text)?;
    let result = proof::prove(backend, &file, directory.path(), draft.table, draft.release, draft.cells)
        .map_err(|cause| WorkflowError::from(cause).unshown())
        .and_then(|proof| {
            if !proof.faults.is_empty() {
                return Err(WorkflowError::unproven(consequence(&file), &proof));
            }
            placed(&file)?;
            Ok(proof)
        });
    if !matches!(result, Err(WorkflowError::Unproven { .. })) {
        // Where it was given its name, it is gone.
        let _ = std::fs::remove_file(&file);
    }
    result
}

/// What a proof showed, in whole sentences.
pub(crate) fn sentences(findings: &Findings, proof: &Proof, backend: &str, survey: &Survey) -> Vec<String> {
    if findings.table.is_empty() {
        return vec!["There is no rule whose effect could be shown.".to_owned()];
    }
    let who = if backend == "mpi" {
        format!("Open MPI {}", survey.version)
    } else {
        format!("The simulated Open MPI {}", survey.version)
    };
    let ruled: Vec<&str> = findings.table.collectives().map(|(collective, _)| collective.name()).collect();
    vec![
        format!(
            "{who} accepts the rules file and serves all {} measured cells of {} by the intended rule ({} calls, on both \
             sides of every boundary within reach).",
            proof.cells,
            ruled.join(", "),
            proof.probed,
        ),
        format!("With the file in force, {} calls with checked data were right.", proof.used),
    ]
}
