//! The optimisation problem from judged cells: the candidates for a cell, and their costs.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use collrules_rules::hazard::interoperate;

use super::solve::{BUILTIN, Offer, Site, TableProblem};
use crate::common::{Convincing, convincing_choices};
use crate::terms::Terms;
use crate::verdict::{JudgedCell, complexity, is_harmless};
use crate::weights::Weights;

/// The problem of one collective.
#[derive(Clone, Debug)]
pub(crate) struct Encoding<'a> {
    pub(crate) collective: Collective,
    /// Candidates by the number of the choice, the builtin first.
    pub(crate) choices: Vec<Candidate>,
    /// The cells of each communicator size.
    pub(crate) blocks: Vec<&'a [JudgedCell]>,
    pub(crate) problem: TableProblem,
    /// True if all message sizes have to share one choice, or choices that interoperate.
    pub(crate) shared: bool,
    weights: Weights<'a>,
}

/// An offer before choices are numbered.
#[derive(Clone, Copy, Debug)]
struct Bid {
    candidate: Candidate,
    log_gain: f64,
    proven: bool,
    /// True if the intervals do not separate it from the best.
    tied: bool,
}

/// A cell with its lookup bytes.
#[derive(Clone, Debug)]
struct CellBids {
    at: u64,
    cell: Cell,
    bids: Vec<Bid>,
}

/// The problems of all collectives; cells are in order of collective, communicator size and message size.
pub(crate) fn encodings<'a>(cells: &'a [JudgedCell], terms: &Terms<'a>) -> Vec<Encoding<'a>> {
    let convincing = convincing_choices(cells, terms);
    let of_collective = cells.chunk_by(|a, b| a.cell.collective == b.cell.collective);
    of_collective.map(|cells| encoding(cells, &convincing, terms)).collect()
}

fn encoding<'a>(cells: &'a [JudgedCell], convincing: &Convincing, terms: &Terms<'a>) -> Encoding<'a> {
    let collective = cells[0].cell.collective;
    let blocks: Vec<&[JudgedCell]> = cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks).collect();
    let shared = terms.policy.assumptions.one_choice(terms.release, cells[0].cell.collective, cells[0].cell.ranks);
    let bids: Vec<Vec<CellBids>> = blocks.iter().map(|block| bids_of_block(block, shared, convincing, terms)).collect();
    let named: BTreeSet<Candidate> = bids.iter().flatten().flat_map(|own| &own.bids).map(|bid| bid.candidate).collect();
    let mut choices: Vec<Candidate> = named.into_iter().filter(|one| *one != Candidate::Builtin).collect();
    choices.sort_unstable_by_key(|candidate| complexity(candidate.choice_in_rules()));
    choices.insert(BUILTIN, Candidate::Builtin);
    let number: BTreeMap<Candidate, usize> =
        choices.iter().enumerate().map(|(number, candidate)| (*candidate, number)).collect();
    let classes = classes(collective, &choices, shared);
    let (weights, bound) = (terms.weights, terms.weights.bound(terms.policy.max_regret));
    let blocks_of_problem = bids.iter().map(|sites| {
        let mut block = sites_of(sites, &number, bound, weights);
        if classes.len() > 1 {
            bound_by_class(&mut block, &classes, bound, weights);
        }
        block
    });
    let problem = TableProblem {
        choices: choices.len(),
        blocks: blocks_of_problem.collect(),
        classes,
        merge: terms.policy.between != collrules_record::policy::Between::Keep,
    };
    Encoding { collective, choices, blocks, problem, shared, weights }
}

/// Choices that may be combined for one communicator size: all, or those that interoperate. If sizes share one choice,
/// they share the component too: otherwise ranks of one call might use different components.
fn classes(collective: Collective, choices: &[Candidate], shared: bool) -> Vec<Vec<usize>> {
    if !shared {
        return vec![(0..choices.len()).collect()];
    }
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for (number, choice) in choices.iter().enumerate() {
        let alike = |class: &&mut Vec<usize>| match (*choice, choices[class[0]]) {
            (Candidate::Tuned(one), Candidate::Tuned(other)) => {
                collective.looks_up_by_rank() && interoperate(collective, one, other)
            }
            _ => false,
        };
        match classes.iter_mut().find(alike) {
            Some(class) => class.push(number),
            None => classes.push(vec![number]),
        }
    }
    classes
}

