//! The time of each step of a tuning: the shares of its budget, and the clock of what steps took. A batch job limits the
//! budget: the command ends, with results and proof, before the job does.

use collrules_record::allocation::Allocation;
use collrules_record::options::{Budget, Jobs, Scenario, Simulated, TuneOptions};
use collrules_record::state::StepRecord;
use collrules_record::values::REST;
use collrules_record::{Experiment, Seconds, Stage, Step, TuningState};
use collrules_runner::backend::silence_within;
use collrules_runner::job_clock::JobClock;

use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::Started;

/// Seconds reserved for an orderly end, with any budget: ending jobs, writing files.
const LEAVE: f64 = 15.0;

/// Factor by which a budget may be exceeded.
const EXCESS: f64 = 1.1;

/// Share of a budget for which a job may be silent.
const SILENCE: f64 = 0.05;

/// Number of jobs besides the survey that do not measure: before, one to find out if `coll/tuned` handles the calls;
/// afterwards, one to show that the file is obeyed, and one to check the data under it.
pub const PROOF_JOBS: f64 = 3.0;

/// Share of a budget for settings: the search, and the comparison of what it finds with the rules.
pub(crate) const SETTINGS: f64 = 0.4;

/// Share of the time for settings for the search; the rest is for comparing what it finds.
pub(crate) const SEARCH: f64 = 0.4;

/// Share of the time after the search for the rules under the settings, if there are rules.
pub(crate) const UNDER_SETTINGS: f64 = 0.2;

/// Share of the time for rules that their comparison gets.
const COMPARISON: f64 = 0.4;

/// Share of the time for comparing rules that is kept for comparing them once more, later.
const AGAIN: f64 = 0.2;

/// Largest share of the time for measuring rules that refinement gets.
const REFINEMENT: f64 = 0.15;

/// Smallest budget for a search for settings, unless some are named.
const LEAST_BUDGET: f64 = 60.0;

/// Starts of jobs for which the time of a comparison has to be enough.
const LEAST_STARTS: f64 = 4.0;

/// Smallest share of a budget with which what is undecided goes on.
const LEAST_REST: f64 = 0.02;

/// The budget in this job with a remark: the requested one, or the rest of the job if that is less.
pub fn within(budget: Budget, allocation: Option<&Allocation>) -> Result<(Budget, Option<String>), WorkflowError> {
    let asked = budget.filter(|budget| *budget != REST);
    let is_rest = budget == Some(REST);
    let Some(allocation) = allocation else {
        if is_rest {
            return Err(WorkflowError::Usage(
                "--budget rest is the time that a job of a batch system has left, and this runs in no such job; write \
                 a time"
                    .to_owned(),
            ));
        }
        return Ok((asked, None));
    };
    let Some(left) = allocation.left else {
        let system = allocation.system;
        let endless = || format!("{system} states no end of this job, so the budget has no limit");
        return Ok((asked, is_rest.then(endless)));
    };
    let most = Seconds(((left.0 - LEAVE) / EXCESS + 1e-6).floor().max(1.0));
    match asked {
        Some(asked) if asked <= most => Ok((Some(asked), None)),
        asked => {
            let instead = asked.map_or(String::new(), |asked| format!(" instead of {}", asked.rounded()));
            let said = format!("the job ends in {}: the budget is {}{instead}", left.rounded(), most.rounded());
            Ok((Some(most), Some(said)))
        }
    }
}

/// The budget in this job. Silent jobs end early enough for others to have most of it.
pub(crate) fn limit(budget: Budget, started: &mut Started, session: &mut Session<'_>) -> Result<Budget, WorkflowError> {
    let (budget, remark) = within(budget, started.allocation.as_ref())?;
    remark.iter().for_each(|remark| session.say(remark));
    let most = budget.map(|budget| silence_within(SILENCE * budget.0, started.startup));
    if let (Some(most), Some(patience)) = (most, started.backend.patience()) {
        *patience = most.min(*patience);
    }
    Ok(budget)
}

