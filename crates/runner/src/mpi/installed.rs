//! Parameters of an Open MPI without those that `collrules install` put into its parameter files: what is measured is
//! compared with the default, not with an earlier tuning.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use collrules_rules::deploy::params::{lines, without_block};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::settings::environment_name;
use collrules_rules::settings::parameters::Parameters;

use super::host::{output_of, with_libraries};
use crate::error::RunnerError;
use crate::scratch;

/// The parameter with the files that Open MPI reads, separated by commas (`mca_base_var.c` of 4.1 and 5.0).
const FILES: &str = "mca_base_param_files";

/// The parameters of an Open MPI without an installed tuning.
#[derive(Debug, Default)]
pub(super) struct WithoutInstalled {
    /// The output of `ompi_info --all --parsable`.
    pub(super) output: String,
    /// The installed parameters, with the values that the files give them.
    pub(super) installed: BTreeMap<String, String>,
    /// The values without the installation of these parameters, except the names of rules files: what switches these on is enough.
    pub(super) values: BTreeMap<String, String>,
}

impl WithoutInstalled {
    /// Asks an `ompi_info` with libraries in this directory.
    pub(super) fn read(program: &Path, libraries: Option<&Path>) -> Result<Self, RunnerError> {
        Self::find(|variables| {
            let mut command = Command::new(program);
            with_libraries(libraries, &mut command);
            output_of(command.args(["--all", "--parsable"]).envs(variables))
        })
    }

    /// Asks for the parameters; `ask` gets variables for `ompi_info`.
    fn find(ask: impl Fn(&BTreeMap<String, String>) -> Result<String, RunnerError>) -> Result<Self, RunnerError> {
        let output = ask(&BTreeMap::new())?;
        let read = Parameters::read(&output, "");
        let files: Vec<&str> = read.get(FILES).map_or_else(Vec::new, |files| files.value.split(',').collect());
        let installed: BTreeMap<String, String> = files.iter().flat_map(|file| list_installed(file)).collect();
        if installed.is_empty() {
            return Ok(Self { output, ..Self::default() });
        }
        let copy = |file: &&str| {
            let text = fs::read(file).unwrap_or_default();
            // A file with a damaged block is copied as it is.
            let text = without_block(&text).unwrap_or(Some(text)).unwrap_or_default();
            scratch::private(&env::temp_dir(), "parameters", &text)
        };
        let copies = files.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        let paths: Vec<String> = copies.iter().map(|copy| copy.path().display().to_string()).collect();
        let output = ask(&BTreeMap::from([(environment_name(FILES), paths.join(","))]))?;
        let without = Parameters::read(&output, "");
        let value = |name: &String| without.get(name).map(|parameter| (name.clone(), parameter.value.clone()));
        let values = installed.keys().filter(|name| ![RULES_FILE, HAN_FILE].contains(&name.as_str()));
        Ok(Self { values: values.filter_map(value).collect(), installed, output })
    }
}

/// The parameters in the block of `collrules install` of a file, with their values; none without such a file or block.
fn list_installed(file: &str) -> impl Iterator<Item = (String, String)> {
    let found = fs::read(file).ok().and_then(|text| lines(&text).ok()).unwrap_or_default();
    found.set.into_iter().filter(|line| line.ours).map(|line| (line.name, line.value))
}

#[cfg(test)]
mod tests {
    use collrules_rules::deploy::USE_RULES;
    use collrules_rules::deploy::params::with_block;

    use super::*;

    #[test]
    fn what_is_installed_has_the_value_that_it_has_without() {
        let directory = tempfile::tempdir().expect("a directory");
        let [user, site] = ["user.conf", "site.conf"].map(|name| directory.path().join(name));
        let block = ["btl_vader_eager_limit = 32768", "coll_tuned_use_dynamic_rules = 1"];
        let file = format!("{RULES_FILE} = /opt/rules.conf");
        let block: Vec<String> = block.into_iter().chain([&file[..]]).map(str::to_owned).collect();
        fs::write(&site, with_block(Some(b"pml = ob1\n"), &block).expect("whole")).expect("written");
        let files = format!("{},{}", user.display(), site.display());
        // A model of ompi_info: each parameter has the value of the last line in the files.
        let ask = |variables: &BTreeMap<String, String>| {
            let files = variables.get("OMPI_MCA_mca_base_param_files").unwrap_or(&files);
            let mut values = BTreeMap::from([("btl_vader_eager_limit".to_owned(), "4096".to_owned())]);
            values.extend([(FILES.to_owned(), files.clone()), (USE_RULES.to_owned(), "0".to_owned())]);
            for file in files.split(',').filter_map(|file| fs::read(file).ok()) {
                values.extend(lines(&file).expect("whole").set.into_iter().map(|line| (line.name, line.value)));
            }
            let line = |(name, value): (String, String)| format!("mca:x:y:param:{name}:value:{value}\n");
            Ok(values.into_iter().map(line).collect::<String>())
        };
        let found = WithoutInstalled::find(ask).expect("asks");
        let wanted = [("btl_vader_eager_limit", "4096"), (USE_RULES, "0")];
        assert_eq!(found.values, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(found.installed.get("btl_vader_eager_limit").map(String::as_str), Some("32768"));
        let read = Parameters::read(&found.output, "");
        assert_eq!(read.get("pml").map(|pml| pml.value.as_str()), Some("ob1"), "the site's own setting stays");
        fs::write(&site, "btl_vader_eager_limit = 32768\n").expect("written");
        assert!(WithoutInstalled::find(ask).expect("asks").values.is_empty(), "that of the site is the default");
    }
}
