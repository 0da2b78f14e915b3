//! Rules of coll/han for the calls of programs: one half of a tuning whose other half are coll/tuned's own rules.

use std::collections::BTreeMap;

use collrules_rules::han::{self, Level};
use collrules_rules::metric::metric;
use collrules_rules::steps::{Steps, earlier};
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Collective, Release, names, stored_as_text};
use serde::{Deserialize, Serialize};

use crate::candidate::{Candidate, HanAlgorithm};
use crate::cell::Cell;
use crate::component::Component;
use crate::placement::{Placement, RunningComponent};
use crate::units::Ranks;

names! {
    /// HAN's rule for a range: default, one of its algorithms, or delegate to tuned; its text form is that of HAN's file.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(into = "String", try_from = "String")]
    pub enum HanRule, read as "rule of HAN's file" {
        /// HAN carries out the calls as without a file.
        #[default]
        Default "han",
        /// HAN carries them out with its algorithm in segments, which is not its default.
        Intra "han @intra",
        /// HAN carries them out with its simple algorithm, which is not its default.
        Simple "han @simple",
        /// HAN delegates them to coll/tuned.
        Delegate "tuned",
    }
}

stored_as_text!(HanRule);

/// The rules of both files for a call: that of coll/tuned, and HAN's.
pub type CallRule = (Choice, HanRule);

impl HanRule {
    /// Returns the rule that makes HAN use a candidate for a call.
    pub fn from_candidate(candidate: Candidate) -> Self {
        match candidate {
            Candidate::Builtin => Self::Default,
            Candidate::Han(algorithm) => Self::from_algorithm(algorithm),
            _ => Self::Delegate,
        }
    }

    fn from_algorithm(algorithm: HanAlgorithm) -> Self {
        match algorithm {
            HanAlgorithm::Intra => Self::Intra,
            HanAlgorithm::Simple => Self::Simple,
        }
    }

    /// The algorithm that HAN is asked for.
    pub fn algorithm(self) -> Option<HanAlgorithm> {
        HanAlgorithm::ALL.into_iter().find(|algorithm| Self::from_algorithm(*algorithm) == self)
    }

    /// The candidate that carries out a call without a rule of coll/tuned.
    pub fn candidate(self) -> Candidate {
        match self.algorithm() {
            Some(algorithm) => Candidate::Han(algorithm),
            None if self == Self::Delegate => Candidate::Component(Component::TUNED),
            None => Candidate::Builtin,
        }
    }

    fn choice(self, collective: Collective) -> han::ComponentChoice {
        if self == Self::Delegate {
            return han::ComponentChoice::from_component(han::HanComponent::Tuned);
        }
        // The numbers are the same wherever there are any.
        let number = self.algorithm().and_then(|algorithm| algorithm.number(Release::V6_0, collective));
        han::ComponentChoice { component: han::HanComponent::Han, algorithm: number.unwrap_or_default() }
    }

    pub(crate) fn of_choice(collective: Collective, choice: han::ComponentChoice) -> Self {
        // With anything but itself HAN passes the call on.
        if han::service(collective.id(), Level::GlobalCommunicator, choice.component)
            != han::Service::Named(han::HanComponent::Han)
        {
            return Self::Delegate;
        }
        let numbered = |one: &HanAlgorithm| one.number(Release::V6_0, collective) == Some(choice.algorithm);
        match HanAlgorithm::ALL.into_iter().find(numbered) {
            Some(usual) if !HanAlgorithm::others(Release::V6_0, collective).any(|one| one == usual) => Self::Default,
            Some(algorithm) => Self::from_algorithm(algorithm),
            None if choice.algorithm == 0 => Self::Default,
            // The algorithm that hands calls on.
            None => Self::Delegate,
        }
    }
}

/// HAN's rules by communicator size and by message size as the caller passes it; calls without a rule keep the default. Canonical: tables with the same meaning are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HanRules(BTreeMap<Collective, Steps<Steps<HanRule>>>);

