//! The state of a tuning: the steps that ended, with their results. It is `state.json`, or `state.next.json` while the tuning
//! goes on.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::comparison::Stage;
use crate::file::FormatVersion;
use crate::manifest::now;
use crate::options::Budget;
use crate::placement::Layout;
use crate::settings::{Settings, SettingsFindings};
use crate::units::Seconds;
use crate::validation::{RevertedRange, Validation};

/// The format of both files that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 4, minor: 0 };

/// Steps of a tuning with their results. A step that is here is not done again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningState {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The steps that ended, in order.
    pub steps: Vec<StepRecord>,
    /// The ranges of rules that comparisons reverted to the default, in any layout.
    pub reverted: Vec<RevertedRange>,
    /// Sizes without a clear result whose rule stays, since those around them are faster by it.
    pub carried: Vec<Cell>,
    /// Sizes whose rule was removed for lack of time alone, as in a validation.
    #[serde(default)]
    pub withdrawn: Vec<Cell>,
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
    /// Result of a comparison of rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// Result of one comparison of rules in fresh launches. It never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// When the comparison ended, in UTC, as in RFC 3339.
    pub at: String,
    /// Settings under which rules were compared; without any, with the default.
    pub base: Settings,
    /// The rules that were launched, by Open MPI, files and settings, with the result of each size.
    pub found: Validation,
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
        let (steps, reverted, carried, withdrawn) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { format: FORMAT, steps, reverted, carried, withdrawn, settings: None }
    }
}

impl From<Step> for StepRecord {
    /// A step that takes no time, and shows nothing.
    fn from(step: Step) -> Self {
        Self { step, seconds: Seconds(0.0), evidence: None }
    }
}

impl StepRecord {
    /// A comparison of rules over a base, which ends now.
    pub fn compared(step: Step, base: Settings, found: Validation) -> Self {
        Self { evidence: Some(Evidence { at: now(), base, found }), ..step.into() }
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

    /// Returns true if a layout, or that of the run, had a comparison of rules with the default since they were decided.
    pub fn has_rules_compared(&self, layout: Option<Layout>) -> bool {
        let own = self.steps.iter().rev().take_while(|it| it.step != Step::Decide);
        let is_comparison = |step| match step {
            Step::Compare(Stage::Rules | Stage::Validation(_), own) => own == layout,
            _ => false,
        };
        own.map(|it| it.step).any(is_comparison)
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

    /// When the last comparison of a stage ended, also with an earlier budget.
    pub fn last_end(&self, step: Step) -> Option<&str> {
        let ended = self.steps.iter().filter(|it| it.step == step).filter_map(|it| it.evidence.as_ref());
        ended.map(|evidence| evidence.at.as_str()).next_back()
    }

    /// Results of comparisons over a base, in order, in a layout or in that of the run.
    pub fn evidence<'a>(
        &'a self,
        layout: Option<Layout>,
        base: &'a Settings,
    ) -> impl Iterator<Item = (Stage, &'a Validation)> {
        self.steps.iter().filter_map(move |it| match (it.step, &it.evidence) {
            (Step::Compare(stage, own), Some(evidence)) if own == layout && evidence.base == *base => {
                Some((stage, &evidence.found))
            }
            _ => None,
        })
    }

    /// Goes on with more time: what was undecided is decided again, in a step that begins with this record, and what was shown
    /// stays.
    pub fn reopen(&mut self, begun: StepRecord) {
        self.reverted.clear();
        self.carried.clear();
        self.withdrawn.clear();
        self.settings = self.settings.take().filter(|found| found.chosen.is_some());
        self.steps.push(begun);
    }

    /// Ends a step, which may have shown something.
    pub fn end(&mut self, record: StepRecord) {
        match self.steps.last_mut() {
            Some(last) if last.step == record.step && last.seconds.0 == 0.0 => last.seconds = record.seconds,
            _ => self.steps.push(record),
        }
    }
}
