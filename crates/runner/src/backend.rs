//! Backends that can survey, measure and probe: a launched MPI job, or a cost model.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Cell, Component, Layout, Plan, Survey, competitor};
use collrules_rules::Distribution;
use collrules_rules::settings::parameters::Parameters;

use crate::error::RunnerError;
use crate::job_clock::JobClock;
use crate::launch::LaunchPlan;
use crate::selection::Log;
use crate::turns::{JobFailure, Jobs};
use crate::wire::{CallEnd, WorkerEvent};

/// Receiver of a launch's events; its errors end the launch.
pub type Report<'a> = &'a mut dyn FnMut(WorkerEvent) -> Result<(), RunnerError>;

/// Silence that is no sign of a hang: this multiple of a job's start, and at least these seconds.
const SILENT_STARTS: f64 = 8.0;
const LEAST_SILENCE: f64 = 2.0;

/// The longest silence of a job that has this time after its start.
pub fn silence_within(seconds: f64, startup: Seconds) -> Duration {
    Duration::from_secs_f64((seconds + SILENT_STARTS * startup.0).max(LEAST_SILENCE))
}

/// Runs jobs that are ended after this silence, or earlier if that is usual; the usual one without a limit.
pub fn with_patience<T>(
    backend: &mut dyn Backend,
    most: Option<Duration>,
    run: impl FnOnce(&mut dyn Backend) -> T,
) -> T {
    let usual =
        backend.patience().map(|patience| std::mem::replace(patience, most.unwrap_or(*patience).min(*patience)));
    let result = run(backend);
    if let (Some(patience), Some(usual)) = (backend.patience(), usual) {
        *patience = usual;
    }
    result
}

/// The source of timings. One value is used for a whole campaign.
pub trait Backend {
    /// `mpi` or `simulation`, for the manifest.
    fn name(&self) -> &'static str;

    /// The clock by which its jobs take time.
    fn clock(&self) -> JobClock {
        JobClock::Machine
    }

    /// Names a directory that all nodes see, for files that exist while a job runs.
    fn use_scratch(&mut self, _directory: &Path) {}

    /// Surveys the system: library, hosts, slots, algorithms.
    fn survey(&mut self) -> Result<Survey, RunnerError>;

    /// The command that will start the measuring job of a plan; empty if nothing is launched.
    fn launcher(&self, plan: &Plan) -> Vec<String>;

    /// Measures a launch, or tries its cells ([`engine::run`](crate::engine::run)), and reports events.
    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError>;

    /// Starts jobs that live at the same time, one for each of these launches, with subjects of the same indices. They end
    /// when the result is dropped.
    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure>;

    /// Makes calls in one launch with this rules file, and returns one outcome per call.
    fn probe(&mut self, rules: &Path, calls: &[Cell]) -> Result<Vec<CallEnd>, RunnerError> {
        Ok(self.probe_without(rules, calls, &[])?.into_iter().flatten().collect())
    }

    /// Like [`Self::probe`], on communicators without certain components: returns for each call one outcome per list of
    /// excluded components, or one if there are no lists. With lists, no algorithm is forced.
    fn probe_without(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError>;

    /// The parameters of the installation, with their sources.
    fn parameters(&self) -> Result<Parameters, RunnerError> {
        Ok(Parameters::default())
    }

    /// The values of parameters on every rank of a job that fills the slots, under these settings, in rank order.
    fn values(
        &mut self,
        _settings: &BTreeMap<String, String>,
        _names: &[String],
    ) -> Result<Vec<BTreeMap<String, String>>, RunnerError> {
        Ok(Vec::new())
    }

    /// The silence after which jobs are ended, to change it; none without jobs.
    fn patience(&mut self) -> Option<&mut Duration> {
        None
    }

    /// Returns Open MPI's log of the rules that it selects for these calls under this rules file; none if nothing can
    /// be logged.
    fn log_selections(&mut self, _rules: &Path, _calls: &[Cell]) -> Result<Option<Log>, RunnerError> {
        Ok(None)
    }

    /// Returns the distribution over nodes of a communicator with this many ranks, as rules for one layout see it.
    fn distribution(&self, _ranks: Ranks) -> Distribution {
        Distribution::Any
    }

    /// Lets communicators take their ranks in this layout from now on.
    fn lay_out(&mut self, _layout: Layout) {}

    /// The MCA settings added to every launch, to change them; none if settings have no effect.
    fn pins(&mut self) -> Option<&mut BTreeMap<String, String>> {
        None
    }

    /// Adds MCA settings to every launch from now on; returns the previous ones.
    fn pin(&mut self, pins: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let Some(own) = self.pins() else { return BTreeMap::new() };
        let all = competitor::add_settings(own, pins);
        std::mem::replace(own, all)
    }

    /// Adds settings that leave out a component whose calls end jobs: also to launches without anything of ours, which could
    /// not be compared otherwise.
    fn leave_out(&mut self, pins: &BTreeMap<String, String>) {
        self.pin(pins);
    }

    /// Replaces all added settings.
    fn set_pins(&mut self, pins: BTreeMap<String, String>) {
        if let Some(own) = self.pins() {
            *own = pins;
        }
    }
}
