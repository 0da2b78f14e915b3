//! `collrules study`: chosen algorithms compared on a grid.

mod command;
mod definition;
mod scope;

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::Parser;
use collrules_record::findings::Criteria;
use collrules_record::rundir::RunDir;
use collrules_record::study::Study;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Manifest};
use collrules_report::study::{self, About};
use collrules_rules::{Collective, deploy};
use collrules_runner::RunnerError;
use collrules_runner::grid::known_release;
use collrules_tuner::Observations;

use self::definition::Definition;
use self::scope::Scope;
use super::measure;
use crate::args::{Args, Command, StudyArgs, Tune};
use crate::failure::Failure;
use crate::progress::say;
use crate::screen::{self, Ink, paint};

/// What a study leaves behind beside the figures.
const README: &str = "README.md";
const TIMES: &str = "times.csv";
const STUDY: &str = "study.json";

/// The directory of the measurements.
const RUN: &str = "run";

pub(crate) fn run(args: &StudyArgs) -> Result<(), Failure> {
    let definition = definition::read(&args.definition)?;
    refuse_occupied(&args.out, &definition)?;
    let (run, manifest) = match &args.run {
        Some(path) => {
            let run = RunDir::open(path)?;
            let manifest = run.manifest()?;
            (run, manifest)
        }
        None => measured(args, &definition)?,
    };
    let release = known_release(&manifest.survey)?;
    let scope = Scope::of(args, &definition, &manifest, release)?;
    if let Some(path) = &args.run {
        let lacking = scope.lacking(&manifest.plan);
        if !lacking.is_empty() {
            return Err(Failure::Input(format!(
                "{} lacks what {} asks for: {}. Measure it without --run, or name the communicators that are there with \
                 --np",
                path.display(),
                args.definition.display(),
                lacking.join("; "),
            )));
        }
    }
    let failed = |cause| Failure::Analysis { source_name: run.path().display().to_string(), cause };
    let observations = Observations::from_samples(&run.samples()?.text).map_err(failed)?;
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..Criteria::default() };
    let wanted = |cell, candidate| scope.wants(cell, candidate);
    let found = collrules_tuner::study(&observations, &manifest.plan, wanted, release, criteria).map_err(failed)?;
    let about = about(args, &definition, &manifest, &scope, &found);
    let write = |name: &str, text: &str| {
        let path = args.out.join(name);
        fs::create_dir_all(&args.out)
            .and_then(|()| fs::File::create_new(&path)?.write_all(text.as_bytes()))
            .map_err(|cause| Failure::Write { path, cause })
    };
    let figures = study::figures(&found, &about);
    for figure in &figures {
        write(&figure.file, &figure.svg)?;
    }
    write(TIMES, &study::csv(&found))?;
    write(STUDY, &(serde_json::to_string_pretty(&found)? + "\n"))?;
    // Last, as a sign that all else is there.
    write(README, &study::markdown(&found, &about))?;
    let mut paragraphs = study::conclusion(&found, &about);
    paragraphs.extend(study::undrawn(&found, &about));
    tell(&args.out, &paragraphs, figures.len())
}

/// Refuses a directory that holds anything that the study would write: measuring takes long, and its place should be sure.
fn refuse_occupied(out: &Path, definition: &Definition) -> Result<(), Failure> {
    let ours = |name: &str| {
        let figure = |collective: &Collective| {
            let rest = name.strip_prefix(collective.name()).unwrap_or_default();
            rest.starts_with("-over-") || rest.starts_with("-builtin")
        };
        [README, TIMES, STUDY].contains(&name) || name.ends_with(".svg") && definition.algorithms.keys().any(figure)
    };
    // A directory that cannot be read is not there yet, or creating files in it says why.
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    let mut taken: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    taken.retain(|name| ours(name));
    taken.sort_unstable();
    match taken.first() {
        None => Ok(()),
        Some(name) => Err(Failure::Occupied(format!(
            "{} holds a study already, or a part of one: {name}; name another directory with --out",
            out.display()
        ))),
    }
}

fn tell(out: &Path, paragraphs: &[String], figures: usize) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for paragraph in paragraphs {
        lines.extend(screen::wrapped(&paragraph.replace('*', ""), "", ""));
        lines.push(String::new());
    }
    lines.push(paint(Ink::Heading, &format!("Files in {}:", out.display())));
    let readme = if figures > 0 { "the study, with all tables and figures" } else { "the study, with all tables" };
    for (name, what) in [(README, readme), (TIMES, "every time"), (STUDY, "all of it for programs")] {
        lines.extend(screen::wrapped(what, &format!("  {name:<11}  "), &" ".repeat(15)));
    }
    screen::print(&lines.join("\n"))
}

