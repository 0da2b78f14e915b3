//! Changes from one run to a later one, as plain data.

use std::collections::BTreeMap;

use collrules_record::clock::{ClockFact, ClockLine};
use collrules_record::estimate::geometric_mean;
use collrules_record::transport::Transport;
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Candidate, Cell, Estimate, FormatVersion, Manifest, Seconds};
use collrules_rules::{Release, Version};
use serde::{Deserialize, Serialize};

use super::limitation::Limitation;

/// The version of this structure that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// Two runs, cell by cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The earlier run.
    pub before: ComparedRun,
    /// The later run.
    pub after: ComparedRun,
    /// Differences between the systems and the ways of measuring.
    pub differences: Vec<RunDifference>,
    /// Reasons why the comparison is incomplete or impossible.
    pub obstacles: Vec<Limitation>,
    /// Criteria for a change: the least difference, and the false discovery rate.
    pub criteria: ValidationCriteria,
    /// The cells that both runs have, ordered by collective, communicator size and message size.
    pub cells: Vec<CellChange>,
    /// Numbers of cells that only the earlier or only the later run has, or that cannot be compared.
    pub left_out: (usize, usize),
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// The run, as the user named it.
    pub source: String,
    /// The release whose algorithms were assumed.
    pub release: Release,
    /// The Open MPI that was measured; missing if it is unknown.
    pub version: Option<Version>,
    /// Time at which measuring began; missing if it is unknown.
    pub started: Option<String>,
    /// Number of ranges that overrule the builtin.
    pub rules: usize,
    /// True if the times come from a cost model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// A property of a run by which times may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunProperty {
    /// The version of Open MPI.
    Version,
    /// The library's own version string.
    Library,
    /// The backend.
    Backend,
    /// The version of collrules.
    Collrules,
    /// The number of slots.
    Slots,
    /// The host names.
    Hosts,
    /// The transport of messages.
    Transport,
    /// The kernel.
    Kernel,
    /// The kind of processor.
    Processor,
    /// The number of processors.
    Processors,
    /// The layout of ranks.
    Layout,
    /// The synchronisation of ranks before a call.
    Sync,
    /// The settings that the rules need.
    Pins,
    /// Parameters of `coll/tuned` that were set before.
    Preset,
    /// Components with their priorities.
    Components,
    /// MCA parameters in the environment.
    Environment,
    /// The barrier before each call, in the slowest launch.
    Barrier,
}

/// A difference between the two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDifference {
    /// The property that differs.
    pub what: RunProperty,
    /// Its value in the earlier run.
    pub before: String,
    /// Its value in the later run.
    pub after: String,
}

/// One cell in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellChange {
    /// The cell.
    pub cell: Cell,
    /// The builtin's time before over its time now: above 1 if it became faster. Without an interval if the runs have
    /// too few launches.
    pub builtin: Estimate,
    /// Probability of such a difference, in either direction, if there were none, adjusted for the number of cells.
    pub q_value: Option<f64>,
    /// The verdict on the builtin.
    pub change: Outcome,
    /// Choices of the earlier and of the later run's rules.
    pub in_use: (Candidate, Candidate),
    /// Value of the earlier rules today; missing if the later run has not timed their choice.
    pub old_rules: Option<OldRules>,
}

/// Value of a choice of the earlier run, by the times of the later one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OldRules {
    /// Choice of the earlier rules for this call, in the later run's Open MPI.
    pub gives: Candidate,
    /// The later builtin's time over that choice's time; missing if it is the builtin.
    pub gain: Option<Estimate>,
    /// Its time over the time under the later run's rules, less 1; missing if it failed before it was timed.
    pub regret: Option<f64>,
    /// True if it is shown to be slower than the later default by at least the minimum difference.
    pub slower: bool,
    /// True if it failed in the later run: a wrong result, an error, a crash.
    pub failed: bool,
}

/// Recommendation to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// The earlier rules lose: install the later ones.
    Replace,
    /// The earlier rules are as good as the later ones.
    Keep,
    /// The runs cannot decide.
    Unknown,
}

impl RunComparison {
    /// The number of cells whose builtin changed in this way.
    pub fn count(&self, change: Outcome) -> usize {
        self.cells.iter().filter(|cell| cell.change == change).count()
    }

    /// Geometric mean of the builtin's time before over its time now; 1 without cells.
    pub fn builtin(&self) -> f64 {
        geometric_mean(self.cells.iter().map(|cell| cell.builtin.point)).unwrap_or(1.0)
    }

    /// Returns the cells for which the two rule tables choose differently.
    pub fn changed_choices(&self) -> impl Iterator<Item = &CellChange> {
        self.cells.iter().filter(|cell| cell.in_use.0 != cell.in_use.1)
    }

    /// The cells for which the later run timed the choice of the earlier rules.
    pub fn judged(&self) -> impl Iterator<Item = (&CellChange, OldRules)> {
        self.cells.iter().filter_map(|cell| Some((cell, cell.old_rules?)))
    }

    /// Geometric mean of the time under the earlier rules over that under the later ones, less 1.
    pub fn regret(&self) -> f64 {
        geometric_mean(self.judged().filter_map(|(_, old)| Some(1.0 + old.regret?))).unwrap_or(1.0) - 1.0
    }

    /// The number of cells in which the earlier rules are slower than the later builtin, or fail.
    pub fn harmed(&self) -> usize {
        self.judged().filter(|(_, old)| old.slower || old.failed).count()
    }

    /// Returns the advice on tuning again: `Replace` if the earlier rules make calls slower than the default, or lose
    /// at least the minimum difference in the geometric mean.
    pub fn advice(&self) -> Advice {
        if self.judged().next().is_none() {
            Advice::Unknown
        } else if self.harmed() > 0 || self.regret() >= self.criteria.min_difference {
            Advice::Replace
        } else {
            Advice::Keep
        }
    }
}

