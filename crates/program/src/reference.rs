//! Reference algorithms: primitives, one after the other.
//!
//! They are those of Chan, Heimlich, Purkayastha and van de Geijn, *Collective communication: theory, practice, and
//! experience* (2007), which build every collective from a few primitives, once for short and once for long vectors.

use collrules_rules::{Collective, names};

use crate::blocks::{BlockRange, Blocks};
use crate::program::{Program, Programs};
use crate::step::{Buffer, Step};
use crate::vector::{OWN, SCRATCH, Vector};
use crate::{direct, ring, tree};

names! {
    /// One of the two reference algorithms of a collective.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Reference {
        /// For short vectors: few messages.
        Short "short",
        /// For long vectors: little data.
        Long "long",
    }
}

names! {
    /// A building block of algorithms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Primitive {
        /// The root's vector for all, over a minimum spanning tree.
        TreeBcast "MST bcast",
        /// The sum of all vectors for the root, over a minimum spanning tree.
        TreeReduce "MST reduce",
        /// The root's blocks for each, over a minimum spanning tree.
        TreeScatter "MST scatter",
        /// The blocks of each for the root, over a minimum spanning tree.
        TreeGather "MST gather",
        /// The blocks of each for all, around a ring.
        BucketAllgather "bucket allgather",
        /// For each rank its block of the sum of all vectors, around a ring.
        BucketReduceScatter "bucket reduce-scatter",
        /// The root's blocks for each, a message each.
        SimpleScatter "simple scatter",
        /// The blocks of each for the root, a message each.
        SimpleGather "simple gather",
    }
}

/// A reference algorithm of a call: the programs of all ranks, made on request.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceAlgorithm {
    collective: Collective,
    primitives: &'static [Primitive],
    root: u32,
    blocks: Blocks,
    element: usize,
}

impl Reference {
    /// The primitives of this algorithm of a collective (Chan et al., table II of the seed's report); none if it has no
    /// reference algorithm.
    pub fn primitives(self, collective: Collective) -> Option<&'static [Primitive]> {
        use Primitive::{
            BucketAllgather, BucketReduceScatter, SimpleGather, SimpleScatter, TreeBcast, TreeGather, TreeReduce,
            TreeScatter,
        };
        Some(match (collective, self) {
            (Collective::Bcast, Self::Short) => &[TreeBcast],
            (Collective::Bcast, Self::Long) => &[TreeScatter, BucketAllgather],
            (Collective::Reduce, Self::Short) => &[TreeReduce],
            (Collective::Reduce, Self::Long) => &[BucketReduceScatter, TreeGather],
            (Collective::Scatter, Self::Short) => &[TreeScatter],
            (Collective::Scatter, Self::Long) => &[SimpleScatter],
            (Collective::Gather, Self::Short) => &[TreeGather],
            (Collective::Gather, Self::Long) => &[SimpleGather],
            (Collective::Allgather, Self::Short) => &[TreeGather, TreeBcast],
            (Collective::Allgather, Self::Long) => &[BucketAllgather],
            (Collective::ReduceScatter | Collective::ReduceScatterBlock, Self::Short) => &[TreeReduce, TreeScatter],
            (Collective::ReduceScatter | Collective::ReduceScatterBlock, Self::Long) => &[BucketReduceScatter],
            (Collective::Allreduce, Self::Short) => &[TreeReduce, TreeBcast],
            (Collective::Allreduce, Self::Long) => &[BucketReduceScatter, BucketAllgather],
            _ => return None,
        })
    }
}

impl Primitive {
    fn steps<'a>(self, on: Vector<'a>, rank: u32, root: u32) -> Box<dyn Iterator<Item = Step> + 'a> {
        match self {
            Self::TreeBcast => Box::new(tree::bcast(on, rank, root)),
            Self::TreeReduce => Box::new(tree::reduce(on, rank, root)),
            Self::TreeScatter => Box::new(tree::scatter(on, rank, root)),
            Self::TreeGather => Box::new(tree::gather(on, rank, root)),
            Self::BucketAllgather => Box::new(ring::allgather(on, rank)),
            Self::BucketReduceScatter => Box::new(ring::reduce_scatter(on, rank)),
            Self::SimpleScatter => Box::new(direct::exchange(on, rank, root, true)),
            Self::SimpleGather => Box::new(direct::exchange(on, rank, root, false)),
        }
    }
}

