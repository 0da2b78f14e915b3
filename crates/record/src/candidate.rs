//! One way to carry out a collective call that can be timed, and its names.

use std::fmt;

use collrules_program::{Mockup, Reference};
use collrules_rules::names::meant;
use collrules_rules::{Choice, Collective, Release, han, names, read_from_text, registry, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::component::Component;

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
    pub fn choice_in_rules(self) -> Choice {
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

impl Candidate {
    fn read(text: &str) -> Result<Self, String> {
        let found = match text.split_once(':') {
            None if text == "builtin" => Some(Self::Builtin),
            None if text == "rules" => Some(Self::Rules),
            Some(("component", name)) => name.parse().ok().map(Self::Component),
            Some(("han", way)) => Some(Self::Han(way.parse()?)),
            Some(("mockup" | "split" | "pad", _)) => Some(Self::Mockup(text.parse()?)),
            Some(("chan", name)) => {
                Reference::ALL.into_iter().find(|reference| reference.name() == name).map(Self::Reference)
            }
            Some(("tuned", choice)) => {
                choice.parse().ok().filter(|choice: &Choice| !choice.is_builtin()).map(Self::Tuned)
            }
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "`{text}` is not a candidate; write builtin, tuned:algorithm/faninout/segsize/max_requests, \
                 component:name, han:WAY, mockup:CALLS, split:PIECES, pad:SIZE, chan:short or chan:long"
            )
        })
    }
}

read_from_text!(Candidate);
stored_as_text!(Candidate);

/// An algorithm of HAN. That which it calls `reproducible` hands the call on to coll/tuned or coll/basic, and is left out:
/// rules say that directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HanAlgorithm {
    /// Segments, those between nodes overlapped with those within.
    Intra,
    /// One level after the other, each by coll/tuned.
    Simple,
}

names!(HanAlgorithm, read as "algorithm of HAN" {
    Intra "intra",
    Simple "simple",
});

impl HanAlgorithm {
    /// Its number in a collective, by which its parameter and its rules file know it.
    pub fn number(self, release: Release, collective: Collective) -> Option<u32> {
        let names = han::algorithms(release, collective.id());
        let place = names.iter().position(|name| *name == self.name())?;
        u32::try_from(place + 1).ok()
    }

    /// Returns the algorithm that HAN uses if none is requested (`use_simple_algorithm` in `coll_han_component.c`).
    fn usual(collective: Collective) -> Self {
        match collective {
            Collective::Gather | Collective::Barrier => Self::Simple,
            _ => Self::Intra,
        }
    }

    /// The algorithms that differ from what HAN does by itself.
    pub fn others(release: Release, collective: Collective) -> impl Iterator<Item = Self> {
        let known = Self::ALL.into_iter().filter(move |one| one.number(release, collective).is_some());
        known.filter(move |one| *one != Self::usual(collective))
    }

    /// The parameter that asks for an algorithm, and lets it be changed while a program runs.
    pub fn parameter(collective: Collective) -> String {
        format!("coll_han_use_{collective}_algorithm")
    }
}

/// A name for a candidate of a collective.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateName {
    /// The value of `coll_tuned_COLLECTIVE_algorithm`; 0 is the builtin.
    Id(u32),
    /// Open MPI's name, or a word for the builtin.
    Word(String),
    /// A complete candidate.
    Complete(Candidate),
}

/// Words for algorithm 0; the tables of ompi-collectives-tuning call it `tuned`.
const BUILTIN_WORDS: [&str; 5] = ["builtin", "default", "ignore", "tuned", "fixed"];

/// The collectives that Chan et al. have algorithms for.
pub const WITH_REFERENCE: &str =
    "bcast, reduce, scatter, gather, allgather, reduce_scatter, reduce_scatter_block and allreduce";

impl CandidateName {
    /// Reads an id, a candidate (`builtin`, `tuned:3/0/8192/0`), or a name.
    pub fn read(text: &str) -> Self {
        if let (Ok(id), true) = (text.parse(), text.bytes().all(|byte| byte.is_ascii_digit())) {
            return Self::Id(id);
        }
        match text.parse() {
            Ok(candidate) => Self::Complete(candidate),
            Err(_) => Self::Word(text.to_owned()),
        }
    }

