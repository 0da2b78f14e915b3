//! The section of one collective: pictures and tables.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Candidate, Estimate};
use collrules_rules::Collective;
use collrules_rules::words::counted;

use super::palette::Palette;
use crate::cells::{CellRow, cell_row};
use crate::facts::{self, candidate_name};
use crate::plot::{Curves, Entry, Fill, Line, Mark, Places, Reading, Stroke, Tile, X, levels};
use crate::reasons::{self, Because, overruled, reasons, winner};
use crate::summary::{Gain, stretches};
use crate::tree::{Panel, panel};
use crate::words::{number, ratio};

/// Everything about a collective.
pub(super) struct CollectiveView {
    pub(super) name: String,
    pub(super) open: bool,
    pub(super) in_short: String,
    pub(super) has_sizes: bool,
    /// Who serves the cells, and why.
    pub(super) reasons: Vec<Because>,
    /// Whether some tile bears the mark of a cell that the rules overrule.
    pub(super) marked: bool,
    /// Message sizes that heatmaps leave out, in words.
    pub(super) between: Option<String>,
    pub(super) decisions: Vec<Decision>,
    pub(super) winners: String,
    pub(super) speedups: String,
    pub(super) levels: Vec<Entry>,
    pub(super) legend: Vec<Key>,
    /// What lines and dots are.
    pub(super) times_are: String,
    /// Candidates that are drawn pale.
    pub(super) pale: usize,
    pub(super) over_sizes: Vec<Plot>,
    pub(super) over_ranks: Vec<Plot>,
    pub(super) crossovers: Vec<[String; 7]>,
    pub(super) tree: Panel,
    pub(super) cells: Vec<CellRow>,
}

/// A candidate in the legend.
pub(super) struct Key {
    pub(super) class: String,
    pub(super) name: String,
    /// The algorithm's number, which stands on tiles that have no room for the name.
    pub(super) number: String,
    /// Whether it wins nowhere, and is drawn pale.
    pub(super) pale: bool,
}

/// A picture with its caption.
pub(super) struct Plot {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// Sizes that are served alike.
pub(super) struct Decision {
    pub(super) ranks: String,
    pub(super) sizes: String,
    pub(super) class: String,
    pub(super) by: String,
    pub(super) gain: String,
    pub(super) cautious: String,
}

/// How many message sizes have a plot over communicator sizes.
const CHOSEN_SIZES: usize = 6;

/// What a tile bears where the rules give something else than what won.
const MARK: &str = " *";

/// Width and height of plots in pixels: three in a row.
const SIZE: (u32, u32) = (360, 245);

impl CollectiveView {
    /// The section of these cells, which are all of the collective.
    pub(super) fn new(findings: &Findings, cells: &[CellFinding], open: bool) -> Self {
        let collective = cells[0].cell.collective;
        let palette = Palette::of(cells);
        let places = Places::of(cells.iter().map(|cell| cell.cell));
        let drawn = Drawn { findings, collective, cells, palette: &palette, places: &places };
        let branch = findings.tree.collectives.iter().find(|branch| branch.collective == collective);
        let class = |choice| palette.fill(Candidate::of(choice)).class();
        let tree = branch.map_or_else(Panel::default, |branch| panel(branch, findings.release, &class));
        let (legend, pale) = drawn.legend();
        let crossovers = findings.crossovers.iter().filter(|crossover| crossover.collective == collective);
        Self {
            name: collective.to_string(),
            open,
            in_short: drawn.in_short(),
            has_sizes: collective.has_sizes(),
            reasons: reasons(findings, cells),
            marked: cells.iter().any(|cell| overruled(cell) && places.at(cell.cell).is_some()),
            between: (places.left_out > 0).then(|| counted(places.left_out, "message size")),
            decisions: drawn.decisions(),
            winners: drawn.winners(),
            speedups: drawn.speedups(),
            levels: levels(),
            legend,
            times_are: drawn.times_are(),
            pale,
            over_sizes: drawn.over_sizes(),
            over_ranks: drawn.over_ranks(),
            crossovers: crossovers.map(|crossover| facts::crossover_row(findings, crossover)).collect(),
            tree,
            cells: cells.iter().map(|cell| cell_row(findings, cell)).collect(),
        }
    }
}

/// What pictures are made of.
struct Drawn<'a> {
    findings: &'a Findings,
    collective: Collective,
    cells: &'a [CellFinding],
    palette: &'a Palette,
    places: &'a Places,
}

