//! The tuning decided by an analysis, and the one in a directory.

use std::path::Path;

use collrules_record::state::StepRecord;
use collrules_record::tuning::{RulesFile, digest_of_rules, read_text_of};
use collrules_record::{Findings, Manifest, RunDir, Settings, Stage, Step, Tuning, TuningState, rundir};
use collrules_report::notes::{SIMULATED_RULES, notes};
use collrules_rules::emit::{self, confirmation};
use collrules_rules::{Behaviour, lines::Lines};
use collrules_rules::{han, lint};

use crate::TOOL;
use crate::error::WorkflowError;
use crate::session::Session;

/// The tuning for findings, with its files in a run directory.
pub(crate) fn decide(run: &RunDir, findings: &Findings, pins: &Settings) -> Result<Tuning, WorkflowError> {
    let accepted = |hazard: &_| findings.tree.policy.assumptions.accept(hazard);
    let notes = notes(findings, TOOL);
    let text = match &findings.layout_rules[..] {
        [] => emit::classic(&findings.table, &notes, accepted)?,
        layout_rules => emit::json_with_layouts(&findings.table, layout_rules, &notes, accepted)?,
    };
    let file = RulesFile::of_tuned(run.file(rundir::RULES), text.into_bytes());
    let tuned = RulesFile { table: findings.table.clone(), ..file };
    Ok(Tuning {
        tuned: Some(tuned),
        han: decide_han(run, findings)?,
        parameters: findings.parameters.clone(),
        pins: pins.clone(),
    })
}

fn decide_han(run: &RunDir, findings: &Findings) -> Result<Option<RulesFile<han::HanTable>>, WorkflowError> {
    if findings.han.is_empty() {
        return Ok(None);
    }
    let simulated = findings.simulated.then(|| SIMULATED_RULES.to_owned());
    let measured = [
        format!("{TOOL}: calls that are faster than with HAN's default, measured on Open MPI {}.", findings.release),
        format!("`tuned` delegates calls to coll/tuned, whose rules for them are in {}.", rundir::RULES),
    ];
    let header: Vec<String> = simulated.into_iter().chain(measured).collect();
    let table = findings.han.to_han();
    let text = han::write(&table, &header)
        .map_err(|error| WorkflowError::Input(format!("HAN's rules file cannot be written: {error}")))?;
    Ok(Some(RulesFile { table, ..RulesFile::of_han(run.file(rundir::HAN), text.into_bytes()) }))
}

/// Digits of a digest in the name of a file.
const DIGITS: usize = 12;

/// The tuning with its files under names by digest in a directory of its run. Jobs may read them while others take their
/// place.
fn by_digest(run: &RunDir, tuning: &Tuning) -> Tuning {
    let digests = tuning.digests();
    let name = |file: &str| {
        let digest = digests.get(file).map(String::as_str).unwrap_or_default();
        format!("{}-{}.conf", file.trim_end_matches(".conf"), &digest[..DIGITS.min(digest.len())])
    };
    tuning.moved(&run.absolute().join(rundir::TUNINGS), &name(rundir::RULES), &name(rundir::HAN))
}

/// Refuses files that jobs read, if they were changed since they got their names by digest.
pub(crate) fn refuse_changed(run: &RunDir, tuning: &Tuning) -> Result<(), WorkflowError> {
    for (_, path, text) in by_digest(run, tuning).files().filter(|(_, path, _)| path.is_file()) {
        if digest_of_rules(&read_text_of(path)?) != digest_of_rules(text) {
            let path = path.display();
            return Err(WorkflowError::Input(format!(
                "{path} was changed: jobs that read it do not get the rules that were compared. Remove it; `collrules \
                 tune --resume {}` writes it again",
                run.path().display()
            )));
        }
    }
    Ok(())
}

/// Stores the files of a tuning under names by digest, and returns the tuning with these.
pub(crate) fn pin_files(run: &RunDir, tuning: &Tuning) -> Result<Tuning, WorkflowError> {
    refuse_changed(run, tuning)?;
    let pinned = by_digest(run, tuning);
    let directory = run.file(rundir::TUNINGS);
    std::fs::create_dir_all(&directory).map_err(|cause| WorkflowError::write(&directory, cause))?;
    for (_, path, text) in pinned.files().filter(|(_, path, _)| !path.exists()) {
        rundir::put_new(path, text).map_err(|cause| WorkflowError::write(path, cause))?;
    }
    Ok(pinned)
}

/// The directory with the findings of a rules file, which may have its name by digest.
pub fn directory_of(file: &Path) -> &Path {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_pinned = parent.file_name().is_some_and(|name| name == rundir::TUNINGS);
    parent.parent().filter(|_| is_pinned).unwrap_or(parent)
}

/// The tuning as jobs read it: under the names of `pin_files`, if the files are there.
pub fn as_pinned(run: &RunDir, tuning: Tuning) -> Tuning {
    let pinned = by_digest(run, &tuning);
    let are_there = pinned.files().all(|(_, path, _)| path.is_file());
    if are_there { pinned } else { tuning }
}

