//! Fits a model to probes.

use collrules_record::Bytes;
use collrules_record::criteria::Criteria;

use crate::lmo;
use crate::model::{FORMAT, Model};
use crate::place::Where;
use crate::probe::Probes;
use crate::slow;
use crate::unknown::Unknown;
use crate::way::{self, Limit};

/// Reason why no model can be fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Nothing was timed.
    #[error("it has no timings of probes")]
    Empty,
    /// No pairs.
    #[error("it has no round trips (pingpong), which all parameters need")]
    NoPairs,
}

/// Fits everything that the probes allow, and lists what they do not. Whoever knows the origin of the probes adds it.
pub fn fit(probes: &Probes, limits: &[Limit], terms: Criteria) -> Result<Model, Unfit> {
    let launches = probes.launches().count();
    if launches == 0 {
        return Err(Unfit::Empty);
    }
    let mut unknown = Vec::new();
    if launches == 1 {
        unknown.push(Unknown::Intervals);
    }
    let places = [Where::Between, Where::Inside];
    let ways: Vec<_> =
        places.into_iter().filter_map(|place| way::fit(probes, place, limits, terms.level, &mut unknown)).collect();
    if ways.is_empty() {
        return Err(Unfit::NoPairs);
    }
    let nodes = lmo::fit(probes, terms.level, &mut unknown);
    let slow = slow::find(probes, terms, &mut unknown);
    Ok(Model {
        format: FORMAT,
        source: String::new(),
        simulated: false,
        library: None,
        release: None,
        level: terms.level,
        launches,
        ranks: probes.ranks().into_iter().map(|rank| (rank, probes.hosts.get(&rank).cloned())).collect(),
        eager_reported: limits.iter().filter(|limit| limit.reported).map(|limit| limit.place).collect(),
        eager: limits.iter().map(|limit| (limit.place, Bytes(limit.bytes))).collect(),
        ways,
        nodes,
        slow,
        unknown,
        planted: Vec::new(),
        algorithms: Vec::new(),
        concurrent: None,
        quality: Vec::new(),
        many_to_one: Vec::new(),
    })
}
