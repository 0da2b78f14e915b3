//! The settings to try on a system: those of the catalogue that exist there and can have an effect, and those that a user
//! names.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::catalogue::{CatalogueEntry, ENTRIES, SettingPlace, Values, find};
use super::parameters::Parameters;
use super::request::RequestedSetting;
use super::variable;
use crate::Release;

/// A system, as far as settings depend on it.
#[derive(Clone, Copy, Debug)]
pub struct SettingsSystem<'a> {
    /// The release of Open MPI.
    pub release: Release,
    /// Its parameters.
    pub parameters: &'a Parameters,
    /// Carriers of messages: components, transports of UCX, providers; none if they are unknown.
    pub carriers: Option<&'a BTreeSet<String>>,
    /// True if two ranks share a node.
    pub shares_nodes: bool,
    /// True if there are several nodes.
    pub has_network: bool,
    /// The environment.
    pub environment: &'a BTreeMap<String, String>,
}

/// A setting of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The entry of the catalogue; none for others that a user names.
    pub entry: Option<&'static CatalogueEntry>,
    /// The current value, if known.
    pub now: Option<String>,
    /// The values to try.
    pub values: Vec<String>,
    /// Reason why no value is tried.
    pub left_out: Option<SettingOmission>,
}

/// Reason why a setting is not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingOmission {
    /// A user or the site has set it; the place.
    Preset(String),
    /// Another transport carries the messages.
    OtherTransport,
    /// It needs ranks that do not exist here.
    NoRanks(SettingPlace),
    /// It has no other value than the current one.
    NoOtherValue,
}

/// The settings of the catalogue that exist on a system, and those that are requested. A request replaces the values of
/// the catalogue, and also applies to settings that the user or the site has set.
pub fn settings(system: &SettingsSystem<'_>, requests: &[RequestedSetting]) -> Result<Vec<Setting>, String> {
    for (at, request) in requests.iter().enumerate() {
        if requests[..at].iter().any(|other| other.name() == request.name()) {
            return Err(format!("{} is requested twice: name all its values at once", request.name()));
        }
    }
    let known = ENTRIES.iter().filter(|entry| requests.iter().all(|request| request.name() != entry.name));
    let known = known.filter_map(|entry| known_setting(system, entry));
    let requested = requests.iter().map(|request| requested_setting(system, request)).collect::<Result<Vec<_>, _>>()?;
    Ok(requested.into_iter().chain(known).collect())
}

/// A setting of the catalogue; none if this Open MPI does not have it.
fn known_setting(system: &SettingsSystem<'_>, entry: &'static CatalogueEntry) -> Option<Setting> {
    let (first, last) = entry.releases;
    if !(first..=last).contains(&system.release) {
        return None;
    }
    let parameter = system.parameters.get(entry.name);
    let now = Some(value_in_force(system, entry.name)?);
    let all: Vec<String> = match entry.values {
        Values::Numbers(numbers) => numbers.iter().map(u64::to_string).collect(),
        Values::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Values::Listed => parameter.map(|parameter| parameter.choices.clone()).unwrap_or_default(),
        Values::Each => {
            let usable = system.parameters.components(entry.name).filter(|name| is_usable(name));
            let usable: Vec<String> = usable.map(str::to_owned).collect();
            // The only one is used in any case.
            if usable.len() > 1 { usable } else { Vec::new() }
        }
        Values::Without => system.parameters.components(entry.name).map(|name| format!("^{name}")).collect(),
    };
    let values: Vec<String> = all.into_iter().filter(|value| Some(value) != now.as_ref()).collect();
    let acts = match entry.place {
        SettingPlace::Node => system.shares_nodes,
        SettingPlace::Network => system.has_network,
        SettingPlace::Anywhere => true,
    };
    let from_environment = || system.environment.contains_key(variable(entry.name)?).then_some("environment");
    let preset = parameter.and_then(|parameter| parameter.set_by()).or_else(from_environment);
    let left_out = match preset {
        Some(source) => Some(SettingOmission::Preset(source.to_owned())),
        None if !acts => Some(SettingOmission::NoRanks(entry.place)),
        None if !is_carried(system, entry) => Some(SettingOmission::OtherTransport),
        None if values.is_empty() => Some(SettingOmission::NoOtherValue),
        None => None,
    };
    Some(Setting { name: entry.name.to_owned(), entry: Some(entry), now, values, left_out })
}

/// Returns true if what an entry needs carries messages, as far as it is known.
fn is_carried(system: &SettingsSystem<'_>, entry: &CatalogueEntry) -> bool {
    system.carriers.is_none_or(|carriers| entry.carriers.iter().all(|name| carriers.contains(*name)))
}

/// The value of a setting; none if the system does not have it.
fn value_in_force(system: &SettingsSystem<'_>, name: &str) -> Option<String> {
    match variable(name) {
        // libfabric lists its variables, and not their values. They exist where it may carry messages.
        Some(variable) if variable.starts_with("FI_") => {
            system.carriers.map(|_| system.environment.get(variable).cloned().unwrap_or_default())
        }
        Some(variable) => system.parameters.variable(variable).map(str::to_owned),
        None => system.parameters.get(name).map(|parameter| parameter.value.clone()),
    }
}

/// Returns true if a component of the PML sends messages; others only monitor or recover.
fn is_usable(component: &str) -> bool {
    !["monitoring", "v", "crcpw", "example", "bfo", "yalla"].contains(&component)
}

