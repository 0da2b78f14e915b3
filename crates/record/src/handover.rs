//! What coll/han's rules file hands over to coll/tuned: one half of a tuning whose other half are coll/tuned's own rules.

use std::collections::BTreeMap;

use collrules_rules::han::{self, Level};
use collrules_rules::steps::Steps;
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::component::Component;
use crate::placement::{Placement, Serving};
use crate::units::Ranks;

/// Whether calls are handed over, by communicator size and by message size as the caller passes it.
pub type HandedSteps = Steps<Steps<bool>>;

/// The calls that HAN hands over to coll/tuned; all others stay with HAN. Canonical: what hands over the same is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handover(BTreeMap<Collective, HandedSteps>);

impl Handover {
    /// Whether nothing is handed over.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces what is handed over of a collective.
    pub fn set(&mut self, collective: Collective, steps: HandedSteps) {
        if steps == Steps::constant(Steps::constant(false)) {
            self.0.remove(&collective);
        } else {
            self.0.insert(collective, steps);
        }
    }

    /// What is handed over of a collective, if anything is.
    pub fn get(&self, collective: Collective) -> Option<&HandedSteps> {
        self.0.get(&collective)
    }

    /// The collectives of which something is handed over.
    pub fn collectives(&self) -> impl Iterator<Item = Collective> {
        self.0.keys().copied()
    }

    /// Whether a cell's calls are handed over, where HAN gets them.
    pub fn hands(&self, cell: Cell) -> bool {
        let bytes = han::lookup_bytes(cell.collective, cell.bytes.0);
        self.get(cell.collective).is_some_and(|steps| *steps.get(cell.ranks.0.into()).get(bytes))
    }

    /// Whether anything is handed over of a collective on so many ranks.
    pub fn touches(&self, collective: Collective, ranks: Ranks) -> bool {
        self.get(collective).is_some_and(|steps| *steps.get(ranks.0.into()) != Steps::constant(false))
    }

    /// The same as rules of HAN for the communicators of programs. Those for its own communicators are left to its
    /// parameters.
    pub fn to_han(&self) -> han::Table {
        let mut table = han::Table::default();
        let choice = |handed: bool| {
            let component = if handed { han::Component::Tuned } else { han::Component::Han };
            Some(han::Choice::of(component))
        };
        for (collective, ranks) in &self.0 {
            let mut rules = Steps::constant(Steps::constant(choice(false)));
            for (first, end, sizes) in ranks.iter() {
                let mut own = Steps::constant(choice(false));
                sizes.iter().for_each(|(first, end, handed)| own.set(first, end, choice(*handed)));
                rules.set(first, end, own);
            }
            table.set(*collective, Level::GlobalCommunicator, rules);
        }
        table
    }

    /// What a HAN file hands over of the calls of programs.
    pub fn of_han(table: &han::Table) -> Self {
        let mut handover = Self::default();
        for (collective, level, ranks) in table.iter().filter(|(_, level, _)| *level == Level::GlobalCommunicator) {
            // With anything but itself HAN passes the call on.
            let handed = |choice: &Option<han::Choice>| {
                choice.is_some_and(|choice| {
                    han::service(collective, level, choice.component) != han::Service::Named(han::Component::Han)
                })
            };
            let mut steps = Steps::constant(Steps::constant(false));
            for (first, end, sizes) in ranks.iter() {
                let mut own = Steps::constant(false);
                sizes.iter().for_each(|(first, end, choice)| own.set(first, end, handed(choice)));
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
    fn what_is_handed_over_reads_back_from_the_file() {
        let mut sizes = Steps::constant(false);
        sizes.set(2048, Some(524_289), true);
        let mut steps = Steps::constant(Steps::constant(false));
        steps.set(8, Some(9), sizes);
        let mut handover = Handover::default();
        handover.set(Collective::Bcast, steps);
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let handed = [(8, 2048), (8, 524_288)].map(|(ranks, bytes)| handover.hands(cell(ranks, bytes)));
        let kept =
            [(8, 2047), (8, 524_289), (7, 4096), (9, 4096)].map(|(ranks, bytes)| handover.hands(cell(ranks, bytes)));
        assert_eq!((handed, kept), ([true; 2], [false; 4]));
        let text = han::write(&handover.to_han(), &[]).expect("a file");
        let behaviour = collrules_rules::Behaviour::latest(Release::V5_0);
        let han::Load::Accepted(read) = han::load(text.as_bytes(), &behaviour) else { panic!("{text}") };
        assert_eq!(Handover::of_han(&read.to_table()), handover);
    }
}
