//! Results of an analysis in a directory: the only writer of these files, and their reader.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::conduct::add_trials;
use collrules_record::experiment::DEFAULT_BUDGET;
use collrules_record::options::Request;
use collrules_record::proof::ProofFact;
use collrules_record::rundir::{self, FoundPath, RunDir, RunDirError};
use collrules_record::settings::{RulesUse, SettingsFindings};
use collrules_record::validation::RevertedRange;
use collrules_record::{
    Cell, Findings, Layout, Manifest, Plan, Ranks, Remark, Seconds, Settings, Stage, Step, Tuning, TuningState,
    Validation, findings,
};
use collrules_report::gains::Gains;
use collrules_report::outcome::{TuningVerdict, VerdictWord};
use collrules_report::remarks::sentences;
use collrules_report::{Context, conduct, outcome, proof, tuning as report};
use collrules_rules::deploy::{self, JobSettings};
use collrules_rules::emit::confirmation;
use collrules_rules::{Collective, Version};
use collrules_tuner::Observations;

use crate::comparison::CellWeights;
use crate::error::WorkflowError;
use crate::evidence::{InForce, carry, verdict};
use crate::session::Session;
use crate::{TOOL, quality, tuning};

/// Contents of an analysed directory.
#[derive(Clone)]
pub struct Published {
    /// The directory.
    pub run: RunDir,
    /// The findings.
    pub findings: Findings,
    /// Manifest of the measurements, if collrules made them.
    pub manifest: Option<Manifest>,
    /// Results of fresh launches, if there were any.
    pub validation: Option<Validation>,
    /// Facts that the proof of the rules showed.
    pub proof: Vec<ProofFact>,
    /// Remarks on result files of other rules.
    pub left_out: Vec<Remark>,
    /// Result of a search for settings, if there was one.
    pub settings: Option<SettingsFindings>,
    /// The tuning of the findings, without settings that a search found; none without rules next to the findings.
    pub tuning: Option<Tuning>,
    /// Steps that ended, with all results.
    pub(crate) state: TuningState,
    /// The runs of other layouts within the run, which share its rules, with their plans.
    pub(crate) layouts: Vec<(RunDir, Plan)>,
}

