//! The name of a component of Open MPI's coll framework.

use std::fmt;

use collrules_rules::{read_from_text, stored_as_text};
use serde::{Deserialize, Serialize};

/// The longest name; Open MPI's own are shorter.
const LONGEST: usize = 15;

/// A component such as `tuned`, `han` or `hcoll`: small letters, digits and underscores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Component([u8; LONGEST]);

impl Component {
    /// The component whose algorithms the rules choose between.
    pub const TUNED: Self = Self::known("tuned");

    /// The component with the simplest algorithms, which runs calls that no other takes.
    pub const BASIC: Self = Self::known("basic");

    /// The component for communicators over several hosts, preferred to `tuned` from 5.0 on.
    pub const HAN: Self = Self::known("han");

    pub(crate) const fn known(name: &str) -> Self {
        let mut text = [0; LONGEST];
        let mut place = 0;
        while place < name.len() {
            text[place] = name.as_bytes()[place];
            place += 1;
        }
        Self(text)
    }

    fn read(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        (!text.is_empty() && text.len() <= LONGEST && text.bytes().all(fits)).then(|| Self::known(text))
    }

    /// The name.
    pub fn name(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(LONGEST);
        // Made of ASCII alone.
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Component({})", self.name())
    }
}

read_from_text!(
    Component,
    "is not the name of a component; those of Open MPI are tuned, han, basic, libnbc and others"
);
stored_as_text!(Component);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["tuned", "han", "a_component_15c"] {
            assert_eq!(name.parse::<Component>().map(|component| component.to_string()), Ok(name.to_owned()));
        }
        assert_eq!("han".parse(), Ok(Component::HAN));
        for bad in ["", "Han", "^han", "han,sm", "a_component_16ch", "h n"] {
            assert!(bad.parse::<Component>().is_err(), "{bad}");
        }
    }
}
