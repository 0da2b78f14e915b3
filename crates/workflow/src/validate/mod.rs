//! Validation of a tuning: search for sizes that it makes slower, in fresh launches without and with it; and removal of
//! the rules that are not confirmed.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, also at the end of `tune` |
//! | `subject` | the tuning, with the analysis behind it |
//! | `cells` | the cells to compare |
//! | `calls` | the calls in which they are compared |
//! | `compare` | the comparison |
//! | `parts` | the order in which subjects are compared if time is short |
//! | `revert` | the tuning without unconfirmed rules |

mod calls;
mod cells;
mod compare;
mod parts;
mod revert;
mod subject;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use collrules_record::comparison::Stage;
use collrules_record::condition::ArrivalPattern;
use collrules_record::experiment::Experiment;
use collrules_record::options::{SystemOptions, TimingOptions, Validating};
use collrules_record::plan::Deployment;
use collrules_record::rundir::{self, RunDir};
use collrules_record::settings::{Settings, SettingsFindings, WholeValidation};
use collrules_record::state::{Step, StepRecord, TuningState};
use collrules_record::validation::Round;
use collrules_record::{Layout, Manifest, Plan, Seconds, Tuning, Validation};
use collrules_rules::Release;
use collrules_tuner::comparison::MOST_BLOCKS;

use self::compare::{ComparisonRequest, ComparisonResult, compare_tuning};
use self::revert::{OtherLayouts, remove_unconfirmed, say_removed};
pub(crate) use self::subject::ValidationSubject;
use crate::campaign::Measurement;
use crate::error::WorkflowError;
use crate::evidence::Reverted;
use crate::prove::ProvenRun;
use crate::publish::{self, Published};
use crate::resume;
use crate::session::{Event, Session};
use crate::settings::SettingsPlan;
use crate::start::Started;
use crate::{budget, tuning};

/// Most blocks of rules before settings are searched: a few sizes that stay undecided would take the time of the search.
const MOST_BEFORE_SETTINGS: u32 = 16;

/// Largest number of blocks when confirmed rules are compared again.
const MOST_AGAIN: u32 = 16;

/// Outcome of a validation.
pub struct Validated {
    /// Result of the comparisons of the rules; none if the tuning has none.
    pub validation: Option<Validation>,
    /// Search for settings with the result of the comparison of the whole tuning; none if it has no settings.
    pub settings: Option<SettingsFindings>,
    /// Directory of the result.
    pub home: RunDir,
    /// The release.
    pub release: Release,
}

impl Validated {
    /// Returns true if what is left of the tuning makes something slower.
    pub fn loses(&self) -> bool {
        let has_lost = |found: &SettingsFindings| found.chosen.is_some() && found.loses();
        self.validation.as_ref().is_some_and(Validation::loses) || self.settings.as_ref().is_some_and(has_lost)
    }
}

/// Reads a tuning for launches that activate it, next to others that do not.
pub fn other_than_here(path: &Path, started: &Started, session: &mut Session<'_>) -> Result<Tuning, WorkflowError> {
    let subject = ValidationSubject::read(&publish::open(path, None)?, started, session)?;
    if subject.is_empty() {
        return Err(WorkflowError::Usage(format!(
            "{} leaves everything to the default: it would change nothing",
            subject.name()
        )));
    }
    let settings = subject.tuning.settings();
    let preset = started.survey.preset.get(Deployment::FILE);
    if preset.is_some_and(|preset| settings.get(Deployment::FILE) == Some(preset)) {
        return Err(WorkflowError::Usage(format!(
            "{} is active already, so there is nothing to compare it with: switch it off first (unset OMPI_MCA_{}, or \
             take it out of Open MPI's configuration file)",
            subject.name(),
            Deployment::FILE,
        )));
    }
    Ok(subject.tuning)
}

/// Returns the experiment in which the run of a rules file was measured, if we measured it: its system, timing, condition and
/// arrivals are the default of a validation.
pub fn as_measured(tuning: &Tuning) -> Result<Option<Experiment>, WorkflowError> {
    let manifest = Published::of_tuning(tuning)?.and_then(|published| published.manifest);
    let Some(Manifest { experiment, .. }) = manifest else { return Ok(None) };
    // The number of calls was an option of that measurement only.
    Ok(Some(Experiment { timing: TimingOptions { calls: None, ..experiment.timing }, ..experiment }))
}