fn requested_setting(system: &SettingsSystem<'_>, request: &RequestedSetting) -> Result<Setting, String> {
    let values = request.resolve(system.parameters)?;
    let now = value_in_force(system, request.name());
    let values: Vec<String> = values.into_iter().filter(|value| Some(value) != now.as_ref()).collect();
    let left_out = values.is_empty().then_some(SettingOmission::NoOtherValue);
    Ok(Setting { name: request.name().to_owned(), entry: find(request.name()), now, values, left_out })
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Layer;
    use super::*;

    fn parameters() -> Parameters {
        let parameter = |name: &str, value: &str, source: &str, kind: &str| {
            [("value", value), ("source", source), ("type", kind)]
                .map(|(field, value)| format!("mca:x:y:param:{name}:{field}:{value}\n"))
                .concat()
        };
        let text = parameter("btl_vader_eager_limit", "4096", "default", "size_t")
            + &parameter("btl_tcp_links", "1", "default", "unsigned_int")
            + &parameter("coll_sm_priority", "0", "environment", "int")
            + &parameter("pml", "", "default", "string")
            + "mca:pml:ob1:version:1\nmca:pml:v:version:1\nmca:pml:ucx:version:1\n";
        Parameters::read(&text, "UCX_RNDV_THRESH=auto\nUCX_PROTO_ENABLE=y\n")
    }

    fn found(has_network: bool, requests: &[&str]) -> Vec<Setting> {
        found_over(&[], has_network, requests)
    }

    /// The settings if these carry messages; none if that is unknown.
    fn found_over(names: &[&str], has_network: bool, requests: &[&str]) -> Vec<Setting> {
        let carriers = (!names.is_empty()).then(|| names.iter().map(|name| (*name).to_owned()).collect());
        let parameters = parameters();
        let environment = BTreeMap::from([("UCX_PROTO_ENABLE".to_owned(), "y".to_owned())]);
        let system = SettingsSystem {
            release: Release::V4_1,
            parameters: &parameters,
            carriers: carriers.as_ref(),
            shares_nodes: true,
            has_network,
            environment: &environment,
        };
        let requests: Vec<RequestedSetting> = requests.iter().map(|text| text.parse().expect("reads")).collect();
        settings(&system, &requests).expect("all exist")
    }

    fn one<'a>(all: &'a [Setting], name: &str) -> &'a Setting {
        all.iter().find(|setting| setting.name == name).expect(name)
    }

    #[test]
    fn what_has_no_effect_or_was_set_already_is_left_alone() {
        let all = found(false, &[]);
        assert_eq!(one(&all, "btl_vader_eager_limit").values, ["8192", "16384", "32768", "65536"]);
        assert_eq!(one(&all, "btl_tcp_links").left_out, Some(SettingOmission::NoRanks(SettingPlace::Network)));
        assert_eq!(one(&all, "coll_sm_priority").left_out, Some(SettingOmission::Preset("environment".to_owned())));
        assert_eq!((one(&all, "pml").values.join(" "), &one(&all, "pml").left_out), ("ob1 ucx".to_owned(), &None));
        assert_eq!(one(&all, "env:UCX_RNDV_THRESH").values, ["8192", "65536", "262144"]);
        assert_eq!(one(&all, "env:UCX_PROTO_ENABLE").left_out, Some(SettingOmission::Preset("environment".to_owned())));
        assert!(all.iter().all(|setting| setting.name != "btl_sm_eager_limit"), "of later releases");
        assert_eq!(one(&found(true, &[]), "btl_tcp_links").left_out, None);
    }

    #[test]
    fn what_another_transport_would_read_is_left_out() {
        let other = |names: &[&str], name: &str| {
            one(&found_over(names, true, &[]), name).left_out == Some(SettingOmission::OtherTransport)
        };
        let (ob1, ucx) = (&["ob1", "vader"][..], &["ucx", "tcp", "sysv"][..]);
        assert!(
            !other(ob1, "btl_vader_eager_limit") && other(ob1, "btl_tcp_links") && other(ob1, "env:UCX_RNDV_THRESH")
        );
        assert!(other(ucx, "btl_vader_eager_limit") && other(ucx, "btl_tcp_links"), "tcp of UCX, not of Open MPI");
        assert!(!other(ucx, "env:UCX_RNDV_THRESH") && other(ucx, "env:FI_OFI_RXM_BUFFER_SIZE"));
        assert!(!other(&["cm", "ofi", "tcp", "ofi_rxm"], "env:FI_OFI_RXM_BUFFER_SIZE"));
    }

    #[test]
    fn a_request_replaces_what_the_catalogue_tries() {
        let all = found(false, &["btl_vader_eager_limit=4K,2K", "coll_sm_priority=90", "env:X=1"]);
        assert_eq!(one(&all, "btl_vader_eager_limit").values, ["2048"]);
        let sm = one(&all, "coll_sm_priority");
        assert_eq!(
            (sm.values.as_slice(), &sm.left_out, sm.entry.map(|entry| entry.layer)),
            (&["90".to_owned()][..], &None, Some(Layer::Components))
        );
        assert_eq!(one(&all, "env:X").values, ["1"]);
        assert_eq!(all.iter().filter(|setting| setting.name == "coll_sm_priority").count(), 1);
    }
}
