//! A study in several variants: campaigns that take turns, and a page that compares them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collrules_lab::compare_campaigns;
use collrules_lab::study::definition::Definition;
use collrules_report::progress;
use collrules_report::study::{StudyVariant, Varying, variants as side_by_side};
use collrules_runner::separate;

use super::one::{RUN, StudyMeasurement};
use super::variant::Variant;
use super::written::{README, Studied, about, put};
use super::{SEED, Studying};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// The measurements of a variant in the directory of a study.
pub(super) fn run_of(directory: &Path, variant: &Variant) -> PathBuf {
    directory.join(&variant.directory).join(RUN)
}

/// Measures every possible variant into a directory of its own, or reads it from there, and compares them.
pub(super) fn study(
    options: &Studying,
    definition: &Definition,
    variants: &[Variant],
    session: &mut Session<'_>,
) -> Result<Studied, WorkflowError> {
    let refused = |why: String| WorkflowError::Input(format!("{}: {why}", options.definition.display()));
    let noun = variants.first().map_or("variant", |variant| variant.noun);
    let [ranks] = (if options.ranks.is_empty() { &definition.np } else { &options.ranks })[..] else {
        return Err(refused(format!("{noun}s are compared for one number of ranks; name one with np, or --np")));
    };
    variants.iter().try_for_each(|variant| variant.refuse(ranks)).map_err(refused)?;
    let hosts = if options.run.is_some() { Vec::new() } else { hosts(options, session)? };
    let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
    for variant in variants {
        let mut own = Studying { out: options.out.join(&variant.directory), ranks: vec![ranks], ..options.clone() };
        variant.place(&mut own.system, ranks);
        let why = match &mut own.run {
            Some(run) => {
                *run = run_of(run, variant);
                (!run.is_dir()).then(|| format!("{} is missing", run.display()))
            }
            None => variant.obstacle(ranks, &hosts, &options.system.jobs),
        };
        match why {
            Some(why) => left_out.push(format!("Left out: {} ({why}).", variant.name)),
            None => wanted.push((variant, own)),
        }
    }
    if wanted.is_empty() {
        return Err(refused(left_out.join(" ")));
    }
    let mut measurements = Vec::with_capacity(wanted.len());
    for (seed, (variant, own)) in (SEED..).zip(&wanted) {
        session.say(&progress::studies::variant(ranks, &variant.name));
        measurements.push(StudyMeasurement::begin(own.clone(), definition, variant.arguments, seed, session)?);
    }
    take_turns(&mut measurements, session)?;
    let (mut compared, mut begun) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for ((variant, _), measurement) in wanted.iter().zip(measurements) {
        begun.push(measurement.run.progress().begun);
        let (study, _) = measurement.finish(session)?;
        compared.push(StudyVariant {
            name: variant.name.clone(),
            directory: variant.directory.clone(),
            study,
            costs: Vec::new(),
        });
    }
    let costs = compare_campaigns(&compared.iter().map(|compared| &compared.study).collect::<Vec<_>>());
    for (compared, costs) in compared.iter_mut().zip(costs) {
        compared.costs = costs;
    }
    let varying = Varying { noun, took_turns: took_turns(&begun) };
    let document = side_by_side(&compared, varying, &about(options, definition, left_out, session));
    put(&options.out, README, &document.markdown())?;
    let default_is_right = compared.iter().all(|compared| compared.study.failed_defaults().is_empty());
    let mut files = vec![(README.to_owned(), format!("the {noun}s compared"))];
    files.extend(compared.into_iter().map(|it| (it.directory, format!("the study of {}", it.name))));
    Ok(Studied { document, default_is_right, files })
}

/// Measures a launch of each campaign, then the next of each in the opposite order, and so on, so that changes of the
/// machine affect all equally.
fn take_turns(measurements: &mut [StudyMeasurement<'_>], session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let mut all: Vec<_> = measurements.iter_mut().filter_map(|measurement| measurement.measured.as_mut()).collect();
    let launches = all.iter().map(|measured| separate::starts(&measured.manifest.plan).len()).max();
    for turn in 1..=launches.unwrap_or_default() as u32 {
        for measured in &mut all {
            measured.take_turn(turn, session)?;
        }
        all.reverse();
    }
    Ok(())
}

/// Returns true if each launch of every campaign began after the previous launch of all others, according to the start
/// times.
fn took_turns(begun: &[Vec<String>]) -> bool {
    let launches = begun.iter().map(Vec::len).min().unwrap_or_default();
    let at = |launch: usize| begun.iter().map(move |begun| &begun[launch]);
    launches > 0 && (1..launches).all(|launch| at(launch - 1).max() <= at(launch).min())
}

/// The slots of each host; unlimited if there may be more ranks than slots.
fn hosts(options: &Studying, session: &mut Session<'_>) -> Result<Vec<u32>, WorkflowError> {
    let mut slots: BTreeMap<String, u32> = BTreeMap::new();
    for host in session.start(&options.system)?.survey.hosts {
        *slots.entry(host).or_default() += 1;
    }
    let beyond = oversubscribes(options.system.oversubscribe);
    Ok(slots.into_values().map(|slots| if beyond { u32::MAX } else { slots }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaigns_one_after_the_other_took_no_turns() {
        let begun = |minutes: &[u32]| minutes.iter().map(|it| format!("2026-11-23T08:{it:02}:00Z")).collect::<Vec<_>>();
        assert!(took_turns(&[begun(&[1, 4, 5]), begun(&[2, 3, 6])]));
        assert!(!took_turns(&[begun(&[1, 2, 3]), begun(&[4, 5, 6])]));
        assert!(took_turns(&[begun(&[1]), begun(&[2])]), "there is one turn");
        assert!(!took_turns(&[begun(&[1]), begun(&[])]), "one of them has no launch");
    }
}
