//! Samples or a table to findings: what `collrules analyze` and the end of `tune` decide.

use std::path::Path;

use collrules_import::{self as import, Format, Import, Importer};
use collrules_record::findings::{Criteria, Findings};
use collrules_record::policy::Assumptions;
use collrules_record::rundir::RunDir;
use collrules_record::sample::TableTiming;
use collrules_record::units::Seconds;
use collrules_record::validation::GivenBack;
use collrules_record::{Manifest, Policy};
use collrules_rules::Release;
use collrules_rules::words::counted;
use collrules_runner::grid::known_release;
use collrules_tuner::{Laid, Observations, TunerError};

use crate::error::WorkflowError;
use crate::layouts::Other;
use crate::session::Session;
use crate::{clock, layouts, remarks, resume, served};

/// The release that foreign timings are taken to come from where nobody says otherwise.
pub const TABLE_RELEASE: Release = Release::V5_0;

/// What there is to decide on.
pub struct Source {
    /// The timings.
    pub observations: Observations,
    /// Those of launches with a rules file in force, in a check of guidelines that has some.
    pub under_rules: Option<Observations>,
    /// The release whose algorithms they are of.
    pub release: Release,
    /// The step of the clock they were read off; 0 where it is unknown.
    pub clock_step: Seconds,
    origin: MeasuredBy,
    pub(crate) name: String,
}

/// Where timings come from.
enum MeasuredBy {
    /// We measured them.
    Run { run: RunDir, manifest: Box<Manifest> },
    /// Others did; with what is wrong with their numbers, and what else is to be said of them.
    Others { found: Vec<import::Finding>, remarks: Vec<String> },
}

impl Source {
    /// A run directory, measured or imported.
    pub fn of_run(path: &Path, session: &mut Session<'_>) -> Result<(Self, RunDir), WorkflowError> {
        let run = RunDir::open(path)?;
        let name = run.path().display().to_string();
        if let Some((manifest, report)) = import::open(&run)? {
            let observations = Observations::from_samples_of(&run.samples()?.text, manifest.statistic)
                .map_err(WorkflowError::analysis(&name))?;
            let origin = MeasuredBy::Others { found: report.findings, remarks: Vec::new() };
            let source = Self {
                observations,
                under_rules: None,
                release: manifest.release,
                clock_step: Seconds(0.0),
                origin,
                name,
            };
            return Ok((source, run));
        }
        let manifest = run.manifest()?;
        resume::refuse_comparison(&run, &manifest)?;
        let (observations, under_rules) = observations(&run, manifest.plan.launches, session)?;
        let source = Self {
            observations,
            under_rules,
            release: known_release(&manifest.survey)?,
            clock_step: manifest.survey.clock_step,
            origin: MeasuredBy::Run { run: run.clone(), manifest: Box::new(manifest) },
            name,
        };
        Ok((source, run))
    }

    /// A timing table, which the options say how to read; `-` is standard input.
    pub fn of_table(path: &Path, options: import::Options, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        let bytes = import::read_file(path).map_err(|cause| WorkflowError::open(path, cause))?;
        let release = options.release;
        if let Some(format @ (Format::Osu | Format::Imb | Format::Reprompi | Format::Detail | Format::Best)) =
            Importer::format(&bytes)
        {
            return Err(WorkflowError::Input(format!(
                "{} is {format}, not a table: `collrules import` makes a run directory of it to analyze",
                path.display(),
            )));
        }
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let read = import::table(&name, &bytes, options);
        let Import { timings, statistic, findings, .. } =
            read.map_err(|cause| WorkflowError::Input(format!("{}: {cause}", path.display())))?;
        let (found, unused): (Vec<_>, Vec<_>) = findings.into_iter().partition(|it| import::is_suspicion(it.code));
        unused.iter().for_each(|finding| session.say(&finding.to_string()));
        let lost: usize = unused.iter().filter(|finding| finding.left_out).map(|finding| finding.timings).sum();
        let remarks = (lost > 0).then(|| format!("{} of the table could not be used.", counted(lost, "row")));
        let timings: Vec<TableTiming> = timings.iter().filter_map(|timing| timing.in_table(statistic)).collect();
        Ok(Self {
            observations: Observations::from_timings(&timings, statistic).map_err(WorkflowError::analysis(&name))?,
            under_rules: None,
            release,
            clock_step: Seconds(0.0),
            origin: MeasuredBy::Others { found, remarks: remarks.into_iter().collect() },
            name,
        })
    }

    /// What the timings are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is to be said of numbers that others measured, in whole sentences.
    pub(crate) fn doubts(&self) -> Vec<String> {
        match &self.origin {
            MeasuredBy::Run { .. } => Vec::new(),
            MeasuredBy::Others { found, remarks } => remarks.iter().cloned().chain(import::remarks(found)).collect(),
        }
    }

    /// The run directory, if we measured.
    pub fn run(&self) -> Option<&RunDir> {
        match &self.origin {
            MeasuredBy::Run { run, .. } => Some(run),
            MeasuredBy::Others { .. } => None,
        }
    }

    /// The manifest, if we measured.
    pub fn manifest(&self) -> Option<&Manifest> {
        match &self.origin {
            MeasuredBy::Run { manifest, .. } => Some(manifest),
            MeasuredBy::Others { .. } => None,
        }
    }

