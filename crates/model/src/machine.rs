//! A model as a machine on which messages are played.

use collrules_program::{Platform, Unplayable};
use collrules_record::Estimate;
use collrules_record::estimate::median;

use crate::model::Model;

use crate::place::Where;

/// End of the parameters' intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalEnd {
    /// The quick end of all.
    Quick,
    /// The values themselves.
    Middle,
    /// The slow end of all.
    Slow,
}

/// Rate of an unlimited resource, in bytes per second.
const FREE: f64 = 1e12;

/// A pair is slow by itself if its rate is below this share of what its links carry.
const OWN: f64 = 0.8;

/// Reason why a model cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsaid {
    /// Too few ranks.
    #[error("the model knows {known} ranks, and {asked} are asked for; measure one with as many")]
    Ranks {
        /// Number of ranks that the model knows.
        known: usize,
        /// Number of ranks that were requested.
        asked: usize,
    },
    /// Parameters of pairs are missing.
    #[error(
        "the model has no parameters for pairs {0}, which are needed for this number of ranks; measure a model with such pairs"
    )]
    Pairs(Where),
    /// A call without programs.
    #[error(transparent)]
    Call(#[from] Unplayable),
    /// A call that does not end on the machine that the model describes.
    #[error("on the machine that the model describes, such a call never ends: one of its rates is 0")]
    Endless,
}

impl IntervalEnd {
    /// A time.
    fn time(self, estimate: &Estimate) -> f64 {
        self.choose(estimate, estimate.low, estimate.high)
    }

    /// A rate: high at the quick end.
    fn rate(self, estimate: &Estimate) -> f64 {
        self.choose(estimate, estimate.high, estimate.low)
    }

    fn choose(self, estimate: &Estimate, quick: Option<f64>, slow: Option<f64>) -> f64 {
        let end = match self {
            Self::Quick => quick,
            Self::Middle => None,
            Self::Slow => slow,
        };
        end.unwrap_or(estimate.point).max(0.0)
    }
}

/// The first ranks of a model's machine.
pub fn platform(model: &Model, ranks: usize, side: IntervalEnd) -> Result<Platform, Unsaid> {
    let known = model.ranks.len();
    if ranks > known {
        return Err(Unsaid::Ranks { known, asked: ranks });
    }
    let names: Vec<u32> = model.ranks.keys().copied().take(ranks).collect();
    let host = hosts(model, &names);
    let hosts = host.iter().max().map_or(0, |last| last + 1);
    let mut made = Platform { host, ..Platform::shared_links(ranks, f64::INFINITY) };
    made.link = vec![f64::INFINITY; hosts];
    let between = model.way(Where::Between);
    let burst = between.and_then(|way| way.burst.as_ref()).map_or(0.0, |burst| side.rate(burst));
    made.burst = vec![burst; hosts];
    made.eager = model.eager.get(&Where::Between).map(|limit| limit.0);
    for i in 0..ranks {
        for j in (0..ranks).filter(|j| *j != i) {
            let place = if made.host[i] == made.host[j] { Where::Inside } else { Where::Between };
            let usual = model.way(place).and_then(|way| way.regimes.last().zip(way.regimes.first()));
            let (last, first) = usual.ok_or(Unsaid::Pairs(place))?;
            // What is known of all pairs holds where nothing is known of this one.
            made.latency[i][j] = side.time(&first.alpha);
            // Through a link that lets bursts pass, short messages are as quick as they are; the link has the rate of long ones.
            let usual = if burst > 0.0 && place == Where::Between { first } else { last };
            made.cap[i][j] = 1.0 / side.time(&usual.beta).max(1.0 / FREE);
        }
    }
    let Some(nodes) = &model.nodes else {
        // Without anything about nodes, a host's link is taken for as quick as a pair's.
        if let Some(last) = model.way(Where::Between).and_then(|way| way.regimes.last()) {
            made.link = vec![1.0 / side.time(&last.beta).max(f64::MIN_POSITIVE); hosts];
        }
        return Ok(made);
    };
    let mut fixed: Vec<f64> = nodes.nodes.iter().filter_map(|node| Some(side.time(node.fixed.as_ref()?))).collect();
    let usual = median(&mut fixed).unwrap_or(0.0);
    let others = |i: usize| (0..ranks).filter(move |j| *j != i);
    let shortest = |i: usize| others(i).map(|j| made.latency[i][j]).fold(f64::INFINITY, f64::min);
    let whole: Vec<f64> = (0..ranks).map(shortest).collect();
    for (place, rank) in names.iter().enumerate() {
        let node = nodes.nodes.iter().find(|node| node.rank == *rank);
        let fixed = node.and_then(|node| node.fixed.as_ref()).map_or(usual, |it| side.time(it));
        // Two nodes cannot take longer for an empty message than it takes in all, whatever their probes went through.
        made.fixed[place] = fixed.min(whole[place] / 2.0);
        made.per_byte[place] = node.and_then(|node| node.per_byte.as_ref()).map_or(0.0, |it| side.time(it));
        if let Some(link) = node.and_then(|node| node.link.as_ref()) {
            // Of the ranks of a host, the quickest shows what its link carries.
            let host = made.host[place];
            let before = Some(made.link[host]).filter(|rate| rate.is_finite()).unwrap_or(0.0);
            made.link[host] = before.max(side.rate(link));
        }
    }
    for pair in &nodes.pairs {
        let place = |rank: u32| names.iter().position(|name| *name == rank);
        let (Some(i), Some(j)) = (place(pair.ranks.0), place(pair.ranks.1)) else { continue };
        for (i, j) in [(i, j), (j, i)] {
            made.latency[i][j] = match &pair.latency {
                Some(latency) => side.time(latency),
                // What is known of the pair is the whole way, of which the nodes have their part.
                None => (made.latency[i][j] - made.fixed[i] - made.fixed[j]).max(0.0),
            };
            let link = made.link[made.host[i]].min(made.link[made.host[j]]);
            made.cap[i][j] = match &pair.rate {
                // The cost of its links, in addition to the bytes that pass them for free.
                Some(rate) if burst > 0.0 && side.rate(rate) > OWN * link => made.cap[i][j],
                Some(rate) => side.rate(rate),
                None if nodes.shared_links || nodes.bytes.0 == 0 => made.cap[i][j],
                // What the nodes take is all there is to see.
                None => f64::INFINITY,
            };
        }
    }
    Ok(made)
}

/// The host of each rank, counted from 0; ranks with unknown hosts get one each.
fn hosts(model: &Model, ranks: &[u32]) -> Vec<usize> {
    let mut names: Vec<Option<&str>> = Vec::new();
    ranks
        .iter()
        .map(|rank| {
            let name = model.ranks.get(rank).and_then(Option::as_deref);
            let known = name.and_then(|name| names.iter().position(|other| *other == Some(name)));
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        })
        .collect()
}
