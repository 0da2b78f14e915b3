//! `collrules doctor`: what is installed, what would serve, what is in the way, and the remedy for each.

mod finding;
mod job;
mod local;

use std::collections::BTreeMap;

use collrules_record::units::Bytes;
use collrules_record::{Cell, Placement, Survey};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::{MEASURABLE, known_release};
use collrules_runner::mpi::MpiBackend;
use collrules_runner::{Backend, serving};

use collrules_workflow::start;

use self::finding::{Finding, State};
use crate::args::Doctor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::screen;

pub(crate) fn run(args: &Doctor) -> Result<Exit, Failure> {
    let findings = examine(args);
    let able = !findings.iter().any(|finding| finding.state == State::Problem);
    screen::print(&if args.json {
        serde_json::to_string_pretty(&finding::json(&findings, able))?
    } else {
        finding::lines(&findings, able).join("\n")
    })?;
    Ok(if able { Exit::Done } else { Exit::Environment })
}

/// All findings, in the order in which things depend on each other; what a failure makes pointless is left out.
fn examine(args: &Doctor) -> Vec<Finding> {
    let mut findings = vec![local::user()];
    findings.extend(local::allocation());
    findings.push(local::load());
    let launcher = match start::launcher(&args.system, &interrupt::flag()) {
        Ok(launcher) => launcher,
        Err(error) => {
            findings.push(Finding::problem("launcher", error.to_string()));
            return findings;
        }
    };
    if let Some(template) = launcher.template() {
        findings.push(Finding::ok("launcher", template));
    }
    if let Some((mpirun, version)) = launcher.mpirun() {
        findings.push(Finding::ok("launcher", format!("Open MPI {version}: {}", mpirun.display())));
    }
    findings.push(Finding::ok("worker", launcher.worker().display().to_string()));
    findings.extend(local::settings(launcher.mpirun().map(|(mpirun, _)| mpirun)));
    let mut backend = MpiBackend::new(launcher, args.system.layout);
    let survey = match backend.survey() {
        Ok(survey) => survey,
        Err(error) => {
            findings.push(Finding::problem("job", format!("a trial job fails: {error}")));
            return findings;
        }
    };
    findings.extend(job::examine(&survey));
    match known_release(&survey) {
        Err(error) => findings.push(Finding::problem("release", error.to_string())),
        Ok(release) => {
            findings.push(Finding::ok("release", format!("{}, of the known release {release}", survey.library)));
            findings.extend(serve(args, &mut backend, &survey, release));
        }
    }
    findings
}

/// Which component serves the collectives on all slots.
fn serve(args: &Doctor, backend: &mut MpiBackend, survey: &Survey, release: Release) -> Vec<Finding> {
    let ranks = args.system.layout.most(&survey.hosts);
    if ranks.0 < 2 {
        return Vec::new();
    }
    let nodes = args.system.layout.nodes(&survey.hosts, ranks);
    let (place, several) = (nodes.to_string(), nodes.are_several());
    let placement =
        Placement { layout: args.system.layout, nodes: BTreeMap::from([(ranks, nodes)]), ..Placement::default() };
    let bytes = |collective: Collective| Bytes(if collective.has_sizes() { 1024 } else { 0 });
    let cells: Vec<Cell> = MEASURABLE
        .iter()
        .map(|collective| Cell { collective: *collective, ranks, bytes: bytes(*collective) })
        .collect();
    let found = match serving::serving(backend, &args.scratch, &cells, release, &survey.components, &placement) {
        Ok(found) => found,
        Err(error) => {
            let remedy = "look for coll and coll_..._priority among the settings above, in OMPI_MCA_ variables and in \
                          --mpirun-args, and remove them";
            return vec![Finding::problem("serving", error.to_string()).remedy(remedy)];
        }
    };
    let mut by = BTreeMap::new();
    for serving in found {
        by.entry((serving.by, serving.without)).or_insert_with(Vec::new).push(serving.collective.name());
    }
    let finding = |((component, without), collectives): ((_, Vec<_>), Vec<&str>)| {
        let what = format!("{component} serves {} on {ranks} ranks, {place}", collectives.join(", "));
        if without.is_empty() {
            return Finding::ok("serving", what);
        }
        let remedy = "rules alone change nothing there; tune measures it beside the algorithms of coll/tuned, and \
                      writes the settings that are needed beside the rules";
        Finding::note("serving", what).remedy(remedy)
    };
    let mut findings: Vec<Finding> = by.into_iter().map(finding).collect();
    if several && survey.hosts.len() > ranks.0 as usize {
        findings
            .push(Finding::note("layout", format!("{ranks} of {} slots are used by this layout", survey.hosts.len())));
    }
    findings
}
