//! The rules file to compare: what it says, where it comes from, and in which cells it is looked at.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use collrules_record::findings::{Findings, Middle};
use collrules_record::options::Validating;
use collrules_record::policy::Assumptions;
use collrules_record::rival;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, HanSettings, Handed, Handover, Layout, Manifest, Ranks, Seconds, Survey};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE, Tuning};
use collrules_rules::steps::Steps;
use collrules_rules::{Behaviour, Choice, Collective, Release, RuleTable, han};
use collrules_runner::{RunnerError, grid, serving, validation};
use collrules_tuner::validation::Known;

use super::foreign::{Foreign, Half};
use crate::error::WorkflowError;
use crate::publish::{self, Published};
use crate::session::Session;
use crate::start::{Pins, Started, oversubscribes};
use crate::{profile, served, verify};

/// Calls of a first visit, the check and what is not timed included.
const FIRST_CALLS: f64 = 10.0;

/// A rules file that was read, with where it comes from.
pub struct Opened {
    file: PathBuf,
    shown: String,
    /// None where the file is HAN's.
    text: Option<Vec<u8>>,
    /// HAN's file of a tuning from elsewhere.
    half: Option<Half>,
    origin: RulesFrom,
}

/// Where a rules file comes from.
pub(super) enum RulesFrom {
    /// From elsewhere.
    Foreign(Foreign),
    /// From an analysis of what others measured.
    Analysis { run: RunDir, findings: Box<Findings> },
    /// From a run.
    Run(Box<Tuned>),
}

/// A run whose rules file is looked at.
#[derive(Clone)]
pub(super) struct Tuned {
    pub(super) run: RunDir,
    pub(super) manifest: Manifest,
    pub(super) findings: Findings,
}

/// Reads a rules file, and the run beside it if there is one; or that of coll/han, alone or in `half`.
pub fn open(path: &Path, half: Option<&Path>) -> Result<Opened, WorkflowError> {
    let named = rundir::within(path, rundir::RULES);
    let text = verify::read(path)?;
    let file = std::path::absolute(&named).map_err(|cause| WorkflowError::open(&named, cause))?;
    let directory = named.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_of_run =
        named.file_name().is_some_and(|name| name == rundir::RULES) && directory.join(rundir::FINDINGS).exists();
    let shown = named.display().to_string();
    if is_of_run && half.is_some() {
        return Err(WorkflowError::Usage(format!(
            "{shown} is part of a run, which has its own file for HAN: leave out --han"
        )));
    }
    let origin =
        if is_of_run { RulesFrom::of(Published::open(directory)?) } else { RulesFrom::Foreign(Foreign::default()) };
    if !is_of_run && han::is_han(&text) {
        if half.is_some() {
            let why = format!("{shown} is a rules file for coll/han itself: name that of coll/tuned before --han");
            return Err(WorkflowError::Usage(why));
        }
        let half = Some(Half::open(&named)?);
        return Ok(Opened { file, shown, text: None, half, origin });
    }
    let half = half.map(Half::open).transpose()?;
    Ok(Opened { file, shown, text: Some(text), half, origin })
}

impl RulesFrom {
    fn of(published: Published) -> Self {
        let Published { run, findings, manifest, .. } = published;
        match manifest {
            Some(manifest) => Self::Run(Box::new(Tuned { run, manifest, findings })),
            None => Self::Analysis { run, findings: Box::new(findings) },
        }
    }

    fn findings(&self) -> Option<&Findings> {
        match self {
            Self::Foreign(_) => None,
            Self::Analysis { findings, .. } => Some(findings),
            Self::Run(tuned) => Some(&tuned.findings),
        }
    }
}

