//! Jobs that wait for their turns in pipes.

use std::time::{Duration, Instant};

use collrules_record::clock::{ClockFact, LaunchEnd};

use super::Launcher;
use super::conversation::Conversation;
use crate::error::RunnerError;
use crate::launch::LaunchPlan;
use crate::turns::{JobFailure, Jobs, LoopTimes, Turn};
use crate::wire::{TurnRequest, WorkerEvent};

/// Multiple of the time that the first job takes to start after which another one is given up, but not before this time.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(15);

/// Jobs with the conversations in which they get their turns.
pub(super) struct MpiJobs<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) plans: Vec<LaunchPlan>,
    pub(super) conversations: Vec<Conversation>,
    pub(super) began: Instant,
    /// Time until the first job slept.
    pub(super) first_start: Option<Duration>,
}

impl MpiJobs<'_> {
    /// Waits until a job has started and sleeps. If the first one does, others that cannot start next to it are not waited for
    /// as long.
    pub(super) fn wait_until_asleep(&mut self, job: usize) -> Result<(), RunnerError> {
        let patience = match self.first_start {
            Some(first) => (PATIENCE * first).max(LEAST_PATIENCE).min(self.launcher.patience),
            None => self.launcher.patience,
        };
        self.answer(job, (patience, "starting"), |event| matches!(event, WorkerEvent::Asleep).then_some(()))?;
        self.first_start.get_or_insert(self.began.elapsed());
        Ok(())
    }

    /// Waits for an answer of a job, which `find` recognises. An end without one is a failure.
    fn answer<T>(
        &mut self,
        job: usize,
        (patience, doing): (Duration, &str),
        find: impl Fn(WorkerEvent) -> Option<T>,
    ) -> Result<T, RunnerError> {
        let stop = self.launcher.stop();
        let conversation = &mut self.conversations[job];
        while let Some(event) = conversation.next_event(patience, stop, &mut |_| {})? {
            conversation.doing = Some(doing.to_owned());
            if let Some(found) = find(event) {
                return Ok(found);
            }
        }
        Err(RunnerError::WorkerFailed(format!("it ended while {doing}")))
    }

    /// Gives a job its turn.
    fn send(&mut self, job: usize, request: &TurnRequest, doing: &str) -> Result<(), RunnerError> {
        let line = serde_json::to_string(request).map_err(std::io::Error::other)?;
        self.conversations[job].doing = Some(doing.to_owned());
        self.conversations[job].send(line);
        Ok(())
    }
}

impl Jobs for MpiJobs<'_> {
    fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError> {
        let doing = format!("checking {}", self.plans[job].subject(subject));
        self.send(job, &TurnRequest::Check(subject), &doing)?;
        self.answer(job, (self.launcher.patience, &doing), |event| match event {
            WorkerEvent::Checked { subject: checked, failed } if checked == subject => Some(failed),
            _ => None,
        })
    }

    fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError> {
        let subject = turns.first().map_or_else(String::new, |turn| self.plans[job].subject(turn.subject).to_string());
        let doing = format!("timing {subject}");
        self.send(job, &TurnRequest::Time(turns.to_vec()), &doing)?;
        let times = self.answer(job, (self.launcher.patience, &doing), |event| match event {
            WorkerEvent::Timed(times) => Some(times),
            _ => None,
        })?;
        if times.len() == turns.len() {
            return Ok(times);
        }
        Err(RunnerError::WorkerFailed(format!("it answered {} of {} turns while {doing}", times.len(), turns.len())))
    }

    fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure> {
        let doing = "ending";
        let failed = |job: usize| move |error| JobFailure { job, subject: None, error };
        for job in 0..self.conversations.len() {
            self.send(job, &TurnRequest::End, doing).map_err(failed(job))?;
        }
        let (patience, stop) = (self.launcher.patience, self.launcher.stop());
        let mut ends = Vec::with_capacity(self.conversations.len());
        for job in 0..self.conversations.len() {
            let end = self.answer(job, (patience, doing), |event| match event {
                WorkerEvent::Clock(ClockFact::End(end)) => Some(end),
                _ => None,
            });
            ends.push(end.map_err(failed(job))?);
            while self.conversations[job].next_event(patience, stop, &mut |_| {}).map_err(failed(job))?.is_some() {}
        }
        Ok(ends)
    }

    fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}
