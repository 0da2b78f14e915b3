//! The rules file to compare: what it says, where it comes from, and in which cells it is looked at.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use collrules_record::findings::Findings;
use collrules_record::plan::Deployment;
use collrules_record::policy::Assumptions;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Cell, Manifest, Ranks, Seconds, Survey, manifest};
use collrules_rules::{Behaviour, Collective, Release, RuleTable, deploy};
use collrules_runner::proof::Proof;
use collrules_runner::{RunnerError, validation};
use collrules_tuner::validation::Known;

use super::communicator_sizes;
use crate::args::Validate;
use crate::cmd::start::Started;
use crate::cmd::{served, source, verify};
use crate::deliver::Pins;
use crate::failure::Failure;
use crate::progress::say;

/// Calls of a first visit, the check and what is not timed included.
const FIRST_CALLS: f64 = 10.0;

/// A rules file that was read, with the run that it belongs to.
pub(super) struct Opened {
    file: PathBuf,
    shown: String,
    text: Vec<u8>,
    run: Option<OfRun>,
}

/// A run whose rules file is looked at.
struct OfRun {
    run: RunDir,
    findings: Findings,
    /// Missing where others measured.
    manifest: Option<Manifest>,
}

/// Reads a rules file, and the run beside it if there is one.
pub(super) fn open(path: &Path) -> Result<Opened, Failure> {
    let named = if path.is_dir() { path.join(rundir::RULES) } else { path.to_owned() };
    let text = source::read(&named)?;
    let file = std::path::absolute(&named).map_err(|cause| Failure::Open { path: named.clone(), cause })?;
    let directory = named.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_of_run =
        named.file_name().is_some_and(|name| name == rundir::RULES) && directory.join(rundir::FINDINGS).exists();
    let run = is_of_run.then(|| of_run(directory)).transpose()?;
    Ok(Opened { file, shown: named.display().to_string(), text, run })
}

fn of_run(directory: &Path) -> Result<OfRun, Failure> {
    let run = RunDir::derived(directory)?;
    let findings = run.findings()?;
    // An analysis of a table left findings alone, one of an import another kind of manifest.
    let manifest = run.file(rundir::MANIFEST).exists() && !run.is_imported()?;
    let manifest = manifest.then(|| run.manifest()).transpose()?;
    Ok(OfRun { run, findings, manifest })
}

impl Opened {
    pub(super) fn manifest(&self) -> Option<&Manifest> {
        self.run.as_ref()?.manifest.as_ref()
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
    pub(super) release: Release,
    pub(super) version: collrules_rules::Version,
    /// Settings that belong to it, beside those that switch it on.
    pub(super) pins: Pins,
    /// Those among them that its own rules need.
    pub(super) needed: Pins,
    /// The cells that were tuned.
    pub(super) tuned: BTreeSet<Cell>,
    /// All cells that are compared.
    pub(super) cells: Vec<Cell>,
    /// Ranks of the job.
    pub(super) ranks: Ranks,
    /// What programs are taken to keep to.
    pub(super) assumptions: Assumptions,
    /// The run whose findings go with the file.
    pub(super) run: Option<RunDir>,
    pub(super) manifest: Option<Manifest>,
    pub(super) findings: Option<Findings>,
    /// That of the last repair.
    pub(super) proof: Option<Proof>,
    /// Where the file is kept as it was before the first repair by this command; none where nothing was repaired.
    pub(super) kept: Option<PathBuf>,
}

impl Subject {
    pub(super) fn new(opened: Opened, args: &Validate, started: &Started) -> Result<Self, Failure> {
        let Opened { file, shown, text, run } = opened;
        let (survey, release) = (&started.survey, started.release);
        let behaviour = Behaviour::of(survey.version).map_err(RunnerError::from)?;
        let table = verify::in_force(Path::new(&shown), &text, &behaviour)?.to_table();
        let mut subject = Self { pins: started.pins.clone(), ..Self::alone(file, shown, table, started) };
        if let Some(OfRun { run, findings, manifest }) = run {
            if findings.table == subject.table && findings.release == release {
                subject.belongs_to(run, findings, manifest);
            } else {
                say(&format!(
                    "{} does not say to Open MPI {release} what the findings beside it say: it is compared as any other \
                     file",
                    subject.shown,
                ));
            }
        }
        subject.choose(args, survey.slots())?;
        Ok(subject)
    }

