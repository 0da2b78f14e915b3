//! Whether the Open MPI in use obeys a rules file, and what stands in the way where it does not.

mod reasons;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use collrules_record::options::Verifying;
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Bytes;
use collrules_record::{Cell, Handover, Survey, rival};
use collrules_report::notes;
use collrules_rules::deploy::Tuning;
use collrules_rules::steps::Steps;
use collrules_rules::{Behaviour, Choice, Collective, Load, Loaded, RuleTable, han, load};
use collrules_runner::circumstances::{self, Circumstances, Reader};
use collrules_runner::messages::{self, Messages};
use collrules_runner::mpi::MpiBackend;
use collrules_runner::proof::{self, Proof};
use collrules_runner::{Backend, RunnerError, grid};

use crate::error::WorkflowError;
use crate::served;
use crate::session::Session;
use crate::start::{self, Pins, Started, oversubscribes};

/// What verifying showed.
#[derive(Debug)]
pub struct Verified {
    /// The file; empty where none is in force.
    pub file: PathBuf,
    /// The Open MPI that was asked.
    pub version: collrules_rules::Version,
    /// Whether its settings were taken as they are.
    pub deployed: bool,
    /// Whether the file leaves everything to the builtin.
    pub empty: bool,
    /// The settings that the file's run asks for.
    pub pins: Option<Pins>,
    /// What is worth knowing although the file is obeyed.
    pub notes: Vec<String>,
    /// Why the file is not obeyed; empty where it is.
    pub reasons: Vec<String>,
    /// What was proven.
    pub proof: Option<Proof>,
    /// The messages that were counted.
    pub messages: Option<Messages>,
    /// Why no messages were counted.
    pub uncounted: Option<String>,
}

/// HAN's half of a tuning.
struct Half {
    path: PathBuf,
    bytes: Vec<u8>,
    handover: Handover,
}

/// The file in question, and what it means to the Open MPI in use.
struct Question {
    path: PathBuf,
    bytes: Vec<u8>,
    table: RuleTable,
    ruled: Vec<Collective>,
    behaviour: Behaviour,
    /// HAN's rules file beside it.
    han: Option<Half>,
}

/// Shows whether a rules file is obeyed.
pub fn verify(options: &Verifying, session: &Session<'_>) -> Result<Verified, WorkflowError> {
    let started = start::mpi(&options.system, &session.stop)?;
    ask(options, started).map_err(WorkflowError::unshown)
}

fn ask(options: &Verifying, mut started: Started<MpiBackend>) -> Result<Verified, WorkflowError> {
    if options.deployed {
        started.backend = started.backend.as_deployed();
    }
    let mut found = if options.deployed { started.backend.circumstances(None)? } else { Vec::new() };
    let path = match &options.rules {
        Some(path) => std::path::absolute(rundir::within(path, rundir::RULES))
            .map_err(|cause| WorkflowError::open(path, cause))?,
        None => match deployed(&found) {
            Some(path) => path,
            None => return nothing_deployed(&started, &found),
        },
    };
    let question = match question(path.clone(), &started.survey) {
        // What the ranks say of a file that is not here is more than that it is not here.
        Err(missing @ WorkflowError::Open { .. }) if options.deployed => {
            let nothing = Question::unread(path, &started.survey)?;
            let faults = obstacles(&nothing, &started, &found);
            if faults.is_empty() {
                return Err(missing);
            }
            let mut verified = Verified::new(&nothing, &started, true, None);
            verified.reasons = faults;
            return Ok(verified);
        }
        question => question?,
    };
    let pins = if options.deployed { None } else { pins_beside(&question.path, &started.pins) };
    if let Some(pins) = &pins {
        started.backend.pin(pins);
    }
    if let Some(half) = question.han.as_ref().filter(|_| !options.deployed) {
        started.backend.pin(&half.settings());
    }
    if !options.deployed {
        found = started.backend.circumstances(Some(&question.path))?;
    }
    let mut verified = Verified::new(&question, &started, options.deployed, pins);
    verified.reasons = obstacles(&question, &started, &found);
    let cells = cells(options, &question, &started)?;
    if verified.reasons.is_empty() {
        let Started { backend, survey, release, .. } = &mut started;
        let layout = options.system.layout;
        // Of what HAN hands over the proof tells who serves it.
        let handed =
            |cell: &&Cell| question.han.as_ref().is_some_and(|half| half.handover.touches(cell.collective, cell.ranks));
        // Where the file has no rules, nobody stands in their way.
        let ruled = |cell: &&Cell| {
            let blocks = question.table.collectives().find(|(collective, _)| *collective == cell.collective);
            blocks.is_some_and(|(_, steps)| *steps.get(cell.ranks.0.into()) != Steps::constant(Choice::BUILTIN))
        };
        let others: Vec<Cell> = cells.iter().filter(|cell| ruled(cell) && !handed(cell)).copied().collect();
        verified.reasons = served::displacing(backend, &options.scratch, &others, survey, *release, layout)?;
    }
    if verified.reasons.is_empty() {
        prove(options, &question, &mut started, &cells, &mut verified)?;
    }
    Ok(verified)
}

