//! `collrules verify`: shows whether the Open MPI in use obeys a rules file, and says why where it does not.

mod beside;
mod outcome;
mod reasons;

use std::path::{Path, PathBuf};

use collrules_record::units::Bytes;
use collrules_record::{Cell, Survey};
use collrules_rules::{Behaviour, Collective, Load, Loaded, Release, RuleTable, load};
use collrules_runner::circumstances::{self, Circumstances};
use collrules_runner::messages;
use collrules_runner::mpi::MpiBackend;
use collrules_runner::proof;
use collrules_runner::{Backend, RunnerError, grid};

use self::outcome::Outcome;
use super::{served, source, start};
use crate::args::Verify;
use crate::failure::Failure;

/// The file in question, and what it means to the Open MPI in use.
struct Question {
    path: PathBuf,
    bytes: Vec<u8>,
    table: RuleTable,
    ruled: Vec<Collective>,
    behaviour: Behaviour,
}

/// The system that is asked.
struct System {
    backend: MpiBackend,
    survey: Survey,
    release: Release,
}

pub(crate) fn run(args: &Verify) -> Result<(), Failure> {
    let (backend, survey, release, _) = start::tuning(&args.launch)?;
    verify(args, backend, survey, release).map_err(|failure| match failure {
        // A job that did not do what it was asked shows nothing, neither for the file nor against it.
        Failure::Runner(cause) if cause.is_of_job() => Failure::Unshown { cause },
        failure => failure,
    })
}

fn verify(args: &Verify, backend: MpiBackend, survey: Survey, release: Release) -> Result<(), Failure> {
    let backend = if args.deployed { backend.as_deployed() } else { backend };
    let mut system = System { backend, survey, release };
    let mut found = if args.deployed { system.backend.circumstances(None)? } else { Vec::new() };
    let path = match &args.rules {
        Some(path) => {
            std::path::absolute(source::file(path)).map_err(|cause| Failure::Open { path: path.clone(), cause })?
        }
        None => match deployed(&found) {
            Some(path) => path,
            None => return nothing_deployed(&system, &found)?.tell(args.json),
        },
    };
    let question = match question(path.clone(), &system.survey) {
        // What the ranks say of a file that is not here is more than that it is not here.
        Err(missing @ Failure::Open { .. }) if args.deployed => {
            let nothing = Question::unread(path, &system.survey)?;
            let faults = obstacles(&nothing, &system, &found);
            if faults.is_empty() {
                return Err(missing);
            }
            let mut outcome = Outcome::new(&nothing, &system, true, None);
            outcome.reasons = faults;
            return outcome.tell(args.json);
        }
        question => question?,
    };
    let pins = if args.deployed { None } else { beside::pins(&question.path) };
    if let Some(pins) = &pins {
        system.backend.pin(pins);
    }
    if !args.deployed {
        found = system.backend.circumstances(Some(&question.path))?;
    }
    let mut outcome = Outcome::new(&question, &system, args.deployed, pins);
    outcome.reasons = obstacles(&question, &system, &found);
    let cells = cells(args, &question, &system)?;
    if outcome.reasons.is_empty() {
        let System { backend, survey, release } = &mut system;
        outcome.reasons = served::displacing(backend, &args.scratch, &cells, survey, *release, args.launch.layout)?;
    }
    if outcome.reasons.is_empty() {
        prove(args, &question, &mut system, &cells, &mut outcome)?;
    }
    outcome.tell(args.json)
}

/// The one file that the ranks name, seen from where they work; none where there is not exactly one.
fn deployed(found: &[Circumstances]) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> =
        found.iter().filter_map(|rank| Some(Path::new(&rank.directory).join(rank.file.as_ref()?))).collect();
    files.sort_unstable();
    files.dedup();
    if files.len() == 1 { files.pop() } else { None }
}

/// What is in the way of any file: none is named, or several are.
fn nothing_deployed(system: &System, found: &[Circumstances]) -> Result<Outcome, Failure> {
    let nothing = Question::unread(PathBuf::new(), &system.survey)?;
    let mut outcome = Outcome::new(&nothing, system, true, None);
    outcome.reasons = obstacles(&nothing, system, found);
    Ok(outcome)
}

