//! What coll/han's rules file says of the calls of programs: one half of a tuning whose other half are coll/tuned's own rules.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use collrules_rules::han::{self, Level};
use collrules_rules::steps::Steps;
use collrules_rules::{Collective, Release, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::han_choice::{HanAlgorithm, HanChoice};
use crate::placement::{Placement, Serving};
use crate::units::Ranks;

/// What becomes of calls that come to HAN; its text form is what HAN's file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Handed {
    /// HAN carries them out as it does without a file.
    #[default]
    Kept,
    /// HAN carries them out by an algorithm that it would not take by itself.
    By(HanAlgorithm),
    /// HAN hands them over to coll/tuned.
    Over,
}

/// A text that says nothing that HAN's file can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of han, han @intra, han @simple and tuned")]
pub struct BadHanded(String);

impl Handed {
    /// What the file has to say for a candidate to carry out a call. Parameters of HAN need no word of it.
    pub fn of(candidate: Candidate) -> Self {
        match candidate {
            Candidate::Builtin | Candidate::Han(HanChoice::Settings(_)) => Self::Kept,
            Candidate::Han(HanChoice::Algorithm(algorithm)) => Self::By(algorithm),
            _ => Self::Over,
        }
    }

    /// The candidate that carries out a call which no rule of coll/tuned speaks of.
    pub fn candidate(self) -> Candidate {
        match self {
            Self::Kept => Candidate::Builtin,
            Self::By(algorithm) => Candidate::Han(HanChoice::Algorithm(algorithm)),
            Self::Over => Candidate::Component(Component::TUNED),
        }
    }

    fn choice(self, collective: Collective) -> han::Choice {
        match self {
            Self::Kept => han::Choice::of(han::Component::Han),
            Self::Over => han::Choice::of(han::Component::Tuned),
            Self::By(algorithm) => {
                // The numbers are the same wherever there are any.
                let number = algorithm.number(Release::V6_0, collective).unwrap_or_default();
                han::Choice { component: han::Component::Han, algorithm: number }
            }
        }
    }

    fn of_choice(collective: Collective, choice: han::Choice) -> Self {
        // With anything but itself HAN passes the call on.
        if han::service(collective, Level::GlobalCommunicator, choice.component)
            != han::Service::Named(han::Component::Han)
        {
            return Self::Over;
        }
        let numbered = |one: &HanAlgorithm| one.number(Release::V6_0, collective) == Some(choice.algorithm);
        match HanAlgorithm::ALL.into_iter().find(numbered) {
            Some(usual) if !HanAlgorithm::others(Release::V6_0, collective).any(|one| one == usual) => Self::Kept,
            Some(algorithm) => Self::By(algorithm),
            None if choice.algorithm == 0 => Self::Kept,
            // The algorithm that hands calls on.
            None => Self::Over,
        }
    }
}

impl fmt::Display for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.pad("han"),
            Self::By(algorithm) => f.pad(&format!("han @{algorithm}")),
            Self::Over => f.pad("tuned"),
        }
    }
}

impl FromStr for Handed {
    type Err = BadHanded;

    fn from_str(text: &str) -> Result<Self, BadHanded> {
        let bad = || BadHanded(text.to_owned());
        match text {
            "han" => Ok(Self::Kept),
            "tuned" => Ok(Self::Over),
            _ => text.strip_prefix("han @").and_then(|name| name.parse().ok()).map(Self::By).ok_or_else(bad),
        }
    }
}

stored_as_text!(Handed);

/// What becomes of calls, by communicator size and by message size as the caller passes it.
pub type HandedSteps = Steps<Steps<Handed>>;

/// What HAN's file says; what it says nothing of stays as it is. Canonical: what says the same is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handover(BTreeMap<Collective, HandedSteps>);

impl Handover {
    /// Whether the file would say nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces what is said of a collective.
    pub fn set(&mut self, collective: Collective, steps: HandedSteps) {
        if steps == Steps::constant(Steps::constant(Handed::Kept)) {
            self.0.remove(&collective);
        } else {
            self.0.insert(collective, steps);
        }
    }

    /// What is said of a collective, if anything is.
    pub fn get(&self, collective: Collective) -> Option<&HandedSteps> {
        self.0.get(&collective)
    }

    /// The collectives of which something is said.
    pub fn collectives(&self) -> impl Iterator<Item = Collective> {
        self.0.keys().copied()
    }

    /// What becomes of a cell's calls, where HAN gets them.
    pub fn says(&self, cell: Cell) -> Handed {
        let bytes = han::lookup_bytes(cell.collective, cell.bytes.0);
        self.get(cell.collective).map_or(Handed::Kept, |steps| *steps.get(cell.ranks.0.into()).get(bytes))
    }

    /// Whether a cell's calls are handed over to coll/tuned, where HAN gets them.
    pub fn hands(&self, cell: Cell) -> bool {
        self.says(cell) == Handed::Over
    }

