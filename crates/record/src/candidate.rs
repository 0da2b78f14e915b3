//! One way to carry out a collective call that can be timed.

use std::fmt;
use std::str::FromStr;

use collrules_reference::Reference;
use collrules_rules::{Choice, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::han_choice::{BadHanChoice, HanChoice};
use crate::mockup::{BadMockup, Mockup};

/// A candidate; its text form is `builtin`, `tuned:algorithm/faninout/segsize/max_requests`, `component:name`, `han:` and a
/// [`HanChoice`], `rules`, that of a [`Mockup`], or `chan:short` or `chan:long`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Candidate {
    /// What Open MPI does when nobody tells it anything.
    Builtin,
    /// An algorithm of `coll/tuned` with all its parameters.
    Tuned(Choice),
    /// What a component of Open MPI does by its own decision. Rules cannot ask for it; settings can.
    Component(Component),
    /// One of HAN's own ways. HAN's rules file can ask for its algorithms; settings for the rest.
    Han(HanChoice),
    /// What Open MPI does under the rules file that is validated, with all settings that belong to it.
    Rules,
    /// Other calls that do the same. Programs can make them; neither rules nor settings can ask for them.
    Mockup(Mockup),
    /// A reference algorithm, carried out with messages of its own. Neither rules nor settings can ask for it.
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
    /// The choice that a rule line of coll/tuned needs to get this candidate. For a component and for a way of HAN it is the
    /// builtin's: no rule names one, and `tuned` decides by itself where its rules say nothing. A whole rules file is no single choice either. No rule
    /// gives a mock-up or a reference algorithm, so that they have none.
    pub fn choice(self) -> Option<Choice> {
        match self {
            Self::Builtin | Self::Component(_) | Self::Han(_) | Self::Rules => Some(Choice::BUILTIN),
            Self::Tuned(choice) => Some(choice),
            Self::Mockup(_) | Self::Reference(_) => None,
        }
    }

    /// What a rule table says where this serves. What no rule gives is never served by one: there the builtin's stands.
    pub fn served(self) -> Choice {
        self.choice().unwrap_or(Choice::BUILTIN)
    }

    /// Whether it is timed in jobs of its own beside those in which candidates take turns: parameters of HAN hold for a
    /// whole job, and so does what they are compared with, HAN without them.
    pub fn is_apart(self) -> bool {
        matches!(self, Self::Component(Component::HAN) | Self::Han(HanChoice::Settings(_)))
    }

    /// Whether it is calls of other collectives, or other calls of the same.
    pub fn is_mockup(self) -> bool {
        matches!(self, Self::Mockup(_))
    }

    /// The candidate that a choice asks for.
    pub fn of(choice: Choice) -> Self {
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
            return way.parse().map(Self::Han).map_err(|bad: BadHanChoice| BadCandidate(bad.to_string()));
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
    use crate::han_choice::HanAlgorithm;

    #[test]
    fn candidates_read_back() {
        let tuned = Candidate::Tuned(Choice::plain(3).with_segsize(8192));
        let split = Candidate::Mockup(Mockup::Split { pieces: 4, barrier: true });
        assert_eq!((split.choice(), Candidate::Rules.choice()), (None, Some(Choice::BUILTIN)));
        assert_eq!(Candidate::Reference(Reference::Long).choice(), None);
        let known = [Candidate::Builtin, tuned, Candidate::Component(Component::HAN), Candidate::Rules, split];
        let known = known.into_iter().chain(HanAlgorithm::ALL.map(|one| Candidate::Han(HanChoice::Algorithm(one))));
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
