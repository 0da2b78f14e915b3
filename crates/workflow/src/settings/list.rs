//! The settings of a system, with the values to try.

use std::env;

use collrules_record::Survey;
use collrules_record::transport::Transport;
use collrules_rules::settings::catalogue::Values;
use collrules_rules::settings::offer::{self, Setting, SettingOmission};
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::settings::request::RequestedSetting;

use crate::error::WorkflowError;
use crate::start::Started;

/// The settings of a surveyed system.
pub fn find(started: &Started, requests: &[RequestedSetting]) -> Result<Vec<Setting>, WorkflowError> {
    let parameters: Parameters = started.backend.parameters()?;
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .collect();
    let (shares_nodes, has_network) = places(&started.survey);
    let transport = started.survey.transport.as_ref();
    let carriers = transport.and_then(Transport::carriers);
    let system = offer::SettingsSystem {
        release: started.release,
        parameters: &parameters,
        carriers: carriers.as_ref(),
        shares_nodes,
        has_network,
        environment: &environment,
    };
    let mut found = offer::settings(&system, requests).map_err(WorkflowError::Usage)?;
    transport.iter().for_each(|transport| leave_out_running(transport, &mut found));
    Ok(found)
}

/// Leaves out the component in use: `ompi_info` shows such a parameter as empty.
fn leave_out_running(transport: &Transport, settings: &mut [Setting]) {
    let chooses = |it: &&mut Setting| it.entry.is_some_and(|it| it.values == Values::Each);
    for setting in settings.iter_mut().filter(chooses) {
        setting.values.retain(|component| *component != transport.pml);
        setting.now = Some(transport.pml.clone());
        if setting.values.is_empty() && setting.left_out.is_none() {
            setting.left_out = Some(SettingOmission::NoOtherValue);
        }
    }
}

/// Checks if two ranks of the job share a node, and if there are several nodes.
fn places(survey: &Survey) -> (bool, bool) {
    let nodes = survey.nodes();
    (nodes.len() < survey.hosts.len(), nodes.len() > 1)
}