    /// What is assumed of programs: what is said, or else what the run assumed. Its race kept what rules may choose under that.
    pub fn assumptions(&self, said: Option<Assumptions>) -> Assumptions {
        said.or_else(|| Some(self.manifest()?.plan.schedule.assumptions)).unwrap_or_default()
    }

    /// Decides. What a validation of a run gave back to the builtin stays there.
    pub fn decide(&self, criteria: Criteria, policy: Policy) -> Result<Findings, WorkflowError> {
        match &self.origin {
            MeasuredBy::Run { run, manifest } => decide(run, manifest, &self.observations, criteria, policy, &[]),
            MeasuredBy::Others { found, .. } => {
                let criteria = Criteria { clock_step: self.clock_step, ..criteria };
                let mut findings =
                    collrules_tuner::analyze_under(&self.observations, self.release, criteria, policy, &self.name)
                        .map_err(WorkflowError::analysis(&self.name))?;
                findings.doubted = import::doubted(found);
                findings.remarks.extend(self.doubts());
                findings.remarks.extend(remarks::of_rules(&findings));
                Ok(findings)
            }
        }
    }
}

/// Decides on what a run directory holds. What a validation of the run gave back to the builtin stays there.
pub(crate) fn of_run(
    run: &RunDir,
    manifest: &Manifest,
    criteria: Criteria,
    policy: Policy,
    session: &mut Session<'_>,
) -> Result<Findings, WorkflowError> {
    giving_back(run, manifest, criteria, policy, &[], session)
}

/// The same with this left to the builtin as well.
pub(crate) fn giving_back(
    run: &RunDir,
    manifest: &Manifest,
    criteria: Criteria,
    policy: Policy,
    given_back: &[GivenBack],
    session: &mut Session<'_>,
) -> Result<Findings, WorkflowError> {
    let (observations, _) = observations(run, manifest.plan.launches, session)?;
    decide(run, manifest, &observations, criteria, policy, given_back)
}

fn decide(
    run: &RunDir,
    manifest: &Manifest,
    observations: &Observations,
    criteria: Criteria,
    policy: Policy,
    given_back: &[GivenBack],
) -> Result<Findings, WorkflowError> {
    let name = run.path().display().to_string();
    let others = Other::of(run)?;
    let mut given_back = given_back.to_vec();
    for run in std::iter::once(run).chain(others.iter().map(|other| &other.run)) {
        let before = run.validation()?.map(|validation| validation.given_back).unwrap_or_default();
        given_back.extend(before.into_iter().filter(|range| !given_back.contains(range)).collect::<Vec<_>>());
    }
    let given_back = &given_back[..];
    let weights = crate::profile::weights(manifest).iter().map(|weight| (weight.cell, weight.time));
    let observations = &observations.clone().weighing(weights);
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..criteria };
    let release = known_release(&manifest.survey)?;
    let own = Laid { observations, placement: &manifest.plan.placement, run: &name };
    let laid: Vec<Laid<'_>> = others.iter().map(Other::laid).collect();
    // What a file can tell apart need not share a rule.
    let analyze = |own: Laid<'_>, others: &[Laid<'_>]| {
        let analyzed = collrules_tuner::analyze_among(own, others, release, criteria, policy, given_back);
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
    if laid.is_empty() && !policy.shares.is_empty() {
        findings.remarks.push("--weight has no effect: all was measured in one layout.".to_owned());
    }
    findings.pins = served::needed(&findings, &freed);
    findings.simulated = manifest.backend == "simulation";
    let beyond = collrules_tuner::beyond_rules(observations, criteria).map_err(WorkflowError::analysis(&name))?;
    findings.remarks.extend(beyond);
    let missing = manifest.plan.cells.iter().filter(|planned| !findings.cells.iter().any(|c| c.cell == planned.cell));
    let missing = missing.count();
    if missing > 0 {
        findings.remarks.push(format!(
            "Not all planned cells were measured: {missing} of {} have no timings and keep the builtin.",
            manifest.plan.cells.len(),
        ));
    }
    findings.remarks.extend(collrules_report::layouts::sentences(&findings));
    findings.remarks.extend(remarks::of_validation(given_back));
    findings.remarks.extend(remarks::of_rules(&findings));
    findings.remarks.extend(remarks::of_run(manifest));
    findings.remarks.extend(clock::under_resolution(&findings));
    findings.remarks.extend(clock::of_clock(&run.clock()?));
    Ok(findings)
}

/// Says why nothing was timed, if the clock file does.
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

/// The timings of a run, and those of its launches with a rules file in force, which are never compared with others.
fn observations(
    run: &RunDir,
    launches: u32,
    session: &mut Session<'_>,
) -> Result<(Observations, Option<Observations>), WorkflowError> {
    let samples = run.samples()?;
    if samples.torn {
        session.say("the last line of the samples is incomplete and left out");
    }
    let failed = |cause| untimed(run, WorkflowError::analysis(run.path().display())(cause));
    let (read, under_rules) =
        Observations::from_samples(&samples.text).and_then(Observations::apart_from_rules).map_err(failed)?;
    Ok((read.expecting(launches), under_rules))
}