impl ReferenceAlgorithm {
    /// A reference algorithm of a collective; none if the collective has no such algorithm, for fewer than 2 ranks, or
    /// without a valid root. The blocks divide the whole vector: that of the root for bcast and scatter, the result
    /// elsewhere. `element` is the size of an element in bytes. Collectives without a root use rank 0 if a primitive
    /// needs one.
    pub fn new(
        collective: Collective,
        reference: Reference,
        root: u32,
        blocks: Blocks,
        element: usize,
    ) -> Option<Self> {
        let primitives = reference.primitives(collective)?;
        let fits = blocks.ranks() >= 2 && root < blocks.ranks();
        let root = if collective.is_rooted() { root } else { 0 };
        fits.then_some(Self { collective, primitives, root, blocks, element })
    }

    /// The program of a rank, on its caller's buffers. To avoid copies, the vector is in the receive buffer if it
    /// fits; ranks that only send use their send buffer, and others get an additional one.
    pub fn program(&self, rank: u32) -> Program {
        let steps: Vec<Step> = Programs::steps(self, rank).collect();
        let uses = |place: Buffer| steps.iter().any(|step| step.parts().iter().any(|part| part.place == place));
        let total = self.blocks.total() as usize * self.element;
        let last = [SCRATCH, OWN].into_iter().position(uses).map_or(0, |unused| 2 - unused);
        let extra = [OWN, SCRATCH].into_iter().take(last).map(|place| if uses(place) { total } else { 0 }).collect();
        Program { extra, steps }
    }

    /// Returns true if every rank has the same steps in both.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.blocks == other.blocks && (0..self.ranks()).all(|rank| self.steps(rank).eq(other.steps(rank)))
    }

    /// The blocks of the whole vector that the caller passes to send, and to receive.
    fn held(&self, rank: u32) -> (Option<BlockRange>, Option<BlockRange>) {
        let (own, all) = (Some(BlockRange::block(rank)), Some(BlockRange::all(self.ranks())));
        let at_root = if rank == self.root { all } else { None };
        match self.collective {
            Collective::Bcast => (None, all),
            Collective::Scatter => (at_root, own),
            Collective::Gather => (own, at_root),
            Collective::Allgather => (own, all),
            Collective::Reduce => (all, at_root),
            Collective::Allreduce => (all, all),
            _ => (all, own),
        }
    }

    fn messages<'a>(&'a self, on: Vector<'a>, rank: u32) -> impl Iterator<Item = Step> + 'a {
        let all = self.primitives.iter().flat_map(move |primitive| primitive.steps(on, rank, self.root));
        all.filter_map(Step::without_empty_messages)
    }
}

impl Programs for ReferenceAlgorithm {
    fn ranks(&self) -> u32 {
        self.blocks.ranks()
    }

    /// The steps, with messages without elements left out on both sides.
    fn steps(&self, rank: u32) -> Box<dyn Iterator<Item = Step> + '_> {
        let own = BlockRange::block(rank);
        let (sends, wants) = self.held(rank);
        let vector = |place| Vector { blocks: &self.blocks, element: self.element, place, left_out: 0 };
        let passed =
            |held: Option<BlockRange>, place| held.map_or(vector(place), |held| vector(place).starting_at(held));
        let (sent, wanted) = (passed(sends, Buffer::Send), passed(wants, Buffer::Receive));
        let copy = |range: Option<BlockRange>, from: Vector<'_>, to: Vector<'_>| {
            let copied = range.map(|range| Step::Copy { from: from.part(range), to: to.part(range) });
            copied.and_then(Step::without_empty_messages)
        };
        let only_sends = || self.messages(sent, rank).all(|step| matches!(step, Step::Send { .. }));
        if sends.is_some() && only_sends() {
            let left = copy(wants.map(|_| own), sent, wanted);
            return Box::new(self.messages(sent, rank).chain(left));
        }
        let wants_own = wants.filter(|wants| *wants == own);
        let on = if wants.is_some() && wants_own.is_none() { wanted } else { vector(OWN) };
        let (before, after) = (copy(sends, sent, on), copy(wants_own, on, wanted));
        Box::new(before.into_iter().chain(self.messages(on, rank)).chain(after))
    }
}
