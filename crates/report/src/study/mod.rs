//! A study as people read it: a conclusion drawn from the numbers, figures, and tables.
//!
//! | module | job |
//! |---|---|
//! | `about` | what is asked |
//! | `conclusion` | what the numbers come to, in whole sentences |
//! | `curves` | where times are highest, and where their curves bend |
//! | `figures` | times over communicator and message sizes, as SVG |
//! | `tables` | all times, for people and as CSV |
//! | `markdown` | all of it in one document |
//! | `references` | reference algorithms: the best class, crossovers, times over the bound |
//! | `placements` | a study on several placements, in one page |
//! | `osu_files` | its times as OSU's benchmarks print theirs |
//! | `names` | what the parts of a study are called |

mod about;
mod conclusion;
mod curves;
mod figures;
mod markdown;
mod names;
mod osu_files;
mod placements;
mod references;
mod tables;

pub use about::{About, MeasuredBy};
pub use conclusion::conclusion;
pub use figures::{Figure, figures, undrawn};
pub use markdown::markdown;
pub use names::candidate_name;
pub use osu_files::osu_files;
pub use placements::{Placed, Placements, placements};
pub use tables::csv;
