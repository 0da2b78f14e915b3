//! HAN on the simulated cluster: which calls it gets, what they cost, and what settings and its rules file make of them.
//!
//! As on a real one, it serves from 5.0 on where a communicator spans several hosts of which one has several ranks. Its
//! calls are one call between the hosts and one within: `simple` makes them one after the other, `intra` in segments
//! that overlap, at some cost for each call.

use std::collections::BTreeMap;

use collrules_record::options::Scenario;
use collrules_record::rival::Rival;
use collrules_record::{
    Arrangement, Bytes, Candidate, Cell, Component, Even, HanAlgorithm, HanChoice, HanSettings, Handed, Handover,
    Layout, Nodes, Ranks,
};
use collrules_rules::deploy::{HAN_FILE, USE_HAN};
use collrules_rules::{Behaviour, Collective, Distribution, Release, Version, han};

use super::formulas::LATENCY;
use crate::error::RunnerError;

/// Slots of each host where HAN serves.
const SLOTS: u32 = 2;

/// HAN's segments where no parameter says otherwise.
const SEGMENT: u32 = 64 << 10;

/// What a call within a host takes of one between hosts.
const WITHIN: f64 = 0.25;

/// What coll/adapt takes between hosts of the time of coll/libnbc.
const ADAPT: f64 = 0.8;

/// The hosts, and whether HAN is there.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    layout: Layout,
    serves: bool,
}

impl Hosts {
    /// The hosts of a cluster with so many slots, `each` on a host; where HAN serves, several in any case.
    pub(super) fn new(scenario: Scenario, release: Release, slots: u32, each: u32) -> Self {
        let several = scenario == Scenario::Han;
        let each = if several && each < 2 { SLOTS } else { each.max(1) };
        let names = (0..slots).map(|slot| format!("simulated{}", slot / each)).collect();
        Self { names, layout: Layout::default(), serves: several && release >= Release::V5_0 }
    }

    /// Hosts with these names, slot by slot, where HAN is not there.
    pub(super) fn of(names: Vec<String>) -> Self {
        Self { names, layout: Layout::default(), serves: false }
    }

    /// The host of each slot.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn lay_out(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The components that there are, with their priorities.
    pub(super) fn components(&self) -> BTreeMap<Component, i32> {
        if self.serves { [(Component::HAN, 35), (Component::TUNED, 30)].into() } else { BTreeMap::new() }
    }

    /// The nodes of the communicators of a size, if all have as many ranks.
    pub(super) fn even(&self, ranks: Ranks) -> Option<Even> {
        self.layout.even(&self.names, ranks).ok()
    }

    /// Where a communicator's ranks are.
    pub(super) fn nodes(&self, ranks: Ranks) -> Nodes {
        self.layout.nodes(&self.names, ranks)
    }

    /// The same as rules files tell it.
    pub(super) fn distribution(&self, ranks: Ranks) -> Distribution {
        self.nodes(ranks).arrangement().map_or(Distribution::Any, Arrangement::distribution)
    }

    /// The hosts that a cell's calls span, and the ranks of the fullest, if HAN gets them.
    fn of_han(&self, cell: Cell) -> Option<(u32, u32)> {
        let nodes = self.nodes(cell.ranks);
        let Nodes(counts) = &nodes;
        let gets = self.serves && nodes.are_several() && nodes.share() && !han::inner(cell.collective).is_empty();
        gets.then(|| (counts.len() as u32, counts.iter().copied().max().unwrap_or(1)))
    }

    /// Who serves a cell under these settings: none where HAN does not get it, and `Over` where it hands it over.
    pub(super) fn served(&self, cell: Cell, settings: &Settings) -> Option<Handed> {
        self.of_han(cell)?;
        Some(settings.says(cell))
    }

    /// The time of a cell's calls by HAN, if it gets them. `inner` is the time of the calls that it makes.
    pub(super) fn seconds(&self, cell: Cell, way: Option<HanChoice>, inner: &dyn Fn(Cell) -> f64) -> Option<f64> {
        let (hosts, ranks) = self.of_han(cell)?;
        let HanSettings { segsize, adapt } = match way {
            Some(HanChoice::Settings(settings)) => settings,
            _ => HanSettings::default(),
        };
        let segment = u64::from(if segsize > 0 { segsize } else { SEGMENT });
        let calls = |bytes: u64| {
            let part = |ranks: u32| inner(Cell { ranks: Ranks(ranks), bytes: Bytes(bytes), ..cell });
            let between = if adapt { ADAPT } else { 1.0 };
            [between * part(hosts), if ranks > 1 { WITHIN * part(ranks) } else { 0.0 }]
        };
        let usual = if cell.collective == Collective::Gather { HanAlgorithm::Simple } else { HanAlgorithm::Intra };
        let algorithm = match way {
            Some(HanChoice::Algorithm(algorithm)) => algorithm,
            _ => usual,
        };
        Some(match algorithm {
            HanAlgorithm::Simple => calls(cell.bytes.0).iter().sum(),
            HanAlgorithm::Intra => {
                let segments = cell.bytes.0.div_ceil(segment).max(1);
                let [between, within] = calls(cell.bytes.0.min(segment));
                2.0 * LATENCY + between + within + (segments - 1) as f64 * between.max(within)
            }
        })
    }
}