impl Opened {
    /// The file as the user named it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// All settings that put the tuning in force: none where it changes nothing.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, WorkflowError> {
        let tuning = match &self.origin {
            RulesFrom::Foreign(_) => {
                let path = |path: &Path| path.to_string_lossy().into_owned();
                let han = self.half.as_ref().map(|half| path(&half.file));
                Tuning { rules: self.text.is_some().then(|| path(&self.file)), han, pins: Pins::new() }
            }
            RulesFrom::Analysis { run, findings } => {
                publish::tuning(run, findings, served::pins(&Pins::new(), findings))
            }
            RulesFrom::Run(tuned) if tuned.findings.changes_nothing() => Tuning::default(),
            RulesFrom::Run(tuned) => {
                let pins = served::pins(&tuned.manifest.pins, &tuned.findings);
                publish::tuning(&tuned.run, &tuned.findings, pins)
            }
        };
        Ok(tuning.by_name())
    }

    /// Refuses a file that no version reads: under it a program would run as without.
    pub(crate) fn refuse_unreadable(&self) -> Result<(), WorkflowError> {
        let none = |read: &dyn Fn(&Behaviour) -> Option<WorkflowError>| {
            let refusals: Option<Vec<WorkflowError>> = Behaviour::distinct().iter().map(read).collect();
            refusals.and_then(|mut all| all.pop()).map_or(Ok(()), Err)
        };
        if let Some(text) = &self.text {
            none(&|version| verify::in_force(Path::new(&self.shown), text, version).err())?;
        }
        self.half.as_ref().map_or(Ok(()), |half| none(&|version| half.table(version).err()))
    }

    /// The run that the file was made in, if we measured it.
    pub(super) fn measured(&self) -> Option<(&RunDir, &Manifest)> {
        match &self.origin {
            RulesFrom::Run(tuned) => Some((&tuned.run, &tuned.manifest)),
            _ => None,
        }
    }
}

/// What is compared. Repairs change it.
pub(super) struct Subject {
    /// The rules file from the root on.
    pub(super) file: PathBuf,
    /// The file as the user named it.
    pub(super) shown: String,
    /// What it says to this release.
    pub(super) table: RuleTable,
    /// What HAN hands over beside it.
    pub(super) handover: Handover,
    pub(super) release: Release,
    pub(super) version: collrules_rules::Version,
    /// Settings beside those that switch the files on.
    pub(super) pins: Pins,
    /// The cells to compare.
    pub(super) cells: Vec<Cell>,
    /// The ranks of the job.
    pub(super) ranks: Ranks,
    /// Where the file comes from.
    pub(super) origin: RulesFrom,
    /// What the file was before it was repaired.
    pub(super) kept: Option<PathBuf>,
}

impl Subject {
    /// What this system makes of a file, and the cells that the options ask for.
    pub(super) fn new(
        opened: Opened,
        options: &Validating,
        started: &Started,
        session: &mut Session<'_>,
    ) -> Result<Self, WorkflowError> {
        let mut subject = Self::read(opened, started, session)?;
        subject.choose(options, &started.survey)?;
        Ok(subject)
    }

    /// What this system makes of a file; no cells yet.
    pub(super) fn read(opened: Opened, started: &Started, session: &mut Session<'_>) -> Result<Self, WorkflowError> {
        let Opened { file, shown, text, mut half, mut origin } = opened;
        let behaviour = Behaviour::of(started.survey.version).map_err(RunnerError::from)?;
        let table = match &text {
            Some(text) => verify::in_force(Path::new(&shown), text, &behaviour)?.to_table(),
            None => RuleTable::new(),
        };
        if origin.findings().is_some_and(|found| found.table != table || found.release != started.release) {
            session.say(&format!(
                "{shown} means something else to Open MPI {} than the findings beside it say: it is compared like any \
                 other file",
                started.release,
            ));
            let beside = file.with_file_name(rundir::HAN);
            half = beside.is_file().then(|| Half::open(&beside)).transpose()?;
            origin = RulesFrom::Foreign(Foreign::default());
        }
        whole(&origin, &behaviour)?;
        if let RulesFrom::Foreign(foreign) = &mut origin {
            foreign.has_rules = text.is_some();
            let read = |half: Half| Ok::<_, WorkflowError>((half.file.clone(), half.read(&behaviour, session)?));
            foreign.han = half.map(read).transpose()?;
        }
        Ok(Self::from(file, shown, table, origin, started))
    }

    /// The rules of a run that was just tuned.
    pub(super) fn of_run(published: Published, started: &Started) -> Self {
        let run = &published.run;
        let (file, shown) = (run.absolute().join(rundir::RULES), run.file(rundir::RULES).display().to_string());
        let table = published.findings.table.clone();
        let mut subject = Self::from(file, shown, table, RulesFrom::of(published), started);
        let tuned: Vec<Cell> = subject.tuned().into_iter().collect();
        let mut cells = tuned.clone();
        cells.extend(subject.between(&tuned));
        cells.retain(|cell| subject.reaches(*cell));
        cells.sort_unstable();
        subject.cells = cells;
        subject
    }