impl HanRules {
    /// Returns true if the file would have no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the rules for a collective.
    pub fn set(&mut self, collective: Collective, steps: Steps<Steps<HanRule>>) {
        if steps == all_builtin() {
            self.0.remove(&collective);
        } else {
            self.0.insert(collective, steps);
        }
    }

    /// Returns the rules for a collective, if there are any.
    pub fn get(&self, collective: Collective) -> Option<&Steps<Steps<HanRule>>> {
        self.0.get(&collective)
    }

    /// The collectives with rules.
    pub fn collectives(&self) -> impl Iterator<Item = Collective> {
        self.0.keys().copied()
    }

    /// Returns the rule for a cell's calls, if HAN carries them out.
    pub fn rule(&self, cell: Cell) -> HanRule {
        let bytes = han::lookup_bytes(cell.collective, cell.bytes.0);
        self.get(cell.collective).map_or(HanRule::Default, |steps| *steps.get(cell.ranks.0.into()).get(bytes))
    }

    /// The rules of both files for a communicator size by lookup bytes, given those of coll/tuned.
    pub fn join(
        &self,
        tuned: &Steps<Choice>,
        (collective, ranks): (Collective, Ranks),
        release: Release,
    ) -> Steps<CallRule> {
        let own = self.get(collective).map(|steps| steps.get(ranks.0.into()));
        let Some(own) = own.filter(|_| self.touches(collective, ranks)) else {
            return tuned.map(|choice| (*choice, HanRule::Default));
        };
        // HAN looks up the bytes of a message; no call has other lookup bytes than multiples of them.
        let factor = metric(release, collective, ranks).factor();
        let lookup = |bytes: u64| bytes.saturating_mul(factor);
        let reached = |at: u64| lookup(at.div_ceil(factor));
        let mut joined = Steps::constant(CallRule::default());
        for (start, stop, choice) in tuned.iter() {
            let (start, stop) = (reached(start), stop.map(reached));
            for (first, end, rule) in own.iter() {
                joined.set(start.max(lookup(first)), earlier(stop, end.map(lookup)), (*choice, *rule));
            }
        }
        joined
    }

    /// Returns true if a cell's calls are delegated to coll/tuned, if HAN carries them out.
    pub fn delegates(&self, cell: Cell) -> bool {
        self.rule(cell) == HanRule::Delegate
    }

    /// Returns true if there is a rule for a collective on so many ranks.
    pub fn touches(&self, collective: Collective, ranks: Ranks) -> bool {
        self.get(collective).is_some_and(|steps| *steps.get(ranks.0.into()) != Steps::constant(HanRule::Default))
    }

    /// Converts it to rules of HAN for the communicators of programs. Calls on HAN's own communicators keep HAN's
    /// parameters.
    pub fn to_han(&self) -> han::HanTable {
        let mut table = han::HanTable::default();
        for (collective, ranks) in &self.0 {
            let choices = ranks.map(|sizes| sizes.map(|handed| Some(handed.choice(*collective))));
            table.set((*collective, Level::GlobalCommunicator), choices);
        }
        table
    }

    /// Reads the rules of a HAN file for the calls of programs.
    pub fn of_han(table: &han::HanTable) -> Self {
        let mut rules = Self::default();
        for ((collective, _), ranks) in
            table.collectives().filter(|((_, level), _)| *level == Level::GlobalCommunicator)
        {
            let handed = |choice| HanRule::of_choice(collective, choice);
            rules.set(collective, ranks.map(|sizes| sizes.map(|choice| choice.map_or(HanRule::Default, handed))));
        }
        rules
    }
}

impl RunningComponent {
    /// Returns true if HAN carries out the calls and a file can make it delegate them individually. Other components
    /// can only be switched off as a whole.
    pub fn can_hand_over(&self, release: Release) -> bool {
        self.without == [Component::HAN] && han::is_ruled(release, self.collective.id())
    }
}

