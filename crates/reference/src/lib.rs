//! Reference algorithms for collectives, described once: what each rank sends, receives and reduces, step by step.
//!
//! They are those of Chan, Heimlich, Purkayastha and van de Geijn, *Collective communication: theory, practice, and
//! experience* (2007), which build every collective from a few primitives, once for short and once for long vectors.
//! A [`Script`] knows neither MPI nor clocks. The worker carries it out with messages, tests play it in memory, and
//! [`play`] adds up what it costs.
//!
//! | module | job |
//! |---|---|
//! | `blocks` | the vector and its division into a block per rank |
//! | `step` | what a rank does at a time |
//! | `tree`, `ring`, `direct` | the primitives |
//! | `script` | compositions of primitives: the reference algorithms |
//! | `pattern` | messages between two, and the operation alone: what the machine's numbers are found by |
//! | `play` | all ranks together, with the time that they take |
//! | `ending` | what each rank has in the end |
//! | `bound` | the time that no algorithm can undercut |

mod blocks;
mod bound;
mod direct;
mod ending;
mod pattern;
mod play;
mod ring;
mod script;
mod step;
mod tree;

pub use blocks::{Blocks, Range};
pub use bound::{Bound, bound, rotation_bound};
pub use ending::{Contribution, Ending, ending};
pub use pattern::{late_receive, one_to_two, ping_pong, reduce_local, train};
pub use play::{Costs, Happening, Machine, Stuck, play};
pub use script::{Primitive, Reference, Script};
pub use step::{Buffer, Step};
