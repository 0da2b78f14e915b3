//! A job that sleeps, except in its turns, which the controller gives it one by one.

use std::io::{self, BufRead};

use collrules_record::clock::{ClockFact, LaunchEnd};
use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{TurnRequest, WorkerEvent};
use nix::time::{ClockId, clock_gettime};

use crate::clock::{now, seconds};
use crate::control::{Control, report};
use crate::error::WorkerError;
use crate::faults::Faults;
use crate::measure::Member;
use crate::sleepers::Sleepers;

/// Takes turns until the controller ends the job.
pub(crate) fn run(control: &Control, plan: &LaunchPlan, faults: &Faults) -> Result<(), WorkerError> {
    faults.poll(control.rank());
    let sleepers = Sleepers::new(control);
    report(control, &WorkerEvent::Asleep);
    let mut resident = Resident { control, sleepers, member: None, asleep: [0.0; 2] };
    loop {
        let (request, sets_clock) = resident.next_request()?;
        // Ranks of other jobs start as well until the first turn.
        let member = resident.member.get_or_insert_with(|| Member::new(control, None, plan, faults));
        match request {
            TurnRequest::Check(subject) => {
                let failed = member.open(subject, &mut |_| {})?.failed;
                report(control, &WorkerEvent::Checked { subject, failed });
            }
            TurnRequest::Time(turns) => {
                if sets_clock {
                    member.clock.synchronise();
                }
                let mut times = Vec::with_capacity(turns.len());
                for turn in &turns {
                    times.push(member.take_turn(turn)?);
                }
                report(control, &WorkerEvent::Timed(times));
            }
            TurnRequest::End => {
                let asleep = resident.share_asleep();
                let end = resident.member.as_ref().map_or_else(LaunchEnd::default, Member::end);
                report(control, &WorkerEvent::Clock(ClockFact::End(LaunchEnd { asleep, ..end })));
                return Ok(());
            }
        }
    }
}

/// A rank between turns.
struct Resident<'a> {
    control: &'a Control,
    sleepers: Sleepers<'a>,
    /// Its part in turns, from the first on.
    member: Option<Member<'a>>,
    /// Seconds of processor time while asleep, and seconds asleep.
    asleep: [f64; 2],
}

impl Resident<'_> {
    /// Sleeps until the next request of the controller; with it, true if the common clock is due to be set first.
    fn next_request(&mut self) -> Result<(TurnRequest, bool), WorkerError> {
        if self.control.is_root() {
            let request = self.read_request()?;
            let is_due = self.member.as_ref().is_some_and(Member::is_clock_due);
            self.sleepers.wake();
            return Ok(self.control.broadcast(Some((request, is_due))));
        }
        // Between the wake-up and the message, ranks look for it often.
        let command = if self.sleepers.listens() {
            self.count_sleep(|it| it.control.broadcast(None))
        } else {
            self.count_sleep(|it| it.sleepers.sleep());
            self.control.broadcast(None)
        };
        self.sleepers.wake();
        Ok(command)
    }

    /// Sleeps, and counts the time and the use of processors meanwhile, also by threads of the MPI library.
    fn count_sleep<T>(&mut self, sleep: impl FnOnce(&Self) -> T) -> T {
        let (used, since) = (processor_seconds(), now());
        let woken = sleep(self);
        self.asleep[0] += processor_seconds() - used;
        self.asleep[1] += seconds(now() - since);
        woken
    }

    /// Waits for the next request of the controller. At the end of the input, the controller is gone.
    fn read_request(&mut self) -> Result<TurnRequest, WorkerError> {
        let mut line = String::new();
        let read = self.count_sleep(|_| io::stdin().lock().read_line(&mut line).unwrap_or_default());
        let request = if read == 0 { Ok(TurnRequest::End) } else { serde_json::from_str(&line) };
        request.map_err(|error| WorkerError::BadRequest(error.to_string()))
    }

    /// The share of a processor that the busiest rank used while it slept, on rank 0.
    fn share_asleep(&self) -> Option<f64> {
        let [used, all] = self.asleep;
        let shares = self.control.gather(self.control.ranks(), if all > 0.0 { used / all } else { 0.0 });
        shares.into_iter().reduce(f64::max)
    }
}

/// Processor time of this process so far, in seconds.
fn processor_seconds() -> f64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}
