//! The section of one collective: a strip, and folded below it pictures and tables.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Candidate, Estimate};
use collrules_rules::Collective;
use collrules_rules::words::counted;

use super::overview;
use super::palette::Palette;
use super::strip::{self, Axis, Row};
use crate::cells::{CellRow, cell_row};
use crate::facts::{self, candidate_name};
use crate::gains::{Fate, Gains};
use crate::outcome::is_open;
use crate::plot::{Curves, Entry, Fill, Heatmap, Line, Map, Mark, Places, Reading, Stroke, Tile, X};
use crate::reasons::{self, Because, reasons};
use crate::summary::stretches;

/// Everything about a collective.
pub(super) struct CollectiveView {
    pub(super) name: String,
    /// The speedup over the sizes with a rule, with its interval; empty if no size has one.
    pub(super) speedup: String,
    /// The point of it, to sort by.
    pub(super) mean: Option<f64>,
    /// The strips; empty if no size has a rule.
    pub(super) rows: Vec<Row>,
    pub(super) in_short: String,
    pub(super) has_sizes: bool,
    /// Choices of the cells, with the reasons.
    pub(super) reasons: Vec<Because>,
    /// Message sizes that heatmaps leave out, in words.
    pub(super) between: Option<String>,
    pub(super) decisions: Vec<Decision>,
    /// The maps; none if no size has a rule.
    pub(super) algorithms: Option<Map>,
    pub(super) speedups: Option<Map>,
    pub(super) legend: Vec<Key>,
    /// Meaning of lines and dots.
    pub(super) times_are: String,
    /// Candidates that are drawn pale.
    pub(super) pale: usize,
    pub(super) over_sizes: Vec<Plot>,
    pub(super) over_ranks: Vec<Plot>,
    pub(super) crossovers: Vec<[String; 7]>,
    pub(super) cells: Vec<CellRow>,
}

/// A candidate in the legend.
pub(super) struct Key {
    pub(super) class: String,
    pub(super) name: String,
    /// True if it wins nowhere, and is drawn pale.
    pub(super) pale: bool,
}

/// A picture with its caption.
pub(super) struct Plot {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// Sizes that use the same candidate.
pub(super) struct Decision {
    pub(super) ranks: String,
    pub(super) sizes: String,
    pub(super) class: String,
    pub(super) by: String,
    pub(super) speedup: String,
}

/// Maximum number of message sizes with a plot over communicator sizes.
const CHOSEN_SIZES: usize = 6;

/// Width and height of plots in pixels: three in a row.
const SIZE: (u32, u32) = (360, 245);

impl CollectiveView {
    /// The section of these cells, which are all of the collective.
    pub(super) fn new(findings: &Findings, cells: &[CellFinding], gains: &Gains<'_>, axis: Option<&Axis>) -> Self {
        let collective = cells[0].cell.collective;
        let palette = Palette::from_cells(cells);
        let places = Places::from_cells(cells.iter().map(|cell| cell.cell));
        let drawn = Drawn { findings, collective, cells, gains, palette: &palette, places: &places };
        let (legend, pale) = drawn.legend();
        let crossovers = findings.crossovers.iter().filter(|crossover| crossover.collective == collective);
        let is_ruled = gains.of_collective(collective).any(|(_, gain)| gain.fate != Fate::Default);
        let mean = gains.mean(|cell| cell.collective == collective);
        Self {
            name: collective.to_string(),
            speedup: mean.map(overview::ratio).unwrap_or_default(),
            mean: is_ruled.then(|| mean.map_or(0.0, |mean| mean.point)),
            rows: if is_ruled { strip::rows(gains, axis, collective) } else { Vec::new() },
            in_short: drawn.in_short(),
            has_sizes: collective.has_sizes(),
            reasons: reasons(findings, cells),
            between: (places.left_out > 0).then(|| counted(places.left_out, "message size")),
            decisions: drawn.decisions(),
            algorithms: is_ruled.then(|| drawn.algorithms()),
            speedups: is_ruled.then(|| drawn.speedups()),
            legend,
            times_are: drawn.times_are(),
            pale,
            over_sizes: drawn.over_sizes(),
            over_ranks: drawn.over_ranks(),
            crossovers: crossovers.map(|crossover| facts::crossover_row(findings, crossover)).collect(),
            cells: cells.iter().map(|cell| cell_row(findings, cell)).collect(),
        }
    }
}

/// Data behind the pictures.
struct Drawn<'a> {
    findings: &'a Findings,
    collective: Collective,
    cells: &'a [CellFinding],
    gains: &'a Gains<'a>,
    palette: &'a Palette,
    places: &'a Places,
}

