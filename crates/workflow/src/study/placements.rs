//! A study on several placements of the same ranks: a campaign for each, and a page that compares them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::options::{Jobs, Studying};
use collrules_record::rundir;
use collrules_record::units::Ranks;
use collrules_report::study::{Placed, Placements, placements as page};

use super::definition::{Definition, Mapping};
use super::one::{RUN, one, typed};
use super::written::{README, Studied};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// Whether a directory has what an earlier study of some of these placements measured.
pub(super) fn are_in(directory: &Path, definition: &Definition) -> bool {
    definition.places.iter().any(|place| run_of(directory, place).is_dir())
}

fn run_of(directory: &Path, place: &Mapping) -> PathBuf {
    directory.join(place.directory()).join(RUN)
}

/// Measures every placement that the hosts can give, each into a directory of its own, or takes it from there, and compares
/// them.
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
    let simulated = options.system.is_simulated();
    let (mut placed, mut left_out) = (Vec::new(), Vec::new());
    for place in &definition.places {
        let why = match (place, &options.run) {
            (place, Some(runs)) => {
                let lacks = !run_of(runs, place).is_dir();
                lacks.then(|| format!("{} has no measurements of it", runs.display()))
            }
            (place, None) => obstacle(place, ranks, &hosts, simulated),
        };
        if let Some(why) = why {
            left_out.push(format!("{ranks} ranks {} are left out: {why}", place.phrase()));
            continue;
        }
        session.say(&format!("{ranks} ranks, {}", place.name()));
        let options = placed_options(options, place, ranks);
        let (study, _) = one(&options, definition, session)?;
        placed.push(Placed { name: place.name(), directory: place.directory(), study });
    }
    if placed.is_empty() {
        return Err(WorkflowError::Input(format!(
            "{} asks for placements that are not to be had here: {}",
            options.definition.display(),
            left_out.join("; ")
        )));
    }
    let mut remarks: Vec<String> = options.note.iter().cloned().collect();
    remarks.extend(left_out.iter().map(|why| format!("{why}.")));
    let about = Placements {
        title: definition.title.clone(),
        question: definition.question.clone(),
        remarks,
        command: typed(&session.command),
        claims: definition.claims.clone(),
    };
    fs::create_dir_all(&options.out)
        .and_then(|()| rundir::put_new(&page_path, page(&placed, &about)))
        .map_err(|cause| WorkflowError::write(&page_path, cause))?;
    let placements = placed.into_iter().map(|placed| (placed.directory, placed.name)).collect();
    let paragraphs = left_out.into_iter().map(|why| format!("{why}.")).collect();
    Ok(Studied { paragraphs, figures: 0, placements })
}

/// Why the hosts cannot give a placement, if they cannot.
fn obstacle(place: &Mapping, ranks: Ranks, hosts: &[u32], simulated: bool) -> Option<String> {
    match place {
        Mapping::Nodes(nodes) if *nodes as usize > hosts.len() => Some(format!("there are {} hosts", hosts.len())),
        Mapping::Nodes(nodes) if simulated && *nodes != ranks.0 => Some("simulated ranks have a host each".to_owned()),
        Mapping::MapBy(_) if simulated => Some("simulated ranks have a host each".to_owned()),
        Mapping::Nodes(nodes) => {
            let each = ranks.0 / nodes;
            let wide = hosts.iter().filter(|slots| **slots >= each).count();
            (wide < *nodes as usize)
                .then(|| format!("{each} slots on each of {nodes} hosts are needed, and {wide} have them"))
        }
        Mapping::MapBy(_) => None,
    }
}

/// The one number of ranks of all placements.
fn ranks(options: &Studying, definition: &Definition) -> Result<Ranks, WorkflowError> {
    let wanted = if options.ranks.is_empty() { &definition.ranks[..] } else { &options.ranks[..] };
    let refused = |why: String| WorkflowError::Input(format!("{}: {why}", options.definition.display()));
    let [ranks] = wanted else {
        return Err(refused("placements are compared for one number of ranks; name one with np, or --np".to_owned()));
    };
    let uneven = definition.places.iter().find_map(|place| match place {
        Mapping::Nodes(nodes) if !ranks.0.is_multiple_of(*nodes) => Some(*nodes),
        _ => None,
    });
    uneven.map_or(Ok(*ranks), |nodes| Err(refused(format!("{ranks} ranks cannot be spread evenly over {nodes} nodes"))))
}

/// The slots of each host; without end where more ranks than slots are meant.
fn hosts(options: &Studying, session: &mut Session<'_>) -> Result<Vec<u32>, WorkflowError> {
    let mut slots: BTreeMap<String, u32> = BTreeMap::new();
    for host in session.start(&options.system)?.survey.hosts {
        *slots.entry(host).or_default() += 1;
    }
    let beyond = oversubscribes(options.system.oversubscribe);
    Ok(slots.into_values().map(|slots| if beyond { u32::MAX } else { slots }).collect())
}

/// The same study on one placement.
fn placed_options(options: &Studying, place: &Mapping, ranks: Ranks) -> Studying {
    let run = options.run.as_ref().map(|runs| run_of(runs, place));
    let mut options = Studying { out: options.out.join(place.directory()), run, ..options.clone() };
    options.ranks = vec![ranks];
    if let Jobs::Mpi(launching) = &mut options.system.jobs {
        launching.arguments = format!("{} --map-by {}", launching.arguments, place.mapping(ranks)).trim().to_owned();
    }
    options
}
