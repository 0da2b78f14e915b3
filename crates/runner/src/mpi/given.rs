//! Settings of Open MPI that users give: lines of parameter files, variables, and options of mpirun.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_rules::deploy::params::{lines, list_oddities};
use collrules_rules::settings::parameters::Parameters;

use super::deployed::PREFIX;
use super::launcher::Launcher;

/// A setting, and the place that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenSetting {
    /// The place: a line of a file, the environment, or the options of mpirun.
    pub place: String,
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: String,
}

impl GivenSetting {
    /// Lists what Open MPI reads otherwise than it seems, in sentences.
    pub fn describe_oddities(&self, parameters: &Parameters) -> Vec<String> {
        let Self { place, name, value } = self;
        let odd = list_oddities(name, value, parameters);
        odd.into_iter().map(|odd| format!("{place} sets {name} = {}: {odd}", value.trim_end_matches('\r'))).collect()
    }
}

/// The settings that users of this launcher give, by place, and sentences about files that cannot be read.
pub(super) fn find(launcher: &Launcher) -> (Vec<GivenSetting>, Vec<String>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for file in parameter_files(launcher.mpirun().map(|(mpirun, _)| mpirun)) {
        let Ok(text) = fs::read(&file) else { continue };
        let file = file.display();
        match lines(&text) {
            Ok(lines) => {
                faults.extend(lines.unread.iter().map(|number| {
                    format!("line {number} of {file}: Open MPI cannot read it, and skips it with a message; write NAME = VALUE")
                }));
                found.extend(lines.set.into_iter().map(|line| {
                    let place = format!("line {} of {file}", line.number);
                    GivenSetting { place, name: line.name, value: line.value }
                }));
            }
            Err(damaged) => faults.push(format!("{file}: {damaged}")),
        }
    }
    let variables = env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy().into_owned());
        Some((name.strip_prefix(PREFIX)?.to_owned(), value))
    });
    let given = |place: &'static str| {
        move |(name, value): (String, String)| GivenSetting { place: place.to_owned(), name, value }
    };
    found.extend(variables.map(given("the environment")));
    found.extend(launcher.user_settings().into_iter().map(given("the command line of mpirun")));
    (found, faults)
}

/// Parameter files of the user and of the installation; Debian keeps the latter's in /etc.
fn parameter_files(mpirun: Option<&Path>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        env::home_dir().map(|home| home.join(".openmpi/mca-params.conf")).into_iter().collect();
    let names = ["openmpi-mca-params.conf", "openmpi-mca-params-override.conf"];
    let prefix = mpirun.and_then(Path::parent).and_then(Path::parent).map(|prefix| prefix.join("etc"));
    for directory in prefix.into_iter().chain([PathBuf::from("/etc/openmpi")]) {
        files.extend(names.map(|name| directory.join(name)));
    }
    files
}