impl Published {
    /// Opens a directory that holds findings, or a findings file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, WorkflowError> {
        let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        if path.is_dir() {
            let run = RunDir::derived(path)?;
            let findings = run.findings()?;
            return Self::around(run, findings);
        }
        let findings = rundir::read_json_file(path, findings::FORMAT).map_err(|error| {
            // Another file of a run.
            let is_found = matches!(error, RunDirError::Damaged { .. }) && !path.ends_with(rundir::FINDINGS);
            match RunDirError::not_a_run(path.to_owned()) {
                meant @ RunDirError::NotARun { found: FoundPath::FileOf(_), .. } if is_found => meant,
                _ => error,
            }
        })?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::around(RunDir::derived(directory)?, findings)
    }

    /// The analysis of a tuning, whose findings are next to the rules file; none without findings.
    pub fn of_tuning(tuning: &Tuning) -> Result<Option<Self>, WorkflowError> {
        let Some(file) = &tuning.tuned else { return Ok(None) };
        let directory = file.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_named = file.path.file_name().is_some_and(|name| name == rundir::RULES);
        if is_named && directory.join(rundir::FINDINGS).exists() { Self::open(directory).map(Some) } else { Ok(None) }
    }

    /// The tuning of the analysis, with a rules file that a user renamed.
    pub(crate) fn rename_rules_file(&self, path: &Path) -> Tuning {
        let mut tuning = self.tuning.clone().unwrap_or_default();
        if let Some(file) = &mut tuning.tuned {
            file.path = path.to_owned();
        }
        tuning
    }

    fn around(run: RunDir, findings: Findings) -> Result<Self, WorkflowError> {
        // The directory of a table's findings has no manifest, and that of an import has a different one.
        let measured = run.file(rundir::MANIFEST).exists() && !run.is_imported()?;
        let manifest = measured.then(|| run.manifest()).transpose()?;
        let simulated = manifest.as_ref().map(Manifest::is_simulated);
        if simulated.is_some_and(|simulated| simulated != findings.simulated) {
            return Err(WorkflowError::Input(format!(
                "{} and {} do not belong together: one of them says that the times are simulated. `collrules analyze \
                 {}` writes the findings again",
                run.file(rundir::FINDINGS).display(),
                run.file(rundir::MANIFEST).display(),
                run.path().display(),
            )));
        }
        let tuning = tuning::of_run(&run, &findings, manifest.as_ref())?;
        tuning.iter().try_for_each(|tuning| tuning::refuse_changed(&run, tuning))?;
        let digests = tuning.as_ref().map(Tuning::digests).unwrap_or_default();
        let (proof, mut left_out) = match run.proof()? {
            Some(shown) if shown.is_about(&digests) => (shown.shown, Vec::new()),
            shown => (Vec::new(), shown.map(|_| Remark::OtherProof(run.path().to_owned())).into_iter().collect()),
        };
        let state = tuning::read_state(&run)?;
        let mut published = Self::new(run, findings, manifest, tuning, proof, state)?;
        let is_compared = published.state.evidence(None, &Settings::new()).next().is_some();
        if is_compared && published.validation.is_none() {
            left_out.insert(0, Remark::OtherValidation(published.run.path().to_owned()));
        }
        published.left_out = left_out;
        // The comparison of a whole tuning may have had other rules.
        let digests = published.whole().digests();
        if let Some(found) = published.settings.as_mut().filter(|found| found.chosen.is_some()) {
            found.validation = found.validation.take().filter(|validation| validation.digests == digests);
        }
        Ok(published)
    }

    /// A tuning with a state. Comparisons of other rules do not count, and are to be made again.
    pub(crate) fn new(
        run: RunDir,
        findings: Findings,
        manifest: Option<Manifest>,
        tuning: Option<Tuning>,
        proof: Vec<ProofFact>,
        mut state: TuningState,
    ) -> Result<Self, WorkflowError> {
        let layouts = run.layouts()?.into_iter().map(|run| run.manifest().map(|manifest| (run, manifest.plan)));
        let (settings, layouts) = (state.settings.take(), layouts.collect::<Result<_, _>>()?);
        let (validation, left_out) = (None, Vec::new());
        let mut published =
            Self { run, findings, manifest, validation, proof, left_out, settings, tuning, state, layouts };
        published.validation = published.judge(None, &Settings::new());
        if published.tuning.as_ref().is_some_and(|tuning| !tuning.has_no_rules()) && !published.is_compared() {
            let mut own = published.state.steps.iter().rev().take_while(|it| it.step != Step::Decide);
            if own.any(|it| matches!(it.step, Step::Compare(..))) {
                published.state.steps.push(Step::Decide.into());
            }
            published.settings.iter_mut().for_each(SettingsFindings::forget_rules);
        }
        Ok(published)
    }

    /// Returns true if fresh launches compared all rules that there are.
    pub(crate) fn is_compared(&self) -> bool {
        self.validation.as_ref().is_some_and(|found| found.round.unreached == 0)
    }

    /// The last validation in the layout of the run, under its version of Open MPI.
    pub(crate) fn last_validation(&self) -> Option<Stage> {
        let version = self.manifest.as_ref().map(|manifest| manifest.survey.version);
        let base = Settings::new();
        let own = self.state.evidence(None, &base).filter(|(_, found)| Some(found.version) == version);
        own.map(|(stage, _)| stage).filter(|stage| matches!(stage, Stage::Validation(_))).last()
    }

    /// The result of fresh launches of the rules over a base, in a layout or in that of the run; none without any.
    pub(crate) fn judge(&self, layout: Option<Layout>, base: &Settings) -> Option<Validation> {
        self.judge_under(self.manifest.as_ref().map(|manifest| manifest.survey.version), layout, base)
    }

    /// The same under a version of Open MPI.
    pub(crate) fn judge_under(
        &self,
        version: Option<Version>,
        layout: Option<Layout>,
        base: &Settings,
    ) -> Option<Validation> {
        let Self { findings, state, .. } = self;
        let tuning = self.tuning.as_ref().filter(|tuning| tuning.differs_from(findings).is_none())?;
        let in_force = InForce::new(tuning, &findings.placement);
        let tuned: BTreeSet<Cell> = findings.cells.iter().map(|found| found.cell).collect();
        let facts = |cell: Cell| {
            let in_use = tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(findings.release));
            in_force.facts(cell, tuned.contains(&cell), in_use, true)
        };
        let is_about = |found: &Validation| {
            let mut parameters = tuning.parameters.iter();
            version.is_none_or(|version| version == found.version)
                && parameters.all(|(name, value)| found.settings.get(name) == Some(value))
        };
        let removed = |cell: Cell| RevertedRange::any_covers(&state.reverted, cell, findings.release);
        let evidence = state.evidence(layout, base).filter(|(_, found)| is_about(found));
        let mut found = verdict(evidence, facts, removed)?;
        carry(&mut found, &state.carried);
        let of_layout = layout.map(|layout| self.cells_in(layout));
        let is_here =
            |cell: &Cell| of_layout.as_ref().is_none_or(|cells| cells.contains(&(cell.collective, cell.ranks)));
        let ruled = tuned.iter().filter(|cell| cell.ranks.0 > 1 && is_here(cell));
        let is_open = |cell: &&Cell| {
            let now = facts(**cell);
            now.is_ruled() && !found.round.covers(**cell, now.rule())
        };
        found.round.unreached = ruled.filter(is_open).count();
        let settings = self.settings_of(tuning.clone()).by_name();
        let (reverted, withdrawn) = (state.reverted.clone(), state.withdrawn.clone());
        Some(Validation { settings, digests: tuning.digests(), reverted, withdrawn, ..found })
    }

    /// The collectives and communicators of another layout of the run.
    fn cells_in(&self, layout: Layout) -> BTreeSet<(Collective, Ranks)> {
        let own = self.layouts.iter().filter(|(_, plan)| plan.placement.layout == layout);
        own.flat_map(|(_, plan)| &plan.cells).map(|planned| (planned.cell.collective, planned.cell.ranks)).collect()
    }

    /// The timings; none if the findings are in no run.
    pub fn observations(&self) -> Result<Option<Observations>, WorkflowError> {
        if !self.run.file(rundir::SAMPLES).is_file() {
            return Ok(None);
        }
        let read = Observations::from_samples_of(&self.run.samples()?.text, self.findings.statistic);
        read.map(Some).map_err(WorkflowError::analysis(&self.findings.source))
    }

    /// The tuning with the settings that a search found, and without rules that add nothing to them.
    pub fn add_settings(&self, tuning: Tuning) -> Tuning {
        let Some(chosen) = self.settings.as_ref().and_then(SettingsFindings::chosen) else { return tuning };
        let mut parameters = tuning.parameters;
        parameters.extend(chosen.settings.clone());
        let (tuned, han) = match chosen.rules {
            RulesUse::Shared => (tuning.tuned, tuning.han),
            RulesUse::LeftOut | RulesUse::NotCompared => (None, None),
        };
        Tuning { tuned, han, parameters, ..tuning }
    }

    /// The whole tuning: settings that a search found, and the rules that are named with them.
    pub fn whole(&self) -> Tuning {
        self.add_settings(self.tuning.clone().unwrap_or_default())
    }

    /// The settings of the whole tuning: those that name its files, and those that a search found.
    pub(crate) fn switch(&self) -> JobSettings {
        self.settings_of(self.whole())
    }

    /// The settings that activate a tuning of the run, with files that never change.
    pub(crate) fn settings_of(&self, tuning: Tuning) -> JobSettings {
        tuning::as_pinned(&self.run, tuning).settings()
    }

    /// The weights of the cells of a run in a mean speedup: programs' time in them if it is known, else equal ones. Sizes
    /// between those of the grid have none: they lie where algorithms change.
    pub(crate) fn weights(&self) -> CellWeights {
        let cells = self.findings.cells.iter().map(|cell| cell.cell);
        let Some(manifest) = &self.manifest else { return cells.map(|cell| (cell, 1.0)).collect() };
        let known: CellWeights = match &manifest.experiment.grid.weights[..] {
            [] => manifest.plan.cells.iter().map(|planned| (planned.cell, 1.0)).collect(),
            of_programs => of_programs.iter().fold(CellWeights::new(), |mut all, weight| {
                *all.entry(weight.cell).or_default() += weight.time.0;
                all
            }),
        };
        cells.map(|cell| (cell, known.get(&cell).copied().unwrap_or_default())).collect()
    }

    /// Returns true if a search for settings chose some.
    pub fn has_settings(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.chosen.is_some())
    }

    /// Returns true if the last comparison of the whole tuning showed that its settings slow something down.
    pub fn loses_by_settings(&self) -> bool {
        self.has_settings() && self.settings.as_ref().is_some_and(SettingsFindings::loses)
    }

    /// Returns true if the tuning changes nothing for programs.
    pub fn changes_nothing(&self) -> bool {
        self.findings.changes_nothing() && !self.has_settings()
    }

    /// Returns the settings that activate the rules, without those that a search found; none without rules.
    pub(crate) fn rules_settings(&self) -> Settings {
        match &self.tuning {
            Some(tuning) if !self.findings.changes_nothing() => self.settings_of(tuning.clone()).by_name(),
            _ => Settings::new(),
        }
    }

    /// Puts all files in place: rules, results, and what activates them. Before, jobs read those of an earlier tuning.
    fn place(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let after = self.tuning.clone().unwrap_or_default();
        tuning::pin_files(&self.run, &after)?;
        self.validation = self.judge(None, &Settings::new());
        self.run.write_state(&self.whole_state())?;
        self.run.write_findings(&self.add_results())?;
        for (name, _, text) in after.files() {
            // Until all files are in place, the rules are not confirmed.
            let marked = std::str::from_utf8(text).map(|text| confirmation::mark(text, true, &[]));
            self.run.write(name, marked.as_deref().map_or(text, str::as_bytes))?;
        }
        if after.han.is_none() {
            self.run.remove(rundir::HAN)?;
        }
        self.validation.iter().try_for_each(|validation| self.run.write_validation(validation))?;
        for (other, _, found) in self.judge_layouts() {
            found.iter().try_for_each(|found| other.write_validation(found))?;
        }
        self.settings.iter().try_for_each(|settings| self.run.write_settings(settings))?;
        self.write_parameters(session)?;
        let settings = self.switch();
        let variables: Vec<&str> = settings.variables().collect();
        if !variables.is_empty() {
            let variables = variables.join(", ");
            session.say(&format!("{} alone has {variables}: no parameter file can set it", rundir::ENVIRONMENT));
        }
        Ok(())
    }

    /// Writes the results so far into the state of the run: they are not lost, and not looked for again.
    pub(crate) fn save(&mut self) -> Result<(), WorkflowError> {
        self.validation = self.judge(None, &Settings::new());
        Ok(self.run.write_next_state(&self.whole_state())?)
    }

    /// The state of the run, with the settings.
    pub(crate) fn whole_state(&self) -> TuningState {
        TuningState { settings: self.settings.clone(), ..self.state.clone() }
    }

    /// The verdict on the whole tuning.
    pub fn verdict(&self) -> TuningVerdict {
        outcome::tuning_verdict(&self.findings, &self.evidence(self.settings.as_ref()))
    }

    /// Returns true if fresh launches confirmed all that the tuning changes.
    pub fn is_confirmed(&self) -> bool {
        self.verdict().word != VerdictWord::NotConfirmed
    }

    /// Returns true if fresh launches confirmed the rules in every layout that uses them, or there are none.
    pub fn has_confirmed_rules(&self) -> bool {
        outcome::tuning_verdict(&self.findings, &self.evidence(None)).word != VerdictWord::NotConfirmed
    }

    /// State and speedup of each size under the whole tuning.
    pub fn gains(&self) -> Gains<'_> {
        self.gains_with(self.settings.as_ref())
    }

    /// State and speedup of each size under the rules with these settings, or the rules alone.
    fn gains_with<'a>(&'a self, settings: Option<&'a SettingsFindings>) -> Gains<'a> {
        Gains::new(&self.findings, self.validation.as_ref(), settings, self.tuning.as_ref())
    }

    /// Evidence of the verdict, with these settings or for the rules alone.
    fn evidence<'a>(&'a self, settings: Option<&'a SettingsFindings>) -> Context<'a> {
        let lines = self.run.clock().unwrap_or_default();
        Context {
            manifest: self.manifest.as_ref(),
            gains: self.gains_with(settings),
            rules: self.gains_with(None),
            validation: self.validation.as_ref(),
            open_layouts: self.open_layouts(),
            settings,
            doubts: quality::doubts(&lines, self.validation.as_ref()),
            tool: TOOL.to_owned(),
            ..Context::default()
        }
    }

    /// The other layouts of the run, with the results of the rules there.
    fn judge_layouts(&self) -> impl Iterator<Item = (&RunDir, &Plan, Option<Validation>)> {
        self.layouts.iter().map(|(run, plan)| (run, plan, self.judge(Some(plan.placement.layout), &Settings::new())))
    }

    /// The other layouts of the run that use its rules without confirmation by fresh launches.
    fn open_layouts(&self) -> Vec<Layout> {
        let open = self.judge_layouts().filter(|(_, plan, validation)| {
            let acts = |cell: Cell| self.findings.acts_on(cell.collective, cell.ranks);
            let is_ruled = plan.cells.iter().any(|planned| acts(planned.cell));
            is_ruled && !validation.as_ref().is_some_and(Validation::is_confirmed)
        });
        open.map(|(_, plan, _)| plan.placement.layout).collect()
    }

    /// Facts that the proof of the rules showed, and the comparisons in other layouts, in whole sentences.
    pub fn proof_sentences(&self) -> Vec<String> {
        let sentences =
            |(_, plan, found): (_, &Plan, Option<_>)| Some(proof::layout_sentences(plan.placement.layout, &found?));
        let compared = self.judge_layouts().filter_map(sentences);
        proof::sentences(&self.proof).into_iter().chain(compared.flatten()).collect()
    }

    /// The command that installs confirmed rules, compares unconfirmed ones, or goes on with an undecided run; none if there are
    /// no changes to activate.
    pub fn next_command(&self) -> Option<String> {
        self.next_command_on(self.run.path())
    }

    /// A budget with which a tuning should go on, if nothing was decided within its own, or with a number of calls.
    pub fn needs_time(&self) -> Option<Seconds> {
        let Request::Tune(options) = &self.manifest.as_ref()?.request else { return None };
        let is_undecided = options.validate && self.verdict().word == VerdictWord::Undecided;
        let more = options.budget.map_or(DEFAULT_BUDGET, |budget| Seconds(2.0 * budget.0));
        is_undecided.then_some(more)
    }

    fn next_command_on(&self, run: &Path) -> Option<String> {
        let run = deploy::quoted(&run.display().to_string());
        if let Some(budget) = self.needs_time() {
            return Some(format!("collrules tune --resume {run} --budget {:.0}s", budget.0.ceil()));
        }
        let is_confirmed = self.is_confirmed();
        let command = if is_confirmed { "install" } else { "validate --repair" };
        // No Open MPI takes simulated rules.
        let is_done = self.changes_nothing() || is_confirmed && self.findings.simulated;
        (!is_done).then(|| format!("collrules {command} {run}"))
    }

    /// Returns the parts of a report other than findings.
    pub fn context(&self) -> Context<'_> {
        Context {
            switch_on: match self.tuning {
                Some(_) if !self.changes_nothing() => switch_on(&self.run, &self.switch()),
                _ => Vec::new(),
            },
            // The page may be opened from anywhere.
            next: self.next_command_on(self.run.absolute()),
            proof: self.proof_sentences().into_iter().chain(sentences(&self.findings, &self.left_out)).collect(),
            ..self.evidence(self.settings.as_ref())
        }
    }

    /// Puts all files in place, and writes the report.
    pub(crate) fn publish(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        self.place(session)?;
        self.mark_rules()?;
        if !self.proof.is_empty() {
            let digests = self.tuning.as_ref().map(Tuning::digests).unwrap_or_default();
            self.run.write_proof(&self.proof, digests)?;
        }
        let (findings, context) = (self.add_results(), self.context());
        let report = report::document(&findings, &context);
        self.run.write(rundir::REPORT, report.markdown())?;
        Ok(self.run.write(rundir::PAGE, report.page(TOOL)).map(drop)?)
    }

    /// Writes the files that activate the tuning.
    fn write_parameters(&self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let (run, settings) = (&self.run, self.switch());
        run.write(
            rundir::MCA_PARAMS,
            confirmation::mark(&settings.mca_params().map_err(WorkflowError::Settings)?, true, &[]),
        )?;
        run.write(rundir::ENVIRONMENT, settings.environment())?;
        // Of the three files, only this one cannot hold a path with blanks; the others still work.
        match settings.tune_file() {
            Ok(text) => drop(run.write(rundir::TUNE, text)?),
            Err(inexpressible) => session.say(&format!("{} is left out: {inexpressible}", rundir::TUNE)),
        }
        Ok(())
    }

    /// The findings with the results of rules in fresh launches and in other calls.
    pub fn add_results(&self) -> Findings {
        let mut findings = self.findings.clone();
        self.gains().confirm(&mut findings.tree);
        findings.conduct.iter_mut().for_each(|conduct| conduct.trials.clear());
        self.validation.iter().for_each(|validation| add_trials(&mut findings.conduct, validation));
        findings
    }

    /// The comments at the top of the rules file, whatever became of its rules under settings.
    pub fn comments(&self) -> Vec<String> {
        conduct::comments(&self.add_results(), &self.gains_with(None))
    }

    /// Writes at the top of the activating files whether the tuning is confirmed, and in the rules file its results in
    /// programs.
    fn mark_rules(&self) -> Result<(), WorkflowError> {
        let comments = self.comments();
        let are_confirmed = self.has_confirmed_rules();
        let files = [
            (rundir::RULES, are_confirmed, &comments[..]),
            (rundir::HAN, are_confirmed, &[]),
            (rundir::MCA_PARAMS, self.is_confirmed(), &[]),
        ];
        for (name, is_confirmed, comments) in files {
            let Ok(text) = std::fs::read_to_string(self.run.file(name)) else { continue };
            let marked = confirmation::mark(&text, !is_confirmed, comments);
            if marked != text {
                self.run.write(name, marked)?;
            }
        }
        Ok(())
    }
}