/// Decides whether settings are searched within a budget, in seconds.
pub fn searches_settings(options: &TuneOptions, budget: Budget) -> Result<bool, WorkflowError> {
    let is_named = !options.settings.requests.is_empty();
    if is_named && !options.also_layout.is_empty() {
        return Err(WorkflowError::Usage(
            "--setting and --also-layout cannot be combined: settings are compared in one layout".to_owned(),
        ));
    }
    let can = match &options.system.jobs {
        Jobs::Mpi(_) => true,
        Jobs::Simulation(Simulated { scenario, .. }) => *scenario == Scenario::Settings,
    };
    // Without an end there is no share of the time; settings that a user names are tried in any case.
    let has_time = budget.is_some_and(|budget| budget.0 >= LEAST_BUDGET);
    Ok(can && !options.settings.none && (has_time || is_named) && options.also_layout.is_empty())
}

/// Returns true if a comparison has less time than two pairs of launches take.
pub(crate) fn is_too_short(limit: Budget, startup: Seconds) -> bool {
    limit.is_some_and(|limit| limit.0 < LEAST_STARTS * startup.0)
}

/// Shares of the budget of an experiment whose jobs take this time to start. A part that needs less leaves the rest to those
/// after it.
#[derive(Clone, Copy, Debug)]
pub struct Shares<'a> {
    experiment: &'a Experiment,
    startup: Seconds,
}

impl<'a> Shares<'a> {
    /// The shares of an experiment.
    pub fn new(experiment: &'a Experiment, startup: Seconds) -> Self {
        Self { experiment, startup }
    }

    /// Time for the rules in one layout: the rest is for settings and other layouts. None without a budget.
    pub(crate) fn rules(self) -> Budget {
        let share = if self.experiment.searches { 1.0 - SETTINGS } else { 1.0 };
        let layouts = 1.0 + self.experiment.also_layout.len() as f64;
        self.experiment.budget.map(|budget| Seconds(share * budget.0 / layouts))
    }

    /// Time for comparing the rules in one layout; none without a budget.
    pub(crate) fn comparison(self) -> Budget {
        self.rules().map(|rules| Seconds(COMPARISON * rules.0))
    }

    /// Time for comparing the rules, if they are compared, and it suffices for two pairs of launches.
    pub fn validation(self) -> Seconds {
        let share = self.comparison().filter(|_| self.experiment.validate);
        share.filter(|_| !is_too_short(share, self.startup)).unwrap_or_default()
    }

    /// Time for settings, and for comparing them with the rules.
    pub fn settings(self) -> Seconds {
        Seconds(self.experiment.budget.filter(|_| self.experiment.searches).map_or(0.0, |budget| SETTINGS * budget.0))
    }

    /// Returns true if sizes between those of the grid are measured. With other layouts they are not, since the effect on
    /// those would be unknown.
    pub(crate) fn refines(self) -> bool {
        self.experiment.refinement.rounds > 0 && self.experiment.also_layout.is_empty()
    }

    /// Time for refinement.
    pub fn refinement(self) -> Seconds {
        let rules = self.rules().filter(|_| self.refines());
        Seconds(rules.map_or(0.0, |rules| REFINEMENT * (rules.0 - self.validation().0)))
    }

    /// The number of refinement rounds that fit into the time, and the largest time of each launch of one; no limit without a
    /// budget. Starting its launches may take half of a round.
    pub(crate) fn refinement_rounds(self) -> (u32, Budget) {
        let rounds = self.experiment.refinement.rounds;
        let Some(budget) = self.rules() else { return (rounds, None) };
        let (startup, launches) = (self.startup.0, budget.0 * REFINEMENT / f64::from(self.experiment.launches.max(1)));
        let most = if startup > 0.0 { (launches / (2.0 * startup)).min(f64::from(rounds)) as u32 } else { rounds };
        (most, Some(Seconds((launches / f64::from(most.max(1)) - startup).max(0.0))))
    }

    /// Time for the launches of the grid, after their starts and the share for refinement if there can be any; none without a
    /// budget.
    pub(crate) fn measuring(self, can_be_refined: bool) -> Budget {
        let refinement = if can_be_refined { self.refinement().0 } else { 0.0 };
        let others = self.validation().0 + refinement + self.starting().0;
        self.rules().map(|rules| Seconds((rules.0 - others).max(0.0)))
    }

    /// The launches of all passes.
    pub(crate) fn launches(self) -> f64 {
        f64::from(self.experiment.launches) * f64::from(self.experiment.passes())
    }

    /// Time that starting all jobs of a tuning takes.
    pub(crate) fn starting(self) -> Seconds {
        Seconds(self.startup.0 * (1.0 + PROOF_JOBS + self.launches()))
    }

    /// Time that the jobs of a proof take to start.
    fn proof(self) -> f64 {
        PROOF_JOBS * self.startup.0
    }

