//! Timings by point, read from the samples of a run or taken from a foreign table. The only module with polars.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::io::Cursor;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use collrules_record::findings::Statistic;
use collrules_record::rundir::{check_head, samples_text};
use collrules_record::sample::{COLUMNS, EndReason, TableTiming, TimedRow, check_time};
use collrules_record::{Bytes, Candidate, Cell, Pattern, Ranks, Seconds};
use polars::prelude::*;

use crate::cells::{CellTimings, PointTimings, Timing};
use crate::error::TunerError;
use crate::view::{Competitors, View};
use crate::weights::{Weights, normalized};

/// Timings that an analysis starts from. Every time is positive.
#[derive(Clone, Debug)]
pub struct Observations {
    /// Each point once.
    points: Vec<(Cell, PointTimings)>,
    ends: Vec<PointEnd>,
    statistic: Statistic,
    left_out: usize,
    /// The planned number of launches; 0 if it is unknown.
    pub(crate) expected_launches: u32,
    /// The planned cells; empty if they are unknown.
    pub(crate) planned: Vec<Cell>,
    weights: BTreeMap<Cell, f64>,
}

/// The launch in which the timing of a point ended early, the point, and the reason.
type PointEnd = (u32, (Cell, Candidate), EndReason);

impl Observations {
    /// Reads a samples file: one call per line, the slowest rank.
    ///
    /// The text has to consist of whole lines, as [`RunDir::samples`](collrules_record::RunDir::samples) gives them: an
    /// incomplete last line is parsed like any other. Times that are not positive are left out.
    pub fn from_samples(text: &str) -> Result<Self, TunerError> {
        Self::from_samples_of(text, Statistic::RankMaximum)
    }

    /// Reads a samples file with times of this statistic: the mean over ranks, or times of the slowest rank.
    pub fn from_samples_of(text: &str, statistic: Statistic) -> Result<Self, TunerError> {
        let time = match statistic {
            Statistic::RankAverage => "mean_s",
            Statistic::RankMaximum | Statistic::SlowestRankSummary => "max_s",
        };
        check_head(Path::new("samples.csv"), text)?;
        let rows = read_rows(text, time)?;
        let (collectives, candidates) = (rows.column("collective")?.cat32()?, rows.column("candidate")?.cat32()?);
        let (ranks, launches) = (rows.column("comm_size")?.u32()?, rows.column("launch")?.u32()?);
        let (visits, rounds) = (rows.column("visit")?.u32()?, rows.column("round")?.u32()?);
        let (bytes, times) = (rows.column("message_bytes")?.u64()?, rows.column(time)?.f64()?);
        let ended = rows.column("ended")?.str()?;
        let (mut points, mut ends, mut left_out) = (Vec::<(Cell, PointTimings)>::new(), Vec::new(), 0);
        // Texts are parsed once for each point.
        let mut known: HashMap<_, Option<usize>> = HashMap::new();
        for row in 0..rows.height() {
            let missing =
                |column: &str| TunerError::Samples(format!("a line has neither an end nor a value in column {column}"));
            let whole = |column: &UInt32Chunked| column.get(row).ok_or_else(|| missing(column.name()));
            let bytes = Bytes(bytes.get(row).ok_or_else(|| missing("message_bytes"))?);
            let time = times.get(row);
            // A clock with large steps may time a call as 0: such timings are left out and counted.
            if let Some(time) = time.filter(|time| *time != 0.0) {
                check_time(Seconds(time), bytes).map_err(|why| impossible(text, row, &why))?;
            }
            let names = (collectives.physical().get(row), candidates.physical().get(row));
            let number = match known.entry((names, ranks.get(row), bytes)) {
                Entry::Occupied(known) => *known.get(),
                // Decisions do not use patterns.
                Entry::Vacant(new) if text_at(collectives, row).starts_with(Pattern::MARK) => *new.insert(None),
                Entry::Vacant(new) => {
                    let collective = parse(text_at(collectives, row))?;
                    let cell = Cell { collective, ranks: Ranks(whole(ranks)?), bytes };
                    let candidate = parse(text_at(candidates, row))?;
                    points.push((cell, PointTimings { candidate, timings: Vec::new() }));
                    *new.insert(Some(points.len() - 1))
                }
            };
            let Some((cell, series)) = number.map(|number| &mut points[number]) else { continue };
            let launch = whole(launches)?;
            if let Some(ended) = ended.get(row) {
                ends.push((launch, (*cell, series.candidate), parse(ended)?));
                continue;
            }
            let seconds = time.ok_or_else(|| missing("seconds"))?;
            left_out += usize::from(seconds == 0.0);
            let timing = Timing { launch, visit: whole(visits)?, round: whole(rounds)?, seconds };
            series.timings.extend((seconds > 0.0).then_some(timing));
        }
        // Runs are written in this order, so sorting costs almost nothing.
        points.iter_mut().for_each(|(_, series)| series.timings.sort_by_key(Timing::turn));
        let (expected_launches, planned, weights) = (0, Vec::new(), BTreeMap::new());
        Ok(Self { points, ends, statistic, left_out, expected_launches, planned, weights })
    }

