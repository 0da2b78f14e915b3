//! Launches as users start theirs: with an active rules file, or without any settings of collrules.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use collrules_record::installed::is_installed;
use collrules_record::plan::{DeployWay, Deployment};
use collrules_record::units::Ranks;
use collrules_rules::deploy::{HAN_FILE, RULES_FILE, USE_HAN, USE_RULES};
use collrules_rules::settings::{environment_name, variable};

use super::launcher::{JobStart, Launcher};

/// Prefix of the variables from which Open MPI reads MCA parameters.
pub(super) const PREFIX: &str = "OMPI_MCA_";

/// The start of a launch with the settings of an arm.
///
/// For the default nothing is set, not even the setting of every measuring launch (`coll_tuned_use_dynamic_rules`), so
/// that calls use the component that the user would get. mpirun of 4.1 and of 5.0 pass variables with this prefix on to
/// ranks on other hosts (`tests/cli/virtual_cluster.rs`).
pub(super) fn start(
    launcher: &Launcher,
    Deployment { way, settings, compared }: &Deployment,
    ranks: Ranks,
) -> JobStart {
    let in_environment = if *way == DeployWay::Environment { settings } else { &BTreeMap::new() };
    let changes = environment(in_environment, compared);
    // mpirun hands no variables but its own on to other hosts.
    let by_option = |name: &str| *way == DeployWay::CommandLine || variable(name).is_some();
    let named = settings.iter().filter(|(name, _)| by_option(name));
    let options: Vec<_> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
    JobStart { changes, command: launcher.command(Some(ranks), &options) }
}

/// Settings that switch off what `collrules install` installed, if the parameters of the ranks name such rules: launches
/// with Open MPI's default would run with them, and a tuning would be compared with itself.
pub(super) fn without_installed(preset: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let switches = [(RULES_FILE, USE_RULES), (HAN_FILE, USE_HAN)].into_iter();
    let installed = switches.filter(|(file, _)| preset.get(*file).is_some_and(|path| is_installed(Path::new(path))));
    installed.map(|(_, switch)| (switch.to_owned(), "0".to_owned())).collect()
}

/// Returns the changes to the environment that activate settings, and make sure that no others of those that are compared
/// are active.
pub fn environment(
    settings: &BTreeMap<String, String>,
    compared: &[BTreeMap<String, String>],
) -> BTreeMap<String, Option<String>> {
    let mut changes = BTreeMap::new();
    for other in compared {
        changes.extend(switched_off(other, |name| env::var(name).ok()));
    }
    changes.extend(settings.iter().map(|(name, value)| (environment_name(name), Some(value.clone()))));
    changes
}

/// Changes to the environment, with these others where the former have no value.
#[must_use]
pub fn combine(
    mut changes: BTreeMap<String, Option<String>>,
    others: BTreeMap<String, Option<String>>,
) -> BTreeMap<String, Option<String>> {
    for (name, value) in others {
        let own = changes.entry(name).or_default();
        *own = own.take().or(value);
    }
    changes
}

/// The variables to remove if a tuning is already active in the environment of collrules, such as by env.sh: its file is
/// named there or, without a file, all that it sets.
fn switched_off(
    settings: &BTreeMap<String, String>,
    variable: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Option<String>> {
    let in_force = |name: &str| {
        settings.get(name).is_some() && variable(&format!("{PREFIX}{name}")).as_ref() == settings.get(name)
    };
    let files = [RULES_FILE, HAN_FILE];
    let has_file = files.into_iter().any(|name| settings.contains_key(name));
    let is_set = |(name, value): (&String, &String)| variable(&environment_name(name)).as_ref() == Some(value);
    let is_active = if has_file { files.into_iter().any(in_force) } else { settings.iter().all(is_set) };
    if !is_active {
        return BTreeMap::new();
    }
    let ours = settings.iter().map(|(name, value)| (environment_name(name), value));
    ours.filter(|(name, value)| variable(name).as_ref() == Some(*value)).map(|(name, _)| (name, None)).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::plan::Deployment;

    use super::*;

    #[test]
    fn a_file_that_is_in_force_is_taken_out_for_the_comparison() {
        let settings = [
            ("coll_tuned_use_dynamic_rules", "1"),
            (Deployment::FILE, "/run/rules.conf"),
            ("coll_han_bcast_dynamic_global_communicator_module", "3"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let file = format!("{PREFIX}{}", Deployment::FILE);
        let sourced = |name: &str| match name {
            name if name == file => Some("/run/rules.conf".to_owned()),
            "OMPI_MCA_coll_tuned_use_dynamic_rules" => Some("1".to_owned()),
            "OMPI_MCA_coll_han_bcast_dynamic_global_communicator_module" => Some("0".to_owned()),
            _ => None,
        };
        let removed = switched_off(&settings, sourced);
        assert_eq!(removed.into_keys().collect::<Vec<_>>(), [file.as_str(), "OMPI_MCA_coll_tuned_use_dynamic_rules"]);
        // A file of the site's is what users have today.
        let site = |name: &str| (name == file).then(|| "/etc/rules.conf".to_owned());
        assert!(switched_off(&settings, site).is_empty());
        assert!(switched_off(&settings, |_| None).is_empty());
    }

    #[test]
    fn a_value_without_the_installation_replaces_a_removed_one() {
        let text = |text: &str| Some(text.to_owned());
        let changes = [("A", text("1")), ("B", None), ("C", None)].map(|(name, value)| (name.to_owned(), value));
        let others =
            [("A", text("2")), ("B", text("2")), ("D", text("2"))].map(|(name, value)| (name.to_owned(), value));
        let combined = combine(changes.into(), others.into());
        assert_eq!(combined.into_values().collect::<Vec<_>>(), [text("1"), text("2"), None, text("2")]);
    }

    #[test]
    fn only_what_collrules_installed_is_switched_off() {
        let directory = tempfile::tempdir().expect("a directory");
        let rules = directory.path().join("rules.conf");
        let preset = BTreeMap::from([(RULES_FILE.to_owned(), rules.display().to_string())]);
        assert!(without_installed(&preset).is_empty(), "rules of the site are what users have");
        std::fs::write(directory.path().join("installed.json"), "{}").expect("written");
        assert_eq!(without_installed(&preset), BTreeMap::from([(USE_RULES.to_owned(), "0".to_owned())]));
    }
}