/// Measures what is defined, as far as there are slots for it.
fn measured(args: &StudyArgs, definition: &Definition) -> Result<(RunDir, Manifest), Failure> {
    let wanted = if args.np.is_empty() { &definition.ranks } else { &args.np };
    let mut ranks = wanted.clone();
    let survey = measure::start(&args.launch, &args.simulate)?.survey;
    // Before anything is measured: what is wrong with the definition is said with its name.
    definition.choices(&args.definition, known_release(&survey)?)?;
    if !args.launch.oversubscribes() {
        let slots = survey.slots();
        ranks.retain(|ranks| *ranks <= slots);
        let beyond = wanted.iter().filter(|ranks| **ranks > slots).min();
        if let Some(wanted) = beyond.filter(|_| ranks.is_empty() || !args.np.is_empty()) {
            return Err(RunnerError::TooFewSlots { wanted: *wanted, slots }.into());
        }
        if ranks.len() < wanted.len() {
            say(&format!("communicators of more than {slots} ranks are left out, since there are {slots} slots"));
        }
    }
    let measured = measure::campaign(&options(args, definition, &ranks)?)?;
    Ok((measured.run, measured.manifest))
}

/// The options of `measure` that do the same; with the words that give them, so that `measure --resume` can go on.
fn options(args: &StudyArgs, definition: &Definition, ranks: &[Ranks]) -> Result<Tune, Failure> {
    let words = command::measuring(args, definition, ranks);
    match Args::try_parse_from(&words).map(|args| args.command) {
        Ok(Command::Measure(tune)) => Ok(Tune { command: words, ..tune }),
        Ok(_) => Err(Failure::Usage("the study cannot be measured".to_owned())),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// The command line, as it can be typed again.
fn typed() -> String {
    let words = std::env::args_os().skip(1).map(|word| deploy::quoted(&word.to_string_lossy()));
    std::iter::once("collrules".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn about<'a>(
    args: &StudyArgs,
    definition: &Definition,
    manifest: &'a Manifest,
    scope: &Scope,
    found: &Study,
) -> About<'a> {
    // Where none of those that are to be drawn could be measured, the largest that was stands for them.
    let mut over_sizes: Vec<Ranks> =
        definition.over_sizes.iter().copied().filter(|ranks| scope.ranks.contains(ranks)).collect();
    if over_sizes.is_empty() && !definition.over_sizes.is_empty() {
        over_sizes.extend(scope.ranks.iter().max());
    }
    About {
        title: definition.title.clone(),
        question: definition.question.clone(),
        manifest,
        remarks: remarks(args, definition, manifest, scope, found),
        command: typed(),
        over_ranks: definition.over_ranks.clone(),
        over_sizes,
        builtin: definition.builtin,
    }
}

/// What the reader should know beside the numbers: the user's note, and what is missing.
fn remarks(
    args: &StudyArgs,
    definition: &Definition,
    manifest: &Manifest,
    scope: &Scope,
    found: &Study,
) -> Vec<String> {
    let mut remarks: Vec<String> = args.note.iter().cloned().collect();
    let slots = manifest.survey.slots();
    let missing = definition.ranks.iter().filter(|ranks| !scope.ranks.contains(ranks));
    let (beyond, others): (Vec<&Ranks>, Vec<&Ranks>) = missing.partition(|ranks| **ranks > slots);
    let listed = |ranks: &[&Ranks]| ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !beyond.is_empty() {
        remarks.push(format!(
            "The definition also asks for communicators of {} ranks, which were left out: there are {slots} slots, and more \
             ranks than slots would show the operating system's scheduler rather than the algorithms.",
            listed(&beyond),
        ));
    }
    if !others.is_empty() {
        let others = listed(&others);
        remarks
            .push(format!("The definition also asks for communicators of {others} ranks, which --np leaves out here."));
    }
    let wanted = manifest.plan.cells.iter().map(|planned| planned.cell);
    let wanted = wanted.filter(|cell| scope.wants(*cell, Candidate::Builtin)).count();
    if found.cells.len() < wanted {
        remarks.push(format!(
            "The run has times for {} of the {wanted} cells that the definition asks for.",
            found.cells.len()
        ));
    }
    remarks
}
