//! The settings on which the effect of a rules file depends, and the file that each rank would read.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use collrules_rules::settings;
use collrules_runner::circumstances::{
    COMPONENTS, Circumstances, HAN_FILE, RULES_FILE, RulesReading, USE_HAN, USE_RULES, digest,
};
use collrules_runner::wire::WorkerEvent;

use crate::control::{Control, report};
use crate::error::WorkerError;
use crate::ffi::{Tools, ToolsError};
use crate::switch::forced_algorithms;

/// Reports the settings of every rank.
pub(crate) fn run(control: &Control, tools: &Tools) -> Result<(), WorkerError> {
    let all = control.gather(control.ranks(), find_circumstances(tools)?);
    report(control, &WorkerEvent::Circumstances(all));
    Ok(())
}

/// Reports the values on every rank of these parameters, or environment variables after `env:`.
pub(crate) fn report_parameter_values(control: &Control, tools: &Tools, names: &[String]) -> Result<(), WorkerError> {
    let mut mine = BTreeMap::new();
    for name in names {
        let value = match settings::variable(name) {
            Some(variable) => env::var(variable).ok(),
            None => tools.value(name)?,
        };
        if let Some(value) = value {
            mine.insert(name.clone(), value);
        }
    }
    let all = control.gather(control.ranks(), mine);
    report(control, &WorkerEvent::Parameters(all));
    Ok(())
}

/// Checks that every node can read the rules file of this job. If only some can, ranks use different algorithms and
/// wait for each other forever.
pub(crate) fn seen_by_all(control: &Control, tools: &Tools) -> Result<(), WorkerError> {
    let mine = match reading(tools, USE_RULES, RULES_FILE)? {
        RulesReading { use_rules: Some(true), file: Some(file), content: Some(Err(cause)) } => {
            Some((host(), file, cause))
        }
        _ => None,
    };
    let all: BTreeSet<(String, String, String)> = control.gather(control.ranks(), mine).into_iter().flatten().collect();
    match all.first() {
        Some((_, file, cause)) if control.is_root() => {
            let hosts: Vec<&str> = all.iter().map(|(host, ..)| host.as_str()).collect();
            let (file, cause, hosts) = (file.clone(), cause.clone(), hosts.join(", "));
            Err(WorkerError::Unseen { file, cause, hosts })
        }
        _ => Ok(()),
    }
}

/// The host of this rank.
pub(crate) fn host() -> String {
    mpi::environment::processor_name().unwrap_or_else(|_| "unknown".to_owned())
}

fn find_circumstances(tools: &Tools) -> Result<Circumstances, ToolsError> {
    Ok(Circumstances {
        host: host(),
        directory: env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
        components: tools.text(COMPONENTS)?,
        tuned: reading(tools, USE_RULES, RULES_FILE)?,
        han: reading(tools, USE_HAN, HAN_FILE)?,
        forced: forced_algorithms(tools)?,
    })
}

/// Reads the file of a component, given its parameters: `switch` turns its rules on, `name` holds the path.
fn reading(tools: &Tools, switch: &str, name: &str) -> Result<RulesReading, ToolsError> {
    let file = tools.text(name)?;
    let content = file.as_ref().map(|file| fs::read(file).map(|it| digest(&it)).map_err(|cause| cause.to_string()));
    Ok(RulesReading { use_rules: tools.flag(switch)?, file, content })
}
