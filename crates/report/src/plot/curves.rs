//! Times over sizes, one line per candidate.

use std::fmt::Write;

use collrules_record::Estimate;
use plotters::prelude::*;
use plotters_backend::text_anchor::HPos;

use super::axis::{self, Axis, X, time_position};
use super::canvas::{Canvas, FONT};
use super::ink::SCALE;
use super::ink::{COLOURS, Ink};
use super::picture::{Entry, Picture};

/// Times of several candidates along one axis of sizes; both axes are logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Description for readers who cannot see the plot.
    pub description: String,
    /// Quantity along the horizontal axis.
    pub x: X,
    /// The lines; later ones lie over earlier ones.
    pub lines: Vec<Line>,
    /// Sizes at which something changes.
    pub marks: Vec<Mark>,
    /// The times in seconds that the vertical axis has to show beside those of the lines, so that plots can share an axis.
    pub times: Option<(f64, f64)>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// The times of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Stroke of the line.
    pub stroke: Stroke,
    /// Its points, by ascending size. Times that are not positive are not drawn.
    pub points: Vec<Reading>,
}

/// A time with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Message bytes or ranks.
    pub x: u64,
    /// Seconds.
    pub time: Estimate,
}

/// Stroke of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// The builtin: in the colour of the text, and broad.
    Builtin,
    /// A colour, from 0 on; from `COLOURS` on they repeat with dashed lines.
    Series(usize),
}

/// A size at which something changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Message bytes or ranks.
    pub at: u64,
    /// Interval that certainly contains it, as far as that is known.
    pub interval: Option<(u64, u64)>,
    /// Description of the change.
    pub note: String,
}

/// A point that takes so many times as long as its neighbours, and longer than their sizes explain, is a spike.
const SPIKE: f64 = 5.0;

impl Line {
    /// The times without spikes, which set the axis.
    pub fn usual_times(&self) -> impl Iterator<Item = f64> {
        let usual = (0..self.points.len()).filter(|place| !self.is_spike(*place));
        usual.map(|place| self.points[place].time.point)
    }

    fn is_spike(&self, place: usize) -> bool {
        let point = self.points[place];
        let beside = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
        let mut neighbours = beside.filter_map(|place| self.points.get(place)).peekable();
        let growth = |other: &Reading| (point.x as f64 / other.x.max(1) as f64).max(1.0);
        neighbours.peek().is_some()
            && neighbours.all(|other| point.time.point > SPIKE * growth(other) * other.time.point)
    }
}

impl Stroke {
    /// The classes of what is drawn so.
    pub fn class(self) -> String {
        match self {
            Self::Builtin => "l lb".to_owned(),
            Self::Series(number) if number < COLOURS => format!("l s{number}"),
            Self::Series(number) => format!("l s{} dash", number % COLOURS),
        }
    }
}

impl Curves {
    /// Without lines yet, and of the usual size.
    pub fn new(description: &str, x: X) -> Self {
        let (lines, marks) = (Vec::new(), Vec::new());
        Self { description: description.to_owned(), x, lines, marks, times: None, size: (420, 280) }
    }

    /// The drawing.
    pub fn picture(&self) -> Picture {
        let size = (self.size.0 * SCALE as u32, self.size.1 * SCALE as u32);
        let mut xs: Vec<u64> = self.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        xs.sort_unstable();
        xs.dedup();
        let canvas = Canvas::new(size);
        let (x, y) = (self.x.axis(&xs, self.size.0), axis::time_axis(self.seconds()));
        // Only fonts that cannot be read make plotters fail, and the canvas reads none.
        let frame = self.draw(canvas.clone(), &x, &y).unwrap_or_default();
        let mut attributes = frame;
        if !xs.is_empty() {
            let kind = if self.x == X::Ranks { "ranks" } else { "bytes" };
            let xs: Vec<String> = xs.iter().map(ToString::to_string).collect();
            // Writing to a string cannot fail.
            let _ = write!(attributes, " data-kind=\"{kind}\" data-xs=\"{}\"", xs.join(" "));
        }
        let entry = |line: &Line| Entry { class: line.stroke.class(), name: line.name.clone() };
        let legend = self.lines.iter().map(entry).collect();
        Picture { description: self.description.clone(), attributes, size, content: canvas.finish(), legend }
    }

