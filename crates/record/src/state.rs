//! The state of a tuning: the steps that ended, with what is known after the last of them: `state.json`.

use serde::{Deserialize, Serialize};

use crate::comparison::Stage;
use crate::file::FormatVersion;
use crate::options::Budget;
use crate::placement::Layout;
use crate::settings::SettingsFindings;
use crate::units::Seconds;
use crate::validation::{RevertedRange, Validation};

/// The format of `state.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Steps of a tuning with their results. A step that is here is not done again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningState {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The steps that ended, in order.
    pub steps: Vec<StepRecord>,
    /// What fresh launches showed of the rules, and the ranges that they reverted, in the layout of the run.
    pub validation: Option<Validation>,
    /// The same in other layouts.
    pub layouts: Vec<(Layout, Validation)>,
    /// What they showed before the last decision, of other rules: it holds for sizes with the same rule.
    pub earlier: Option<Validation>,
    /// Result of the search for settings.
    pub settings: Option<SettingsFindings>,
}

/// A step that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The step.
    pub step: Step,
    /// Duration.
    pub seconds: Seconds,
}

/// Step of a tuning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A command began with this budget, from which the seconds of later steps count.
    Begin(Budget),
    /// Timings were taken, and rules decided.
    Measure,
    /// Rules are decided anew: others than those compared before, or with more time.
    Decide,
    /// A comparison of rules; in another layout than that of the run if one is named.
    Compare(Stage, Option<Layout>),
    /// A search for settings.
    Search,
}

impl Default for TuningState {
    fn default() -> Self {
        Self { format: FORMAT, steps: Vec::new(), validation: None, layouts: Vec::new(), earlier: None, settings: None }
    }
}

impl TuningState {
    /// Returns true if a step ended: a comparison for the rules that were decided last, others with the last budget.
    pub fn has(&self, step: Step) -> bool {
        let is_over = |it: &StepRecord| match step {
            Step::Compare(..) => it.step == Step::Decide,
            _ => matches!(it.step, Step::Begin(_)),
        };
        self.steps.iter().rev().take_while(|it| !is_over(it)).any(|it| it.step == step)
    }

    /// The budget of the last command with one of its own.
    pub fn budget(&self) -> Option<Budget> {
        let budget = |record: &StepRecord| match record.step {
            Step::Begin(budget) => Some(budget),
            _ => None,
        };
        self.steps.iter().rev().find_map(budget)
    }

    /// Seconds of those steps since the last budget that a filter lets pass.
    pub fn spent(&self, filter: impl Fn(Step) -> bool) -> f64 {
        let own = self.steps.iter().rev().take_while(|it| !matches!(it.step, Step::Begin(_)));
        own.filter(|it| filter(it.step)).map(|it| it.seconds.0).sum()
    }

    /// Share of the error rate for comparisons of rules: half of it for each decision, since those before may have spent theirs.
    pub fn error_share(&self) -> f64 {
        0.5f64.powi(self.steps.iter().filter(|it| it.step == Step::Decide).count() as i32)
    }

    /// Seconds of all comparisons of a stage, also with earlier budgets.
    pub fn compared(&self, step: Step) -> f64 {
        self.steps.iter().filter(|it| it.step == step).map(|it| it.seconds.0).sum()
    }

    /// The comparison in another layout than that of the run.
    pub fn in_layout(&self, layout: Layout) -> Option<&Validation> {
        self.layouts.iter().find(|(other, _)| *other == layout).map(|(_, validation)| validation)
    }

    /// Replaces the comparison in another layout.
    pub fn set_layout(&mut self, layout: Layout, validation: Validation) {
        self.layouts.retain(|(other, _)| *other != layout);
        self.layouts.push((layout, validation));
    }

    /// The comparisons in all layouts.
    pub fn validations_mut(&mut self) -> impl Iterator<Item = &mut Validation> {
        self.validation.iter_mut().chain(self.layouts.iter_mut().map(|(_, validation)| validation))
    }

    /// The ranges of rules that comparisons reverted, in any layout.
    pub fn reverted(&self) -> Vec<RevertedRange> {
        let all = self.validation.iter().chain(self.layouts.iter().map(|(_, validation)| validation));
        let mut reverted = Vec::new();
        for range in all.flat_map(|validation| &validation.reverted) {
            if !reverted.contains(range) {
                reverted.push(*range);
            }
        }
        reverted
    }
}