    fn from(file: PathBuf, shown: String, table: RuleTable, origin: RulesFrom, started: &Started) -> Self {
        let pins = match &origin {
            RulesFrom::Foreign(_) => started.pins.clone(),
            RulesFrom::Analysis { findings, .. } => served::pins(&Pins::new(), findings),
            RulesFrom::Run(tuned) => served::pins(&tuned.manifest.pins, &tuned.findings),
        };
        let ranks = match &origin {
            RulesFrom::Run(tuned) => tuned.manifest.plan.ranks,
            _ => Ranks(0),
        };
        let (release, version) = (started.release, started.survey.version);
        let handover = match &origin {
            RulesFrom::Foreign(foreign) => foreign.handover(),
            _ => origin.findings().map(|findings| findings.handover.clone()).unwrap_or_default(),
        };
        Self { file, shown, table, handover, release, version, pins, cells: Vec::new(), ranks, origin, kept: None }
    }

    /// The directory with the findings of the file.
    pub(super) fn run(&self) -> Option<&RunDir> {
        match &self.origin {
            RulesFrom::Foreign(_) => None,
            RulesFrom::Analysis { run, .. } => Some(run),
            RulesFrom::Run(tuned) => Some(&tuned.run),
        }
    }

    /// What of the calls decided on the rules, where they come from an analysis.
    pub(super) fn middle(&self) -> Option<Middle> {
        match &self.origin {
            RulesFrom::Foreign(_) => None,
            RulesFrom::Analysis { findings, .. } => Some(findings.criteria.middle),
            RulesFrom::Run(tuned) => Some(tuned.findings.criteria.middle),
        }
    }

    /// The same where we measured.
    pub(super) fn measured_run(&self) -> Option<&RunDir> {
        self.run().filter(|_| matches!(self.origin, RulesFrom::Run(_)))
    }

    /// What programs are taken to keep to.
    pub(super) fn assumptions(&self) -> Assumptions {
        self.origin.findings().map(|findings| findings.tree.policy.assumptions).unwrap_or_default()
    }

    /// The cells that were tuned.
    fn tuned(&self) -> BTreeSet<Cell> {
        let found = self.origin.findings().map(|findings| &findings.cells);
        found.into_iter().flatten().map(|cell| cell.cell).collect()
    }

    /// Cells between those that were tuned; none where these are what programs call.
    fn between(&self, tuned: &[Cell]) -> Vec<Cell> {
        let of_programs =
            matches!(&self.origin, RulesFrom::Run(tuned) if !profile::weights(&tuned.manifest).is_empty());
        if of_programs { Vec::new() } else { validation::cells_between(tuned, &self.table, self.release) }
    }

    /// Decides on the cells.
    fn choose(&mut self, options: &Validating, survey: &Survey) -> Result<(), WorkflowError> {
        let layout = options.system.layout;
        let slots = layout.most(&survey.hosts);
        let sizes = options.sizes.as_deref();
        let tuned = self.tuned();
        let oversubscribes = oversubscribes(options.system.oversubscribe);
        let mut cells = if tuned.is_empty() || sizes.is_some() {
            let ranks = match (&options.ranks[..], tuned.is_empty()) {
                ([], false) => tuned.iter().map(|cell| cell.ranks).collect::<BTreeSet<_>>().into_iter().collect(),
                _ => grid::communicator_sizes(&options.ranks, slots, oversubscribes)
                    .map_err(|error| error.on(options.system.is_simulated()))?,
            };
            let mut cells = validation::of_table(&self.table, self.release, &ranks, sizes);
            if let RulesFrom::Foreign(foreign) = &mut self.origin {
                foreign.place(self.release, options.system.layout, &survey.hosts, &ranks);
                let reached: Vec<Ranks> = foreign.reached.iter().copied().collect();
                let tables = foreign.han.iter().map(|(_, table)| table);
                cells.extend(tables.flat_map(|table| validation::of_han(table, &reached, sizes)));
            }
            cells
        } else {
            let tuned: Vec<Cell> = tuned.into_iter().collect();
            let mut cells = tuned.clone();
            cells.extend(self.between(&tuned));
            // Fewer ranks are one per node than there are slots.
            let fits = |cell: &Cell| layout != Layout::OnePerNode || cell.ranks <= slots;
            cells
                .retain(|cell| if options.ranks.is_empty() { fits(cell) } else { options.ranks.contains(&cell.ranks) });
            cells
        };
        cells.retain(|cell| match &options.collectives {
            Some(named) => named.contains(&cell.collective),
            None => self.reaches(*cell),
        });
        cells.sort_unstable();
        cells.dedup();
        if cells.is_empty() {
            return Err(WorkflowError::Usage(if self.is_empty() {
                format!("{} leaves everything to the builtin: there is nothing to compare", self.shown)
            } else if matches!(&self.origin, RulesFrom::Foreign(foreign) if !foreign.has_rules && foreign.reached.is_empty())
            {
                format!(
                    "{} is for HAN, which serves communicators over several hosts with several ranks on some of them, \
                     from Open MPI 5.0 on; none of those that could be compared here is one",
                    self.shown,
                )
            } else {
                format!("{} has no rules for what --ops, --np and --sizes say", self.shown)
            }));
        }
        let job = if layout == Layout::OnePerNode { Ranks(0) } else { self.ranks };
        let largest = cells.iter().map(|cell| cell.ranks).max().unwrap_or_default().max(job);
        if largest > slots && !oversubscribes {
            return Err(RunnerError::TooFewSlots { wanted: largest, slots }.on(options.system.is_simulated()).into());
        }
        self.ranks = largest;
        self.cells = cells;
        Ok(())
    }

