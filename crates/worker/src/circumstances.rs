//! The settings that decide whether a rules file has an effect, and the file that each rank would read.

use std::collections::BTreeMap;
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

fn found(tools: &Tools) -> Result<Circumstances, ToolsError> {
    let mut forced = BTreeMap::new();
    for collective in Collective::ALL {
        if let Some(id) = tools.int(&variable(collective, "algorithm"))?.filter(|id| *id != 0) {
            forced.insert(collective, id);
        }
    }
    Ok(Circumstances {
        host: mpi::environment::processor_name().unwrap_or_else(|_| "unknown".to_owned()),
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