/// The cells of a block by lookup bytes, each with its bids.
fn bids_of_block(block: &[JudgedCell], shared: bool, convincing: &Convincing, terms: &Terms<'_>) -> Vec<CellBids> {
    let convincing = convincing.get(&(block[0].cell.collective, block[0].cell.ranks)).filter(|_| shared);
    let Cell { collective, ranks, .. } = block[0].cell;
    let own = |cell: &JudgedCell| {
        let (at, bids) = (cell.cell.lookup_bytes(terms.release), bids(cell, convincing, terms));
        CellBids { at, cell: cell.cell, bids }
    };
    // Without a time of the default nothing can be compared, as if the size had not been measured.
    let is_comparable = |cell: &&JudgedCell| cell.point(Candidate::Builtin).is_some() || !cell.disqualified.is_empty();
    let mut sites: Vec<CellBids> = block.iter().filter(is_comparable).map(own).collect();
    if sites.is_empty() {
        sites = block.iter().map(own).collect();
    }
    // A choice for all sizes covers planned ones beyond those that were timed, where nothing is known.
    let (first, last) = (sites[0].at, sites[sites.len() - 1].at);
    let planned = terms.planned.iter().filter(|cell| (cell.collective, cell.ranks) == (collective, ranks));
    for at in planned.map(|cell| cell.lookup_bytes(terms.release)).filter(|at| shared && (*at < first || last < *at)) {
        if let Err(place) = sites.binary_search_by_key(&at, |site| site.at) {
            // Such a site offers one choice, so it costs nothing with any weight.
            let bids = vec![Bid { candidate: Candidate::Builtin, log_gain: 0.0, proven: true, tied: false }];
            sites.insert(place, CellBids { at, cell: block[0].cell, bids });
        }
    }
    sites
}

/// Returns the candidates that may be chosen for a cell: the builtin, the one that replaces it by the verdict, and
/// those that are shown to do no harm.
///
/// If sizes share one choice, those that convince over all of them.
fn bids(cell: &JudgedCell, convincing: Option<&BTreeSet<Candidate>>, terms: &Terms<'_>) -> Vec<Bid> {
    let mut bids = Vec::with_capacity(cell.points.len() + 1);
    let comparable = cell.point(Candidate::Builtin).is_some();
    for point in cell.points.iter().filter(|_| comparable) {
        let candidate = point.finding.candidate;
        let block = (cell.cell.collective, cell.cell.ranks);
        let stalls = point.finding.stalls.is_some() && !terms.criteria.accept_stalls;
        let choosable = terms.can_select(block, candidate) && point.bar.is_none() && !stalls;
        let Some(gain) = point.finding.expected.filter(|_| choosable) else { continue };
        let proven = match convincing {
            Some(convincing) => convincing.contains(&candidate),
            None => point.shortfall.is_none(),
        };
        if proven || (convincing.is_none() && is_harmless(point, terms.policy.max_regret)) {
            bids.push(Bid { candidate, log_gain: gain.ln(), proven, tied: false });
        }
    }
    let best = best_log_gain(&bids);
    for bid in &mut bids {
        let high = cell.point(bid.candidate).and_then(|finding| finding.gain?.high);
        bid.tied = bid.proven && high.is_some_and(|high| high.ln() >= best);
    }
    let unbeaten = bids.iter().all(|bid| !bid.proven);
    bids.push(Bid { candidate: Candidate::Builtin, log_gain: 0.0, proven: unbeaten, tied: false });
    bids
}

/// Logarithm of the gain of the best permitted candidate, including the builtin.
fn best_log_gain(bids: &[Bid]) -> f64 {
    bids.iter().filter(|bid| bid.proven).map(|bid| bid.log_gain).fold(0.0, f64::max)
}

