//! The decision tree as a drawing.
//!
//! One panel per collective: communicator sizes branch off to the left, and their leaves lie along a logarithmic axis of
//! message sizes. Leaves are numbered; the list below each panel says what they rest on.

use collrules_record::findings::Findings;
use collrules_record::tree::{CollectiveBranch, Leaf, RankBranch};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::metric::{Metric, metric};
use collrules_rules::{Choice, Collective, Release};
use svg::Document;
use svg::node::element::{Group, Path, Rectangle, Style, Text, Title};

use super::{evidence, sizes, tells};

const WIDTH: f64 = 1060.0;
const MARGIN: f64 = 20.0;
/// Where the axis of message sizes begins and ends.
const AXIS: (f64, f64) = (210.0, WIDTH - MARGIN);
const ROW: f64 = 30.0;
const BAR: f64 = 22.0;
const LINE: f64 = 17.0;
/// Width of a character of the labels, on average.
const CHARACTER: f64 = 6.4;
/// The same for small text; wide, since fonts differ.
const SMALL_CHARACTER: f64 = 6.6;
/// Where notes on leaves begin.
const NOTE: f64 = MARGIN + 42.0;

/// Colours that keep their contrast to the text on them, by light and dark; the first is the builtin's.
const COLOURS: [(&str, &str); 10] = [
    ("#e3e3e0", "#3b3d42"),
    ("#a9cdf0", "#1f4f7d"),
    ("#f6c99a", "#7d4a14"),
    ("#b0dfb0", "#225f2a"),
    ("#f3b3b3", "#7c2a2a"),
    ("#d4bfec", "#523479"),
    ("#e3cdb5", "#5f4730"),
    ("#f2bedd", "#75305a"),
    ("#e6e0a0", "#5d5717"),
    ("#a7e1e4", "#15595e"),
];

/// The tree as an SVG document that needs no other file, and follows the light or dark scheme of its reader.
pub fn svg(findings: &Findings) -> String {
    let tree = &findings.tree;
    let head = format!("Decision tree of {}, for Open MPI {}", findings.source, findings.release);
    let summary = format!(
        "{} rules; {:.3}x as fast as the builtin in geometric mean over measured cells; sharing rules costs {:.2} % in \
         the mean, {:.2} % at most. Sizes are message bytes; what is not shown keeps the builtin.",
        tree.rules,
        tree.gain,
        tree.regret * 100.0,
        tree.worst_regret * 100.0,
    );
    let mut height = MARGIN + LINE * (1.0 + wrapped(&summary, MARGIN).len() as f64) + 14.0;
    let mut panels = Vec::new();
    for branch in &tree.collectives {
        let (panel, tall) = noted(branch, findings.release, height);
        panels.push(panel);
        height += tall;
    }
    height += MARGIN;
    let mut document = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("role", "img")
        .add(Title::new("Decision tree"))
        .add(Style::new(style()))
        .add(Rectangle::new().set("class", "page").set("width", WIDTH).set("height", height))
        .add(label(MARGIN, MARGIN + LINE, "head", head));
    for (number, line) in wrapped(&summary, MARGIN).iter().enumerate() {
        document = document.add(label(MARGIN, MARGIN + LINE * (number as f64 + 2.0), "small", line));
    }
    for panel in panels {
        document = document.add(panel);
    }
    document.to_string()
}

fn style() -> String {
    let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
        let rule =
            |(number, pair): (usize, &(&'static str, &'static str))| format!(".c{number} .bar{{fill:{}}}", pick(pair));
        COLOURS.iter().enumerate().map(rule).collect::<String>()
    };
    format!(
        "text{{font-family:system-ui,sans-serif;font-size:12px;fill:#1b1c1e}}.head{{font-size:16px;font-weight:600}}\
         .name{{font-size:14px;font-weight:600}}.small{{font-size:11px;fill:#55585e}}.page{{fill:#ffffff}}\
         .branch{{fill:none;stroke:#8b8e94}}.tick{{stroke:#d4d6d9}}.bar{{stroke:#8b8e94;stroke-width:0.5}}{}\
         @media(prefers-color-scheme:dark){{text{{fill:#ececee}}.small{{fill:#a9adb4}}.page{{fill:#17181b}}\
         .tick{{stroke:#34363b}}{}}}",
        colours(|pair| pair.0),
        colours(|pair| pair.1),
    )
}

