//! Progress of measurements: a bar on a terminal, occasional lines elsewhere, JSON for programs.

mod estimate;
mod json;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use collrules_record::Plan;
use collrules_record::rundir;
use collrules_record::sample::Row;
use collrules_rules::lines::plain;
use collrules_rules::words::counted;
use collrules_runner::campaign::{CampaignLaunch, Notice};
use collrules_runner::separate;
use collrules_runner::wire::WorkerEvent;
use collrules_workflow::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) use self::json::lost;
use crate::screen;
use estimate::RemainingTime;

/// Smallest interval between two plain lines about progress.
const INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of updates of the bar per second: the terminal often runs on a measured processor.
const DRAWS: u8 = 4;

/// Number of steps of the bar.
const STEPS: u64 = 1000;

/// Renders the events of workflows.
pub(crate) struct Reporter {
    how: How,
    launches: u32,
    /// Number of the first planned launch of this plan.
    first: u32,
    start: Instant,
    estimate: RemainingTime,
}

enum How {
    Bar(ProgressBar),
    Plain { last: Instant },
    Quiet,
    Json,
}

/// Form of the output while a workflow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Progress, for people.
    Text,
    /// Failures only.
    Quiet,
    /// Events, for programs.
    Json,
}

impl Output {
    /// JSON, or text.
    pub(crate) fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

impl Reporter {
    /// A reporter for people or programs.
    pub(crate) fn new(output: Output) -> Self {
        // indicatif itself shows nothing without a terminal, so plain lines replace it.
        let how = if output == Output::Json {
            How::Json
        } else if output == Output::Quiet {
            How::Quiet
        } else if std::io::stderr().is_terminal() && !screen::is_dumb() {
            How::Bar(bar())
        } else {
            How::Plain { last: Instant::now() }
        };
        let estimate = RemainingTime::new(&Plan::default(), 0);
        Self { how, launches: 0, first: 0, start: Instant::now(), estimate }
    }

