//! Shows that the files of a tuning are obeyed before they get their names.

use std::path::Path;

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Handover, Survey};
use collrules_rules::{Release, RuleTable};
use collrules_runner::Backend;
use collrules_runner::proof::{self, Files, HanFile, Proof};

use crate::error::WorkflowError;

/// Texts that shall become the files of a tuning.
pub(crate) struct Draft<'a> {
    pub(crate) text: &'a str,
    pub(crate) table: &'a RuleTable,
    /// HAN's half: its text, and what it was made from.
    pub(crate) han: Option<(String, &'a Handover)>,
    pub(crate) release: Release,
    /// The cells that the proof calls.
    pub(crate) cells: &'a [Cell],
}

/// Shows in `directory` that a draft is obeyed, and then has it `placed`, and puts HAN's file beside it. Only what is not
/// obeyed stays there under its own name, to be looked at; `consequence` says what that means.
pub(crate) fn prove(
    backend: &mut dyn Backend,
    directory: &RunDir,
    draft: &Draft<'_>,
    consequence: impl Fn(&Path) -> String,
    placed: impl FnOnce(&Path) -> Result<(), WorkflowError>,
) -> Result<Proof, WorkflowError> {
    let file = directory.write(rundir::UNPROVEN, draft.text)?;
    let unproven = directory.absolute().join(rundir::HAN_UNPROVEN);
    if let Some((text, _)) = &draft.han {
        directory.write(rundir::HAN_UNPROVEN, text)?;
    }
    let han = draft.han.as_ref().map(|(_, handover)| HanFile { file: &unproven, handover });
    let files = Files { rules: &file, table: draft.table, han };
    let result = proof::prove(backend, files, directory.path(), draft.release, draft.cells)
        .map_err(|cause| WorkflowError::from(cause).unshown())
        .and_then(|proof| {
            if !proof.faults.is_empty() {
                return Err(WorkflowError::unproven(consequence(&file), &proof));
            }
            placed(&file)?;
            match han {
                Some(_) => drop(directory.rename(rundir::HAN_UNPROVEN, rundir::HAN)?),
                // That of an earlier tuning goes with it.
                None => drop(std::fs::remove_file(directory.file(rundir::HAN))),
            }
            Ok(proof)
        });
    if !matches!(result, Err(WorkflowError::Unproven { .. })) {
        // Where it was given its name, it is gone.
        let _ = std::fs::remove_file(&file);
        let _ = std::fs::remove_file(&unproven);
    }
    result
}

/// What a proof showed, in whole sentences.
pub(crate) fn sentences(findings: &Findings, proof: &Proof, backend: &str, survey: &Survey) -> Vec<String> {
    if findings.changes_nothing() {
        return vec!["There is no rule whose effect could be shown.".to_owned()];
    }
    let who = if backend == "mpi" {
        format!("Open MPI {}", survey.version)
    } else {
        format!("The simulated Open MPI {}", survey.version)
    };
    let ruled: Vec<&str> = findings.table.collectives().map(|(collective, _)| collective.name()).collect();
    let mut sentences = Vec::new();
    if !findings.table.is_empty() {
        sentences.push(format!(
            "{who} accepts the rules file and serves all {} measured cells of {} by the intended rule ({} calls, on both \
             sides of every boundary within reach).",
            proof.cells,
            ruled.join(", "),
            proof.probed - proof.asked,
        ));
    }
    if !findings.handover.is_empty() {
        sentences.push(format!(
            "{who} accepts HAN's rules file: {} calls, on both sides of its boundaries, were served by the component that it \
             means.",
            proof.asked,
        ));
    }
    sentences.push(format!("With the tuning in force, {} calls with checked data were right.", proof.used));
    sentences
}
