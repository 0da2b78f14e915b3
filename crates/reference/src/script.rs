//! The reference algorithms: primitives, one after the other.

use collrules_rules::{Collective, names};

use crate::blocks::Blocks;
use crate::step::Step;
use crate::{direct, ring, tree};

/// Which of the two reference algorithms of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    /// For short vectors: few messages.
    Short,
    /// For long vectors: little data.
    Long,
}

/// What algorithms are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// The root's vector for all, over a minimum spanning tree.
    TreeBcast,
    /// The sum of all vectors for the root, over a minimum spanning tree.
    TreeReduce,
    /// The root's blocks for each, over a minimum spanning tree.
    TreeScatter,
    /// The blocks of each for the root, over a minimum spanning tree.
    TreeGather,
    /// The blocks of each for all, around a ring.
    BucketAllgather,
    /// Of the sum of all vectors the own block for each, around a ring.
    BucketReduceScatter,
    /// The root's blocks for each, a message each.
    SimpleScatter,
    /// The blocks of each for the root, a message each.
    SimpleGather,
    /// Everybody's block for the rank before.
    Rotation,
}

/// What every rank does in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    plot: Plot,
    blocks: Blocks,
}

#[derive(Clone, Debug, PartialEq)]
enum Plot {
    /// Primitives, one after the other.
    Primitives { primitives: Vec<Primitive>, root: u32 },
    /// The steps of each rank, written down.
    Parts(Vec<Vec<Step>>),
}

names!(Reference {
    Short "short",
    Long "long",
});

impl Reference {
    /// The primitives of this algorithm of a collective (Chan et al., table II of the seed's report); none where there is
    /// no reference algorithm.
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

names!(Primitive {
    TreeBcast "MST bcast",
    TreeReduce "MST reduce",
    TreeScatter "MST scatter",
    TreeGather "MST gather",
    BucketAllgather "bucket allgather",
    BucketReduceScatter "bucket reduce-scatter",
    SimpleScatter "simple scatter",
    SimpleGather "simple gather",
    Rotation "rotation",
});

impl Primitive {
    fn steps(self, rank: u32, ranks: u32, root: u32) -> Box<dyn Iterator<Item = Step>> {
        match self {
            Self::TreeBcast => Box::new(tree::bcast(rank, ranks, root)),
            Self::TreeReduce => Box::new(tree::reduce(rank, ranks, root)),
            Self::TreeScatter => Box::new(tree::scatter(rank, ranks, root)),
            Self::TreeGather => Box::new(tree::gather(rank, ranks, root)),
            Self::BucketAllgather => Box::new(ring::allgather(rank, ranks)),
            Self::BucketReduceScatter => Box::new(ring::reduce_scatter(rank, ranks)),
            Self::SimpleScatter => Box::new(direct::scatter(rank, ranks, root)),
            Self::SimpleGather => Box::new(direct::gather(rank, ranks, root)),
            Self::Rotation => Box::new(ring::rotation(rank, ranks)),
        }
    }
}

impl Script {
    /// A reference algorithm of a collective; none where the collective has no such algorithm, where there are fewer than
    /// 2 ranks, or where no rank is the root. The blocks divide the whole vector: that of the root for bcast and scatter,
    /// the result elsewhere. Collectives without a root take rank 0 where a primitive needs one.
    pub fn new(collective: Collective, reference: Reference, root: u32, blocks: Blocks) -> Option<Self> {
        let rooted =
            matches!(collective, Collective::Bcast | Collective::Reduce | Collective::Scatter | Collective::Gather);
        let primitives = reference.primitives(collective)?.to_vec();
        let fits = blocks.ranks() >= 2 && root < blocks.ranks();
        let plot = Plot::Primitives { primitives, root: if rooted { root } else { 0 } };
        fits.then_some(Self { plot, blocks })
    }

    /// Everybody's block for the rank before; none for fewer than 2 ranks.
    pub fn rotation(blocks: Blocks) -> Option<Self> {
        let plot = Plot::Primitives { primitives: vec![Primitive::Rotation], root: 0 };
        (blocks.ranks() >= 2).then_some(Self { plot, blocks })
    }

    /// A script that is written down: what each rank does, in rank order. Here messages without elements are sent as well,
    /// since it takes time to send nothing.
    pub fn of_parts(parts: Vec<Vec<Step>>, blocks: Blocks) -> Self {
        Self { plot: Plot::Parts(parts), blocks }
    }

    /// How the vector is divided.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// What a rank does, in order. Messages of primitives without elements are left out on both sides.
    pub fn steps(&self, rank: u32) -> Box<dyn Iterator<Item = Step> + '_> {
        let ranks = self.blocks.ranks();
        match &self.plot {
            Plot::Primitives { primitives, root } => {
                let all = primitives.iter().flat_map(move |primitive| primitive.steps(rank, ranks, *root));
                Box::new(all.filter_map(|step| step.without_nothing(&self.blocks)))
            }
            Plot::Parts(parts) => Box::new(parts.get(rank as usize).into_iter().flatten().copied()),
        }
    }

    /// Whether every rank does the same in both.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.blocks == other.blocks && (0..self.blocks.ranks()).all(|rank| self.steps(rank).eq(other.steps(rank)))
    }

    /// The messages that a rank sends, and their elements together.
    pub fn sent(&self, rank: u32) -> (u64, u64) {
        let sent = self.steps(rank).filter_map(Step::sent);
        sent.fold((0, 0), |(messages, elements), (_, blocks)| (messages + 1, elements + self.blocks.len(blocks)))
    }
}
