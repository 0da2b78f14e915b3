//! A drawing that can stand in a page or by itself.

use std::fmt::Write;

use super::canvas::{FONT, SCALE};
use super::style::STYLE;

/// A finished drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it is, for readers who cannot see it.
    pub(super) description: String,
    /// Further attributes of the `svg` element.
    pub(super) attributes: String,
    /// Width and height in units.
    pub(super) size: (u32, u32),
    /// The elements.
    pub(super) content: String,
    /// What the colours mean.
    pub(super) legend: Vec<Entry>,
}

/// What a colour means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The classes of a line or tile of that kind.
    pub class: String,
    /// What it stands for.
    pub name: String,
}

impl Picture {
    /// As part of a page that has [`STYLE`]: an `svg` element without heading and legend, as wide as there is room.
    pub fn fragment(&self) -> String {
        let (width, height) = self.size;
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" font-size=\"{FONT}\" role=\"img\" \
             aria-label=\"{}\"{}>{}</svg>",
            escape(&self.description),
            self.attributes,
            self.content,
        )
    }

    /// As a file of its own, with a heading, a legend, and its colours.
    pub fn document(&self, heading: &str) -> String {
        let (width, height) = (self.size.0 / SCALE as u32, self.size.1 / SCALE as u32);
        let (legend, rows) = legend(&self.legend, f64::from(width));
        let top = 30;
        let total = top + height + rows;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" \
             height=\"{total}\" role=\"img\" aria-label=\"{}\"><style>{STYLE}{DOCUMENT}</style>\
             <rect class=\"page\" width=\"{width}\" height=\"{total}\"/>\
             <text class=\"heading\" x=\"12\" y=\"20\">{}</text>\
             <svg class=\"plot\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" \
             font-size=\"{FONT}\">{}</svg><g class=\"plot legend\" transform=\"translate(0 {})\">{legend}</g></svg>\n",
            escape(&self.description),
            escape(heading),
            self.size.0,
            self.size.1,
            self.content,
            top + height,
        )
    }
}

/// What only a document needs.
const DOCUMENT: &str = "\
svg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\
.page{fill:var(--paper)}.heading{font-size:14px;font-weight:600;fill:var(--text)}.legend text{font-size:11px}";

/// Entries from left to right, in as many rows as they need, and how high those are.
fn legend(entries: &[Entry], width: f64) -> (String, u32) {
    const ROW: u32 = 18;
    let (mut text, mut x, mut y) = (String::new(), 12.0, 0);
    for entry in entries {
        let wide = 34.0 + entry.name.chars().count() as f64 * 6.2;
        if x + wide > width && x > 12.0 {
            (x, y) = (12.0, y + ROW);
        }
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<g class=\"{0}\"><path d=\"M{x} {1}h18\"/><rect x=\"{2}\" y=\"{3}\" width=\"12\" height=\"12\"/></g>\
             <text x=\"{4}\" y=\"{5}\">{6}</text>",
            escape(&entry.class),
            y + 8,
            x + 3.0,
            y + 2,
            x + 24.0,
            y + 12,
            escape(&entry.name),
        );
        x += wide;
    }
    (text, if entries.is_empty() { 0 } else { y + ROW + 6 })
}

/// Text as it may stand in markup, between tags and in attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // No other control characters are allowed in XML.
            control if control.is_control() && !matches!(control, '\t' | '\n') => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}