    /// Reads the timings of a foreign table: one value per launch, over calls and ranks as the statistic says.
    pub fn from_timings(timings: &[TableTiming], statistic: Statistic) -> Result<Self, TunerError> {
        let row = |timing: &TableTiming| {
            let &TableTiming { cell, candidate, launch, time } = timing;
            TimedRow { launch, round: 0, cell, candidate, max: Some(time), min: None, mean: Some(time) }
        };
        Self::from_samples_of(&samples_text(timings.iter().map(row)), statistic)
    }

    /// Sets the planned number of launches, so that a remark can name launches without timings.
    #[must_use]
    pub fn expecting(self, launches: u32) -> Self {
        Self { expected_launches: launches, ..self }
    }

    /// Sets the planned cells, so that rules do not cover planned sizes without timings.
    #[must_use]
    pub fn planning(self, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { planned: cells.into_iter().collect(), ..self }
    }

    /// The timings of launches without a rules file, and those of launches with one, if there are any.
    pub fn apart_from_rules(self) -> (Self, Option<Self>) {
        let under_rules = self.points.iter().filter(|(_, series)| series.candidate == Candidate::Rules);
        let mut under: BTreeSet<u32> = under_rules.flat_map(|(_, series)| series.launches()).collect();
        if under.is_empty() {
            return (self, None);
        }
        // Launches in which all calls under the file failed have no timings of them.
        let failed = self.ends.iter().filter(|(_, (_, candidate), _)| *candidate == Candidate::Rules);
        under.extend(failed.map(|(launch, ..)| *launch));
        (self.of_launches(|it| !under.contains(&it)), Some(self.of_launches(|it| under.contains(&it))))
    }

    /// Sets the times that programs spend in cells, as weights for choices that cells must share.
    #[must_use]
    pub fn weighing(self, times: impl IntoIterator<Item = (Cell, Seconds)>) -> Self {
        Self { weights: normalized(times), ..self }
    }

    /// Returns the weight of each cell; without any, all have the same weight.
    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights(&self.weights)
    }

    /// The timings of the wanted launches, with the points that ended early in them.
    #[must_use]
    pub fn of_launches(&self, is_wanted: impl Fn(u32) -> bool) -> Self {
        let mut own = self.clone();
        own.points.iter_mut().for_each(|(_, series)| series.timings.retain(|timing| is_wanted(timing.launch)));
        own.ends.retain(|(launch, ..)| is_wanted(*launch));
        own
    }

    /// The number of timings.
    pub fn len(&self) -> usize {
        self.points.iter().map(|(_, series)| series.timings.len()).sum()
    }

    /// Returns true if there is no timing at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the statistic that each timing holds.
    pub fn statistic(&self) -> Statistic {
        self.statistic
    }

    /// The number of timings that were left out because they are not positive.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The timings of these candidates and the builtin, by cell, in the order of measurement.
    pub fn cells_with(&self, competitors: Competitors) -> Vec<CellTimings> {
        self.cells_in(&View { competitors, ..View::default() })
    }

    /// The timings that count in a view, by cell and by the candidate that they count for. Cells in which every candidate
    /// failed are included.
    pub(crate) fn cells_in(&self, view: &View) -> Vec<CellTimings> {
        let mut cells: BTreeMap<Cell, CellTimings> = BTreeMap::new();
        for (cell, series) in self.points(view) {
            cells.entry(cell).or_insert_with(|| CellTimings::new(cell)).series.push(series);
        }
        for (_, (cell, candidate), ended) in &self.ends {
            let Some(candidate) = view.counts_as(*cell, *candidate) else { continue };
            match ended {
                EndReason::Disqualified(why) => {
                    let timings = cells.entry(*cell).or_insert_with(|| CellTimings::new(*cell));
                    let is_first = timings.failure(candidate).is_none();
                    timings.disqualified.extend(is_first.then(|| (candidate, why.clone())));
                }
                // A cell without timings gives no information.
                EndReason::Dropped(_) => {
                    cells.get_mut(cell).map(|timings| timings.dropped.insert(candidate));
                }
            }
        }
        for cell in cells.values_mut() {
            cell.series.sort_unstable_by_key(|series| series.candidate);
            cell.disqualified.sort_by_key(|(candidate, _)| *candidate);
        }
        cells.into_values().collect()
    }

    /// The timings of each point that has any and counts in a view, in no particular order of points.
    pub(crate) fn points(&self, view: &View) -> impl Iterator<Item = (Cell, PointTimings)> {
        let timed = self.points.iter().filter(|(_, series)| !series.timings.is_empty());
        timed.filter_map(|(cell, series)| {
            let candidate = view.counts_as(*cell, series.candidate)?;
            Some((*cell, PointTimings { candidate, ..series.clone() }))
        })
    }
}

