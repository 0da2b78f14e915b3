//! Validation of a tuning: search for sizes that it makes slower, in fresh launches without and with it; and removal of
//! the rules that are not confirmed.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, also at the end of `tune` |
//! | `subject` | the tuning, with the analysis behind it |
//! | `cells` | the cells to compare, and the calls |
//! | `compare` | the comparison |
//! | `parts` | the order in which subjects are compared if time is short |
//! | `revert` | the tuning without unconfirmed rules |

mod cells;
mod compare;
mod parts;
mod revert;
mod subject;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use collrules_record::condition::ArrivalPattern;
use collrules_record::options::{SystemOptions, TimingOptions, Validating};
use collrules_record::plan::Deployment;
use collrules_record::rundir::ComparisonLog;
use collrules_record::settings::{SettingsFindings, WholeValidation};
use collrules_record::validation::Round;
use collrules_record::{
    Experiment, Layout, Manifest, Plan, RunDir, Seconds, Settings, Stage, Step, Tuning, Validation,
};
use collrules_rules::Release;
use collrules_tuner::comparison::MOST_BLOCKS;

use self::compare::{ComparisonRequest, ComparisonResult, compare_tuning};
use self::revert::{OtherLayouts, remove_unconfirmed};
use self::subject::ResultPlace;
pub(crate) use self::subject::ValidationSubject;
use crate::campaign::Measurement;
use crate::error::WorkflowError;
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
    let budget = budget::limit(options.budget, &mut started, session)?;
    let (mut subject, has_settings) = open_subject(tuning, is_whole, options, &mut started, session)?;
    let options = &Validating { middle: options.middle.or_else(|| subject.middle()), ..options.clone() };
    let home = subject.home(out, options)?;
    // The run stays locked for the duration.
    let measured = subject.published.as_ref().filter(|published| out.is_none() && published.manifest.is_some());
    let _held = measured.map(|published| published.run.hold()).transpose()?;
    started.backend.use_scratch(home.path());
    if let Some(published) = &subject.published {
        tuning::pin_files(&published.run, &subject.tuning)?;
    }
    let whole = subject.published.clone().filter(|_| has_settings);
    let limit = budget.map(|budget| Seconds((budget.0 - began.elapsed().as_secs_f64()).max(0.0)));
    let layout = subject.place_of(&home, options.system.layout);
    let place = ResultPlace { home: &home, layout, base: &Settings::new() };
    let request = ComparisonRequest { limit, ..ComparisonRequest::new(options, &arrivals, &place) };
    let compared = compare_tuning(request, &mut subject, whole.as_ref(), &mut started, session);
    let ComparisonResult { validation, whole, stage, unreached } =
        compared.map_err(|error| error.while_comparing(&subject.name(), &home, options.repair))?;
    if let Some((ranges, needed)) = unreached {
        session.say(&format!("no time to compare {ranges}: about {} more are needed", needed.rounded()));
    }
    let validation = match validation {
        Some(found) => Some(judge(found, stage, &place, options, &mut subject, &mut started, session)?),
        None => None,
    };
    let settings = conclude(&home, options, &mut subject, &validation, whole, session)?;
    ComparisonLog::open(&home)?.conclude(stage)?;
    if let Some(validation) = &validation {
        session.tell(Event::Compared { home: &home, validation });
    }
    if let Some(settings) = &settings {
        session.tell(Event::ComparedWhole { home: &home, settings });
    }
    Ok(Validated { validation, settings, home, release: subject.release })
}