/// Lists the differences between the systems and methods of two runs.
pub fn differences(before: &Manifest, after: &Manifest) -> Vec<RunDifference> {
    // An unknown transport is no difference.
    let is_moved = Transport::change(&before.survey.transport, &after.survey.transport).is_some();
    let pairs = properties(before).into_iter().zip(properties(after));
    let all = pairs.map(|((what, before), (_, after))| RunDifference { what, before, after });
    let differs = |it: &RunDifference| if it.what == RunProperty::Transport { is_moved } else { it.before != it.after };
    all.filter(differs).collect()
}

/// The properties of a run, in words.
fn properties(run: &Manifest) -> Vec<(RunProperty, String)> {
    let list = |values: &mut dyn Iterator<Item = String>| {
        let all = values.collect::<Vec<_>>().join(" ");
        if all.is_empty() { "none".to_owned() } else { all }
    };
    let settings = |of: &BTreeMap<String, String>| list(&mut of.iter().map(|(name, value)| format!("{name}={value}")));
    let (survey, plan) = (&run.survey, &run.plan);
    let components = survey.components.iter().map(|(component, priority)| format!("{component}:{priority}"));
    let set = run.environment.iter().filter(|(name, _)| name.contains("_MCA_"));
    let environment = settings(&set.map(|(name, value)| (name.clone(), value.clone())).collect());
    let of_host = |key: &str| run.host.get(key).cloned().unwrap_or_else(|| "unknown".to_owned());
    vec![
        (RunProperty::Version, survey.version.to_string()),
        (RunProperty::Library, survey.library.clone()),
        (RunProperty::Backend, run.backend.clone()),
        (RunProperty::Collrules, run.collrules.clone()),
        (RunProperty::Slots, survey.slots().to_string()),
        (RunProperty::Hosts, list(&mut survey.nodes().into_iter().cloned())),
        (RunProperty::Transport, survey.transport.as_ref().map(Transport::to_string).unwrap_or_default()),
        (RunProperty::Kernel, of_host("Kernel")),
        (RunProperty::Processor, of_host("Processor")),
        (RunProperty::Processors, of_host("Processors")),
        (RunProperty::Layout, plan.placement.layout.to_string()),
        (RunProperty::Sync, format!("{:?}", plan.schedule.sync)),
        (RunProperty::Pins, settings(&run.pins)),
        (RunProperty::Preset, settings(&survey.preset)),
        (RunProperty::Components, list(&mut components.into_iter())),
        (RunProperty::Environment, environment),
    ]
}

/// Least factor between the harness's barriers of two runs that is worth a note.
const NOTABLE: f64 = 1.5;

impl RunComparison {
    /// Notes a change of the barrier before timed calls. It is not Open MPI's, so a change of it is one of the machine.
    pub fn note_harness(&mut self, before: &[ClockLine], after: &[ClockLine]) {
        let (Some(then), Some(now)) = (worst_barrier(before), worst_barrier(after)) else { return };
        let factor = now.0 / then.0;
        if !factor.is_finite() || (1.0 / NOTABLE..NOTABLE).contains(&factor) {
            return;
        }
        self.differences.push(RunDifference {
            what: RunProperty::Barrier,
            before: then.to_string(),
            after: now.to_string(),
        });
        self.obstacles.push(Limitation::Barrier(factor));
    }
}

/// The median barrier of the launch in which it took longest.
fn worst_barrier(lines: &[ClockLine]) -> Option<Seconds> {
    let barrier = |line: &ClockLine| match &line.fact {
        ClockFact::Harness(harness) => Some(harness.barrier),
        _ => None,
    };
    lines.iter().filter_map(barrier).max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use collrules_record::Ranks;
    use collrules_record::clock::{Harness, SyncMethod};

    use super::*;

    fn launch(barrier: f64) -> ClockLine {
        let nothing = Seconds(0.0);
        let harness = Harness {
            sync: SyncMethod::Barrier,
            ranks: Ranks(2),
            step: nothing,
            empty_call: nothing,
            turn: nothing,
            barrier: Seconds(barrier),
            exit_skew: nothing,
            clocks: 1,
            known_error: None,
            resident: None,
            cache: None,
        };
        ClockLine { launch: 0, fact: ClockFact::Harness(harness) }
    }

    fn noted(before: &[f64], after: &[f64]) -> Vec<Limitation> {
        let side = || ComparedRun {
            source: String::new(),
            release: Release::V5_0,
            version: None,
            started: None,
            rules: 0,
            simulated: false,
        };
        let mut comparison = RunComparison {
            format: FORMAT,
            before: side(),
            after: side(),
            differences: Vec::new(),
            obstacles: Vec::new(),
            criteria: ValidationCriteria::default(),
            cells: Vec::new(),
            left_out: (0, 0),
        };
        let lines = |barriers: &[f64]| barriers.iter().map(|it| launch(*it)).collect::<Vec<_>>();
        comparison.note_harness(&lines(before), &lines(after));
        assert_eq!(comparison.differences.len(), comparison.obstacles.len());
        comparison.obstacles
    }

    #[test]
    fn a_machine_that_got_slower_is_not_taken_for_a_slower_builtin() {
        assert!(noted(&[1e-6, 2e-6], &[2.5e-6]).is_empty(), "launches differ as much");
        assert!(noted(&[], &[1e-6]).is_empty(), "an import knows of no barrier");
        assert_eq!(noted(&[1e-6], &[1e-6, 4e-6]), [Limitation::Barrier(4e-6 / 1e-6)]);
        assert_eq!(noted(&[3e-6], &[1e-6]), [Limitation::Barrier(1e-6 / 3e-6)]);
    }
}
