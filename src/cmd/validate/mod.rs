//! `collrules validate`: whether a rules file makes anything slower, in fresh launches without it and with it.
//!
//! | module | job |
//! |---|---|
//! | here | the subcommand |
//! | `subject` | the file, where it comes from, and the cells to compare |
//! | `comparison` | one comparison: pairs of launches, then more for what is doubtful |
//! | `kept` | what the file was before it was repaired |
//! | `rounds` | comparisons and repairs until nothing is slower |
//! | `tuned` | the same at the end of `tune` |

mod comparison;
mod kept;
mod rounds;
mod subject;
mod tuned;

use std::io::Write;
use std::time::Instant;

use clap::parser::ValueSource;
use clap::{Args as _, CommandFactory};
use collrules_record::plan::Schedule;
use collrules_record::validation::Criteria;
use collrules_record::{Manifest, RunDir, Seconds, rundir};
use collrules_runner::validation::{FURTHER_LOOKS, Spending, spending};
use collrules_runner::{RunnerError, grid};

use super::{measure, report, resume};
use crate::args::{Args, Launch, Session, Simulate, Timing, Validate};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::{Reporter, say};
use comparison::Bench;
use rounds::Rounds;
use subject::Subject;

pub(super) use tuned::{Validated, reserved, run as after_tuning};

pub(crate) fn run(args: &Validate) -> Result<Exit, Failure> {
    let _ = interrupt::flag();
    let begin = Instant::now();
    let opened = subject::open(&args.rules)?;
    let args = &of_the_run(args, opened.manifest())?;
    let mut started = measure::start(&args.launch, &args.simulate)?;
    let startup = if args.simulate.simulate.is_some() { Seconds(0.0) } else { Seconds(begin.elapsed().as_secs_f64()) };
    let mut subject = Subject::new(opened, args, &started)?;
    let elsewhere = |run: &RunDir| args.out.as_ref().is_some_and(|out| !subject::same(out, run.path()));
    if args.repair && subject.run.as_ref().is_some_and(elsewhere) {
        return Err(Failure::Usage(format!(
            "what is repaired in the rules of a run is written down in the run: leave out --out, or repair a copy of {} \
             under another name",
            subject.shown,
        )));
    }
    let home = subject.home(args.out.as_deref())?;
    // Kept from others as long as this takes.
    let of_run = subject.run.as_ref().filter(|run| subject.manifest.is_some() && run.path() == home.path());
    let _held = of_run.map(RunDir::hold).transpose()?;
    subject.refuse_if_in_force(&started.survey)?;
    started.backend.use_scratch(home.path());
    let spending = spending(args.budget.0, startup, args.pairs).unwrap_or_else(|| {
        say(&format!(
            "starting jobs takes {startup} each, so that {} leave no time to speak of: 2 pairs, with one visit to each cell",
            args.budget,
        ));
        Spending::LEAST
    });
    if spending.pairs < args.pairs {
        say(&format!(
            "starting jobs takes {startup} each: {} pairs of launches instead of {}",
            spending.pairs, args.pairs
        ));
    }
    let chosen = args.ops.is_some() || !args.np.is_empty() || args.sizes.is_some();
    if !chosen {
        subject.afford(spending.launch);
    }
    let session = Session { resume: None, json: args.json, failures: args.failures };
    let mut bench = Bench {
        backend: started.backend.as_mut(),
        survey: &started.survey,
        layout: args.launch.layout,
        way: args.deploy.into(),
        schedule: schedule(&args.timing, startup),
        spending,
        budget: args.budget.0,
        deadline: None,
        seed: args.seed,
        repair: args.repair,
        criteria: Criteria {
            min_difference: args.min_difference,
            error_rate: args.error_rate,
            clock_step: started.survey.clock_step,
            looks: 1 + FURTHER_LOOKS,
            ..Criteria::default()
        },
        chosen,
        failures: args.failures,
        reporter: Reporter::quiet(&session),
    };
    let rounds = Rounds { home: &home };
    let validation = rounds.run(&mut bench, &mut subject)?;
    bench.reporter.validated(&home, &validation);
    if let Some(run) = subject.run.as_ref().filter(|run| run.path() == home.path()) {
        report::refresh(run)?;
    }
    if !args.json {
        let text = collrules_report::validation::text(&validation, subject.release);
        let file = home.file(rundir::VALIDATION);
        writeln!(std::io::stdout(), "{text}\nAll numbers: {}", file.display()).map_err(Failure::Stdout)?;
    }
    Ok(if validation.loses() { Exit::Slower } else { Exit::Done })
}

/// The options with what the run was measured with, unless the user says something of the kind here.
fn of_the_run(args: &Validate, manifest: Option<&Manifest>) -> Result<Validate, Failure> {
    let Some(then) = manifest.and_then(|manifest| resume::begun_with(&manifest.command)) else {
        return Ok(args.clone());
    };
    let matches = Args::command().try_get_matches().map_err(|error| Failure::Usage(error.to_string()))?;
    let about = [Launch::augment_args, Simulate::augment_args, Timing::augment_args];
    let names = about.iter().flat_map(|augment| resume::names(&augment(clap::Command::new("")))).collect::<Vec<_>>();
    let said = matches
        .subcommand()
        .is_some_and(|(_, given)| names.iter().any(|name| given.value_source(name) == Some(ValueSource::CommandLine)));
    Ok(if said {
        args.clone()
    } else {
        Validate { launch: then.launch, simulate: then.simulate, timing: then.timing, ..args.clone() }
    })
}

/// How a launch spends its time: enough rounds for a median, since what counts is how launches differ.
pub(super) fn schedule(timing: &Timing, startup: Seconds) -> Schedule {
    Schedule {
        min_rounds: 15,
        max_rounds: 60,
        startup,
        sync: timing.sync.into(),
        clock_bound: timing.clock_bound,
        separate_clocks: timing.separate_clocks,
        ..Schedule::default()
    }
}

/// The communicator sizes for a file that says nothing about them.
fn communicator_sizes(
    args: &Validate,
    slots: collrules_record::Ranks,
) -> Result<Vec<collrules_record::Ranks>, RunnerError> {
    grid::communicator_sizes(&args.np, slots, args.launch.oversubscribes())
}
