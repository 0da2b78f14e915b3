//! Jobs that live at the same time and take turns of less than a millisecond: only one runs, the others sleep. What happens to
//! the machine then happens to all, so that their ratios deviate far less than those of jobs one after the other.
//!
//! Source: *duet benchmarking* (Bulej, Horky, Tuma, Farquet, Prokopec, ICPE 2020), whose two programs run on different cores
//! at the same time, and *randomised interleaved trials* (Abedi and Brecht, ICPE 2017). Ranks spin, so ours alternate.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use collrules_record::clock::LaunchEnd;
use collrules_record::estimate::median;
use collrules_record::units::Seconds;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::RunnerError;

/// Least number of passes: each job is once before and once behind the others.
const LEAST_PASSES: u32 = 2;

/// Calls by which the time of a subject is first estimated, after as many untimed ones.
const TRIAL_CALLS: u32 = 3;

/// Ratio of the calls that a turn could have to those of a trial, from which on more calls are tried: the first calls after a
/// job wakes take several times as long.
const FEW_CALLS: u32 = 2;

/// Least number of calls of a turn in which two calls have room, for the same reason.
const LEAST_CALLS: u32 = 6;

/// Divisor of the calls of a turn that gives the untimed ones before them.
const WARMUP: u32 = 5;

/// Largest number of turns at once, if waking a job takes longer than a turn.
const MOST_AT_ONCE: usize = 16;

/// A loop of calls of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Index of the subject in the plan of its job.
    pub subject: usize,
    /// Candidate of the cell, or cast of the pattern.
    pub place: usize,
    /// Number of the turn of this subject, from 0.
    pub number: u32,
    /// Untimed calls before the loop.
    pub warmup: u32,
    /// Calls of the loop.
    pub calls: u32,
}

/// Times of the calls of a turn, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopTimes {
    /// Mean over the calls of the slowest rank's time.
    pub mean: f64,
    /// Like `mean`, without the slowest calls, since other work on the machine makes calls slow.
    pub usual: f64,
    /// Duration of a call with the synchronisation before it, untimed calls included.
    pub lap: f64,
}

impl LoopTimes {
    /// Share of the slowest calls that [`Self::usual`] leaves out.
    const LEFT_OUT: f64 = 0.05;

    /// The times of a turn from those of its calls; none without a call.
    pub fn new(mut calls: Vec<f64>, lap: f64) -> Option<Self> {
        let all = calls.len();
        let mean = |calls: &[f64]| calls.iter().sum::<f64>() / calls.len() as f64;
        calls.sort_unstable_by(f64::total_cmp);
        let kept = (all - (Self::LEFT_OUT * all as f64).ceil() as usize).max(1).min(all);
        (all > 0).then(|| Self { mean: mean(&calls), usual: mean(&calls[..kept]), lap })
    }
}

/// Failure of one of several jobs.
#[derive(Debug)]
pub struct JobFailure {
    /// Index of the job.
    pub job: usize,
    /// Index of the subject that it was calling; none if it was doing something else.
    pub subject: Option<usize>,
    /// Error of the job, or of whatever else ended the conversation.
    pub error: RunnerError,
}

/// Jobs that sleep, except the one whose turn it is. When this is dropped, they end.
pub trait Jobs {
    /// Calls a subject of a job with checked data. Returns the candidates or casts that failed, with the reason.
    fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError>;

    /// Times loops of calls in a job, in this order. None for a turn without a valid call.
    fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError>;

    /// Ends all jobs in order. Returns the totals of each.
    fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure>;

    /// Seconds since the first job began to start.
    fn elapsed(&self) -> f64;
}

/// A subject that takes turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnSubject {
    /// Index of the subject in the plans of the jobs.
    pub subject: usize,
    /// Candidate of the cell, or cast of the pattern.
    pub place: usize,
    /// True if its data is checked in each job.
    pub is_checked: bool,
    /// Calls of a turn, if earlier blocks determined them.
    pub calls: Option<u32>,
    /// Jobs that do not call it.
    pub left_out: Vec<usize>,
}

