//! The section of one collective: a strip, and folded below it pictures and tables.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Estimate};
use collrules_rules::Collective;
use collrules_rules::words::counted;

use super::palette::Palette;
use super::places::Places;
use super::strip;
use crate::cells::table;
use crate::context::Context;
use crate::document::{Block, Fill, Heatmap, Section, Tile, legend, plots, prose, ratios};
use crate::facts::{self, candidate_name};
use crate::gains::{CellGain, Gains, SizeState, cells_of};
use crate::plot::{Axis, COLOURS, Curves, Entry, Line, Mark, Picture, Reading, Stroke, X};
use crate::reasons::{self, ChoiceReason, reasons};
use crate::summary::{Stretch, by_collective, stretches};
use crate::words::{count, ratio};

/// Maximum number of message sizes with a plot over communicator sizes.
const CHOSEN_SIZES: usize = 6;

/// Width and height in pixels of so many plots, which fill the page: three in a row at most.
fn plot_size(plots: usize) -> (u32, u32) {
    match plots {
        1 => (1080, 330),
        2 => (528, 290),
        _ => (345, 240),
    }
}

/// A part for each collective, those with the largest speedups first and those without a rule last.
pub(super) fn parts(findings: &Findings, context: &Context<'_>) -> Vec<Block> {
    let gains = &context.gains;
    let (axis, stretches) = (strip::axis(gains), stretches(findings));
    let mut stretches = stretches.chunk_by(|a, b| a.first.collective == b.first.collective);
    let mut parts: Vec<(Option<f64>, Section)> = by_collective(findings)
        .zip(&mut stretches)
        .map(|(cells, stretches)| part(findings, (cells, stretches), context, axis.as_ref()))
        .collect();
    parts.sort_by(|(a, _), (b, _)| b.unwrap_or(f64::MIN).total_cmp(&a.unwrap_or(f64::MIN)));
    let is_ruled = parts.iter().any(|(speedup, _)| speedup.is_some());
    let overview = is_ruled.then(|| Block::drawing(strip::overview(gains, axis.as_ref())));
    overview.into_iter().chain(parts.into_iter().map(|(_, part)| Block::Section(part))).collect()
}

/// The part of these cells, which are all of a collective, with its speedup; none if no size has a rule.
fn part(
    findings: &Findings,
    (cells, stretches): (&[CellFinding], &[Stretch]),
    context: &Context<'_>,
    axis: Option<&Axis>,
) -> (Option<f64>, Section) {
    let (collective, gains) = (cells[0].cell.collective, &context.gains);
    let (palette, places) = (Palette::from_cells(cells), Places::from_cells(cells.iter().map(|cell| cell.cell)));
    // What the rules decide is no part of a tuning by settings alone.
    let (rules, alone) = match gains.have_rules() {
        true => (gains, ""),
        false => (&context.rules, " of the rules alone, which are not installed"),
    };
    let drawn = Drawn { findings, collective, cells, gains, rules, alone, palette: &palette, places: &places };
    let is_ruled = gains.of_collective(collective).any(|(_, gain)| gain.is_changed());
    let mean = gains.mean(cells_of(collective));
    let had_rule = gains.of_collective(collective).any(|(_, gain)| gain.had_rule());
    let strips = if had_rule { strip::strips(gains, axis, collective) } else { String::new() };
    let summary = format!(
        "<span class=\"speedup\">{}</span><span class=\"short\">{}</span>{strips}",
        mean.map(ratio).unwrap_or_default(),
        prose(&drawn.in_short()),
    );
    let mut blocks = vec![reasons_table(findings, cells)];
    if is_ruled {
        blocks.extend([drawn.algorithms(), drawn.speedups()]);
    }
    let crossovers = findings.crossovers.iter().filter(|crossover| crossover.collective == collective);
    let crossovers = crossovers.map(|crossover| facts::crossover_row(findings, crossover));
    let per = if collective.has_sizes() { ", per message size" } else { "" };
    let times = vec![
        legend(&drawn.legend()),
        Block::drawing(format!("<p class=\"hint\">{}</p>", drawn.times_are())),
        Block::open("", "Over message size, per communicator size", vec![plots(drawn.over_sizes())]),
        Block::open("", format!("Over communicator size{per}"), vec![plots(drawn.over_ranks())]),
    ];
    blocks.extend([
        Block::open("", "Times", times),
        Block::open("", format!("Decisions{alone}"), vec![drawn.decisions(stretches)]),
        Block::section("", "Crossovers", vec![Block::table(CROSSOVERS, crossovers)]),
        Block::section("", "All sizes as timed for tuning", vec![table(findings, cells)]),
    ]);
    let title = collective.to_string();
    let part = Section { id: format!("c-{title}"), title, summary, blocks, open: false };
    (is_ruled.then(|| mean.map_or(0.0, |mean| mean.point)), part)
}

