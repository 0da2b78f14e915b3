//! Names of the parts of a study, and their order.

use collrules_record::Candidate;
use collrules_report::facts::name_candidate;
use collrules_rules::{Collective, Release};

use crate::study::results::Study;

/// The name of a candidate in a release; components have their own name, reference algorithms a short one.
pub(in crate::study) fn candidate_name(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Component(component) => component.to_string(),
        Candidate::Reference(_) => candidate.to_string(),
        _ => name_candidate(release, collective, candidate),
    }
}

/// The name of a candidate of a study.
pub(super) fn name(study: &Study, collective: Collective, candidate: Candidate) -> String {
    candidate_name(study.release, collective, candidate)
}

/// The collectives of a study, in the order of its cells.
pub(super) fn collectives(study: &Study) -> Vec<Collective> {
    let mut all: Vec<Collective> = study.cells.iter().map(|cell| cell.cell.collective).collect();
    all.dedup();
    all
}

/// The candidates of a collective, the builtin first.
pub(super) fn candidates(study: &Study, collective: Collective) -> Vec<Candidate> {
    let cells = study.cells.iter().filter(|cell| cell.cell.collective == collective);
    let mut all: Vec<Candidate> = cells.flat_map(|cell| &cell.points).map(|point| point.candidate).collect();
    all.sort_unstable();
    all.dedup();
    all
}