/// Lengths of turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnSchedule {
    /// Time of a turn.
    pub turn: Seconds,
    /// Smallest and largest number of calls of a turn.
    pub calls: (u32, u32),
    /// Passes over all subjects, of which subjects with long calls have fewer.
    pub passes: u32,
    /// Time for the jobs: no pass begins that would end later, except the first.
    pub limit: Option<Seconds>,
    /// Seed of the order.
    pub seed: u64,
}

/// What jobs did in their turns. Subjects are given by their index in the list of [`take_turns`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnsTaken {
    /// Times of the turns of each subject, by job.
    pub times: Vec<BTreeMap<usize, Vec<LoopTimes>>>,
    /// Subjects with wrong data: job, subject, finding.
    pub wrong: Vec<(usize, usize, String)>,
    /// Calls of a turn of each subject that was timed.
    pub calls: BTreeMap<usize, u32>,
    /// Totals of each job.
    pub ends: Vec<LaunchEnd>,
    /// Seconds until all jobs slept.
    pub startup: f64,
    /// Seconds until the last job had ended.
    pub seconds: f64,
}

/// Lets jobs take turns: each subject is checked in each job, then timed in passes. In a pass, a subject's turns alternate over
/// the jobs, in one order and then in the reverse one, so that a drift favours no job.
pub fn take_turns(
    jobs: &mut dyn Jobs,
    count: usize,
    subjects: &[TurnSubject],
    schedule: &TurnSchedule,
    stop: &AtomicBool,
) -> Result<TurnsTaken, JobFailure> {
    let startup = jobs.elapsed();
    let taken = TurnsTaken { times: vec![BTreeMap::new(); count], startup, ..TurnsTaken::default() };
    let mut table =
        RunningTurns { jobs, count, subjects, schedule, stop, taken, laps: BTreeMap::new(), overhead: Vec::new() };
    table.check()?;
    table.count_calls()?;
    table.time()?;
    let RunningTurns { jobs, mut taken, .. } = table;
    taken.ends = jobs.end()?;
    taken.seconds = jobs.elapsed();
    Ok(taken)
}

/// The jobs with what they did so far.
struct RunningTurns<'a> {
    jobs: &'a mut dyn Jobs,
    count: usize,
    subjects: &'a [TurnSubject],
    schedule: &'a TurnSchedule,
    /// Ends the turns once it is set.
    stop: &'a AtomicBool,
    taken: TurnsTaken,
    /// Seconds of a call of each subject with its synchronisation.
    laps: BTreeMap<usize, f64>,
    /// Seconds that some turns took longer than their calls.
    overhead: Vec<f64>,
}

