//! Findings from samples or a table: the decisions of `collrules analyze` and the end of `tune`.

use std::path::Path;

use collrules_import::{self as import, Import, ImportFormat, Importer};
use collrules_record::conduct::list_conducts;
use collrules_record::criteria::Criteria;
use collrules_record::findings::Findings;
use collrules_record::options::TuneOptions;
use collrules_record::policy::Assumptions;
use collrules_record::remark::Remark;
use collrules_record::rundir::RunDir;
use collrules_record::sample::TableTiming;
use collrules_record::units::Seconds;
use collrules_record::validation::RevertedRange;
use collrules_record::{Manifest, Policy};
use collrules_report::progress;
use collrules_rules::Release;
use collrules_runner::grid::known_release;
use collrules_tuner::{Laid, Observations, TunerError};

use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::layouts::Other;
use crate::session::Session;
use crate::{clock, evidence, layouts, remarks, resume, served};

/// Default release of foreign timings.
pub const TABLE_RELEASE: Release = Release::V5_0;

/// Timings for decisions, with their origin.
pub struct Source {
    /// The timings.
    pub observations: Observations,
    /// Timings of launches with an active rules file, in a check of guidelines.
    pub under_rules: Option<Observations>,
    /// The release that was measured.
    pub release: Release,
    /// Step of the clock that was read; 0 if unknown.
    pub clock_step: Seconds,
    /// The run with its manifest, if collrules measured them.
    measured: Option<(RunDir, Manifest)>,
    /// Doubts about numbers of other programs.
    found: Vec<import::Finding>,
    /// Further remarks on them.
    remarks: Vec<Remark>,
    pub(crate) name: String,
}

impl Source {
    /// Source from a run directory, measured or imported.
    pub fn of_run(path: &Path, session: &mut Session<'_>) -> Result<(Self, RunDir), WorkflowError> {
        let run = RunDir::open(path)?;
        let name = run.path().display().to_string();
        if let Some((manifest, report)) = import::open(&run)? {
            let observations = Observations::from_samples_of(&run.samples()?.text, manifest.statistic)
                .map_err(WorkflowError::analysis(&name))?;
            return Ok((Self::of_others(observations, manifest.release, report.findings, name), run));
        }
        let manifest = run.manifest()?;
        resume::refuse_comparison(&run, &manifest)?;
        let (observations, under_rules) = observations(&run, manifest.plan.launches, session)?;
        let source = Self {
            observations,
            under_rules,
            release: known_release(&manifest.survey)?,
            clock_step: manifest.survey.clock_step,
            measured: Some((run.clone(), manifest)),
            found: Vec::new(),
            remarks: Vec::new(),
            name,
        };
        Ok((source, run))
    }

    fn of_others(observations: Observations, release: Release, found: Vec<import::Finding>, name: String) -> Self {
        let (under_rules, clock_step, measured, remarks) = (None, Seconds(0.0), None, Vec::new());
        Self { observations, under_rules, release, clock_step, measured, found, remarks, name }
    }

    /// Source from a timing table, read according to the options; `-` is standard input.
    pub fn of_table(path: &Path, options: import::Options, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        let bytes = import::read_file(path).map_err(|cause| WorkflowError::open(path, cause))?;
        let release = options.release;
        if let Some(format) = Importer::format(&bytes).filter(|format| *format != ImportFormat::Table) {
            return Err(WorkflowError::Input(format!(
                "{} is {format}, not a table: `collrules lab import` makes a run directory of it to analyze",
                path.display(),
            )));
        }
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let read = import::table(&name, &bytes, options);
        let Import { timings, statistic, findings, .. } =
            read.map_err(|cause| WorkflowError::Input(format!("{}: {cause}", path.display())))?;
        let (found, unused): (Vec<_>, Vec<_>) = findings.into_iter().partition(|it| it.code.is_suspicion());
        import::Finding::describe_all(&unused).iter().for_each(|finding| session.say(finding));
        let lost: usize = unused.iter().filter(|finding| finding.left_out).map(|finding| finding.timings).sum();
        let timings: Vec<TableTiming> = timings.iter().filter_map(|timing| timing.in_table(statistic)).collect();
        let observations = Observations::from_timings(&timings, statistic).map_err(WorkflowError::analysis(&name))?;
        let remarks = (lost > 0).then_some(Remark::LostRows(lost)).into_iter().collect();
        Ok(Self { remarks, ..Self::of_others(observations, release, found, name) })
    }

