//! Elements of a drawing: few bytes for paths, classes for style sheets, and plain attributes for readers of SVG that know
//! no style sheets or no variables in them. Where the style sheet is understood, it has precedence.

use super::STYLE;
use crate::plain::markup;

/// Units per pixel. Whole hundredths of a pixel let a script read numbers back from curves to four digits.
pub(crate) const SCALE: i32 = 100;

/// The usual size of labels, in units.
pub(crate) const FONT: i32 = 11 * SCALE;

/// A place on a drawing, in units from its upper left corner.
pub(crate) type At = (i32, i32);

/// The meaning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The lines of the axes.
    Axis,
    /// Lines through labelled ticks.
    Grid,
    /// Lines between them.
    Fine,
    /// In the colour of the group around it.
    Line,
    /// The timings of a line, drawn as long as their intervals.
    Interval,
}

/// A drawing that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canvas {
    /// The elements so far.
    pub(crate) text: String,
    /// The classes of the group that is open.
    class: String,
}

impl Canvas {
    /// A group of this class, with a hint for the pointer where there is something to say.
    pub(crate) fn group(&mut self, class: &str, hint: &str, draw: impl FnOnce(&mut Self)) {
        let title = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", markup(hint)) };
        self.text += &format!("<g class=\"{class}\">{title}");
        self.class = class.to_owned();
        draw(self);
        self.class.clear();
        self.text += "</g>";
    }

    /// Lines through these points each, as one path. Steps of whole numbers add up exactly.
    pub(crate) fn path<L: IntoIterator<Item = At>>(&mut self, ink: Ink, lines: impl IntoIterator<Item = L>) {
        let (mut steps, mut pen) = (String::new(), None);
        for line in lines {
            for (place, to) in line.into_iter().enumerate() {
                let (x, y) = pen.replace(to).map_or(to, |from: At| (to.0 - from.0, to.1 - from.1));
                // A minus sign separates numbers by itself.
                let pair = if y < 0 { format!("{x}{y}") } else { format!("{x} {y}") };
                steps += &match (place, x, y) {
                    _ if steps.is_empty() => format!("M{pair}"),
                    (0, ..) => format!("m{pair}"),
                    (_, _, 0) => format!("h{x}"),
                    (_, 0, _) => format!("v{y}"),
                    _ => format!("l{pair}"),
                };
            }
        }
        if !steps.is_empty() {
            self.text += &format!("<path{} d=\"{steps}\"/>", self.describe(ink));
        }
    }

    /// A rectangle between two corners.
    pub(crate) fn area(&mut self, a: At, b: At) {
        let (x, y, width, height) = (a.0.min(b.0), a.1.min(b.1), (a.0 - b.0).abs(), (a.1 - b.1).abs());
        let colour = plain_colour("faint");
        self.text += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" fill-opacity=\".12\"/>"
        );
    }

    /// A text on the base line; `anchor` says what is at the place: its `start`, `middle` or `end`.
    pub(crate) fn label(&mut self, text: &str, (x, y): At, anchor: &str) {
        let colour = plain_colour("faint");
        self.text +=
            &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>", markup(text));
    }

    /// The class of a path of this ink, and its plain attributes.
    fn describe(&self, ink: Ink) -> String {
        let has = |part: &str| self.class.split(' ').any(|own| own == part);
        let series = self.class.split(' ').find(|part| part.starts_with('s'));
        let own = match series {
            Some(series) => series,
            None if has("lb") => "builtin",
            None if has("lm") => "muted",
            None => "faint",
        };
        // Widths in tenths of a pixel.
        let (class, colour, width, more) = match ink {
            Ink::Axis => ("axis", "axis", 10, ""),
            Ink::Grid => ("grid", "rule", 10, ""),
            Ink::Fine => ("fine", "hair", 10, ""),
            Ink::Interval => ("iv", own, if has("lm") { 22 } else { 34 }, " stroke-linecap=\"round\""),
            Ink::Line if has("dash") => ("", own, 16, " stroke-dasharray=\"500 300\""),
            Ink::Line if has("x") => ("", own, 10, " stroke-dasharray=\"200 300\""),
            Ink::Line if has("lb") => ("", own, 22, ""),
            Ink::Line => ("", own, if has("lm") { 10 } else { 16 }, ""),
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let (colour, width) = (plain_colour(colour), width * SCALE / 10);
        format!("{class} fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{more}")
    }
}

/// A colour of the light scheme by the name of its variable, which the style sheet defines there first.
pub(crate) fn plain_colour(name: &str) -> &'static str {
    let value = STYLE.split_once(&format!("--{name}:")).map(|(_, rest)| rest.split([';', '}', '\n']).next());
    value.flatten().unwrap_or("#000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_ink_share_a_path_of_differences() {
        let mut canvas = Canvas::default();
        canvas.path(Ink::Grid, [vec![(1, 2), (1, 9)], vec![(5, 5), (15, 2), (20, 2)]]);
        canvas.path(Ink::Line, [[]]);
        canvas.group("l s0", "", |canvas| canvas.path(Ink::Interval, [[(0, 0), (0, 0)]]));
        assert_eq!(
            canvas.text,
            "<path class=\"grid\" fill=\"none\" stroke=\"#d9dce0\" stroke-width=\"100\" d=\"M1 2v7m4-4l10-3h5\"/>\
             <g class=\"l s0\"><path class=\"iv\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"340\" \
             stroke-linecap=\"round\" d=\"M0 0h0\"/></g>"
        );
    }

    #[test]
    fn every_colour_is_in_the_style_sheet() {
        for name in ["paper", "text", "faint", "rule", "hair", "axis", "builtin", "none", "muted"] {
            assert!(STYLE.contains(&format!("--{name}:{}", plain_colour(name))), "{name}");
        }
        assert_eq!(plain_colour("s0"), "#0072b2");
    }
}
