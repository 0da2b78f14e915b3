//! An experiment, as plain data: what a command measures. Each command builds its own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::condition::{ArrivalPattern, Condition};
use crate::grid::Grid;
use crate::options::{Budget, RefinementOptions, SystemOptions, TimingOptions, TuneOptions};
use crate::placement::Layout;
use crate::policy::Assumptions;
use crate::profile::weight::Weight;
use crate::units::Seconds;

/// Budget of a tuning that names none.
pub const DEFAULT_BUDGET: Seconds = Seconds(300.0);

/// Calls to time, with their budget and system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The cells with their alternatives, and other measurements.
    pub grid: Grid,
    /// Time for the whole experiment.
    pub budget: Budget,
    /// Number of launches.
    pub launches: u32,
    /// Seed of every random order.
    pub seed: u64,
    /// True if every alternative is timed to the end in every launch, however slow.
    pub keep_slow: bool,
    /// Options of timing calls.
    pub timing: TimingOptions,
    /// The condition of the timed calls.
    pub condition: Condition,
    /// Arrivals of ranks in the programs of the tuning, or in that of `--arrival`.
    pub arrivals: Vec<ArrivalPattern>,
    /// The gain over the default that decides, such as 0.03: cells near it are worth more time.
    pub min_gain: f64,
    /// Guarantees that programs are assumed to give, which sort alternatives into groups.
    pub assumptions: Assumptions,
    /// Measurements between the sizes of the grid.
    pub refinement: RefinementOptions,
    /// True if a share of the budget is reserved for a comparison in fresh launches.
    pub validate: bool,
    /// True if a share of the budget is reserved for a search for settings.
    pub searches: bool,
    /// A rules file, or a run with a tuning, under which all of it is measured once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_rules: Option<PathBuf>,
    /// Layouts that are measured as well, each in a run of its own within the run.
    pub also_layout: Vec<Layout>,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

impl Experiment {
    /// An experiment that only measures this grid, with usual timing.
    pub fn new(grid: Grid, system: SystemOptions) -> Self {
        Self {
            grid,
            budget: Some(DEFAULT_BUDGET),
            launches: 3,
            seed: 1,
            keep_slow: false,
            timing: TimingOptions::default(),
            condition: Condition::default(),
            arrivals: Vec::new(),
            min_gain: 0.03,
            assumptions: Assumptions::default(),
            refinement: RefinementOptions::NONE,
            validate: false,
            searches: false,
            under_rules: None,
            also_layout: Vec::new(),
            system,
        }
    }

    /// The number of passes over all of it.
    pub fn passes(&self) -> u32 {
        if self.under_rules.is_some() { 2 } else { 1 }
    }
}

impl TuneOptions {
    /// Builds the experiment of a tuning, with the time that programs spend in each cell as weights.
    pub fn experiment(&self, weights: Vec<Weight>) -> Experiment {
        Experiment {
            budget: self.budget,
            launches: self.launches,
            seed: self.seed,
            keep_slow: self.keep_slow,
            timing: self.timing,
            condition: self.condition,
            min_gain: self.criteria.min_gain,
            assumptions: self.policy.assumptions,
            refinement: self.refinement,
            validate: self.validate,
            also_layout: self.also_layout.clone(),
            ..Experiment::new(Grid { weights, ..self.grid.clone() }, self.system.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TuneOptions;

    #[test]
    fn the_usual_grid_is_that_of_tune_without_options() {
        let usual = TuneOptions::default();
        let experiment = usual.experiment(Vec::new());
        assert_eq!(experiment.grid, Grid::default());
        let plain = Experiment::new(Grid::default(), usual.system.clone());
        let (refinement, condition, validate) = (usual.refinement, Condition::OF_PROGRAMS, true);
        assert_eq!(experiment, Experiment { refinement, condition, validate, ..plain });
    }
}
