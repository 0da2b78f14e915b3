//! The decision tree as a drawing.
//!
//! One panel per collective: communicator sizes branch off to the left, and their leaves lie along a logarithmic axis
//! of message sizes. Leaves are numbered; the list below each panel has their evidence.

use collrules_record::findings::Findings;
use collrules_record::tree::{CollectiveBranch, Leaf, RankBranch};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::{Choice, Collective, Release};
use plotters_backend::text_anchor::HPos;

use super::leaf::{evidence, heading, name, reason, sizes, summary, tells};
use crate::plot::{Canvas, Fill, Ink, Picture, SCALE, X};
use crate::words::{times, wrapped};

/// Width of the drawing; all lengths are pixels.
const WIDTH: f64 = 1060.0;
const MARGIN: f64 = 20.0;
/// Left and right end of the axis of message sizes.
const AXIS: (f64, f64) = (210.0, WIDTH - MARGIN);
const ROW: f64 = 30.0;
const BAR: f64 = 22.0;
const LINE: f64 = 17.0;
/// Average width of a character; generous, since fonts differ.
const CHARACTER: f64 = 6.4;
/// Left end of notes on leaves.
const NOTE: f64 = MARGIN + 42.0;

/// The tree as an SVG document that needs no other file, and follows the light or dark scheme of its reader.
pub fn svg(findings: &Findings) -> String {
    let canvas = Canvas::new((0, 0));
    let what = "Sizes are message bytes. What is not shown keeps the default.";
    let mut bottom = 0.0;
    for line in lines(&format!("{} {what}", summary(&findings.tree)), MARGIN) {
        bottom += LINE;
        label(&canvas, MARGIN, bottom, &line);
    }
    for branch in &findings.tree.collectives {
        let top = bottom + 14.0;
        canvas.open("name", "");
        canvas.label(branch.collective.name(), at(MARGIN, top + 22.0), HPos::Left);
        canvas.close();
        let (end, notes) = draw(&canvas, branch, findings, top);
        bottom = end + 6.0;
        for (number, note) in notes.iter().enumerate() {
            label(&canvas, MARGIN + 12.0, bottom + LINE, &(number + 1).to_string());
            for line in lines(note, NOTE) {
                bottom += LINE;
                label(&canvas, NOTE, bottom, &line);
            }
        }
    }
    picture(&canvas, "Decision tree".to_owned(), bottom + MARGIN).document(&heading(findings))
}

fn picture(canvas: &Canvas, description: String, height: f64) -> Picture {
    let (width, height) = at(WIDTH, height);
    Picture {
        description,
        attributes: " data-kind=\"tiles\"".to_owned(),
        size: (width.unsigned_abs(), height.unsigned_abs()),
        content: canvas.finish(),
        legend: Vec::new(),
    }
}

/// The colour of a choice without a palette.
fn by_number(choice: Choice) -> Fill {
    if choice.is_builtin() { Fill::Builtin } else { Fill::Series(choice.algorithm as usize - 1) }
}

/// A text wrapped to lines between here and the right margin.
fn lines(text: &str, left: f64) -> Vec<String> {
    wrapped(((WIDTH - MARGIN - left) / CHARACTER) as usize, text, "", "")
}

fn label(canvas: &Canvas, x: f64, y: f64, text: &str) {
    canvas.label(text, at(x, y), HPos::Left);
}

/// A place on the canvas.
fn at(x: f64, y: f64) -> (i32, i32) {
    let units = |pixels: f64| (pixels * f64::from(SCALE)).round() as i32;
    (units(x), units(y))
}

/// The logarithmic axis of a collective.
#[derive(Clone, Copy)]
struct SizeAxis {
    first: f64,
    last: f64,
}

impl SizeAxis {
    fn new(branch: &CollectiveBranch) -> Self {
        let evidence =
            || branch.ranges.iter().flat_map(|range| &range.leaves).filter_map(|leaf| leaf.evidence.as_ref());
        let log = |bytes: Bytes| (bytes.0.max(1) as f64).log2();
        let first = evidence().map(|evidence| log(evidence.messages.0)).fold(f64::INFINITY, f64::min);
        let last = evidence().map(|evidence| log(evidence.messages.1)).fold(0.0, f64::max);
        let first = if first.is_finite() { first } else { 0.0 };
        // Room for a leaf that holds the largest size alone.
        Self { first, last: last.max(first) + 1.0 }
    }

    fn x(self, bytes: f64) -> f64 {
        let log = bytes.max(1.0).log2().clamp(self.first, self.last);
        AXIS.0 + (AXIS.1 - AXIS.0) * (log - self.first) / (self.last - self.first)
    }
}

