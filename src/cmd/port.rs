//! `collrules port`: adaptation of a tuning to another Open MPI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_record::options::{Budget, Validating};
use collrules_record::{RunDir, rundir};
use collrules_rules::port::{ChoiceFate, Ported};
use collrules_workflow::campaign::RunPlace;
use collrules_workflow::port::{self, Outlook, PortTask, Porting};
use collrules_workflow::publish::Published;
use collrules_workflow::{WorkflowError, publish, tune, validate};

use super::summary;
use crate::exit::Exit;
use crate::options::named_or_new;
use crate::progress::Output;
use crate::screen::{self, wrapped};
use crate::session::{self, FAILURES};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Within a release, such as from 5.0.8 to 5.0.11, rules are compared with the default in fresh launches; \
                  what a patch level changed is tuned again. Between releases everything is."
)]
pub(crate) struct Port {
    #[command(flatten)]
    options: Porting,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Port) -> Result<Exit, WorkflowError> {
    let options = &args.options;
    let published = Published::open(&options.run)?;
    let outlook = port::look_ahead(&published, options)?;
    let task = port::plan_task(&published, &outlook, options)?;
    if args.json {
        screen::print(&serde_json::to_string_pretty(&outlook)?)?;
    } else {
        screen::print(&describe(&outlook, &task, options).join("\n"))?;
    }
    if options.dry_run {
        return Ok(Exit::DONE);
    }
    let output = Output::new(args.json);
    match task {
        PortTask::Tune(mut begin) => {
            begin.place = RunPlace::New(named_or_new(options.out.as_deref(), "run"));
            let published = session::with(FAILURES, output, |session| tune::tune(&begin, session))?;
            if !args.json {
                summary::print(&published)?;
            }
            let loses = published.validation.is_some_and(|validation| validation.loses());
            Ok(if loses { Exit::SLOWER } else { Exit::DONE })
        }
        PortTask::TuneSome(mut begin, validating) => {
            let out = named_or_new(options.out.as_deref(), "run");
            // What hinders writing is better known before measuring than after.
            RunDir::prepare_derived(&out)?;
            begin.place = RunPlace::New(beside(&out));
            let joined = session::with(FAILURES, output, |session| {
                let again = tune::tune(&begin, session)?;
                port::join(&published, again, &out, session)
            })?;
            if joined.changes_nothing() {
                if !args.json {
                    summary::print(&joined)?;
                }
                return Ok(Exit::DONE);
            }
            compare(&joined, &validating, None, &outlook, args)
        }
        PortTask::Validate(validating) => compare(&published, &validating, options.out.as_deref(), &outlook, args),
        PortTask::Nothing => Ok(Exit::DONE),
    }
}

/// The directory of what is measured again, next to that of the whole.
fn beside(out: &Path) -> PathBuf {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    rundir::unused(out.parent().unwrap_or(Path::new("")), &format!("{name}-again"))
}

/// Compares the rules of a run with the default of the other Open MPI, and names the command that installs them.
fn compare(
    published: &Published,
    validating: &Validating,
    out: Option<&Path>,
    outlook: &Outlook,
    args: &Port,
) -> Result<Exit, WorkflowError> {
    let run = published.run.path();
    let opened = publish::open(run, None)?;
    let arrivals = validate::as_measured(&opened)?.map(|measured| measured.arrivals).unwrap_or_default();
    let validated = session::with(FAILURES, Output::new(args.json), |session| {
        validate::validate(&opened, false, validating, arrivals, out, session)
    })?;
    let loses = validated.loses();
    if let Some(validation) = validated.validation.filter(|_| !args.json) {
        let mut text = collrules_report::validation::document(&validation, validated.release).text(screen::width());
        if !loses {
            text += &format!("\n  collrules install {} --for {}", run.display(), outlook.openmpi.prefix.display());
        }
        screen::print(&text)?;
    }
    Ok(if loses { Exit::SLOWER } else { Exit::DONE })
}

fn describe(outlook: &Outlook, task: &PortTask, options: &Porting) -> Vec<String> {
    let Outlook { from, openmpi, rules, files, unknown, added, changes, outdated, .. } = outlook;
    let same = rules.iter().filter(|ported| ported.fate == ChoiceFate::Same).count();
    let there = format!("Open MPI {} in {}", openmpi.version, openmpi.prefix.display());
    let first = match rules.len() {
        0 => format!("The run has no rules that could mean something else under {there} than under {}.", from.version),
        all => format!("{same} of {all} choices mean the same under {there} as under {}.", from.version),
    };
    let mut lines = wrapped(&first, "", "");
    lines.extend(rules.iter().filter_map(lost).flat_map(|line| wrapped(&line, "  - ", "    ")));
    lines.extend(files.iter().flat_map(|file| wrapped(&format!("{file}."), "  - ", "    ")));
    for name in unknown {
        lines.extend(wrapped(&format!("The setting {name} does not exist there."), "  - ", "    "));
    }
    for (collective, names) in added {
        lines.extend(wrapped(&format!("{collective} has {} there as well.", names.join(", ")), "  - ", "    "));
    }
    if !changes.is_empty() {
        lines.push("Changed between the two:".to_owned());
        lines.extend(changes.iter().flat_map(|change| wrapped(&format!("{change}."), "  - ", "    ")));
    }
    let show = |budget: &Budget| match budget {
        Some(budget) => format!("for up to {}", budget.rounded()),
        None if outlook.spent.0 > 0.0 => {
            format!("until it is precise, which took {} in the run", outlook.spent.rounded())
        }
        None => "until it is precise".to_owned(),
    };
    let names: Vec<&str> = outdated.iter().map(|collective| collective.name()).collect();
    let verb = |done: &'static str, would: &'static str| if options.dry_run { would } else { done };
    let measuring = verb("Measuring", "To measure:");
    let last = match task {
        PortTask::Tune(begin) => {
            let measured: BTreeSet<&str> = begin.experiment.grid.collectives.iter().map(|it| it.name()).collect();
            let all: Vec<&str> = measured.into_iter().collect();
            format!("{measuring} {} again, {}.", all.join(", "), show(&begin.experiment.budget))
        }
        PortTask::TuneSome(begin, validating) => format!(
            "{measuring} {} again, {}. {} these rules and all others with the default there, {}.",
            names.join(", "),
            show(&begin.experiment.budget),
            verb("Then comparing", "Then compare:"),
            show(&validating.budget),
        ),
        PortTask::Nothing => "Nothing has to be measured again.".to_owned(),
        PortTask::Validate(validating) => format!(
            "Nothing has to be measured again. {} the rules with the default there, {}.",
            verb("Comparing", "To do: compare"),
            show(&validating.budget),
        ),
    };
    lines.extend(wrapped(&last, "", ""));
    lines
}

/// Describes the change of a choice in a sentence; none if it stays the same.
fn lost(ported: &Ported) -> Option<String> {
    let Ported { collective, choice, words, fate } = ported;
    Some(match fate {
        ChoiceFate::Same => return None,
        ChoiceFate::Moved(id) => format!("{collective} {words}: its number is {id} there, not {}.", choice.algorithm),
        ChoiceFate::Changed(why) => format!("{collective} {words}: {why}."),
        ChoiceFate::Gone => format!("{collective} {words}: there is no such algorithm there."),
    })
}