/// Joins cells with equal lookup bytes: a choice must be offered in all of them.
fn sites_of(cells: &[CellBids], number: &BTreeMap<Candidate, usize>, bound: f64, weights: Weights<'_>) -> Vec<Site> {
    let mut sites = Vec::with_capacity(cells.len());
    for alike in cells.chunk_by(|a, b| a.at == b.at) {
        let mut weight = 0.0;
        let mut offers: BTreeMap<usize, (usize, Offer)> = BTreeMap::new();
        for CellBids { cell, bids, .. } in alike {
            let best = best_log_gain(bids);
            let own_weight = weights.under(*cell, best);
            weight += own_weight;
            for bid in bids {
                let Some(choice) = number.get(&bid.candidate) else { continue };
                let fresh = Offer { choice: *choice, cost: 0.0, unproven: 0, within: true };
                let (seen, offer) = offers.entry(*choice).or_insert((0, fresh));
                let cost = weights.cost(*cell, bid.log_gain, best);
                *seen += 1;
                offer.cost += cost;
                offer.unproven += u32::from(!bid.proven);
                offer.within &= bid.tied || cost <= bound * own_weight;
            }
        }
        let everywhere = offers.into_values().filter(|(seen, _)| *seen == alike.len());
        let mut offers: Vec<Offer> = everywhere.map(|(_, offer)| offer).collect();
        if alike.len() > 1 {
            // They must share one choice, and the bound applies to their mean.
            let least = offers.iter().map(|offer| offer.cost).fold(f64::INFINITY, f64::min);
            if weights.are_times() && least.is_finite() {
                weight += least;
            }
            for offer in &mut offers {
                // Only one choice is permitted, and the best one costs nothing.
                offer.cost -= least;
                offer.within = offer.cost <= bound * weight;
            }
        }
        sites.push(Site { at: alike[0].at, weight, cells: alike.len() as u32, offers });
    }
    sites
}

/// Applies the regret bound to a block whose sites all need choices of one class: to the mean over the sites against
/// the best class, and within a class to each site against the best of that class.
fn bound_by_class(block: &mut [Site], classes: &[Vec<usize>], bound: f64, weights: Weights<'_>) {
    let least_of = |site: &Site, class: &[usize]| {
        let costs = site.offers.iter().filter(|offer| class.contains(&offer.choice)).map(|offer| offer.cost);
        costs.fold(f64::INFINITY, f64::min)
    };
    let totals: Vec<f64> = classes.iter().map(|class| block.iter().map(|site| least_of(site, class)).sum()).collect();
    let Some(best) = (0..classes.len()).reduce(|best, class| if totals[class] < totals[best] { class } else { best })
    else {
        return;
    };
    let allowed = totals[best] + bound * block.iter().map(Site::mean_weight).sum::<f64>();
    for site in block {
        let site_bound = site.mean_weight();
        let floors: Vec<f64> = classes.iter().map(|class| least_of(site, class)).collect();
        for offer in &mut site.offers {
            let Some(class) = classes.iter().position(|class| class.contains(&offer.choice)) else { continue };
            offer.within = totals[class] <= allowed && offer.cost <= floors[class] + bound * site_bound;
            // The best permitted class is the reference.
            offer.cost -= floors[best];
        }
        if weights.are_times() && floors[best].is_finite() {
            site.weight += floors[best];
        }
    }
}

impl Encoding<'_> {
    /// Returns the cost of a candidate for each cell of a block, as the logarithm of its time over that of the best
    /// permitted candidate; cells that look up the same bytes share it evenly. None if it is not offered.
    pub(crate) fn log_regret(&self, block: usize, at: u64, candidate: Candidate) -> Option<f64> {
        let site = self.problem.blocks[block].iter().find(|site| site.at == at)?;
        let offer = site.offers.iter().find(|offer| self.choices[offer.choice] == candidate)?;
        Some(self.weights.log_regret(offer.cost, site.weight))
    }
}
