//! Costs of the algorithms by Hockney's model: a message of m bytes takes `a + b m`, and a reduction `g m`.
//!
//! After Pješivac-Grbović et al., *Performance analysis of MPI collective operations* (Cluster Computing 10, 2007),
//! Chan et al., *Collective communication: theory, practice, and experience* (2007), and Thakur, Rabenseifner, Gropp,
//! *Optimization of collective communication operations in MPICH* (2005). P ranks, L = ceil(log2 P), segments of m_s
//! bytes, n_s = ceil(m / m_s). Other collectives that algorithms call are assumed to be linear.

use collrules_record::Cell;
use collrules_rules::{Choice, Collective};

/// Start-up time of a message in seconds (`a`).
pub(crate) const LATENCY: f64 = 10e-6;
/// Transfer time of a byte in seconds (`b`): 1 GB/s.
pub(crate) const BYTE_TIME: f64 = 1e-9;
/// Time to apply an operation to a byte in seconds (`g`): 4 GB/s.
pub(super) const REDUCTION_TIME: f64 = 0.25e-9;

/// The radix of bcast's k-nomial tree (`coll_tuned_bcast_algorithm_knomial_radix`).
const RADIX: f64 = 4.0;

/// The numbers in the formulas.
#[derive(Clone, Copy)]
struct FormulaTerms {
    /// Start-up time of a message.
    a: f64,
    /// Time per byte.
    b: f64,
    /// Time per byte of a reduction.
    g: f64,
    /// Number of ranks.
    p: f64,
    /// Message bytes.
    m: f64,
    /// ceil(log2 P).
    log2: f64,
    /// Levels of edges of a binary tree.
    depth: f64,
    /// Number of chains.
    chains: f64,
    /// The fan-out as a radix.
    radix: f64,
    /// Bound on requests.
    requests: f64,
    segment: f64,
    segments: f64,
    is_power_of_two: bool,
}

impl FormulaTerms {
    fn new(cell: Cell, choice: Choice) -> Self {
        let (ranks, m) = (cell.ranks.0.max(1), cell.bytes.0 as f64);
        let p = f64::from(ranks);
        let segment = if choice.segsize == 0 || choice.segsize as f64 >= m { m } else { choice.segsize as f64 };
        Self {
            a: LATENCY,
            b: BYTE_TIME,
            g: REDUCTION_TIME,
            p,
            m,
            log2: f64::from(u32::BITS - (ranks - 1).leading_zeros()),
            // ceil(log2(P + 1)) - 1.
            depth: f64::from(u32::BITS - ranks.leading_zeros()) - 1.0,
            chains: f64::from(choice.faninout.clamp(1, 32)).min(p - 1.0),
            radix: f64::from(choice.faninout.max(2)),
            requests: match choice.max_requests {
                0 => p - 1.0,
                bound => f64::from(bound).min(p - 1.0),
            },
            segment,
            segments: if segment > 0.0 { (m / segment).ceil() } else { 1.0 },
            is_power_of_two: ranks.is_power_of_two(),
        }
    }

    /// Time of a message of this many bytes.
    fn send(&self, bytes: f64) -> f64 {
        self.a + self.b * bytes
    }

    /// Time of a message that is reduced on arrival.
    fn combine(&self, bytes: f64) -> f64 {
        self.send(bytes) + self.g * bytes
    }

    /// Number of levels of a k-nomial tree.
    fn levels(&self, radix: f64) -> f64 {
        // Rounding must not add a level to a power of the radix.
        (self.p.ln() / radix.ln() - 1e-9).ceil()
    }

    /// The cost with two more messages, if ranks beyond a power of two are folded in.
    fn folded(&self, cost: f64) -> f64 {
        if self.is_power_of_two { 0.0 } else { cost }
    }
}

/// The time of an algorithm in seconds; infinite if the collective has no such algorithm.
pub(super) fn algorithm_seconds(cell: Cell, choice: Choice) -> f64 {
    let terms = FormulaTerms::new(cell, choice);
    let id = choice.algorithm;
    match cell.collective {
        Collective::Allgather => allgather(&terms, id),
        // The same algorithms, of which allgather has Bruck's twice, as it were.
        Collective::Allgatherv => allgather(&terms, if id > 2 { id + 1 } else { id }),
        Collective::Allreduce => allreduce(&terms, id),
        Collective::Alltoallv if id > 2 => f64::INFINITY,
        Collective::Alltoall | Collective::Alltoallv => alltoall(&terms, id),
        Collective::Barrier => barrier(&terms, id),
        Collective::Bcast => bcast(&terms, id),
        Collective::Gather => gather(&terms, id),
        Collective::Reduce => reduce(&terms, id),
        Collective::ReduceScatter => reduce_scatter(&terms, id, terms.m),
        Collective::ReduceScatterBlock => reduce_scatter_block(&terms, id),
        Collective::Exscan | Collective::Scan => scan(&terms, id),
        Collective::Scatter => scatter(&terms, id),
    }
}