    /// Whether a file, or a setting that belongs to them, has a say in a collective.
    fn rules(&self, collective: Collective) -> bool {
        self.table.collectives().any(|(other, _)| other == collective)
            || self.handover.get(collective).is_some()
            || self.freed().contains(&collective)
            || self.settled().contains(&collective)
            || matches!(&self.origin, RulesFrom::Foreign(foreign) if foreign.collectives().contains(&collective))
    }

    /// Whether the tuning reaches a cell's calls at all.
    fn reaches(&self, cell: Cell) -> bool {
        self.rules(cell.collective) || !self.inside(cell).is_empty()
    }

    /// Whether nothing is left of the tuning.
    pub(super) fn is_empty(&self) -> bool {
        let from_elsewhere = matches!(&self.origin, RulesFrom::Foreign(foreign) if !foreign.collectives().is_empty());
        let settings = !self.freed().is_empty() || !self.settled().is_empty();
        let apart = self.origin.findings().is_some_and(|findings| !findings.apart.is_empty());
        self.table.is_empty() && self.handover.is_empty() && !settings && !from_elsewhere && !apart
    }

    /// Collectives that a setting hands over to `coll/tuned`.
    pub(super) fn freed(&self) -> BTreeSet<Collective> {
        let findings = self.origin.findings();
        findings.map(|findings| serving::freed(&findings.placement, &findings.pins)).unwrap_or_default()
    }

    /// Collectives of which the tuning sets parameters of HAN.
    fn settled(&self) -> BTreeSet<Collective> {
        self.origin.findings().map(|findings| HanSettings::set_by(&findings.pins)).unwrap_or_default()
    }

    /// Whether the tuning sets parameters of HAN for a cell's collective, or has rules for what HAN calls for the cell.
    pub(super) fn settles(&self, cell: Cell) -> bool {
        self.acts_below(cell) || self.settled().contains(&cell.collective)
    }

    /// Whether a file from elsewhere has rules for what HAN calls for a cell.
    fn acts_below(&self, cell: Cell) -> bool {
        matches!(&self.origin, RulesFrom::Foreign(foreign) if foreign.acts_below(cell))
    }

    /// The rules that act inside HAN while it carries out a cell's calls, by collective and communicator size.
    pub(super) fn inside(&self, cell: Cell) -> Vec<(Collective, Ranks)> {
        let placement = self.origin.findings().map(|findings| &findings.placement);
        let inner = placement.map(|placement| placement.inside_han(cell)).unwrap_or_default();
        let inner = if self.handover.hands(cell) { Vec::new() } else { inner };
        let is_ruled = |(collective, ranks): &(Collective, Ranks)| {
            let rules = self.table.collectives().find(|(other, _)| other == collective);
            rules.is_some_and(|(_, steps)| *steps.get(ranks.0.into()) != Steps::constant(Choice::BUILTIN))
        };
        inner.into_iter().filter(is_ruled).collect()
    }