/// What MCA settings say to HAN.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pins: BTreeMap<String, String>,
    handover: Handover,
}

impl Settings {
    /// Reads them, and the file that they switch on; one that HAN rejects says nothing.
    pub(super) fn read(pins: &BTreeMap<String, String>, version: Version) -> Result<Self, RunnerError> {
        let is_on = pins.get(USE_HAN).is_some_and(|value| value == "1");
        let handover = match pins.get(HAN_FILE).filter(|_| is_on) {
            Some(file) => {
                let read = |cause| RunnerError::Rules { path: file.into(), cause };
                match han::load(&std::fs::read(file).map_err(read)?, &Behaviour::of(version)?) {
                    han::Load::Accepted(rules) => Handover::of_han(&rules.to_table()),
                    _ => Handover::default(),
                }
            }
            None => Handover::default(),
        };
        Ok(Self { pins: pins.clone(), handover })
    }

    fn says(&self, cell: Cell) -> Handed {
        let out = self.pins.get("coll_han_priority").is_some_and(|value| value == "0");
        let is_freed = Rival::of(Component::HAN).leaves(cell.collective, &self.pins);
        if out || is_freed { Handed::Over } else { self.handover.says(cell) }
    }

    /// The way in which HAN carries out a cell's calls that it keeps.
    pub(super) fn way(&self, cell: Cell) -> Option<HanChoice> {
        match self.says(cell).candidate() {
            Candidate::Han(choice) => Some(choice),
            _ => HanSettings::of(&self.pins, cell.collective).map(HanChoice::Settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(ranks: u32, bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    #[test]
    fn it_serves_where_hosts_are_several_and_shared() {
        let version = "5.0.11".parse().expect("a version");
        let mut hosts = Hosts::new(Scenario::Han, Release::V5_0, 8, 1);
        let free = Settings::default();
        let said = |hosts: &Hosts, ranks, settings: &Settings| hosts.served(cell(ranks, 8), settings);
        assert_eq!((said(&hosts, 2, &free), said(&hosts, 4, &free)), (None, Some(Handed::Kept)));
        let of = |pins: &[(&str, &str)]| {
            let pins = pins.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Settings::read(&pins, version).expect("reads")
        };
        for pins in [("coll_han_priority", "0"), ("coll_han_bcast_dynamic_global_communicator_module", "3")] {
            assert_eq!(said(&hosts, 8, &of(&[pins])), Some(Handed::Over), "{pins:?}");
        }
        assert_eq!(
            said(&hosts, 8, &of(&[("coll_han_reduce_dynamic_global_communicator_module", "3")])),
            Some(Handed::Kept)
        );
        let segments = HanSettings { segsize: 8192, adapt: false };
        assert_eq!(of(&[("coll_han_bcast_segsize", "8192")]).way(cell(8, 8)), Some(HanChoice::Settings(segments)));
        hosts.lay_out(Layout::OnePerNode);
        assert_eq!(said(&hosts, 4, &free), None, "one rank on each host");
        assert_eq!(
            Hosts::new(Scenario::Han, Release::V4_1, 8, 1).served(cell(8, 8), &free),
            None,
            "it stands back there"
        );
        assert_eq!(Hosts::new(Scenario::Stale, Release::V5_0, 8, 1).served(cell(8, 8), &free), None);
    }

    #[test]
    fn its_algorithms_are_good_for_different_sizes() {
        let hosts = Hosts::new(Scenario::Han, Release::V5_0, 8, 1);
        let inner = |cell: Cell| LATENCY + 1e-9 * cell.bytes.0 as f64;
        let time = |way, bytes| hosts.seconds(cell(8, bytes), way, &inner).expect("it serves");
        let simple = Some(HanChoice::Algorithm(HanAlgorithm::Simple));
        assert!(time(simple, 8) < time(None, 8), "segments cost");
        assert!(time(simple, 4 << 20) > time(None, 4 << 20), "what overlaps gains");
        let adapt = Some(HanChoice::Settings(HanSettings { segsize: 0, adapt: true }));
        assert!(time(adapt, 8) < time(None, 8));
        assert_eq!(hosts.seconds(cell(2, 8), None, &inner), None, "one host");
    }
}
