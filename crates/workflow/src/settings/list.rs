//! The settings of a system, with the values to try.

use std::collections::BTreeMap;
use std::env;

use collrules_record::Survey;
use collrules_record::options::SystemOptions;
use collrules_record::transport::Transport;
use collrules_rules::settings::catalogue::Values;
use collrules_rules::settings::offer::{self, Setting, SettingOmission};
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::settings::request::RequestedSetting;
use serde::Serialize;

use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::Started;

/// A setting, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The MCA parameter, or `env:` and an environment variable.
    pub name: String,
    /// Its meaning; missing for settings that the catalogue does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'static str>,
    /// The traffic that it acts on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acts_on: Option<&'static str>,
    /// The present value, common to all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The values to try.
    pub values: Vec<String>,
    /// Reason why none is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<SettingOmission>,
    /// Costs of other values apart from time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<&'static str>,
    /// Definition in the source of Open MPI or UCX.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
}

/// The settings of a system: those of the catalogue that exist there, and requested ones. Their values are read from
/// the ranks of a job.
pub fn list(
    system: &SystemOptions,
    requests: &[RequestedSetting],
    session: &mut Session<'_>,
) -> Result<Vec<Listed>, WorkflowError> {
    let mut started = session.start(system)?;
    let found = find(&started, requests)?;
    let names: Vec<String> = found.iter().map(|setting| setting.name.clone()).collect();
    let ranks = started.backend.values(&BTreeMap::new(), &names)?;
    Ok(found.iter().map(|setting| describe_setting(setting, &ranks)).collect())
}

/// The settings of a surveyed system.
pub(crate) fn find(started: &Started, requests: &[RequestedSetting]) -> Result<Vec<Setting>, WorkflowError> {
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
    transport.iter().for_each(|transport| leave_out_serving(transport, &mut found));
    Ok(found)
}

/// Leaves out the component that serves in any case: `ompi_info` shows such a parameter as empty.
fn leave_out_serving(transport: &Transport, settings: &mut [Setting]) {
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
    let mut nodes = survey.hosts.clone();
    nodes.sort_unstable();
    nodes.dedup();
    (nodes.len() < survey.hosts.len(), nodes.len() > 1)
}

fn describe_setting(setting: &Setting, ranks: &[BTreeMap<String, String>]) -> Listed {
    let entry = setting.entry;
    let mut values: Vec<&String> = ranks.iter().filter_map(|values| values.get(&setting.name)).collect();
    values.sort_unstable();
    values.dedup();
    let read = match values.as_slice() {
        [] => setting.now.clone(),
        [same] => Some((*same).clone()).filter(|same| !same.is_empty()).or_else(|| setting.now.clone()),
        several => Some(format!(
            "{} (differs between ranks)",
            several.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
        )),
    };
    Listed {
        name: setting.name.clone(),
        about: entry.map(|entry| entry.about),
        acts_on: entry.map(|entry| entry.layer.name()),
        value: read,
        values: if setting.left_out.is_none() { setting.values.clone() } else { Vec::new() },
        left_out: setting.left_out.clone(),
        cost: entry.map(|entry| entry.cost).filter(|cost| !cost.is_empty()),
        source: entry.map(|entry| entry.source),
    }
}
