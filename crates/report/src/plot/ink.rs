//! Inks of a drawing: meanings to which style sheets assign a colour.

use plotters::style::RGBColor;
use plotters_backend::BackendColor;

/// Units per pixel. Plotters has whole coordinates only; a hundredth of a pixel lets a script read numbers back from
/// curves to four digits.
pub(crate) const SCALE: i32 = 100;

/// Number of candidates with a colour of their own; further ones repeat the colours with dashed lines and lighter
/// tiles.
pub(crate) const COLOURS: usize = 7;

/// The meaning of a stroke, an area or a text. Plotters passes colours through; each stands for an ink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Labels.
    Text,
    /// The lines of the axes.
    Axis,
    /// Lines through labelled ticks.
    Grid,
    /// Lines between them.
    Fine,
    /// Whatever the group around it says.
    Group,
    /// The timings of a line, drawn as long as their intervals.
    Interval,
}

const INKS: [Ink; 6] = [Ink::Text, Ink::Axis, Ink::Grid, Ink::Fine, Ink::Group, Ink::Interval];

impl Ink {
    /// The colour that stands for it.
    pub(crate) fn colour(self) -> RGBColor {
        let place = INKS.iter().position(|ink| *ink == self).unwrap_or_default();
        RGBColor(u8::try_from(place).unwrap_or_default(), 0, 0)
    }

    /// The ink that a colour stands for.
    pub(crate) fn from_colour(colour: BackendColor) -> Self {
        INKS.get(usize::from(colour.rgb.0)).copied().unwrap_or(Self::Text)
    }

    /// The class of elements that are drawn with it.
    pub(crate) fn class(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Group => None,
            Self::Axis => Some("axis"),
            Self::Grid => Some("grid"),
            Self::Fine => Some("fine"),
            Self::Interval => Some("iv"),
        }
    }
}