impl Placement {
    /// Returns the collectives and communicator sizes that HAN handles and can delegate call by call.
    pub fn handable(&self, release: Release) -> impl Iterator<Item = (Collective, Ranks)> {
        let handable = self.running.iter().filter(move |running| running.can_hand_over(release));
        handable.map(|running| (running.collective, running.ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn what_is_said_reads_back_from_the_file() {
        let mut sizes = Steps::constant(HanRule::Default);
        sizes.set(64, Some(2048), HanRule::Simple);
        sizes.set(2048, Some(524_289), HanRule::Delegate);
        let mut steps = Steps::constant(Steps::constant(HanRule::Default));
        steps.set(8, Some(9), sizes);
        let mut rules = HanRules::default();
        rules.set(Collective::Bcast, steps);
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let said = |cells: &[(u32, u64)]| -> Vec<String> {
            cells.iter().map(|(ranks, bytes)| rules.rule(cell(*ranks, *bytes)).to_string()).collect()
        };
        assert_eq!(said(&[(8, 63), (8, 64), (8, 2047), (8, 2048)]), ["han", "han @simple", "han @simple", "tuned"]);
        assert_eq!(said(&[(8, 524_288), (8, 524_289), (7, 4096), (9, 4096)]), ["tuned", "han", "han", "han"]);
        let text = han::write(&rules.to_han(), &[]).expect("a file");
        assert!(text.contains("64 han @simple"), "{text}");
        let behaviour = collrules_rules::Behaviour::latest(Release::V5_0);
        let Ok(read) = han::load(text.as_bytes(), &behaviour) else { panic!("{text}") };
        assert_eq!(HanRules::of_han(&read.to_table()), rules);
        let stored = serde_json::to_string(&rules).expect("plain data");
        assert_eq!(serde_json::from_str::<HanRules>(&stored).expect("the same"), rules);
    }

    /// Lookup bytes of allgather on 4 ranks are 4 times those of a message: a rule from 5 on begins with messages of 2 B.
    #[test]
    fn rules_of_both_files_change_at_sizes_of_messages() {
        let mut tuned = Steps::constant(Choice::BUILTIN);
        tuned.set(5, Some(1024), Choice::plain(3));
        let mut own = Steps::constant(HanRule::Default);
        own.set(2, Some(256), HanRule::Delegate);
        own.set(256, Some(512), HanRule::Simple);
        let mut steps = Steps::constant(Steps::constant(HanRule::Default));
        steps.set(4, Some(5), own);
        let mut rules = HanRules::default();
        rules.set(Collective::Allgather, steps);
        let joined = |ranks| rules.join(&tuned, (Collective::Allgather, Ranks(ranks)), Release::V5_0);
        let mut expected = Steps::constant(CallRule::default());
        expected.set(8, Some(1024), (Choice::plain(3), HanRule::Delegate));
        expected.set(1024, Some(2048), (Choice::BUILTIN, HanRule::Simple));
        assert_eq!(joined(4), expected);
        assert_eq!(joined(8), tuned.map(|choice| (*choice, HanRule::Default)), "HAN's file has nothing for 8 ranks");
    }

    // HAN's usual algorithm, requested by name, counts as no rule; calls that HAN passes on count as delegated.
    #[test]
    fn files_of_others_are_understood() {
        let said = |rule: &str| {
            let text = format!("1\nallreduce\n1\n2\n1\n1 1\n0 {rule}\n");
            let behaviour = collrules_rules::Behaviour::latest(Release::V5_0);
            let Ok(read) = han::load(text.as_bytes(), &behaviour) else { panic!("{text}") };
            let cell = Cell { collective: Collective::Allreduce, ranks: Ranks(8), bytes: Bytes(8) };
            HanRules::of_han(&read.to_table()).rule(cell)
        };
        assert_eq!(["han", "han @intra"].map(said), [HanRule::Default; 2]);
        assert_eq!(said("han @simple"), HanRule::Simple);
        assert_eq!(["han @reproducible", "basic", "tuned"].map(said), [HanRule::Delegate; 3]);
    }
}
