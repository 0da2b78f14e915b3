//! A drawing that can stand in a page or by itself.

use plotters_backend::text_anchor::HPos;

use super::STYLE;
use super::canvas::{Canvas, FONT};
use super::colours::plain_colour;
use super::ink::{Ink, SCALE};
use crate::plain::markup;
use crate::words::wrapped;

/// A finished drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Description for readers who cannot see the picture.
    pub description: String,
    /// Further attributes of the `svg` element.
    pub attributes: String,
    /// Width and height in units.
    pub size: (u32, u32),
    /// The elements.
    pub content: String,
    /// Legend of the colours.
    pub legend: Vec<Entry>,
}

/// Entry of a legend: a colour and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The classes of a line or tile of that kind.
    pub class: String,
    /// Meaning of the colour.
    pub name: String,
}

impl Picture {
    /// As part of a page that has `STYLE`: an `svg` element without heading and legend,
    /// as wide as there is room. Its custom property `--w` is its own width.
    pub fn fragment(&self) -> String {
        let (width, height) = self.size;
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" style=\"--w:{}px\" font-size=\"{FONT}\" font-family=\"sans-serif\" role=\"img\" \
             aria-label=\"{}\"{}>{}</svg>",
            width / SCALE as u32,
            markup(&self.description),
            self.attributes,
            self.content,
        )
    }

    /// As a file of its own, with a heading, a legend, and its colours.
    pub fn document(&self, heading: &str) -> String {
        let (wide, high) = self.size;
        let (width, height) = (wide / SCALE as u32, high / SCALE as u32);
        let (legend, rows) = legend(&self.legend, f64::from(width));
        let lines = wrapped(((f64::from(width) - 24.0) / HEADING) as usize, heading, "", "");
        let top = 12 + 18 * lines.len() as u32;
        let line = |(place, text): (usize, &String)| {
            format!(
                "<text class=\"heading\" x=\"12\" y=\"{}\" font-size=\"14\" font-weight=\"600\" fill=\"{}\">{}</text>",
                20 + 18 * place,
                plain_colour("text"),
                markup(text),
            )
        };
        let lines: String = lines.iter().enumerate().map(line).collect();
        let (below, total) = (top + height, top + height + rows);
        let part = |class: &str, y: u32, height: u32, content: &str| {
            format!(
                "<svg class=\"plot {class}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                 viewBox=\"0 0 {wide} {}\" font-size=\"{FONT}\">{content}</svg>",
                height * SCALE as u32,
            )
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" \
             height=\"{total}\" font-family=\"sans-serif\" role=\"img\" aria-label=\"{}\">\
             <style>@supports (color:var(--a)){{{STYLE}{DOCUMENT}}}</style>\
             <rect class=\"page\" width=\"{width}\" height=\"{total}\" fill=\"{}\"/>\
             {lines}{}{}</svg>\n",
            markup(&self.description),
            plain_colour("paper"),
            part("", top, height, &self.content),
            part("legend", below, rows, &legend),
        )
    }
}

/// Width of a character of a heading on average; wide, since fonts differ.
const HEADING: f64 = 8.0;

/// Styles that only a document needs.
const DOCUMENT: &str = "\
svg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\
.page{fill:var(--paper)}.heading{font-size:14px;font-weight:600;fill:var(--text)}";

/// Lines of a legend from left to right, in as many rows as they need, and how high those are in pixels.
fn legend(entries: &[Entry], width: f64) -> (String, u32) {
    const ROW: i32 = 18;
    let canvas = Canvas::new((0, 0));
    let (mut x, mut y) = (12.0, 0);
    for entry in entries {
        let wide = 34.0 + entry.name.chars().count() as f64 * 6.2;
        if x + wide > width && x > 12.0 {
            (x, y) = (12.0, y + ROW);
        }
        let at = |right: f64, down: i32| (((x + right) * f64::from(SCALE)) as i32, (y + down) * SCALE);
        canvas.open(&entry.class, "");
        canvas.stroke(Ink::Group, [at(0.0, 8), at(18.0, 8)]);
        canvas.close();
        canvas.label(&entry.name, at(24.0, 12), HPos::Left);
        x += wide;
    }
    (canvas.finish(), if entries.is_empty() { 0 } else { (y + ROW + 6).unsigned_abs() })
}
