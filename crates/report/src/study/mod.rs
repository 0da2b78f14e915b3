//! A study for people: the answer, figures, and tables.
//!
//! | module | job |
//! |---|---|
//! | `page` | text and origin of a study |
//! | `conclusion` | the answer from the numbers |
//! | `curves` | peaks, steps and powers of curves |
//! | `figures` | times over communicator and message sizes, as SVG |
//! | `tables` | all times: for people, as CSV, like OSU's benchmarks |
//! | `document` | the whole study |
//! | `references` | reference algorithms: the best class, crossovers, distance from the lower bound |
//! | `variants` | several variants of a study, on one page |
//! | `names` | names of the parts of a study |

mod conclusion;
mod curves;
mod document;
mod figures;
mod names;
mod page;
mod references;
mod tables;
mod variants;

pub use document::document;
pub use figures::{StudyFigure, figures};
pub use names::candidate_name;
pub use page::{About, MeasuredBy};
pub use tables::{csv, osu_files};
pub use variants::{StudyVariant, variants};