/// The reasons for the choices of a collective; a remedy has a column if there is one.
fn reasons_table(findings: &Findings, cells: &[CellFinding]) -> Block {
    let reasons = reasons(findings, cells);
    let columns = if reasons.iter().all(|(reason, _)| reason.remedy.is_empty()) { 3 } else { 4 };
    let row = |(ChoiceReason { is_ruled, why, remedy }, cells): (ChoiceReason, usize)| {
        let choice = if is_ruled { "a rule" } else { "the default" };
        [cells.to_string(), choice.to_owned(), why, remedy].into_iter().take(columns).collect::<Vec<_>>()
    };
    Block::table(
        ["measured sizes:", "choice", "why", "may change it"].into_iter().take(columns),
        reasons.into_iter().map(row),
    )
}

/// The place of a line in a legend.
fn place(stroke: Stroke) -> usize {
    match stroke {
        Stroke::Builtin => 0,
        Stroke::Series(number) => number + 1,
    }
}

/// The heads of a table of crossovers.
const CROSSOVERS: [&str; 6] = ["ranks:", "below", "from:", "above", "measured around", "certain between"];

/// Data behind the pictures.
struct Drawn<'a> {
    findings: &'a Findings,
    collective: Collective,
    cells: &'a [CellFinding],
    gains: &'a Gains<'a>,
    /// Those of the rules in the tables of what they decide, and what titles say of these rules.
    rules: &'a Gains<'a>,
    alone: &'static str,
    palette: &'a Palette,
    places: &'a Places,
}

