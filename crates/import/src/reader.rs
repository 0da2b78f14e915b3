//! One loop that reads the text of every format: marks, headers of tables, and rows.
//!
//! OSU and IMB print means over calls, and their mean, minimum and maximum over ranks; IMB moves the root over calls.
//! ReproMPI prints single calls, either the slowest rank (`compute_runtimes` of ReproMPI takes the maximum of the local
//! times, or the last end minus the first start on a global clock) or each process, or medians of calls. The tables of
//! ompi-collectives-tuning have means over launches of OSU's or IMB's mean over ranks in microseconds, perhaps with a
//! standard deviation in parentheses.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use collrules_record::CandidateName;
use collrules_record::units::Seconds;
use collrules_rules::Collective;

use crate::columns::{Columns, Given, Layout, Role, short};
use crate::error::ImportError;
use crate::facts::{Facts, TimeStatistics, collective_named};
use crate::finding::FindingCode;
use crate::formats::{ImportFormat, Mark, Program, mark};
use crate::raw::{Parsed, Raw, fault};
use crate::row::{self, Output};

/// Reads text. Facts and a unit that are given need not be in a table.
pub(super) fn read(text: &str, given: &Given<'_>) -> Result<Parsed, ImportError> {
    let mut reader = Reader {
        given,
        parsed: Parsed::default(),
        stray: None,
        output: Output::default(),
        has_text: false,
        blank: Vec::new(),
        unread: Vec::new(),
        numbers: BTreeMap::new(),
    };
    for (line, content) in (1..).zip(text.lines()) {
        reader.line(line, content.trim())?;
    }
    reader.end();
    if reader.parsed.format.is_none() {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(first.map_or(ImportError::Empty, |first| ImportError::Unknown(short(first))));
    }
    reader.report_columns();
    reader.refuse_ambiguous();
    Ok(reader.parsed)
}

struct Reader<'a> {
    given: &'a Given<'a>,
    parsed: Parsed,
    /// Adjoining lines between those of the benchmark, such as warnings of the MPI library: the first, the last, and the
    /// beginning of the first.
    stray: Option<(u64, u64, String)>,
    output: Output,
    /// True if a line was neither blank nor a comment.
    has_text: bool,
    blank: Vec<u64>,
    /// Columns of tables that are not read, each with its first value, and true if there are others.
    unread: Vec<(String, Option<String>, bool)>,
    /// The numbers and lines of each algorithm name, if the table has both names and numbers.
    numbers: BTreeMap<(Option<Collective>, String), BTreeMap<u64, String>>,
}

impl Output {
    fn pass(&mut self, line: u64, why: String) {
        self.passed = Some((line, why, 0));
    }
}