/// A small text from here to the right margin, in lines.
fn wrapped(text: &str, left: f64) -> Vec<String> {
    let characters = ((WIDTH - MARGIN - left) / SMALL_CHARACTER) as usize;
    textwrap::wrap(text, characters).into_iter().map(|line| line.into_owned()).collect()
}

fn label(x: f64, y: f64, class: &str, text: impl Into<String>) -> Text {
    Text::new(text.into()).set("x", round(x)).set("y", round(y)).set("class", class)
}

/// Coordinates with one digit: enough for the eye, and the same on every machine.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The logarithmic axis of a collective.
#[derive(Clone, Copy)]
struct Axis {
    first: f64,
    last: f64,
}

impl Axis {
    fn of(branch: &CollectiveBranch) -> Self {
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

/// The ranges and leaves of a collective as an `svg` element for a page that has [`crate::plot::STYLE`], and what its
/// numbered leaves rest on. `class` gives the class of a choice.
pub fn panel(branch: &CollectiveBranch, release: Release, class: &dyn Fn(Choice) -> String) -> (String, Vec<String>) {
    let Drawing { group, bottom, notes } = drawing(branch, release, -22.0, class);
    let document = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, bottom + 4.0))
        .set("class", "plot tree")
        .set("role", "img")
        .set("aria-label", format!("Decision tree of {}; the list below says the same.", branch.collective))
        .add(group);
    (document.to_string(), notes)
}

/// A collective under its name, with its notes, and how high it is drawn.
fn noted(branch: &CollectiveBranch, release: Release, top: f64) -> (Group, f64) {
    let Drawing { group, bottom, notes } = drawing(branch, release, top, &|choice| format!("c{}", colour(choice)));
    let mut panel = Group::new().add(label(MARGIN, top + 22.0, "name", branch.collective.name())).add(group);
    let mut y = bottom + 6.0;
    for (number, note) in notes.iter().enumerate() {
        panel = panel.add(label(MARGIN + 12.0, y + LINE, "small", (number + 1).to_string()));
        for line in wrapped(note, NOTE) {
            y += LINE;
            panel = panel.add(label(NOTE, y, "small", line));
        }
    }
    (panel, y + 24.0 - top)
}

/// Ranges and leaves of a collective.
struct Drawing {
    group: Group,
    /// Where it ends.
    bottom: f64,
    /// What the numbered leaves rest on.
    notes: Vec<String>,
}

fn drawing(branch: &CollectiveBranch, release: Release, top: f64, class: &dyn Fn(Choice) -> String) -> Drawing {
    let axis = Axis::of(branch);
    let told: Vec<&RankBranch> = branch.ranges.iter().filter(|range| tells(range)).collect();
    let mut panel = Group::new();
    let rows = top + 44.0;
    let bottom = rows + ROW * told.len() as f64;
    if branch.collective.has_sizes() {
        panel = ticks(panel, axis, rows, bottom);
    }
    let stem = MARGIN + 12.0;
    let mut notes = Vec::new();
    for (row, range) in told.iter().enumerate() {
        let y = rows + ROW * row as f64;
        let middle = y + BAR / 2.0;
        let from = (top + 28.0).max(2.0);
        panel = panel
            .add(Path::new().set("class", "branch").set("d", format!("M{stem} {from} V{middle} H{}", stem + 14.0)));
        panel = panel.add(label(stem + 18.0, middle + 4.0, "ranks", range.ranks.to_string()));
        for leaf in &range.leaves {
            let shown = leaf.evidence.is_some() || (range.measured.is_empty() && !leaf.choice.is_builtin());
            if let Some((left, right)) = span(branch.collective, release, range, leaf, axis).filter(|_| shown) {
                notes.push(note(branch.collective, range, leaf));
                let bar = bar(leaf, notes.len(), (left, right), y, notes[notes.len() - 1].clone());
                panel = panel.add(bar.set("class", class(leaf.choice)));
            }
        }
    }
    Drawing { group: panel, bottom, notes }
}

