//! The settings of a tuning, in the forms that programs use.
//!
//! Rules files are named by absolute path: Open MPI resolves a relative one against the working directory of each
//! process, and silently ignores a missing file. Other MCA parameters, such as `coll_hcoll_priority = 0`, are those of
//! the measurement.

pub mod params;

use crate::settings::{environment_name, variable};

use std::collections::BTreeMap;
use std::fmt::Write;

/// MCA parameter that enables the rules file of coll/tuned.
pub const USE_RULES: &str = "coll_tuned_use_dynamic_rules";
/// MCA parameter with the path of coll/tuned's rules file.
pub const RULES_FILE: &str = "coll_tuned_dynamic_rules_filename";
/// MCA parameter that enables the rules file of coll/han.
pub const USE_HAN: &str = "coll_han_use_dynamic_file_rules";
/// MCA parameter with the path of coll/han's rules file.
pub const HAN_FILE: &str = "coll_han_dynamic_rules_filename";

/// The settings that only switch files on.
pub const SWITCHES: [&str; 4] = [USE_RULES, RULES_FILE, USE_HAN, HAN_FILE];

/// The settings of a job that apply a tuning, those that name its files first: MCA parameters, and environment
/// variables after `env:`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSettings(Vec<(String, String)>);

impl JobSettings {
    /// The settings that name these rules files, of coll/tuned and of coll/han, by their absolute paths, with further
    /// parameters. These cannot override those that switch the files on.
    pub fn new(rules: Option<String>, han: Option<String>, parameters: BTreeMap<String, String>) -> Self {
        let switch = |name: &str| (name.to_owned(), "1".to_owned());
        let rules = rules.into_iter().flat_map(|path| [switch(USE_RULES), (RULES_FILE.to_owned(), path)]);
        let han = han.into_iter().flat_map(|path| [switch(USE_HAN), (HAN_FILE.to_owned(), path)]);
        let mut settings: Vec<(String, String)> = rules.chain(han).collect();
        let files = settings.len();
        let is_new = |name: &String| settings[..files].iter().all(|(file, _)| file != name);
        let further: Vec<_> = parameters.into_iter().filter(|(name, _)| is_new(name)).collect();
        settings.extend(further);
        Self(settings)
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// The text of an `mca-params.conf`.
    ///
    /// Its reader takes a value to the end of the line, quotes and `#` included, and drops blanks around it.
    pub fn mca_params(&self) -> Result<String, String> {
        let mut text = String::from(
            "# Switches a tuning of Open MPI's collective operations on.\n\
             # For one user: $HOME/.openmpi/mca-params.conf\n\
             # For everybody: <prefix>/etc/openmpi-mca-params.conf of the Open MPI installation (Debian: /etc/openmpi)\n\
             # Both may exist already; append these lines then. The files named here must exist on every node.\n",
        );
        for line in self.mca_lines()? {
            text += &(line + "\n");
        }
        Ok(text)
    }

    /// The lines of an `mca-params.conf`, without their breaks.
    pub fn mca_lines(&self) -> Result<Vec<String>, String> {
        let lines = self.parameters().map(|(name, value)| match value {
            _ if value.contains(['\n', '\r', '\0']) => Err("a value is one line"),
            _ if value.trim() != value => Err("blanks at the ends of a value are dropped"),
            _ => Ok(format!("{name} = {value}")),
        });
        self.express("mca-params.conf", lines)
    }

    /// The text of a POSIX shell snippet that exports the settings, for launchers that know no `--mca`, such as srun.
    pub fn environment(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.iter() {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "export {}={}", quoted(&environment_name(name)), quoted(value));
        }
        text
    }