    /// Returns the name of the timings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists doubts about numbers of other programs.
    pub(crate) fn doubts(&self) -> Vec<Remark> {
        self.remarks.iter().cloned().chain(import::remarks(&self.found)).collect()
    }

    /// The run directory, if collrules measured it.
    pub fn run(&self) -> Option<&RunDir> {
        self.measured.as_ref().map(|(run, _)| run)
    }

    /// The manifest, if collrules measured it.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.measured.as_ref().map(|(_, manifest)| manifest)
    }

    /// Returns the assumptions about programs: the given ones, or else those of the run, whose race kept the candidates
    /// that rules may choose under them.
    pub fn assumptions(&self, said: Option<Assumptions>) -> Assumptions {
        said.or_else(|| Some(self.manifest()?.plan.schedule.assumptions)).unwrap_or_default()
    }

    /// Decides on the timings. Ranges that a validation of a run reverted to the builtin stay reverted.
    pub fn decide(&self, criteria: Criteria, policy: Policy) -> Result<Findings, WorkflowError> {
        if let Some((run, manifest)) = &self.measured {
            return decide(run, manifest, &self.observations, criteria, policy, Reverted::default());
        }
        let criteria = Criteria { clock_step: self.clock_step, ..criteria };
        let mut findings =
            collrules_tuner::analyze_under(&self.observations, self.release, criteria, policy, &self.name)
                .map_err(WorkflowError::analysis(&self.name))?;
        findings.doubted = import::doubted(&self.found);
        findings.conduct = list_conducts(&findings);
        findings.remarks.extend(self.doubts());
        findings.remarks.extend(remarks::of_rules(&findings));
        Ok(findings)
    }
}

/// Ranges that are reverted to the builtin.
#[derive(Clone, Copy, Debug, Default)]
struct Reverted<'a> {
    /// By a comparison whose result is not stored yet.
    ranges: &'a [RevertedRange],
    /// True if what a stored validation reverted is decided again.
    reopens: bool,
}

/// Decides on the measurements of a tuning so far. Ranges that a validation of the run reverted to the builtin stay
/// reverted, unless they are decided again.
pub(crate) fn analyze_run(
    measured: &Measurement,
    options: &TuneOptions,
    session: &mut Session<'_>,
) -> Result<Findings, WorkflowError> {
    let (run, manifest) = (measured.run(), &measured.manifest);
    let (observations, _) = observations(run, manifest.plan.launches, session)?;
    let reverted = Reverted { reopens: measured.reopens, ..Reverted::default() };
    decide(run, manifest, &observations, options.criteria, options.policy, reverted)
}

/// Decides on the measurements of a run directory, with these ranges reverted too.
pub(crate) fn analyze_reverting(
    run: &RunDir,
    manifest: &Manifest,
    criteria: Criteria,
    policy: Policy,
    reverted: &[RevertedRange],
    session: &mut Session<'_>,
) -> Result<Findings, WorkflowError> {
    let (observations, _) = observations(run, manifest.plan.launches, session)?;
    decide(run, manifest, &observations, criteria, policy, Reverted { ranges: reverted, reopens: false })
}

