//! Says on standard error how far measuring has come, now and then.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use collrules_record::Plan;
use collrules_runner::campaign::Launch;
use collrules_runner::wire::Event;

/// At most one line in this time.
const INTERVAL: Duration = Duration::from_secs(5);

/// Renders the runner's events as plain lines.
pub(crate) struct Progress {
    launches: u32,
    series: u32,
    start: Instant,
    last: Instant,
    /// Of the launch under way.
    visited: BTreeSet<usize>,
    visits: usize,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let now = Instant::now();
        let (launches, series) = (plan.launches, plan.separate.series);
        Self { launches, series, start: now, last: now, visited: BTreeSet::new(), visits: 0 }
    }

    pub(crate) fn see(&mut self, launch: &Launch<'_>, event: &Event) {
        let Launch { number, plan } = launch;
        let seconds = self.start.elapsed().as_secs_f64();
        let place = match plan.under_rule {
            None => format!("{seconds:>4.0} s: launch {} of {}", number + 1, self.launches),
            Some(candidate) => {
                let collective = plan.cells.first().map_or("", |planned| planned.cell.collective.name());
                format!("{seconds:>4.0} s: series {} of {}, {collective} {candidate}", number + 1, self.series)
            }
        };
        match event {
            Event::Visited { cell, .. } => {
                self.visited.insert(*cell);
                self.visits += 1;
                if self.last.elapsed() >= INTERVAL {
                    self.last = Instant::now();
                    let (seen, cells, visits) = (self.visited.len(), plan.cells.len(), self.visits);
                    say(&format!(
                        "{place}: {seen} of {cells} cells seen, {visits} visits; now {}",
                        plan.cells[*cell].cell
                    ));
                }
            }
            Event::Disqualified { cell, candidate, why } => {
                let planned = &plan.cells[*cell];
                say(&format!("{} is out in {}: {why}", planned.candidates[*candidate], planned.cell));
            }
            Event::Measured { why } => {
                // One of many short launches is not worth a line.
                if plan.under_rule.is_none() {
                    say(&format!("{place} ends: {why}"));
                }
                self.visited.clear();
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
