//! Which component serves what is to be measured, and what follows from it.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::findings::Findings;
use collrules_record::plan::CellPlan;
use collrules_record::rival;
use collrules_record::rundir::RunDir;
use collrules_record::{
    Candidate, Cell, Component, HanAlgorithm, HanChoice, HanSettings, Layout, Placement, Plan, Ranks, Serving, Survey,
};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::SERIES;
use collrules_runner::{Backend, RunnerError, separate, serving};

use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::Pins;

/// Finds out who serves the cells of a plan. Where it is not `coll/tuned`, what it would do by itself is measured as
/// well: that is what happens wherever the rules say nothing once they have an effect.
pub(crate) fn find(
    backend: &mut dyn Backend,
    run: &RunDir,
    plan: &mut Plan,
    survey: &Survey,
    release: Release,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    let cells: Vec<Cell> = plan.cells.iter().map(|planned| planned.cell).collect();
    let found = serving::serving(backend, run.path(), &cells, release, &survey.components, &plan.placement)?;
    for serving in found.iter().filter(|serving| !serving.without.is_empty()) {
        let nodes = plan.placement.nodes.get(&serving.ranks);
        let place = nodes.map_or(String::new(), |nodes| format!(" ({nodes})"));
        session.say(&format!(
            "{} on {} ranks{place} is served by {}: that is the builtin there, and coll/tuned is measured without it",
            serving.collective, serving.ranks, serving.by,
        ));
    }
    plan.placement.serving = found;
    for planned in &mut plan.cells {
        if !plan.placement.without(planned.cell.collective, planned.cell.ranks).is_empty() {
            planned.candidates.push(Candidate::Component(Component::TUNED));
        }
    }
    Ok(())
}

/// Adds HAN's own choices where its file can hand over calls, and they are wanted: its algorithms beside the other
/// candidates, its parameters in jobs of their own.
pub(crate) fn add_han(
    plan: &mut Plan,
    release: Release,
    wanted: impl Fn(Collective) -> bool,
    settings: &[HanSettings],
    session: &mut Session<'_>,
) {
    let handable: BTreeSet<(Collective, Ranks)> = plan.placement.handable(release).collect();
    for planned in &mut plan.cells {
        let Cell { collective, ranks, .. } = planned.cell;
        if handable.contains(&(collective, ranks)) && wanted(collective) {
            let own = HanAlgorithm::others(release, collective);
            planned.candidates.extend(own.map(|algorithm| Candidate::Han(HanChoice::Algorithm(algorithm))));
            let settings = settings.iter().filter(|settings| settings.act_on(collective, planned.cell.bytes.0));
            let settings: Vec<_> = settings.map(|one| Candidate::Han(HanChoice::Settings(*one))).collect();
            if !settings.is_empty() {
                planned.candidates.push(Candidate::Component(Component::HAN));
                planned.candidates.extend(settings);
            }
        }
    }
    let apart = |planned: &CellPlan| planned.candidates.iter().any(|candidate| candidate.is_apart());
    if plan.cells.iter().any(apart) {
        let paid = separate::starts_apart(plan);
        plan.separate.series = plan.separate.series.max(SERIES);
        let starts = separate::starts(plan);
        let jobs =
            starts.iter().filter(|start| matches!(start, separate::Start::Alone { collective: None, .. })).count();
        separate::afford(plan, paid).iter().for_each(|said| session.say(said));
        session.say(&if plan.cells.iter().any(apart) {
            format!("parameters of HAN are tried in {jobs} launches of their own")
        } else {
            format!("parameters of HAN are not tried: starting {jobs} launches takes most of the budget; a longer one has time")
        });
    }
}

/// What takes the calls of cells before `coll/tuned` does, in whole sentences with the remedy. Asked only where ranks share
/// one of several nodes: elsewhere the proof itself tells, but there a failing rule can make other components hang.
pub(crate) fn displacing(
    backend: &mut dyn Backend,
    scratch: &Path,
    cells: &[Cell],
    survey: &Survey,
    release: Release,
    layout: Layout,
) -> Result<Vec<String>, WorkflowError> {
    let nodes = cells.iter().map(|cell| (cell.ranks, layout.nodes(&survey.hosts, cell.ranks))).collect();
    let placement = Placement { layout, nodes, serving: Vec::new() };
    if !placement.nodes.values().any(|nodes| nodes.are_several() && nodes.share()) {
        return Ok(Vec::new());
    }
    let found = match serving::serving(backend, scratch, cells, release, &survey.components, &placement) {
        // Nobody is known to be in the way; what that means for the file, the proof will tell.
        Err(RunnerError::NotServed { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let sentence = |serving: &Serving| {
        let pins = rival::pins([serving]);
        let settings: Vec<String> = pins.iter().map(|(name, value)| format!("--mca {name} {value}")).collect();
        format!(
            "  {} on {} ranks is served by {}, which rules do not reach; with --mpirun-args '{}' it is not",
            serving.collective,
            serving.ranks,
            serving.by,
            settings.join(" "),
        )
    };
    Ok(found.iter().filter(|serving| !serving.without.is_empty()).map(sentence).collect())
}

/// The settings that the tuning has beside its files: those that put other components out of the way of these collectives,
/// for which HAN has a file, and parameters of HAN.
pub(crate) fn needed(findings: &Findings, freed: &BTreeSet<Collective>) -> Pins {
    let servings = findings
        .placement
        .serving
        .iter()
        .filter(|serving| freed.contains(&serving.collective) && !serving.can_hand_over(findings.release));
    let parameters = findings.cells.iter().filter_map(|cell| match cell.served_candidate() {
        Candidate::Han(HanChoice::Settings(settings)) => Some(settings.pins(cell.cell.collective)),
        _ => None,
    });
    rival::pins(servings).into_iter().chain(parameters.flatten()).collect()
}

/// The settings of a run together with those that its rules need.
pub fn pins(of_run: &Pins, findings: &Findings) -> Pins {
    rival::beside(of_run, &findings.pins)
}