impl Reader<'_> {
    fn line(&mut self, line: u64, content: &str) -> Result<(), ImportError> {
        if content.is_empty() {
            // A table of IMB ends with a blank line; what follows belongs to no test.
            if self.output.program == Some(Program::Imb) && self.output.rows > 0 {
                self.end();
            }
            self.blank.push(line);
            return Ok(());
        }
        let is_comment = content.starts_with('#');
        // A table has one header, on the first line that is no comment.
        let is_table = self.output.program == Some(Program::Table);
        let may_be_header = !is_table && (is_comment || !self.has_text || self.output.program.is_some());
        self.has_text |= !is_comment;
        if let Some((program, mark, value)) = mark(content) {
            self.end_stray();
            self.parsed.format.get_or_insert(program.format());
            self.output.program.get_or_insert(program);
            self.mark(line, program, mark, value);
        } else if let Some(found) = may_be_header.then(|| Columns::find(content, self.given)).flatten() {
            self.end_stray();
            match found {
                Ok(columns) => self.header(columns, is_comment),
                // Of tests that are not read.
                Err(_) if self.output.passed.is_some() => {}
                Err(why) => return Err(why),
            }
        } else if is_comment {
            self.end_stray();
        } else {
            self.row(line, content);
        }
        self.blank.clear();
        Ok(())
    }

    fn mark(&mut self, line: u64, program: Program, mark: Mark, value: &str) {
        match mark {
            Mark::Program => {
                self.end();
                self.output.program = Some(program);
                self.output.version = imb_version(value).filter(|_| program == Program::Imb);
                self.output.is_on_device = value.contains("(GPU)");
            }
            Mark::Test => {
                self.end();
                let (ran, name) = match program {
                    Program::Imb => ("MPI", value),
                    _ => value.split_once(' ').unwrap_or((value, "")),
                };
                let name = name.split(" Latency Test").next().unwrap_or_default().trim();
                let output = &mut self.output;
                // Each test of OSU says it; of IMB the whole output does.
                output.is_on_device &= program == Program::Imb;
                output.program = Some(program);
                output.facts.collective = collective_named(name);
                if ran != "MPI" && !ran.starts_with("MPI-") {
                    output.pass(line, format!("{} does not call MPI", short(value)));
                } else if output.facts.collective.is_none() {
                    output.pass(line, format!("{} is not a benchmark of a collective that can be tuned", short(name)));
                } else if ran != "MPI" || output.is_on_device {
                    output.is_on_device = true;
                    let what = "its buffers are in the memory of a device";
                    self.parsed.faults.push((Some(line), fault(FindingCode::DeviceMemory, what).of_timings(0)));
                }
            }
            Mark::Groups => self.output.pass(line, format!("several groups ran at the same time: {}", short(value))),
            Mark::Ranks => match value.parse() {
                Ok(ranks) => self.output.facts.ranks = Some(ranks),
                Err(_) => self.output.pass(line, format!("{} is not a number of processes", short(value))),
            },
            Mark::Element => self.output.element = value.parse().ok().filter(|bytes| *bytes > 0),
            Mark::Datatype => self.datatype(line, value.trim_end_matches('.')),
            Mark::Algorithm => {
                if let [collective, bytes, name] = value.split_whitespace().collect::<Vec<_>>()[..]
                    && let (Some(collective), Ok(bytes)) = (collective_named(collective), bytes.parse())
                {
                    self.output.algorithms.insert((collective, bytes), tuned_name(name));
                }
            }
            Mark::WrongData => {
                let number = |text: &str| text.trim_start().split(',').next().and_then(|number| number.parse().ok());
                match value.split_once(",size =").and_then(|(_, size)| number(size)) {
                    Some(size) => self.output.wrong.push((line, size, self.parsed.raws.len())),
                    None => {
                        self.wrong_data(line, format!("the benchmark found wrong data and stopped: {}", short(value)))
                    }
                }
            }
        }
    }

    /// A benchmark of several datatypes: only the first is read.
    fn datatype(&mut self, line: u64, datatype: &str) {
        if self.output.datatype.is_some() || self.output.passed.is_none() {
            self.report_passed();
            let first = self.output.datatype.get_or_insert_with(|| datatype.to_owned());
            let what = format!("{datatype} is another datatype than {first}, which is taken");
            self.output.passed = (first != datatype).then_some((line, what, 0));
            self.output.element = match datatype {
                "MPI_INT" | "MPI_FLOAT" => Some(4),
                "MPI_DOUBLE" => Some(8),
                _ => None,
            };
        }
    }

    fn header(&mut self, columns: Columns, is_comment: bool) {
        let program = match columns.layout {
            Layout::Algorithms => Program::Tuning,
            Layout::Delimited(_) if !is_comment => Program::Table,
            Layout::Words if !is_comment => Program::Reprompi,
            _ => Program::Nameless,
        };
        let is_best = program == Program::Tuning && columns.has(Role::Algorithm);
        self.parsed.format.get_or_insert(if is_best { ImportFormat::Best } else { program.format() });
        self.output.program.get_or_insert(program);
        if program == Program::Table {
            let names = columns.columns.iter().filter(|column| column.role.is_none());
            self.unread.extend(names.map(|column| (column.name.clone(), None, false)));
        }
        self.output.columns = Some(columns);
    }

    fn row(&mut self, line: u64, content: &str) {
        let begins_with_number = || content.starts_with(|sign: char| sign.is_ascii_digit());
        if let Some((_, _, rows)) = self.output.passed.as_mut().filter(|_| begins_with_number()) {
            *rows += 1;
            self.output.rows += 1;
            return;
        }
        let Some(columns) = self.output.columns.take() else { return self.add_stray(line, content) };
        let fields = columns.fields(content);
        if fields.as_ref().is_some_and(|fields| !columns.is_row(fields)) {
            self.add_stray(line, content);
        } else {
            self.end_stray();
            self.output.rows += 1;
            if let Layout::Delimited(_) = columns.layout {
                for line in self.blank.drain(..) {
                    self.parsed.fault(line, FindingCode::EmptyValue, row::EMPTY_ROW);
                }
            }
            let read = match &fields {
                Some(fields) => row::read(&columns, fields, line, &self.output),
                None => Err(fault(FindingCode::BadRow, "a quoted value is not closed")),
            };
            match read {
                Err(fault) => self.parsed.faults.push((Some(line), fault)),
                Ok(timings) => {
                    self.compare(&columns, &fields.unwrap_or_default(), line, &timings);
                    for timing in timings {
                        match timing {
                            Ok(raw) => self.parsed.raws.push(raw),
                            Err(fault) => self.parsed.faults.push((Some(line), fault)),
                        }
                    }
                }
            }
        }
        self.output.columns = Some(columns);
    }

    /// Remembers the values of a row that other rows should have too.
    fn compare<E>(&mut self, columns: &Columns, fields: &[Cow<'_, str>], line: u64, timings: &[Result<Raw, E>]) {
        let field = |place: usize| fields.get(place).map(|field| field.trim().to_lowercase()).unwrap_or_default();
        for (place, column) in columns.columns.iter().enumerate().filter(|(_, column)| column.role.is_none()) {
            if let Some((_, first, varies)) = self.unread.iter_mut().find(|(name, ..)| *name == column.name) {
                let value = field(place);
                *varies |= *first.get_or_insert_with(|| value.clone()) != value;
            }
        }
        let place = |role: Role| columns.columns.iter().position(|column| column.role == Some(role));
        if let (Some(id), Some(name), [Ok(raw)]) = (place(Role::AlgorithmId), place(Role::Algorithm), timings) {
            self.numbers.entry((raw.facts.collective, field(name))).or_default().insert(line, field(id));
        }
    }

    fn add_stray(&mut self, line: u64, content: &str) {
        let (_, last, _) = self.stray.get_or_insert_with(|| (line, line, short(content)));
        *last = line;
    }

    /// Reports the stray lines so far.
    fn end_stray(&mut self) {
        let Some((first, last, content)) = self.stray.take() else { return };
        let what = if first == last {
            format!("not part of the benchmark's output, ignored: {content}")
        } else {
            format!("lines {first} to {last} are not part of the benchmark's output, ignored; they begin: {content}")
        };
        self.parsed.fault(first, FindingCode::StrayLines, what);
    }

    /// Ends an output. Those that follow are of the same program.
    fn end(&mut self) {
        self.end_stray();
        self.report_passed();
        self.name_algorithms();
        self.combine_processes();
        self.leave_out_wrong();
        let Output { version, is_on_device, .. } = self.output;
        self.output = Output { version, is_on_device, begin: self.parsed.raws.len(), ..Output::default() };
    }

    fn report_passed(&mut self) {
        if let Some((line, why, rows)) = self.output.passed.take() {
            self.parsed.faults.push((Some(line), fault(FindingCode::PassedOver, why).of_timings(rows)));
        }
    }

    /// Gives the rows what PGMPITuneLib says at the end that it called.
    fn name_algorithms(&mut self) {
        let algorithms = std::mem::take(&mut self.output.algorithms);
        for raw in &mut self.parsed.raws[self.output.begin..] {
            let key = raw.facts.collective.map(|collective| (collective, raw.size.printed));
            raw.facts.algorithm = raw.facts.algorithm.take().or_else(|| algorithms.get(&key?).cloned());
        }
    }

    /// Leaves out the rows behind messages about wrong data; of messages that came late, the rows of their size. IMB names
    /// the bytes that a rank checked, which may be the blocks of all ranks.
    fn leave_out_wrong(&mut self) {
        let Facts { collective, ranks, .. } = self.output.facts;
        let has_blocks = collective.is_some_and(|it| it.counts_blocks() || it == Collective::Alltoall);
        let ranks = ranks.filter(|_| has_blocks).map_or(1, |ranks| u64::from(ranks.0));
        let mut wrong = BTreeSet::new();
        for (line, size, behind) in std::mem::take(&mut self.output.wrong) {
            let fits = |place: &usize| {
                let printed = self.parsed.raws[*place].size.printed;
                printed == size || printed.checked_mul(ranks) == Some(size)
            };
            let all = self.output.begin..self.parsed.raws.len();
            let behind = Some(behind).filter(|place| all.contains(place));
            let places: Vec<usize> = match behind.filter(fits) {
                Some(place) => vec![place],
                None => all.filter(fits).collect(),
            };
            wrong.extend(places.first().copied().or(behind));
            if places.is_empty() && behind.is_none() {
                self.wrong_data(line, format!("the benchmark found wrong data of {size} bytes"));
            }
            wrong.extend(places);
        }
        for place in wrong.into_iter().rev() {
            let Raw { line, facts, size, .. } = self.parsed.raws.remove(place);
            let fault = fault(FindingCode::ValidationFailed, "the benchmark found wrong data").about(facts, size);
            self.parsed.faults.push((Some(line), fault));
        }
    }

    fn wrong_data(&mut self, line: u64, what: String) {
        self.parsed.faults.push((Some(line), fault(FindingCode::ValidationFailed, what).of_timings(0)));
    }

    /// Combines the times of the processes of a call.
    fn combine_processes(&mut self) {
        let mut calls: BTreeMap<_, Vec<Raw>> = BTreeMap::new();
        for raw in self.parsed.raws.extract_if(self.output.begin.., |raw| raw.is_process) {
            calls.entry((raw.facts.collective, raw.size.printed, raw.round)).or_default().push(raw);
        }
        for call in calls.into_values() {
            let times: Vec<f64> = call.iter().filter_map(|raw| raw.times.max).map(|time| time.0).collect();
            let (count, first) = (call.len(), call[0].clone());
            if let Some(ranks) = first.facts.ranks.filter(|ranks| ranks.0 as usize != count) {
                let what = format!("{count} of {ranks} processes of this call have a row");
                self.parsed.fault(first.line, FindingCode::BadRow, what);
                continue;
            }
            let min = times.iter().copied().reduce(f64::min).map(Seconds);
            let max = times.iter().copied().reduce(f64::max).map(Seconds);
            let mean = Some(Seconds(times.iter().sum::<f64>() / count as f64));
            self.parsed.raws.push(Raw { times: TimeStatistics { max, min, mean }, ..first });
        }
    }

    /// Names the columns of tables that are not read, and those whose values differ.
    fn report_columns(&mut self) {
        let (varying, constant): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.unread).into_iter().partition(|(_, _, varies)| *varies);
        for (columns, code, what) in [
            (constant, FindingCode::PassedOver, "not read"),
            (
                varying,
                FindingCode::VaryingColumn,
                "not read, though values differ: rows are compared as if they were the same",
            ),
        ] {
            let names: BTreeSet<String> = columns.into_iter().map(|(name, ..)| format!("`{name}`")).collect();
            if !names.is_empty() {
                let names = names.into_iter().collect::<Vec<_>>().join(", ");
                self.parsed.faults.push((None, fault(code, format!("columns {names} are {what}")).of_timings(0)));
            }
        }
    }

    /// Leaves out the rows of an algorithm's name with several numbers: the table does not say which one is right.
    fn refuse_ambiguous(&mut self) {
        let numbers = std::mem::take(&mut self.numbers);
        for ((collective, name), ids) in numbers {
            let different: BTreeSet<&str> = ids.values().map(String::as_str).collect();
            if different.len() > 1 {
                let different = different.into_iter().collect::<Vec<_>>().join(", ");
                let collective = collective.map_or("", Collective::name);
                let what =
                    format!("the table gives several numbers to the {collective} algorithm `{name}`: {different}");
                self.parsed.raws.retain(|raw| !ids.contains_key(&raw.line));
                ids.keys().for_each(|line| self.parsed.fault(*line, FindingCode::Contradiction, &*what));
            }
        }
    }
}

