//! Times over sizes, one line per candidate.

use collrules_record::Estimate;

use super::axis::{self, X, time_position};
use super::canvas::{At, Canvas, FONT, Ink, SCALE};
use super::picture::{Entry, Picture};

/// Number of candidates with a colour of their own; further ones repeat the colours with dashed lines and lighter
/// tiles.
pub(crate) const COLOURS: usize = 7;

/// Times of several candidates along one axis of sizes; both axes are logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curves {
    /// Description for readers who cannot see the plot.
    pub(crate) description: String,
    /// Quantity along the horizontal axis.
    pub(crate) x: X,
    /// The lines; later ones lie over earlier ones.
    pub(crate) lines: Vec<Line>,
    /// Sizes at which something changes.
    pub(crate) marks: Vec<Mark>,
    /// The times in seconds that the vertical axis has to show beside those of the lines, so that plots can share an axis.
    pub(crate) times: Option<(f64, f64)>,
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
}

/// The times of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Stroke of the line.
    pub(crate) stroke: Stroke,
    /// Its points, by ascending size. Times that are not positive are not drawn.
    pub(crate) points: Vec<Reading>,
}

/// A time with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Message bytes or ranks.
    pub(crate) x: u64,
    /// Seconds.
    pub(crate) time: Estimate,
}

/// Stroke of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// The builtin: in the colour of the text, and broad.
    Builtin,
    /// A colour, from 0 on; from [`COLOURS`] on they repeat with dashed lines.
    Series(usize),
    /// Thin and pale: there for comparison.
    Muted,
}

/// A size at which something changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Message bytes or ranks.
    pub(crate) at: u64,
    /// Interval that certainly contains it, as far as that is known.
    pub(crate) interval: Option<(u64, u64)>,
    /// Description of the change.
    pub(crate) note: String,
}

/// A point that takes so many times as long as its neighbours, and longer than their sizes explain, is a spike.
const SPIKE: f64 = 5.0;

impl Line {
    /// The times without spikes, which set the axis.
    pub(crate) fn usual_times(&self) -> impl Iterator<Item = f64> {
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
    pub(crate) fn class(self) -> String {
        match self {
            Self::Builtin => "l lb".to_owned(),
            Self::Muted => "l lm".to_owned(),
            Self::Series(number) if number < COLOURS => format!("l s{number}"),
            Self::Series(number) => format!("l s{} dash", number % COLOURS),
        }
    }
}

impl Curves {
    /// Without lines yet, and of the usual size.
    pub(crate) fn new(description: &str, x: X) -> Self {
        let (lines, marks) = (Vec::new(), Vec::new());
        Self { description: description.to_owned(), x, lines, marks, times: None, size: (420, 280) }
    }

