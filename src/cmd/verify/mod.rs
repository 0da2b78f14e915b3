//! Check that the Open MPI in use obeys a rules file, with the obstacles if it does not.

mod reasons;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_record::findings::Findings;
use collrules_record::options::{Launching, SystemOptions};
use collrules_record::rundir::{self, RunDir};
use collrules_record::settings::{Settings, describe};
use collrules_record::transport::Transport;
use collrules_record::tuning::{RulesFile, read_text_of};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{self, List};
use collrules_record::{Cell, Placement, RunningComponent, Tuning, competitor};
use collrules_report::facts::describe_other_transport;
use collrules_report::notes;
use collrules_rules::deploy::SWITCHES;
use collrules_rules::hazard::RankRange;
use collrules_rules::kind::FileKind;
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::words::{counted, first_lines, listed};
use collrules_rules::{Behaviour, Choice, Collective, Loaded, Release, RuleTable, han};
use collrules_runner::circumstances::{self, Circumstances};
use collrules_runner::messages::{self, Messages};
use collrules_runner::mpi::MpiBackend;
use collrules_runner::proof::{self, Proof};
use collrules_runner::{Backend, RunnerError, grid, running};
use collrules_workflow::start::{self, Started, oversubscribes};
use collrules_workflow::{WorkflowError, tuning};
use serde_json::json;

use super::install::scope::{describe_scope, list_mismatches, ruled_ranks};
use crate::exit::Exit;
use crate::interrupt;
use crate::progress::say;
use crate::screen::{self, wrapped};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes:
  0  Open MPI obeys the file
  3  no rules file, or one that cannot be read
  4  nothing can be started here
  5  not checked: no call shows which rules are used, or jobs fail
  7  Open MPI does not obey the file")]
pub(crate) struct Verify {
    /// The rules file; with --deployed, the one that should be active
    #[arg(value_name = "FILE", required_unless_present = "deployed")]
    rules: Option<PathBuf>,
    /// Check what Open MPI does with the settings of this shell and its parameter files, instead of passing it the
    /// file
    #[arg(long)]
    deployed: bool,
    /// Communicator sizes to call on, as for tune [default: powers of two up to the available slots, and the slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = values::communicators)]
    ranks: List<Ranks>,
    /// Message sizes to call with, besides both sides of every threshold
    #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = values::sizes)]
    sizes: List<Bytes>,
    /// Directory for a copy of the file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    scratch: PathBuf,
    /// System that runs the jobs.
    #[command(flatten)]
    system: SystemOptions<Launching>,
    /// Answer in JSON
    #[arg(long, help_heading = None)]
    json: bool,
}

/// Result of verifying.
#[derive(Debug)]
struct Verified {
    /// The file; empty if none is active.
    file: PathBuf,
    /// The Open MPI that was used.
    version: collrules_rules::Version,
    /// True if this system's settings were used unchanged.
    deployed: bool,
    /// True if the file has no rules.
    empty: bool,
    /// Communicator sizes with rules that no call was made on, with those of the calls, in a clause.
    unreached: Option<String>,
    /// The settings that the file's run needs.
    pins: Option<Settings>,
    /// Remarks on a file that is obeyed.
    notes: Vec<String>,
    /// Settings that were read on all ranks.
    settings: Settings,
    /// Reasons why the file is not obeyed; empty if it is.
    reasons: Vec<String>,
    /// With `deployed`, what the tuning acts on, in whole sentences.
    scope: Vec<String>,
    /// Proof that it is obeyed.
    proof: Option<Proof>,
    /// Counted messages.
    messages: Option<Messages>,
    /// Reason why no messages were counted.
    uncounted: Option<String>,
}

/// Checks if a rules file is obeyed.
pub(crate) fn run(args: &Verify) -> Result<Exit, WorkflowError> {
    let started = start::mpi(&args.system, &interrupt::flag())?;
    // What is deployed is not switched off, as the remarks say.
    started.remarks.iter().filter(|_| !args.deployed).for_each(|remark| say(remark));
    let odd = started.backend.list_oddities();
    let mut verified = ask(args, started).map_err(WorkflowError::unshown)?;
    // They may be why a file is not obeyed.
    let said = if verified.reasons.is_empty() { &mut verified.notes } else { &mut verified.reasons };
    said.extend(odd);
    print_result(&verified, args.json)
}

