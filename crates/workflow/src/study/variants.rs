//! A study in several variants: campaigns that take turns, and a page that compares them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_lab::compare_campaigns;
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Ranks;
use collrules_report::progress;
use collrules_report::study::{StudyVariant, Variants, variants as side_by_side};

use super::Studying;
use super::definition::Definition;
use super::one::{RUN, SEED, StudySource, begin, finish, refuse, typed};
use super::variant::Variant;
use super::written::{README, Studied};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// Returns true if a directory has measurements of some of these variants.
pub(super) fn are_in(directory: &Path, definition: &Definition) -> bool {
    definition.variants.iter().any(|variant| run_of(directory, variant).is_dir())
}

fn run_of(directory: &Path, variant: &Variant) -> PathBuf {
    directory.join(variant.directory()).join(RUN)
}

/// Measures every possible variant into a directory of its own, or reads it from there, and compares them.
pub(super) fn study(
    options: &Studying,
    definition: &Definition,
    session: &mut Session<'_>,
) -> Result<Studied, WorkflowError> {
    let ranks = ranks(options, definition)?;
    let page_path = options.out.join(README);
    if page_path.exists() {
        return Err(WorkflowError::Occupied(format!(
            "{} holds a study already; name another directory with --out",
            options.out.display()
        )));
    }
    let hosts = if options.run.is_some() { Vec::new() } else { hosts(options, session)? };
    let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
    for variant in &definition.variants {
        let own = varied(options, variant, ranks);
        let why = match (&options.run, &own.run) {
            (Some(directory), Some(run)) => {
                (!run.is_dir()).then(|| format!("{} has no measurements of it", directory.display()))
            }
            _ => variant.obstacle(ranks, &hosts, &options.system.jobs),
        };
        match why {
            Some(why) => left_out.push(format!("{ranks} ranks {} are left out: {why}", variant.phrase())),
            None => wanted.push((variant, own, defined(definition, variant))),
        }
    }
    let Some((first, ..)) = wanted.first() else {
        return Err(WorkflowError::Input(format!(
            "{} asks for what is not available here: {}",
            options.definition.display(),
            left_out.join("; ")
        )));
    };
    let varying = first.varying();
    for (_, options, definition) in &wanted {
        refuse(options, definition)?;
    }
    let mut sources = Vec::with_capacity(wanted.len());
    for (seed, (variant, options, definition)) in (SEED..).zip(&wanted) {
        session.say(&progress::studies::variant(ranks, &variant.name()));
        sources.push(begin(options, definition, seed, session)?);
    }
    take_turns(&mut sources, session)?;
    let mut compared = Vec::with_capacity(wanted.len());
    let mut runs = Vec::with_capacity(wanted.len());
    for ((variant, options, definition), source) in wanted.iter().zip(sources) {
        let (study, run, _) = finish(options, definition, source, session)?;
        compared.push(StudyVariant { name: variant.name(), directory: variant.directory(), study, costs: Vec::new() });
        runs.push(run);
    }
    let begun: Vec<Vec<String>> = runs.iter().map(|run| run.progress().begun).collect();
    let took_turns = took_turns(&begun);
    add_costs(&mut compared, &runs)?;
    let mut remarks: Vec<String> = options.note.iter().cloned().collect();
    remarks.extend(left_out.iter().map(|why| format!("{why}.")));
    let about = Variants {
        varying,
        took_turns,
        title: definition.title.clone(),
        question: definition.question.clone(),
        remarks,
        command: typed(&session.command),
        claims: definition.claims.clone(),
    };
    fs::create_dir_all(&options.out)
        .and_then(|()| rundir::put_new(&page_path, side_by_side(&compared, &about).markdown()))
        .map_err(|cause| WorkflowError::write(&page_path, cause))?;
    let mut paragraphs: Vec<String> = collrules_report::study::answers(&compared, &about);
    paragraphs.extend(left_out.into_iter().map(|why| format!("{why}.")));
    let default_is_right = compared.iter().all(|compared| compared.study.failed_defaults().is_empty());
    let variants = compared.into_iter().map(|compared| (compared.directory, compared.name)).collect();
    Ok(Studied { paragraphs, figures: 0, default_is_right, variants: Some((varying, variants)) })
}

/// Measures a launch of each campaign, then the next of each in the opposite order, and so on, so that changes of the
/// machine affect all equally.
fn take_turns(sources: &mut [StudySource], session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let launches = sources.iter().map(StudySource::launches).max().unwrap_or_default();
    for turn in 1..=launches {
        let mut order: Vec<&mut StudySource> = sources.iter_mut().collect();
        if turn % 2 == 0 {
            order.reverse();
        }
        for source in order {
            source.take_turn(turn, session)?;
        }
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

/// Adds the cost of each variant relative to the first.
fn add_costs(compared: &mut [StudyVariant], runs: &[RunDir]) -> Result<(), WorkflowError> {
    let mut samples = Vec::with_capacity(runs.len());
    for run in runs {
        samples.push(run.samples()?);
    }
    let texts: Vec<&str> = samples.iter().map(|samples| samples.text.as_str()).collect();
    let studies: Vec<_> = compared.iter().map(|compared| &compared.study).collect();
    let shown = runs.first().map(|run| run.path().display().to_string()).unwrap_or_default();
    let costs = compare_campaigns(&texts, &studies).map_err(WorkflowError::analysis(shown))?;
    for (compared, costs) in compared.iter_mut().zip(costs) {
        compared.costs = costs;
    }
    Ok(())
}

/// The number of ranks, which all variants share.
fn ranks(options: &Studying, definition: &Definition) -> Result<Ranks, WorkflowError> {
    let wanted = if options.ranks.is_empty() { &definition.ranks[..] } else { &options.ranks[..] };
    let refused = |why: String| WorkflowError::Input(format!("{}: {why}", options.definition.display()));
    let [ranks] = wanted else {
        let what = definition.variants.first().map_or("variants", |variant| variant.varying().plural());
        return Err(refused(format!("{what} are compared for one number of ranks; name one with np, or --np")));
    };
    definition.variants.iter().try_for_each(|variant| variant.refuse(*ranks)).map_err(refused)?;
    Ok(*ranks)
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

/// The options of a variant.
fn varied(options: &Studying, variant: &Variant, ranks: Ranks) -> Studying {
    let mut options = Studying { out: options.out.join(variant.directory()), ..options.clone() };
    options.ranks = vec![ranks];
    options.run = options.run.map(|directory| run_of(&directory, variant));
    variant.place(&mut options.system, ranks);
    options
}

/// The definition of a variant.
fn defined(definition: &Definition, variant: &Variant) -> Definition {
    Definition { arguments: variant.arguments(definition.arguments), ..definition.clone() }
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
