//! The whole tuning of a run with settings, compared with the default again in fresh launches.

use collrules_record::Seconds;
use collrules_record::options::Validating;
use collrules_record::plan::Plan;
use collrules_record::rundir::RunDir;
use collrules_record::settings::{Finalist, Measure, SearchStage, SettingsFindings};
use collrules_report::settings::failure;
use collrules_tuner::settings::{Confirmation, LOOKS, confirm};

use super::jobs::{SettingsJobs, Subjects};
use super::stage::{CONFIRMING_LAUNCHES, least_measuring, schedule_of, weights};
use super::subjects::{guard_cells, guard_patterns, screened};
use crate::error::WorkflowError;
use crate::publish::Published;
use crate::session::Session;
use crate::start::Started;

/// Compares what the parameter files of a run set with the default: over the chosen sizes and the guard set, as in the
/// confirmation. Adds the result to the findings, which go to `home`. Below the time for the first look, it takes more.
pub(crate) fn compare_again(
    published: &Published,
    (home, plan): (&RunDir, &Plan),
    started: &mut Started,
    (options, left): (&Validating, Option<Seconds>),
    session: &mut Session<'_>,
) -> Result<SettingsFindings, WorkflowError> {
    let Some(mut found) = home.settings()?.or_else(|| published.settings.clone()) else {
        return Err(nothing_compared(published, "no settings were searched"));
    };
    let mut asked = weights(published);
    asked.retain(|cell, _| {
        options.collectives.as_ref().is_none_or(|named| named.contains(&cell.collective))
            && (options.ranks.is_empty() || options.ranks.contains(&cell.ranks))
            && options.sizes.as_ref().is_none_or(|sizes| sizes.contains(&cell.bytes))
    });
    if asked.is_empty() {
        return Err(nothing_compared(published, "no size that it measured is selected by --ops, --np and --sizes"));
    }
    let (guards, patterns) = (guard_cells(&asked, plan.ranks), guard_patterns(&started.survey, plan.ranks));
    let cells = asked.keys().copied().chain(guards).collect();
    let subjects = Subjects { cells, patterns };
    let (startup, least) = (started.startup, least_measuring(subjects.count()));
    let first_look = f64::from(2 * LOOKS[0]) * (startup.0 + least);
    let left = left.map(|left| left.0.max(first_look));
    let launch = left.map(|left| Seconds((left / CONFIRMING_LAUNCHES - startup.0).max(least)));
    let timed = (subjects, schedule_of(&options.timing, startup, launch));
    let stage = SearchStage::Validation(found.validations.len() as u32);
    session.say("comparing the whole tuning with the default, its settings included");
    let mut jobs = SettingsJobs::new(started.backend.as_mut(), (home, plan), timed, options.seed, session);
    jobs.limit_to(left);
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
    let failed = jobs.journal.launches().filter(|launch| launch.stage == stage);
    let failed = failed.filter_map(|launch| launch.outcome.as_ref().err()).map(failure).next();
    let memory = jobs.memory(stage, &finalists[0]);
    let compared: Finalist = judged
        .into_iter()
        .next()
        .ok_or_else(|| nothing_compared(published, failed.as_deref().unwrap_or("jobs with the default fail")))?;
    found.validations.push(Finalist { memory, ..compared });
    home.write_settings(&found)?;
    Ok(found)
}

fn nothing_compared(published: &Published, why: &str) -> WorkflowError {
    WorkflowError::Input(format!("{} cannot be compared with the default: {why}", published.run.path().display()))
}