/// The tuning as this system reads it, with the cells to compare; true with it if the settings of its run are compared as well.
fn open_subject(
    tuning: &Tuning,
    is_whole: bool,
    options: &Validating,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<(ValidationSubject, bool), WorkflowError> {
    if let Some(manifest) = Published::of_tuning(tuning)?.and_then(|published| published.manifest) {
        resume::leave_out(&manifest, started);
    }
    let mut subject = ValidationSubject::read(tuning, started, session)?;
    let has_settings = is_whole && compares_settings(options, &subject, session);
    if !has_settings || !subject.is_empty() {
        subject.choose(options, &started.survey)?;
        subject.refuse_if_in_force(&started.survey, session)?;
    }
    Ok((subject, has_settings))
}

/// The result of a comparison for the rules that are left: those that it did not confirm are removed, if that is wanted.
fn judge(
    found: Validation,
    stage: Stage,
    place: &ResultPlace<'_>,
    options: &Validating,
    subject: &mut ValidationSubject,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<Validation, WorkflowError> {
    subject.add(stage, place, found.clone());
    let judged = subject.judge(place).unwrap_or(found);
    if !options.repair {
        return Ok(judged);
    }
    // Sizes that the user left out stay as they are.
    let untimed = if options.chooses_cells() { Vec::new() } else { subject.list_untimed(&judged) };
    let of_home =
        Some(options.system.layout).filter(|_| subject.run().is_some_and(|run| place.home.path() != run.path()));
    let others = subject.published.as_ref().map(|published| OtherLayouts::of(published, of_home));
    // No other layout is compared after this one.
    let layouts = OtherLayouts { awaited: Vec::new(), ..others.unwrap_or_default() };
    remove_unconfirmed(place, subject, judged, &untimed, &layouts, started, session)
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
    tuning::add_to_next(&published.run, &published.whole_state())?;
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
    /// Compares rules and settings with the default, and those that are confirmed once more: minutes have passed, and a machine
    /// may be in another phase.
    pub(crate) fn compare_all(&mut self, search: Option<SettingsPlan>) -> Result<(), WorkflowError> {
        self.compare()?;
        self.search(search)?;
        self.compare_under(Stage::UnderSettings)?;
        self.compare_again()?;
        self.compare_under(Stage::UnderSettingsAgain)
    }

    /// Compares the rules in each layout of the run, and removes those that are not confirmed anywhere; unless there is no time,
    /// or the user does not want it. Launches in another layout are in its run, the result is in the state.
    fn compare(&mut self) -> Result<(), WorkflowError> {
        let others = self.published.layouts.clone().into_iter().map(Some);
        for other in std::iter::once(None).chain(others) {
            let task = RulesTask { other, ..self.task(Stage::Rules, Settings::new()) };
            let (place, state) = (task.place(&self.published.run), &self.published.state);
            let is_known = self.published.judge(task.layout(), place.base).is_some_and(|it| it.round.unreached == 0);
            match task.layout() {
                None if is_known && state.has_rules_compared(None) => self.session.say(&format!(
                    "these rules were compared before; `collrules validate {}` compares them again",
                    self.published.run.path().display()
                )),
                layout if is_known && state.has_rules_compared(layout) => {}
                _ if !self.wants_comparison() => {}
                None => self.compare_in_step(task)?,
                Some(layout) => {
                    let _held = place.home.hold()?;
                    self.session.say(&format!("--layout {layout}: comparing the same rules there"));
                    self.measured.started.backend.lay_out(layout);
                    let limit = self.measured.time().shares.comparison();
                    let compared = self.compare_in_step(RulesTask { limit, ..task });
                    self.measured.started.backend.lay_out(self.measured.experiment.system.layout);
                    compared?;
                }
            }
        }
        Ok(())
    }

    /// Compares confirmed rules once more, and removes those whose gain is not seen again.
    fn compare_again(&mut self) -> Result<(), WorkflowError> {
        let has = |stage| self.published.state.has(Step::Compare(stage, None));
        let is_due = self.published.validation.is_some() && has(Stage::Rules) && !has(Stage::RulesAgain);
        match is_due && self.wants_comparison() {
            true => self.compare_in_step(self.task(Stage::RulesAgain, Settings::new())),
            false => Ok(()),
        }
    }

    /// Returns true if there are rules, and they are to be compared.
    fn wants_comparison(&self) -> bool {
        self.options.validate && !self.published.findings.changes_nothing()
    }

    /// A comparison over a base, in the layout of the run, with its part of the time.
    pub(crate) fn task(&self, stage: Stage, base: Settings) -> RulesTask {
        let (time, chosen) =
            (self.measured.time(), self.published.settings.as_ref().and_then(SettingsFindings::chosen));
        let limit = match stage {
            Stage::UnderSettings => time.settings(),
            Stage::UnderSettingsAgain => time.again(1),
            // Rules under settings are compared once more as well.
            Stage::RulesAgain => time.again(if chosen.is_some_and(|chosen| chosen.under.is_some()) { 2 } else { 1 }),
            _ => time.comparison(),
        };
        RulesTask { stage, limit, base, other: None }
    }

    /// Compares the rules in a step of its own, which ends with a result.
    fn compare_in_step(&mut self, task: RulesTask) -> Result<(), WorkflowError> {
        let step = Step::Compare(task.stage, task.layout());
        if self.compare_rules(&task)? { self.end(step) } else { Ok(()) }
    }

    /// Compares the rules, with the run's arrivals of ranks in programs, and removes those that no launches confirmed. The result
    /// is in `published`, also of another layout. Without time, those that were confirmed before stay. Returns false without any
    /// result.
    pub(crate) fn compare_rules(&mut self, task: &RulesTask) -> Result<bool, WorkflowError> {
        let Self { measured, published, .. } = self;
        let (run, is_again) = (published.run.clone(), task.stage.is_again());
        let place = task.place(&run);
        let mut subject = task.choose_subject(published, &measured.started);
        let known = published.judge(task.layout(), place.base).filter(|_| !is_again);
        let is_too_short = budget::is_too_short(task.limit, measured.started.startup);
        if is_too_short && known.is_none() && !is_again {
            self.session.say(&task.describe_short_time(measured.started.startup, &run));
        }
        let is_compared = !is_too_short
            && !subject.cells.is_empty()
            && self.compare_anew(task, &place, &mut subject, known.as_ref().map(|known| &known.round))?;
        let Some(found) = subject.judge(&place).filter(|_| is_compared || known.is_some()) else { return Ok(false) };
        let Self { measured, published, session, .. } = self;
        let layouts = OtherLayouts::of(published, task.layout());
        let untimed = subject.list_untimed(&found);
        let started = &mut measured.started;
        let found = remove_unconfirmed(&place, &mut subject, found, &untimed, &layouts, started, session)?;
        session.tell(Event::Compared { home: place.home, validation: &found });
        if let Some(left) = subject.published {
            *published = left;
        }
        Ok(true)
    }

    /// Compares the rules in fresh launches, after those that are known. The result is a step of the subject. Returns false if
    /// the time was not enough for any.
    fn compare_anew(
        &mut self,
        task: &RulesTask,
        place: &ResultPlace<'_>,
        subject: &mut ValidationSubject,
        known: Option<&Round>,
    ) -> Result<bool, WorkflowError> {
        let Self { measured, options, published, session } = self;
        let Measurement { experiment, started, .. } = &mut **measured;
        let layout = task.layout().unwrap_or(experiment.system.layout);
        match task.stage {
            Stage::RulesAgain => session.say("second comparison of the confirmed rules, some minutes later"),
            Stage::UnderSettings | Stage::UnderSettingsAgain => session.say("settings: comparing the rules under them"),
            _ => {}
        }
        let validating = Validating {
            min_difference: options.criteria.min_gain,
            max_loss: options.max_loss,
            middle: Some(options.criteria.middle),
            error_rate: options.criteria.error_rate * published.state.error_share(),
            repair: true,
            seed: options.seed,
            timing: TimingOptions { calls: None, ..options.timing },
            condition: options.condition,
            ..Validating::new(SystemOptions { layout, ..experiment.system.clone() })
        };
        let request = ComparisonRequest {
            stage: Some(task.stage),
            limit: task.limit,
            ended: published.state.last_end(Step::Compare(task.stage, task.layout())),
            most_blocks: match task.stage {
                Stage::Rules if experiment.searches => MOST_BEFORE_SETTINGS,
                stage if stage.is_again() => MOST_AGAIN,
                _ => MOST_BLOCKS,
            },
            before: known,
            ..ComparisonRequest::new(&validating, &experiment.arrivals, place)
        };
        let run = &published.run;
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
        subject.add(task.stage, place, found);
        Ok(true)
    }
}

/// A comparison of the rules of a tuning.
pub(crate) struct RulesTask {
    stage: Stage,
    /// Time for all launches.
    limit: Option<Seconds>,
    /// Settings under which they are compared, none of which is the default.
    base: Settings,
    /// The run of another layout than that of the run, with its plan.
    other: Option<(RunDir, Plan)>,
}

impl RulesTask {
    fn layout(&self) -> Option<Layout> {
        self.other.as_ref().map(|(_, plan)| plan.placement.layout)
    }

    fn place<'a>(&'a self, run: &'a RunDir) -> ResultPlace<'a> {
        let home = self.other.as_ref().map_or(run, |(home, _)| home);
        ResultPlace { home, layout: Some(self.layout()), base: &self.base }
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
            subject.cells = cells::ruled_cells(&subject);
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
