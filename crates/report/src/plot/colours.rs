//! Plain attributes of elements, for readers of SVG that know no style sheets or no variables in them: the colours of the
//! light scheme. Where the style sheet is understood, it has precedence.

use super::STYLE;
use super::ink::{Ink, SCALE};

/// A colour of the light scheme by the name of its variable, which is defined there first.
pub(crate) fn plain_colour(name: &str) -> &'static str {
    let value = STYLE.split_once(&format!("--{name}:")).map(|(_, rest)| rest.split([';', '}', '\n']).next());
    value.flatten().unwrap_or("#000")
}

/// Returns true if a group has this class.
fn has(class: &str, part: &str) -> bool {
    class.split(' ').any(|own| own == part)
}

/// The colour of lines of a class.
fn colour(class: &str) -> &'static str {
    let series = class.split(' ').find(|part| part.starts_with('s'));
    match class {
        _ if has(class, "lb") => plain_colour("builtin"),
        _ => plain_colour(series.unwrap_or("faint")),
    }
}

/// Attributes of a path of this ink within a group of this class.
pub(super) fn path_attributes(class: &str, ink: Ink) -> String {
    let line = has(class, "l");
    let stroke = match ink {
        Ink::Axis => plain_colour("axis"),
        Ink::Grid => plain_colour("rule"),
        Ink::Fine => plain_colour("hair"),
        _ => colour(class),
    };
    let tenths = match ink {
        Ink::Interval => 34,
        Ink::Group if has(class, "lb") => 22,
        Ink::Group if line => 16,
        _ => 10,
    };
    let dashes = match ink {
        Ink::Group if has(class, "dash") => " stroke-dasharray=\"500 300\"",
        Ink::Group if has(class, "x") => " stroke-dasharray=\"200 300\"",
        Ink::Interval => " stroke-linecap=\"round\"",
        _ => "",
    };
    format!(" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{}\"{dashes}", tenths * SCALE / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_the_style_sheet_has_a_plain_colour() {
        assert_eq!((colour("l s0"), colour("l lb"), colour("x")), ("#0072b2", "#1c1e21", "#5d626a"));
        for name in ["paper", "text", "faint", "rule", "hair", "axis", "builtin", "none"] {
            assert!(STYLE.contains(&format!("--{name}:{}", plain_colour(name))), "{name}");
        }
    }
}