fn ask(options: &Verify, mut started: Started<MpiBackend>) -> Result<Verified, WorkflowError> {
    if options.deployed {
        started.backend = started.backend.as_deployed();
    }
    let mut found = if options.deployed { started.backend.circumstances(None)? } else { Vec::new() };
    let path = match &options.rules {
        Some(path) => {
            std::path::absolute(rundir::rules_within(path)?).map_err(|cause| WorkflowError::open(path, cause))?
        }
        None => match deployed(&found) {
            Some(path) => path,
            None => return without_rules(&mut started, &found),
        },
    };
    let version = Behaviour::from_version(started.survey.version).map_err(RunnerError::UnknownRelease)?;
    let tuning = match load(&path, &version, deployed(&found).as_deref()) {
        // The ranks give more information than the fact that the file is missing here.
        Err(missing @ WorkflowError::Open { .. }) if options.deployed => {
            let verified = unread(path, &started, &found, &version);
            return if verified.reasons.is_empty() { Err(missing) } else { Ok(verified) };
        }
        tuning => tuning?,
    };
    let pins = if options.deployed { None } else { pins_of(&tuning, &started.pins) };
    if !options.deployed {
        // Each launch switches the rules of coll/tuned on itself.
        let beside = Tuning { tuned: None, parameters: pins.clone().unwrap_or_default(), ..tuning.clone() };
        started.backend.pin(&beside.settings().by_name());
        found = started.backend.circumstances(Some(&path))?;
    }
    let mut verified = Verified::new(&tuning, &started, options.deployed, pins);
    verified.notes.extend(tuning::list_shifted(&tuning, &version));
    verified.reasons = obstacles(&tuning, &started, &found, &version);
    if options.deployed {
        verified.reasons.extend(list_other_values(&tuning.parameters, &mut started, &found)?);
        verified.settings.clone_from(&tuning.parameters);
    }
    let cells = cells(options, &tuning, &started)?;
    verified.unreached = describe_unreached(&tuning, &cells);
    if let Some(findings) = findings_of(&tuning).filter(|_| options.deployed) {
        verified.scope = describe_scope(&findings, &tuning);
        verified.notes.extend(list_mismatches(&findings, None, &tuning, &started.survey.hosts));
    }
    if verified.reasons.is_empty() {
        // The proof finds the component that handles the calls that HAN delegates.
        let han = tuning.han_rules();
        let handed = |cell: &&Cell| han.touches(cell.collective, cell.ranks);
        // Without rules in the file, there are no obstacles.
        let table = tuning.table();
        let ruled = |cell: &&Cell| {
            let blocks = table.get(cell.collective);
            blocks.is_some_and(|steps| *steps.get(cell.ranks.0.into()) != Steps::constant(Choice::BUILTIN))
        };
        let others: Vec<Cell> = cells.iter().filter(|cell| ruled(cell) && !handed(cell)).copied().collect();
        verified.reasons = describe_displacing(options, &mut started, &others)?;
    }
    if verified.reasons.is_empty() {
        prove(options, &tuning, &mut started, &cells, &mut verified)?;
    }
    Ok(verified)
}

