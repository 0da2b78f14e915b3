//! A rank of a call: its number, its node, and its caller's buffers.

use collrules_rules::collective::{Extent, Side};
use collrules_rules::{Collective, names};
use serde::{Deserialize, Serialize};

use crate::step::{Buffer, BufferPart, RankGroup};

/// Several nodes with equally many ranks, at least two each, in rank order node after node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Even {
    /// The number of nodes.
    pub nodes: u32,
    /// The ranks per node.
    pub each: u32,
}

/// Arguments of a collective that its caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arguments {
    /// The root of rooted collectives.
    pub root: u32,
    /// The datatype of reductions.
    pub data: DataType,
}

names! {
    /// A datatype of reductions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DataType, read as "datatype" {
        /// `MPI_INT`.
        #[default]
        Int "int",
        /// `MPI_FLOAT`.
        Float "float",
        /// `MPI_DOUBLE`.
        Double "double",
    }
}

impl DataType {
    /// The bytes of an element.
    pub fn size(self) -> u64 {
        match self {
            Self::Int | Self::Float => 4,
            Self::Double => 8,
        }
    }

    /// Returns the name of the datatype in MPI.
    pub fn mpi(self) -> &'static str {
        match self {
            Self::Int => "MPI_INT",
            Self::Float => "MPI_FLOAT",
            Self::Double => "MPI_DOUBLE",
        }
    }
}

impl Arguments {
    /// Returns true if they are those of usual calls: root 0, and integers.
    pub fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The size in bytes of the datatype of calls: `MPI_BYTE` if there is no operation.
    pub fn type_size(self, collective: Collective) -> u64 {
        if collective.reduces() { self.data.size() } else { 1 }
    }
}

/// A rank of a call.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// The collective.
    pub collective: Collective,
    /// The rank.
    pub rank: usize,
    /// The size of the communicator.
    pub ranks: usize,
    /// The message bytes of the call.
    pub bytes: usize,
    /// The nodes of the communicator, if all have equally many ranks.
    pub even: Option<Even>,
    /// Root and datatype.
    pub arguments: Arguments,
}

/// The size in bytes of the datatype of usual calls: `MPI_INT` if there is an operation, else `MPI_BYTE`.
///
/// Rules depend on it if the lookup sees only the datatype (scan and exscan).
pub fn type_size(collective: Collective) -> u64 {
    Arguments::default().type_size(collective)
}

impl Seat {
    /// The number of nodes, and of ranks per node; if nodes are uneven, all ranks count as one node.
    pub fn shape(self) -> (usize, usize) {
        self.even.map_or((1, self.ranks), |even| (even.nodes as usize, even.each as usize))
    }

    /// Its node, and its place on it.
    pub fn place(self) -> (usize, usize) {
        let (_, each) = self.shape();
        (self.rank / each.max(1), self.rank % each.max(1))
    }

    /// The number of ranks that make a call together, and the place among them; none if this rank does not take part.
    pub fn seat_in(self, group: RankGroup) -> Option<(usize, usize)> {
        let ((nodes, each), (node, place)) = (self.shape(), self.place());
        match group {
            RankGroup::All => Some((self.ranks, self.rank)),
            RankGroup::Node => Some((each, place)),
            RankGroup::FirstNode => (node == 0).then_some((each, place)),
            RankGroup::Lane => Some((nodes, node)),
            RankGroup::Leaders => (place == 0).then_some((nodes, node)),
        }
    }

    /// Returns true if it is the root.
    pub fn is_root(self) -> bool {
        self.rank == self.arguments.root as usize
    }

    /// Bytes of an element.
    pub fn element(self) -> usize {
        self.arguments.type_size(self.collective) as usize
    }

    /// This rank, with another message.
    pub fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The bytes of each rank's share of a whole vector; the remainder goes to the first ranks, an element each.
    pub fn shares(self) -> Vec<usize> {
        self.shares_among(self.ranks)
    }

    /// The shares among this many ranks.
    pub fn shares_among(self, ranks: usize) -> Vec<usize> {
        let (element, elements) = (self.element(), self.bytes / self.element());
        (0..ranks).map(|rank| (elements / ranks + usize::from(rank < elements % ranks)) * element).collect()
    }

    /// The data of the caller.
    pub fn send(self) -> BufferPart {
        self.part(Buffer::Send, Side::Sends, self.collective.data().sends)
    }

    /// The place for the caller's result.
    pub fn receive(self) -> BufferPart {
        self.part(Buffer::Receive, Side::Receives, self.collective.data().receives)
    }

    fn part(self, place: Buffer, side: Side, extent: Extent) -> BufferPart {
        let is_absent = self.collective.data().at_root == Some(side) && !self.is_root();
        let len = match extent {
            Extent::Nothing => 0,
            _ if is_absent => 0,
            Extent::Message => self.bytes,
            Extent::Blocks => self.bytes * self.ranks,
            Extent::Share => self.shares()[self.rank],
        };
        BufferPart { place, first: 0, len }
    }
}