    /// The named candidate of a collective in a release, or why there is none.
    pub fn candidate(&self, release: Release, collective: Collective) -> Result<Candidate, String> {
        let forced =
            |id| registry::forced(release, collective, id).map(Candidate::from_choice).map_err(|e| e.to_string());
        match self {
            Self::Complete(candidate) => {
                // An algorithm that the release lacks is an error whoever names it.
                if let Some(choice) = candidate.choice() {
                    forced(choice.algorithm)?;
                }
                if let Candidate::Reference(reference) = candidate
                    && reference.primitives(collective).is_none()
                {
                    return Err(format!("{collective} has no reference algorithm {candidate}; {WITH_REFERENCE} have"));
                }
                Ok(*candidate)
            }
            Self::Id(id) => forced(*id),
            Self::Word(name) if name.starts_with("chan:") => {
                Err(format!("`{name}` is no reference algorithm; there are chan:short and chan:long"))
            }
            Self::Word(name) => {
                let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
                let name = plain(name);
                // Papers call `binomial` a binomial tree.
                let named =
                    |name: &str| registry::algorithms(release, collective).find(|known| plain(known.name) == name);
                if let Some(known) = named(&name).or_else(|| named(name.strip_suffix("_tree")?)) {
                    return forced(known.id);
                }
                if BUILTIN_WORDS.contains(&name.as_str()) {
                    return Ok(Candidate::Builtin);
                }
                let known: Vec<&str> = registry::algorithms(release, collective).map(|known| known.name).collect();
                Err(format!(
                    "Open MPI {release} has no {collective} algorithm `{name}`{}; known are builtin, {}",
                    meant(known.iter().copied(), &name),
                    known.join(", ")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_program::Reference;

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

    #[test]
    fn algorithms_differ_from_what_han_does_by_itself() {
        let others = |release, collective| HanAlgorithm::others(release, collective).collect::<Vec<_>>();
        assert_eq!(others(Release::V5_0, Collective::Bcast), [HanAlgorithm::Simple]);
        assert_eq!(others(Release::V5_0, Collective::Gather), [HanAlgorithm::Intra]);
        assert_eq!(others(Release::V5_0, Collective::Barrier), []);
        assert_eq!(others(Release::V5_0, Collective::Alltoall), []);
        // Its files know no algorithms there.
        assert_eq!(others(Release::V4_1, Collective::Bcast), []);
        assert_eq!(HanAlgorithm::Simple.number(Release::V5_0, Collective::Allreduce), Some(2));
    }

    /// `in-order_binary` was once unknown, since its hyphen was read as an underscore.
    #[test]
    fn every_algorithm_is_known_by_its_name() {
        for release in Release::ALL {
            for collective in Collective::ALL {
                for known in registry::algorithms(release, collective) {
                    let named = CandidateName::read(known.name).candidate(release, collective);
                    let by_id = CandidateName::Id(known.id).candidate(release, collective);
                    assert_eq!(named, by_id, "{collective} {} in {release}", known.name);
                }
            }
        }
    }

    #[test]
    fn reference_algorithms_are_named_where_there_are_some() {
        let named = |text: &str, collective| CandidateName::read(text).candidate(Release::V5_0, collective);
        for collective in Collective::ALL {
            match named("chan:short", collective) {
                Ok(candidate) => assert_eq!(candidate, Candidate::Reference(Reference::Short)),
                Err(why) => assert!(why.ends_with(&format!("{WITH_REFERENCE} have")), "{why}"),
            }
            let has_one = WITH_REFERENCE.split([',', ' ']).any(|name| name == collective.name());
            assert_eq!(named("chan:short", collective).is_ok(), has_one, "{collective}");
        }
        let error = named("chan:tree", Collective::Bcast).expect_err("no such algorithm");
        assert_eq!(error, "`chan:tree` is no reference algorithm; there are chan:short and chan:long");
    }
}