/// Draws the ranges and leaves of a collective; returns where they end, and the evidence for the numbered leaves.
fn draw(canvas: &Canvas, branch: &CollectiveBranch, findings: &Findings, top: f64) -> (f64, Vec<String>) {
    let axis = SizeAxis::new(branch);
    let told: Vec<&RankBranch> = branch.ranges.iter().filter(|range| tells(range)).collect();
    let rows = top + 44.0;
    let bottom = rows + ROW * told.len() as f64;
    if branch.collective.has_sizes() {
        ticks(canvas, axis, rows, bottom);
    }
    let stem = MARGIN + 12.0;
    let mut notes = Vec::new();
    for (row, range) in told.iter().enumerate() {
        let y = rows + ROW * row as f64;
        let middle = y + BAR / 2.0;
        let from = (top + 28.0).max(2.0);
        canvas.stroke(Ink::Axis, [at(stem, from), at(stem, middle), at(stem + 14.0, middle)]);
        label(canvas, stem + 18.0, middle + 4.0, &range.ranks.to_string());
        for leaf in &range.leaves {
            let shown = leaf.evidence.is_some() || (range.measured.is_empty() && !leaf.choice.is_builtin());
            if let Some(ends) = span(branch.collective, findings.release, range, leaf, axis).filter(|_| shown) {
                let name = name(findings.release, branch.collective, leaf);
                notes.push(note(branch.collective, range, leaf, &name, &reason(findings, range, leaf)));
                canvas.open(&by_number(leaf.choice).class(), &notes[notes.len() - 1]);
                bar(canvas, leaf, &name, notes.len(), ends, y);
                canvas.close();
            }
        }
    }
    (bottom, notes)
}

fn ticks(canvas: &Canvas, axis: SizeAxis, top: f64, bottom: f64) {
    let mut free = 0.0;
    for power in (axis.first.ceil() as u32)..=(axis.last.floor() as u32) {
        let bytes = Bytes(1u64 << power.min(63));
        let x = axis.x(bytes.0 as f64);
        canvas.stroke(Ink::Grid, [at(x, top - 4.0), at(x, bottom)]);
        let text = X::MessageBytes.value(bytes.0);
        let width = text.len() as f64 * CHARACTER + 10.0;
        if x >= free && x + width <= WIDTH {
            label(canvas, x, top - 8.0, &text);
            free = x + width;
        }
    }
}

/// Returns the span of a leaf on the axis; none if it lies outside the measured sizes.
fn span(
    collective: Collective,
    release: Release,
    range: &RankBranch,
    leaf: &Leaf,
    axis: SizeAxis,
) -> Option<(f64, f64)> {
    // The lookup of several communicator sizes is drawn as that of the smallest.
    let ranks = range.measured.first().copied().unwrap_or(Ranks(u32::try_from(range.ranks.first).unwrap_or(u32::MAX)));
    let Metric::Times(factor) = metric(release, collective, ranks) else { return Some(AXIS) };
    let message = |lookup: u64| lookup.div_ceil(factor.max(1)) as f64;
    let left = axis.x(message(leaf.first));
    let right = leaf.end.map_or(AXIS.1, |end| axis.x(message(end)));
    (right > left).then_some((left, right))
}

fn bar(canvas: &Canvas, leaf: &Leaf, name: &str, number: usize, (left, right): (f64, f64), y: f64) {
    canvas.area(at(left, y), at(right.max(left + 1.0), y + BAR));
    let gain = leaf.evidence.as_ref().filter(|_| !leaf.choice.is_builtin()).map(|evidence| evidence.gain.mean);
    let with_gain = gain.map_or(name.to_owned(), |gain| format!("{name} {}", times(gain)));
    let texts = [format!("{number}  {with_gain}"), format!("{number}  {name}"), number.to_string()];
    let fits = |text: &&String| text.chars().count() as f64 * CHARACTER + 6.0 <= right - left;
    if let Some(text) = texts.iter().find(fits) {
        label(canvas, left + 4.0, y + BAR / 2.0 + 4.0, text);
    }
}

fn note(collective: Collective, range: &RankBranch, leaf: &Leaf, name: &str, reason: &str) -> String {
    let rests = evidence(collective, leaf).map_or(String::new(), |rests| format!("{rests}; "));
    let lookup = if collective.has_sizes() { format!(", lookup {}", sizes(leaf)) } else { String::new() };
    format!("{}{lookup}: {name} ({}). {rests}{reason}", range.ranks, leaf.choice)
}