    /// Reports an event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { plan, first } => return self.begin(plan, *first),
            Event::Launch(launch, notice) => return self.launch(launch, notice),
            Event::Note(text) => match &self.how {
                How::Quiet => {}
                How::Bar(bar) => bar.suspend(|| say(text)),
                _ => say(text),
            },
            _ => {}
        }
        match self.how {
            How::Json => return json::event(event),
            How::Quiet => return,
            How::Bar(_) | How::Plain { .. } => {}
        }
        match event {
            Event::Measuring { run, plan, resumed } => say(&format!(
                "{} {} of {}{}, {}, {}, into {}",
                if *resumed { "resuming" } else { "measuring" },
                counted(plan.points(), "point"),
                counted(plan.cells.len(), "size"),
                if plan.patterns.is_empty() {
                    String::new()
                } else {
                    format!(", {}", counted(plan.patterns.len(), "probe"))
                },
                counted(separate::starts(plan).len(), "launch"),
                at_most(plan, "for about", " at most"),
                run.display(),
            )),
            Event::Comparing { home, cells, limit, .. } => say(&format!(
                "comparing {} with the default in fresh launches{}, into {}",
                counted(*cells, "size"),
                limit.map_or_else(String::new, |limit| format!(", for at most {}", limit.rounded())),
                home.file(rundir::COMPARISON).display(),
            )),
            Event::ArmLaunch { block, subjects, .. } => match &mut self.how {
                How::Bar(bar) => bar.set_message(arm_launch(*block, *subjects)),
                How::Plain { last } if last.elapsed() >= INTERVAL => {
                    *last = Instant::now();
                    say(&arm_launch(*block, *subjects));
                }
                _ => {}
            },
            Event::Measured(..) => {
                if let How::Bar(bar) = &self.how {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }

    /// Begins the launches of a plan.
    fn begin(&mut self, plan: &Plan, first: u32) {
        (self.first, self.launches) = (first, separate::starts(plan).len() as u32);
        self.estimate = RemainingTime::new(plan, first);
        self.start = Instant::now();
        if let How::Bar(bar) = &self.how {
            bar.reset();
        }
    }

    fn launch(&mut self, launch: &CampaignLaunch<'_>, notice: &Notice<'_>) {
        self.estimate.see(launch, notice);
        match &self.how {
            How::Json => json::notice(launch, notice, &self.estimate),
            How::Quiet => self.line(launch, notice).iter().for_each(|line| say(line)),
            How::Bar(bar) => {
                let (done, left) = (self.estimate.done(), self.estimate.left());
                bar.set_position((done * STEPS as f64) as u64);
                let left = whole_seconds(left);
                bar.set_prefix(format!("launch {} of {}, {left} left", launch.planned - self.first + 1, self.launches));
                if let Notice::Event(WorkerEvent::Visiting { cell } | WorkerEvent::Checking { cell, .. }) = notice {
                    bar.set_message(launch.plan.subject(*cell).to_string());
                }
                if let Some(line) = self.line(launch, notice) {
                    bar.suspend(|| say(&line));
                }
            }
            How::Plain { last } => {
                let due = last.elapsed() >= INTERVAL;
                let done = || format!("{}: {:.0} % done", self.place(launch), self.estimate.done() * 100.0);
                let progress = match notice {
                    _ if !due => None,
                    Notice::Event(WorkerEvent::Visited { cell, .. }) => {
                        let left = whole_seconds(self.estimate.left());
                        Some(format!("{}, now {}; {left} left", done(), launch.plan.subject(*cell)))
                    }
                    Notice::Event(WorkerEvent::Measured { .. }) => Some(done()),
                    _ => None,
                };
                self.line(launch, notice).iter().chain(&progress).for_each(|line| say(line));
                if progress.is_some() {
                    self.how = How::Plain { last: Instant::now() };
                }
            }
        }
    }

    /// Returns the line for a notice of a failure.
    fn line(&self, launch: &CampaignLaunch<'_>, notice: &Notice<'_>) -> Option<String> {
        Some(match notice {
            Notice::Event(WorkerEvent::Disqualified { cell, candidate, why }) => {
                let (turn, subject) = (launch.plan.turn(*cell, *candidate), launch.plan.subject(*cell));
                format!("left out {turn} for {subject}: {why}")
            }
            Notice::Failed(error) => format!("{} failed: {error}", self.place(launch)),
            Notice::Trying(cell) => format!("testing the algorithms of {cell} one by one to find the cause"),
            Notice::Acquitted(cell) => {
                format!("no algorithm of {cell} is the cause; measuring continues in a new launch")
            }
            Notice::LeftOut(Row::EndedCast(ended)) => {
                format!("left out {} of ranks {}: {}", ended.pattern, ended.cast, ended.ended)
            }
            Notice::LeftOut(Row::Ended(point)) => {
                format!("left out {} for {} and similar sizes: {}", point.candidate, point.cell, point.ended)
            }
            _ => return None,
        })
    }

    fn place(&self, launch: &CampaignLaunch<'_>) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        format!("{seconds:>4.0} s: launch {} of {}", launch.planned - self.first + 1, self.launches)
    }
}

/// A launch of a comparison.
fn arm_launch(block: u32, subjects: usize) -> String {
    format!("fresh launches: pair {}, {}", block + 1, counted(subjects, "subject"))
}

/// The time limit of a plan.
fn at_most(plan: &Plan, before: &str, after: &str) -> String {
    match plan.budget() {
        Some(budget) => format!("{before} {}{after}", budget.rounded()),
        None => "until every size is precise".to_owned(),
    }
}

/// A bar without colours, so that none need to be switched off.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(DRAWS));
    match ProgressStyle::with_template("{prefix} [{bar:20}] {percent:>3} %  {wide_msg}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// An estimated time, rounded up; `Duration::MAX` stands for one that cannot be estimated yet.
fn whole_seconds(time: Duration) -> String {
    if time == Duration::MAX {
        return "an unknown time".to_owned();
    }
    let seconds = time.as_secs_f64().ceil() as u64;
    if seconds < 120 { format!("about {seconds} s") } else { format!("about {} min", seconds.div_ceil(60)) }
}

/// A line on standard error.
pub(crate) fn say(line: &str) {
    // A closed standard error is no reason to stop measuring. Names in the line may have control characters, which must
    // not reach the terminal.
    let line = line.lines().map(plain).collect::<Vec<_>>().join("\n");
    let _ = writeln!(std::io::stderr(), "{}", screen::logged("collrules: ", &line));
}
