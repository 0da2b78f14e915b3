//! Curves as SVG that takes its colours from style sheets, and so follows the light or dark scheme of its reader. Readers
//! that know no style sheets have plain attributes in the colours of the light scheme.
//!
//! | item | what it is |
//! |---|---|
//! | [`Curves`] | times, with intervals, over message or communicator sizes: one line per candidate |
//! | `axis` | logarithmic axes with round ticks |
//! | `canvas` | what drawings are made on; `plotters` draws on it too |
//! | [`Picture`] | a drawing: a fragment for a page that has `STYLE`, or a document of its own |

mod axis;
mod canvas;
mod colours;
mod curves;
mod ink;
mod picture;

pub(crate) use axis::Axis;
pub use axis::X;
pub use curves::{Curves, Line, Mark, Reading, Stroke};
pub(crate) use ink::COLOURS;
pub use picture::{Entry, Picture};

/// The style sheet of plots and maps, once per page: colours as custom properties for light and dark, and what is drawn
/// with them.
///
/// The seven colours of candidates are those of Okabe and Ito (*Color Universal Design*, 2008) but for black, which
/// is the builtin's, yellow made darker where it is a line on white. Speedups go from orange over the colour of the paper
/// to blue, which people with any common colour blindness tell apart.
pub(crate) const STYLE: &str = include_str!("style.css");
