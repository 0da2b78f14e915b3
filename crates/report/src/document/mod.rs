//! The one model of results for people: a result builds a [`Document`] once, and each format renders it.
//!
//! Texts are plain, and may come from elsewhere: each format makes them harmless. What stands between backquotes is code.
//!
//! | module | job |
//! |---|---|
//! | `model` | documents and their blocks |
//! | `terminal` | text of a width |
//! | `markdown` | a file |
//! | `html` | a page that needs no other file |
//! | `map` | maps of pages |

mod html;
mod map;
mod markdown;
mod model;
pub(crate) mod terminal;

pub use html::{legend, plots};
pub(crate) use html::{markup, prose};
pub use map::{Fill, Heatmap, Tile, ratios, slownesses};
pub use model::Document;
pub(crate) use model::SIMULATED;
pub use model::{Block, Section, Table};