fn bcast(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, p, m, log2, depth, chains, segments, .. } = *t;
    let piece = t.send(t.segment);
    match id {
        1 => (p - 1.0) * t.send(m),
        2 => (segments * chains + ((p - 1.0) / chains).ceil() - 1.0) * piece,
        3 => (p + segments - 2.0) * piece,
        4 => {
            let half = (segments / 2.0).ceil();
            let part = if segments > 1.0 { piece } else { t.send(m / 2.0) };
            (2.0 * half + 2.0 * (depth - 1.0).max(0.0)) * part + t.send(m / 2.0)
        }
        5 => (2.0 * segments + 2.0 * (depth - 1.0).max(0.0)) * piece,
        6 => segments * log2 * piece,
        7 => segments * (RADIX - 1.0) * (log2 / 2.0).ceil() * piece,
        8 => 2.0 * log2 * a + 2.0 * (p - 1.0) / p * b * m,
        9 => (log2 + p - 1.0) * a + 2.0 * (p - 1.0) / p * b * m,
        _ => f64::INFINITY,
    }
}

fn reduce(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, g, p, m, log2, depth, chains, segments, .. } = *t;
    let piece = t.combine(t.segment);
    let binary = (2.0 * segments + 2.0 * (depth - 1.0).max(0.0)) * piece;
    match id {
        1 => (p - 1.0) * t.combine(m),
        2 => (segments * chains + ((p - 1.0) / chains).ceil() - 1.0) * piece,
        3 => (p + segments - 2.0) * piece,
        4 => binary,
        5 => segments * log2 * piece,
        // Its root is the last rank, which sends the result on to rank 0.
        6 => binary + t.send(m),
        7 => 2.0 * log2 * a + (p - 1.0) / p * (2.0 * b + g) * m + t.folded(t.combine(m)),
        8 => t.levels(t.radix) * (t.radix - 1.0) * t.combine(m),
        _ => f64::INFINITY,
    }
}

fn allreduce(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, g, p, m, log2, segment, segments, .. } = *t;
    match id {
        1 | 2 => reduce(t, 1) + bcast(t, 1),
        3 => log2 * t.combine(m) + t.folded(t.combine(m)),
        4 => 2.0 * (p - 1.0) * a + (p - 1.0) / p * (2.0 * b + g) * m,
        // In each of the phases the segments of a block go around.
        5 => (segments / p).ceil() * (p - 1.0) * t.combine(segment.min(m / p)) + (p - 1.0) * t.send(m / p),
        6 => 2.0 * log2 * a + (p - 1.0) / p * (2.0 * b + g) * m + t.folded(2.0 * t.combine(m)),
        7 => allgather(t, 2) + (p - 1.0) * g * m,
        _ => f64::INFINITY,
    }
}

/// The time of an allgather with m bytes from each rank.
fn allgather(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, p, m, log2, .. } = *t;
    let volume = (p - 1.0) * b * m;
    match id {
        1 => gather(t, 1) + (p - 1.0) * t.send(p * m),
        // Half of the data is copied into place at the end.
        2 => log2 * a + volume + b * p * m / 4.0,
        3 | 7 => log2 * a + volume + t.folded(a),
        4 => (p - 1.0) * a + volume,
        5 => (p / 2.0).ceil() * a + volume,
        6 => t.send(m),
        8 => a + (p - 1.0) * (a / 2.0 + b * m),
        _ => f64::INFINITY,
    }
}

/// The time of an alltoall with m bytes from each rank to each.
fn alltoall(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, p, m, log2, requests, .. } = *t;
    let volume = (p - 1.0) * b * m;
    match id {
        1 => a + (p - 1.0) * (a / 2.0 + b * m),
        2 => (p - 1.0) * a + volume,
        3 => log2 * a + p / 2.0 * log2 * b * m + b * p * m / 4.0,
        4 => ((p - 1.0) / requests).ceil() * a + (p - 1.0) * a / 2.0 + volume,
        5 => t.send(m),
        _ => f64::INFINITY,
    }
}

fn barrier(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, p, log2, .. } = *t;
    match id {
        1 => 2.0 * (p - 1.0) * a,
        2 => 2.0 * p * a,
        3 => (log2 + t.folded(2.0)) * a,
        4 => log2 * a,
        5 => a,
        6 => 2.0 * log2 * a,
        _ => f64::INFINITY,
    }
}

