//! The settings that switch a rules file on.
//!
//! Rules files are named by absolute path: Open MPI resolves a relative one against the working directory of each
//! process, and ignores a file that is not there without a word. Pins are further MCA parameters that the file was
//! measured with, such as `coll_han_priority = 0`.

use std::collections::BTreeMap;
use std::fmt::Write;

const USE_RULES: &str = "coll_tuned_use_dynamic_rules";
const RULES_FILE: &str = "coll_tuned_dynamic_rules_filename";

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

/// The text of an `mca-params.conf`.
///
/// Its reader takes a value to the end of the line, quotes and `#` included, and drops blanks around it.
pub fn mca_params(rules: &str, pins: &BTreeMap<String, String>) -> Result<String, Inexpressible> {
    let mut text = String::from(
        "# Switches a rules file for Open MPI's coll/tuned on.\n\
         # For one user: $HOME/.openmpi/mca-params.conf\n\
         # For everybody: <prefix>/etc/openmpi-mca-params.conf of the Open MPI installation (Debian: /etc/openmpi)\n\
         # Both may exist already; append these lines then. The rules file must exist on every node.\n",
    );
    for (name, value) in settings(rules, pins) {
        let reason = if value.contains(['\n', '\r', '\0']) {
            Some("a value is one line")
        } else if value.trim() != value {
            Some("blanks at the ends of a value are dropped")
        } else {
            None
        };
        refuse(name, value, "mca-params.conf", reason)?;
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{name} = {value}");
    }
    Ok(text)
}

/// The text of a POSIX shell snippet that exports the settings, for launchers that know no `--mca`, such as srun.
pub fn environment(rules: &str, pins: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in settings(rules, pins) {
        let _ = writeln!(text, "export {}={}", quoted(&format!("OMPI_MCA_{name}")), quoted(value));
    }
    text
}

/// The text of a file for `mpirun --tune`, in the one syntax that both 4.1 and 5.0 read: no comments, no `k = v`.
pub fn tune_file(rules: &str, pins: &BTreeMap<String, String>) -> Result<String, Inexpressible> {
    let mut text = String::new();
    for (name, value) in settings(rules, pins) {
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
pub fn mpirun_line(rules: &str, pins: &BTreeMap<String, String>) -> String {
    let mut text = String::from("mpirun");
    for (name, value) in settings(rules, pins) {
        let _ = write!(text, " --mca {} {}", quoted(name), quoted(value));
    }
    text
}

/// The settings by name.
pub fn by_name(rules: &str, pins: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    settings(rules, pins).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// All settings: the switch, the file, then the pins, which cannot change the first two.
fn settings<'a>(rules: &'a str, pins: &'a BTreeMap<String, String>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pins = pins.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    [(USE_RULES, "1"), (RULES_FILE, rules)]
        .into_iter()
        .chain(pins.filter(|(name, _)| ![USE_RULES, RULES_FILE].contains(name)))
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

    fn pins(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_four_forms_say_the_same() {
        let pins = pins(&[("coll", "^han,hcoll"), ("coll_han_priority", "0")]);
        let params = mca_params("/shared/rules.conf", &pins).expect("plain values");
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
            environment("/shared/rules.conf", &pins),
            "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\n\
             export OMPI_MCA_coll_tuned_dynamic_rules_filename=/shared/rules.conf\n\
             export OMPI_MCA_coll='^han,hcoll'\n\
             export OMPI_MCA_coll_han_priority=0\n"
        );
        assert_eq!(
            tune_file("/shared/rules.conf", &pins).expect("plain values"),
            "--mca coll_tuned_use_dynamic_rules 1\n\
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf\n\
             --mca coll ^han,hcoll\n\
             --mca coll_han_priority 0\n"
        );
        assert_eq!(
            mpirun_line("/shared/rules.conf", &pins),
            "mpirun --mca coll_tuned_use_dynamic_rules 1 \
             --mca coll_tuned_dynamic_rules_filename /shared/rules.conf \
             --mca coll '^han,hcoll' --mca coll_han_priority 0"
        );
    }

    #[test]
    fn shell_words_are_quoted() {
        let none = BTreeMap::new();
        assert!(mpirun_line("/it's here/$HOME `x`", &none).ends_with(r" '/it'\''s here/$HOME `x`'"));
        assert!(environment("~/rules", &none).ends_with("='~/rules'\n"));
        assert!(environment("/x", &pins(&[("a b;c", "")])).ends_with("export 'OMPI_MCA_a b;c'=''\n"));
    }

    #[test]
    fn what_a_format_cannot_carry_is_refused() {
        let none = BTreeMap::new();
        for path in ["/two\nlines", "/cr\r", " /lead", "/trail ", "/trail\t"] {
            assert!(mca_params(path, &none).is_err(), "{path:?}");
        }
        assert!(mca_params("/in side/#1", &none).is_ok());
        for path in ["/in side", "/two\nlines", "/tab\there", "\"/quoted\"", "/it's", ""] {
            assert!(tune_file(path, &none).is_err(), "{path:?}");
        }
        let error = tune_file("/in side", &none).expect_err("a blank").to_string();
        assert_eq!(
            error,
            "coll_tuned_dynamic_rules_filename cannot be set to \"/in side\" in a tune file: \
             blanks separate words, and quotes do not join them"
        );
        assert!(tune_file("/x", &pins(&[("coll", "")])).is_err());
    }

    #[test]
    fn pins_cannot_switch_the_file_off() {
        let pins = pins(&[(USE_RULES, "0"), (RULES_FILE, "/other")]);
        assert_eq!(mpirun_line("/x", &pins), mpirun_line("/x", &BTreeMap::new()));
    }
}
