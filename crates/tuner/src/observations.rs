//! Timings as columns, read from the samples of a run or taken from a foreign table. The only module with polars.

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

/// Timings that an analysis starts from.
///
/// The frame has the columns collective and candidate (texts, each stored once), comm_size, message_bytes, launch, visit,
/// round and seconds, without nulls; every time is positive.
#[derive(Clone, Debug)]
pub struct Observations {
    frame: DataFrame,
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

/// Columns that identify a point: the call as `coll/tuned` sees it, and the candidate.
const POINT: [&str; 4] = ["collective", "comm_size", "message_bytes", "candidate"];

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
        check_times(&rows, time, text)?;
        let rows = without_patterns(rows)?;
        let ended = rows.column("ended")?.is_not_null();
        let ends = ends(&rows.filter(&ended)?)?;
        // Filtering copies, so a run without ended points skips it.
        let timings = if ended.any() { rows.filter(&!ended)? } else { rows };
        let names = POINT.into_iter().chain(["launch", "visit", "round"]);
        let mut columns = names.map(|name| timings.column(name).cloned()).collect::<PolarsResult<Vec<Column>>>()?;
        columns.push(timings.column(time)?.clone().with_name("seconds".into()));
        Self::new(DataFrame::new(timings.height(), columns)?, ends, statistic)
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
    pub fn apart_from_rules(self) -> Result<(Self, Option<Self>), TunerError> {
        let candidates = self.frame.column("candidate")?.cat32()?;
        let rules = candidates.get_mapping().get_cat(&Candidate::Rules.to_string());
        let rows = candidates.physical().iter().zip(self.whole("launch")?);
        let under_rules = rows.filter(|(code, _)| rules.is_some() && *code == rules);
        let mut under: BTreeSet<u32> = under_rules.map(|(_, launch)| *launch).collect();
        if under.is_empty() {
            return Ok((self, None));
        }
        // Launches in which all calls under the file failed have no timings of them.
        let failed = self.ends.iter().filter(|(_, (_, candidate), _)| *candidate == Candidate::Rules);
        under.extend(failed.map(|(launch, ..)| *launch));
        Ok((self.of_launches(|it| !under.contains(&it))?, Some(self.of_launches(|it| under.contains(&it))?)))
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
    pub fn of_launches(&self, is_wanted: impl Fn(u32) -> bool) -> Result<Self, TunerError> {
        let wanted: BooleanChunked = self.whole("launch")?.iter().map(|launch| Some(is_wanted(*launch))).collect();
        let mut frame = self.frame.filter(&wanted)?;
        frame.rechunk_mut();
        let ends = self.ends.iter().filter(|(launch, ..)| is_wanted(*launch)).cloned().collect();
        Ok(Self { frame, ends, ..self.clone() })
    }

    /// The number of timings.
    pub fn len(&self) -> usize {
        self.frame.height()
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
    pub fn cells_with(&self, competitors: Competitors) -> Result<Vec<CellTimings>, TunerError> {
        self.cells_in(&View { competitors, ..View::default() })
    }

    /// The timings that count in a view, by cell and by the candidate that they count for. Cells in which every candidate
    /// failed are included.
    pub(crate) fn cells_in(&self, view: &View) -> Result<Vec<CellTimings>, TunerError> {
        let mut cells: BTreeMap<Cell, CellTimings> = BTreeMap::new();
        for (cell, series) in self.points(view)? {
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
        Ok(cells.into_values().collect())
    }

    /// The timings of each point, in no particular order of points.
    pub(crate) fn points(&self, view: &View) -> Result<Vec<(Cell, PointTimings)>, TunerError> {
        let (collectives, ranks) = (self.frame.column("collective")?.cat32()?, self.whole("comm_size")?);
        let (launch, visit, round) = (self.whole("launch")?, self.whole("visit")?, self.whole("round")?);
        let bytes = self.frame.column("message_bytes")?.u64()?.cont_slice()?;
        let seconds = self.frame.column("seconds")?.f64()?.cont_slice()?;
        let candidates = self.frame.column("candidate")?.cat32()?;
        let timing = |row: IdxSize| {
            let row = row as usize;
            Timing { launch: launch[row], visit: visit[row], round: round[row], seconds: seconds[row] }
        };
        let groups = self.frame.group_by(POINT)?.into_groups();
        let point = |group: GroupsIndicator<'_>| {
            let first = group.first() as usize;
            let cell = Cell {
                collective: parse(text_at(collectives, first))?,
                ranks: Ranks(ranks[first]),
                bytes: Bytes(bytes[first]),
            };
            let timings = match group {
                GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| timing(*row)).collect(),
                GroupsIndicator::Slice([start, count]) => (start..start + count).map(timing).collect(),
            };
            let candidate = view.counts_as(cell, parse(text_at(candidates, first))?);
            Ok(candidate.map(|candidate| (cell, PointTimings::new(candidate, timings))))
        };
        groups.iter().map(point).filter_map(Result::transpose).collect()
    }

    fn new(frame: DataFrame, ends: Vec<PointEnd>, statistic: Statistic) -> Result<Self, TunerError> {
        if let Some(column) = frame.columns().iter().find(|column| column.null_count() > 0) {
            let message = format!("a line has neither an end nor a value in column {}", column.name());
            return Err(TunerError::Samples(message));
        }
        let seconds = frame.column("seconds")?.f64()?;
        let usable: BooleanChunked = seconds.into_no_null_iter().map(|s| Some(s.is_finite() && s > 0.0)).collect();
        let mut timings = if usable.all() { frame.clone() } else { frame.filter(&usable)? };
        timings.rechunk_mut();
        let left_out = frame.height() - timings.height();
        Ok(Self {
            frame: timings,
            ends,
            statistic,
            left_out,
            weights: BTreeMap::new(),
            expected_launches: 0,
            planned: Vec::new(),
        })
    }

    fn whole(&self, name: &str) -> Result<&[u32], TunerError> {
        Ok(self.frame.column(name)?.u32()?.cont_slice()?)
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
    let rows = CsvReadOptions::default()
        .with_has_header(true)
        .with_schema_overwrite(Some(Arc::new(Schema::from_iter(types))))
        .with_infer_schema_length(Some(0))
        .with_columns(Some(wanted))
        .map_parse_options(|options| options.with_comment_prefix(Some("#")))
        .into_reader_with_file_handle(Cursor::new(text.as_bytes()))
        .finish()?;
    Ok(rows)
}

/// Rejects times that no call can have, with their line. A clock with large steps may time a call as 0: such timings
/// are left out and counted.
fn check_times(rows: &DataFrame, time: &str, text: &str) -> Result<(), TunerError> {
    let (seconds, bytes) = (rows.column(time)?.f64()?, rows.column("message_bytes")?.u64()?);
    for (row, (seconds, bytes)) in seconds.iter().zip(bytes.iter()).enumerate() {
        let Some(seconds) = seconds.filter(|seconds| *seconds != 0.0) else { continue };
        if let Err(why) = check_time(Seconds(seconds), Bytes(bytes.unwrap_or_default())) {
            let is_row = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
            // The first line names the columns.
            let line = text.lines().enumerate().filter(is_row).nth(row + 1).map_or(0, |(place, _)| place + 1);
            return Err(TunerError::Samples(format!("line {line}: {why}")));
        }
    }
    Ok(())
}

/// The rows of cells: decisions do not use patterns.
fn without_patterns(rows: DataFrame) -> Result<DataFrame, TunerError> {
    let names = rows.column("collective")?.cat32()?;
    let is_pattern = |code| names.get_mapping().cat_to_str(code).is_some_and(|name| name.starts_with(Pattern::MARK));
    let mut known: HashMap<u32, bool> = HashMap::new();
    let codes = names.physical().iter();
    let of_cells: BooleanChunked = codes
        .map(|code| Some(!code.is_some_and(|code| *known.entry(code).or_insert_with(|| is_pattern(code)))))
        .collect();
    if of_cells.all() { Ok(rows) } else { Ok(rows.filter(&of_cells)?) }
}

/// The points that ended early, in the order of the file.
fn ends(rows: &DataFrame) -> Result<Vec<PointEnd>, TunerError> {
    let (collectives, candidates) = (rows.column("collective")?.cat32()?, rows.column("candidate")?.cat32()?);
    let (ranks, bytes) = (rows.column("comm_size")?.u32()?, rows.column("message_bytes")?.u64()?);
    let launches = rows.column("launch")?.u32()?;
    let mut ends = Vec::new();
    for (row, ended) in rows.column("ended")?.str()?.iter().enumerate() {
        let ended: EndReason = parse(ended.unwrap_or_default())?;
        let (Some(launch), Some(ranks), Some(bytes)) = (launches.get(row), ranks.get(row), bytes.get(row)) else {
            return Err(TunerError::Samples(format!("the point that ended with `{ended}` lacks its launch or sizes")));
        };
        let collective = parse(text_at(collectives, row))?;
        let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        ends.push((launch, (cell, parse(text_at(candidates, row))?), ended));
    }
    Ok(ends)
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
        let (without, under) = observations.apart_from_rules().expect("launches");
        let failures = |observations: &Observations, competitors| -> Vec<String> {
            let cells = observations.cells_with(competitors).expect("timings");
            cells.into_iter().flat_map(|cell| cell.disqualified).map(|(_, why)| why).collect()
        };
        assert_eq!(failures(&without, Competitors::Mockups), ["wrong"]);
        assert!(failures(&without, Competitors::Candidates).is_empty());
        assert_eq!(failures(&under.expect("rules"), Competitors::MockupsUnderRules), ["hangs"]);
    }
}
