//! Settings of a whole job, and the search for those that make collectives faster.
//!
//! | module | job |
//! |---|---|
//! | here | the settings of a system, with the values to try |
//! | `stage` | the part of `tune` that searches for settings, and chooses between them and the rules |

mod stage;

use std::env;

use collrules_record::settings::{Finalist, Guarded, RulesUse};
use collrules_record::transport::Transport;
use collrules_record::{Estimate, Settings, Survey};
use collrules_rules::settings::catalogue::{Values, acts_on_messages};
use collrules_rules::settings::offer::{self, Setting, SettingOmission};
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::settings::request::RequestedSetting;
use collrules_tuner::comparison::{ArmDemand, ArmResult, Compared};

use crate::comparison::CellWeights;
use crate::error::WorkflowError;
use crate::start::Started;

pub(crate) use stage::SettingsPlan;

/// A speedup that was not measured.
const NOTHING: Estimate = Estimate { point: 1.0, low: None, high: None, level: 0.95, samples: 0 };

/// Asks that settings slow down no class of calls. Those that act on messages are felt by all collectives alike.
pub(crate) fn loss_demand(settings: &Settings) -> ArmDemand {
    let is_alike = settings.keys().all(|name| acts_on_messages(name));
    if is_alike { ArmDemand::ExcludeSizeLoss } else { ArmDemand::ExcludeClassLoss }
}

/// The result of an arm, over the requested sizes and the guard set, in which it may lose `max_loss` at most.
pub(crate) fn describe_finalist(
    compared: &Compared,
    result: &ArmResult,
    asked: &CellWeights,
    max_loss: f64,
) -> Finalist {
    let guarded = result.subjects.iter().filter(|it| it.demand.excludes_loss()).map(|it| Guarded {
        subject: it.subject.clone(),
        // Sizes that refinement added have no weight in the mean.
        is_asked_for: it.subject.cell().and_then(|cell| asked.get(&cell)).is_some_and(|weight| *weight > 0.0),
        speedup: it.speedup,
        guard: it.guard,
    });
    Finalist {
        settings: result.arm.clone(),
        speedup: result.speedup.unwrap_or(NOTHING),
        with_rules: None,
        rules: RulesUse::LeftOut,
        under: None,
        guarded: guarded.collect(),
        max_loss,
        memory: None,
        pairs: result.pairs,
        control: compared.control,
        apart: compared.apart.clone(),
        standing: result.verdict,
    }
}

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
