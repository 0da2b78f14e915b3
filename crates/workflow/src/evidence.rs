//! What was shown of the rules in a directory, and the rules for which it holds.

use collrules_record::findings::Findings;
use collrules_record::proof::ProofFact;
use collrules_record::remark::Remark;
use collrules_record::rundir::RunDir;
use collrules_record::validation::Round;
use collrules_record::{Cell, HanRule, Tuning, Validation};
use collrules_rules::{Choice, Release};

use crate::error::WorkflowError;
use crate::{state, tuning};

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
    /// Reads the evidence in a directory, without results about other rules.
    pub fn read(run: &RunDir) -> Result<Self, WorkflowError> {
        let digests = tuning::in_place(run)?.digests();
        let state = state::read(run)?;
        let (mut proof, mut left_out) = (Vec::new(), Vec::new());
        // While other rules are compared, those in place keep their result.
        let results = [state.validation, state.earlier].into_iter().flatten().filter(|it| it.round.is_some());
        let (own, others): (Vec<_>, Vec<_>) = results.partition(|validation| validation.is_about(&digests));
        let is_other = own.is_empty() && !others.is_empty();
        left_out.extend(is_other.then(|| Remark::OtherValidation(run.path().to_owned())));
        match run.proof()? {
            Some(shown) if shown.is_about(&digests) => proof = shown.shown,
            Some(_) => left_out.push(Remark::OtherProof(run.path().to_owned())),
            None => {}
        }
        Ok(Self { proof, validation: own.into_iter().next(), left_out })
    }
}

/// Returns true if what a comparison showed holds for a tuning: in each cell it has the rule that was launched and not removed
/// since, or none.
pub(crate) fn holds_for(compared: &Validation, tuning: &Tuning, findings: &Findings) -> bool {
    if compared.is_about(&tuning.digests()) {
        return true;
    }
    let Some(round) = &compared.round else { return false };
    let removed = compared.removed();
    let mut parameters = tuning.parameters.iter();
    parameters.all(|(name, value)| compared.settings.get(name) == Some(value))
        && has_rules_of(round, tuning, findings, |cell| !removed.contains(&cell))
}

/// Returns true if a tuning has no rule in measured or compared cells but those of a round.
fn has_rules_of(round: &Round, tuning: &Tuning, findings: &Findings, is_left: impl Fn(Cell) -> bool) -> bool {
    let rule = |cell: Cell| rule_of(tuning, cell, findings.release);
    let known = round.known();
    let is_default = |cell: Cell| rule(cell) == (Choice::BUILTIN, false);
    let is_launched = |cell: Cell, launched| is_default(cell) || is_left(cell) && rule(cell) == launched;
    round.cells.iter().all(|it| is_launched(it.cell, (it.served, it.handed)))
        && round.failed.iter().filter(|it| it.with).all(|it| is_default(it.cell))
        && findings.cells.iter().map(|it| it.cell).all(|cell| known.contains(&cell) || is_default(cell))
}

/// The rule for a cell: its choice, and whether HAN has one.
fn rule_of(tuning: &Tuning, cell: Cell, release: Release) -> (Choice, bool) {
    let choice = tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(release));
    (choice, tuning.han_rule(cell) != HanRule::Default)
}