    /// The smallest budget with which each launch measures for as long as it takes to start.
    pub(crate) fn least_budget(self) -> Seconds {
        let mut budget = self.starting();
        let is_enough = |budget| {
            let experiment = Experiment { budget: Some(budget), ..self.experiment.clone() };
            let all = Shares { experiment: &experiment, ..self }.measuring(true);
            all.is_none_or(|all| all.0 >= self.startup.0 * self.launches())
        };
        while !is_enough(budget) {
            budget.0 *= 1.05;
        }
        budget
    }
}

/// Returns true if the time of a step is not that of rules in the layout of the run.
fn is_apart(step: Step) -> bool {
    !matches!(step, Step::Begin(_) | Step::Measure | Step::Decide | Step::Compare(Stage::Rules, None))
}

/// The clock of a tuning: the time of steps that ended, also in earlier sessions, and of the one in progress.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    jobs: JobClock,
    /// When the session began.
    began: f64,
    /// Seconds of earlier sessions with the same budget.
    before: f64,
    /// Seconds of steps with a budget of their own.
    apart: f64,
    /// When the step in progress began.
    lap: f64,
    /// True if what is undecided has the rest of the budget.
    pub(crate) is_rest: bool,
}

impl Clock {
    /// A clock that starts with the survey, by the time of the system's jobs.
    pub(crate) fn new(started: &Started) -> Self {
        let jobs = started.backend.clock();
        let began = jobs.now() - started.startup.0;
        Self { jobs, began, before: 0.0, apart: 0.0, lap: began, is_rest: false }
    }

    /// Adds the time of earlier sessions, beyond these seconds that a batch job cut off the budget.
    pub(crate) fn add_earlier(&mut self, state: &TuningState, cut: f64) {
        let before = (state.spent(|_| true) - cut).max(0.0);
        self.before += before;
        self.apart += state.spent(is_apart).min(before);
    }

    /// Time so far.
    pub(crate) fn passed(&self) -> Seconds {
        Seconds(self.before + self.jobs.now() - self.began)
    }

    /// Leaves out the time since `since`, which has a budget of its own. A model counts only its own calls, so at least this
    /// time of another one has passed.
    pub(crate) fn leave_out(&mut self, since: Seconds, least: Seconds) {
        let passed = self.passed().0 - since.0;
        self.before += (least.0 - passed).max(0.0);
        self.apart += passed.max(least.0);
    }

    /// Ends a step.
    pub(crate) fn end(&mut self, step: Step) -> StepRecord {
        let now = self.jobs.now();
        let seconds = now - std::mem::replace(&mut self.lap, now);
        if is_apart(step) {
            self.apart += seconds;
        }
        StepRecord { seconds: Seconds(seconds), ..step.into() }
    }
}

/// The time that the next steps of a tuning may take; unlimited without a budget.
pub(crate) struct TimeLeft<'a> {
    pub(crate) shares: Shares<'a>,
    pub(crate) clock: &'a Clock,
}