impl From<PolarsError> for TunerError {
    fn from(error: PolarsError) -> Self {
        // Further paragraphs are advice about options of polars.
        let text = error.to_string();
        Self::Samples(text.split("\n\n").next().unwrap_or_default().to_owned())
    }
}

/// A text column that stores each value once: samples repeat a few candidates millions of times.
fn text_once() -> DataType {
    DataType::from_categories(Categories::random("collrules".into(), CategoricalPhysical::U32))
}

/// The rows of a samples file, in one piece.
fn read_rows(text: &str, time: &str) -> Result<DataFrame, TunerError> {
    let types = COLUMNS.map(|name| {
        let kind = match name {
            "launch" | "visit" | "round" | "comm_size" => DataType::UInt32,
            "message_bytes" => DataType::UInt64,
            "max_s" | "min_s" | "mean_s" => DataType::Float64,
            "collective" | "candidate" => text_once(),
            _ => DataType::String,
        };
        Field::new(name.into(), kind)
    });
    // Of the time columns, only the needed one is parsed.
    let is_wanted = |name: &&str| *name == time || !matches!(*name, "max_s" | "min_s" | "mean_s");
    let wanted: Arc<[PlSmallStr]> = COLUMNS.into_iter().filter(is_wanted).map(PlSmallStr::from).collect();
    let mut rows = CsvReadOptions::default()
        .with_has_header(true)
        .with_schema_overwrite(Some(Arc::new(Schema::from_iter(types))))
        .with_infer_schema_length(Some(0))
        .with_columns(Some(wanted))
        .map_parse_options(|options| options.with_comment_prefix(Some("#")))
        .into_reader_with_file_handle(Cursor::new(text.as_bytes()))
        .finish()?;
    rows.rechunk_mut();
    Ok(rows)
}

/// The error of a time that no call can have, with the line of its row.
fn impossible(text: &str, row: usize, why: &str) -> TunerError {
    let is_row = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    // The first line names the columns.
    let line = text.lines().enumerate().filter(is_row).nth(row + 1).map_or(0, |(place, _)| place + 1);
    TunerError::Samples(format!("line {line}: {why}"))
}

/// The text at a row; empty if there is none.
fn text_at(column: &Categorical32Chunked, row: usize) -> &str {
    let code = column.physical().get(row);
    code.and_then(|code| column.get_mapping().cat_to_str(code)).unwrap_or_default()
}

fn parse<T: FromStr<Err: Error>>(text: &str) -> Result<T, TunerError> {
    text.parse().map_err(|error: T::Err| TunerError::Samples(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_without_a_rules_file_is_none_with_it() {
        let head = COLUMNS.join(",");
        let text = format!(
            "# collrules samples 1.0\n{head}\n\
             0,0,0,bcast,4,8,builtin,1e-6,,,\n\
             0,,,bcast,4,8,mockup:scatter+allgather,,,,disqualified: wrong\n\
             1,0,0,bcast,4,8,rules,1e-6,,,\n\
             1,0,0,bcast,4,8,mockup:scatter+allgather,2e-6,,,\n\
             2,,,bcast,4,8,rules,,,,disqualified: hangs\n"
        );
        let observations = Observations::from_samples(&text).expect("samples");
        let (without, under) = observations.apart_from_rules();
        let failures = |observations: &Observations, competitors| -> Vec<String> {
            let cells = observations.cells_with(competitors);
            cells.into_iter().flat_map(|cell| cell.disqualified).map(|(_, why)| why).collect()
        };
        assert_eq!(failures(&without, Competitors::Mockups), ["wrong"]);
        assert!(failures(&without, Competitors::Candidates).is_empty());
        assert_eq!(failures(&under.expect("rules"), Competitors::MockupsUnderRules), ["hangs"]);
    }
}