impl Drawn<'_> {
    fn name(&self, candidate: Candidate) -> String {
        candidate_name(self.findings, self.collective, candidate)
    }

    fn in_short(&self) -> String {
        let served = self.cells.iter().filter(|cell| cell.served_candidate() != Candidate::Builtin).count();
        let cells = self.cells.len();
        match served {
            0 => format!("the builtin serves all {}", counted(cells, "cell")),
            all if all == cells => format!("rules serve all {}", counted(cells, "cell")),
            _ => format!("rules serve {served} of {cells} cells, the builtin {}", cells - served),
        }
    }

    fn times_are(&self) -> String {
        let time = facts::timing(self.findings.statistic);
        let intervals = self.cells.iter().flat_map(|cell| &cell.points).any(|point| point.time.low.is_some());
        let dots = if intervals { "a dot is as long as the interval" } else { "there are too few for intervals" };
        format!("{time} Lines go through medians; {dots}.")
    }

    fn decisions(&self) -> Vec<Decision> {
        let own = stretches(self.findings).into_iter().filter(|stretch| stretch.collective == self.collective);
        own.map(|stretch| Decision {
            ranks: stretch.ranks.to_string(),
            sizes: stretch.sizes(),
            class: self.palette.fill(stretch.by).class(),
            by: self.name(stretch.by),
            gain: stretch.gain.map_or(String::new(), |Gain { mean, .. }| number(mean) + "\u{d7}"),
            cautious: stretch.gain.and_then(|gain| gain.cautious).map_or(String::new(), |low| number(low) + "\u{d7}"),
        })
        .collect()
    }

    /// One tile per cell: its colour, what is written on it, and what is said first at the pointer.
    fn tiles(&self, tile: impl Fn(&CellFinding) -> (Fill, Vec<String>, String)) -> impl Iterator<Item = Tile> {
        self.cells.iter().filter_map(move |cell| {
            let at = self.places.at(cell.cell)?;
            let (fill, text, first) = tile(cell);
            Some(Tile { at, fill, text, note: format!("{}: {first}{}", cell.cell, self.times(cell)) })
        })
    }

    fn winners(&self) -> String {
        let description = format!(
            "Which candidate wins {} at each communicator size and message size; the table of cells below has the same.",
            self.collective
        );
        let tiles = self.tiles(|cell| {
            let winner = winner(cell);
            let (name, number) =
                (self.name(winner), winner.choice().map_or(String::new(), |choice| choice.algorithm.to_string()));
            let short = name.split(',').next().unwrap_or_default().to_owned();
            let number = if winner == Candidate::Builtin { String::new() } else { number };
            let mark = if overruled(cell) { MARK } else { "" };
            let mut texts = vec![name, short, number];
            texts.dedup();
            texts.iter_mut().for_each(|text| text.push_str(mark));
            (self.palette.fill(winner), texts, reasons::verdict(self.findings, cell))
        });
        let mut map = self.places.heatmap(description, tiles);
        map.join = true;
        map.picture().fragment()
    }

    fn speedups(&self) -> String {
        let description = format!(
            "How much faster {} is under the rules at each communicator size and message size; the table of cells below has \
             the same.",
            self.collective
        );
        let tiles = self.tiles(|cell| {
            let served = cell.served_candidate();
            let why = reasons::reason(self.findings, cell);
            match cell.served_gain().filter(|_| served != Candidate::Builtin) {
                Some(_) if self.findings.doubts(cell) => {
                    let note = format!("times that can hardly be true, by {}: {why}", self.name(served));
                    (Fill::Ratio(1.0), vec!["?".to_owned()], note)
                }
                Some(gain) => {
                    let digits = if gain.point >= 9.95 { format!("{:.0}", gain.point) } else { number(gain.point) };
                    (Fill::Ratio(gain.point), vec![digits], format!("{} by {}: {why}", ratio(gain), self.name(served)))
                }
                None => (Fill::Ratio(1.0), vec!["1".to_owned()], format!("the builtin serves: {why}")),
            }
        });
        self.places.heatmap(description, tiles).picture().fragment()
    }

    /// The times of the builtin and of the best other.
    fn times(&self, cell: &CellFinding) -> String {
        let say = |time: Estimate| Seconds(time.point).to_string();
        let builtin =
            cell.point(Candidate::Builtin).map_or(String::new(), |point| format!("; builtin {}", say(point.time)));
        let best = facts::best_rival(cell).map_or(String::new(), |point| {
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
            let number = match candidate {
                Candidate::Tuned(choice) => choice.algorithm.to_string(),
                _ => String::new(),
            };
            entries.push((
                place,
                Key { class: stroke.class(), name: self.name(candidate), number, pale: stroke == Stroke::Muted },
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

    /// The times that all plots of the collective show, so that they can be compared.
    fn times_shown(&self) -> Option<(f64, f64)> {
        let points = self.cells.iter().flat_map(|cell| &cell.points).map(|point| point.time.point);
        let times = points.filter(|time| *time > 0.0 && time.is_finite());
        let (low, high) = times.fold((f64::INFINITY, 0.0f64), |(low, high), time| (low.min(time), high.max(time)));
        (low <= high).then_some((low, high))
    }

    fn over_sizes(&self) -> Vec<Plot> {
        let sizes: BTreeSet<_> = self.cells.iter().map(|cell| cell.cell.bytes).collect();
        if !self.collective.has_sizes() || sizes.len() < 2 {
            return Vec::new();
        }
        let figure = |ranks: &Ranks| {
            let lines = self.lines(|cell| (cell.cell.ranks == *ranks).then_some(cell.cell.bytes.0));
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
                format!("Time of {} on {caption} over message size, one line per candidate.", self.collective);
            let curves = Curves {
                lines,
                marks: marks.collect(),
                times: self.times_shown(),
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
            let caption = if self.collective.has_sizes() {
                X::MessageBytes.value(bytes.0)
            } else {
                "all communicator sizes".to_owned()
            };
            let description =
                format!("Time of {} at {caption} over communicator size, one line per candidate.", self.collective);
            let curves = Curves { lines, size: SIZE, ..Curves::new(&description, X::Ranks) };
            Plot { caption, svg: curves.picture().fragment() }
        };
        chosen.into_iter().map(figure).collect()
    }
}
