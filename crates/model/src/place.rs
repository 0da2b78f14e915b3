//! Location of the two ranks of a pair.

use collrules_rules::names;
use serde::{Deserialize, Serialize};

/// Location of the two ranks of a pair: on one host or on two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// On one host.
    Inside,
    /// On two hosts.
    Between,
}

names!(Where {
    Inside "inside a host",
    Between "between hosts",
});
