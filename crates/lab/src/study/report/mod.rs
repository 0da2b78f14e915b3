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

pub(super) use document::document;
pub(super) use figures::figures;
pub(super) use names::candidate_name;
pub(super) use page::{About, MeasuredBy};
pub(super) use tables::{csv, osu_files};
pub(super) use variants::{StudyVariant, variants};
