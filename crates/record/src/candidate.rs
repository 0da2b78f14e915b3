//! One way to carry out a collective call that can be timed.

use std::fmt;
use std::str::FromStr;

use collrules_program::mockup::BadMockup;
use collrules_program::{Mockup, Reference};
use collrules_rules::names::UnknownName;
use collrules_rules::{Choice, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::han_algorithm::HanAlgorithm;

/// A candidate; its text form is `builtin`, `tuned:algorithm/faninout/segsize/max_requests`, `component:name`, `han:` and a
/// [`HanAlgorithm`], `rules`, that of a [`Mockup`], or `chan:short` or `chan:long`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Candidate {
    /// Open MPI's own decision, without a tuning.
    Builtin,
    /// An algorithm of `coll/tuned` with all its parameters.
    Tuned(Choice),
    /// Decision of a component of Open MPI itself. Rules cannot choose it; settings can.
    Component(Component),
    /// One of HAN's own ways. HAN's rules file can ask for its algorithms; settings for the rest.
    Han(HanAlgorithm),
    /// Open MPI under the rules file that is validated, with all settings that belong to it.
    Rules,
    /// Other calls that do the same. Programs can make them; rules and settings cannot.
    Mockup(Mockup),
    /// A reference algorithm, carried out with messages of the worker. Rules and settings cannot choose it.
    Reference(Reference),
}

/// A text that names no candidate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadCandidate(String);

impl BadCandidate {
    fn new(text: &str) -> Self {
        Self(format!(
            "`{text}` is not a candidate; write builtin, tuned:algorithm/faninout/segsize/max_requests, component:name, \
             han:WAY, mockup:CALLS, split:PIECES, pad:SIZE, chan:short or chan:long"
        ))
    }
}

impl Candidate {
    /// The choice in a rule of coll/tuned that gives this candidate. For components and HAN it is the builtin's, since
    /// no rule names them and `tuned` decides by itself without a rule. Whole rules files, mock-ups and reference
    /// algorithms have none.
    pub fn choice(self) -> Option<Choice> {
        match self {
            Self::Builtin | Self::Component(_) | Self::Han(_) | Self::Rules => Some(Choice::BUILTIN),
            Self::Tuned(choice) => Some(choice),
            Self::Mockup(_) | Self::Reference(_) => None,
        }
    }

    /// Returns the choice that makes a rule table use this candidate; the default's choice if no rule can.
    pub fn served(self) -> Choice {
        self.choice().unwrap_or(Choice::BUILTIN)
    }

    /// Returns true if it consists of calls of other collectives, or of several calls of the same collective.
    pub fn is_mockup(self) -> bool {
        matches!(self, Self::Mockup(_))
    }

    /// The candidate of a choice.
    pub fn from_choice(choice: Choice) -> Self {
        if choice.is_builtin() { Self::Builtin } else { Self::Tuned(choice) }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.pad("builtin"),
            Self::Tuned(choice) => f.pad(&format!("tuned:{choice}")),
            Self::Component(component) => f.pad(&format!("component:{component}")),
            Self::Han(choice) => f.pad(&format!("han:{choice}")),
            Self::Rules => f.pad("rules"),
            Self::Mockup(mockup) => f.pad(&mockup.to_string()),
            Self::Reference(reference) => f.pad(&format!("chan:{}", reference.name())),
        }
    }
}

impl FromStr for Candidate {
    type Err = BadCandidate;

    fn from_str(text: &str) -> Result<Self, BadCandidate> {
        if text == "builtin" {
            return Ok(Self::Builtin);
        }
        if text == "rules" {
            return Ok(Self::Rules);
        }
        if let Some(name) = text.strip_prefix("component:") {
            return name.parse().map(Self::Component).map_err(|_| BadCandidate::new(text));
        }
        if let Some(way) = text.strip_prefix("han:") {
            return way.parse().map(Self::Han).map_err(|bad: UnknownName| BadCandidate(bad.to_string()));
        }
        if ["mockup:", "split:", "pad:"].iter().any(|kind| text.starts_with(kind)) {
            return text.parse().map(Self::Mockup).map_err(|bad: BadMockup| BadCandidate(bad.to_string()));
        }
        if let Some(name) = text.strip_prefix("chan:") {
            let named = Reference::ALL.into_iter().find(|reference| reference.name() == name);
            return named.map(Self::Reference).ok_or_else(|| BadCandidate::new(text));
        }
        let choice: Option<Choice> = text.strip_prefix("tuned:").and_then(|choice| choice.parse().ok());
        match choice {
            Some(choice) if !choice.is_builtin() => Ok(Self::Tuned(choice)),
            _ => Err(BadCandidate::new(text)),
        }
    }
}

stored_as_text!(Candidate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_read_back() {
        let tuned = Candidate::Tuned(Choice::plain(3).with_segsize(8192));
        let split = Candidate::Mockup(Mockup::Split { pieces: 4, barrier: true });
        assert_eq!((split.choice(), Candidate::Rules.choice()), (None, Some(Choice::BUILTIN)));
        assert_eq!(Candidate::Reference(Reference::Long).choice(), None);
        let known = [Candidate::Builtin, tuned, Candidate::Component(Component::HAN), Candidate::Rules, split];
        let known = known.into_iter().chain(HanAlgorithm::ALL.map(Candidate::Han));
        for candidate in known.chain(Reference::ALL.map(Candidate::Reference)) {
            assert_eq!(candidate.to_string().parse(), Ok(candidate));
        }
        assert_eq!("chan:short".parse(), Ok(Candidate::Reference(Reference::Short)));
        for bad in
            ["", "tuned", "tuned:3", "tuned:0/0/0/0", "Builtin", "component:", "han:", "han:fast", "chan:", "chan:tree"]
        {
            assert!(bad.parse::<Candidate>().is_err(), "{bad}");
        }
    }
}
