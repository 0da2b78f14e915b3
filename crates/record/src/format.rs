//! Versions of file formats.

use serde::{Deserialize, Serialize};

/// The version of a file's format: readers accept any minor of their major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when old readers would misread new files.
    pub major: u32,
    /// Changes when something is added.
    pub minor: u32,
}
