//! Drawings as SVG that takes its colours from style sheets, and so follows the light or dark scheme of its reader. Readers
//! that know no style sheets have plain attributes in the colours of the light scheme.
//!
//! | item | what it is |
//! |---|---|
//! | [`Curves`] | times, with intervals, over message or communicator sizes: one line per candidate |
//! | [`Places`] | heatmaps: one value per communicator size and message size, in colour and as text |
//! | `canvas` | what all drawings are made on; `plotters` draws on it too |
//! | [`Picture`] | what each gives: a fragment for a page that has [`STYLE`], or a document of its own |

mod axis;
mod canvas;
mod colours;
mod curves;
mod heatmap;
mod ink;
mod picture;
mod places;
mod style;

pub(crate) use axis::X;
pub(crate) use curves::{Curves, Line, Mark, Reading, Stroke};
pub(crate) use heatmap::{Fill, Heatmap, Tile};
pub(crate) use ink::COLOURS;
pub(crate) use picture::{Entry, Picture};
pub(crate) use places::Places;
pub(crate) use style::STYLE;
