//! `collrules guidelines`: finds collectives that are slower than equivalent calls.

use std::io::Write;
use std::path::PathBuf;

use collrules_record::guidelines::{Changed, Checked};
use collrules_record::options::Request;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Seconds, manifest};
use collrules_report::{guidelines as report, plain};
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::guidelines;
use collrules_workflow::plan::plan;
use collrules_workflow::start::start;

use super::dry_run;
use crate::args::Guidelines;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint, wrapped};
use crate::{interrupt, session};

pub(crate) fn run(args: &Guidelines) -> Result<Exit, Failure> {
    if args.list {
        let text = if args.session.json { report::list_json()? } else { report::list() };
        return screen::print(&text).map(|()| Exit::Done);
    }
    if args.dry_run {
        return foresee(args).map(|()| Exit::Done);
    }
    let judging = args.judging();
    // Unreadable files are reported before anything is measured.
    let earlier = args.compare.as_deref().map(guidelines::earlier).transpose()?;
    let (run, checked) = match &args.input {
        Some(input) => {
            let (run, checked) =
                session::plain(|session| guidelines::of_input(input, args.release(), judging, session))?;
            let target = match &args.out {
                Some(out) => Some(RunDir::prepare_derived(out)?),
                // After another analysis with other thresholds, the run's own file is updated.
                None => run,
            };
            if let Some(target) = &target {
                guidelines::write(target, &checked)?;
            }
            (target, checked)
        }
        None => {
            let begin = begin(args)?;
            let (run, checked) = session::with(args.session.failures, Output::new(args.session.json), |session| {
                guidelines::run(&begin, judging, session)
            })?;
            (Some(run), checked)
        }
    };
    let changes = earlier.map(|earlier| guidelines::changes(&earlier, &checked));
    if args.session.json {
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&checked)?).map_err(Failure::Stdout)?;
    } else {
        screen::print(&text(&checked, changes.as_deref(), run.as_ref()))?;
    }
    Ok(if guidelines::fails(&checked, changes.as_deref()) { Exit::Violated } else { Exit::Done })
}

fn begin(args: &Guidelines) -> Result<Begin, Failure> {
    let Some(run) = &args.session.resume else {
        let default = || PathBuf::from(format!("collrules-guidelines-{}", manifest::stamp()));
        let place = RunPlace::New(args.out.clone().unwrap_or_else(default));
        return Ok(Begin { experiment: args.experiment()?, request: Request::Guidelines, place });
    };
    Ok(Begin::recorded(run)?)
}

fn foresee(args: &Guidelines) -> Result<(), Failure> {
    let experiment = args.experiment()?;
    let mut started = start(&experiment.system, &interrupt::flag())?;
    let plan = plan(&experiment, &started.survey, started.startup)?;
    if args.session.json {
        return writeln!(std::io::stdout(), "{}", serde_json::to_string(&plan)?).map_err(Failure::Stdout);
    }
    let again = Seconds(plan.budget().unwrap_or_default().0 * f64::from(experiment.passes.count() - 1));
    let beyond = [("Measuring the mock-ups once more with the rules file active", again)];
    dry_run::print(&mut started, &plan, args.budget, &beyond, false)
}

fn text(checked: &Checked, changes: Option<&[Changed]>, run: Option<&RunDir>) -> String {
    let mut text = report::text(checked, screen::width());
    if let Some(changes) = changes {
        text += &format!("\n{}\n", paint(TextStyle::Heading, "Since the earlier check:"));
        let said: Vec<String> = match changes {
            [] => vec!["no violation is new, gone, or changed beyond its interval.".to_owned()],
            all => all.iter().map(report::change).collect(),
        };
        for line in said.iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")) {
            text += &(line + "\n");
        }
    }
    if let Some(run) = run {
        text += &format!(
            "\n{}\n",
            paint(TextStyle::Heading, &format!("Files in {}:", plain::line(&run.path().display().to_string())))
        );
        for (name, what) in [
            (rundir::GUIDELINES_PAGE, "the maps with all numbers, and each violation"),
            (rundir::GUIDELINES_TEXT, "the same as text"),
            (rundir::GUIDELINES, "all of it for programs, and for --compare"),
            (rundir::GUIDELINES_TABLE, "every comparison as a table"),
        ] {
            text += &format!("  {name:<16}  {what}\n");
        }
    }
    text
}