    /// Leaves out what the first visits of a launch would not have time for, by what calls took while tuning: controls, then those between others; the longest first.
    pub(super) fn afford(&mut self, launch: Option<Seconds>, session: &mut Session<'_>) {
        let (Some(Seconds(launch)), Some(findings)) = (launch, self.origin.findings()) else { return };
        let cost = |cell: &Cell| {
            let beyond = findings.cells.iter().filter(|found| {
                let found = found.cell;
                found.collective == cell.collective && found.ranks >= cell.ranks && found.bytes >= cell.bytes
            });
            let time = beyond.filter_map(|found| found.points.first()).map(|point| point.time.point);
            FIRST_CALLS * time.fold(f64::INFINITY, f64::min)
        };
        let class = |cell: &Cell| match self.known(*cell) {
            Known { control: true, .. } => 2,
            Known { tuned, .. } => u8::from(!tuned),
        };
        let mut by_worth: Vec<(u8, f64, Cell)> =
            self.cells.iter().map(|cell| (class(cell), cost(cell), *cell)).collect();
        by_worth.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(Ordering::Equal).then(a.2.cmp(&b.2)));
        let mut spent = 0.0;
        by_worth.retain(|(class, cost, _)| {
            // What is not known is not held against a cell.
            spent += if cost.is_finite() { *cost } else { 0.0 };
            *class == 0 || spent <= launch
        });
        let left_out = self.cells.len() - by_worth.len();
        self.cells = by_worth.into_iter().map(|(_, _, cell)| cell).collect();
        self.cells.sort_unstable();
        if left_out > 0 {
            session.say(&format!(
                "the time is too short for all cells: {left_out} cells without a rule or between others are left out \
                 of the comparison; `collrules validate --budget TIME` gives it more",
            ));
        }
    }

    /// What is known of a cell.
    pub(super) fn known(&self, cell: Cell) -> Known {
        let served = self.table.lookup(cell.collective, cell.ranks.0.into(), cell.lookup_bytes(self.release));
        let gets = match &self.origin {
            RulesFrom::Foreign(foreign) => foreign.reached.contains(&cell.ranks),
            _ => true,
        };
        let handed = gets && self.handover.says(cell) != Handed::Kept;
        Known {
            tuned: self.origin.findings().is_some_and(|findings| findings.cells.iter().any(|found| found.cell == cell)),
            served,
            handed,
            control: served.is_builtin()
                && !handed
                && !self.acts_below(cell)
                && !self.pins.iter().any(|(name, value)| rival::acts_on(name, value, cell.collective))
                && self.inside(cell).is_empty(),
        }
    }

    /// What is put in force: the file, or, where it is that of a run, the whole tuning of the run.
    pub(super) fn tuning(&self) -> Tuning {
        match (self.run(), self.origin.findings()) {
            (Some(run), Some(findings)) => publish::tuning(run, findings, self.pins.clone()),
            _ => {
                let path = |path: &Path| path.to_string_lossy().into_owned();
                let (has_rules, han) = match &self.origin {
                    RulesFrom::Foreign(Foreign { has_rules, han, .. }) => (*has_rules, han.as_ref()),
                    _ => (true, None),
                };
                let han = han.map(|(file, _)| path(file));
                Tuning { rules: has_rules.then(|| path(&self.file)), han, pins: self.pins.clone() }
            }
        }
    }

    /// Takes over what a repair made of files from elsewhere.
    pub(super) fn put(&mut self, table: RuleTable, han: Option<han::Table>) {
        self.table = table;
        if let RulesFrom::Foreign(foreign) = &mut self.origin {
            foreign.han = foreign.han.take().map(|(file, before)| (file, han.unwrap_or(before)));
            self.handover = foreign.handover();
        }
    }

    /// Whether the file is HAN's, and there is no other.
    pub(super) fn is_han_alone(&self) -> bool {
        matches!(&self.origin, RulesFrom::Foreign(foreign) if !foreign.has_rules)
    }

    /// HAN's rules file, if the tuning has one.
    pub(super) fn han_file(&self) -> Option<PathBuf> {
        self.tuning().han.map(PathBuf::from)
    }

    /// All settings that put the tuning in force.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        self.tuning().by_name()
    }

    /// Where results go: the run, the run within it of this layout, or a directory of their own.
    pub(super) fn home(&self, out: Option<&Path>, layout: Layout) -> Result<RunDir, WorkflowError> {
        if let Some(run) = self.measured_run().filter(|_| out.is_none()) {
            let lies = |run: &RunDir| run.manifest().is_ok_and(|manifest| manifest.plan.placement.layout == layout);
            let others = if lies(run) { Vec::new() } else { run.layouts()? };
            if let Some(other) = others.into_iter().find(lies) {
                return Ok(other);
            }
        }
        if let Some(run) = self.run().filter(|run| out.is_none_or(|out| same(out, run.path()))) {
            return Ok(run.clone());
        }
        let out = out.map_or_else(default_home, Path::to_owned);
        // One that was begun is resumed.
        if !out.join(rundir::comparison(1)).exists() {
            return Ok(RunDir::prepare_derived(out)?);
        }
        let home = RunDir::derived(out)?;
        if [rundir::MANIFEST, rundir::FINDINGS, rundir::RULES].iter().any(|name| home.file(name).exists())
            || !self.was_compared_in(&home)
        {
            return Err(WorkflowError::Occupied(format!(
                "{} holds validations of another rules file than {}; choose another --out",
                home.path().display(),
                self.shown,
            )));
        }
        Ok(home)
    }

    /// Whether all comparisons of a directory are about this file, as it is or as it was.
    fn was_compared_in(&self, home: &RunDir) -> bool {
        let paths = (1..).map(|number| home.file(&rundir::comparison(number))).take_while(|path| path.exists());
        let manifests = paths.map(|path| RunDir::open(path).and_then(|run| run.manifest()));
        // One without a manifest was cut short before it began.
        manifests.filter_map(Result::ok).all(|manifest| {
            let deployment = manifest.plan.deployment.as_ref();
            let files = deployment.iter().flat_map(|one| [RULES_FILE, HAN_FILE].map(|name| one.settings.get(name)));
            files.flatten().any(|file| same(Path::new(file), &self.file))
        })
    }

    /// Refuses to compare a file with itself.
    pub(super) fn refuse_if_in_force(&self, survey: &Survey, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let name = if self.tuning().rules.is_some() { RULES_FILE } else { HAN_FILE };
        let Some(preset) = survey.preset.get(name) else { return Ok(()) };
        let in_environment = std::env::var(format!("OMPI_MCA_{name}")).ok();
        let ours = self.file.to_string_lossy();
        if *preset != ours {
            session.say(&format!(
                "the rules file {preset} is in force on this system; that is what {} is compared with",
                self.shown
            ));
            return Ok(());
        }
        // From the environment it is taken for the launches without it.
        if in_environment.as_deref() == Some(&ours) {
            return Ok(());
        }
        Err(WorkflowError::Usage(format!(
            "{ours} is switched on by a configuration file of Open MPI or an option of mpirun, so that there is nothing \
             to compare it with; switch it off there for the comparison",
        )))
    }
}