impl Drawn<'_> {
    fn name(&self, candidate: Candidate) -> String {
        candidate_name(self.findings, self.collective, candidate)
    }

    /// Sizes by fate in a phrase; without rules, the most frequent reason.
    fn in_short(&self) -> String {
        let all: Vec<Fate> = self.gains.of_collective(self.collective).map(|(_, gain)| gain.fate).collect();
        let count = |fate: Fate| all.iter().filter(|other| **other == fate).count();
        if count(Fate::Default) == all.len() {
            let open = self.cells.iter().filter(|cell| is_open(cell, self.findings.criteria.min_gain)).count();
            if open > 0 {
                let all = counted(all.len(), "size");
                return format!("undecided; {open} of {all} need more time, and the default stays");
            }
            let reasons = reasons(self.findings, self.cells);
            let others = if reasons.len() > 1 { " for most" } else { "" };
            let why = reasons.first().map_or(String::new(), |because| format!("{}{others}", because.why));
            return format!("no gain; the default stays for {}: {why}", every(all.len()));
        }
        let parts = [
            (Fate::Confirmed, "faster"),
            (Fate::Level, "with a rule and no difference"),
            (Fate::Open, "with a rule that is not confirmed"),
        ];
        let parts = parts.into_iter().filter(|(fate, _)| count(*fate) > 0);
        let mut parts = parts.map(|(fate, what)| (count(fate), what));
        let (first, what) = parts.next().unwrap_or_default();
        let rest: String = parts.map(|(count, what)| format!(", {count} {what}")).collect();
        format!("{first} of {} {what}{rest}", counted(all.len(), "size"))
    }

    fn times_are(&self) -> String {
        let time = facts::timing(self.findings.statistic);
        let intervals = self.cells.iter().flat_map(|cell| &cell.points).any(|point| point.time.low.is_some());
        let dots = if intervals { "the height of a dot is its interval" } else { "there are too few for intervals" };
        format!("{time} Lines go through medians; {dots}.")
    }

    fn decisions(&self) -> Vec<Decision> {
        let own = stretches(self.findings).into_iter().filter(|stretch| stretch.collective == self.collective);
        own.map(|stretch| {
            let speedup = self.gains.mean(|cell| stretch.holds(cell));
            Decision {
                ranks: stretch.ranks.to_string(),
                sizes: stretch.sizes(),
                class: self.palette.fill(stretch.by).class(),
                by: self.name(stretch.by),
                speedup: speedup.map(overview::ratio).unwrap_or_default(),
            }
        })
        .collect()
    }

    /// A map with one tile per cell: its colour, what is written on it, and what is said first at the pointer.
    fn map(
        &self,
        description: &str,
        join: bool,
        tile: impl Fn(&CellFinding) -> (Fill, Vec<String>, String),
    ) -> Heatmap {
        let tiles = self.cells.iter().filter_map(|cell| {
            let at = self.places.at(cell.cell)?;
            let (fill, text, first) = tile(cell);
            Some(Tile { at, fill, text, note: format!("{}: {first}{}", cell.cell, self.times(cell)) })
        });
        let description = format!(
            "{description} of {} for each communicator size and message size; the table of sizes below has the same \
             data.",
            self.collective
        );
        let mut map = self.places.heatmap(description, tiles);
        map.join = join;
        map
    }

    /// The algorithm of each cell under the rules, by name; its legend has all that occur.
    fn algorithms(&self) -> Map {
        let map = self.map("Algorithm", true, |cell| {
            let served = cell.served_candidate();
            let name = self.name(served);
            let short = name.split(',').next().unwrap_or_default().to_owned();
            (self.palette.fill(served), vec![name, short], reasons::verdict(self.findings, cell))
        });
        let names: BTreeMap<String, String> = self
            .cells
            .iter()
            .map(|cell| cell.served_candidate())
            .map(|by| (self.palette.fill(by).class(), self.name(by)))
            .collect();
        let entries = names.into_iter().map(|(class, name)| Entry { class, name }).collect();
        Map { legend: map.legend(entries), svg: map.picture().fragment() }
    }

    fn speedups(&self) -> Map {
        let map = self.map("Speedup with the rules", false, |cell| {
            let gain = self.gains.get(cell.cell);
            let why = reasons::reason(self.findings, cell);
            let by = self.name(cell.served_candidate());
            match gain.speedup {
                _ if gain.fate == Fate::Default => {
                    (Fill::Builtin, vec![String::new()], format!("the default stays: {why}"))
                }
                None if self.findings.doubts(cell) => {
                    (Fill::Builtin, vec!["?".to_owned()], format!("implausible times with {by}: {why}"))
                }
                None => (Fill::Builtin, vec!["?".to_owned()], format!("{by}, not compared: {why}")),
                Some(speedup) => {
                    let point = speedup.point;
                    let digits = if point >= 9.95 { format!("{point:.0}") } else { format!("{point:.2}") };
                    (Fill::Ratio(point), vec![digits], format!("{} with {by}: {why}", overview::ratio(speedup)))
                }
            }
        });
        Map { legend: map.ratios(|ratio| format!("{ratio}\u{d7}")), svg: map.picture().fragment() }
    }

    /// The times of the builtin and of the best other.
    fn times(&self, cell: &CellFinding) -> String {
        let say = |time: Estimate| Seconds(time.point).to_string();
        let builtin = cell
            .point(Candidate::Builtin)
            .map_or(String::new(), |point| format!("; timed for tuning: default {}", say(point.time)));
        let best = facts::best_alternative(cell).map_or(String::new(), |point| {
            format!(", fastest other {} {}", self.name(point.candidate), say(point.time))
        });
        builtin + &best
    }

    fn candidates(&self) -> BTreeSet<Candidate> {
        self.cells.iter().flat_map(|cell| &cell.points).map(|point| point.candidate).collect()
    }

    /// The coloured candidates, and how many pale ones there are.
    fn legend(&self) -> (Vec<Key>, usize) {
        let candidates = self.candidates();
        let mut entries: Vec<(usize, Key)> = Vec::new();
        let mut pale = 0;
        for candidate in candidates {
            let stroke = self.palette.stroke(candidate);
            let place = match stroke {
                Stroke::Builtin => 0,
                Stroke::Series(number) => number + 1,
                Stroke::Muted => {
                    pale += 1;
                    usize::MAX
                }
            };
            entries.push((
                place,
                Key { class: stroke.class(), name: self.name(candidate), pale: stroke == Stroke::Muted },
            ));
        }
        entries.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        (entries.into_iter().map(|(_, entry)| entry).collect(), pale)
    }

    /// Lines over whatever `x` gives, of the cells that it gives something for.
    fn lines(&self, x: impl Fn(&CellFinding) -> Option<u64>) -> Vec<Line> {
        let mut points: BTreeMap<Candidate, Vec<Reading>> = BTreeMap::new();
        for cell in self.cells {
            let Some(x) = x(cell) else { continue };
            for point in &cell.points {
                points.entry(point.candidate).or_default().push(Reading { x, time: point.time });
            }
        }
        let mut lines: Vec<Line> = points
            .into_iter()
            .map(|(candidate, mut points)| {
                points.sort_by_key(|point| point.x);
                Line { name: self.name(candidate), stroke: self.palette.stroke(candidate), points }
            })
            .collect();
        lines.sort_by_key(|line| match line.stroke {
            Stroke::Muted => 0,
            Stroke::Builtin => 1,
            Stroke::Series(number) => 1000 - number,
        });
        lines
    }

    fn over_sizes(&self) -> Vec<Plot> {
        let sizes: BTreeSet<_> = self.cells.iter().map(|cell| cell.cell.bytes).collect();
        if !self.collective.has_sizes() || sizes.len() < 2 {
            return Vec::new();
        }
        let lines_on = |ranks: &Ranks| self.lines(|cell| (cell.cell.ranks == *ranks).then_some(cell.cell.bytes.0));
        // One axis of times for all, so that they can be compared.
        let all: Vec<Line> = self.places.ranks.iter().flat_map(lines_on).collect();
        let usual = || all.iter().flat_map(Line::usual_times).filter(|time| *time > 0.0 && time.is_finite());
        let times = usual().reduce(f64::min).zip(usual().reduce(f64::max));
        let figure = |ranks: &Ranks| {
            let lines = lines_on(ranks);
            let crossovers = self
                .findings
                .crossovers
                .iter()
                .filter(|crossover| crossover.collective == self.collective && crossover.ranks == *ranks);
            let marks = crossovers.map(|crossover| {
                let [_, _, below, at, above, _, certain] = facts::crossover_row(self.findings, crossover);
                let certain = if certain == "-" { String::new() } else { format!(" (certain: {certain})") };
                Mark {
                    at: crossover.at.0,
                    interval: crossover.interval.map(|(from, to)| (from.0, to.0)),
                    note: format!("from {at} on {above} instead of {below}{certain}"),
                }
            });
            let caption = format!("{ranks} ranks{}", self.place(*ranks));
            let description =
                format!("Time of {} on {caption} over message size, one line per algorithm.", self.collective);
            let curves = Curves {
                lines,
                marks: marks.collect(),
                times,
                size: SIZE,
                ..Curves::new(&description, X::MessageBytes)
            };
            Plot { caption, svg: curves.picture().fragment() }
        };
        self.places.ranks.iter().map(figure).collect()
    }

    fn place(&self, ranks: Ranks) -> String {
        self.findings.placement.nodes.get(&ranks).map_or(String::new(), |nodes| format!(" on {nodes}"))
    }

    fn over_ranks(&self) -> Vec<Plot> {
        let Places { ranks, sizes, .. } = self.places;
        if ranks.len() < 2 || sizes.is_empty() {
            return Vec::new();
        }
        let last = sizes.len() - 1;
        let chosen: BTreeSet<usize> = if last == 0 {
            BTreeSet::from([0])
        } else {
            (0..CHOSEN_SIZES).map(|place| (place * last).div_ceil(CHOSEN_SIZES - 1)).collect()
        };
        let figure = |place: usize| {
            let bytes = sizes[place];
            let lines = self.lines(|cell| (cell.cell.bytes == bytes).then_some(u64::from(cell.cell.ranks.0)));
            let caption =
                if self.collective.has_sizes() { X::MessageBytes.value(bytes.0) } else { self.collective.to_string() };
            let description =
                format!("Time of {} at {caption} over communicator size, one line per algorithm.", self.collective);
            let curves = Curves { lines, size: SIZE, ..Curves::new(&description, X::Ranks) };
            Plot { caption, svg: curves.picture().fragment() }
        };
        chosen.into_iter().map(figure).collect()
    }
}

/// `all 22 sizes`, `the one size`.
fn every(sizes: usize) -> String {
    if sizes == 1 { "the one size".to_owned() } else { format!("all {sizes} sizes") }
}
