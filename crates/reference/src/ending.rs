//! What each rank has in the end: the known data that a script is checked by.

use std::collections::HashMap;

use crate::play::{Happening, Machine, Stuck, play};
use crate::script::Script;
use crate::step::Buffer;

/// Whose data it was in the beginning, and in which of its vectors. Data stays at the same place of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contribution {
    /// The rank.
    pub rank: u32,
    /// The vector.
    pub place: Buffer,
}

/// For each block of a rank's vector, the origins whose sum it is. What was added twice is there twice.
pub type Ending = Vec<Vec<Contribution>>;

/// What a rank's vector holds when a script is over.
pub fn ending(script: &Script, rank: u32) -> Result<Ending, Stuck> {
    // Only what has changed: many ranks have many blocks, and patterns touch few of them.
    let mut changed: HashMap<(Contribution, u32), Vec<Contribution>> = HashMap::new();
    let held = |changed: &HashMap<(Contribution, u32), Vec<Contribution>>, at: Contribution, block: u32| {
        changed.get(&(at, block)).cloned().unwrap_or_else(|| vec![at])
    };
    let vector = |rank| Contribution { rank, place: Buffer::Vector };
    play(script, Machine::default(), &mut |happening| match happening {
        Happening::Message { from, to, blocks, into, .. } => {
            for block in blocks.first..blocks.end {
                let data = held(&changed, vector(from), block);
                changed.insert((Contribution { rank: to, place: into }, block), data);
            }
        }
        Happening::Reduced { rank, blocks } => {
            for block in blocks.first..blocks.end {
                let mut sum = held(&changed, vector(rank), block);
                sum.extend(held(&changed, Contribution { rank, place: Buffer::Scratch }, block));
                changed.insert((vector(rank), block), sum);
            }
        }
    })?;
    Ok((0..script.blocks().ranks()).map(|block| held(&changed, vector(rank), block)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Blocks;
    use crate::pattern::{ping_pong, reduce_local};

    fn origins(ending: &Ending) -> Vec<Vec<u32>> {
        ending.iter().map(|block| block.iter().map(|origin| origin.rank).collect()).collect()
    }

    #[test]
    fn a_ping_pong_leaves_both_with_both_messages() {
        for (there, back) in [(8, 8), (8, 0), (0, 0)] {
            let script = ping_pong(there, back);
            for rank in 0..2 {
                assert_eq!(origins(&ending(&script, rank).expect("it ends")), [[0], [1]], "{there} and {back}");
            }
            assert_eq!(script.sent(0), (1, there));
        }
    }

    #[test]
    fn an_operation_adds_the_scratch_vector_once() {
        let ending = ending(&reduce_local(4, 3), 2).expect("it ends");
        let places: Vec<Buffer> = ending[0].iter().map(|origin| origin.place).collect();
        assert_eq!(places, [Buffer::Vector, Buffer::Scratch]);
        assert_eq!(origins(&ending)[0], [2, 2]);
    }

    #[test]
    fn a_rotation_brings_the_next_rank_s_block() {
        let script = Script::rotation(Blocks::equal(2, 4)).expect("4 ranks");
        assert_eq!(origins(&ending(&script, 3).expect("it ends")), [[0], [3], [3], [3]]);
    }
}