    /// The times that the axis has to show. Spikes and the ends of intervals do not set it.
    fn seconds(&self) -> impl Iterator<Item = f64> {
        let drawn = self.lines.iter().flat_map(Line::usual_times);
        drawn.chain(self.times.into_iter().flat_map(|(low, high)| [low, high]))
    }

    /// Draws, and tells a script where the axes are: ` data-x="left right low high" data-y="bottom top low high"`.
    fn draw(
        &self,
        canvas: Canvas,
        x: &Axis,
        y: &Axis,
    ) -> Result<String, DrawingAreaErrorKind<std::convert::Infallible>> {
        let area = canvas.clone().into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_top(8 * SCALE)
            .margin_right(22 * SCALE)
            .x_label_area_size(24 * SCALE)
            .y_label_area_size(52 * SCALE)
            .build_cartesian_2d(x.clone(), y.clone())?;
        let labels = ("sans-serif", FONT).into_font().color(&Ink::Text.colour());
        chart
            .configure_mesh()
            .bold_line_style(Ink::Grid.colour())
            .light_line_style(Ink::Fine.colour())
            .axis_style(Ink::Axis.colour())
            .label_style(labels)
            .set_all_tick_mark_size(4 * SCALE)
            .x_label_formatter(&|position| self.x.label(*position))
            .y_label_formatter(&|position| axis::time_label(*position))
            .draw()?;
        let area = chart.plotting_area();
        let (left, bottom) = area.map_coordinate(&(x.range.0, y.range.0));
        let (right, top) = area.map_coordinate(&(x.range.1, y.range.1));
        for mark in &self.marks {
            canvas.open("x", &mark.note);
            let at = |value: u64| self.x.position(value as f64).clamp(x.range.0, x.range.1);
            if let Some((from, to)) = mark.interval.filter(|(from, to)| from < to) {
                area.draw(&Rectangle::new([(at(from), y.range.0), (at(to), y.range.1)], Ink::Group.colour()))?;
            }
            let line = vec![(at(mark.at), y.range.0), (at(mark.at), y.range.1)];
            area.draw(&PathElement::new(line, Ink::Group.colour()))?;
            canvas.close();
        }
        for line in &self.lines {
            canvas.open(&line.stroke.class(), &line.name);
            let place = |point: &Reading| Some((self.x.position(point.x as f64), time_position(point.time.point)?));
            let is_inside = |(_, time): &(f64, f64)| (y.range.0..=y.range.1).contains(time);
            for run in line
                .points
                .chunk_by(|a, b| place(a).is_some_and(|at| is_inside(&at)) == place(b).is_some_and(|at| is_inside(&at)))
            {
                let points: Vec<(f64, f64)> = run.iter().filter_map(place).filter(is_inside).collect();
                area.draw(&PathElement::new(points, Ink::Group.colour()))?;
            }
            for point in &line.points {
                let Some((x, middle)) = place(point).filter(is_inside) else { continue };
                let end = |end: Option<f64>| {
                    end.and_then(time_position).map_or(middle, |end| end.clamp(y.range.0, y.range.1))
                };
                let interval = vec![(x, end(point.time.low)), (x, end(point.time.high))];
                area.draw(&PathElement::new(interval, Ink::Interval.colour()))?;
            }
            for (x, time) in line.points.iter().filter_map(place).filter(|at| !is_inside(at)) {
                // Whatever lies beyond the axis has its time as text at the edge.
                let (x, _) = area.map_coordinate(&(x, y.range.1));
                canvas.label(&format!("\u{2191}{}", axis::time_label(time)), (x, top + FONT), HPos::Center);
            }
            canvas.close();
        }
        Ok(format!(
            " data-x=\"{left} {right} {} {}\" data-y=\"{bottom} {top} {} {}\"",
            x.range.0, x.range.1, y.range.0, y.range.1
        ))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn curves(points: &[(u64, f64)]) -> Curves {
        let time = |point: f64| Estimate { point, low: Some(point * 0.9), high: None, level: 0.95, samples: 9 };
        let points = points.iter().map(|(x, seconds)| Reading { x: *x, time: time(*seconds) }).collect();
        let line = Line { name: "a<b".to_owned(), stroke: Stroke::Series(8), points };
        let mark = Mark { at: 4096, interval: Some((4000, 5000)), note: "changes".to_owned() };
        Curves { lines: vec![line], marks: vec![mark], ..Curves::new("of \"it\"", X::MessageBytes) }
    }

    /// Reads numbers as the script of the page does: undoes the axes, and the whole units of the path.
    #[test]
    fn numbers_can_be_read_back_from_the_drawing() {
        let points = [(1, 1.234e-6), (1 << 10, 2.5e-5), (1 << 20, 0.012)];
        let picture = curves(&points).picture();
        let axis = |name: &str| -> Vec<f64> {
            let text = picture.attributes.split(&format!("{name}=\"")).nth(1).unwrap();
            text.split('"').next().unwrap().split(' ').map(|number| number.parse().unwrap()).collect()
        };
        let y = axis("data-y");
        let path = picture.content.split("</title>").last().unwrap().split(" d=\"M").nth(1).unwrap();
        let path = path.split('"').next().unwrap();
        let steps: Vec<&str> = path.split('l').collect();
        let pair = |text: &str| -> (f64, f64) {
            let cut = text[1..].find([' ', '-']).unwrap() + 1;
            (text[..cut].parse().unwrap(), text[cut..].trim().parse().unwrap())
        };
        let (mut at, mut read) = ((0.0, 0.0), Vec::new());
        for step in steps {
            let (dx, dy) = pair(step);
            at = (at.0 + dx, at.1 + dy);
            read.push(10f64.powf(y[2] + (y[3] - y[2]) * (at.1 - y[0]) / (y[1] - y[0])));
        }
        for ((_, seconds), read) in points.iter().zip(read) {
            assert!((read / seconds - 1.0).abs() < 1e-3, "{read} {seconds}");
        }
        assert_eq!(axis("data-xs"), [1.0, 1024.0, 1048576.0]);
    }

    #[test]
    fn a_spike_does_not_set_the_axis_and_has_its_time_as_text() {
        let times = [1e-5, 1.2e-5, 0.2, 2e-5, 3e-5, 6e-4];
        let points: Vec<(u64, f64)> = times.iter().enumerate().map(|(place, time)| (1 << place, *time)).collect();
        let picture = curves(&points).picture();
        assert!(picture.content.contains("\u{2191}200\u{202f}ms"), "{}", picture.content);
        let drawn = &curves(&points).lines[0];
        assert_eq!(drawn.usual_times().collect::<Vec<_>>(), [1e-5, 1.2e-5, 2e-5, 3e-5]);
        let grows: Vec<(u64, f64)> =
            [1e-5, 1.6e-4, 2.5e-3].iter().enumerate().map(|(n, it)| (16 << (4 * n), *it)).collect();
        assert_eq!(curves(&grows).lines[0].usual_times().count(), 3, "large steps of sizes are no spikes");
    }

    #[test]
    fn hostile_names_and_odd_times_do_no_harm() {
        let picture = curves(&[(0, 0.0), (1, f64::NAN), (2, -1.0), (4, 1e-6)]).picture();
        let document = picture.document("<script>");
        assert!(document.contains("&lt;script&gt;") && document.contains("a&lt;b") && document.contains("s1 dash"));
        assert!(!document.contains("NaN") && !document.contains("<script"));
        assert!(picture.fragment().contains("aria-label=\"of &quot;it&quot;\""));
        curves(&[]).picture();
    }
}
