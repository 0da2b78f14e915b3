//! HAN on the simulated cluster: the calls that it gets, their costs, and the effects of settings and of its rules
//! file.
//!
//! As in reality, it handles calls from 5.0 on if a communicator spans several hosts and one of them has several ranks.
//! Each call is one call between hosts and one within: `simple` makes them one after the other, `intra` in segments
//! that overlap, at some cost for each call.

use std::collections::BTreeMap;

use collrules_record::competitor::Competitor;
use collrules_record::options::Scenario;
use collrules_record::{
    Arrangement, Bytes, Cell, Component, Even, HanAlgorithm, HanRule, HanRules, Layout, Nodes, Ranks,
};
use collrules_rules::deploy::{HAN_FILE, USE_HAN};
use collrules_rules::{Behaviour, Collective, Distribution, Release, Version, han};

use super::formulas::LATENCY;
use crate::error::RunnerError;

/// Slots of each host if HAN is the default.
const SLOTS: u32 = 2;

/// HAN's segments.
const SEGMENT: u32 = 64 << 10;

/// Time of a call within a host over that of one between hosts.
const WITHIN: f64 = 0.25;

/// The hosts, and whether HAN is there.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    layout: Layout,
    has_han: bool,
}

impl Hosts {
    /// The hosts of a cluster with this many slots, `each` on a host; several hosts in any case if HAN is the default.
    pub(super) fn new(scenario: Scenario, release: Release, slots: u32, each: u32) -> Self {
        let several = scenario == Scenario::Han;
        let each = if several && each < 2 { SLOTS } else { each.max(1) };
        let names = (0..slots).map(|slot| format!("simulated{}", slot / each)).collect();
        Self { names, layout: Layout::default(), has_han: several && release >= Release::V5_0 }
    }

    /// Hosts with these names, slot by slot, without HAN.
    pub(super) fn from_names(names: Vec<String>) -> Self {
        Self { names, layout: Layout::default(), has_han: false }
    }

    /// The host of each slot.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn lay_out(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The components of the cluster, with their priorities.
    pub(super) fn components(&self) -> BTreeMap<Component, i32> {
        if self.has_han { [(Component::HAN, 35), (Component::TUNED, 30)].into() } else { BTreeMap::new() }
    }

    /// The nodes of the communicators of a size, if all have equally many ranks.
    pub(super) fn even(&self, ranks: Ranks) -> Option<Even> {
        self.layout.even(&self.names, ranks).ok()
    }

    /// Returns the placement of a communicator's ranks.
    pub(super) fn nodes(&self, ranks: Ranks) -> Nodes {
        self.layout.nodes(&self.names, ranks)
    }

    /// Returns the distribution of a communicator's ranks as rules files describe it.
    pub(super) fn distribution(&self, ranks: Ranks) -> Distribution {
        self.nodes(ranks).arrangement().map_or(Distribution::Any, Arrangement::distribution)
    }

    /// The number of hosts of a cell's calls, and the most ranks on one, if HAN gets the calls.
    fn of_han(&self, cell: Cell) -> Option<(u32, u32)> {
        let nodes = self.nodes(cell.ranks);
        let Nodes(counts) = &nodes;
        let gets = self.has_han && nodes.are_several() && nodes.share() && !han::inner(cell.collective).is_empty();
        gets.then(|| (counts.len() as u32, counts.iter().copied().max().unwrap_or(1)))
    }

    /// Returns true if HAN gets a cell's calls under these settings, and does not delegate them.
    pub(super) fn stay_with_han(&self, cell: Cell, settings: &HanPins) -> bool {
        self.of_han(cell).is_some() && settings.says(cell) != HanRule::Delegate
    }

    /// The time of a cell's calls by HAN, if it gets them. `inner` is the time of the calls that it makes.
    pub(super) fn seconds(
        &self,
        cell: Cell,
        algorithm: Option<HanAlgorithm>,
        inner: &dyn Fn(Cell) -> f64,
    ) -> Option<f64> {
        let (hosts, ranks) = self.of_han(cell)?;
        let segment = u64::from(SEGMENT);
        let calls = |bytes: u64| {
            let part = |ranks: u32| inner(Cell { ranks: Ranks(ranks), bytes: Bytes(bytes), ..cell });
            [part(hosts), if ranks > 1 { WITHIN * part(ranks) } else { 0.0 }]
        };
        let usual = if cell.collective == Collective::Gather { HanAlgorithm::Simple } else { HanAlgorithm::Intra };
        Some(match algorithm.unwrap_or(usual) {
            HanAlgorithm::Simple => calls(cell.bytes.0).iter().sum(),
            HanAlgorithm::Intra => {
                let segments = cell.bytes.0.div_ceil(segment).max(1);
                let [between, within] = calls(cell.bytes.0.min(segment));
                2.0 * LATENCY + between + within + (segments - 1) as f64 * between.max(within)
            }
        })
    }
}

