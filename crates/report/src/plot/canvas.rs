//! Canvas for plotters: elements of SVG, with classes for colours and few bytes for paths.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write;
use std::rc::Rc;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind as Failure,
};

use super::colours::{path_attributes, plain_colour};
use super::ink::{Ink, SCALE};
use crate::plain::markup;

/// The usual size of labels, in units.
pub(crate) const FONT: i32 = 11 * SCALE;

type Drawn = Result<(), Failure<Infallible>>;

/// A drawing that grows. Clones draw on the same sheet, so that groups can be opened between what plotters draws.
#[derive(Clone)]
pub(crate) struct Canvas {
    size: (u32, u32),
    sheet: Rc<RefCell<Sheet>>,
}

#[derive(Default)]
struct Sheet {
    text: String,
    /// The path that is not closed yet, and where its pen is.
    path: Option<(Ink, BackendCoord)>,
    /// The classes of the groups that are open.
    groups: Vec<String>,
}

impl Canvas {
    /// An empty canvas of this size, in units.
    pub(crate) fn new(size: (u32, u32)) -> Self {
        Self { size, sheet: Rc::default() }
    }

    /// Begins a group of this class, with a hint for the pointer where there is something to say.
    pub(crate) fn open(&self, class: &str, hint: &str) {
        let title = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", markup(hint)) };
        self.add(&format!("<g class=\"{}\">{title}", markup(class)));
        self.sheet.borrow_mut().groups.push(class.to_owned());
    }

    /// Ends the group that began last.
    pub(crate) fn close(&self) {
        self.add("</g>");
        self.sheet.borrow_mut().groups.pop();
    }

    /// A line through these points.
    pub(crate) fn stroke(&self, ink: Ink, points: impl IntoIterator<Item = BackendCoord>) {
        let mut sheet = self.sheet.borrow_mut();
        let mut points = points.into_iter();
        let Some(first) = points.next() else { return };
        sheet.move_to(ink, first);
        points.for_each(|point| sheet.line_to(point));
    }

    /// A rectangle between two corners.
    pub(crate) fn area(&self, a: BackendCoord, b: BackendCoord) {
        let (x, y, width, height) = (a.0.min(b.0), a.1.min(b.1), (a.0 - b.0).abs(), (a.1 - b.1).abs());
        let colour = plain_colour("faint");
        self.add(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" fill-opacity=\".12\"/>"
        ));
    }

    /// A text on the base line that begins, or is centred, or ends here.
    pub(crate) fn label(&self, text: &str, at: BackendCoord, anchor: HPos) {
        let anchor = match anchor {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        let colour = plain_colour("faint");
        self.add(&format!("<text x=\"{}\" y=\"{}\"{anchor} fill=\"{colour}\">{}</text>", at.0, at.1, markup(text)));
    }

    fn add(&self, element: &str) {
        let mut sheet = self.sheet.borrow_mut();
        sheet.close();
        sheet.text.push_str(element);
    }

    /// Everything drawn so far.
    pub(crate) fn finish(&self) -> String {
        let mut sheet = self.sheet.borrow_mut();
        sheet.close();
        std::mem::take(&mut sheet.text)
    }
}

impl Sheet {
    /// The class of the group that elements are in.
    fn class(&self) -> &str {
        self.groups.last().map_or("", String::as_str)
    }

    fn close(&mut self) {
        if self.path.take().is_some() {
            self.text.push_str("\"/>");
        }
    }

    /// Puts the pen somewhere: continues the path at hand if it is of the same ink.
    fn move_to(&mut self, ink: Ink, to: BackendCoord) {
        match self.path {
            Some((same, pen)) if same == ink => {
                self.text.push('m');
                self.pair(to.0 - pen.0, to.1 - pen.1);
            }
            _ => {
                self.close();
                let class = ink.class().map_or(String::new(), |class| format!(" class=\"{class}\""));
                let plain = path_attributes(self.class(), ink);
                // Writing to a string cannot fail.
                let _ = write!(self.text, "<path{class}{plain} d=\"M");
                self.pair(to.0, to.1);
            }
        }
        self.path = Some((ink, to));
    }

    /// Draws from the pen to somewhere; whole numbers, so that differences add up exactly.
    fn line_to(&mut self, to: BackendCoord) {
        let Some((ink, pen)) = self.path else { return };
        let (x, y) = (to.0 - pen.0, to.1 - pen.1);
        let _ = match (x, y) {
            (_, 0) => write!(self.text, "h{x}"),
            (0, _) => write!(self.text, "v{y}"),
            _ => {
                self.text.push('l');
                self.pair(x, y);
                Ok(())
            }
        };
        self.path = Some((ink, to));
    }

    /// Two numbers; a minus sign separates by itself.
    fn pair(&mut self, x: i32, y: i32) {
        let _ = if y < 0 { write!(self.text, "{x}{y}") } else { write!(self.text, "{x} {y}") };
    }
}

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        self.draw_line(point, point, &colour)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        self.stroke(Ink::from_colour(style.color()), path);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, _: &S, _: bool) -> Drawn {
        self.area(a, b);
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Drawn {
        let below = match style.anchor().v_pos {
            VPos::Top => 0.8,
            VPos::Center => 0.36,
            VPos::Bottom => 0.0,
        };
        self.label(text, (at.0, at.1 + (style.size() * below).round() as i32), style.anchor().h_pos);
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), Failure<Infallible>> {
        let size = style.size();
        Ok(((text.chars().count() as f64 * size * 0.56).ceil() as u32, size.ceil() as u32))
    }
}

#[cfg(test)]
mod tests {
    use plotters::style::ShapeStyle;

    use super::*;

    #[test]
    fn strokes_of_one_ink_share_a_path_until_a_group_begins() {
        let mut canvas = Canvas::new((100, 100));
        let style = |ink: Ink| -> ShapeStyle { ink.colour().into() };
        canvas.draw_line((1, 2), (1, 9), &style(Ink::Grid)).expect("drawn");
        canvas.draw_path([(5, 5), (15, 2), (20, 2)], &style(Ink::Grid)).expect("drawn");
        canvas.draw_line((0, 0), (0, 0), &style(Ink::Interval)).expect("drawn");
        canvas.open("g", "");
        assert_eq!(
            canvas.finish(),
            "<path class=\"grid\" fill=\"none\" stroke=\"#d9dce0\" stroke-width=\"100\" d=\"M1 2v7m4-4l10-3h5\"/>\
             <path class=\"iv\" fill=\"none\" stroke=\"#5d626a\" stroke-width=\"340\" stroke-linecap=\"round\" d=\"M0 0h0\"/>\
             <g class=\"g\">"
        );
    }
}