/// Returns the commands that activate the rules: for one mpirun, and for a shell.
fn switch_on(run: &RunDir, settings: &JobSettings) -> Vec<String> {
    vec![
        format!("mpirun {} PROGRAM", settings.mpirun_line().trim_start_matches("mpirun ")),
        format!(". {}", deploy::quoted(&run.absolute().join(rundir::ENVIRONMENT).to_string_lossy())),
    ]
}

/// Writes the results of an analysis without launches: rules, settings, findings and report.
pub fn unproven(
    run: RunDir,
    findings: Findings,
    manifest: Option<Manifest>,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let proof = vec![ProofFact::NotChecked];
    let pins = manifest.as_ref().map(|manifest| manifest.pins.clone()).unwrap_or_default();
    let tuning = tuning::decide(&run, &findings, &pins)?;
    let (state, is_first) = (tuning::read_latest_state(&run)?, !run.file(rundir::FINDINGS).exists());
    let mut published = Published::new(run, findings, manifest, Some(tuning), proof, state)?;
    published.publish(session)?;
    if is_first {
        published.run.remove(rundir::NEXT_STATE)?;
    }
    Ok(published)
}

/// Reads a tuning: a rules file, one of coll/tuned with one of HAN, or all files of a run directory.
pub fn open(path: &Path, han: Option<&Path>) -> Result<Tuning, WorkflowError> {
    let file = rundir::rules_within(path)?;
    if file.to_str().is_none() {
        return Err(WorkflowError::Usage(format!(
            "{} is not UTF-8, so no setting of Open MPI can name it: rename it",
            file.display()
        )));
    }
    let tuning = Tuning::read(path, han)?;
    match (Published::of_tuning(&tuning)?, han) {
        (None, _) => Ok(tuning),
        (Some(published), None) => Ok(published.rename_rules_file(tuning.path())),
        (Some(_), Some(_)) => Err(WorkflowError::Usage(format!(
            "{} is part of a run, which has its own file for HAN: leave out --han",
            tuning.path().display()
        ))),
    }
}

/// Like [`open`]; of a run the whole tuning, with the settings that a search found.
pub fn open_whole(path: &Path) -> Result<Tuning, WorkflowError> {
    let tuning = open(path, None)?;
    let published = if path.is_dir() { Published::of_tuning(&tuning)? } else { None };
    Ok(published.map_or(tuning, |published| published.whole()))
}