    /// The text of a file for `mpirun --tune`, in the only syntax that both 4.1 and 5.0 read: no comments, no `k = v`.
    pub fn tune_file(&self) -> Result<String, String> {
        let lines = self.parameters().map(|(name, value)| match value {
            "" => Err("there is no way to write an empty value"),
            _ if value.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                Err("blanks separate words, and quotes do not join them")
            }
            _ if value.contains(['"', '\'']) => Err("quotes around a value are dropped"),
            _ => Ok(format!("--mca {name} {value}\n")),
        });
        Ok(self.express("a tune file", lines)?.concat())
    }

    /// The lines of the parameters, or an error about the first one that a format cannot express.
    fn express(
        &self,
        format: &'static str,
        lines: impl Iterator<Item = Result<String, &'static str>>,
    ) -> Result<Vec<String>, String> {
        let expressed = lines.zip(self.parameters()).map(|(line, (parameter, value))| {
            line.map_err(|reason| format!("{parameter} cannot be set to {value:?} in {format}: {reason}"))
        });
        expressed.collect()
    }

    /// The beginning of an `mpirun` command line, without the program.
    pub fn mpirun_line(&self) -> String {
        let mut text = String::from("mpirun");
        for (name, value) in self.iter() {
            let _ = match variable(name) {
                Some(variable) => write!(text, " -x {}", quoted(&format!("{variable}={value}"))),
                None => write!(text, " --mca {} {}", quoted(name), quoted(value)),
            };
        }
        text
    }

    /// The settings by name.
    pub fn by_name(&self) -> BTreeMap<String, String> {
        self.0.iter().cloned().collect()
    }

    /// The environment variables among the settings, which no parameter file can hold.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(name, _)| variable(name))
    }

    /// The MCA parameters among the settings.
    fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(name, _)| variable(name).is_none())
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A word quoted for a POSIX shell: bare if that is safe, otherwise in single quotes.
pub fn quoted(word: &str) -> String {
    // A tilde is not in the list: the shell would replace it before Open MPI does.
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(rules: &str, parameters: &[(&str, &str)]) -> JobSettings {
        JobSettings::new(Some(rules.to_owned()), None, by_name(parameters))
    }

    fn by_name(parameters: &[(&str, &str)]) -> BTreeMap<String, String> {
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_four_forms_say_the_same() {
        let settings = settings("/shared/rules.conf", &[("coll", "^han,hcoll"), ("coll_han_priority", "0")]);
        let params = settings.mca_params().expect("plain values");
        let lines: Vec<_> = params.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "coll_tuned_use_dynamic_rules = 1",
                "coll_tuned_dynamic_rules_filename = /shared/rules.conf",
                "coll = ^han,hcoll",
                "coll_han_priority = 0"
            ]
        );
        assert_eq!(
            settings.environment(),
            "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\n\
             export OMPI_MCA_coll_tuned_dynamic_rules_filename=/shared/rules.conf\n\
             export OMPI_MCA_coll='^han,hcoll'\n\
             export OMPI_MCA_coll_han_priority=0\n"
        );
        assert_eq!(
            settings.tune_file().expect("plain values"),
            "--mca coll_tuned_use_dynamic_rules 1\n\
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf\n\
             --mca coll ^han,hcoll\n\
             --mca coll_han_priority 0\n"
        );
        assert_eq!(
            settings.mpirun_line(),
            "mpirun --mca coll_tuned_use_dynamic_rules 1 \
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf \
             --mca coll '^han,hcoll' --mca coll_han_priority 0"
        );
    }

    #[test]
    fn shell_words_are_quoted() {
        assert!(settings("/it's here/$HOME `x`", &[]).mpirun_line().ends_with(r" '/it'\''s here/$HOME `x`'"));
        assert!(settings("~/rules", &[]).environment().ends_with("='~/rules'\n"));
        assert!(settings("/x", &[("a b;c", "")]).environment().ends_with("export 'OMPI_MCA_a b;c'=''\n"));
    }

    #[test]
    fn what_a_format_cannot_carry_is_refused() {
        for path in ["/two\nlines", "/cr\r", " /lead", "/trail ", "/trail\t"] {
            assert!(settings(path, &[]).mca_params().is_err(), "{path:?}");
        }
        assert!(settings("/in side/#1", &[]).mca_params().is_ok());
        for path in ["/in side", "/two\nlines", "/tab\there", "\"/quoted\"", "/it's", ""] {
            assert!(settings(path, &[]).tune_file().is_err(), "{path:?}");
        }
        let error = settings("/in side", &[]).tune_file().expect_err("a blank").to_string();
        assert_eq!(
            error,
            "coll_tuned_dynamic_rules_filename cannot be set to \"/in side\" in a tune file: \
             blanks separate words, and quotes do not join them"
        );
        assert!(settings("/x", &[("coll", "")]).tune_file().is_err());
    }

    #[test]
    fn variables_are_no_mca_parameters() {
        let settings = settings("/x", &[("env:UCX_TLS", "rc,sm"), ("pml", "ucx")]);
        assert!(settings.environment().ends_with("export UCX_TLS=rc,sm\nexport OMPI_MCA_pml=ucx\n"));
        assert!(settings.mpirun_line().ends_with(" -x UCX_TLS=rc,sm --mca pml ucx"));
        for text in [settings.mca_params(), settings.tune_file()] {
            assert!(text.is_ok_and(|text| text.contains("pml") && !text.contains("UCX")));
        }
        assert_eq!(settings.variables().collect::<Vec<_>>(), ["UCX_TLS"]);
    }

    #[test]
    fn pins_cannot_switch_the_file_off() {
        let pinned = settings("/x", &[(USE_RULES, "0"), (RULES_FILE, "/other")]);
        assert_eq!(pinned.mpirun_line(), settings("/x", &[]).mpirun_line());
    }

    #[test]
    fn any_part_may_be_missing() {
        let han = Some("/shared/han.conf".to_owned());
        let line = |rules: Option<&str>, han: &Option<String>, parameters: &[(&str, &str)]| {
            JobSettings::new(rules.map(str::to_owned), han.clone(), by_name(parameters)).mpirun_line()
        };
        let alone =
            "mpirun --mca coll_han_use_dynamic_file_rules 1 --mca coll_han_dynamic_rules_filename /shared/han.conf";
        assert_eq!(line(None, &han, &[]), alone);
        assert_eq!(line(None, &None, &[("coll_sm_priority", "0")]), "mpirun --mca coll_sm_priority 0");
        let both = line(Some("/x"), &han, &[]);
        assert!(both.contains("filename /x --mca coll_han_use_dynamic_file_rules 1"), "{both}");
    }
}