    /// A file of which nothing else is known.
    fn alone(file: PathBuf, shown: String, table: RuleTable, started: &Started) -> Self {
        Self {
            file,
            shown,
            table,
            release: started.release,
            version: started.survey.version,
            pins: Pins::new(),
            needed: Pins::new(),
            tuned: BTreeSet::new(),
            cells: Vec::new(),
            ranks: Ranks(0),
            assumptions: Assumptions::default(),
            run: None,
            manifest: None,
            findings: None,
            proof: None,
            kept: None,
        }
    }

    /// The rules of a run that was just tuned.
    pub(super) fn of_run(run: RunDir, manifest: &Manifest, findings: &Findings, started: &Started) -> Self {
        let (file, shown) = (run.absolute().join(rundir::RULES), run.file(rundir::RULES).display().to_string());
        let mut subject = Self::alone(file, shown, findings.table.clone(), started);
        subject.belongs_to(run, findings.clone(), Some(manifest.clone()));
        let tuned: Vec<Cell> = subject.tuned.iter().copied().collect();
        let ruled = |cell: &Cell| subject.rules(cell.collective);
        let mut cells: Vec<Cell> = tuned.iter().copied().filter(ruled).collect();
        cells.extend(validation::between(&tuned, &subject.table, subject.release).into_iter().filter(ruled));
        subject.cells = cells;
        subject.cells.sort_unstable();
        subject
    }

    /// Takes over what a run knows of its file.
    fn belongs_to(&mut self, run: RunDir, findings: Findings, manifest: Option<Manifest>) {
        let of_manifest = manifest.as_ref().map(|manifest| manifest.pins.clone()).unwrap_or_default();
        self.pins = served::pins(&of_manifest, &findings);
        self.needed = findings.pins.clone();
        self.tuned = findings.cells.iter().map(|cell| cell.cell).collect();
        self.assumptions = findings.tree.policy.assumptions;
        self.ranks = manifest.as_ref().map_or(Ranks(0), |manifest| manifest.plan.ranks);
        (self.run, self.manifest, self.findings) = (Some(run), manifest, Some(findings));
    }

    /// Decides on the cells.
    fn choose(&mut self, args: &Validate, slots: Ranks) -> Result<(), Failure> {
        let sizes = args.sizes.as_ref().map(|sizes| sizes.0.as_slice());
        let mut cells = if self.tuned.is_empty() || sizes.is_some() {
            let ranks = match (&args.np[..], self.tuned.is_empty()) {
                ([], false) => self.tuned.iter().map(|cell| cell.ranks).collect::<BTreeSet<_>>().into_iter().collect(),
                _ => communicator_sizes(args, slots)?,
            };
            validation::of_table(&self.table, self.release, &ranks, sizes)
        } else {
            let tuned: Vec<Cell> = self.tuned.iter().copied().collect();
            let mut cells = tuned.clone();
            cells.extend(validation::between(&tuned, &self.table, self.release));
            cells.retain(|cell| args.np.is_empty() || args.np.contains(&cell.ranks));
            cells
        };
        cells.retain(|cell| match &args.ops {
            Some(ops) => ops.0.contains(&cell.collective),
            None => self.rules(cell.collective),
        });
        cells.sort_unstable();
        cells.dedup();
        if cells.is_empty() {
            return Err(Failure::Usage(if self.table.is_empty() {
                format!("{} leaves everything to the builtin: there is nothing to compare", self.shown)
            } else {
                format!("{} has no rules for what --ops, --np and --sizes say", self.shown)
            }));
        }
        let largest = cells.iter().map(|cell| cell.ranks).max().unwrap_or_default().max(self.ranks);
        if largest > slots && !args.launch.oversubscribes() {
            return Err(RunnerError::TooFewSlots { wanted: largest, slots }.into());
        }
        self.ranks = largest;
        self.cells = cells;
        Ok(())
    }