/// The tuning in a directory with findings; none if there is no rules file.
pub(crate) fn of_run(
    run: &RunDir,
    findings: &Findings,
    manifest: Option<&Manifest>,
) -> Result<Option<Tuning>, WorkflowError> {
    if !run.file(rundir::RULES).is_file() {
        return Ok(None);
    }
    let mut tuning = in_place(run)?;
    if findings.han.is_empty() {
        tuning.han = None;
    }
    tuning.parameters = findings.parameters.clone();
    tuning.pins = manifest.map(|manifest| manifest.pins.clone()).unwrap_or_default();
    Ok(Some(tuning.read_as(&Behaviour::latest(findings.release)).unwrap_or(tuning)))
}

/// The rules files in a directory, read without its findings and without the comment on confirmation.
pub(crate) fn in_place(run: &RunDir) -> Result<Tuning, WorkflowError> {
    let read = |name: &str| {
        let path = run.file(name);
        path.is_file().then(|| read_text_of(&path).map(|text| (path, text))).transpose()
    };
    Ok(Tuning {
        tuned: read(rundir::RULES)?.map(|(path, text)| RulesFile::of_tuned(path, confirmation::remove(text))),
        han: read(rundir::HAN)?.map(|(path, text)| RulesFile::of_han(path, text)),
        ..Tuning::default()
    })
}

/// Reads the state of a tuning that goes on, or that of its results.
pub(crate) fn read_next_state(run: &RunDir) -> Result<TuningState, WorkflowError> {
    run.next_state()?.map_or_else(|| read_state(run), Ok)
}

/// Reads the state of a run to analyse: that of its results; without any, that of a tuning that goes on.
pub(crate) fn read_latest_state(run: &RunDir) -> Result<TuningState, WorkflowError> {
    if run.file(rundir::FINDINGS).exists() { read_state(run) } else { read_next_state(run) }
}

/// Hands the new state of results to a tuning that goes on, if there is one: the steps that it does not know, with what they
/// removed, and settings if it has not searched others since.
pub(crate) fn add_to_next(run: &RunDir, state: &TuningState) -> Result<(), WorkflowError> {
    let Some(mut next) = run.next_state()? else { return Ok(()) };
    let before = read_state(run)?;
    next.steps.extend(state.steps.iter().skip(before.steps.len()).cloned());
    add_new(&mut next.reverted, &state.reverted);
    add_new(&mut next.carried, &state.carried);
    add_new(&mut next.withdrawn, &state.withdrawn);
    let chosen = |state: &TuningState| state.settings.as_ref().and_then(|found| found.chosen().cloned());
    if chosen(&next) == chosen(&before) {
        next.settings.clone_from(&state.settings);
    }
    Ok(run.write_next_state(&next)?)
}

/// Adds what a list does not have; returns false if it has all.
pub(crate) fn add_new<T: Clone + PartialEq>(all: &mut Vec<T>, new: &[T]) -> bool {
    let before = all.len();
    for one in new {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    all.len() > before
}

/// Reads the steps of a directory that ended; without any, the results in it that are about its rules.
pub(crate) fn read_state(run: &RunDir) -> Result<TuningState, WorkflowError> {
    if let Some(state) = run.state()? {
        return Ok(state);
    }
    let digests = in_place(run)?.digests();
    let mut state = TuningState { settings: run.settings()?, ..TuningState::default() };
    if let Some(found) = run.validation()?.filter(|found| found.is_about(&digests)) {
        (state.reverted, state.withdrawn) = (found.reverted.clone(), found.withdrawn.clone());
        state.steps.push(StepRecord::compared(Step::Compare(Stage::Rules, None), Settings::new(), found));
    }
    Ok(state)
}

/// Reports oddities of a file of HAN's, and which communicator sizes a release shifts in a classic file.
pub(crate) fn say_oddities(tuning: &Tuning, version: &Behaviour, session: &mut Session<'_>) {
    let own = tuning.han.iter().flat_map(|file| list_problems(&file.path, &file.text, version, |_| true));
    list_shifted(tuning, version).into_iter().chain(own).for_each(|said| session.say(&said));
}

/// Lists the collectives of a classic file that a release reads with other communicator sizes than releases before it.
pub fn list_shifted(tuning: &Tuning, version: &Behaviour) -> Vec<String> {
    let is_shifted = |problem: &lint::Problem| problem.code == lint::Code::ShiftedSizes;
    let file = tuning.tuned.as_ref();
    file.map(|file| list_problems(&file.path, &file.text, version, is_shifted)).unwrap_or_default()
}

/// Lists problems of a rules file under one version, in sentences.
fn list_problems(
    path: &Path,
    text: &[u8],
    version: &Behaviour,
    is_wanted: impl Fn(&lint::Problem) -> bool,
) -> Vec<String> {
    let lines = Lines::new(text);
    let describe = |problem: &lint::Problem| {
        let (line, _) = lines.position(problem.span.within(text).start);
        format!("{}:{line}: {}: {}", path.display(), problem.message, problem.explanation)
    };
    lint::check(text, &[*version]).problems.iter().filter(|problem| is_wanted(problem)).map(describe).collect()
}
