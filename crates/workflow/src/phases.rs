//! Account of a budget: planned and actual time of each part of a command.

use std::fs;
use std::time::Instant;

use collrules_record::units::Seconds;

use crate::time_budget::EXCESS;

/// Seconds above the plan from which on a part is named as a reason.
const NAMED: f64 = 1.0;

/// The parts of a command, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    began: Instant,
    /// Beginning of the command, with all that has phases of its own.
    whole: Instant,
    done: Vec<Lap>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lap {
    part: &'static str,
    meant: f64,
    took: f64,
}

impl Phases {
    /// Begins with the present time.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), whole: Instant::now(), done: Vec::new() }
    }

    /// Subtracts the time since then, which has phases of its own.
    pub(crate) fn leave_out(&mut self, since: Instant) {
        self.began += since.elapsed();
    }

    /// Seconds since the beginning.
    pub(crate) fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Seconds of the whole command so far.
    pub(crate) fn whole(&self) -> f64 {
        self.whole.elapsed().as_secs_f64()
    }

    /// Ends a part with this planned number of seconds.
    pub(crate) fn end(&mut self, part: &'static str, meant: f64) {
        let before: f64 = self.done.iter().map(|lap| lap.took).sum();
        self.done.push(Lap { part, meant, took: self.elapsed() - before });
    }

    /// Explains why the total exceeds the budget by more than a tenth; none if it does not.
    pub(crate) fn excess(&self, budget: Option<Seconds>) -> Option<String> {
        explained(self.elapsed(), budget?, &self.done, waiting())
    }
}

fn explained(took: f64, budget: Seconds, done: &[Lap], waiting: Option<(f64, usize)>) -> Option<String> {
    if took <= EXCESS * budget.0 {
        return None;
    }
    let mut over: Vec<&Lap> = done.iter().filter(|lap| lap.took - lap.meant >= NAMED).collect();
    over.sort_by(|a, b| (b.took - b.meant).total_cmp(&(a.took - a.meant)));
    let over = over.iter().map(|Lap { part, took, meant }| {
        format!("{part} took {} instead of {}", Seconds(*took).rounded(), Seconds(*meant).rounded())
    });
    let overload = waiting.filter(|(load, processors)| *load > *processors as f64 + 0.5);
    let overload = overload.map(|(load, processors)| {
        format!(
            "the machine was overloaded ({load:.1} runnable processes on {processors} processors, with those of the \
             job)"
        )
    });
    let why: Vec<String> = over.chain(overload).collect();
    Some(format!("this took {} for a budget of {}: {}", Seconds(took).rounded(), budget.rounded(), why.join("; ")))
}

/// Returns the average number of runnable processes in the last minutes, and the number of processors.
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
                "this took 2.3 min for a budget of 100 s: proving the rules took 44 s instead of 3 s; measuring took \
                 90 s instead of 60 s; the machine was overloaded (5.2 runnable processes on 2 processors, with those \
                 of the job)"
            ),
        );
        let calm = said(136.5, Some((1.2, 2))).expect("is said");
        assert!(calm.ends_with("instead of 60 s"), "{calm}");
    }
}