    /// Whether the file, or a setting that belongs to it, has a say in a collective.
    fn rules(&self, collective: Collective) -> bool {
        self.table.collectives().any(|(other, _)| other == collective) || self.freed().contains(&collective)
    }

    /// Collectives that a setting hands over to `coll/tuned`.
    pub(super) fn freed(&self) -> BTreeSet<Collective> {
        let named = |collective: &Collective| self.needed.keys().any(|name| name.contains(&format!("_{collective}_")));
        Collective::ALL.into_iter().filter(named).collect()
    }

    /// Leaves out what the first visits of a launch would not have time for, by what calls took while tuning: cells
    /// without a rule, which are controls, then those between others; the longest first.
    pub(super) fn afford(&mut self, launch: Option<Seconds>) {
        let (Some(Seconds(launch)), Some(findings)) = (launch, &self.findings) else { return };
        let cost = |cell: &Cell| {
            let beyond = findings.cells.iter().filter(|found| {
                let found = found.cell;
                found.collective == cell.collective && found.ranks >= cell.ranks && found.bytes >= cell.bytes
            });
            let time = beyond.filter_map(|found| found.points.first()).map(|point| point.time.point);
            FIRST_CALLS * time.fold(f64::INFINITY, f64::min)
        };
        let class = |cell: &Cell| match self.known(*cell) {
            Known { served, .. } if served.is_builtin() => 2,
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
            say(&format!(
                "{left_out} cells without a rule or between others are left out of the comparison, for which the time would \
                 not be enough; `collrules validate --budget` takes more",
            ));
        }
    }

    /// What is known of a cell.
    pub(super) fn known(&self, cell: Cell) -> Known {
        let bytes = cell.lookup_bytes(self.release);
        Known {
            tuned: self.tuned.contains(&cell),
            served: self.table.lookup(cell.collective, cell.ranks.0.into(), bytes),
        }
    }

    /// All settings that put the file in force.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        deploy::by_name(&self.file.to_string_lossy(), &self.pins)
    }

    /// Where results go: the run, or a directory of their own.
    pub(super) fn home(&self, out: Option<&Path>) -> Result<RunDir, Failure> {
        if let Some(run) = self.run.as_ref().filter(|run| out.is_none_or(|out| same(out, run.path()))) {
            return Ok(run.clone());
        }
        let out =
            out.map_or_else(|| PathBuf::from(format!("collrules-validation-{}", manifest::stamp())), Path::to_owned);
        // One that was begun with is gone on with.
        if !out.join(rundir::comparison(1)).exists() {
            return Ok(RunDir::prepare_derived(out)?);
        }
        let home = RunDir::derived(out)?;
        if [rundir::MANIFEST, rundir::FINDINGS, rundir::RULES].iter().any(|name| home.file(name).exists())
            || !self.was_compared_in(&home)
        {
            return Err(Failure::Occupied(format!(
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
            deployment.and_then(Deployment::rules).is_some_and(|file| same(Path::new(file), &self.file))
        })
    }

    /// Refuses to compare a file with itself.
    pub(super) fn refuse_if_in_force(&self, survey: &Survey) -> Result<(), Failure> {
        let Some(preset) = survey.preset.get(Deployment::FILE) else { return Ok(()) };
        let in_environment = std::env::var(format!("OMPI_MCA_{}", Deployment::FILE)).ok();
        let ours = self.file.to_string_lossy();
        if *preset != ours {
            say(&format!(
                "the rules file {preset} is in force on this system; that is what {} is compared with",
                self.shown
            ));
            return Ok(());
        }
        // From the environment it is taken for the launches without it.
        if in_environment.as_deref() == Some(&ours) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{ours} is switched on by a configuration file of Open MPI or an option of mpirun, so that there is nothing \
             to compare it with; switch it off there for the comparison",
        )))
    }
}

/// Whether two paths lead to the same place.
pub(super) fn same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    matches!((resolved(one), resolved(other)), (Ok(one), Ok(other)) if one == other)
}