/// Names components that take the calls of cells before `coll/tuned` does, in whole sentences with the remedy. Asked
/// only if ranks share one of several nodes: there a failing rule can make other components hang, while elsewhere the
/// proof itself gives the answer.
fn describe_displacing(
    options: &Verify,
    Started { backend, survey, release, .. }: &mut Started<MpiBackend>,
    cells: &[Cell],
) -> Result<Vec<String>, WorkflowError> {
    let placement = Placement::new(options.system.layout, &survey.hosts, cells.iter().map(|cell| cell.ranks));
    if !placement.nodes.values().any(|nodes| nodes.are_several() && nodes.share()) {
        return Ok(Vec::new());
    }
    let found = match running::find(backend, &options.scratch, cells, *release, &survey.components, &placement) {
        // No component is known to handle these calls first; the proof will show the effect on the file.
        Err(RunnerError::NotRunByTuned { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let sentence = |running: &RunningComponent| {
        let pins = competitor::pins([running]);
        let settings: Vec<String> = pins.iter().map(|(name, value)| format!("--mca {name} {value}")).collect();
        format!(
            "  {} on {} ranks runs in {}, which ignores these rules; --mpirun-args '{}' switches that off",
            running.collective,
            running.ranks,
            running.by,
            settings.join(" "),
        )
    };
    Ok(found.iter().filter(|running| !running.without.is_empty()).map(sentence).collect())
}

/// The findings next to the file of a tuning, if they can be read.
fn findings_of(tuning: &Tuning) -> Option<Findings> {
    RunDir::derived(tuning::directory_of(tuning.path())).ok()?.findings().ok()
}

/// The parameters of a tuning, with the present values of those parameters.
fn pins_of(tuning: &Tuning, in_force: &Settings) -> Option<Settings> {
    let mut pins = competitor::add_settings(in_force, &tuning.parameters);
    pins.retain(|name, _| tuning.parameters.contains_key(name));
    Some(pins).filter(|pins| !pins.is_empty())
}

impl Verified {
    /// Returns true if no call or message showed a rule of the file; of a tuning without rules, if no parameter did.
    fn proves_nothing(&self) -> bool {
        self.reasons.is_empty() && if self.empty { self.settings.is_empty() } else { !self.shows_rules() }
    }

    /// Returns true if calls or their messages showed rules of the file.
    fn shows_rules(&self) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.ruled > 0)
            || self.messages.as_ref().is_some_and(|messages| !messages.shown.is_empty())
    }

    fn new(tuning: &Tuning, started: &Started<MpiBackend>, deployed: bool, pins: Option<Settings>) -> Self {
        let transport = findings_of(tuning).and_then(|findings| findings.transport);
        let transport = transport.filter(|_| !Transport::is_decided_by(&tuning.parameters));
        let transport = describe_other_transport(&transport, &started.survey.transport);
        let other = origin(tuning).filter(|origin| origin.measured != started.release);
        let note = |origin: notes::NotedReleases| {
            format!(
                "It was measured on Open MPI {}, not on {}: even if it is obeyed, it may not be fast here.",
                origin.measured, started.release
            )
        };
        Self {
            file: tuning.path().to_owned(),
            version: started.survey.version,
            deployed,
            empty: !tuning.tuned.as_ref().is_some_and(RulesFile::has_rules) && tuning.han.is_none(),
            unreached: None,
            pins,
            settings: Settings::new(),
            notes: other.map(note).into_iter().chain(transport).collect(),
            reasons: Vec::new(),
            scope: Vec::new(),
            proof: None,
            messages: None,
            uncounted: None,
        }
    }
}

/// The only file that the ranks name, relative to their directory; none if there is not exactly one.
fn deployed(found: &[Circumstances]) -> Option<PathBuf> {
    let named = |file: fn(&Circumstances) -> Option<&String>| -> Vec<PathBuf> {
        found.iter().filter_map(|rank| Some(Path::new(&rank.directory).join(file(rank)?))).collect()
    };
    let mut files = named(|rank| rank.tuned.file.as_ref());
    if files.is_empty() {
        // HAN's file may be alone; files that belong to it are next to it.
        let han = named(|rank| rank.han.file.as_ref());
        files = han.iter().map(|file| file.with_file_name(rundir::RULES)).filter(|file| file.is_file()).collect();
    }
    files.sort_unstable();
    files.dedup();
    if files.len() == 1 { files.pop() } else { None }
}

/// Settings whose values on the ranks are not those of a tuning, each with its source.
fn list_other_values(
    wanted: &Settings,
    started: &mut Started<MpiBackend>,
    found: &[Circumstances],
) -> Result<Vec<String>, WorkflowError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = wanted.keys().cloned().collect();
    let values = started.backend.values(&Settings::new(), &names)?;
    let others = circumstances::other_values(found, &values, wanted);
    Ok(others.iter().map(|other| reasons::with_source(other, &started.backend)).collect())
}