/// The longest rules file that is read: some six million rules.
const MOST_BYTES: u64 = 64 << 20;

/// A rules file, whatever it holds. Every process of a job opens it by its name, so that it has to have one.
pub fn read(path: &Path) -> Result<Vec<u8>, WorkflowError> {
    if path == Path::new("-") {
        let why = "Open MPI opens rules files by name, on every node; write it to a file first";
        return Err(WorkflowError::open(path, io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    File::open(rundir::within(path, rundir::RULES))
        .and_then(read_from)
        .map_err(|cause| WorkflowError::open(path, cause))
}

/// The same from what is open already.
pub fn read_from(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it has more than {} MiB, which no rules file needs", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The settings that a file needs beside the two that switch it on, if the run directory around it knows of any, together with
/// what is in force of the same names.
fn pins_beside(rules: &Path, in_force: &Pins) -> Option<Pins> {
    // What cannot be read here was not written for this file; the proof will show what that means.
    let findings = RunDir::derived(rules.parent()?).ok()?.findings().ok()?;
    let mut pins = rival::beside(in_force, &findings.pins);
    pins.retain(|name, _| findings.pins.contains_key(name));
    Some(pins).filter(|pins| !pins.is_empty())
}

impl Verified {
    fn new(question: &Question, started: &Started<MpiBackend>, deployed: bool, pins: Option<Pins>) -> Self {
        let origin = notes::origin(&String::from_utf8_lossy(&question.bytes));
        let other = origin.filter(|origin| origin.measured != started.release);
        let note = |origin: notes::NotedReleases| {
            format!(
                "It was measured on Open MPI {}, not on {}: whether it is obeyed says nothing about whether it is fast here.",
                origin.measured, started.release
            )
        };
        Self {
            file: question.path.clone(),
            version: started.survey.version,
            deployed,
            empty: question.table.is_empty() && question.han.is_none(),
            pins,
            notes: other.map(note).into_iter().collect(),
            reasons: Vec::new(),
            proof: None,
            messages: None,
            uncounted: None,
        }
    }
}

/// The one file that the ranks name, seen from where they work; none where there is not exactly one.
fn deployed(found: &[Circumstances]) -> Option<PathBuf> {
    let named = |file: fn(&Circumstances) -> Option<&String>| -> Vec<PathBuf> {
        found.iter().filter_map(|rank| Some(Path::new(&rank.directory).join(file(rank)?))).collect()
    };
    let mut files = named(|rank| rank.tuned.file.as_ref());
    if files.is_empty() {
        // HAN's half may be all there is; what it belongs to lies beside it.
        let han = named(|rank| rank.han.file.as_ref());
        files = han.iter().map(|file| file.with_file_name(rundir::RULES)).filter(|file| file.is_file()).collect();
    }
    files.sort_unstable();
    files.dedup();
    if files.len() == 1 { files.pop() } else { None }
}

/// What is in the way of any file: none is named, or several are.
fn nothing_deployed(started: &Started<MpiBackend>, found: &[Circumstances]) -> Result<Verified, WorkflowError> {
    let nothing = Question::unread(PathBuf::new(), &started.survey)?;
    let mut verified = Verified::new(&nothing, started, true, None);
    verified.reasons = obstacles(&nothing, started, found);
    Ok(verified)
}

impl Question {
    /// A file of which only the name is known.
    fn unread(path: PathBuf, survey: &Survey) -> Result<Self, WorkflowError> {
        let behaviour = Behaviour::of(survey.version).map_err(RunnerError::from)?;
        Ok(Self { path, bytes: Vec::new(), table: RuleTable::new(), ruled: Vec::new(), behaviour, han: None })
    }
}

fn question(path: PathBuf, survey: &Survey) -> Result<Question, WorkflowError> {
    let bytes = read(&path)?;
    if han::is_han(&bytes) {
        return Err(WorkflowError::NotInForce { path, reasons: vec![han::CONFUSED.to_owned()] });
    }
    let behaviour = Behaviour::of(survey.version).map_err(RunnerError::from)?;
    // Why a file is not taken is told by the release in use.
    let table = in_force(&path, &bytes, &behaviour)?.to_table();
    let han = half_beside(&path, &behaviour)?;
    let mut ruled = collectives(&bytes);
    ruled.extend(han.iter().flat_map(|half| half.handover.collectives()));
    ruled.sort_unstable();
    ruled.dedup();
    Ok(Question { path, bytes, table, ruled, behaviour, han })
}

/// HAN's half of the tuning whose rules file this is: what lies beside it under its name, as its findings say.
fn half_beside(rules: &Path, behaviour: &Behaviour) -> Result<Option<Half>, WorkflowError> {
    let directory = rules.parent().unwrap_or(Path::new("/"));
    let findings = RunDir::derived(directory).ok().and_then(|run| run.findings().ok());
    if findings.is_none_or(|findings| findings.handover.is_empty()) {
        return Ok(None);
    }
    let path = directory.join(rundir::HAN);
    let bytes = std::fs::read(&path).map_err(|cause| WorkflowError::open(&path, cause))?;
    let rejected = |why: String| WorkflowError::NotInForce { path: path.clone(), reasons: vec![why] };
    let handover = match han::load(&bytes, behaviour) {
        han::Load::Accepted(read) => Handover::of_han(&read.to_table()),
        han::Load::Rejected(why) | han::Load::Crashes(why) => {
            return Err(rejected(format!("{}: {why}", behaviour.name())));
        }
        han::Load::NoHan => return Err(rejected(format!("{} has no HAN", behaviour.name()))),
    };
    Ok(Some(Half { path, bytes, handover }))
}

impl Half {
    /// What switches it on.
    fn settings(&self) -> Pins {
        Tuning { han: Some(self.path.to_string_lossy().into_owned()), ..Tuning::default() }.by_name()
    }
}

/// What the settings of the ranks put in the way, each with where it comes from.
fn obstacles(question: &Question, started: &Started<MpiBackend>, found: &[Circumstances]) -> Vec<String> {
    let ruled = question.ruled.iter().copied().collect();
    let mut obstacles = circumstances::forced(found, &ruled, &question.behaviour);
    // Beside HAN's half there need not be another.
    if !question.table.is_empty() || question.han.is_none() {
        obstacles.extend(circumstances::obstacles(found, Reader::Tuned, &question.path, &question.bytes));
    }
    if let Some(half) = &question.han {
        obstacles.extend(circumstances::obstacles(found, Reader::Han, &half.path, &half.bytes));
    }
    obstacles.iter().map(|obstacle| reasons::with_source(obstacle, &started.backend)).collect()
}

fn cells(options: &Verifying, question: &Question, started: &Started<MpiBackend>) -> Result<Vec<Cell>, WorkflowError> {
    let ranks =
        grid::communicator_sizes(&options.ranks, started.survey.slots(), oversubscribes(options.system.oversubscribe))?;
    let pairs = question.ruled.iter().flat_map(|collective| ranks.iter().map(move |ranks| (*collective, *ranks)));
    let cells = pairs.flat_map(|(collective, ranks)| {
        let sizes = if collective.has_sizes() { options.sizes.clone() } else { vec![Bytes(0)] };
        sizes.into_iter().map(move |bytes| Cell { collective, ranks, bytes })
    });
    Ok(cells.filter(|cell| grid::obstacle(*cell, grid::DEFAULT_MEMORY).is_none()).collect())
}

/// Probes, applies and counts; whatever is not as it should be becomes a reason.
fn prove(
    options: &Verifying,
    question: &Question,
    started: &mut Started<MpiBackend>,
    cells: &[Cell],
    verified: &mut Verified,
) -> Result<(), WorkflowError> {
    let Question { path, table, .. } = question;
    let Started { backend, survey, release, .. } = started;
    let han = question.han.as_ref().map(|half| proof::HanFile { file: &half.path, handover: &half.handover });
    let files = proof::Files { rules: path, table, han };
    let proof = proof::prove(backend, files, &options.scratch, *release, cells)?;
    verified.reasons = reasons::of_proof(&proof);
    if !proof.faults.is_empty() {
        verified.reasons.extend(reasons::explaining(question, survey, *release));
        return Ok(());
    }
    if !table.is_empty() {
        match messages::count(backend, path, table, *release, survey, cells) {
            Ok(messages) => {
                verified.reasons.extend(reasons::of_messages(&messages, table, *release));
                verified.messages = Some(messages);
            }
            // A library that was built without its monitoring layer obeys rules no less.
            Err(RunnerError::WorkerFailed(why)) => verified.uncounted = Some(why),
            Err(other) => return Err(other.into()),
        }
    }
    verified.proof = Some(proof);
    Ok(())
}

/// The collectives that the file has rules for, whichever version reads them.
fn collectives(bytes: &[u8]) -> Vec<Collective> {
    let read = Behaviour::distinct().into_iter().rev().find_map(|version| load(bytes, &version).into_accepted());
    read.map_or_else(Vec::new, |file| file.to_table().collectives().map(|(collective, _)| collective).collect())
}

/// What a version reads.
pub(crate) fn in_force(path: &Path, bytes: &[u8], version: &Behaviour) -> Result<Loaded, WorkflowError> {
    match load(bytes, version) {
        Load::Accepted(file) => Ok(file),
        Load::Rejected(rejection) => Err(WorkflowError::NotInForce {
            path: path.to_owned(),
            reasons: vec![format!("{}: {rejection}", version.name())],
        }),
        Load::Crashes(crash) => Err(WorkflowError::NotInForce {
            path: path.to_owned(),
            reasons: vec![format!("{}: {crash}", version.name())],
        }),
    }
}