/// Refuses a tuning of which HAN's half is missing, or another one: it would be compared as what it is not.
fn whole(origin: &RulesFrom, behaviour: &Behaviour) -> Result<(), WorkflowError> {
    let run = match origin {
        RulesFrom::Foreign(_) => return Ok(()),
        RulesFrom::Analysis { run, .. } => run,
        RulesFrom::Run(tuned) => &tuned.run,
    };
    let Some(findings) = origin.findings().filter(|findings| !findings.handover.is_empty()) else { return Ok(()) };
    let path = run.file(rundir::HAN);
    let text = std::fs::read(&path).map_err(|cause| WorkflowError::open(&path, cause))?;
    let read = match han::load(&text, behaviour) {
        han::Load::Accepted(read) => Handover::of_han(&read.to_table()),
        _ => Handover::default(),
    };
    if read == findings.handover {
        return Ok(());
    }
    Err(WorkflowError::Input(format!(
        "{} does not say what the findings beside it say; `collrules analyze {}` writes it anew",
        path.display(),
        run.path().display(),
    )))
}

/// Whether two paths lead to the same place.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    matches!((resolved(one), resolved(other)), (Ok(one), Ok(other)) if one == other)
}

/// The directory for results of a file that lies in no run.
fn default_home() -> PathBuf {
    PathBuf::from(format!("collrules-validation-{}", collrules_record::manifest::stamp()))
}
