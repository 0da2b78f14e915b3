//! What messages are played on.

/// Open MPI's eager limit counts what it puts before the bytes of a message as well (ompi/mca/pml/ob1: the header of a match with
/// that of btl/tcp), so that a message of 64 KiB is beyond a limit of 64 KiB.
const HEADER: u64 = 64;

/// Nodes, the pairs between them, and the links that they share. Times are in seconds, rates in bytes per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// The fixed time of each rank to handle a message (C).
    pub fixed: Vec<f64>,
    /// The time of each rank to handle a byte (t).
    pub per_byte: Vec<f64>,
    /// The latency of each pair (L).
    pub latency: Vec<Vec<f64>>,
    /// The most that a message between a pair gets (beta).
    pub cap: Vec<Vec<f64>>,
    /// The host of each rank, counted from 0. Ranks of a host share its link.
    pub host: Vec<usize>,
    /// What each host's link carries in each direction.
    pub link: Vec<f64>,
    /// The bytes that pass each host's link free of it, in each direction, after it was idle for long: the depth of the bucket
    /// of tokens that limits it.
    pub burst: Vec<f64>,
    /// How much of a message to another host goes before its receiver asks for the rest: the eager limit. Without one, all.
    pub eager: Option<u64>,
}

impl Platform {
    /// As many ranks, each on a host of its own, whose links alone take time.
    pub fn shared_links(ranks: usize, rate: f64) -> Self {
        Self {
            fixed: vec![0.0; ranks],
            per_byte: vec![0.0; ranks],
            latency: vec![vec![0.0; ranks]; ranks],
            cap: vec![vec![f64::INFINITY; ranks]; ranks],
            host: (0..ranks).collect(),
            link: vec![rate; ranks],
            burst: vec![0.0; ranks],
            eager: None,
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.fixed.len()
    }

    pub(crate) fn handling(&self, rank: usize, bytes: u64) -> f64 {
        self.fixed[rank] + self.per_byte[rank] * bytes as f64
    }

    /// How many bytes of a message may go at once.
    pub(crate) fn at_first(&self, from: usize, to: usize, bytes: u64) -> u64 {
        let limit = self.eager.filter(|_| self.host[from] != self.host[to]);
        limit.map_or(bytes, |limit| limit.saturating_sub(HEADER).min(bytes))
    }

    /// The links on the way, by their places in [`rates`](Self::rates): that out of the sender's host and that into the
    /// receiver's. Inside a host there are none.
    pub(crate) fn links(&self, from: usize, to: usize) -> [Option<usize>; 2] {
        let (from, to) = (self.host[from], self.host[to]);
        let limited = |host: usize, place: usize| self.link[host].is_finite().then_some(place);
        if from == to { [None; 2] } else { [limited(from, 2 * from), limited(to, 2 * to + 1)] }
    }

    /// The rates of all links: of each host out and in.
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.link.iter().flat_map(|rate| [*rate; 2]).collect()
    }

    /// What passes them for free, in the same order.
    pub(crate) fn bursts(&self) -> Vec<f64> {
        self.burst.iter().flat_map(|burst| [*burst; 2]).collect()
    }
}