impl RunningTurns<'_> {
    /// Returns true if a job calls a subject.
    fn calls(&self, job: usize, subject: usize) -> bool {
        let is_wrong = |(of, it, _): &(usize, usize, String)| (*of, *it) == (job, subject);
        !self.subjects[subject].left_out.contains(&job) && !self.taken.wrong.iter().any(is_wrong)
    }

    /// Checks the data of all calls.
    fn check(&mut self) -> Result<(), JobFailure> {
        for (index, subject) in self.subjects.iter().enumerate().filter(|(_, subject)| subject.is_checked) {
            // One check covers all casts of a pattern.
            let is_first = |it: &TurnSubject| it.is_checked && it.subject == subject.subject;
            if self.subjects[..index].iter().any(is_first) {
                continue;
            }
            for job in 0..self.count {
                if subject.left_out.contains(&job) {
                    continue;
                }
                let failed = self.jobs.check(job, subject.subject);
                let failed = failed.map_err(|error| JobFailure { job, subject: Some(index), error })?;
                for (place, why) in failed {
                    let found = self.subjects.iter().position(|it| (it.subject, it.place) == (subject.subject, place));
                    self.taken.wrong.extend(found.map(|found| (job, found, why)));
                }
            }
        }
        Ok(())
    }

    /// Finds out how many calls of each subject a turn has.
    fn count_calls(&mut self) -> Result<(), JobFailure> {
        for (index, subject) in self.subjects.iter().enumerate() {
            let calls = match subject.calls {
                Some(known) => Some(known),
                None => self.try_calls(index)?,
            };
            self.taken.calls.extend(calls.map(|calls| (index, calls)));
        }
        Ok(())
    }

    /// The number of calls of a subject that take as long as a turn; none if it cannot be called.
    fn try_calls(&mut self, index: usize) -> Result<Option<u32>, JobFailure> {
        let Some(job) = (0..self.count).find(|job| self.calls(*job, index)) else { return Ok(None) };
        let TurnSubject { subject, place, .. } = self.subjects[index];
        let (least, most) = self.schedule.calls;
        let mut tried = TRIAL_CALLS;
        loop {
            let turn = Turn { subject, place, number: 0, warmup: TRIAL_CALLS, calls: tried };
            let Some(Some(LoopTimes { lap, .. })) = self.turn(job, &[(index, turn)])?.first().copied() else {
                return Ok(None);
            };
            let affordable = (self.schedule.turn.0 / lap.max(1e-9)).min(f64::from(u32::MAX)) as u32;
            let several = if affordable > 1 { affordable.max(LEAST_CALLS) } else { affordable };
            let calls = several.clamp(least, most).max(1);
            if calls <= FEW_CALLS * tried || least == most {
                return Ok(Some(calls));
            }
            tried = calls;
        }
    }

    /// Times all subjects in passes.
    fn time(&mut self) -> Result<(), JobFailure> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.schedule.seed);
        let mut order: Vec<usize> = self.taken.calls.keys().copied().collect();
        order.shuffle(&mut rng);
        let at_once = self.count_at_once();
        let mut jobs: Vec<usize> = (0..self.count).collect();
        jobs.shuffle(&mut rng);
        for pass in 0..self.schedule.passes.max(LEAST_PASSES) {
            let began = self.jobs.elapsed();
            let due: Vec<usize> = order.iter().copied().filter(|subject| pass < self.passes_of(*subject)).collect();
            for (number, together) in due.chunks(at_once).enumerate() {
                for place in 0..self.count {
                    let is_reversed = (pass as usize + number) % 2 == 1;
                    let job = jobs[if is_reversed { self.count - 1 - place } else { place }];
                    let turns = together.iter().filter(|subject| self.calls(job, **subject));
                    let turns: Vec<_> = turns.map(|subject| (*subject, self.loop_of(*subject, pass))).collect();
                    let times = if turns.is_empty() { Vec::new() } else { self.turn(job, &turns)? };
                    for ((subject, _), times) in turns.iter().zip(times) {
                        self.taken.times[job].entry(*subject).or_default().extend(times);
                    }
                }
            }
            let now = self.jobs.elapsed();
            let is_over = self.schedule.limit.is_some_and(|limit| now + (now - began) > limit.0);
            if is_over && pass + 1 >= LEAST_PASSES.min(self.schedule.passes) {
                break;
            }
        }
        Ok(())
    }

    /// The loop of a subject in a pass. The first has an untimed call in any case, which sets up connections.
    fn loop_of(&self, subject: usize, pass: u32) -> Turn {
        let TurnSubject { subject: index, place, .. } = self.subjects[subject];
        let calls = self.taken.calls[&subject];
        let warmup = (calls / WARMUP).max(u32::from(pass == 0));
        Turn { subject: index, place, number: pass, warmup, calls }
    }

    /// Passes of a subject: fewer if its turns are longer than planned, since its calls are.
    fn passes_of(&self, subject: usize) -> u32 {
        let lap = self.laps.get(&subject).copied().unwrap_or_default();
        let turn = lap * f64::from(self.taken.calls[&subject]);
        let share = (self.schedule.turn.0 / turn.max(1e-9)).min(1.0);
        ((f64::from(self.schedule.passes) * share).ceil() as u32).max(LEAST_PASSES)
    }

    /// Number of turns at once, so that waking a job does not take longer than its turn.
    fn count_at_once(&self) -> usize {
        let overhead = median(&mut self.overhead.clone()).unwrap_or_default();
        ((overhead / self.schedule.turn.0.max(1e-9)).ceil() as usize).clamp(1, MOST_AT_ONCE)
    }

    /// Lets a job take turns, and notes what they cost.
    fn turn(&mut self, job: usize, turns: &[(usize, Turn)]) -> Result<Vec<Option<LoopTimes>>, JobFailure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(JobFailure { job, subject: None, error: RunnerError::Interrupted });
        }
        let began = self.jobs.elapsed();
        let asked: Vec<Turn> = turns.iter().map(|(_, turn)| *turn).collect();
        let times = self.jobs.time(job, &asked);
        let subject = turns.first().map(|(subject, _)| *subject).filter(|_| turns.len() == 1);
        let times = times.map_err(|error| JobFailure { job, subject, error })?;
        let mut calling = 0.0;
        for ((subject, turn), times) in turns.iter().zip(&times) {
            let Some(times) = times else { continue };
            calling += times.lap * f64::from(turn.warmup + turn.calls);
            self.laps.insert(*subject, times.lap);
        }
        self.overhead.push((self.jobs.elapsed() - began - calling).max(0.0));
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs whose calls take known times, with a machine whose speed changes from turn to turn.
    struct Known {
        /// Seconds of a call, by job and subject.
        times: Vec<Vec<f64>>,
        /// Seconds that it takes to wake a job.
        overhead: f64,
        /// Seconds that the calls of a turn take in addition, since the first ones after a sleep are slow.
        cold: f64,
        /// Factor of the machine by turn.
        drift: f64,
        clock: f64,
        /// Job, subjects and calls of each turn.
        taken: Vec<(usize, Vec<usize>, u32)>,
        wrong: Option<(usize, usize)>,
        /// The job that dies in calls of a subject.
        dies: Option<(usize, usize)>,
    }

    impl Jobs for Known {
        fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError> {
            let is_wrong = self.wrong == Some((job, subject));
            Ok(if is_wrong { vec![(0, "byte 3".to_owned())] } else { Vec::new() })
        }

        fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError> {
            self.taken.push((job, turns.iter().map(|turn| turn.subject).collect(), turns[0].calls));
            self.clock += self.overhead;
            let machine = 1.0 + self.drift * self.taken.len() as f64;
            let mut times = Vec::new();
            for turn in turns {
                if self.dies == Some((job, turn.subject)) {
                    return Err(RunnerError::WorkerFailed("it died".to_owned()));
                }
                let time = machine * self.times[job][turn.subject];
                let all = f64::from(turn.calls + turn.warmup);
                self.clock += self.cold + time * all;
                times.push(LoopTimes::new(vec![time; turn.calls as usize], time + self.cold / all));
            }
            Ok(times)
        }

        fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure> {
            Ok(vec![LaunchEnd::default(); self.times.len()])
        }

        fn elapsed(&self) -> f64 {
            self.clock
        }
    }

    const SCHEDULE: TurnSchedule =
        TurnSchedule { turn: Seconds(1e-3), calls: (1, 2000), passes: 6, limit: None, seed: 1 };

    fn jobs(times: &[&[f64]]) -> Known {
        let times = times.iter().map(|times| times.to_vec()).collect();
        Known { times, overhead: 0.0, cold: 0.0, drift: 0.0, clock: 0.0, taken: Vec::new(), wrong: None, dies: None }
    }

    fn take(jobs: &mut Known, schedule: &TurnSchedule) -> Result<TurnsTaken, JobFailure> {
        let subject = |subject| TurnSubject { subject, is_checked: true, ..TurnSubject::default() };
        let subjects: Vec<TurnSubject> = (0..jobs.times[0].len()).map(subject).collect();
        let count = jobs.times.len();
        take_turns(jobs, count, &subjects, schedule, &AtomicBool::new(false))
    }

    #[test]
    fn turns_are_as_long_as_planned_and_calls_as_many_in_each_job() {
        let mut known = jobs(&[&[1e-7, 1e-5, 2e-2], &[2e-7, 1e-5, 1e-2]]);
        let taken = take(&mut known, &SCHEDULE).expect("all is well");
        assert_eq!(taken.calls, [(0, 2000), (1, 100), (2, 1)].into(), "at most 2000, and a millisecond otherwise");
        for times in &taken.times {
            let turns: Vec<usize> = times.values().map(Vec::len).collect();
            assert_eq!(turns, [6, 6, 2], "long calls have fewer turns");
        }
    }

    /// As measured: three calls of half a microsecond take 60 us after a job wakes.
    #[test]
    fn slow_first_calls_do_not_shorten_turns() {
        let mut known = Known { cold: 6e-5, ..jobs(&[&[1e-6, 3e-4, 1e-2], &[1e-6, 3e-4, 1e-2]]) };
        let taken = take(&mut known, &SCHEDULE).expect("all is well");
        assert!(taken.calls[&0] > 850, "{:?}", taken.calls);
        assert_eq!((taken.calls[&1], taken.calls[&2]), (6, 1));
    }

    /// Each job is as often before the others as behind them.
    #[test]
    fn a_drift_of_the_machine_favours_no_job() {
        let mut known = Known { drift: 0.01, ..jobs(&[&[1e-5; 8], &[1e-5; 8]]) };
        let taken = take(&mut known, &SCHEDULE).expect("all is well");
        let mean = |job: usize| {
            let all: Vec<f64> = taken.times[job].values().flatten().map(|times| times.usual).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        assert!((mean(0) / mean(1) - 1.0).abs() < 1e-3, "{} {}", mean(0), mean(1));
    }

    #[test]
    fn slow_wake_ups_are_shared_by_several_subjects() {
        let mut known = Known { overhead: 5e-3, ..jobs(&[&[1e-5; 12], &[1e-5; 12]]) };
        let taken = take(&mut known, &SCHEDULE).expect("all is well");
        assert!(
            known.taken.iter().any(|(_, subjects, _)| (5..=6).contains(&subjects.len())),
            "{:?}",
            known.taken.last()
        );
        assert!(taken.times.iter().all(|times| times.values().all(|turns| turns.len() == 6)));
    }

    #[test]
    fn no_pass_begins_that_ends_too_late_but_two() {
        let passes = |limit: f64| {
            let mut known = jobs(&[&[1e-5; 10], &[1e-5; 10]]);
            let schedule = TurnSchedule { limit: Some(Seconds(limit)), ..SCHEDULE };
            take(&mut known, &schedule).expect("all is well").times[0][&0].len()
        };
        // A pass takes 24 ms, and to find the calls of turns 11 ms.
        assert_eq!((passes(0.01), passes(0.11), passes(10.0)), (2, 4, 6));
    }

    #[test]
    fn wrong_data_leaves_out_a_subject_of_a_job_and_failures_name_both() {
        let mut known = Known { wrong: Some((1, 0)), ..jobs(&[&[1e-5; 2], &[1e-5; 2]]) };
        let taken = take(&mut known, &SCHEDULE).expect("all is well");
        assert_eq!(taken.wrong, [(1, 0, "byte 3".to_owned())]);
        assert_eq!((taken.times[0].len(), taken.times[1].len()), (2, 1));
        let mut known = Known { dies: Some((1, 1)), ..jobs(&[&[1e-5; 2], &[1e-5; 2]]) };
        let failure = take(&mut known, &SCHEDULE).expect_err("a job dies");
        assert_eq!((failure.job, failure.subject), (1, Some(1)));
    }

    #[test]
    fn the_slowest_calls_of_a_turn_are_left_out() {
        let mut calls = vec![1.0; 39];
        calls.push(41.0);
        let times = LoopTimes::new(calls, 1.5).expect("has calls");
        assert_eq!((times.usual, times.mean, times.lap), (1.0, 2.0, 1.5));
        assert!(LoopTimes::new(Vec::new(), 1.0).is_none());
        assert_eq!(LoopTimes::new(vec![3.0], 1.0).map(|times| times.usual), Some(3.0));
    }
}
