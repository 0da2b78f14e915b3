//! A study for people: a conclusion from the numbers, figures, and tables.
//!
//! | module | job |
//! |---|---|
//! | `about` | subject and origin of a study |
//! | `conclusion` | the conclusion from the numbers, in whole sentences |
//! | `curves` | peaks, steps and bends of curves |
//! | `figures` | times over communicator and message sizes, as SVG |
//! | `tables` | all times, for people and as CSV |
//! | `document` | the whole study |
//! | `references` | reference algorithms: the best class, crossovers, times over the bound |
//! | `variants` | several variants of a study, on one page |
//! | `osu_files` | its times in files like those of OSU's benchmarks |
//! | `names` | names of the parts of a study |

mod about;
mod conclusion;
mod curves;
mod document;
mod figures;
mod names;
mod osu_files;
mod references;
mod tables;
mod variants;

pub use about::{About, MeasuredBy};
pub use conclusion::conclusion;
pub use document::document;
pub use figures::{StudyFigure, figures, undrawn};
pub use names::candidate_name;
pub use osu_files::osu_files;
pub use tables::csv;
pub use variants::{StudyVariant, Variants, Varying, answers, variants};
