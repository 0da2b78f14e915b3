//! Memory of a mock-up in addition to the caller's buffers.

use std::fmt;

use collrules_record::cell::type_size;
use collrules_record::{Cell, Even};

/// A part of a formula. p is the number of ranks, m the message bytes of the cell, e the bytes of an element, m' is m
/// rounded up to a multiple of `p * e`; n is the number of nodes, and r that of ranks per node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// `m`
    Message,
    /// `p*m`
    All,
    /// `m'`
    Padded,
    /// `m'/p`
    Share,
    /// The largest of the blocks that are dealt out in chunks of four elements, at most `m/p + 4e`.
    Chunks,
    /// Bytes per rank: arrays of counts and displacements.
    PerRank(u64),
    /// A constant number of bytes.
    Bytes(u64),
    /// `n*m`
    Lane,
    /// `r*m`
    Node,
    /// `r*p*m`
    NodeAll,
    /// `m/r`, in whole elements, rounded up.
    NodeShare,
    /// Bytes per rank of a node.
    PerLocal(u64),
}

/// A sum of terms; 0 if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula(pub &'static [Term]);

impl Formula {
    /// The most bytes that a cell needs. Terms that depend on nodes are 0 unless all nodes have equally many ranks.
    pub fn bytes(&self, cell: Cell, even: Option<Even>) -> u64 {
        let (n, r) = even.map_or((0, 0), |even| (u64::from(even.nodes), u64::from(even.each)));
        let (p, m, e) = (u64::from(cell.ranks.0), cell.bytes.0, type_size(cell.collective));
        let padded = m.next_multiple_of((p * e).max(1));
        let term = |term: &Term| match term {
            Term::Message => m,
            Term::All => p.saturating_mul(m),
            Term::Padded => padded,
            Term::Share => padded / p.max(1),
            Term::Chunks => m / p.max(1) + 4 * e,
            Term::PerRank(bytes) => bytes * p,
            Term::Bytes(bytes) => *bytes,
            Term::Lane => n.saturating_mul(m),
            Term::Node => r.saturating_mul(m),
            Term::NodeAll => r.saturating_mul(p).saturating_mul(m),
            Term::NodeShare => (m / e).div_ceil(r.max(1)) * e,
            Term::PerLocal(bytes) => bytes * r,
        };
        self.0.iter().map(term).fold(0, u64::saturating_add)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = |term: &Term| match term {
            Term::Message => "m".to_owned(),
            Term::All => "p*m".to_owned(),
            Term::Padded => "m'".to_owned(),
            Term::Share => "m'/p".to_owned(),
            Term::Chunks => "m/p+4e".to_owned(),
            Term::PerRank(1) => "p".to_owned(),
            Term::PerRank(bytes) => format!("{bytes}p"),
            Term::Bytes(bytes) => bytes.to_string(),
            Term::Lane => "n*m".to_owned(),
            Term::Node => "r*m".to_owned(),
            Term::NodeAll => "r*p*m".to_owned(),
            Term::NodeShare => "m/r".to_owned(),
            Term::PerLocal(bytes) => format!("{bytes}r"),
        };
        let many = |alike: &[Term]| match alike.len() {
            1 => term(&alike[0]),
            count => format!("{count}*{}", term(&alike[0])),
        };
        let terms: Vec<String> = self.0.chunk_by(|one, other| one == other).map(many).collect();
        f.pad(&if terms.is_empty() { "0".to_owned() } else { terms.join("+") })
    }
}
