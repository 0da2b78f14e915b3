//! The settings that decide whether a rules file has an effect, and the file that each rank would read.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use collrules_rules::Collective;
use collrules_runner::circumstances::{
    COMPONENTS, Circumstances, HAN_FILE, PRIORITY, RULES_FILE, Reading, USE_HAN, USE_RULES, digest,
};
use collrules_runner::wire::Event;

use crate::control::Control;
use crate::error::WorkerError;
use crate::ffi::{Tools, ToolsError};
use crate::report::report;
use crate::switch::variable;

/// Reports what every rank finds.
pub(crate) fn run(control: &Control, tools: &Tools) -> Result<(), WorkerError> {
    let all = control.gather(control.ranks(), found(tools)?);
    report(control, &Event::Circumstances(all));
    Ok(())
}

/// Makes sure that the rules file of this job can be read on every node: where it is on some only, ranks take different
/// algorithms, and wait for each other forever.
pub(crate) fn seen_by_all(control: &Control, tools: &Tools) -> Result<(), WorkerError> {
    let mine = match reading(tools, USE_RULES, RULES_FILE)? {
        Reading { use_rules: Some(true), file: Some(file), content: Some(Err(cause)) } => Some((host(), file, cause)),
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

fn host() -> String {
    mpi::environment::processor_name().unwrap_or_else(|_| "unknown".to_owned())
}

fn found(tools: &Tools) -> Result<Circumstances, ToolsError> {
    let mut forced = BTreeMap::new();
    for collective in Collective::ALL {
        if let Some(id) = tools.int(&variable(collective, "algorithm"))?.filter(|id| *id != 0) {
            forced.insert(collective, id);
        }
    }
    Ok(Circumstances {
        host: host(),
        directory: env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
        components: tools.text(COMPONENTS)?,
        priority: tools.int(PRIORITY)?,
        tuned: reading(tools, USE_RULES, RULES_FILE)?,
        han: reading(tools, USE_HAN, HAN_FILE)?,
        forced,
    })
}

/// What a component would read, by the parameters that switch its rules on and name its file.
fn reading(tools: &Tools, switch: &str, name: &str) -> Result<Reading, ToolsError> {
    let file = tools.text(name)?;
    let content = file.as_ref().map(|file| fs::read(file).map(|it| digest(&it)).map_err(|cause| cause.to_string()));
    Ok(Reading { use_rules: tools.flag(switch)?, file, content })
}