/// Checks the settings of an installed tuning without rules; or names the obstacles: no file is named, or several are.
fn without_rules(started: &mut Started<MpiBackend>, found: &[Circumstances]) -> Result<Verified, WorkflowError> {
    let version = Behaviour::from_version(started.survey.version).map_err(RunnerError::UnknownRelease)?;
    let installed = started.backend.installed()?;
    if !installed.is_empty() && !installed.keys().any(|name| SWITCHES.contains(&name.as_str())) {
        let mut verified = Verified::new(&Tuning::default(), started, true, None);
        verified.reasons = list_other_values(&installed, started, found)?;
        let tuning = Tuning { parameters: installed.clone(), ..Tuning::default() };
        verified.scope = describe_scope(&Findings::empty("", started.release), &tuning);
        verified.settings = installed;
        return Ok(verified);
    }
    Ok(unread(PathBuf::new(), started, found, &version))
}

/// The obstacles for a rules file of which only the name is known.
fn unread(path: PathBuf, started: &Started<MpiBackend>, found: &[Circumstances], version: &Behaviour) -> Verified {
    let nothing = Tuning { tuned: Some(RulesFile::of_tuned(path, Vec::new())), ..Tuning::default() };
    let reasons = obstacles(&nothing, started, found, version);
    Verified { reasons, ..Verified::new(&nothing, started, true, None) }
}

/// A rules file of coll/tuned, with the settings from the findings next to it.
fn load(path: &Path, version: &Behaviour, active: Option<&Path>) -> Result<Tuning, WorkflowError> {
    let text = read_text_of(path)?;
    if han::is_han(&text) {
        let reasons = vec![han::CONFUSED.to_owned()];
        return Err(WorkflowError::NotInForce { path: path.to_owned(), reasons });
    }
    let mut tuning =
        Tuning { tuned: Some(RulesFile::of_tuned(path.to_owned(), text).read_as(version)?), ..Tuning::default() };
    let directory = tuning::directory_of(path);
    // Findings that cannot be read here do not belong to this file; the proof will show the effect.
    let run = RunDir::derived(directory).ok();
    let Some((run, findings)) = run.and_then(|run| Some((run.clone(), run.findings().ok()?))) else {
        return Ok(tuning);
    };
    if !findings.han.is_empty() {
        let path = directory.join(rundir::HAN);
        let text = read_text_of(&path)?;
        tuning.han = Some(RulesFile::of_han(path, text).read_as(version)?);
    }
    tuning.parameters = findings.parameters;
    let settings = run.settings().ok().flatten();
    tuning
        .parameters
        .extend(settings.iter().filter_map(|settings| settings.chosen()).flat_map(|it| it.settings.clone()));
    // Parameter files name the copies that never change.
    let pinned = tuning::as_pinned(&run, tuning.clone());
    let is_meant = path == pinned.path() || active.is_some_and(|active| active == pinned.path());
    Ok(if is_meant { pinned } else { tuning })
}

/// The releases that were measured, from the comments of the file.
fn origin(tuning: &Tuning) -> Option<notes::NotedReleases> {
    let text = tuning.tuned.as_ref().map(|file| String::from_utf8_lossy(&file.text))?;
    notes::origin(&text)
}

/// Lists obstacles in the settings of the ranks, each with the source of the setting.
fn obstacles(
    tuning: &Tuning,
    started: &Started<MpiBackend>,
    found: &[Circumstances],
    version: &Behaviour,
) -> Vec<String> {
    let mut obstacles = circumstances::forced(found, &ruled(tuning), version);
    // HAN's file may be the only one, or settings all there is.
    let is_alone = tuning.han.is_none() && tuning.parameters.is_empty();
    if let Some(file) = tuning.tuned.as_ref().filter(|file| !file.table.is_empty() || is_alone) {
        obstacles.extend(circumstances::obstacles(found, FileKind::Tuned, &file.path, &file.text));
    }
    if let Some(file) = &tuning.han {
        obstacles.extend(circumstances::obstacles(found, FileKind::Han, &file.path, &file.text));
    }
    obstacles.iter().map(|obstacle| reasons::with_source(obstacle, &started.backend)).collect()
}

fn cells(options: &Verify, tuning: &Tuning, started: &Started<MpiBackend>) -> Result<Vec<Cell>, WorkflowError> {
    let ranks =
        grid::communicator_sizes(&options.ranks, started.survey.slots(), oversubscribes(options.system.oversubscribe))?;
    let ruled = ruled(tuning);
    let pairs = ruled.iter().flat_map(|collective| ranks.iter().map(move |ranks| (*collective, *ranks)));
    let cells = pairs.flat_map(|(collective, ranks)| {
        let sizes = if collective.has_sizes() { options.sizes.clone() } else { vec![Bytes(0)] };
        sizes.into_iter().map(move |bytes| Cell { collective, ranks, bytes })
    });
    Ok(cells.filter(|cell| grid::obstacle(*cell, grid::DEFAULT_MEMORY).is_none()).collect())
}

