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
            Self::SimpleScatter => Box::new(direct::scatter(on, rank, root)),
            Self::SimpleGather => Box::new(direct::gather(on, rank, root)),
        }
    }
}

/// The part of the whole vector that the caller passes on a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VectorShare {
    Nothing,
    /// The block of this rank.
    Own,
    Whole,
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

    fn held(&self, rank: u32) -> (VectorShare, VectorShare) {
        let at_root = |held: VectorShare| if rank == self.root { held } else { VectorShare::Nothing };
        match self.collective {
            Collective::Bcast => (VectorShare::Nothing, VectorShare::Whole),
            Collective::Scatter => (at_root(VectorShare::Whole), VectorShare::Own),
            Collective::Gather => (VectorShare::Own, at_root(VectorShare::Whole)),
            Collective::Allgather => (VectorShare::Own, VectorShare::Whole),
            Collective::Reduce => (VectorShare::Whole, at_root(VectorShare::Whole)),
            Collective::Allreduce => (VectorShare::Whole, VectorShare::Whole),
            _ => (VectorShare::Whole, VectorShare::Own),
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
        let passed = |held: VectorShare, place| match held {
            VectorShare::Own => vector(place).starting_at(own),
            VectorShare::Nothing | VectorShare::Whole => vector(place),
        };
        let (sent, wanted) = (passed(sends, Buffer::Send), passed(wants, Buffer::Receive));
        let moved = |held: VectorShare| if held == VectorShare::Whole { BlockRange::all(self.ranks()) } else { own };
        let copy = |when: bool, from: Vector<'_>, to: Vector<'_>, range: BlockRange| {
            let copied = Step::Copy { from: from.part(range), to: to.part(range) };
            Some(copied).filter(|_| when).and_then(Step::without_empty_messages)
        };
        let only_sends = || self.messages(sent, rank).all(|step| matches!(step, Step::Send { .. }));
        if sends != VectorShare::Nothing && only_sends() {
            let left = copy(wants != VectorShare::Nothing, sent, wanted, own);
            return Box::new(self.messages(sent, rank).chain(left));
        }
        let on = if wants == VectorShare::Whole { wanted } else { vector(OWN) };
        let before = copy(sends != VectorShare::Nothing, sent, on, moved(sends));
        let after = copy(wants == VectorShare::Own, on, wanted, own);
        Box::new(before.into_iter().chain(self.messages(on, rank)).chain(after))
    }
}