/// MCA settings of HAN.
#[derive(Clone, Debug, Default)]
pub(super) struct HanPins {
    pins: BTreeMap<String, String>,
    han: HanRules,
}

impl HanPins {
    /// Reads them, and the file that they switch on; a file that HAN rejects has no effect.
    pub(super) fn read(pins: &BTreeMap<String, String>, version: Version) -> Result<Self, RunnerError> {
        let is_on = pins.get(USE_HAN).is_some_and(|value| value == "1");
        let han = match pins.get(HAN_FILE).filter(|_| is_on) {
            Some(file) => {
                let read = |cause| RunnerError::Rules { path: file.into(), cause };
                let behaviour = Behaviour::from_version(version).map_err(RunnerError::UnknownRelease)?;
                let load = han::load(&std::fs::read(file).map_err(read)?, &behaviour);
                load.map(|rules| HanRules::of_han(&rules.to_table())).unwrap_or_default()
            }
            None => HanRules::default(),
        };
        Ok(Self { pins: pins.clone(), han })
    }

    fn says(&self, cell: Cell) -> HanRule {
        let out = self.pins.get("coll_han_priority").is_some_and(|value| value == "0");
        let is_freed = Competitor::from_component(Component::HAN).leaves(cell.collective, &self.pins);
        if out || is_freed { HanRule::Delegate } else { self.han.rule(cell) }
    }

    /// The algorithm that its file asks HAN for in a cell, if it does.
    pub(super) fn algorithm(&self, cell: Cell) -> Option<HanAlgorithm> {
        self.says(cell).algorithm()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(ranks: u32, bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    #[test]
    fn it_runs_where_hosts_are_several_and_shared() {
        let version = "5.0.11".parse().expect("a version");
        let mut hosts = Hosts::new(Scenario::Han, Release::V5_0, 8, 1);
        let free = HanPins::default();
        let stays = |hosts: &Hosts, ranks, settings: &HanPins| hosts.stay_with_han(cell(ranks, 8), settings);
        assert_eq!((stays(&hosts, 2, &free), stays(&hosts, 4, &free)), (false, true));
        let of = |pins: &[(&str, &str)]| {
            let pins = pins.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            HanPins::read(&pins, version).expect("reads")
        };
        for pins in [("coll_han_priority", "0"), ("coll_han_bcast_dynamic_global_communicator_module", "3")] {
            assert!(!stays(&hosts, 8, &of(&[pins])), "{pins:?}");
        }
        assert!(stays(&hosts, 8, &of(&[("coll_han_reduce_dynamic_global_communicator_module", "3")])));
        hosts.lay_out(Layout::OnePerNode);
        assert!(!stays(&hosts, 4, &free), "one rank on each host");
        let has_lower_priority = Hosts::new(Scenario::Han, Release::V4_1, 8, 1);
        assert!(!stays(&has_lower_priority, 8, &free));
        assert!(!stays(&Hosts::new(Scenario::Stale, Release::V5_0, 8, 1), 8, &free));
    }

    #[test]
    fn its_algorithms_are_good_for_different_sizes() {
        let hosts = Hosts::new(Scenario::Han, Release::V5_0, 8, 1);
        let inner = |cell: Cell| LATENCY + 1e-9 * cell.bytes.0 as f64;
        let time = |algorithm, bytes| hosts.seconds(cell(8, bytes), algorithm, &inner).expect("it runs");
        let simple = Some(HanAlgorithm::Simple);
        assert!(time(simple, 8) < time(None, 8), "segments cost");
        assert!(time(simple, 4 << 20) > time(None, 4 << 20), "what overlaps gains");
        assert_eq!(hosts.seconds(cell(2, 8), None, &inner), None, "one host");
    }
}