impl Drawn<'_> {
    fn name(&self, candidate: Candidate) -> String {
        candidate_name(self.findings, self.collective, candidate)
    }

    /// Sizes by fate in a phrase; without rules, the most frequent reason.
    fn in_short(&self) -> String {
        let all: Vec<CellGain> = self.gains.of_collective(self.collective).map(|(_, gain)| gain).collect();
        if !all.iter().any(CellGain::had_rule) {
            let open = self.cells.iter().filter(|cell| cell.is_open(self.findings.criteria.min_gain)).count();
            if open > 0 {
                let all = counted(self.cells.len(), "measured size");
                return format!("undecided for {open} of {all}: more timings may tell; the default stays");
            }
            let reasons = reasons(self.findings, self.cells);
            let others = if reasons.len() > 1 { " for most" } else { "" };
            let why = reasons.first().map_or(String::new(), |(reason, _)| format!("{}{others}", reason.why));
            return format!("no gain; the default stays: {why}");
        }
        let states = count(all.iter().filter(|gain| gain.had_rule()).map(|gain| (gain.describe().1, 1)));
        let parts: Vec<String> = states.iter().map(|(said, count)| format!("{count} {said}")).collect();
        format!("of {}: {}", counted(all.len(), "size"), parts.join("; "))
    }

    /// Meaning of lines and dots, as markup.
    fn times_are(&self) -> String {
        let time = facts::timing(self.findings.statistic);
        let intervals = self.cells.iter().flat_map(|cell| &cell.points).any(|point| point.time.low.is_some());
        let dots = if intervals { "the height of a dot is its interval" } else { "there are too few for intervals" };
        let marks = if self.findings.crossovers.iter().any(|crossover| crossover.collective == self.collective) {
            " Dotted lines: crossovers, where the rules change."
        } else {
            ""
        };
        format!(
            "{time} Lines go through medians; {dots}. Both axes are logarithmic.<span class=\"script\"> Click algorithms to \
             highlight them.</span>{marks}{}",
            self.others()
        )
    }

    /// The algorithms without a line, in a sentence.
    fn others(&self) -> String {
        let timed: BTreeSet<Candidate> =
            self.cells.iter().flat_map(|cell| &cell.points).map(|it| it.candidate).collect();
        match timed.into_iter().filter(|candidate| self.palette.stroke(*candidate).is_none()).count() {
            0 => String::new(),
            others => format!(
                " Not drawn: {} that won nowhere; the table of all sizes has them.",
                counted(others, "algorithm")
            ),
        }
    }

    /// The choice for each range of sizes.
    fn decisions(&self, stretches: &[Stretch]) -> Block {
        let row = |stretch: &Stretch| {
            let speedup = self.rules.mean(stretch.cells()).map(ratio).unwrap_or_default();
            [stretch.first.ranks.to_string(), stretch.sizes(), self.name(stretch.by), speedup]
        };
        Block::table(["ranks:", "message sizes", "algorithm", "speedup"], stretches.iter().map(row))
    }

    /// A map with one tile per cell: its colour, what is written on it, and what is said first at the pointer.
    fn map(&self, caption: String, tile: impl Fn(&CellFinding) -> (Fill, String, String)) -> Heatmap {
        let tile = |ranks: &Ranks, bytes: &Bytes| {
            let place = self.cells.binary_search_by_key(&(*ranks, *bytes), |it| (it.cell.ranks, it.cell.bytes));
            let cell = &self.cells[place.ok()?];
            let (fill, text, first) = tile(cell);
            Some(Tile { fill, text, note: format!("{}: {first}{}", cell.cell, self.times(cell)) })
        };
        let sized = self.collective.has_sizes();
        let label = |size: &Bytes| if sized { size.to_string() } else { String::new() };
        Heatmap::new(caption, &self.places.ranks, &self.places.sizes, label, tile)
    }

    /// The algorithm of each cell under the rules, by name; its legend has all that occur.
    fn algorithms(&self) -> Block {
        let columns = if self.collective.has_sizes() { " and message size (columns)" } else { "" };
        let between = match self.places.left_out {
            0 => String::new(),
            sizes => format!(
                "; not drawn: {} measured on few communicators, to place crossovers",
                counted(sizes, "message size")
            ),
        };
        let by = if self.alone.is_empty() { " with the rules" } else { self.alone };
        let caption = format!("Algorithms{by}, by ranks (rows){columns}{between}");
        let map = self.map(caption, |cell| {
            let in_use = cell.candidate_in_use();
            (self.palette.fill(in_use), self.name(in_use), reasons::verdict(self.findings, cell))
        });
        let in_use = self.cells.iter().map(|cell| cell.candidate_in_use());
        let names: BTreeMap<String, String> = in_use.map(|by| (self.palette.fill(by).class(), self.name(by))).collect();
        let entries = names.into_iter().map(|(class, name)| Entry { class, name }).collect();
        map.join().block(entries)
    }

    fn speedups(&self) -> Block {
        let are = match (self.gains.round, self.gains.chosen) {
            (None, None) => "expected from the timings for tuning, not confirmed",
            _ => "in fresh launches without and with it",
        };
        let caption = format!("Speedup with the tuning: {are}; blank where the default stays");
        let map = self.map(caption, |cell| {
            let gain = self.gains.get(cell.cell);
            let removed = self.gains.removal(cell.cell).map(|why| format!("rule removed: {}", why.describe()));
            let why = removed.unwrap_or_else(|| reasons::reason(self.findings, cell));
            let by = match gain.state {
                SizeState::Settings(_) => "the settings".to_owned(),
                _ => self.name(cell.candidate_in_use()),
            };
            match gain.speedup {
                _ if !gain.is_changed() => (Fill::Builtin, String::new(), format!("the default stays: {why}")),
                None if self.findings.doubts(cell) => {
                    (Fill::Builtin, "?".to_owned(), format!("implausible times with {by}: {why}"))
                }
                None if gain.state == SizeState::Between => {
                    (Fill::Builtin, String::new(), format!("{by}, between confirmed sizes: {why}"))
                }
                None => (Fill::Builtin, "?".to_owned(), format!("{by}, not compared: {why}")),
                Some(speedup) => {
                    let point = speedup.point;
                    let digits = if point >= 9.95 { format!("{point:.0}") } else { format!("{point:.2}") };
                    (Fill::Ratio(point), digits, format!("{} with {by}: {why}", ratio(speedup)))
                }
            }
        });
        map.block(ratios(|ratio| format!("{ratio}x")))
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

    /// The candidates with a line, in the order of their colours.
    fn legend(&self) -> Vec<Entry> {
        let candidates: BTreeSet<Candidate> =
            self.cells.iter().flat_map(|cell| &cell.points).map(|point| point.candidate).collect();
        let entry = |candidate: Candidate| {
            let stroke = self.palette.stroke(candidate)?;
            Some((place(stroke), Entry { class: stroke.class(), name: self.name(candidate) }))
        };
        let mut entries: Vec<(usize, Entry)> = candidates.into_iter().filter_map(entry).collect();
        entries.sort_by_key(|(place, _)| *place);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Lines of the default, the winners and the runner-up over `x`, of the cells that have it.
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
            .filter_map(|(candidate, mut points)| {
                points.sort_by_key(|point| point.x);
                Some(Line { name: self.name(candidate), stroke: self.palette.stroke(candidate)?, points })
            })
            .collect();
        // The default lies below all others, the winner above.
        lines.sort_by_key(|line| match line.stroke {
            Stroke::Builtin => 0,
            Stroke::Series(number) => 2 * COLOURS + 1 - number,
        });
        lines
    }

    fn over_sizes(&self) -> Vec<(String, Picture)> {
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
                let [_, below, at, above, _, certain] = facts::crossover_row(self.findings, crossover);
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
                size: plot_size(self.places.ranks.len()),
                ..Curves::new(&description, X::MessageBytes)
            };
            (caption, curves.picture())
        };
        self.places.ranks.iter().map(figure).collect()
    }

    /// The nodes of a communicator.
    fn place(&self, ranks: Ranks) -> String {
        self.findings.placement.nodes.get(&ranks).map_or(String::new(), |nodes| format!(" on {nodes}"))
    }

    fn over_ranks(&self) -> Vec<(String, Picture)> {
        let sizes: Vec<Bytes> = self.places.sizes.iter().copied().collect();
        if self.places.ranks.len() < 2 || sizes.is_empty() {
            return Vec::new();
        }
        let last = sizes.len() - 1;
        let chosen: BTreeSet<usize> = if last == 0 {
            BTreeSet::from([0])
        } else {
            (0..CHOSEN_SIZES).map(|place| (place * last).div_ceil(CHOSEN_SIZES - 1)).collect()
        };
        let size = plot_size(chosen.len());
        let figure = |place: usize| {
            let bytes = sizes[place];
            let lines = self.lines(|cell| (cell.cell.bytes == bytes).then_some(u64::from(cell.cell.ranks.0)));
            let caption =
                if self.collective.has_sizes() { X::MessageBytes.value(bytes.0) } else { self.collective.to_string() };
            let description =
                format!("Time of {} at {caption} over communicator size, one line per algorithm.", self.collective);
            let curves = Curves { lines, size, ..Curves::new(&description, X::Ranks) };
            (caption, curves.picture())
        };
        chosen.into_iter().map(figure).collect()
    }
}
