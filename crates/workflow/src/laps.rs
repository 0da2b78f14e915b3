//! Where the time of a budget went: what each part was meant to take, and took.

use std::fs;
use std::time::Instant;

use collrules_record::units::Seconds;

use crate::allotted::EXCESS;

/// A part that is less than this over is not to blame, in seconds.
const NAMED: f64 = 1.0;

/// The parts of a command, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Laps {
    began: Instant,
    done: Vec<Lap>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lap {
    part: &'static str,
    meant: f64,
    took: f64,
}

impl Laps {
    /// Begins now.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), done: Vec::new() }
    }

    /// Leaves out what something else took since then, which has laps of its own.
    pub(crate) fn leave_out(&mut self, since: Instant) {
        self.began += since.elapsed();
    }

    /// Seconds since the beginning.
    pub(crate) fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Ends a part, which was meant to take so many seconds.
    pub(crate) fn end(&mut self, part: &'static str, meant: f64) {
        let before: f64 = self.done.iter().map(|lap| lap.took).sum();
        self.done.push(Lap { part, meant, took: self.elapsed() - before });
    }

    /// Why all of it took longer than the budget and a tenth of it; nothing where it did not.
    pub(crate) fn excess(&self, budget: Option<Seconds>) -> Option<String> {
        explained(self.elapsed(), budget?, &self.done, waiting())
    }
}

fn explained(took: f64, budget: Seconds, done: &[Lap], waiting: Option<(f64, usize)>) -> Option<String> {
    if took <= EXCESS * budget.0 {
        return None;
    }
    let shown = |seconds: f64| Seconds(seconds).rounded();
    let mut over: Vec<&Lap> = done.iter().filter(|lap| lap.took - lap.meant >= NAMED).collect();
    over.sort_by(|a, b| (b.took - b.meant).total_cmp(&(a.took - a.meant)));
    let over = over.iter().map(|lap| format!("{} took {} instead of {}", lap.part, shown(lap.took), shown(lap.meant)));
    let mut why: Vec<String> = over.collect();
    if let Some((load, processors)) = waiting.filter(|(load, processors)| *load > *processors as f64 + 0.5) {
        why.push(format!(
            "{load:.1} processes at a time wanted the {processors} processors here, those of the job among them"
        ));
    }
    Some(format!("this took {} for a budget of {}: {}", shown(took), budget.rounded(), why.join("; ")))
}

/// How many processes wanted to run here in the last minutes, and how many can.
fn waiting() -> Option<(f64, usize)> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load = text.split_whitespace().nth(1)?.parse().ok()?;
    Some((load, std::thread::available_parallelism().ok()?.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_took_longer_than_meant_is_named() {
        let lap = |part, meant, took| Lap { part, meant, took };
        let done = [lap("starting", 2.0, 2.5), lap("measuring", 60.0, 90.0), lap("proving the rules", 3.0, 44.0)];
        let said = |took, waiting| explained(took, Seconds(100.0), &done, waiting);
        assert_eq!(said(110.0, None), None);
        assert_eq!(
            said(136.5, Some((5.25, 2))).as_deref(),
            Some(
                "this took 2.3m for a budget of 100s: proving the rules took 44s instead of 3s; measuring took 90s instead \
                 of 60s; 5.2 processes at a time wanted the 2 processors here, those of the job among \
                 them"
            ),
        );
        let calm = said(136.5, Some((1.2, 2))).expect("is said");
        assert!(calm.ends_with("instead of 60s"), "{calm}");
    }
}
