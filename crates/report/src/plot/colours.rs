//! Plain attributes of elements, for readers of SVG that know no style sheets or no variables in them: the colours of the
//! light scheme. Where the style sheet is understood, it has precedence.

use super::ink::{Ink, SCALE};
use super::style::STYLE;

/// A colour of the light scheme by the name of its variable, which is defined there first.
pub(crate) fn plain_colour(name: &str) -> &'static str {
    let value = STYLE.split_once(&format!("--{name}:")).map(|(_, rest)| rest.split([';', '}', '\n']).next());
    value.flatten().unwrap_or("#000")
}

/// The number of a class such as `s3`, under another letter.
fn numbered(class: &str, letter: char, as_letter: char) -> Option<String> {
    let number = class.split(' ').find_map(|part| part.strip_prefix(letter)?.parse::<u8>().ok())?;
    Some(format!("{as_letter}{number}"))
}

/// Returns true if a group has this class.
fn has(class: &str, part: &str) -> bool {
    class.split(' ').any(|own| own == part)
}

/// The colour that lines and tiles of a class have.
fn colour(class: &str) -> &'static str {
    let series = || numbered(class, 's', 's').or_else(|| numbered(class, 'd', 'd'));
    match class {
        _ if has(class, "lb") => plain_colour("builtin"),
        _ if has(class, "lm") => plain_colour("muted"),
        _ if has(class, "tb") => plain_colour("none"),
        _ => series().map_or(plain_colour("faint"), |name| plain_colour(&name)),
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
        Ink::Interval if has(class, "lm") => 22,
        Ink::Interval => 34,
        Ink::Group if has(class, "lb") => 22,
        Ink::Group if line && !has(class, "lm") => 16,
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

/// Attributes of a rectangle within a group of this class.
pub(super) fn area_attributes(class: &str) -> String {
    let opacity = match class {
        _ if has(class, "x") => " fill-opacity=\".12\"",
        _ if has(class, "light") => " fill-opacity=\".6\"",
        _ => "",
    };
    format!(" fill=\"{}\"{opacity}", colour(class))
}

/// The colour of a text within a group of this class.
pub(super) fn text_colour(class: &str) -> &'static str {
    let on_series = || numbered(class, 's', 'o').or_else(|| numbered(class, 'd', 'e'));
    match class {
        _ if has(class, "name") || has(class, "light") => plain_colour("text"),
        _ if has(class, "t") => on_series().map_or(plain_colour("faint"), |name| plain_colour(&name)),
        _ => plain_colour("faint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_the_style_sheet_has_a_plain_colour() {
        assert_eq!((colour("l s0"), colour("t d9"), colour("l lb")), ("#0072b2", "#0b559f", "#1c1e21"));
        assert_eq!((text_colour("t d9"), text_colour("t s6 light"), text_colour("")), ("#fff", "#1c1e21", "#5d626a"));
        for name in ["paper", "text", "faint", "rule", "hair", "axis", "builtin", "none", "muted"] {
            assert!(STYLE.contains(&format!("--{name}:{}", plain_colour(name))), "{name}");
        }
    }
}