    /// The drawing. Its attributes tell a script where the axes are: `data-x="left right low high"`, `data-y="bottom top
    /// low high"`.
    pub(crate) fn picture(&self) -> Picture {
        let size = (self.size.0 as i32 * SCALE, self.size.1 as i32 * SCALE);
        let (left, right, top, bottom) = (52 * SCALE, size.0 - 22 * SCALE, 8 * SCALE, size.1 - 24 * SCALE);
        let mut xs: Vec<u64> = self.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        xs.sort_unstable();
        xs.dedup();
        let (x, y) = (self.x.axis(&xs, self.size.0), axis::time_axis(self.seconds()));
        let across = |position: f64| x.place(position, (left.into(), right.into())).round() as i32;
        let up = |position: f64| y.place(position, (bottom.into(), top.into())).round() as i32;
        let mut canvas = Canvas::default();

        let level = |tick: &f64| [(left, up(*tick)), (right, up(*tick))];
        let upright = |tick: &f64| [(across(*tick), bottom), (across(*tick), top)];
        canvas.path(Ink::Fine, y.fine.iter().map(level));
        canvas.path(Ink::Grid, x.ticks.iter().map(upright).chain(y.ticks.iter().map(level)));
        let mark = 4 * SCALE;
        let below = x.ticks.iter().map(|tick| [(across(*tick), bottom), (across(*tick), bottom + mark)]);
        let beside = y.ticks.iter().map(|tick| [(left - mark, up(*tick)), (left, up(*tick))]);
        let axes = [[(left, top), (left, bottom)], [(left, bottom), (right, bottom)]];
        canvas.path(Ink::Axis, axes.into_iter().chain(below).chain(beside));
        for tick in &x.ticks {
            canvas.label(&self.x.label(*tick), (across(*tick), bottom + 2 * mark + FONT * 4 / 5), "middle");
        }
        for tick in &y.ticks {
            canvas.label(&axis::time_label(*tick), (left - 2 * mark, up(*tick) + FONT * 9 / 25), "end");
        }

        for Mark { at, interval, note } in &self.marks {
            let place = |value: u64| across(self.x.position(value as f64).clamp(x.range.0, x.range.1));
            canvas.group("x", note, |canvas| {
                if let Some((from, to)) = interval.filter(|(from, to)| from < to) {
                    canvas.area((place(from), bottom), (place(to), top));
                }
                canvas.path(Ink::Line, [[(place(*at), bottom), (place(*at), top)]]);
            });
        }
        for line in &self.lines {
            let time = |point: &Reading| time_position(point.time.point);
            let inner = |point: &Reading| time(point).filter(|time| (y.range.0..=y.range.1).contains(time));
            let place = |point: &Reading| across(self.x.position(point.x as f64));
            let end = |end: Option<f64>, middle: f64| {
                up(end.and_then(time_position).map_or(middle, |end| end.clamp(y.range.0, y.range.1)))
            };
            let interval = |point: &Reading| -> Option<[At; 2]> {
                let middle = inner(point)?;
                Some([point.time.low, point.time.high].map(|time| (place(point), end(time, middle))))
            };
            canvas.group(&line.stroke.class(), &line.name, |canvas| {
                let runs = line.points.chunk_by(|a, b| inner(a).is_some() == inner(b).is_some());
                let run = |run: &[Reading]| -> Vec<At> {
                    run.iter().filter_map(|point| Some((place(point), up(inner(point)?)))).collect()
                };
                canvas.path(Ink::Line, runs.map(run));
                canvas.path(Ink::Interval, line.points.iter().filter_map(interval));
                // Whatever lies beyond the axis has its time as text at the edge.
                for point in line.points.iter().filter(|point| inner(point).is_none()) {
                    let Some(time) = time(point) else { continue };
                    canvas.label(&format!("\u{2191}{}", axis::time_label(time)), (place(point), top + FONT), "middle");
                }
            });
        }

        let kind = if self.x == X::Ranks { "ranks" } else { "bytes" };
        let xs: Vec<String> = xs.iter().map(ToString::to_string).collect();
        let values = if xs.is_empty() { String::new() } else { format!(" data-xs=\"{}\"", xs.join(" ")) };
        let attributes = format!(
            " data-x=\"{left} {right} {} {}\" data-y=\"{bottom} {top} {} {}\" data-kind=\"{kind}\"{values}",
            x.range.0, x.range.1, y.range.0, y.range.1
        );
        Picture {
            description: self.description.clone(),
            attributes,
            size: (size.0.unsigned_abs(), size.1.unsigned_abs()),
            content: canvas.text,
            legend: self.legend(),
        }
    }

    /// The lines by name; pale ones share an entry.
    fn legend(&self) -> Vec<Entry> {
        let (muted, named): (Vec<&Line>, Vec<&Line>) = self.lines.iter().partition(|line| line.stroke == Stroke::Muted);
        let entry = |stroke: Stroke, name: String| Entry { class: stroke.class(), name };
        let mut entries: Vec<Entry> = named.iter().map(|line| entry(line.stroke, line.name.clone())).collect();
        if !muted.is_empty() {
            let names = muted.iter().map(|line| line.name.as_str()).collect::<Vec<_>>().join(", ");
            let name = if names.len() <= 60 { names } else { format!("{} other algorithms", muted.len()) };
            entries.push(entry(Stroke::Muted, name));
        }
        entries
    }

    /// The times that the axis has to show. Spikes and the ends of intervals do not set it.
    fn seconds(&self) -> impl Iterator<Item = f64> {
        let drawn = self.lines.iter().flat_map(Line::usual_times);
        drawn.chain(self.times.into_iter().flat_map(|(low, high)| [low, high]))
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
