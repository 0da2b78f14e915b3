//! A study in several variants: campaigns that take turns, and a page that compares them.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::rundir::{self, RunDir};
use collrules_report::Document;
use collrules_runner::separate;
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::{Measurement, RunPlace};
use collrules_workflow::start::oversubscribes;

use super::costs::compare_campaigns;
use super::one::{OneStudy, README};
use super::variant::Variant;
use super::{SEED, Studying, about};
use crate::instrument;
use crate::study::report::{StudyVariant, variants as side_by_side};
use crate::study::results::Study;

/// Measures every possible variant of a study into a directory of its own in `out`, or reads it from the directory
/// `input`, and compares them. What is in `out` is resumed, if `resumes`. Returns the comparison, and the studies by
/// directory.
pub fn compare_variants(
    base: &OneStudy,
    variants: &[Variant],
    input: Option<&Path>,
    out: &Path,
    resumes: bool,
    session: &mut Session<'_>,
) -> Result<(Document, BTreeMap<String, Study>), WorkflowError> {
    let OneStudy { options, definition: Some(definition), .. } = base else { return Ok(Default::default()) };
    let refused = |why: String| WorkflowError::Input(format!("{}: {why}", options.definition.display()));
    let noun = variants.first().map_or("variant", |variant| variant.noun);
    let [ranks] = *options.ranks(definition) else {
        return Err(refused(format!("{noun}s are compared for one number of ranks; name one with np, or --np")));
    };
    if !resumes {
        instrument::refuse_occupied::<OneStudy>(out)?;
    }
    variants.iter().try_for_each(|variant| variant.refuse(ranks)).map_err(refused)?;
    let hosts = if input.is_some() { Vec::new() } else { hosts(options, session)? };
    let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
    for (seed, variant) in (SEED..).zip(variants) {
        let run = input.unwrap_or(out).join(&variant.directory);
        let why = match input {
            Some(_) => (!run.is_dir()).then(|| format!("{} is missing", run.display())),
            None => variant.obstacle(ranks, &hosts, &options.system.jobs),
        };
        if let Some(why) = why {
            left_out.push(format!("Left out: {} ({why}).", variant.name));
            continue;
        }
        let mut options = Studying { ranks: vec![ranks], ..options.clone() };
        variant.place(&mut options.system, ranks);
        wanted.push((variant, run, OneStudy { options, arguments: variant.arguments, seed, ..base.clone() }));
    }
    if wanted.is_empty() {
        return Err(refused(left_out.join(" ")));
    }
    let mut measured = Vec::with_capacity(wanted.len());
    for (variant, run, one) in wanted.iter().filter(|_| input.is_none()) {
        session.say(&format!("{ranks} ranks, {}", variant.name));
        // A job may end before each variant is begun.
        let is_begun = resumes && run.join(rundir::MANIFEST).exists();
        let place = if is_begun { RunPlace::Resumed(run.clone()) } else { RunPlace::New(run.clone()) };
        measured.push(instrument::begin(one, &place, session)?);
    }
    take_turns(&mut measured, session)?;
    let mut measured = measured.into_iter();
    let (mut compared, mut begun) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for (Variant { name, directory, .. }, run, one) in &wanted {
        let study = match measured.next() {
            Some(mut measured) => {
                one.refine(&mut measured, session)?;
                instrument::finish(one, measured, session)?.1.study
            }
            None => instrument::of_input(one, run, Some(&out.join(directory)), session)?.1.study,
        };
        begun.push(RunDir::open(run)?.progress().begun);
        compared.push(StudyVariant { name: name.clone(), directory: directory.clone(), study, costs: Vec::new() });
    }
    let costs = compare_campaigns(&compared.iter().map(|compared| &compared.study).collect::<Vec<_>>());
    compared.iter_mut().zip(costs).for_each(|(compared, costs)| compared.costs = costs);
    let about = about(definition, left_out, session);
    let document = side_by_side(&compared, noun, took_turns(&begun), &about);
    RunDir::derived(out)?.write(README, document.markdown())?;
    Ok((document, compared.into_iter().map(|it| (it.directory, it.study)).collect()))
}

/// Measures a launch of each campaign, then the next of each in the opposite order, and so on, so that changes of the
/// machine affect all equally.
fn take_turns(measured: &mut [Measurement], session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let mut all: Vec<_> = measured.iter_mut().collect();
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
    for host in (session.start)(&options.system, &session.stop)?.survey.hosts {
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
