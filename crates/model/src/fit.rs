//! Probes to a model.

use collrules_record::Bytes;
use collrules_record::model::{FORMAT, Model, Where};
use collrules_rules::Release;

use crate::lmo;
use crate::probe::Probes;
use crate::slow::{self, Terms};
use crate::way::{self, Limit};

/// Where probes come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The run or table, as the user named it.
    pub source: String,
    /// Whether nothing real was timed.
    pub simulated: bool,
    /// What Open MPI calls itself.
    pub library: Option<String>,
    /// Its release.
    pub release: Option<Release>,
}

/// No model, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Nothing was timed.
    #[error("there are no timings of probes in it")]
    Empty,
    /// No pairs.
    #[error("there are no round trips (pingpong) in it, without which nothing can be said")]
    NoPairs,
}

/// Fits everything that the probes tell, and says what they do not.
pub fn fit(probes: &Probes, limits: &[Limit], terms: Terms, origin: Origin) -> Result<Model, Unfit> {
    let launches = probes.launches().count();
    if launches == 0 {
        return Err(Unfit::Empty);
    }
    let mut unknown = Vec::new();
    if launches == 1 {
        unknown.push("How far any of it can be trusted: intervals take two launches at least.".to_owned());
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
        source: origin.source,
        simulated: origin.simulated,
        library: origin.library,
        release: origin.release,
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
    })
}
