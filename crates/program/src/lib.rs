//! Programs: what each rank does in mock-ups, reference algorithms and patterns, in one small language of steps.
//!
//! A rank sends, receives, exchanges, copies, reduces, makes calls with a group of ranks, or is busy. A [`Program`] knows
//! neither MPI nor clocks: the worker carries it out on real buffers, and [`play`] adds up what it costs, all ranks together.
//!
//! | module | job |
//! |---|---|
//! | `step` | the language |
//! | `program` | the steps of a rank, with the buffers that they need |
//! | `seat` | a rank of a call, with its caller's buffers |
//! | `blocks`, `vector` | a vector in a block per rank, and its place in memory |
//! | `tree`, `ring`, `direct` | the primitives of reference algorithms |
//! | [`catalogue`] | one entry per guideline: collective, calls, source |
//! | [`mockup`], `mockup_steps` | names of mock-ups, and the program of each |
//! | `reference` | the reference algorithms of Chan et al. |
//! | `tuned` | the algorithms of coll/tuned |
//! | `pattern` | messages between two, and the operation alone, for the parameters of a machine |
//! | `play`, `platform` | all ranks together, with the time that they take |
//! | `origin` | the data that each rank has in the end |
//! | `bound` | lower bounds for the time of any algorithm |

mod blocks;
mod bound;
pub mod catalogue;
mod direct;
pub mod mockup;
mod mockup_steps;
mod origin;
mod pattern;
mod platform;
mod play;
mod program;
mod reference;
mod ring;
mod seat;
mod step;
mod tree;
mod tuned;
mod vector;

pub use blocks::{BlockRange, Blocks};
pub use bound::{Bound, bound};
pub use mockup::Mockup;
pub use mockup_steps::most_pieces;
pub use origin::{Origin, Piece, trace};
pub use pattern::{late_receive, one_to_two, ping_pong, reduce_local, rotation, train};
pub use platform::Platform;
pub use play::{Costs, Happening, Machine, Stuck, play, play_again, play_and_tell};
pub use program::{Program, Programs};
pub use reference::{Primitive, Reference, ReferenceAlgorithm};
pub use seat::{Arguments, DataType, Even, Seat, type_size};
pub use step::{Buffer, BufferPart, CollectiveCall, NOTHING, RankGroup, Reducing, Step};
pub use tuned::{Unplayable, barrier, known, tuned};
