//! Results of reading a file.

use super::fault::Fault;
use super::model::Loaded;

/// Result of a version reading a file.
#[derive(Clone, Debug)]
pub enum Load<T = Loaded> {
    /// Its rules are active.
    Accepted(T),
    /// All of it is ignored, without a message at default verbosity.
    Rejected(Fault),
    /// `MPI_Init` crashes with a segmentation fault.
    Crashes(Fault),
}

impl Fault {
    /// The result of reading a file with this fault.
    pub(crate) fn load<T>(self) -> Load<T> {
        if self.kind.crashes() { Load::Crashes(self) } else { Load::Rejected(self) }
    }
}

impl<T> Load<T> {
    /// The rules, if they are active.
    pub fn accepted(&self) -> Option<&T> {
        if let Self::Accepted(loaded) = self { Some(loaded) } else { None }
    }

    /// The rules, if they are active.
    pub fn into_accepted(self) -> Option<T> {
        self.read().ok()
    }

    /// The rules, or the reason why they are not active.
    pub fn read(self) -> Result<T, String> {
        match self {
            Self::Accepted(loaded) => Ok(loaded),
            Self::Rejected(fault) | Self::Crashes(fault) => Err(fault.to_string()),
        }
    }

    /// This result with other rules.
    pub fn map<U>(self, rules: impl FnOnce(T) -> U) -> Load<U> {
        match self {
            Self::Accepted(loaded) => Load::Accepted(rules(loaded)),
            Self::Rejected(rejection) => Load::Rejected(rejection),
            Self::Crashes(crash) => Load::Crashes(crash),
        }
    }
}