    /// Whether anything is said of a collective on so many ranks.
    pub fn touches(&self, collective: Collective, ranks: Ranks) -> bool {
        self.get(collective).is_some_and(|steps| *steps.get(ranks.0.into()) != Steps::constant(Handed::Kept))
    }

    /// The same as rules of HAN for the communicators of programs. Those for its own communicators are left to its
    /// parameters.
    pub fn to_han(&self) -> han::Table {
        let mut table = han::Table::default();
        for (collective, ranks) in &self.0 {
            let choice = |handed: Handed| Some(handed.choice(*collective));
            let mut rules = Steps::constant(Steps::constant(choice(Handed::Kept)));
            for (first, end, sizes) in ranks.iter() {
                let mut own = Steps::constant(choice(Handed::Kept));
                sizes.iter().for_each(|(first, end, handed)| own.set(first, end, choice(*handed)));
                rules.set(first, end, own);
            }
            table.set(*collective, Level::GlobalCommunicator, rules);
        }
        table
    }

    /// What a HAN file says of the calls of programs.
    pub fn of_han(table: &han::Table) -> Self {
        let mut handover = Self::default();
        for (collective, _, ranks) in table.iter().filter(|(_, level, _)| *level == Level::GlobalCommunicator) {
            let mut steps = Steps::constant(Steps::constant(Handed::Kept));
            for (first, end, sizes) in ranks.iter() {
                let mut own = Steps::constant(Handed::Kept);
                for (first, end, choice) in sizes.iter() {
                    let handed = choice.map_or(Handed::Kept, |choice| Handed::of_choice(collective, choice));
                    own.set(first, end, handed);
                }
                steps.set(first, end, own);
            }
            handover.set(collective, steps);
        }
        handover
    }
}

impl Serving {
    /// Whether HAN serves, and a file can make it hand calls over one by one. Other components can only be put out of the
    /// way as a whole.
    pub fn can_hand_over(&self, release: Release) -> bool {
        self.without == [Component::HAN] && han::is_ruled(release, self.collective.id())
    }
}

impl Placement {
    /// The collectives and communicator sizes that HAN serves and can hand over call by call.
    pub fn handable(&self, release: Release) -> impl Iterator<Item = (Collective, Ranks)> {
        let handable = self.serving.iter().filter(move |serving| serving.can_hand_over(release));
        handable.map(|serving| (serving.collective, serving.ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn what_is_said_reads_back_from_the_file() {
        let mut sizes = Steps::constant(Handed::Kept);
        sizes.set(64, Some(2048), Handed::By(HanAlgorithm::Simple));
        sizes.set(2048, Some(524_289), Handed::Over);
        let mut steps = Steps::constant(Steps::constant(Handed::Kept));
        steps.set(8, Some(9), sizes);
        let mut handover = Handover::default();
        handover.set(Collective::Bcast, steps);
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let said = |cells: &[(u32, u64)]| -> Vec<String> {
            cells.iter().map(|(ranks, bytes)| handover.says(cell(*ranks, *bytes)).to_string()).collect()
        };
        assert_eq!(said(&[(8, 63), (8, 64), (8, 2047), (8, 2048)]), ["han", "han @simple", "han @simple", "tuned"]);
        assert_eq!(said(&[(8, 524_288), (8, 524_289), (7, 4096), (9, 4096)]), ["tuned", "han", "han", "han"]);
        let text = han::write(&handover.to_han(), &[]).expect("a file");
        assert!(text.contains("64 han @simple"), "{text}");
        let behaviour = collrules_rules::Behaviour::latest(Release::V5_0);
        let han::Load::Accepted(read) = han::load(text.as_bytes(), &behaviour) else { panic!("{text}") };
        assert_eq!(Handover::of_han(&read.to_table()), handover);
        let stored = serde_json::to_string(&handover).expect("plain data");
        assert_eq!(serde_json::from_str::<Handover>(&stored).expect("the same"), handover);
    }

    /// What HAN does by itself, asked for by name, is nothing new; what it passes on is not its own.
    #[test]
    fn files_of_others_are_understood() {
        let said = |rule: &str| {
            let text = format!("1\nallreduce\n1\n2\n1\n1 1\n0 {rule}\n");
            let behaviour = collrules_rules::Behaviour::latest(Release::V5_0);
            let han::Load::Accepted(read) = han::load(text.as_bytes(), &behaviour) else { panic!("{text}") };
            let cell = Cell { collective: Collective::Allreduce, ranks: Ranks(8), bytes: Bytes(8) };
            Handover::of_han(&read.to_table()).says(cell)
        };
        assert_eq!(["han", "han @intra"].map(said), [Handed::Kept; 2]);
        assert_eq!(said("han @simple"), Handed::By(HanAlgorithm::Simple));
        assert_eq!(["han @reproducible", "basic", "tuned"].map(said), [Handed::Over; 3]);
    }
}
