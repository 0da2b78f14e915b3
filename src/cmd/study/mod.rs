//! `collrules study`: chosen algorithms compared on a grid.

mod command;
mod definition;

use std::fs;
use std::path::Path;

use clap::Parser;
use collrules_record::Manifest;
use collrules_record::findings::Criteria;
use collrules_record::rundir::RunDir;
use collrules_record::units::Ranks;
use collrules_report::study::{self, About};
use collrules_rules::deploy;
use collrules_runner::grid::known_release;
use collrules_tuner::Observations;

use self::definition::Definition;
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
    if args.out.join(README).exists() {
        let out = args.out.display();
        return Err(Failure::Usage(format!("{out} holds a study already; name another directory with --out")));
    }
    let (run, manifest) = match &args.run {
        Some(path) => {
            let run = RunDir::open(path)?;
            let manifest = run.manifest()?;
            (run, manifest)
        }
        None => measured(args, &definition)?,
    };
    let about = about(args, &definition, &manifest);
    let release = known_release(&manifest.survey)?;
    let failed = |cause| Failure::Analysis { source_name: run.path().display().to_string(), cause };
    let observations = Observations::from_samples(&run.samples()?.text).map_err(failed)?;
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..Criteria::default() };
    let found = collrules_tuner::study(&observations, &manifest.plan, release, criteria).map_err(failed)?;
    let write = |name: &str, text: &str| {
        let path = args.out.join(name);
        fs::create_dir_all(&args.out)
            .and_then(|()| fs::write(&path, text))
            .map_err(|cause| Failure::Write { path, cause })
    };
    for figure in study::figures(&found, &about) {
        write(&figure.file, &figure.svg)?;
    }
    write(TIMES, &study::csv(&found))?;
    write(STUDY, &(serde_json::to_string_pretty(&found)? + "\n"))?;
    // Last, as a sign that all else is there.
    write(README, &study::markdown(&found, &about))?;
    tell(&args.out, &study::conclusion(&found, &about))
}

fn tell(out: &Path, conclusion: &[String]) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for paragraph in conclusion {
        lines.extend(screen::wrapped(&paragraph.replace('*', ""), "", ""));
        lines.push(String::new());
    }
    lines.push(paint(Ink::Heading, &format!("Files in {}:", out.display())));
    for (name, what) in
        [(README, "the study, with all tables and figures"), (TIMES, "every time"), (STUDY, "all of it for programs")]
    {
        lines.extend(screen::wrapped(what, &format!("  {name:<11}  "), &" ".repeat(15)));
    }
    screen::print(&lines.join("\n"))
}

/// Measures what is defined, as far as there are slots for it.
fn measured(args: &StudyArgs, definition: &Definition) -> Result<(RunDir, Manifest), Failure> {
    let wanted = if args.np.is_empty() { &definition.ranks } else { &args.np };
    let mut ranks = wanted.clone();
    if !args.launch.oversubscribes() {
        let slots = measure::start(&args.launch, &args.simulate)?.survey.slots();
        ranks.retain(|ranks| *ranks <= slots);
        if ranks.is_empty() {
            return Err(Failure::Usage(format!(
                "there are {slots} slots, too few for any communicator of this study; name smaller ones with --np, or \
                 try it out with --oversubscribe"
            )));
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

fn about<'a>(args: &StudyArgs, definition: &Definition, manifest: &'a Manifest) -> About<'a> {
    let planned: Vec<Ranks> = manifest.plan.cells.iter().map(|planned| planned.cell.ranks).collect();
    // Where none of those that are to be drawn could be measured, the largest that was stands for them.
    let mut over_sizes: Vec<Ranks> =
        definition.over_sizes.iter().copied().filter(|ranks| planned.contains(ranks)).collect();
    if over_sizes.is_empty() && !definition.over_sizes.is_empty() {
        over_sizes.extend(planned.iter().max());
    }
    let missing = definition.ranks.iter().filter(|ranks| !planned.contains(ranks));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    let mut remarks: Vec<String> = args.note.iter().cloned().collect();
    if !missing.is_empty() {
        remarks.push(format!(
            "The definition also asks for communicators of {} ranks, which were left out: there are {} slots, and more ranks \
             than slots would show the operating system's scheduler rather than the algorithms.",
            missing.join(", "),
            manifest.survey.slots(),
        ));
    }
    About {
        title: definition.title.clone(),
        question: definition.question.clone(),
        manifest,
        remarks,
        command: typed(),
        over_ranks: definition.over_ranks.clone(),
        over_sizes,
        builtin: definition.builtin,
    }
}
