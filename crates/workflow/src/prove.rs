//! Proof that a tuning is obeyed, before its files get their names.

use std::path::Path;

use collrules_record::options::TuneOptions;
use collrules_record::proof::{ProofFact, ProofLibrary};
use collrules_record::{Cell, Findings, RunDir, Step, Tuning, TuningState, manifest, rundir};
use collrules_runner::proof::{self, Proof};
use collrules_tuner::prospects::saved_of;

use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::{Event, Session};
use crate::start::Started;
use crate::tuning;

/// Proves in `directory` that a tuning is obeyed in `cells`. Files that are not obeyed stay there under other names, for
/// inspection; `consequence` is the consequence for the user.
pub(crate) fn prove(
    started: &mut Started,
    directory: &RunDir,
    tuning: &Tuning,
    cells: &[Cell],
    consequence: impl Fn(&Path) -> String,
) -> Result<Proof, WorkflowError> {
    let unproven = tuning.moved(directory.path(), rundir::UNPROVEN, rundir::HAN_UNPROVEN);
    unproven.store(directory)?;
    let result = proof::prove(started.backend.as_mut(), &unproven, directory.path(), started.release, cells)
        .map_err(|cause| WorkflowError::from(cause).unshown())
        .and_then(|proof| match proof.faults.is_empty() {
            true => Ok(proof),
            false => Err(WorkflowError::unproven(consequence(unproven.path()), &proof)),
        });
    if !matches!(result, Err(WorkflowError::Unproven { .. })) {
        [rundir::UNPROVEN, rundir::HAN_UNPROVEN].iter().try_for_each(|name| directory.remove(name))?;
    }
    result
}

/// A run of `tune` with proven rules, which are compared and then put in place.
pub(crate) struct ProvenRun<'a, 's> {
    pub(crate) measured: &'a mut Measurement,
    pub(crate) options: &'a TuneOptions,
    pub(crate) published: Published,
    pub(crate) session: &'a mut Session<'s>,
}

impl ProvenRun<'_, '_> {
    /// Ends a step: its result and its time are kept.
    pub(crate) fn end(&mut self, step: Step) -> Result<(), WorkflowError> {
        let record = self.measured.clock.end(step);
        self.published.state.end(record);
        self.published.save()
    }
}

/// Proves that the tuning of these findings is obeyed. Its files are not in place yet.
pub(crate) fn prove_run<'a, 's>(
    measured: &'a mut Measurement,
    options: &'a TuneOptions,
    findings: Findings,
    tuning: Tuning,
    state: TuningState,
    session: &'a mut Session<'s>,
) -> Result<ProvenRun<'a, 's>, WorkflowError> {
    let run = measured.run.clone();
    let Measurement { started, manifest, .. } = &mut *measured;
    started.backend.pin(&tuning.parameters);
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let consequence =
        |file: &Path| format!("this Open MPI does NOT obey the tuning; {} must not be installed", file.display());
    let proof = prove(started, &run, &tuning, &cells, consequence)?;
    let shown = facts(&findings, &proof, started);
    tuning::pin_files(&run, &tuning)?;
    let published = Published::new(run, findings, Some(manifest.clone()), Some(tuning), shown, state)?;
    if let Some((saved, of)) = saved_of(&manifest.experiment.grid.weights, &published.findings) {
        session.say(&collrules_report::profile::expected(saved, of));
    }
    session.tell(Event::Concluded { run: &published.run, findings: &published.findings, proof: &proof });
    Ok(ProvenRun { measured, options, published, session })
}

/// Lists what a proof showed.
pub(crate) fn facts(findings: &Findings, proof: &Proof, started: &Started) -> Vec<ProofFact> {
    if findings.changes_nothing() {
        return vec![ProofFact::NoRule];
    }
    let openmpi =
        ProofLibrary { version: started.survey.version, simulated: started.backend.name() != manifest::MEASURED };
    let rules = (!findings.table.is_empty()).then(|| ProofFact::Rules {
        openmpi,
        collectives: findings.table.collectives().map(|(collective, _)| collective).collect(),
        cells: proof.cells,
        calls: proof.probed - proof.asked + proof.logged,
    });
    let han = (!findings.han.is_empty()).then_some(ProofFact::HanRules { openmpi, calls: proof.asked });
    rules.into_iter().chain(han).chain([ProofFact::CorrectCalls(proof.used)]).collect()
}
