//! Settings that a user names, with the values to try: `btl_vader_eager_limit=4K,16K,32K`.
//!
//! Commas separate values; if values contain commas, `|` does: `env:UCX_TLS=rc,sm|tcp,sm`.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::parameters::{Parameter, Parameters};
use super::variable;
use crate::deploy::params::is_boolean;
use crate::names::meant;
use crate::{Bytes, read_from_text, stored_as_text};

/// The most values of a setting.
const MOST: usize = 32;

/// A setting with the values that a user wants to try, as written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RequestedSetting {
    name: String,
    values: Vec<String>,
}

impl RequestedSetting {
    /// The name of the setting.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values as written.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The values in the form that Open MPI reads, checked against the parameters of the installation.
    pub fn resolve(&self, parameters: &Parameters) -> Result<Vec<String>, String> {
        let Self { name, values } = self;
        if variable(name).is_some() {
            return Ok(values.clone());
        }
        let Some(parameter) = parameters.get(name) else {
            return Err(format!(
                "this Open MPI has no parameter {name}{}; `collrules settings` lists those that matter, and \
                 `ompi_info --all` all",
                meant(parameters.names(), name)
            ));
        };
        values.iter().map(|value| express(name, parameter, value)).collect()
    }
}

/// A value in the form that Open MPI reads.
fn express(name: &str, parameter: &Parameter, value: &str) -> Result<String, String> {
    let bad = |wanted: String| format!("{name} cannot be {value}: it takes {wanted}");
    if !parameter.choices.is_empty() {
        let known = parameter.choices.iter().find(|choice| choice.eq_ignore_ascii_case(value));
        return known.cloned().ok_or_else(|| bad(parameter.choices.join(", ")));
    }
    let number = || value.parse::<Bytes>().ok().map(|bytes| bytes.0);
    let within = |most: u64| number().filter(|number| *number <= most);
    let whole = |most: u64| {
        within(most).map(|number| number.to_string()).ok_or_else(|| bad(format!("a whole number of at most {most}")))
    };
    match parameter.kind.as_str() {
        "int" => match value.parse::<i32>() {
            Ok(number) => Ok(number.to_string()),
            Err(_) => whole(i32::MAX as u64),
        },
        "unsigned_int" | "unsigned" => whole(u32::MAX.into()),
        "size_t" | "unsigned_long" | "unsigned_long_long" | "uint64_t" => whole(u64::MAX),
        "bool" => is_boolean(value).then(|| value.to_owned()).ok_or_else(|| bad("0 or 1".to_owned())),
        _ => Ok(value.to_owned()),
    }
}

impl fmt::Display for RequestedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.values.iter().any(|value| value.contains(',')) { "|" } else { "," };
        write!(f, "{}={}", self.name, self.values.join(separator))
    }
}

impl RequestedSetting {
    fn read(text: &str) -> Result<Self, String> {
        let wanted = "write NAME=VALUE,VALUE with an MCA parameter, or env:NAME=VALUE with an environment variable";
        let bad = |why: &str| format!("`{text}` names no setting with values: {why}");
        let (name, values) = text.split_once('=').ok_or_else(|| bad(wanted))?;
        let name = name.trim();
        let name = name.strip_prefix("OMPI_MCA_").unwrap_or(name);
        let bare = variable(name).unwrap_or(name);
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !is_name(bare) {
            return Err(bad(wanted));
        }
        if let Some(parameter) = variable(name).and_then(|variable| variable.strip_prefix("OMPI_MCA_")) {
            return Err(bad(&format!("write {parameter} without env:OMPI_MCA_")));
        }
        let separator = if values.contains('|') { '|' } else { ',' };
        let values: Vec<String> = values.split(separator).map(|value| value.trim().to_owned()).collect();
        if values.iter().any(|value| value.is_empty() || value.contains(|c: char| c.is_control())) {
            return Err(bad("a value is empty, or holds a control character"));
        }
        let all = values.len();
        if values.iter().collect::<BTreeSet<_>>().len() < all {
            return Err(bad("a value is repeated"));
        }
        if all > MOST {
            return Err(bad(&format!("{all} values are named, and at most {MOST} can be tried")));
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

read_from_text!(RequestedSetting);
stored_as_text!(RequestedSetting);

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        let line = |name: &str, field: &str, value: &str| format!("mca:btl:vader:param:{name}:{field}:{value}\n");
        let text = line("btl_vader_eager_limit", "type", "size_t")
            + &line("btl_vader_fbox_max", "type", "unsigned_int")
            + &line("coll_sm_priority", "type", "int")
            + &line("pml", "type", "string")
            + &line("mpi_leave_pinned", "type", "bool")
            + &line("btl_vader_single_copy_mechanism", "enumerator", "value:1:cma")
            + &line("btl_vader_single_copy_mechanism", "enumerator", "value:3:none");
        Parameters::read(&text, "")
    }

    fn resolve(text: &str) -> Result<Vec<String>, String> {
        let request: RequestedSetting = text.parse()?;
        request.resolve(&parameters())
    }

    #[test]
    fn sizes_become_bytes_and_words_stay() {
        let values = |text| resolve(text).expect("can be set");
        assert_eq!(values("btl_vader_eager_limit=4K,16KiB,32768"), ["4096", "16384", "32768"]);
        assert_eq!(values("OMPI_MCA_coll_sm_priority=-1,90"), ["-1", "90"]);
        assert_eq!(values("pml=^ucx,cm|ob1"), ["^ucx,cm", "ob1"]);
        assert_eq!(values("env:UCX_RNDV_THRESH=8K,64K"), ["8K", "64K"]);
        assert_eq!(values("btl_vader_single_copy_mechanism=NONE"), ["none"]);
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_a_reason() {
        let why = |text| resolve(text).expect_err(text);
        assert!(why("btl_vader_eager_limt=4K").contains("; the nearest name is btl_vader_eager_limit;"));
        assert!(why("btl_vader_fbox_max=8G").ends_with("a whole number of at most 4294967295"));
        assert!(why("btl_vader_eager_limit=-1").contains("whole number"));
        assert!(why("btl_vader_single_copy_mechanism=knem").ends_with("it takes cma, none"));
        assert!(why("mpi_leave_pinned=True").ends_with("0 or 1"));
        for bad in
            ["", "=4", "a b=1", "x", "x=", "x=1,,2", "x=1,1", "env:=1", "env:OMPI_MCA_pml=ob1", "x=a\u{7}", "1x=2"]
        {
            assert!(bad.parse::<RequestedSetting>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn requests_read_back() {
        for text in ["btl_vader_eager_limit=4K,16K", "env:UCX_TLS=rc,sm|tcp"] {
            assert_eq!(text.parse::<RequestedSetting>().expect("reads").to_string(), text);
        }
    }
}
