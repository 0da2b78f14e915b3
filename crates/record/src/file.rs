//! Format versions and digests of files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of a file's format: readers accept any minor of their major.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when old readers would misread new files.
    pub major: u32,
    /// Changes when something is added.
    pub minor: u32,
}

/// Digests of the files of a tuning without comments, by the names that they have in a run directory.
pub type Digests = BTreeMap<String, String>;

/// The digest of a file, as printed by `sha256sum`.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The digest of the content so far of a file that grows.
pub(crate) fn digest_so_far(content: &Sha256) -> String {
    hexadecimal(&content.clone().finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