impl Question {
    /// A file of which only the name is known.
    fn unread(path: PathBuf, survey: &Survey) -> Result<Self, Failure> {
        let behaviour = Behaviour::of(survey.version).map_err(RunnerError::from)?;
        Ok(Self { path, bytes: Vec::new(), table: RuleTable::new(), ruled: Vec::new(), behaviour })
    }
}

fn question(path: PathBuf, survey: &Survey) -> Result<Question, Failure> {
    let bytes = source::read(&path)?;
    let behaviour = Behaviour::of(survey.version).map_err(RunnerError::from)?;
    // Why a file is not taken is told by the release in use.
    let table = in_force(&path, &bytes, &behaviour)?.to_table();
    let ruled = collectives(&bytes);
    Ok(Question { path, bytes, table, ruled, behaviour })
}

/// What the settings of the ranks put in the way, each with where it comes from.
fn obstacles(question: &Question, system: &System, found: &[Circumstances]) -> Vec<String> {
    let ruled = question.ruled.iter().copied().collect();
    let obstacles = circumstances::obstacles(found, &question.path, &question.bytes, &ruled, &question.behaviour);
    obstacles.iter().map(|obstacle| reasons::with_source(obstacle, &system.backend)).collect()
}

fn cells(args: &Verify, question: &Question, system: &System) -> Result<Vec<Cell>, Failure> {
    let ranks = grid::communicator_sizes(&args.np, system.survey.slots(), args.launch.oversubscribes())?;
    let pairs = question.ruled.iter().flat_map(|collective| ranks.iter().map(move |ranks| (*collective, *ranks)));
    let cells = pairs.flat_map(|(collective, ranks)| {
        let sizes = if collective.has_sizes() { args.sizes.0.clone() } else { vec![Bytes(0)] };
        sizes.into_iter().map(move |bytes| Cell { collective, ranks, bytes })
    });
    Ok(cells.filter(|cell| grid::obstacle(*cell, grid::DEFAULT_MEMORY).is_none()).collect())
}

/// Probes, applies and counts; whatever is not as it should be becomes a reason.
fn prove(
    args: &Verify,
    question: &Question,
    system: &mut System,
    cells: &[Cell],
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let Question { path, table, .. } = question;
    let System { backend, survey, release } = system;
    let proof = proof::prove(backend, path, &args.scratch, table, *release, cells)?;
    outcome.reasons = reasons::of_proof(&proof);
    if !proof.faults.is_empty() {
        outcome.reasons.extend(reasons::explaining(question, survey, *release));
        return Ok(());
    }
    if !table.is_empty() {
        match messages::count(backend, path, table, *release, survey, cells) {
            Ok(messages) => {
                outcome.reasons.extend(reasons::of_messages(&messages, table, *release));
                outcome.messages = Some(messages);
            }
            // A library that was built without its monitoring layer obeys rules no less.
            Err(RunnerError::WorkerFailed(why)) => outcome.uncounted = Some(why),
            Err(other) => return Err(other.into()),
        }
    }
    outcome.proof = Some(proof);
    Ok(())
}

/// The collectives that the file has rules for, whichever version reads them.
fn collectives(bytes: &[u8]) -> Vec<Collective> {
    let read = Behaviour::distinct().into_iter().rev().find_map(|version| load(bytes, &version).into_accepted());
    read.map_or_else(Vec::new, |file| file.to_table().collectives().map(|(collective, _)| collective).collect())
}

/// What a version reads.
pub(in crate::cmd) fn in_force(path: &Path, bytes: &[u8], version: &Behaviour) -> Result<Loaded, Failure> {
    match load(bytes, version) {
        Load::Accepted(file) => Ok(file),
        Load::Rejected(rejection) => Err(Failure::NotInForce {
            path: path.to_owned(),
            reasons: vec![format!("{}: {rejection}", version.name())],
        }),
        Load::Crashes(crash) => {
            Err(Failure::NotInForce { path: path.to_owned(), reasons: vec![format!("{}: {crash}", version.name())] })
        }
    }
}
