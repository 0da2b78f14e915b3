//! The tuning to compare, with the analysis behind it.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::criteria::Middle;
use collrules_record::findings::{CellFinding, Verdict};
use collrules_record::installed::is_installed;
use collrules_record::options::Validating;
use collrules_record::state::StepRecord;
use collrules_record::validation::{RevertedRange, Round};
use collrules_record::{
    Arrangement, Assumptions, Candidate, Cell, Layout, Nodes, Placement, Ranks, RunDir, Seconds, Settings, Stage, Step,
    Survey, Tuning, TuningState, Validation, rundir,
};
use collrules_report::facts::describe_other_transport;
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Behaviour, Collective, Distribution, Release, RuleTable};
use collrules_runner::{RunnerError, running};
use collrules_tuner::repair::RuleSet;

use crate::comparison::Arms;
use crate::error::WorkflowError;
use crate::evidence::{self, InForce};
use crate::publish::Published;
use crate::session::Session;
use crate::start::Started;
use crate::tuning;

/// The tuning under comparison.
#[derive(Clone)]
pub(crate) struct ValidationSubject {
    /// The tuning as this system reads it.
    pub(crate) tuning: Tuning,
    /// Its analysis; none for files from elsewhere.
    pub(super) published: Option<Published>,
    /// State of files from elsewhere, and of comparisons outside of the run.
    pub(super) alone: TuningState,
    pub(super) release: Release,
    pub(super) version: collrules_rules::Version,
    /// The cells to compare.
    pub(super) cells: Vec<Cell>,
    /// The ranks of the job.
    pub(super) ranks: Ranks,
    /// Nodes of the communicators for which a file without an analysis is compared, with HAN for those that it gets.
    pub(super) placement: Placement,
}

/// Where results of a comparison count for a tuning, and over which settings.
pub(super) struct ResultPlace<'a> {
    /// Directory of the result.
    pub(super) home: &'a RunDir,
    /// Another layout than that of the run of the tuning, or none; nothing for results outside of the run.
    pub(super) layout: Option<Option<Layout>>,
    /// Settings under which rules were compared; none for the default.
    pub(super) base: &'a Settings,
}

