//! The colours of plots.

/// The style sheet that plots need, once per page: colours as custom properties for light and dark, and what is drawn with
/// them.
///
/// The seven colours of candidates are those of Okabe and Ito (*Color Universal Design*, 2008) but for black, which
/// is the builtin's, yellow made darker where it is a line on white. Speedups go from orange over the colour of the paper
/// to blue, which people with any common colour blindness tell apart.
pub(crate) const STYLE: &str = include_str!("style.css");