/// Compares a tuning with the default, and removes what is not confirmed if that is wanted: its rules alone, also with
/// these arrivals of ranks in programs, and if `is_whole` the settings of its run with the rules that are named with them.
/// Results go to `out`, or to the run.
pub fn validate(
    tuning: &Tuning,
    is_whole: bool,
    options: &Validating,
    arrivals: Vec<ArrivalPattern>,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Validated, WorkflowError> {
    let began = Instant::now();
    let mut started = session.start(&options.system)?;
    if let Some(manifest) = Published::of_tuning(tuning)?.and_then(|published| published.manifest) {
        let left_out = resume::left_out(&manifest, &started);
        started.backend.leave_out(&left_out);
    }
    let budget = budget::limit(options.budget, &mut started, session)?;
    let mut subject = ValidationSubject::read(tuning, &started, session)?;
    let has_settings = is_whole && compares_settings(options, &subject, session);
    if !has_settings || !subject.is_empty() {
        subject.choose(options, &started.survey)?;
        subject.refuse_if_in_force(&started.survey, session)?;
    }
    let options = &Validating { middle: options.middle.or_else(|| subject.middle()), ..options.clone() };
    let elsewhere = |run: &RunDir| out.is_some_and(|out| !rundir::is_same_file(out, run.path()));
    if options.repair && subject.run().is_some_and(elsewhere) {
        return Err(WorkflowError::Usage(format!(
            "repairs of a run's rules are recorded in the run: leave out --out, or repair a copy of {} under another \
             name",
            subject.name(),
        )));
    }
    let home = subject.home(out, options.system.layout)?;
    // The run stays locked for the duration.
    let _held = subject.measured_run().filter(|_| out.is_none()).map(RunDir::hold).transpose()?;
    started.backend.use_scratch(home.path());
    if let Some(published) = &subject.published {
        tuning::pin_files(&published.run, &subject.tuning)?;
    }
    let whole = subject.published.clone().filter(|_| has_settings);
    let limit = budget.map(|budget| Seconds((budget.0 - began.elapsed().as_secs_f64()).max(0.0)));
    let base = Settings::new();
    let request = ComparisonRequest {
        options,
        arrivals,
        home: &home,
        stage: None,
        base,
        limit,
        ended: None,
        most_blocks: MOST_BLOCKS,
        before: None,
    };
    let compared = compare_tuning(request, &mut subject, whole.as_ref(), &mut started, session);
    let ComparisonResult { mut validation, whole, mut log, stage, unreached } =
        compared.map_err(|error| error.while_comparing(&subject.name(), &home, options.repair))?;
    if let Some((ranges, needed)) = unreached {
        session.say(&format!("no time to compare {ranges}: about {} more are needed", needed.rounded()));
    }
    let layout = Some(options.system.layout).filter(|_| subject.run().is_some_and(|run| home.path() != run.path()));
    let others = subject.published.as_ref().map(|published| OtherLayouts::of(published, layout));
    // No other layout is compared after this one.
    let layouts = OtherLayouts { awaited: Vec::new(), ..others.unwrap_or_default() };
    if let Some(found) = validation.take() {
        let place = subject.place_of(&home, options.system.layout);
        if let Some((published, layout)) = subject.published.as_mut().zip(place) {
            let step = Step::Compare(stage, layout);
            let compared = StepRecord::compared(step, Settings::new(), found.clone());
            tuning::add_to_next(&published.run, &compared)?;
            published.state.steps.push(compared);
        }
        let mut judged = subject.judge(place, &found, &Reverted::default());
        if options.repair {
            // Sizes that the user left out stay as they are.
            let untimed = if options.chooses_cells() { Vec::new() } else { subject.list_untimed(&judged) };
            let reverted = remove_unconfirmed(&home, &mut started, &mut subject, &judged, &untimed, &layouts, session)?;
            say_removed(&reverted, &subject, &Settings::new(), session);
            judged = subject.judge(place, &found, &reverted);
        }
        validation = Some(judged);
    }
    let settings = conclude(&home, options, &mut subject, &validation, whole, session)?;
    log.conclude(stage)?;
    if let Some(validation) = &validation {
        session.tell(Event::Compared { home: &home, validation });
    }
    if let Some(settings) = &settings {
        session.tell(Event::ComparedWhole { home: &home, settings });
    }
    Ok(Validated { validation, settings, home, release: subject.release })
}

/// Puts what a comparison left of a tuning in place, with its results. Returns the settings with theirs.
fn conclude(
    home: &RunDir,
    options: &Validating,
    subject: &mut ValidationSubject,
    validation: &Option<Validation>,
    whole: Option<WholeValidation>,
    session: &mut Session<'_>,
) -> Result<Option<SettingsFindings>, WorkflowError> {
    let Some(mut published) = subject.published.take() else {
        validation.iter().try_for_each(|validation| home.write_validation(validation))?;
        return Ok(None);
    };
    let found = whole.zip(published.settings.clone());
    let mut found = found.map(|(whole, found)| SettingsFindings { validation: Some(whole), ..found });
    if let Some(found) = found.as_mut().filter(|found| options.repair && found.loses()) {
        found.chosen = None;
        session.say("removed the settings, with which fresh launches are slower: the parameter files have rules alone");
    }
    // The home of a comparison in another layout is in the run.
    if !home.path().starts_with(published.run.path()) {
        validation.iter().try_for_each(|validation| home.write_validation(validation))?;
        found.iter().try_for_each(|found| home.write_settings(found))?;
        return Ok(found);
    }
    published.settings = found.clone().or(published.settings);
    published.publish(session)?;
    Ok(found)
}

/// Returns true if the settings of a run are compared as well: all its sizes are, in its layout.
fn compares_settings(options: &Validating, subject: &ValidationSubject, session: &mut Session<'_>) -> bool {
    let Some(published) = subject.published.as_ref().filter(|published| published.has_settings()) else { return false };
    let Some(manifest) = &published.manifest else { return false };
    let compares = !options.chooses_cells() && manifest.plan.placement.layout == options.system.layout;
    if !compares {
        session.say("the settings are not compared: this takes all sizes of the run, in its layout");
    }
    compares
}

impl ProvenRun<'_, '_> {
    /// Compares rules and settings with the default, and those that are confirmed once more.
    pub(crate) fn compare_all(&mut self, search: Option<SettingsPlan>) -> Result<(), WorkflowError> {
        self.compare()?;
        self.choose_settings(search)?;
        self.compare_again()?;
        self.compare_under_again()
    }

    /// Compares the rules in each layout of the run, and removes those that are not confirmed; unless there is no time, or
    /// the user does not want it.
    fn compare(&mut self) -> Result<(), WorkflowError> {
        if self.published.is_compared() && self.published.state.has_rules_compared(None) {
            self.session.say(&format!(
                "these rules were compared before; `collrules validate {}` compares them again",
                self.published.run.path().display()
            ));
        } else if self.wants_comparison() {
            self.compare_in_step(RulesTask::new(Stage::Rules, self.measured.time().comparison()))?;
        }
        self.published.layouts.clone().into_iter().try_for_each(|other| self.compare_in_layout(other))
    }

    /// Returns true if there are rules, and they are to be compared.
    fn wants_comparison(&self) -> bool {
        self.options.validate && !self.published.findings.changes_nothing()
    }

    /// Compares the cells of another layout that shares the rules, in that layout: rules that are slower there are removed
    /// for all. The launches are in the run of that layout, the result is in the state.
    fn compare_in_layout(&mut self, other: (RunDir, Plan)) -> Result<(), WorkflowError> {
        let layout = other.1.placement.layout;
        let compared = self.published.judge(Some(layout), &Settings::new()).map(|known| known.round);
        let is_known = compared.is_some_and(|round| round.unreached == 0);
        if is_known && self.published.state.has_rules_compared(Some(layout)) || !self.wants_comparison() {
            return Ok(());
        }
        let _held = other.0.hold()?;
        self.session.say(&format!("--layout {layout}: comparing the same rules there"));
        let limit = self.measured.time().shares.comparison();
        self.measured.started.backend.lay_out(layout);
        let task = RulesTask { other: Some(other), ..RulesTask::new(Stage::Rules, limit) };
        let compared = self.compare_in_step(task);
        self.measured.started.backend.lay_out(self.measured.experiment.system.layout);
        compared
    }

    /// Compares confirmed rules once more: after the search for settings, if there was one, minutes have passed, and a
    /// machine may be in another phase. Removes those whose gain is not seen again.
    fn compare_again(&mut self) -> Result<(), WorkflowError> {
        let has = |stage| self.published.state.has(Step::Compare(stage, None));
        if self.published.validation.is_none()
            || !self.wants_comparison()
            || !has(Stage::Rules)
            || has(Stage::RulesAgain)
        {
            return Ok(());
        }
        // Rules under settings are compared once more as well.
        let chosen = self.published.settings.as_ref().and_then(SettingsFindings::chosen);
        let comparisons = if chosen.is_some_and(|chosen| chosen.under.is_some()) { 2 } else { 1 };
        self.compare_in_step(RulesTask::new(Stage::RulesAgain, self.measured.time().again(comparisons)))
    }

    /// Compares the rules in a step of its own, which ends with a result.
    fn compare_in_step(&mut self, task: RulesTask) -> Result<(), WorkflowError> {
        let step = Step::Compare(task.stage, task.layout());
        if self.compare_rules(task)? { self.end(step) } else { Ok(()) }
    }

    /// Compares the rules under the settings that were chosen, and removes those that are not confirmed there; once more if
    /// `is_again`. Returns the speedup over the settings alone, none without a rule that is left; nothing without time.
    pub(crate) fn compare_under(
        &mut self,
        settings: &Settings,
        is_again: bool,
    ) -> Result<Option<Option<Round>>, WorkflowError> {
        let (before, time) = (self.published.clone(), self.measured.time());
        let (stage, limit) = match is_again {
            true => (Stage::UnderSettingsAgain, time.again(1)),
            false => (Stage::UnderSettings, time.settings()),
        };
        let compared = self.compare_rules(RulesTask { base: settings.clone(), ..RulesTask::new(stage, limit) });
        if !matches!(compared, Ok(true)) {
            // Without time, and if there is an error, they stay what they were alone.
            self.published = before;
            return compared.map(|_| None);
        }
        let found = self.published.judge(None, settings).filter(|_| !self.published.findings.changes_nothing());
        if found.is_none() {
            // Alone they stay what they were.
            let steps = std::mem::take(&mut self.published.state.steps);
            self.published = Published { state: TuningState { steps, ..before.state.clone() }, ..before };
        }
        Ok(Some(found.map(|found| found.round)))
    }

    /// Compares the rules, with the run's arrivals of ranks in programs. The result is in `published`, also of another layout.
    /// Without time, those that were confirmed before stay. Returns false without any result.
    fn compare_rules(&mut self, task: RulesTask) -> Result<bool, WorkflowError> {
        let (run, layout) = (self.published.run.clone(), task.layout());
        let home = task.other.as_ref().map_or(&run, |(home, _)| home);
        let mut subject = task.choose_subject(&self.published, &self.measured.started);
        let known = self.published.judge(layout, &task.base).filter(|_| !task.stage.is_again());
        let is_compared = if budget::is_too_short(task.limit, self.measured.started.startup) {
            if known.is_none() && !task.stage.is_again() {
                self.session.say(&task.describe_short_time(self.measured.started.startup, &run));
            }
            false
        } else {
            let known = known.as_ref().map(|known| &known.round);
            !subject.cells.is_empty() && self.compare_anew(&task, &mut subject, home, known)?
        };
        if is_compared || known.is_some() { self.keep_confirmed(subject, home, layout, &task.base) } else { Ok(false) }
    }

    /// Compares the rules in fresh launches, after those that are known. The result is a step of the subject. Returns false if
    /// the time was not enough for any.
    fn compare_anew(
        &mut self,
        task: &RulesTask,
        subject: &mut ValidationSubject,
        home: &RunDir,
        known: Option<&Round>,
    ) -> Result<bool, WorkflowError> {
        let Self { measured, options, published, session } = self;
        let Measurement { experiment, started, .. } = &mut **measured;
        let (run, layout) = (&published.run, task.layout());
        let purpose = match task.stage {
            Stage::RulesAgain => Some("second comparison of the confirmed rules, some minutes later"),
            Stage::UnderSettings | Stage::UnderSettingsAgain => Some("settings: comparing the rules under them"),
            _ => None,
        };
        purpose.iter().for_each(|purpose| session.say(purpose));
        let validating = Validating {
            min_difference: options.criteria.min_gain,
            max_loss: options.max_loss,
            middle: Some(options.criteria.middle),
            error_rate: options.criteria.error_rate * published.state.error_share(),
            repair: true,
            seed: options.seed,
            timing: TimingOptions { calls: None, ..options.timing },
            condition: options.condition,
            ..Validating::new(SystemOptions {
                layout: layout.unwrap_or(experiment.system.layout),
                ..experiment.system.clone()
            })
        };
        let request = ComparisonRequest {
            options: &validating,
            arrivals: experiment.arrivals.clone(),
            home,
            stage: Some(task.stage),
            base: task.base.clone(),
            limit: task.limit,
            ended: published.state.last_end(Step::Compare(task.stage, layout)).map(str::to_owned),
            most_blocks: match task.stage {
                Stage::Rules if experiment.searches => MOST_BEFORE_SETTINGS,
                stage if stage.is_again() => MOST_AGAIN,
                _ => MOST_BLOCKS,
            },
            before: known,
        };
        let compared = compare_tuning(request, subject, None, started, session);
        let ComparisonResult { validation, unreached, .. } = compared.map_err(|error| error.while_tuning(run))?;
        let Some(found) = validation else { return Ok(false) };
        if let Some((ranges, needed)) = unreached.filter(|_| !task.stage.is_again()) {
            session.say(&format!(
                "no time to compare {ranges}: their rules are left out; about {} more of fresh launches are needed: `collrules \
                 tune --resume {} --budget TIME`",
                needed.rounded(),
                run.path().display()
            ));
        }
        if let Some(published) = &mut subject.published {
            let step = Step::Compare(task.stage, layout);
            published.state.steps.push(StepRecord::compared(step, task.base.clone(), found));
        }
        Ok(true)
    }

    /// Removes the rules that no launches in a layout over a base confirmed. Returns false if there were none.
    fn keep_confirmed(
        &mut self,
        mut subject: ValidationSubject,
        home: &RunDir,
        layout: Option<Layout>,
        base: &Settings,
    ) -> Result<bool, WorkflowError> {
        let Self { measured, published, session, .. } = self;
        let others = OtherLayouts::of(published, layout);
        let judge = |subject: &ValidationSubject| subject.published.as_ref()?.judge(layout, base);
        let Some(found) = judge(&subject) else { return Ok(false) };
        let untimed = subject.list_untimed(&found);
        let reverted =
            remove_unconfirmed(home, &mut measured.started, &mut subject, &found, &untimed, &others, session)?;
        say_removed(&reverted, &subject, base, session);
        let found = judge(&subject).unwrap_or(found);
        session.tell(Event::Compared { home, validation: &found });
        if let Some(left) = subject.published {
            *published = left;
        }
        Ok(true)
    }
}

/// A comparison of the rules of a tuning.
struct RulesTask {
    stage: Stage,
    /// Time for all launches.
    limit: Option<Seconds>,
    /// Settings under which they are compared, none of which is the default.
    base: Settings,
    /// The run of another layout than that of the run, with its plan.
    other: Option<(RunDir, Plan)>,
}

impl RulesTask {
    /// A comparison with the default, in the layout of the run.
    fn new(stage: Stage, limit: Option<Seconds>) -> Self {
        Self { stage, limit, base: Settings::new(), other: None }
    }

    fn layout(&self) -> Option<Layout> {
        self.other.as_ref().map(|(_, plan)| plan.placement.layout)
    }

    /// The remark that rules are not confirmed for lack of time.
    fn describe_short_time(&self, startup: Seconds, run: &RunDir) -> String {
        let layout = self.layout().map_or(String::new(), |layout| format!(" --layout {layout}"));
        format!(
            "NOT CONFIRMED: what is left ({}) is too short for two pairs of launches, each of which takes {startup} to start; \
             `collrules validate {}{layout}` compares the rules with the default",
            self.limit.unwrap_or_default().rounded(),
            run.path().display(),
        )
    }

    /// The rules with the cells to compare: later those with a rule, and those that another layout has.
    fn choose_subject(&self, published: &Published, started: &Started) -> ValidationSubject {
        let mut subject = ValidationSubject::of_run(published.clone(), started);
        if self.stage.is_again() {
            let before = published.judge(self.layout(), &self.base).map(|before| before.round);
            let before = before.as_ref().map(Round::known).unwrap_or_default();
            subject.cells = calls::ruled_cells(&subject);
            subject.cells.retain(|cell| before.contains(cell));
        }
        if let Some((_, plan)) = &self.other {
            let measured: BTreeSet<_> = plan.cells.iter().map(|it| (it.cell.collective, it.cell.ranks)).collect();
            subject.cells.retain(|cell| measured.contains(&(cell.collective, cell.ranks)));
            subject.ranks = subject.cells.iter().map(|cell| cell.ranks).max().unwrap_or_default();
        }
        subject
    }
}