impl ValidationSubject {
    /// A tuning as this system reads it, without cells so far.
    pub(super) fn read(tuning: &Tuning, started: &Started, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        let version = Behaviour::from_version(started.survey.version).map_err(RunnerError::UnknownRelease)?;
        let from_elsewhere = |tuning: &Tuning, session: &mut Session<'_>| {
            let mut read = tuning.read_as(&version)?;
            tuning::say_oddities(&read, &version, session);
            read.pins = started.pins.clone();
            Ok(Self::new(read, None, started))
        };
        let Some(published) = Published::of_tuning(tuning)? else { return from_elsewhere(tuning, session) };
        let Published { run, findings, .. } = &published;
        let other = describe_other_transport(&findings.transport, &started.survey.transport);
        other.iter().for_each(|said| session.say(said));
        let read = published.rename_rules_file(tuning.path()).read_as(&version)?;
        if findings.table != read.table() || findings.release != started.release {
            let file = read.path();
            session.say(&format!(
                "{} means something else to Open MPI {} than to the findings next to it: it is compared like any other \
                 file",
                file.display(),
                started.release,
            ));
            let beside = Some(run.file(rundir::HAN)).filter(|beside| beside.is_file());
            return from_elsewhere(&Tuning::read(file, beside.as_deref())?, session);
        }
        if let Some(name) = read.differs_from(findings) {
            let path = run.file(name);
            // Reports a missing file.
            std::fs::metadata(&path).map_err(|cause| WorkflowError::open(&path, cause))?;
            return Err(WorkflowError::Input(format!(
                "{} and the findings next to it disagree; `collrules tune --resume {1}` or `collrules analyze {1}` writes \
                 it again",
                path.display(),
                run.path().display(),
            )));
        }
        Ok(Self::new(read, Some(published), started))
    }

    /// The tuning of a run that was just published.
    pub(crate) fn of_run(published: Published, started: &Started) -> Self {
        let tuning = published.tuning.clone().unwrap_or_default();
        let mut subject = Self::new(tuning, Some(published), started);
        let tuned: Vec<Cell> = subject.tuned().into_iter().collect();
        let mut cells = tuned.clone();
        cells.extend(subject.between(&tuned));
        cells.retain(|cell| subject.reaches(*cell));
        cells.sort_unstable();
        subject.cells = cells;
        subject
    }

    fn new(tuning: Tuning, published: Option<Published>, started: &Started) -> Self {
        let manifest = published.as_ref().and_then(|published| published.manifest.as_ref());
        Self {
            ranks: manifest.map_or(Ranks(0), |manifest| manifest.plan.ranks),
            tuning,
            published,
            alone: TuningState::default(),
            release: started.release,
            version: started.survey.version,
            cells: Vec::new(),
            placement: Placement::default(),
        }
    }

    /// The rules of coll/tuned for communicators of a size, as they lie on nodes here.
    pub(super) fn table_on(&self, ranks: Ranks) -> Option<&RuleTable> {
        let arrangement = self.placement.nodes.get(&ranks).and_then(Nodes::arrangement);
        let distribution = arrangement.map_or(Distribution::Any, Arrangement::distribution);
        self.tuning.tuned.as_ref().map(|file| file.table_for(distribution))
    }

    /// Returns true if a cell has a rule for which a comparison does not answer.
    pub(super) fn is_open(&self, cell: Cell, round: &Round) -> bool {
        self.is_ruled(cell) && !round.covers(cell, self.known(cell).rule())
    }

    /// Returns true if a rule acts on a cell's calls.
    pub(crate) fn is_ruled(&self, cell: Cell) -> bool {
        cell.ranks.0 > 1 && self.known(cell).is_ruled()
    }

    /// The settings of a job with the tuning: of a run, with files that never change.
    pub(super) fn job(&self) -> Settings {
        let of_run = |published: &Published| published.settings_of(self.tuning.clone());
        self.published.as_ref().map_or_else(|| self.tuning.settings(), of_run).by_name()
    }

    /// What tells its launches from others.
    pub(super) fn arm(&self) -> Result<Settings, WorkflowError> {
        Arms::default().add(self.job())
    }

    /// The layout for which results in a directory count for the tuning, none if it is that of its run; nothing for results
    /// elsewhere.
    pub(super) fn place_of(&self, home: &RunDir, layout: Layout) -> Option<Option<Layout>> {
        let published = self.published.as_ref().filter(|published| home.path().starts_with(published.run.path()))?;
        let own = published.manifest.as_ref().map(|manifest| manifest.plan.placement.layout);
        Some(own.is_some_and(|own| own != layout).then_some(layout))
    }

    /// The state of the tuning, with what was reverted.
    pub(super) fn state(&self) -> &TuningState {
        self.published.as_ref().map_or(&self.alone, |published| &published.state)
    }

    pub(super) fn state_mut(&mut self) -> &mut TuningState {
        self.published.as_mut().map_or(&mut self.alone, |published| &mut published.state)
    }

    /// Adds a comparison to the state, or to one of its own if it is outside of the run.
    pub(super) fn add(&mut self, stage: Stage, place: &ResultPlace<'_>, found: Validation) {
        let step = Step::Compare(stage, place.layout.flatten());
        let compared = StepRecord::compared(step, place.base.clone(), found);
        let state = if place.layout.is_some() { self.state_mut() } else { &mut self.alone };
        state.steps.push(compared);
    }

    /// The result for the rules that are left: in the run of the tuning of all comparisons, outside of it of the last one.
    pub(super) fn judge(&self, place: &ResultPlace<'_>) -> Option<Validation> {
        if let Some((published, layout)) = self.published.as_ref().zip(place.layout) {
            return published.judge_under(Some(self.version), layout, place.base);
        }
        let TuningState { reverted, carried, withdrawn, .. } = self.alone.clone();
        let removed = |cell: Cell| RevertedRange::any_covers(&reverted, cell, self.release);
        let mut judged = evidence::verdict(self.alone.evidence(None, place.base), |cell| self.known(cell), removed)?;
        evidence::carry(&mut judged, &carried);
        if self.published.is_some() {
            // Without tuned cells for which it does not answer nothing is confirmed.
            let round = &judged.round;
            judged.round.unreached = self.tuned().into_iter().filter(|cell| self.is_open(*cell, round)).count();
        }
        Some(Validation { settings: self.job(), digests: self.tuning.digests(), reverted, withdrawn, ..judged })
    }

    /// The tuning as the user named it.
    pub(super) fn name(&self) -> String {
        self.tuning.path().display().to_string()
    }

    /// The directory with the findings of the tuning.
    pub(super) fn run(&self) -> Option<&RunDir> {
        self.published.as_ref().map(|published| &published.run)
    }

    /// Returns the statistic of the calls that decided on the rules, if they come from an analysis.
    pub(crate) fn middle(&self) -> Option<Middle> {
        self.published.as_ref().map(|published| published.findings.criteria.middle)
    }

    /// Returns the assumptions about programs.
    pub(super) fn assumptions(&self) -> Assumptions {
        self.published.as_ref().map(|published| published.findings.tree.policy.assumptions).unwrap_or_default()
    }

    /// The rules of its files.
    pub(super) fn rule_set(&self) -> RuleSet {
        let (table, han) = (self.tuning.table(), self.tuning.han_rules());
        RuleSet { table, han, release: self.release, of_programs: self.is_of_programs() }
    }

    /// Returns true if its sizes are those of programs.
    pub(super) fn is_of_programs(&self) -> bool {
        let manifest = self.published.as_ref().and_then(|published| published.manifest.as_ref());
        manifest.is_some_and(|manifest| !manifest.experiment.grid.weights.is_empty())
    }

    /// Returns true if a file of the tuning, or a setting that belongs to it, acts on a collective.
    fn rules(&self, collective: Collective) -> bool {
        self.tuning.tuned.as_ref().is_some_and(|file| file.rules_anywhere(collective))
            || self.tuning.han_collectives().contains(&collective)
            || self.freed().contains(&collective)
            || self.sets_han(collective)
    }

    /// Returns true if the tuning affects a cell's calls.
    pub(super) fn reaches(&self, cell: Cell) -> bool {
        self.rules(cell.collective) || !self.inside(cell).is_empty()
    }

    /// The measured cells, in order.
    fn findings(&self) -> &[CellFinding] {
        self.published.as_ref().map_or(&[], |published| &published.findings.cells)
    }

    /// The finding for a cell.
    pub(super) fn finding(&self, cell: Cell) -> Option<&CellFinding> {
        let cells = self.findings();
        cells.binary_search_by_key(&cell, |it| it.cell).ok().map(|at| &cells[at])
    }

    /// The logarithm of the gain of a cell's rule that the timings for tuning let expect.
    pub(super) fn expected_log_gain(&self, cell: Cell) -> f64 {
        let found = self.finding(cell);
        let expected = found.and_then(|it| it.expectation_in_use().or_else(|| Some(it.gain_in_use()?.point)));
        let won = || match &found?.verdict {
            Verdict::Replace { gain, .. } => Some(gain.point),
            Verdict::Keep { .. } => None,
        };
        expected.or_else(won).map_or(0.0, |gain| gain.ln().max(0.0))
    }

    /// About the time of the default for a cell, by that on the next larger communicator if its own is unknown; 0 if nothing is.
    pub(super) fn estimate_call(&self, cell: Cell) -> Seconds {
        let above = || {
            let cells = self.findings();
            let first = cells.partition_point(|it| (it.cell.collective, it.cell.ranks) < (cell.collective, cell.ranks));
            let ranks = cells.get(first).filter(|it| it.cell.collective == cell.collective)?.cell.ranks;
            self.default_time(Cell { ranks, ..cell })
        };
        self.default_time(cell).or_else(above).unwrap_or_default()
    }

    /// The time of the default for a cell in the run of the tuning, interpolated linearly between measured sizes.
    pub(crate) fn default_time(&self, cell: Cell) -> Option<Seconds> {
        let cells = self.findings();
        let first = cells.partition_point(|it| (it.cell.collective, it.cell.ranks) < (cell.collective, cell.ranks));
        let alike = |it: &&CellFinding| (it.cell.collective, it.cell.ranks) == (cell.collective, cell.ranks);
        let time = |it: &CellFinding| Some((it.cell.bytes.0 as f64, it.point(Candidate::Builtin)?.time.point));
        let times: Vec<(f64, f64)> = cells[first..].iter().take_while(alike).filter_map(time).collect();
        let bytes = cell.bytes.0 as f64;
        let above = times.partition_point(|(size, _)| *size < bytes);
        let seconds = match (above.checked_sub(1).map(|below| times[below]), times.get(above).copied()) {
            (_, Some((size, time))) if size == bytes => time,
            (Some((below, shorter)), Some((above, longer))) => {
                shorter + (longer - shorter) * (bytes - below) / (above - below)
            }
            (Some((_, time)), None) | (None, Some((_, time))) => time,
            (None, None) => return None,
        };
        Some(Seconds(seconds))
    }

    /// Returns true if nothing is left of the tuning.
    pub(super) fn is_empty(&self) -> bool {
        self.tuning.has_no_rules()
            && self.freed().is_empty()
            && !Collective::ALL.into_iter().any(|collective| self.sets_han(collective))
    }

    /// Collectives that a setting moves to `coll/tuned`.
    pub(super) fn freed(&self) -> BTreeSet<Collective> {
        let placement = self.published.as_ref().map(|published| &published.findings.placement);
        placement.map(|placement| running::freed(placement, &self.tuning.parameters)).unwrap_or_default()
    }

    /// Returns true if the tuning sets a parameter of HAN for a collective, such as `coll_han_bcast_segsize`.
    fn sets_han(&self, collective: Collective) -> bool {
        let prefix = format!("coll_han_{collective}_");
        self.tuning.parameters.keys().any(|name| name.starts_with(&prefix))
    }

    /// Returns true if HAN handles calls on this number of ranks.
    pub(super) fn is_reached(&self, ranks: Ranks) -> bool {
        self.published.is_some() || self.placement.running.iter().any(|running| running.ranks == ranks)
    }

    /// The tuning in force.
    pub(super) fn in_force(&self) -> InForce<'_> {
        let placement = self.published.as_ref().map_or(&self.placement, |published| &published.findings.placement);
        InForce::new(&self.tuning, placement)
    }

    /// The rules that act inside HAN during a cell's calls, by collective and communicator size.
    pub(super) fn inside(&self, cell: Cell) -> Vec<(Collective, Ranks)> {
        self.in_force().inside_han(cell)
    }

    /// Returns the directory for results: the run, the run within it of this layout, or a separate one.
    pub(super) fn home(&self, out: Option<&Path>, options: &Validating) -> Result<RunDir, WorkflowError> {
        let layout = options.system.layout;
        let elsewhere = |run: &RunDir| out.is_some_and(|out| !rundir::is_same_file(out, run.path()));
        if options.repair && self.run().is_some_and(elsewhere) {
            return Err(WorkflowError::Usage(format!(
                "repairs of a run's rules are recorded in the run: leave out --out, or repair a copy of {} under another \
                 name",
                self.name(),
            )));
        }
        let layouts = self.published.iter().filter(|_| out.is_none()).flat_map(|published| &published.layouts);
        if let Some((other, _)) = { layouts }.find(|(_, plan)| plan.placement.layout == layout) {
            return Ok(other.clone());
        }
        if let Some(run) = self.run().filter(|run| out.is_none_or(|out| rundir::is_same_file(out, run.path()))) {
            return Ok(run.clone());
        }
        let out = out.map_or_else(|| rundir::unused_here("validation"), Path::to_owned);
        // An earlier one is resumed.
        if !out.join(rundir::COMPARISON).exists() {
            return Ok(RunDir::prepare_derived(out)?);
        }
        let home = RunDir::derived(out)?;
        let about_another = |before: Validation| !rundir::is_same_file(Path::new(&before.rules), self.tuning.path());
        if [rundir::MANIFEST, rundir::FINDINGS].iter().any(|name| home.file(name).exists())
            || home.validation()?.is_some_and(about_another)
        {
            return Err(WorkflowError::Occupied(format!(
                "{} holds validations of another rules file than {}; choose another --out",
                home.path().display(),
                self.name(),
            )));
        }
        Ok(home)
    }

    /// Refuses to compare a tuning with itself.
    pub(super) fn refuse_if_in_force(&self, survey: &Survey, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let settings = self.tuning.settings();
        let name = if settings.get(RULES_FILE).is_some() { RULES_FILE } else { HAN_FILE };
        let Some(preset) = survey.preset.get(name) else { return Ok(()) };
        if is_installed(Path::new(preset)) {
            session.say(&format!("the installed rules in {preset} are switched off for launches with the default"));
            return Ok(());
        }
        let in_environment = std::env::var(format!("OMPI_MCA_{name}")).ok();
        let ours = self.tuning.absolute().to_string_lossy().into_owned();
        if *preset != ours {
            session
                .say(&format!("the rules file {preset} is active on this system: {} is compared with it", self.name()));
            return Ok(());
        }
        // A tuning set in the environment would be active in the launches without it.
        if in_environment.as_deref() == Some(&ours[..]) {
            return Ok(());
        }
        Err(WorkflowError::Usage(format!(
            "{ours} is switched on by a configuration file of Open MPI or an option of mpirun, so there is nothing to \
             compare it with; switch it off there for the comparison",
        )))
    }
}