impl TimeLeft<'_> {
    /// The rest of the whole budget.
    fn all(&self) -> Budget {
        let budget = self.shares.experiment.budget?;
        Some(Seconds((budget.0 - self.clock.passed().0).max(0.0)))
    }

    /// The rest of the time for rules in this layout, before their comparison.
    fn rules(&self) -> Option<f64> {
        let passed = self.clock.passed().0 - self.clock.apart;
        Some((self.shares.rules()?.0 - passed).min(self.all()?.0))
    }

    /// Seconds that are kept for comparing confirmed rules once more.
    fn kept(&self) -> f64 {
        AGAIN * self.shares.comparison().unwrap_or_default().0
    }

    /// The rest of the budget, if it is enough to compare what is undecided, and to prove it before and afterwards.
    pub(crate) fn rest(&self) -> Budget {
        let Shares { experiment, startup } = self.shares;
        let share = LEAST_REST * experiment.budget?.0;
        let least = share.max(2.0 * self.shares.proof() + LEAST_STARTS * startup.0);
        self.all().filter(|left| left.0 > least)
    }

    /// For more timings of sizes that are open, before comparisons and proofs; not positive if none is left.
    pub(crate) fn timings(&self) -> Option<f64> {
        let Shares { experiment, startup } = self.shares;
        let share = if experiment.validate { 1.0 - COMPARISON } else { 1.0 };
        let comparisons = if experiment.searches { 4.0 } else { 2.0 };
        let concluding = 2.0 * self.shares.proof() + comparisons * LEAST_STARTS * startup.0;
        let left = self.rules()?.max(0.0);
        Some((share * left).min(left - concluding))
    }

    /// For refinement, before the comparison; not positive if none is left.
    pub(crate) fn refinement(&self) -> Option<f64> {
        Some(self.rules()?.max(0.0) - self.shares.validation().0)
    }

    /// For comparing rules. If settings are searched, it is no more than the share of the comparison: what measuring did not
    /// need is for settings, which act on all sizes.
    pub(crate) fn comparison(&self) -> Budget {
        let (left, share) = (self.all()?.0, self.shares.comparison()?.0);
        let most = if self.shares.experiment.searches { share } else { left };
        // The comparison need not do without all of the time that measuring took too long.
        let rules = self.rules()?.min(most).max(share.min(left) / 2.0);
        Some(Seconds((1.0 - AGAIN) * rules))
    }

    /// For settings and rules under them, without what is kept for comparing confirmed rules once more and proving them.
    pub(crate) fn settings(&self) -> Budget {
        let kept = self.kept() + self.shares.proof();
        self.all().map(|left| Seconds((left.0 - kept).max(0.0)))
    }

    /// For the next of this number of second comparisons of confirmed rules, without a proof. Unless the rest of the budget is
    /// used, it is at least half of the time kept for them, even if earlier steps took too long.
    pub(crate) fn again(&self, comparisons: u32) -> Budget {
        let least = if self.clock.is_rest { 0.0 } else { self.kept() / 2.0 };
        self.all().map(|left| Seconds((left.0 - self.shares.proof()).max(least) / f64::from(comparisons)))
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::Ranks;
    use collrules_record::allocation::BatchSystem;

    use super::*;

    #[test]
    fn budgets_end_before_their_jobs() {
        let job = |left: Option<f64>| Allocation {
            system: BatchSystem::Slurm,
            job: "1".to_owned(),
            partition: None,
            nodes: 1,
            slots: Ranks(1),
            left: left.map(Seconds),
        };
        let within = |budget: Option<f64>, left| within(budget.map(Seconds), Some(&job(left))).expect("there is one").0;
        assert_eq!(within(Some(120.0), Some(600.0)), Some(Seconds(120.0)));
        assert_eq!(
            within(Some(120.0), Some(120.0)),
            Some(Seconds(95.0)),
            "a tenth more is 105, and it takes 15 to leave"
        );
        assert_eq!(within(None, Some(125.0)), Some(Seconds(100.0)));
        assert_eq!(within(Some(REST.0), Some(125.0)), Some(Seconds(100.0)));
        assert_eq!(within(Some(REST.0), None), None);
        assert_eq!(within(Some(5.0), Some(3.0)), Some(Seconds(1.0)));
        assert_eq!(super::within(Some(Seconds(9.0)), None).expect("as asked").0, Some(Seconds(9.0)));
        assert!(super::within(Some(REST), None).is_err());
    }

    #[test]
    fn starting_launches_is_a_part_of_refinement() {
        let rounds = |budget: Option<f64>, startup| {
            let experiment = TuneOptions { budget: budget.map(Seconds), ..TuneOptions::default() };
            Shares::new(&experiment.experiment(Vec::new()), Seconds(startup)).refinement_rounds()
        };
        assert_eq!(rounds(None, 1.0), (2, None));
        assert_eq!(rounds(Some(40.0), 0.0), (2, Some(Seconds(1.0))));
        let (fitting, launch) = rounds(Some(40.0), 0.8);
        assert!(fitting == 1 && launch.is_some_and(|launch| (launch.0 - 1.2).abs() < 1e-9), "{launch:?}");
        assert_eq!(rounds(Some(40.0), 2.0).0, 0, "6 s for three starts and their measuring");
    }

    #[test]
    fn the_least_budget_measures_for_as_long_as_it_starts_jobs() {
        let experiment = TuneOptions { launches: 3, ..TuneOptions::default() }.experiment(Vec::new());
        let least = |startup| Shares::new(&experiment, Seconds(startup)).least_budget();
        // 7 starts of 2 s and 3 launches of 2 s are 20 s, of 51 % of the budget.
        assert!((39.0..42.0).contains(&least(2.0).0), "{}", least(2.0));
        assert_eq!(least(0.0), Seconds(0.0));
    }
}