fn gather(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, p, m, log2, .. } = *t;
    match id {
        1 => (p - 1.0) * t.send(m),
        2 => log2 * a + (p - 1.0) * b * m,
        // The root asks each rank, and gets a first segment while the next is asked.
        3 => (p - 1.0) * (t.send(m) + a / 2.0),
        _ => f64::INFINITY,
    }
}

fn scatter(t: &FormulaTerms, id: u32) -> f64 {
    let FormulaTerms { a, b, p, m, .. } = *t;
    if id == 3 { a + (p - 1.0) * (a / 2.0 + b * m) } else { gather(t, id) }
}

/// The time for a vector of `whole` bytes, of which each rank gets its share.
fn reduce_scatter(t: &FormulaTerms, id: u32, whole: f64) -> f64 {
    let FormulaTerms { a, b, g, p, log2, .. } = *t;
    let halving = log2 * a + (p - 1.0) / p * (b + g) * whole + t.folded(t.combine(whole));
    match id {
        1 => (p - 1.0) * t.combine(whole) + (p - 1.0) * t.send(whole / p),
        2 => halving,
        3 => (p - 1.0) * a + (p - 1.0) / p * (b + g) * whole,
        4 => halving + a,
        _ => f64::INFINITY,
    }
}

fn reduce_scatter_block(t: &FormulaTerms, id: u32) -> f64 {
    let whole = t.p * t.m;
    match id {
        1 => reduce_scatter(t, 1, whole),
        2 => t.log2 * t.combine(whole) + t.folded(t.combine(whole)),
        3 => reduce_scatter(t, 2, whole),
        4 => reduce_scatter(t, 4, whole),
        _ => f64::INFINITY,
    }
}

fn scan(t: &FormulaTerms, id: u32) -> f64 {
    match id {
        1 => (t.p - 1.0) * t.combine(t.m),
        2 => t.log2 * t.combine(t.m),
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};
    use collrules_rules::{Release, registry};

    use super::*;

    fn cell(collective: Collective, ranks: u32, bytes: u64) -> Cell {
        Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) }
    }

    fn bcast_seconds(bytes: u64, choice: Choice) -> f64 {
        algorithm_seconds(cell(Collective::Bcast, 8, bytes), choice)
    }

    /// With 8 ranks binomial takes 3a + 3bm and scatter_allgather 6a + 1.75bm: equal at 1.25bm = 3a, m = 24000.
    #[test]
    fn the_paper_crossover_is_in_the_model() {
        let difference = |bytes| bcast_seconds(bytes, Choice::plain(6)) - bcast_seconds(bytes, Choice::plain(8));
        assert!(difference(24_000).abs() < 1e-12);
        assert!(difference(23_000) < 0.0 && difference(25_000) > 0.0);
    }

    /// An unsegmented pipeline of 8 ranks takes 7(a + bm); with 8 KiB segments of 64 KiB it takes 14(a + b 8192).
    #[test]
    fn segments_overlap_in_a_pipeline() {
        let piped = |choice| bcast_seconds(65536, choice);
        assert!((piped(Choice::plain(3)) - 7.0 * (1e-5 + 65536e-9)).abs() < 1e-12);
        assert!((piped(Choice::plain(3).with_segsize(8192)) - 14.0 * (1e-5 + 8192e-9)).abs() < 1e-12);
    }

    /// With 8 ranks recursive doubling takes 3a + 3(b + g)m and ring 14a + 7/8 (2b + g)m: equal at
    /// m = 11a / (3(b + g) - 7/8 (2b + g)) = 110 000 / (3.75 - 1.96875) = 61 754.
    #[test]
    fn allreduce_crosses_over_where_the_paper_says() {
        let seconds = |bytes, id| algorithm_seconds(cell(Collective::Allreduce, 8, bytes), Choice::plain(id));
        assert!(seconds(61_000, 3) < seconds(61_000, 4) && seconds(62_500, 3) > seconds(62_500, 4));
    }

    #[test]
    fn every_algorithm_of_every_release_has_a_formula() {
        for release in Release::ALL {
            for collective in Collective::ALL {
                for algorithm in registry::algorithms(release, collective) {
                    for (ranks, bytes) in [(2, 4), (3, 4096), (64, 1 << 20)] {
                        let choice = Choice::plain(algorithm.id);
                        let seconds = algorithm_seconds(cell(collective, ranks, bytes), choice);
                        assert!(seconds.is_finite() && seconds > 0.0, "{release} {collective} {}", algorithm.name);
                    }
                }
                let none = algorithm_seconds(cell(collective, 4, 64), Choice::plain(10));
                assert!(none.is_infinite(), "{collective}");
            }
        }
    }
}
