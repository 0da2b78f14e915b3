//! Check of performance guidelines: comparison of mock-ups with the default.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, and its analysis of earlier measurements |
//! | `under_rules` | the second half of a check, in launches with an active rules file |

mod under_rules;

use std::path::Path;

use collrules_lab::check::{self as guidelines, GuidelineTerms};
use collrules_lab::guidelines::{Change, Changed, Checked, FILE, FORMAT, LeftOutCell, PAGE, TABLE, TEXT, UnderRules};
use collrules_record::criteria::Criteria;
use collrules_record::experiment::Experiment;
use collrules_record::options::{Request, SystemOptions};
use collrules_record::policy::Assumptions;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Manifest, Placement, Survey};
use collrules_report::{Document, guidelines as report, progress};
use collrules_rules::Release;

use crate::analyze::Source;
use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::instrument::Instrument;
use crate::session::Session;

/// A check: what is measured, and by what it is judged.
#[derive(Clone, Debug)]
pub struct Checking {
    /// Experiment of a new check.
    pub experiment: Experiment,
    /// Release of a table.
    pub release: Release,
    /// The slowdown that is tolerated, such as 0.05.
    pub tolerate: f64,
    /// The bound on the share of wrong violations among all.
    pub error_rate: f64,
    /// Assumptions about programs, which decide the rules that may be remedies; none for those of the run.
    pub assumptions: Option<Assumptions>,
}

impl Instrument for Checking {
    type Found = Checked;

    const REQUEST: Request = Request::Guidelines;
    const NAME: &'static str = "guidelines";
    const FILES: [&'static str; 2] = [FILE, TEXT];
    const PAGE: Option<&'static str> = Some(PAGE);

    fn system(&self) -> &SystemOptions {
        &self.experiment.system
    }

    fn experiment(&self, _: &Survey) -> Result<Experiment, WorkflowError> {
        Ok(self.experiment.clone())
    }

    /// Measures the default and mock-ups, and once more under a tuning if there is one.
    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let Some(path) = measured.experiment.under_rules.clone() else { return measured.grid(session) };
        // Before anything is measured: what is wrong with a file is not found out after the first half.
        let tuning = under_rules::prepared(&path, measured, session)?;
        measured.grid(session)?;
        under_rules::measure(&tuning, measured, session)
    }

    fn analyse(&self, input: &Path, session: &mut Session<'_>) -> Result<Checked, WorkflowError> {
        let source = match input.is_dir() {
            true => Source::of_run(input, session)?.0,
            false => Source::of_table(input, collrules_import::Options::new(self.release), session)?,
        };
        say_what_is_missing(&source, session)?;
        judge(&source, self)
    }

    fn document(checked: &Checked) -> Document {
        report::document(checked)
    }

    fn write_more(run: &RunDir, checked: &Checked) -> Result<(), WorkflowError> {
        let table = report::csv(checked).map_err(|cause| WorkflowError::write(&run.file(TABLE), cause))?;
        run.write(TABLE, &table)?;
        Ok(())
    }
}

/// Reports that a check was interrupted, and how to resume it.
fn say_what_is_missing(source: &Source, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let (Some(run), Some(manifest)) = (source.run(), source.manifest()) else { return Ok(()) };
    let again = under_rules::read_plan(run)?.map_or(0, |plan| plan.launches);
    let (planned, complete) = (manifest.plan.launches + again, run.progress().complete);
    if complete < planned {
        session.say(&progress::guidelines::incomplete(complete, planned, source.name()));
    }
    Ok(())
}

fn judge(source: &Source, judging: &Checking) -> Result<Checked, WorkflowError> {
    let manifest = source.manifest();
    let nowhere = Placement::default();
    let terms = GuidelineTerms {
        release: source.release,
        criteria: Criteria {
            min_gain: judging.tolerate,
            error_rate: judging.error_rate,
            clock_step: source.clock_step,
            ..Criteria::default()
        },
        assumptions: source.assumptions(judging.assumptions),
        placement: manifest.map_or(&nowhere, |manifest| &manifest.plan.placement),
        source: source.name(),
    };
    let failed = WorkflowError::analysis(source.name());
    let mut checked = guidelines::check(&source.observations, &terms).map_err(&failed)?;
    if let (Some(observations), Some(run)) = (&source.under_rules, source.run()) {
        let after = guidelines::check_under_rules(observations, &terms).map_err(&failed)?;
        let deployment = under_rules::read_plan(run)?.and_then(|plan| plan.deployment);
        checked.under_rules = Some(UnderRules {
            changes: guidelines::became(&checked, &after),
            settings: deployment.map(|deployment| deployment.settings).unwrap_or_default(),
            cells: after.cells,
        });
    }
    Ok(manifest.map_or(checked.clone(), |manifest| with_origin(checked, manifest)))
}

/// Adds the origin of the numbers, and cells that were not measured.
fn with_origin(checked: Checked, manifest: &Manifest) -> Checked {
    let left_out = manifest.plan.cells.iter().flat_map(|planned| {
        planned.left_out.iter().map(|left| LeftOutCell {
            cell: planned.cell,
            mockup: left.mockup,
            why: left.why.clone(),
        })
    });
    Checked {
        simulated: manifest.is_simulated(),
        library: Some(manifest.survey.library.clone()),
        command: manifest.command.clone(),
        left_out: left_out.collect(),
        skipped: manifest.plan.skipped.clone(),
        ..checked
    }
}

/// An earlier check, from its directory or file.
pub fn earlier(earlier: &Path) -> Result<Checked, WorkflowError> {
    Ok(rundir::read_json_file(&rundir::within(earlier, FILE), FORMAT)?)
}

/// Returns true if a check fails: compared with an earlier one, if a violation is new or worse; alone, if there is any
/// violation, with the rules file if there is one.
pub fn fails(checked: &Checked, changes: Option<&[Changed]>) -> bool {
    match changes {
        Some(changes) => changes.iter().any(|changed| matches!(changed.how, Change::New | Change::Worse)),
        // With a rules file, users get its results.
        None => !checked.under_file().as_ref().unwrap_or(checked).violations().is_empty(),
    }
}
