//! The one model of results for people: a result builds a [`Document`] once, and each format renders it.
//!
//! Texts are plain, and may come from elsewhere: each format makes them harmless. What stands between backquotes is code.
//!
//! | module | job |
//! |---|---|
//! | `model` | documents and their blocks |
//! | [`terminal`] | text of a width |
//! | `markdown` | a file |
//! | `html` | a page that needs no other file |

mod html;
mod markdown;
mod model;
pub(crate) mod terminal;

pub(crate) use html::{legend, map, markup, plots, prose};
pub use model::Document;
pub(crate) use model::{Block, Part, Table};