fn ticks(mut panel: Group, axis: Axis, top: f64, bottom: f64) -> Group {
    let mut free = 0.0;
    for power in (axis.first.ceil() as u32)..=(axis.last.floor() as u32) {
        let bytes = Bytes(1u64 << power.min(63));
        let x = axis.x(bytes.0 as f64);
        let text = bytes.to_string();
        let line = format!("M{} {} V{}", round(x), top - 4.0, bottom);
        panel = panel.add(Path::new().set("class", "tick").set("d", line));
        let width = text.len() as f64 * CHARACTER + 10.0;
        if x >= free && x + width <= WIDTH {
            panel = panel.add(label(x, top - 8.0, "small", text));
            free = x + width;
        }
    }
    panel
}

/// Where a leaf lies on the axis; none where it lies beyond the measured sizes.
fn span(collective: Collective, release: Release, range: &RankBranch, leaf: &Leaf, axis: Axis) -> Option<(f64, f64)> {
    // The lookup of several communicator sizes is drawn as that of the smallest.
    let ranks = range.measured.first().copied().unwrap_or(Ranks(u32::try_from(range.ranks.first).unwrap_or(u32::MAX)));
    let Metric::Times(factor) = metric(release, collective, ranks) else { return Some(AXIS) };
    let message = |lookup: u64| lookup.div_ceil(factor.max(1)) as f64;
    let left = axis.x(message(leaf.first));
    let right = leaf.end.map_or(AXIS.1, |end| axis.x(message(end)));
    (right > left).then_some((left, right))
}

fn bar(leaf: &Leaf, number: usize, (left, right): (f64, f64), y: f64, note: String) -> Group {
    let gain = leaf.evidence.as_ref().filter(|_| !leaf.choice.is_builtin()).map(|evidence| evidence.gain.mean);
    let with_gain = gain.map_or(leaf.name.clone(), |gain| format!("{} {gain:.2}x", leaf.name));
    let texts = [format!("{number}  {with_gain}"), format!("{number}  {}", leaf.name), number.to_string()];
    let fits = |text: &String| text.chars().count() as f64 * CHARACTER + 6.0 <= right - left;
    let rectangle = Rectangle::new()
        .set("class", "bar")
        .set("x", round(left))
        .set("y", round(y))
        .set("width", round((right - left).max(1.0)))
        .set("height", BAR)
        .set("rx", 2);
    let group = Group::new().add(Title::new(note)).add(rectangle);
    match texts.into_iter().find(|text| fits(text)) {
        Some(text) => group.add(label(left + 4.0, y + BAR / 2.0 + 4.0, "leaf", text)),
        None => group,
    }
}

fn colour(choice: Choice) -> usize {
    if choice.is_builtin() { 0 } else { 1 + (choice.algorithm as usize - 1) % (COLOURS.len() - 1) }
}

fn note(collective: Collective, range: &RankBranch, leaf: &Leaf) -> String {
    let rests = evidence(collective, leaf).map_or(String::new(), |rests| format!("{rests}; "));
    let lookup = if collective.has_sizes() { format!(", lookup {}", sizes(leaf)) } else { String::new() };
    format!("{}{lookup}: {} ({}). {rests}{}", range.ranks, leaf.name, leaf.choice, leaf.why)
}