/// A name of PGMPITuneLib, `default` or `allreduce_as_reducescatter_allgatherv`: behind `_as_` is a word for each call.
fn tuned_name(name: &str) -> CandidateName {
    let words = [("_", "+"), ("reducescatter", "reduce_scatter"), ("scatterblock", "scatter_block")];
    let words = words.into_iter().chain([("reducelocal", "reduce_local")]);
    let calls = name.split_once("_as_").map_or(name, |(_, calls)| calls);
    let ours = words.fold(format!("mockup:{calls}"), |calls, (theirs, ours)| calls.replace(theirs, ours));
    ours.parse().map_or_else(|_| CandidateName::Word(name.to_owned()), CandidateName::Complete)
}

/// Year and update in `2019 Update 6, MPI-1 part`, `2021.7, MPI-1 part` or `4.1, MPI-1 part`.
fn imb_version(text: &str) -> Option<(u32, u32)> {
    let mut words = text.split(',').next()?.split_whitespace().map(|word| word.trim_start_matches('V'));
    let (year, update) = {
        let version = words.find(|word| word.starts_with(|sign: char| sign.is_ascii_digit()))?;
        version.split_once('.').unwrap_or((version, "0"))
    };
    let update = if words.next() == Some("Update") { words.next()? } else { update };
    Some((year.parse().ok()?, update.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mockups_of_pgmpitunelib_are_ours() {
        for (theirs, ours) in [
            ("allgather_as_gather_bcast", "mockup:gather+bcast"),
            ("allreduce_as_reducescatterblock_allgather", "mockup:reduce_scatter_block+allgather"),
            ("allreduce_as_reducescatter_allgatherv", "mockup:reduce_scatter+allgatherv"),
            ("reduce_as_reducescatter", "mockup:reduce_scatter"),
            ("reducescatterblock_as_reduce_scatter", "mockup:reduce+scatter"),
            ("reducescatterblock_as_reducescatter", "mockup:reduce_scatter"),
            ("scan_as_exscan_reducelocal", "mockup:exscan+reduce_local"),
        ] {
            assert_eq!(tuned_name(theirs), CandidateName::Complete(ours.parse().expect("a candidate")), "{theirs}");
        }
        assert_eq!(tuned_name("default"), CandidateName::read("default"));
    }

    #[test]
    fn versions_of_imb_are_read() {
        for (text, version) in [
            ("2019 Update 6, MPI-1 part", Some((2019, 6))),
            ("2021.8, MPI-1 part (GPU)", Some((2021, 8))),
            ("2019, MPI-1 part", Some((2019, 0))),
            ("s 2018 Update 1, MPI-1 part", Some((2018, 1))),
            (" Suite V3.2, MPI-1 part", Some((3, 2))),
            ("4.1, MPI-1 part", Some((4, 1))),
            ("MPI-1 part", None),
        ] {
            assert_eq!(imb_version(text), version, "{text}");
        }
    }
}
