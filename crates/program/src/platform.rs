//! Nodes and links that messages travel on.

/// Open MPI's eager limit includes the header of a message (ompi/mca/pml/ob1: the header of a match with that of
/// btl/tcp), so a message of 64 KiB exceeds a limit of 64 KiB.
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
    /// The maximum rate of a message between a pair (beta).
    pub cap: Vec<Vec<f64>>,
    /// The host of each rank, counted from 0. Ranks of a host share its link.
    pub host: Vec<usize>,
    /// Rate of each host's link in each direction.
    pub link: Vec<f64>,
    /// The bytes that pass each host's link for free, in each direction, after a long idle time: the depth of its token
    /// bucket.
    pub burst: Vec<f64>,
    /// Bytes of a message to another host that are sent before its receiver asks for the rest (the eager limit); none
    /// if all are.
    pub eager: Option<u64>,
}

impl Platform {
    /// Ranks on a host each, whose links alone take time.
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

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.fixed.len()
    }

    /// The time of a rank to send or to receive this many bytes.
    pub fn handling(&self, rank: usize, bytes: u64) -> f64 {
        self.fixed[rank] + self.per_byte[rank] * bytes as f64
    }

    /// Returns the number of bytes of a message that are sent at once.
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

    /// Returns the bytes that pass each link for free, in the order of [`rates`](Self::rates).
    pub(crate) fn bursts(&self) -> Vec<f64> {
        self.burst.iter().flat_map(|burst| [*burst; 2]).collect()
    }
}
