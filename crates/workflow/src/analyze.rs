//! Findings from samples or a table: the decisions of `collrules analyze` and the end of `tune`.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_import::{self as import, Import};
use collrules_record::conduct::list_conducts;
use collrules_record::estimate::mean;
use collrules_record::findings::CellFinding;
use collrules_record::plan::CellPlan;
use collrules_record::remark::UnmeasuredRange;
use collrules_record::rundir::SamplesText;
use collrules_record::sample::TableTiming;
use collrules_record::validation::RevertedRange;
use collrules_record::{Assumptions, Cell, Criteria, Findings, Manifest, Plan, Policy, Remark, RunDir, Seconds};
use collrules_rules::Release;
use collrules_runner::grid::known_release;
use collrules_runner::schedule::Costs;
use collrules_tuner::{Laid, Observations, TunerError};

use crate::error::WorkflowError;
use crate::refine::unreached;
use crate::session::Session;
use crate::{layouts, remarks, running, tuning};

/// Default release of foreign timings.
pub const TABLE_RELEASE: Release = Release::V5_0;

/// Timings for decisions, with their origin.
pub struct Source {
    /// The timings.
    pub observations: Observations,
    /// Timings of launches with an active rules file, in a check of guidelines: never compared with others.
    pub under_rules: Option<Observations>,
    /// The release that was measured.
    pub release: Release,
    /// Step of the clock that was read; 0 if unknown.
    pub clock_step: Seconds,
    /// The run with its manifest, if collrules measured them.
    measured: Option<(RunDir, Manifest)>,
    /// The runs of other layouts within the run, which share its rules.
    others: Vec<Self>,
    /// Doubts about numbers of other programs.
    found: Vec<import::Finding>,
    /// Rows of a table that are left out.
    lost: usize,
    /// Its path, for messages.
    pub name: String,
}

impl Source {
    /// Source from a run directory, or from a table by others in the format of a release.
    pub fn open(path: &Path, release: Option<Release>, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        match path.is_dir() {
            true => Ok(Self::of_run(path, session)?.0),
            false => Self::of_table(path, import::Options::new(release.unwrap_or(TABLE_RELEASE)), session),
        }
    }

    /// Source from a run directory, measured or imported.
    pub fn of_run(path: &Path, session: &mut Session<'_>) -> Result<(Self, RunDir), WorkflowError> {
        let run = RunDir::open(path)?;
        let source = match import::open(&run)? {
            None => {
                let manifest = run.manifest()?;
                let release = known_release(&manifest.survey)?;
                Self::of_measured(&run, manifest, release, run.samples()?, session)?
            }
            Some((manifest, report)) => {
                let name = run.path().display().to_string();
                let observations = Observations::from_samples_of(&run.samples()?.text, manifest.statistic)
                    .map_err(WorkflowError::analysis(&name))?;
                Self::of_others(observations, manifest.release, report.findings, name)
            }
        };
        Ok((source, run))
    }

    /// The timings of a run that collrules measured, with those of its other layouts.
    pub(crate) fn of_measured(
        run: &RunDir,
        manifest: Manifest,
        release: Release,
        samples: SamplesText,
        session: &mut Session<'_>,
    ) -> Result<Self, WorkflowError> {
        if samples.torn {
            session.say("left out the last line of the samples: it is incomplete");
        }
        let name = run.path().display().to_string();
        let (observations, under_rules) = Observations::from_samples(&samples.text)
            .map(Observations::apart_from_rules)
            .map_err(|cause| untimed(run, &name, cause))?;
        let mut others = Vec::new();
        for other in run.layouts()? {
            others.push(Self::of_measured(&other, other.manifest()?, release, other.samples()?, session)?);
        }
        Ok(Self {
            observations: observations.expecting(manifest.plan.launches),
            under_rules,
            release,
            clock_step: manifest.survey.clock_step,
            measured: Some((run.clone(), manifest)),
            others,
            found: Vec::new(),
            lost: 0,
            name,
        })
    }

    fn of_others(observations: Observations, release: Release, found: Vec<import::Finding>, name: String) -> Self {
        let (under_rules, clock_step, measured, others) = (None, Seconds(0.0), None, Vec::new());
        Self { observations, under_rules, release, clock_step, measured, others, found, lost: 0, name }
    }

    /// Source from a timing table, read according to the options; `-` is standard input.
    pub fn of_table(path: &Path, options: import::Options, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        let bytes = import::read_file(path).map_err(|cause| WorkflowError::open(path, cause))?;
        let release = options.release;
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
        Ok(Self { lost, ..Self::of_others(observations, release, found, name) })
    }

    /// Lists doubts about numbers of other programs.
    pub fn doubts(&self) -> Vec<Remark> {
        let lost = (self.lost > 0).then_some(Remark::LostRows(self.lost));
        lost.into_iter().chain(import::remarks(&self.found)).collect()
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

    /// The timings as an input of an analysis, with the places of their ranks if they were measured.
    fn laid(&self) -> Option<Laid<'_>> {
        let placement = &self.manifest()?.plan.placement;
        Some(Laid { observations: &self.observations, placement, run: &self.name })
    }

