//! Shows how far measuring has come: a bar on a terminal, now and then a line elsewhere, JSON for programs.

mod estimate;
mod json;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use collrules_record::Plan;
use collrules_record::plan::Schedule;
use collrules_rules::lines::plain;
use collrules_runner::campaign::{Launch, Notice};
use collrules_runner::separate;
use collrules_runner::wire::Event;
use collrules_workflow::Event as Happening;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) use self::json::lost;
use crate::screen;
use estimate::Estimate;

/// At most one plain line about progress in this time.
const INTERVAL: Duration = Duration::from_secs(5);

/// How often the bar is drawn at most, per second: the terminal is often on a processor that is measured.
const DRAWS: u8 = 4;

/// The bar's length.
const STEPS: u64 = 1000;

/// Renders the events of workflows.
pub(crate) struct Reporter {
    how: How,
    launches: u32,
    /// The number of the first planned launch.
    first: u32,
    start: Instant,
    estimate: Estimate,
}

enum How {
    Bar(ProgressBar),
    Plain { last: Instant },
    Quiet,
    Json,
}

/// What is written on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Progress, for people.
    Text,
    /// Failures alone.
    Quiet,
    /// Events, for programs.
    Json,
}

impl Output {
    /// JSON, or text.
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

impl Reporter {
    /// A reporter that tells people, or programs.
    pub(crate) fn new(output: Output) -> Self {
        // indicatif shows nothing elsewhere by itself, but then nothing else would be shown either.
        let how = if output == Output::Json {
            How::Json
        } else if output == Output::Quiet {
            How::Quiet
        } else if std::io::stderr().is_terminal() && !screen::is_dumb() {
            How::Bar(bar())
        } else {
            How::Plain { last: Instant::now() }
        };
        let nothing = Plan::new(Vec::new(), 0, Schedule::default(), 0);
        Self { how, launches: 0, first: 0, start: Instant::now(), estimate: Estimate::new(&nothing, 0) }
    }

    /// Shows what happened.
    pub(crate) fn see(&mut self, event: &Happening<'_>) {
        match event {
            Happening::Planned { plan, first } => return self.begin(plan, *first),
            Happening::Launch(launch, notice) => return self.launch(launch, notice),
            Happening::Note(text) => match &self.how {
                How::Quiet => {}
                How::Bar(bar) => bar.suspend(|| say(text)),
                _ => say(text),
            },
            _ => {}
        }
        if let How::Json = self.how {
            json::event(event);
            return;
        }
        if let How::Quiet = self.how {
            return;
        }
        match event {
            Happening::Measuring { run, plan, resumed } => say(&format!(
                "{} {} points in {} cells{}, {} launches, {}, into {}",
                if *resumed { "resuming" } else { "measuring" },
                plan.points(),
                plan.cells.len(),
                if plan.patterns.is_empty() { String::new() } else { format!(", {} patterns", plan.patterns.len()) },
                separate::starts(plan).len(),
                at_most(plan, "for about", " at most"),
                run.display(),
            )),
            Happening::Comparing { run, plan } => say(&format!(
                "comparing {} cells without and with the rules, {} pairs of launches, {}, into {}",
                plan.cells.len(),
                plan.launches,
                at_most(plan, "for about", ""),
                run.display(),
            )),
            Happening::Measured(..) => {
                if let How::Bar(bar) = &self.how {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }

    /// The launches of a plan follow.
    fn begin(&mut self, plan: &Plan, first: u32) {
        (self.first, self.launches) = (first, separate::starts(plan).len() as u32);
        self.estimate = Estimate::new(plan, first);
        self.start = Instant::now();
        if let How::Bar(bar) = &self.how {
            bar.reset();
        }
    }

    fn launch(&mut self, launch: &Launch<'_>, notice: &Notice<'_>) {
        self.estimate.see(launch, notice);
        match &self.how {
            How::Json => json::notice(launch, notice, &self.estimate),
            // The end of a launch is progress; whatever else has a line is a failure.
            How::Quiet if matches!(notice, Notice::Event(Event::Measured { .. })) => {}
            How::Quiet => self.line(launch, notice).iter().for_each(|line| say(line)),
            How::Bar(bar) => {
                let (done, left) = (self.estimate.done(), self.estimate.left());
                bar.set_position((done * STEPS as f64) as u64);
                let left = whole_seconds(left);
                bar.set_prefix(format!(
                    "launch {} of {}, about {left} left",
                    launch.planned - self.first + 1,
                    self.launches
                ));
                if let Notice::Event(Event::Visiting { cell } | Event::Checking { cell, .. }) = notice {
                    bar.set_message(launch.plan.subject(*cell).to_string());
                }
                if let Some(line) = self.line(launch, notice) {
                    bar.suspend(|| say(&line));
                }
            }
            How::Plain { last } => {
                let due = last.elapsed() >= INTERVAL;
                if let Some(line) = self.line(launch, notice) {
                    say(&line);
                } else if let (true, Notice::Event(Event::Visited { cell, .. })) = (due, notice) {
                    let (seen, cells) = self.estimate.seen();
                    say(&format!(
                        "{}: {seen} of {cells} {} seen, {} visits; now {}; about {} left",
                        self.place(launch),
                        if launch.plan.patterns.is_empty() { "cells" } else { "cells and patterns" },
                        self.estimate.visits(),
                        launch.plan.subject(*cell),
                        whole_seconds(self.estimate.left()),
                    ));
                    self.how = How::Plain { last: Instant::now() };
                }
            }
        }
    }

    /// What deserves a line of its own.
    fn line(&self, launch: &Launch<'_>, notice: &Notice<'_>) -> Option<String> {
        Some(match notice {
            Notice::Event(Event::Disqualified { cell, candidate, why }) => {
                let (turn, subject) = (launch.plan.turn(*cell, *candidate), launch.plan.subject(*cell));
                format!("{turn} is left out in {subject}: {why}")
            }
            Notice::Event(Event::Measured { why }) => format!("{} ends: {why}", self.place(launch)),
            Notice::Failed(error) => format!("{} failed: {error}", self.place(launch)),
            Notice::Trying(cell) => format!("trying the candidates of {cell} to find out why"),
            Notice::Acquitted(cell) => {
                format!("no candidate of {cell} is to blame; measuring continues in a new launch")
            }
            Notice::EndedCast(ended) => {
                format!("{} of ranks {} is left out: {}", ended.pattern, ended.cast, ended.ended)
            }
            Notice::Quarantined(point) => {
                format!("{} is left out in {} and cells like it: {}", point.candidate, point.cell, point.ended)
            }
            _ => return None,
        })
    }

    fn place(&self, launch: &Launch<'_>) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        format!("{seconds:>4.0} s: launch {} of {}", launch.planned - self.first + 1, self.launches)
    }
}

/// The time that a plan may take.
fn at_most(plan: &Plan, before: &str, after: &str) -> String {
    match plan.budget() {
        Some(budget) => format!("{before} {}{after}", budget.rounded()),
        None => "until every cell is precise".to_owned(),
    }
}

/// Without colours, so that there are none to switch off.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(DRAWS));
    match ProgressStyle::with_template("{prefix} [{bar:20}] {percent:>3} %  {wide_msg}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn whole_seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

/// A line on standard error.
pub(crate) fn say(line: &str) {
    // A closed standard error is no reason to stop measuring.
    // A name in it may be anybody's, and is nothing for a terminal to obey.
    let line = line.lines().map(plain).collect::<Vec<_>>().join("\n");
    let _ = writeln!(std::io::stderr(), "{}", screen::logged("collrules: ", &line));
}
