//! What was shown of the rules in a directory.

use collrules_record::Validation;
use collrules_record::proof::ProofFact;
use collrules_record::remark::Remark;
use collrules_record::rundir::RunDir;

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
