//! The whole tuning of a run with settings, compared with the default in fresh launches.

use std::env;

use collrules_record::options::Validating;
use collrules_record::plan::Plan;
use collrules_record::rundir::RunDir;
use collrules_record::settings::{Finalist, Measure, SearchStage, SettingsFindings, WholeValidation};
use collrules_record::{Cell, Seconds};
use collrules_report::progress;
use collrules_rules::settings::environment_name;
use collrules_tuner::settings::{Confirmation, LOOKS, confirm};

use super::jobs::{SettingsJobs, Subjects};
use super::stage::{CONFIRMING_LAUNCHES, least_measuring, schedule_of, weights};
use super::subjects::{guard_cells, guard_patterns, screened};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::start::Started;

/// Fails if the settings of a run are active in the environment, as after env.sh: launches with the default would have
/// them as well.
pub(crate) fn refuse_sourced(published: &Published) -> Result<(), WorkflowError> {
    let settings = published.switch().by_name();
    let is_set = |(name, value): (&String, &String)| env::var(environment_name(name)).as_ref() == Ok(value);
    if settings.is_empty() || !settings.iter().all(is_set) {
        return Ok(());
    }
    Err(WorkflowError::Usage(format!(
        "the settings of {} are active in this shell, so there is nothing to compare them with: use another shell, or \
         unset {}",
        published.run.path().display(),
        settings.keys().map(|name| environment_name(name)).collect::<Vec<_>>().join(" "),
    )))
}

/// Compares what the parameter files of a run set with the default: over all its sizes and the guard set, as in the
/// confirmation. The result is in the settings of `home`; none if there is no time.
pub(crate) fn compare_whole(
    published: &Published,
    (home, plan): (&RunDir, &Plan),
    started: &mut Started,
    (options, left): (&Validating, Option<Seconds>),
    session: &mut Session<'_>,
) -> Result<Option<SettingsFindings>, WorkflowError> {
    let Some(mut found) = published.settings.clone() else { return Ok(None) };
    let asked = weights(published);
    let (guards, patterns) = (guard_cells(&asked, plan.ranks), guard_patterns(&started.survey, plan.ranks));
    let cells: Vec<Cell> = asked.keys().copied().chain(guards).collect();
    let subjects = Subjects { cells, patterns };
    let (startup, least) = (started.startup, least_measuring(subjects.count()));
    let first_look = f64::from(2 * LOOKS[0]) * (startup.0 + least);
    if let Some(left) = left.filter(|left| left.0 < first_look) {
        session.say(&progress::settings::no_time_for_whole(left, Seconds(first_look)));
        return Ok(None);
    }
    let launch = left.map(|left| Seconds((left.0 / CONFIRMING_LAUNCHES - startup.0).max(least)));
    let timed = (subjects, schedule_of(&options.timing, startup, launch));
    session.say(progress::settings::comparing_whole());
    let mut jobs = SettingsJobs::new(started.backend.as_mut(), (home, plan), timed, options.seed, session);
    jobs.limit_to(left.map(|left| left.0));
    jobs.ends_on_failure = true;
    let stage = SearchStage::Validation(jobs.journal.next_validation());
    let finalists = [published.switch().by_name()];
    let confirmation = Confirmation {
        finalists: &finalists,
        asked: &asked,
        always: &screened(&asked).into_keys().map(Measure::Call).collect(),
        max_loss: options.max_loss,
        min_gain: options.min_difference,
        stage,
    };
    let (judged, _) = confirm(&confirmation, &mut jobs)?;
    let (failed, memory) = (jobs.failure.take(), jobs.memory(stage, &finalists[0]));
    let compared = judged.into_iter().next().map(|compared| Finalist { memory, ..compared });
    if compared.is_none() && failed.is_none() {
        let run = published.run.path().display();
        return Err(WorkflowError::Input(format!("{run} cannot be compared: jobs with the default fail")));
    }
    found.validation = Some(WholeValidation { digests: published.whole().digests(), compared, failed });
    home.write_settings(&found)?;
    Ok(Some(found))
}
