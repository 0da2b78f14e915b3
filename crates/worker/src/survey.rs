//! Survey of the library, the hosts and the algorithms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use collrules_record::manifest::Binding;
use collrules_record::units::{Bytes, Seconds};
use collrules_record::{Component, Survey, competitor};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Collective, Version};
use collrules_runner::wire::{PROTOCOL, WorkerEvent};
use mpi::traits::{Communicator, CommunicatorCollectives};

use crate::circumstances::host;
use crate::control::{Control, report};
use crate::error::WorkerError;
use crate::ffi::{Tools, ToolsError};
use crate::harness;
use crate::switch::{forced_algorithms, variable};

/// Reports the survey.
pub(crate) fn run(control: &Control, tools: &Tools) -> Result<(), WorkerError> {
    report(control, &WorkerEvent::Hello { protocol: PROTOCOL, ranks: control.ranks() });
    let hosts = control.gather(control.ranks(), host());
    let places = control.gather(control.ranks(), place());
    // Gathering may not send anything within a node. The controller finds the transport by the log of the messages.
    control.world().split_shared(0).barrier();
    if !control.is_root() {
        return Ok(());
    }
    let library = mpi::environment::library_version().unwrap_or_default();
    let library = library.trim_end_matches(['\0', '\n', ' ']).to_owned();
    let version = open_mpi_version(&library).ok_or_else(|| WorkerError::NotOpenMpi(library.clone()))?;
    let survey = Survey {
        library,
        version,
        hosts,
        places,
        algorithms: algorithms(tools),
        not_switchable: not_switchable(tools),
        preset: preset(tools)?,
        components: components(tools)?,
        transport: None,
        eager: eager(tools),
        clock_step: Seconds(harness::smallest_step()),
    };
    report(control, &WorkerEvent::Survey(Box::new(survey)));
    Ok(())
}

/// Returns the processors that this rank may run on, with limits and frequency governor, from the files of proc(5) and
/// the kernel's cpufreq; values that these lack stay empty.
fn place() -> Binding {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (status, limits) = (read("/proc/self/status"), read("/proc/self/limits"));
    let processors = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let lockable = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let online = read("/proc/cpuinfo").lines().filter(|line| line.starts_with("processor")).count();
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim().to_owned();
    Binding {
        processors: processors.unwrap_or_default().trim().to_owned(),
        online: u32::try_from(online).unwrap_or(u32::MAX),
        // The soft limit; `unlimited` is none.
        lockable: lockable.and_then(|limits| limits.split_whitespace().next()?.parse().ok()),
        governor: (!governor.is_empty()).then_some(governor),
    }
}

/// The version in a text like `Open MPI v4.1.4, package: ...`.
fn open_mpi_version(library: &str) -> Option<Version> {
    library.strip_prefix("Open MPI v")?.split([',', ' ']).next()?.parse().ok()
}

/// The algorithms that the library lists for each collective, without the entry for "not forced".
fn algorithms(tools: &Tools) -> BTreeMap<Collective, Vec<(u32, String)>> {
    let listed = |collective| {
        let items = tools.enumeration(&variable(collective, "algorithm"))?;
        let algorithms = items.into_iter().filter_map(|(id, name)| Some((u32::try_from(id).ok()?, name)));
        Some((collective, algorithms.filter(|(id, _)| *id != 0).collect()))
    };
    Collective::ALL.into_iter().filter_map(listed).collect()
}

/// The collectives with an algorithm that cannot be set, even to its present value.
fn not_switchable(tools: &Tools) -> BTreeSet<Collective> {
    let refused = |collective: &Collective| {
        let name = variable(*collective, "algorithm");
        matches!(tools.int(&name), Ok(Some(value)) if tools.set_int(&name, value).is_err())
    };
    Collective::ALL.into_iter().filter(refused).collect()
}

/// Parameters of `coll/tuned` and `coll/han` that a user or a site has set already: they compete with rules.
fn preset(tools: &Tools) -> Result<BTreeMap<String, String>, ToolsError> {
    let forced = forced_algorithms(tools)?.into_iter();
    let mut preset: BTreeMap<String, String> =
        forced.map(|(collective, id)| (variable(collective, "algorithm"), id.to_string())).collect();
    for rules in [RULES_FILE, HAN_FILE] {
        if let Some(file) = tools.text(rules)? {
            preset.insert(rules.to_owned(), file);
        }
    }
    Ok(preset)
}

/// Returns the priorities of the components that have one: the competitors of `tuned`, and those that handle calls
/// without another component.
fn components(tools: &Tools) -> Result<BTreeMap<Component, i32>, ToolsError> {
    let others = ["tuned", "basic", "libnbc"].into_iter().filter_map(|name| name.parse().ok());
    let priority = |component: Component| {
        let priority = tools.int(&format!("coll_{component}_priority")).transpose()?;
        Some(priority.map(|priority| (component, priority)))
    };
    competitor::components().chain(others).filter_map(priority).collect()
}

/// The eager limits of the transports that messages may use; unreadable ones stay unknown, since no measurement needs
/// them.
fn eager(tools: &Tools) -> BTreeMap<String, Bytes> {
    let limit = |name: &str| {
        let limit = tools.size(&format!("btl_{name}_eager_limit")).ok().flatten()?;
        Some((name.to_owned(), Bytes(limit)))
    };
    ["tcp", "sm", "vader"].into_iter().filter_map(limit).collect()
}
