//! A tuning as programs get it: files, and the settings that switch them on.
//!
//! Rules files are named by absolute path: Open MPI resolves a relative one against the working directory of each
//! process, and ignores a file that is not there without a word. Pins are further MCA parameters that the files were
//! measured with, such as `coll_hcoll_priority = 0`.

pub mod params;

use std::collections::BTreeMap;
use std::fmt::Write;

/// What switches the rules file of coll/tuned on.
pub const USE_RULES: &str = "coll_tuned_use_dynamic_rules";
/// What names the rules file of coll/tuned.
pub const RULES_FILE: &str = "coll_tuned_dynamic_rules_filename";
/// What switches the rules file of coll/han on.
pub const USE_HAN: &str = "coll_han_use_dynamic_file_rules";
/// What names the rules file of coll/han.
pub const HAN_FILE: &str = "coll_han_dynamic_rules_filename";

/// The settings that do nothing but switch files on.
pub const SWITCHES: [&str; 4] = [USE_RULES, RULES_FILE, USE_HAN, HAN_FILE];

/// All that makes programs fast on a system. Any part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// The absolute path of the rules file of coll/tuned.
    pub rules: Option<String>,
    /// The absolute path of the rules file of coll/han.
    pub han: Option<String>,
    /// Further MCA parameters. They cannot change those that switch the files on.
    pub pins: BTreeMap<String, String>,
}

/// A setting that a file format cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} cannot be set to {value:?} in {format}: {reason}")]
pub struct Inexpressible {
    /// The MCA parameter.
    pub parameter: String,
    /// The value that was wanted.
    pub value: String,
    /// The file format.
    pub format: &'static str,
    /// What stands against it.
    pub reason: &'static str,
}

impl Tuning {
    /// The text of an `mca-params.conf`.
    ///
    /// Its reader takes a value to the end of the line, quotes and `#` included, and drops blanks around it.
    pub fn mca_params(&self) -> Result<String, Inexpressible> {
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
    pub fn mca_lines(&self) -> Result<Vec<String>, Inexpressible> {
        let lines = self.settings().map(|(name, value)| {
            let reason = if value.contains(['\n', '\r', '\0']) {
                Some("a value is one line")
            } else if value.trim() != value {
                Some("blanks at the ends of a value are dropped")
            } else {
                None
            };
            refuse(name, value, "mca-params.conf", reason)?;
            Ok(format!("{name} = {value}"))
        });
        lines.collect()
    }

    /// The text of a POSIX shell snippet that exports the settings, for launchers that know no `--mca`, such as srun.
    pub fn environment(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.settings() {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "export {}={}", quoted(&format!("OMPI_MCA_{name}")), quoted(value));
        }
        text
    }

    /// The text of a file for `mpirun --tune`, in the one syntax that both 4.1 and 5.0 read: no comments, no `k = v`.
    pub fn tune_file(&self) -> Result<String, Inexpressible> {
        let mut text = String::new();
        for (name, value) in self.settings() {
            let reason = if value.is_empty() {
                Some("there is no way to write an empty value")
            } else if value.contains(|c: char| c.is_whitespace() || c.is_control()) {
                Some("blanks separate words, and quotes do not join them")
            } else if value.contains(['"', '\'']) {
                Some("quotes around a value are dropped")
            } else {
                None
            };
            refuse(name, value, "a tune file", reason)?;
            let _ = writeln!(text, "--mca {name} {value}");
        }
        Ok(text)
    }

    /// The beginning of an `mpirun` command line, without the program.
    pub fn mpirun_line(&self) -> String {
        let mut text = String::from("mpirun");
        for (name, value) in self.settings() {
            let _ = write!(text, " --mca {} {}", quoted(name), quoted(value));
        }
        text
    }

    /// The settings by name.
    pub fn by_name(&self) -> BTreeMap<String, String> {
        self.settings().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// All settings: switches and files, then the pins.
    fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let rules = self.rules.iter().flat_map(|path| [(USE_RULES, "1"), (RULES_FILE, path)]);
        let han = self.han.iter().flat_map(|path| [(USE_HAN, "1"), (HAN_FILE, path)]);
        let files: Vec<(&str, &str)> = rules.chain(han).collect();
        let pins = self.pins.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let pins: Vec<(&str, &str)> = pins.filter(|(name, _)| files.iter().all(|(file, _)| file != name)).collect();
        files.into_iter().chain(pins)
    }
}