    /// Decides on the timings. Ranges that comparisons of a run reverted to the builtin stay reverted.
    pub fn decide(&self, criteria: Criteria, policy: Policy) -> Result<Findings, WorkflowError> {
        let state = self.run().map(tuning::read_latest_state).transpose()?;
        self.decide_reverting(criteria, policy, &state.map(|state| state.reverted).unwrap_or_default())
    }

    /// Decides on the timings, with these ranges reverted to the builtin.
    pub(crate) fn decide_reverting(
        &self,
        criteria: Criteria,
        policy: Policy,
        reverted: &[RevertedRange],
    ) -> Result<Findings, WorkflowError> {
        let (name, release) = (&self.name, self.release);
        let criteria = Criteria { clock_step: self.clock_step, ..criteria };
        let Some((run, manifest)) = &self.measured else {
            let found = collrules_tuner::analyze(&self.observations, release, criteria, policy, name);
            let mut findings = found.map_err(WorkflowError::analysis(name))?;
            findings.doubted = import::doubted(&self.found);
            findings.conduct = list_conducts(&findings);
            findings.remarks.extend(self.doubts());
            findings.remarks.extend(remarks::of_unknown_component(&findings));
            findings.remarks.extend(remarks::of_rules(&findings));
            return Ok(findings);
        };
        let weights = manifest.experiment.grid.weights.iter().map(|weight| (weight.cell, weight.time));
        let planned = manifest.plan.cells.iter().map(|planned| planned.cell);
        let observations = &self.observations.clone().weighing(weights).planning(planned);
        let own = Laid { observations, placement: &manifest.plan.placement, run: name };
        let laid: Vec<Laid<'_>> = self.others.iter().filter_map(Self::laid).collect();
        // Layouts that a file can distinguish need not share rules.
        let analyze = |own: Laid<'_>, others: &[Laid<'_>]| {
            let analyzed = collrules_tuner::analyze_among(own, others, release, criteria, policy, reverted);
            analyzed.map_err(|cause| untimed(run, own.run, cause))
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
        findings.parameters = running::needed(&findings, &freed);
        findings.simulated = manifest.is_simulated();
        findings.transport.clone_from(&manifest.survey.transport);
        findings.conduct = list_conducts(&findings);
        findings.remarks.extend(collrules_tuner::reference_gains(observations, criteria));
        findings.remarks.extend(not_measured(&manifest.plan, &findings));
        findings.remarks.extend((!findings.layouts.is_empty()).then_some(Remark::Layouts));
        findings.remarks.extend((!reverted.is_empty()).then(|| Remark::Reverted(reverted.to_vec())));
        findings.remarks.extend(remarks::of_run(manifest, &findings, &run.clock()?));
        Ok(findings)
    }
}

/// The planned sizes that were not measured enough, by collective, with the expected time to measure them.
fn not_measured(plan: &Plan, findings: &Findings) -> Option<Remark> {
    let mut costs = Costs::default();
    for CellFinding { cell, points, .. } in findings.cells.iter().filter(|found| !found.points.is_empty()) {
        costs.learn(*cell, mean(points.iter().map(|point| point.time.point)));
    }
    let mut ranges: Vec<UnmeasuredRange> = Vec::new();
    for CellPlan { cell, candidates, .. } in unreached(plan, findings) {
        let Cell { collective, ranks, bytes } = cell;
        let takes = Seconds(costs.deciding(cell, candidates.len()));
        match ranges.iter_mut().find(|range| range.collective == collective) {
            Some(range) => {
                range.sizes += 1;
                range.ranks = (range.ranks.0.min(ranks), range.ranks.1.max(ranks));
                range.bytes = (range.bytes.0.min(bytes), range.bytes.1.max(bytes));
                range.takes.0 += takes.0;
            }
            None => {
                let (ranks, bytes) = ((ranks, ranks), (bytes, bytes));
                ranges.push(UnmeasuredRange { collective, sizes: 1, ranks, bytes, takes });
            }
        }
    }
    let timed: BTreeSet<Cell> = findings.cells.iter().map(|found| found.cell).collect();
    let untimed = plan.cells.iter().filter(|planned| !timed.contains(&planned.cell)).count();
    let (missing, planned) = (ranges.iter().map(|range| range.sizes).sum(), plan.cells.len());
    (missing > 0).then_some(Remark::NotMeasured { missing, untimed, planned, ranges })
}

/// The error of an analysis, with the reason why nothing was timed if the clock file has one.
fn untimed(run: &RunDir, source_name: &str, cause: TunerError) -> WorkflowError {
    let is_untimed = matches!(cause, TunerError::NoSamples { .. });
    match run.clock().ok().filter(|_| is_untimed).and_then(|lines| remarks::too_late(&lines)) {
        Some(late) => WorkflowError::Input(format!("{source_name}: {cause}: {late}")),
        None => WorkflowError::Analysis { source_name: source_name.to_owned(), cause },
    }
}
