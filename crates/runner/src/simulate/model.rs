//! What the simulated calls cost.
//!
//! Hockney's model: a message of m bytes takes `a + b m`. The formulas of the algorithms follow Pješivac-Grbović et al.,
//! *Performance analysis of MPI collective operations* (Cluster Computing 10, 2007), and Chan et al., *Collective
//! communication: theory, practice, and experience* (2007); P ranks, L = ceil(log2 P), segments of m_s bytes,
//! n_s = ceil(m / m_s).

use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Collective};

/// Which cluster is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The builtin always uses the binomial tree for bcast, the linear algorithm for scatter and barrier: it can be
    /// beaten where other algorithms suit better.
    Stale,
    /// The builtin is the best algorithm in every cell.
    Perfect,
    /// All candidates of a cell take the same time: whatever differs is noise.
    Noise,
}

/// A cost model.
#[derive(Clone, Debug)]
pub struct Model {
    scenario: Scenario,
}

impl Model {
    /// Start-up time of a message in seconds (`a`).
    pub const LATENCY: f64 = 10e-6;
    /// Transfer time of a byte in seconds (`b`): 1 GB/s.
    pub const BYTE_TIME: f64 = 1e-9;
    /// Standard deviation of the logarithm of a time that all candidates of a round share.
    pub const COMMON_NOISE: f64 = 0.05;
    /// Standard deviation of the logarithm of a time that is each call's own.
    pub const OWN_NOISE: f64 = 0.02;

    /// The model of a scenario.
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario }
    }

    /// Whether there are formulas for a collective.
    pub fn knows(collective: Collective) -> bool {
        matches!(collective, Collective::Bcast | Collective::Scatter | Collective::Barrier)
    }

    /// The time without noise, in seconds.
    pub fn seconds(&self, cell: Cell, candidate: Candidate) -> f64 {
        let stale = match cell.collective {
            Collective::Bcast => Choice::plain(6),
            _ => Choice::plain(1),
        };
        match (self.scenario, candidate) {
            (Scenario::Noise, _) => algorithm_seconds(cell, stale),
            (Scenario::Stale, Candidate::Builtin) => algorithm_seconds(cell, stale),
            (Scenario::Perfect, Candidate::Builtin) => best_seconds(cell),
            (_, Candidate::Tuned(choice)) => algorithm_seconds(cell, choice),
        }
    }
}

/// The time of the best choice that a default grid contains.
fn best_seconds(cell: Cell) -> f64 {
    let segments = [0, 8 << 10, 64 << 10];
    let choices = (1..=9).flat_map(|id| {
        segments.into_iter().flat_map(move |segsize| {
            [0, 2, 4].map(|faninout| Choice::plain(id).with_segsize(segsize).with_faninout(faninout))
        })
    });
    choices.map(|choice| algorithm_seconds(cell, choice)).fold(f64::INFINITY, f64::min)
}

/// The time of an algorithm; infinite where the collective has no such algorithm.
fn algorithm_seconds(cell: Cell, choice: Choice) -> f64 {
    let (a, b) = (Model::LATENCY, Model::BYTE_TIME);
    let p = f64::from(cell.ranks.0);
    let m = cell.bytes.0 as f64;
    let log2 = f64::from(u32::BITS - (cell.ranks.0.max(1) - 1).leading_zeros());
    // Depth of a binary tree: ceil(log2(P + 1)) - 1 levels of edges.
    let depth = f64::from(u32::BITS - cell.ranks.0.leading_zeros()) - 1.0;
    let log4 = (log2 / 2.0).ceil();
    let segment = if choice.segsize == 0 || choice.segsize as f64 >= m { m } else { choice.segsize as f64 };
    let segments = if segment > 0.0 { (m / segment).ceil() } else { 1.0 };
    let piece = a + b * segment;
    match (cell.collective, choice.algorithm) {
        (Collective::Bcast, 1) => (p - 1.0) * (a + b * m),
        (Collective::Bcast, 2) => {
            let chains = f64::from(choice.faninout.clamp(1, 32)).min(p - 1.0);
            (segments * chains + ((p - 1.0) / chains).ceil() - 1.0) * piece
        }
        (Collective::Bcast, 3) => (p + segments - 2.0) * piece,
        (Collective::Bcast, 4) => {
            let half = (segments / 2.0).ceil();
            let part = if segments > 1.0 { piece } else { a + b * m / 2.0 };
            (2.0 * half + 2.0 * (depth - 1.0).max(0.0)) * part + a + b * m / 2.0
        }
        (Collective::Bcast, 5) => (2.0 * segments + 2.0 * (depth - 1.0).max(0.0)) * piece,
        (Collective::Bcast, 6) => segments * log2 * piece,
        (Collective::Bcast, 7) => segments * 3.0 * log4 * piece,
        (Collective::Bcast, 8) => 2.0 * log2 * a + 2.0 * (p - 1.0) / p * b * m,
        (Collective::Bcast, 9) => (log2 + p - 1.0) * a + 2.0 * (p - 1.0) / p * b * m,
        (Collective::Scatter, 1) => (p - 1.0) * (a + b * m),
        (Collective::Scatter, 2) => log2 * a + (p - 1.0) * b * m,
        (Collective::Scatter, 3) => a + (p - 1.0) * (a / 2.0 + b * m),
        (Collective::Barrier, 1) => 2.0 * (p - 1.0) * a,
        (Collective::Barrier, 2) => 2.0 * p * a,
        (Collective::Barrier, 3) => (log2 + if cell.ranks.0.is_power_of_two() { 0.0 } else { 2.0 }) * a,
        (Collective::Barrier, 4) => log2 * a,
        (Collective::Barrier, 5) => a,
        (Collective::Barrier, 6) => 2.0 * log2 * a,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};

    use super::*;

    fn bcast(bytes: u64, choice: Choice) -> f64 {
        algorithm_seconds(Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) }, choice)
    }

    /// With 8 ranks binomial takes 3a + 3bm and scatter_allgather 6a + 1.75bm: equal at 1.25bm = 3a, m = 24000.
    #[test]
    fn the_paper_crossover_is_in_the_model() {
        let difference = |bytes| bcast(bytes, Choice::plain(6)) - bcast(bytes, Choice::plain(8));
        assert!(difference(24_000).abs() < 1e-12);
        assert!(difference(23_000) < 0.0 && difference(25_000) > 0.0);
    }

    /// An unsegmented pipeline of 8 ranks takes 7(a + bm); with 8 KiB segments of 64 KiB it takes 14(a + b 8192).
    #[test]
    fn segments_overlap_in_a_pipeline() {
        assert!((bcast(65536, Choice::plain(3)) - 7.0 * (1e-5 + 65536e-9)).abs() < 1e-12);
        assert!((bcast(65536, Choice::plain(3).with_segsize(8192)) - 14.0 * (1e-5 + 8192e-9)).abs() < 1e-12);
    }
}