fn refuse(
    parameter: &str,
    value: &str,
    format: &'static str,
    reason: Option<&'static str>,
) -> Result<(), Inexpressible> {
    match reason {
        Some(reason) => Err(Inexpressible { parameter: parameter.to_owned(), value: value.to_owned(), format, reason }),
        None => Ok(()),
    }
}

/// The word as a POSIX shell needs it: bare where that is safe, otherwise in single quotes.
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

    fn tuning(rules: &str, pins: &[(&str, &str)]) -> Tuning {
        let pins = pins.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Tuning { rules: Some(rules.to_owned()), han: None, pins }
    }

    #[test]
    fn the_four_forms_say_the_same() {
        let tuning = tuning("/shared/rules.conf", &[("coll", "^han,hcoll"), ("coll_han_priority", "0")]);
        let params = tuning.mca_params().expect("plain values");
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
            tuning.environment(),
            "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\n\
             export OMPI_MCA_coll_tuned_dynamic_rules_filename=/shared/rules.conf\n\
             export OMPI_MCA_coll='^han,hcoll'\n\
             export OMPI_MCA_coll_han_priority=0\n"
        );
        assert_eq!(
            tuning.tune_file().expect("plain values"),
            "--mca coll_tuned_use_dynamic_rules 1\n\
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf\n\
             --mca coll ^han,hcoll\n\
             --mca coll_han_priority 0\n"
        );
        assert_eq!(
            tuning.mpirun_line(),
            "mpirun --mca coll_tuned_use_dynamic_rules 1 \
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf \
             --mca coll '^han,hcoll' --mca coll_han_priority 0"
        );
    }

    #[test]
    fn shell_words_are_quoted() {
        assert!(tuning("/it's here/$HOME `x`", &[]).mpirun_line().ends_with(r" '/it'\''s here/$HOME `x`'"));
        assert!(tuning("~/rules", &[]).environment().ends_with("='~/rules'\n"));
        assert!(tuning("/x", &[("a b;c", "")]).environment().ends_with("export 'OMPI_MCA_a b;c'=''\n"));
    }

    #[test]
    fn what_a_format_cannot_carry_is_refused() {
        for path in ["/two\nlines", "/cr\r", " /lead", "/trail ", "/trail\t"] {
            assert!(tuning(path, &[]).mca_params().is_err(), "{path:?}");
        }
        assert!(tuning("/in side/#1", &[]).mca_params().is_ok());
        for path in ["/in side", "/two\nlines", "/tab\there", "\"/quoted\"", "/it's", ""] {
            assert!(tuning(path, &[]).tune_file().is_err(), "{path:?}");
        }
        let error = tuning("/in side", &[]).tune_file().expect_err("a blank").to_string();
        assert_eq!(
            error,
            "coll_tuned_dynamic_rules_filename cannot be set to \"/in side\" in a tune file: \
             blanks separate words, and quotes do not join them"
        );
        assert!(tuning("/x", &[("coll", "")]).tune_file().is_err());
    }

    #[test]
    fn pins_cannot_switch_the_file_off() {
        let pinned = tuning("/x", &[(USE_RULES, "0"), (RULES_FILE, "/other")]);
        assert_eq!(pinned.mpirun_line(), tuning("/x", &[]).mpirun_line());
    }

    #[test]
    fn any_part_may_be_missing() {
        let han = Some("/shared/han.conf".to_owned());
        let line = |tuning: Tuning| tuning.mpirun_line();
        let alone =
            "mpirun --mca coll_han_use_dynamic_file_rules 1 --mca coll_han_dynamic_rules_filename /shared/han.conf";
        assert_eq!(line(Tuning { han: han.clone(), ..Tuning::default() }), alone);
        assert_eq!(
            line(Tuning { rules: None, ..tuning("/x", &[("coll_sm_priority", "0")]) }),
            "mpirun --mca coll_sm_priority 0"
        );
        let both = line(Tuning { han, ..tuning("/x", &[]) });
        assert!(both.contains("filename /x --mca coll_han_use_dynamic_file_rules 1"), "{both}");
    }
}