/// Compares the communicator sizes of the rules with those of the calls, if none is the same.
fn describe_unreached(tuning: &Tuning, cells: &[Cell]) -> Option<String> {
    let calls: BTreeSet<Ranks> = cells.iter().map(|cell| cell.ranks).collect();
    let is_called = |rules: &RankRange| calls.iter().any(|ranks| rules.holds(*ranks));
    let left: Vec<String> = ruled_ranks(tuning).iter().filter(|it| !is_called(it)).map(RankRange::to_string).collect();
    let calls: Vec<String> = calls.iter().map(|ranks| counted(ranks.0, "rank")).collect();
    let is_known = !left.is_empty() && !calls.is_empty();
    is_known.then(|| format!("no call used the rules for {}; calls were made on {}", listed(&left), listed(&calls)))
}

/// Probes, runs and counts; every deviation becomes a reason.
fn prove(
    options: &Verify,
    tuning: &Tuning,
    started: &mut Started<MpiBackend>,
    cells: &[Cell],
    verified: &mut Verified,
) -> Result<(), WorkflowError> {
    let Started { backend, survey, release, .. } = started;
    let proof = proof::prove(backend, tuning, &options.scratch, *release, cells)?;
    let tuned = tuning.tuned.as_ref().map(|file| (&file.path, table_in_layout(file, *release, backend, cells)));
    verified.reasons = first_lines(proof.faults.iter().map(ToString::to_string).collect(), reasons::NAMED);
    if !proof.faults.is_empty() {
        verified.reasons.extend(reasons::explaining(tuning, survey, *release));
        return Ok(());
    }
    if let Some((path, table)) = tuned.filter(|(_, table)| !table.is_empty()) {
        match messages::count(backend, path, &table, *release, survey, cells) {
            Ok(messages) => {
                verified.reasons.extend(reasons::of_messages(&messages, &table, *release));
                verified.messages = Some(messages);
            }
            // A library without a monitoring layer can still obey rules.
            Err(RunnerError::WorkerFailed(why)) => verified.uncounted = Some(why),
            Err(other) => return Err(other.into()),
        }
    }
    verified.proof = Some(proof);
    Ok(())
}

/// Returns the meaning of a file for the communicators of these cells, with their nodes here.
fn table_in_layout(file: &RulesFile<RuleTable>, release: Release, backend: &MpiBackend, cells: &[Cell]) -> RuleTable {
    let read = collrules_rules::load(&file.text, &Behaviour::latest(release)).ok();
    let Some(read) = read.filter(Loaded::names_layouts) else { return file.table.clone() };
    let ranks: BTreeSet<Ranks> = cells.iter().map(|cell| cell.ranks).collect();
    let collectives: BTreeSet<Collective> = cells.iter().map(|cell| cell.collective).collect();
    let mut table = RuleTable::new();
    for collective in collectives {
        let mut blocks = all_builtin();
        for ranks in &ranks {
            let here = read.to_table_for(backend.distribution(*ranks));
            if let Some(own) = here.get(collective) {
                let ranks = u64::from(ranks.0);
                blocks.set(ranks, Some(ranks + 1), own.get(ranks).clone());
            }
        }
        table.set(collective, blocks);
    }
    table
}

/// The collectives that a tuning has rules for in any layout and version.
fn ruled(tuning: &Tuning) -> BTreeSet<Collective> {
    let file = tuning.tuned.as_ref();
    let tuned =
        Collective::ALL.into_iter().filter(|collective| file.is_some_and(|file| file.rules_anywhere(*collective)));
    tuned.chain(tuning.han_rules().collectives()).collect()
}

