//! What can survey, measure and probe: a launched MPI job, or a cost model.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::{Cell, Component, Layout, Plan, Survey};

use crate::error::RunnerError;
use crate::launch::LaunchPlan;
use crate::wire::{CallEnd, Event};

/// The source of timings. One value serves a whole campaign.
pub trait Backend {
    /// `mpi` or `simulation`, for the manifest.
    fn name(&self) -> &'static str;

    /// Names a directory that all nodes see, for files that exist while a job runs.
    fn use_scratch(&mut self, _directory: &Path) {}

    /// Finds out what there is: library, hosts, slots, algorithms.
    fn survey(&mut self) -> Result<Survey, RunnerError>;

    /// The command that will start the measuring job of a plan; empty where nothing is launched.
    fn launcher(&self, plan: &Plan) -> Vec<String>;

    /// Measures what a launch is to measure, and reports as it goes. An error from `report` ends the launch.
    fn measure(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(Event) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError>;

    /// Calls the candidates of a launch cell by cell, and reports where it is, but no times
    /// ([`engine::trial`](crate::engine::trial)).
    fn trial(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(Event) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError>;

    /// Makes calls in one launch that has loaded this rules file, and returns one outcome per call.
    fn probe(&mut self, rules: &Path, calls: &[Cell]) -> Result<Vec<CallEnd>, RunnerError>;

    /// The same on communicators without certain components: for each call one outcome per list of components that are
    /// left out.
    fn serving(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        // Where there are no components, leaving some out changes nothing.
        let outcomes = self.probe(rules, calls)?;
        Ok(outcomes.into_iter().map(|outcome| vec![outcome; without.len()]).collect())
    }

    /// Lets communicators take their ranks by this layout from now on.
    fn lay_out(&mut self, _layout: Layout) {}

    /// Adds MCA settings to every launch from now on, and says which there were before.
    fn pin(&mut self, _pins: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        // Where nothing is launched, settings have no effect.
        BTreeMap::new()
    }

    /// Replaces all settings that were added.
    fn set_pins(&mut self, _pins: BTreeMap<String, String>) {}
}
