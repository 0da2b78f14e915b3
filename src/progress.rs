//! Says on standard error how far measuring has come, now and then.

use std::io::Write;
use std::time::{Duration, Instant};

use collrules_record::Plan;
use collrules_runner::wire::Event;

/// At most one line in this time.
const INTERVAL: Duration = Duration::from_secs(5);

/// Renders the runner's events as plain lines.
pub(crate) struct Progress<'a> {
    plan: &'a Plan,
    start: Instant,
    last: Instant,
    visited: Vec<bool>,
    visits: usize,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let now = Instant::now();
        Self { plan, start: now, last: now, visited: vec![false; plan.cells.len()], visits: 0 }
    }

    pub(crate) fn see(&mut self, launch: u32, event: &Event) {
        match event {
            Event::Visited { cell, .. } => {
                self.visited[*cell] = true;
                self.visits += 1;
                if self.last.elapsed() >= INTERVAL {
                    self.last = Instant::now();
                    let seen = self.visited.iter().filter(|visited| **visited).count();
                    say(&format!(
                        "{:>4.0} s: launch {} of {}: {seen} of {} cells seen, {} visits; now {}",
                        self.start.elapsed().as_secs_f64(),
                        launch + 1,
                        self.plan.launches,
                        self.plan.cells.len(),
                        self.visits,
                        self.plan.cells[*cell].cell,
                    ));
                }
            }
            Event::Disqualified { cell, candidate, why } => {
                let planned = &self.plan.cells[*cell];
                say(&format!("{} is out in {}: {why}", planned.candidates[*candidate], planned.cell));
            }
            Event::Measured { why } => {
                let (seconds, launches) = (self.start.elapsed().as_secs_f64(), self.plan.launches);
                say(&format!("{seconds:>4.0} s: launch {} of {launches} ends: {why}", launch + 1));
                self.visited.fill(false);
                self.visits = 0;
            }
            _ => {}
        }
    }
}

/// A line on standard error.
pub(crate) fn say(line: &str) {
    // A closed standard error is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "collrules: {line}");
}
