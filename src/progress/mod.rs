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
    output: OutputMode,
    /// Missing away from a terminal that can draw one: plain lines replace it.
    bar: Option<ProgressBar>,
    /// Time of the last plain line about progress.
    last: Instant,
    /// Beginning of the launches of this plan.
    start: Instant,
    estimate: RemainingTime,
}

/// Form of the output while a workflow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// Progress, for people.
    Text,
    /// Failures only.
    Quiet,
    /// Events, for programs.
    Json,
}

impl OutputMode {
    /// JSON, or text.
    pub(crate) fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

impl Reporter {
    /// A reporter for people or programs.
    pub(crate) fn new(output: OutputMode) -> Self {
        let draws = output == OutputMode::Text && std::io::stderr().is_terminal() && !screen::is_dumb();
        let estimate = RemainingTime::new(&Plan::default(), 0);
        let now = Instant::now();
        Self { output, bar: draws.then(bar), last: now, start: now, estimate }
    }

    /// Reports an event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        match (event, self.output) {
            (Event::Planned { plan, first }, _) => {
                (self.estimate, self.start) = (RemainingTime::new(plan, *first), Instant::now());
                return self.bar.iter().for_each(ProgressBar::reset);
            }
            (Event::Launch(launch, notice), _) => return self.launch(launch, notice),
            (_, OutputMode::Quiet) => return,
            (Event::Note(text), _) => return self.say(text),
            (_, OutputMode::Json) => return json::event(event),
            (_, OutputMode::Text) => {}
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
                match plan.budget() {
                    Some(budget) => format!("for about {} at most", budget.rounded()),
                    None => "until every size is precise".to_owned(),
                },
                run.display(),
            )),
            Event::Comparing { home, cells, limit, .. } => say(&format!(
                "comparing {} with the default in fresh launches{}, into {}",
                counted(*cells, "size"),
                limit.map_or_else(String::new, |limit| format!(", for at most {}", limit.rounded())),
                home.file(rundir::COMPARISON).display(),
            )),
            Event::ArmBlock { block, subjects, jobs, .. } => {
                let (jobs, subjects) = (counted(*jobs, "job"), counted(*subjects, "call"));
                let said = format!("fresh launches: block {} of {jobs}, {subjects}", block + 1);
                match &self.bar {
                    Some(bar) => bar.set_message(said),
                    None if self.is_due() => self.say_progress(&said),
                    None => {}
                }
            }
            Event::Measured(..) => self.bar.iter().for_each(ProgressBar::finish_and_clear),
            _ => {}
        }
    }

    /// A line on standard error, above the bar.
    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }

    /// Returns true if it is time for a plain line about progress.
    fn is_due(&self) -> bool {
        self.last.elapsed() >= INTERVAL
    }

    fn say_progress(&mut self, line: &str) {
        self.last = Instant::now();
        say(line);
    }

    fn launch(&mut self, launch: &CampaignLaunch<'_>, notice: &Notice<'_>) {
        self.estimate.see(launch, notice);
        if self.output == OutputMode::Json {
            return json::notice(launch, notice, &self.estimate);
        }
        self.line(launch, notice).iter().for_each(|line| self.say(line));
        let (done, left) = (self.estimate.done(), whole_seconds(self.estimate.left()));
        let subject = |cell: usize| launch.plan.subject(cell);
        if let Some(bar) = &self.bar {
            bar.set_position((done * STEPS as f64) as u64);
            let (place, decidable) = (self.estimate.place(), self.estimate.decidable());
            bar.set_prefix(format!("{place}, {left} left, {decidable} sizes decidable"));
            if let Notice::Event(WorkerEvent::Visiting { cell } | WorkerEvent::Checking { cell, .. }) = notice {
                bar.set_message(subject(*cell).to_string());
            }
        } else if self.output == OutputMode::Text && self.is_due() {
            let decidable = counted(self.estimate.decidable(), "size");
            let done = format!("{}: {:.0} % done, {decidable} can be decided", self.place(), done * 100.0);
            match notice {
                Notice::Event(WorkerEvent::Visited { cell, .. }) => {
                    self.say_progress(&format!("{done}, now {}; {left} left", subject(*cell)));
                }
                Notice::Event(WorkerEvent::Measured { .. }) => self.say_progress(&done),
                _ => {}
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
            Notice::Failed(error) => format!("{} failed: {error}", self.place()),
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
            Notice::TooManyFailures(collective) => {
                format!(
                    "left out {collective}: its failing calls took too much time; the rest is for other collectives"
                )
            }
            _ => return None,
        })
    }

    fn place(&self) -> String {
        format!("{:>4.0} s: {}", self.start.elapsed().as_secs_f64(), self.estimate.place())
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
