//! Settings: MCA parameters and environment variables of a whole job that change the speed of its messages and
//! collectives.
//!
//! | module | job |
//! |---|---|
//! | [`catalogue`] | settings that are known to matter, as data |
//! | [`parameters`] | the parameters of an installation, from the text of `ompi_info` |
//! | [`request`] | settings that a user names: `NAME=VALUE,VALUE` |
//! | [`offer`] | the settings to try on a system, with their values |
//!
//! A setting is named after its MCA parameter, or by `env:` and an environment variable.

pub mod catalogue;
pub mod offer;
pub mod parameters;
pub mod request;

use crate::Bytes;

/// Prefix of environment variables.
pub const VARIABLE: &str = "env:";

/// The environment variable that passes a setting to a process.
pub fn environment_name(name: &str) -> String {
    variable(name).map_or_else(|| format!("OMPI_MCA_{name}"), str::to_owned)
}

/// A value of a setting as people write it: sizes with their unit.
pub fn show_value(name: &str, value: &str) -> String {
    let is_size = ["limit", "size", "buf", "THRESH", "SIZE"].iter().any(|word| name.contains(word));
    match value.parse() {
        Ok(bytes) if is_size && bytes > 0 => Bytes(bytes).to_string(),
        _ if value.is_empty() => "(empty)".to_owned(),
        _ => value.to_owned(),
    }
}

/// The environment variable of a setting, unless it is an MCA parameter.
pub fn variable(name: &str) -> Option<&str> {
    name.strip_prefix(VARIABLE)
}
