//! Proof and validation of the rules in a directory, if they are about these rules.

use collrules_record::findings::Findings;
use collrules_record::proof::ProofFact;
use collrules_record::remark::Remark;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Digests, HanRule, Tuning, Validation};
use collrules_rules::{Choice, Release};

use crate::error::WorkflowError;
use crate::tuning;

/// Proof and validation of the rules in a directory.
pub struct RulesEvidence {
    /// Facts that the proof showed.
    pub proof: Vec<ProofFact>,
    /// The validation, if it compared anything.
    pub validation: Option<Validation>,
    /// Files that are left out.
    pub left_out: Vec<Remark>,
}

impl RulesEvidence {
    /// Reads the evidence in a directory, without files about other rules.
    pub fn read(run: &RunDir) -> Result<Self, WorkflowError> {
        let (validation, left_out) = validation_of(run)?;
        let mut evidence = Self {
            proof: Vec::new(),
            validation: validation.filter(|validation| validation.round.is_some()),
            left_out: left_out.into_iter().collect(),
        };
        match run.proof()? {
            Some(proof) if digests_around(run)?.iter().any(|digests| proof.is_about(digests)) => {
                evidence.proof = proof.shown
            }
            Some(_) => evidence.left_out.push(Remark::OtherProof(run.path().to_owned())),
            None => {}
        }
        Ok(evidence)
    }
}

/// The validation in a directory, or a sentence if it is about other rules.
pub(crate) fn validation_of(run: &RunDir) -> Result<(Option<Validation>, Option<Remark>), WorkflowError> {
    let Some(validation) = run.validation()? else { return Ok((None, None)) };
    if digests_around(run)?.iter().any(|digests| validation.is_about(digests)) {
        return Ok((Some(validation), None));
    }
    let left_out = Remark::OtherValidation(run.path().to_owned());
    Ok((None, Some(left_out)))
}

/// Returns true if a tuning is another one as far as it goes: in each of these cells it has the same rule, or none. What was
/// launched with the other one then holds for it.
pub(crate) fn is_left_of(before: &Tuning, after: &Tuning, cells: impl Iterator<Item = Cell>, release: Release) -> bool {
    let rule = |tuning: &Tuning, cell: Cell| {
        (tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(release)), tuning.han_rule(cell))
    };
    let is_left = |cell: Cell| {
        let now = rule(after, cell);
        now == (Choice::BUILTIN, HanRule::Default) || now == rule(before, cell)
    };
    after.parameters.iter().all(|(name, value)| before.parameters.get(name) == Some(value))
        && cells.into_iter().all(is_left)
}

/// Carries the validations of a run, and of its other layouts, over to the new rules. Reverted ranges stay reverted;
/// comparisons remain valid only as far as rules were removed.
pub(crate) fn carry_over(
    run: &RunDir,
    before: &Tuning,
    after: &Tuning,
    findings: &Findings,
) -> Result<(), WorkflowError> {
    let digests = before.digests();
    let layouts = run.layouts()?;
    for home in std::iter::once(run).chain(&layouts) {
        let validation = home.validation()?.filter(|validation| validation.is_about(&digests));
        let Some(mut validation) = validation else { continue };
        let compared = validation.round.iter().flat_map(|round| &round.cells).map(|it| it.cell);
        let cells = findings.cells.iter().map(|found| found.cell).chain(compared);
        if !is_left_of(before, after, cells, findings.release) {
            validation.round = None;
            validation.checks.clear();
        }
        validation.digests = after.digests();
        home.write_validation(&validation)?;
    }
    Ok(())
}

/// The digests of the rules that a directory may be about: its own, and those of the run that contains it.
fn digests_around(run: &RunDir) -> Result<Vec<Digests>, WorkflowError> {
    let mut digests = vec![tuning::in_place(run)?.digests()];
    let name = run.absolute().file_name().unwrap_or_default().to_string_lossy();
    if let Some(around) = run.absolute().parent().filter(|_| name.starts_with(rundir::LAYOUT)) {
        digests.push(tuning::in_place(&RunDir::derived(around)?)?.digests());
    }
    Ok(digests)
}