/// Prints the result. A file that is not obeyed is a failure, and so is one of which nothing is shown.
fn print_result(verified: &Verified, as_json: bool) -> Result<Exit, WorkflowError> {
    if as_json {
        screen::print(&serde_json::to_string_pretty(&as_json_value(verified))?)?;
    } else if verified.reasons.is_empty() {
        let lines: Vec<String> = sentences(verified).iter().flat_map(|sentence| wrapped(sentence, "", "")).collect();
        screen::print(&lines.join("\n"))?;
    }
    if verified.reasons.is_empty() {
        return Ok(if verified.proves_nothing() { Exit::INCOMPLETE } else { Exit::DONE });
    }
    let faults = verified.reasons.iter().map(|reason| wrapped(reason, "  ", "    ").join("\n")).collect();
    let what = if verified.file.as_os_str().is_empty() {
        let what =
            if verified.settings.is_empty() { "no rules file is active" } else { "installed settings do NOT act" };
        format!("{what} in Open MPI {}", verified.version)
    } else {
        format!("{} is NOT obeyed by Open MPI {}", verified.file.display(), verified.version)
    };
    Err(WorkflowError::Unproven { what, faults })
}

fn sentences(verified: &Verified) -> Vec<String> {
    let Verified { version, proof, settings, pins, messages, uncounted, unreached, .. } = verified;
    let file = verified.file.display();
    let mut lines = Vec::new();
    if let Some(why) = unreached {
        lines.push(format!("NOT CHECKED: {why}."));
    } else if verified.proves_nothing() {
        lines.push("NOT CHECKED: no call shows which rules are used.".to_owned());
    }
    if verified.empty && settings.is_empty() {
        lines.push(format!("{file} leaves everything to the default: there is nothing to obey."));
    } else if proof.is_some() {
        let how = if verified.deployed { ", as it is deployed," } else { "" };
        let used = if verified.shows_rules() { " and uses the right rule" } else { "" };
        lines.push(format!("Open MPI {version} accepts {file}{how}{used}."));
    }
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut count = |what, count: usize| rows.extend((count > 0).then(|| (what, count.to_string())));
    if let Some(proof) = proof.as_ref().filter(|_| !verified.empty) {
        let calls = if proof.logged > 0 { proof.logged } else { proof.probed };
        count("calls on both sides of every threshold within reach", calls);
        count("of these, calls that use a rule and not the default", proof.ruled);
        count("calls with correct data", proof.used);
        count("calls in the component that HAN's rules file names", proof.asked);
        count("collectives of a JSON file whose rules cannot be seen", proof.unshown.len());
    }
    if let Some(Messages { shown, alike, silent, uncounted, .. }) = messages {
        count("calls proved by their messages (the rule's, not the default's)", shown.len());
        count("calls for which the default sends the same messages", alike.len());
        count("calls without messages that can be compared", silent.len());
        let first = uncounted.first().map(|(cell, why)| format!("{}, such as {cell}: {why}", uncounted.len()));
        rows.extend(first.map(|first| ("calls whose messages could not be counted", first)));
    }
    rows.extend(uncounted.iter().map(|why| ("messages were not counted", why.clone())));
    let settings = Some(settings).filter(|settings| !settings.is_empty());
    rows.extend(settings.map(|settings| ("settings of the tuning that all ranks have", describe(settings))));
    rows.extend(pins.iter().map(|pins| ("settings of its run that it requires", describe(pins))));
    lines.extend(rows.into_iter().map(|(what, found)| format!("{what}: {found}")));
    lines.extend(verified.scope.iter().chain(&verified.notes).cloned());
    lines
}

fn as_json_value(verified: &Verified) -> serde_json::Value {
    json!({
        "file": verified.file.display().to_string(),
        "version": verified.version.to_string(),
        "deployed": verified.deployed,
        "obeyed": verified.reasons.is_empty() && !verified.proves_nothing(),
        "scope": verified.scope,
        "reasons": verified.reasons,
        "notes": verified.notes,
        "settings": verified.pins,
        "unreached": verified.unreached,
        "calls": verified.proof.as_ref().map(|proof| json!({
            "probed": proof.probed,
            "ruled": proof.ruled,
            "asked": proof.asked,
            "used": proof.used,
        })),
        "messages": verified.messages.as_ref().map(|messages| json!({
            "shown": messages.shown,
            "alike": messages.alike,
            "silent": messages.silent,
            "other": messages.other,
            "uncounted": messages.uncounted.iter().map(|(cell, why)| json!({ "cell": cell, "why": why }))
                .collect::<Vec<_>>(),
        })),
        "uncounted": verified.uncounted,
    })
}
