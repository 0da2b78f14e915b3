//! Plots as SVG that takes its colours from style sheets: it follows the light or dark scheme of its reader.
//!
//! | item | what it is |
//! |---|---|
//! | [`Curves`] | times, with intervals, over message or communicator sizes: one line per candidate |
//! | [`Heatmap`] | one value per communicator size and message size, in colour and as text |
//! | [`Picture`] | what either gives: a fragment for a page that has [`STYLE`], or a document of its own |
//!
//! A document has a heading and a legend, and needs no other file; use it for files beside a text:
//!
//! ```
//! use collrules_record::Estimate;
//! use collrules_report::plot::{Curves, Line, Point, Stroke, X};
//!
//! let time = |point| Estimate { point, low: Some(0.95 * point), high: Some(1.1 * point), level: 0.95, samples: 24 };
//! let points = [(1, 2e-6), (1024, 3e-6), (1 << 20, 9e-4)].map(|(x, seconds)| Point { x, time: time(seconds) });
//! let line = Line { name: "binomial".to_owned(), stroke: Stroke::Series(0), points: points.to_vec() };
//! let curves = Curves { lines: vec![line], ..Curves::new("bcast on 8 ranks", X::MessageBytes) };
//! assert!(curves.picture().document("bcast on 8 ranks").starts_with("<svg"));
//! ```

mod axis;
mod canvas;
mod curves;
mod heatmap;
mod ink;
mod picture;
mod style;

pub use axis::X;
pub use curves::{Curves, Line, Mark, Point, Stroke};
pub use heatmap::{Fill, Heatmap, Tile};
pub use picture::{Entry, Picture, escape};
pub use style::STYLE;

/// How many candidates have a colour of their own; further ones repeat the colours with dashed lines and lighter tiles.
pub const COLOURS: usize = 7;
