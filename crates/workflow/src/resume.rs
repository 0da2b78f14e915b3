//! Resumed runs: their options, and the uses for which they are refused.

use std::collections::BTreeMap;

use collrules_record::competitor::COMPETITORS;
use collrules_record::{Manifest, RunDir, Settings};
use collrules_report::changes::property;
use collrules_tuner::results::comparison::{RunProperty, differences};

use crate::error::WorkflowError;
use crate::start::Started;

/// Leaves out components that a run switched off although the user's settings switch them on, because their calls crashed.
/// Returns the settings for that.
pub(crate) fn leave_out(manifest: &Manifest, started: &mut Started) -> Settings {
    let is_on = |name: &str| started.pins.get(name).is_some_and(|value| value != "0");
    let whole =
        |name: &str| COMPETITORS.iter().any(|competitor| name == format!("coll_{}_priority", competitor.component));
    let off = manifest.pins.iter().filter(|(name, value)| *value == "0" && whole(name) && is_on(name));
    let off = off.map(|(name, value)| (name.clone(), value.clone())).collect();
    started.backend.leave_out(&off);
    off
}

/// Refuses to measure in a merged run: it has no journal of its own.
pub(crate) fn refuse_merged(run: &RunDir, manifest: &Manifest) -> Result<(), WorkflowError> {
    let Some(first) = manifest.merged.first() else { return Ok(()) };
    Err(WorkflowError::Input(format!(
        "{} was made by `collrules merge`: resume what it was made of, such as {}, and merge again",
        run.path().display(),
        first.run.display(),
    )))
}

/// Properties of a run that new samples must share, so that they can be compared with earlier ones.
const SHARED: [RunProperty; 8] = [
    RunProperty::Backend,
    RunProperty::Version,
    RunProperty::Library,
    RunProperty::Slots,
    RunProperty::Transport,
    RunProperty::Pins,
    RunProperty::Preset,
    RunProperty::Environment,
];

/// Refuses to resume a run on another system, since its samples are compared with each other. A batch system may assign
/// other nodes to each job, if ranks are placed on them identically; then returns a remark.
pub(crate) fn refuse_other_system(
    run: &RunDir,
    before: &Manifest,
    now: &Manifest,
) -> Result<Option<String>, WorkflowError> {
    let moved = moved(before, now);
    // The environment only concerns launched jobs.
    let is_shared = |what| SHARED.contains(&what) && !(before.is_simulated() && what == RunProperty::Environment);
    let found = differences(before, now).into_iter().filter(|it| is_shared(it.what));
    let mut found: Vec<_> = found.map(|it| (property(it.what), it.before, it.after)).collect();
    if moved.is_none() {
        found.push(("hosts of the ranks", before.survey.hosts.join(" "), now.survey.hosts.join(" ")));
    }
    found.push(("options of mpirun", middle(&before.launcher), middle(&now.launcher)));
    let found = found.into_iter().filter(|(_, then, now)| then != now);
    let mut differences: Vec<String> =
        found.map(|(what, then, now)| format!("{what}: {then} then, {now} now")).collect();
    if before.survey.algorithms != now.survey.algorithms {
        differences.push("the library lists other algorithms".to_owned());
    }
    if differences.is_empty() {
        return Ok(moved);
    }
    Err(WorkflowError::Environment(format!(
        "{} cannot be resumed here, since new samples would not be comparable:\n  {}\nResume it where it began, or measure \
         into a new directory with --out",
        run.path().display(),
        differences.join("\n  ")
    )))
}

/// Returns a remark if a run is resumed on other nodes of its partition, with ranks placed identically.
fn moved(before: &Manifest, after: &Manifest) -> Option<String> {
    let (then, now) = (before.allocations.last()?, after.allocations.last()?);
    let hosts = (&before.survey.hosts, &after.survey.hosts);
    let alike =
        (then.system, &then.partition) == (now.system, &now.partition) && numbered(hosts.0) == numbered(hosts.1);
    (alike && hosts.0 != hosts.1).then(|| {
        format!(
            "{} has other nodes than the run began on: differences between nodes now add to those between launches",
            now.to_string().split(':').next().unwrap_or_default(),
        )
    })
}

/// Hosts of the ranks, numbered in order of first appearance.
fn numbered(hosts: &[String]) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    hosts
        .iter()
        .map(|host| {
            let next = known.len();
            *known.entry(host).or_insert(next)
        })
        .collect()
}

/// A launch command without its two programs, whose paths may have changed.
fn middle(command: &[String]) -> String {
    command.get(1..command.len().saturating_sub(1)).unwrap_or_default().join(" ")
}