fn decide(
    run: &RunDir,
    manifest: &Manifest,
    observations: &Observations,
    criteria: Criteria,
    policy: Policy,
    Reverted { ranges, reopens }: Reverted<'_>,
) -> Result<Findings, WorkflowError> {
    let name = run.path().display().to_string();
    let others = Other::list_within(run)?;
    let (mut reverted, mut left_out) = (ranges.to_vec(), Vec::new());
    for run in std::iter::once(run).chain(others.iter().map(|other| &other.run)).filter(|_| !reopens) {
        let (validation, other) = evidence::validation_of(run)?;
        let before = validation.map(|validation| validation.reverted).unwrap_or_default();
        left_out.extend(other);
        reverted.extend(before.into_iter().filter(|range| !reverted.contains(range)).collect::<Vec<_>>());
    }
    let reverted = &reverted[..];
    let weights = crate::profile::weights(manifest).iter().map(|weight| (weight.cell, weight.time));
    let planned = manifest.plan.cells.iter().map(|planned| planned.cell);
    let observations = &observations.clone().weighing(weights).planning(planned);
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..criteria };
    let release = known_release(&manifest.survey)?;
    let own = Laid { observations, placement: &manifest.plan.placement, run: &name };
    let laid: Vec<Laid<'_>> = others.iter().map(Other::laid).collect();
    // Layouts that a file can distinguish need not share rules.
    let analyze = |own: Laid<'_>, others: &[Laid<'_>]| {
        let analyzed = collrules_tuner::analyze_among(own, others, release, criteria, policy, reverted);
        analyzed.map_err(|cause| untimed(run, WorkflowError::analysis(own.run)(cause)))
    };
    let (mut findings, freed) = if release.tells_distributions() {
        let (mut findings, freed) = analyze(own, &[])?;
        let alone: Result<Vec<_>, _> = laid.iter().map(|laid| analyze(*laid, &[])).collect();
        let alone: Vec<Findings> = alone?.into_iter().map(|(findings, _)| findings).collect();
        layouts::keep_apart(&mut findings, &alone);
        (findings, freed)
    } else {
        analyze(own, &laid)?
    };
    findings.parameters = served::needed(&findings, &freed);
    findings.simulated = manifest.is_simulated();
    findings.transport.clone_from(&manifest.survey.transport);
    findings.conduct = list_conducts(&findings);
    let beyond = collrules_tuner::reference_gains(observations, criteria).map_err(WorkflowError::analysis(&name))?;
    findings.remarks.extend(beyond);
    let missing = manifest.plan.cells.iter().filter(|planned| !findings.cells.iter().any(|c| c.cell == planned.cell));
    let missing = missing.count();
    let planned = manifest.plan.cells.len();
    findings.remarks.extend((missing > 0).then_some(Remark::NotMeasured { missing, planned }));
    findings.remarks.extend((!findings.layouts.is_empty()).then_some(Remark::Layouts));
    let ranges = reverted.to_vec();
    findings.remarks.extend((!ranges.is_empty()).then_some(Remark::Reverted(ranges)));
    findings.remarks.extend(left_out);
    findings.remarks.extend(remarks::of_rules(&findings));
    findings.remarks.extend(remarks::of_run(manifest));
    findings.remarks.extend(clock::under_resolution(&findings));
    findings.remarks.extend(clock::of_clock(&run.clock()?));
    Ok(findings)
}

/// Replaces the error by the reason why nothing was timed, if the clock file has one.
fn untimed(run: &RunDir, error: WorkflowError) -> WorkflowError {
    match &error {
        WorkflowError::Analysis { source_name, cause: cause @ TunerError::NoSamples { .. } } => {
            let late = run.clock().ok().and_then(|lines| clock::too_late(&lines));
            let said = late.map(|late| WorkflowError::Input(format!("{source_name}: {cause}: {late}")));
            said.unwrap_or(error)
        }
        _ => error,
    }
}

/// The timings of a run, and those of its launches with an active rules file, which are never compared with others.
fn observations(
    run: &RunDir,
    launches: u32,
    session: &mut Session<'_>,
) -> Result<(Observations, Option<Observations>), WorkflowError> {
    let samples = run.samples()?;
    if samples.torn {
        session.say(progress::files::INCOMPLETE_SAMPLES);
    }
    let failed = |cause| untimed(run, WorkflowError::analysis(run.path().display())(cause));
    let (read, under_rules) =
        Observations::from_samples(&samples.text).and_then(Observations::apart_from_rules).map_err(failed)?;
    Ok((read.expecting(launches), under_rules))
}
