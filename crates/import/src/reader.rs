//! One loop that reads the text of every format: marks, headers of tables, and rows.
//!
//! OSU and IMB print means over calls, and their mean, minimum and maximum over ranks; IMB moves the root over calls.
//! ReproMPI prints single calls, either the slowest rank (`compute_runtimes` of ReproMPI takes the maximum of the local
//! times, or the last end minus the first start on a global clock) or each process, or medians of calls. The tables of
//! ompi-collectives-tuning have means over launches of OSU's or IMB's mean over ranks in microseconds, perhaps with a
//! standard deviation in parentheses.

use std::collections::BTreeSet;
use std::mem::{replace, take};
use std::rc::Rc;

use collrules_record::{CandidateName, Seconds};

use crate::columns::{Columns, Role, TableFormat, quoted, short};
use crate::facts::collective_named;
use crate::finding::{Finding, FindingCode, ImportError};
use crate::formats::{ImportFormat, banner_within, mark};
use crate::group::group;
use crate::options::Options;
use crate::row::{self, BenchmarkOutput, Parsed, Raw};
use crate::statement::{self, Statement};
use crate::timing::TimeStatistics;
use crate::unread;

/// Reads text. A unit that is given need not be in a table.
pub(super) fn read(text: &str, options: &Options) -> Result<Parsed, ImportError> {
    let (parsed, output) = (Parsed::default(), BenchmarkOutput::default());
    let (stray, stated) = (Vec::new(), Vec::new());
    let mut reader = Reader { options, parsed, output, stray, stated, has_text: false, last_line: 0, last_row: 0 };
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        for content in content.split('\r').map(str::trim) {
            reader.line(line, content).map_err(|why| why.at(line))?;
        }
        reader.last_line = if content.is_empty() { reader.last_line } else { line };
    }
    reader.end();
    let Reader { mut parsed, stray, mut stated, .. } = reader;
    if parsed.format.is_none() {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(first.map_or(ImportError::Empty, |first| ImportError::Unknown(short(first))));
    }
    // Statements behind a single output are about it too.
    if let [only] = &mut parsed.outputs[..] {
        only.stated.append(&mut stated);
    }
    for (first, last, content) in stray {
        let what = match first == last {
            true => format!("not part of the benchmark's output: {content}"),
            false => format!("lines {first} to {last} are not part of the benchmark's output; they begin: {content}"),
        };
        parsed.report(first, FindingCode::StrayLines, what);
    }
    unread::report(&mut parsed)?;
    Ok(parsed)
}

struct Reader<'a> {
    options: &'a Options,
    parsed: Parsed,
    output: BenchmarkOutput,
    /// Adjoining lines between those of the benchmark, such as warnings of the MPI library: the first, the last, and the
    /// first one's text.
    stray: Vec<(u64, u64, String)>,
    /// The latest statements of lines outside of tables.
    stated: Vec<Statement>,
    /// True if a line was neither blank nor a comment.
    has_text: bool,
    /// The last line that was not blank.
    last_line: u64,
    last_row: u64,
}

/// IMB's words in place of times.
const STOPPED: [&str; 3] = ["time-out.", "out-of-mem.", "int-overflow."];

impl BenchmarkOutput {
    fn pass(&mut self, line: u64, why: String) {
        self.passed = Some(Finding::new(FindingCode::PassedOver, why).at(line));
    }
}

impl Reader<'_> {
    fn line(&mut self, line: u64, content: &str) -> Result<(), ImportError> {
        if content.is_empty() {
            // A table of IMB ends with a blank line; what follows belongs to no test.
            if self.output.format == Some(ImportFormat::Imb) && self.output.rows > 0 {
                self.end();
            }
            return Ok(());
        }
        let is_comment = content.starts_with('#');
        let is_header = |rest: &str| !is_comment && Columns::find(rest, self.options).is_some();
        if let Some(banner) = banner_within(content, is_header) {
            let what = "an output begins within the line, so that what is in front may be cut off; begin a line with";
            return Err(ImportError::doubtful(format!("{what} {}", short(banner))));
        }
        let columns = self.output.columns.clone();
        let table = columns.as_deref().filter(|columns| columns.is_table());
        let may_be_header = is_comment || !self.has_text || self.output.format.is_some();
        self.has_text |= !is_comment;
        if let Some((format, about, value)) = mark(content) {
            self.parsed.format.get_or_insert(format);
            self.output.format.get_or_insert(format);
            self.mark(line, format, about, value);
            return Ok(());
        }
        let found = may_be_header.then(|| Columns::find(content, self.options)).flatten();
        // A comment about columns of a table is none of its headers, such as `# time (us)`.
        let is_about = |found: &Result<Columns, _>| {
            let count = found.as_ref().map_or(0, |columns| columns.columns.len());
            is_comment && table.is_some_and(|table| table.columns.len() != count)
        };
        match found.filter(|found| !is_about(found)) {
            None => {
                let is_row = !is_comment && content.contains(|sign: char| sign.is_ascii_digit());
                if !is_row && table.is_some_and(|table| self.output.rows > 0 && table.are_named(content)) {
                    let what = "names columns, so that what is below may be in another order; begin it with a header";
                    return Err(ImportError::doubtful(format!("{} {what}", short(content))));
                } else if !is_comment {
                    return self.row(line, content);
                }
            }
            // Of tests that are not read.
            Some(Err(_)) if self.output.passed.is_some() => {}
            Some(columns) => {
                let columns = columns?;
                let is_lone = columns.columns.len() == 1;
                self.header(columns);
                if !is_lone {
                    return Ok(());
                }
            }
        }
        self.state(line, content);
        Ok(())
    }

    /// Keeps the statements of a line outside of tables.
    fn state(&mut self, line: u64, content: &str) {
        for statement in statement::read(line, content, &self.stated) {
            let replaced: Vec<Statement> = self.stated.extract_if(.., |it| it.about == statement.about).collect();
            let differs = |it: &Statement| it.line > self.last_row && (it.is_disputed || it.value != statement.value);
            let is_disputed = replaced.iter().any(differs);
            self.stated.push(Statement { is_disputed, ..statement });
        }
    }

    fn mark(&mut self, line: u64, format: ImportFormat, about: &str, value: &str) {
        match about {
            "program" => {
                self.end();
                self.parsed.banners.push(line);
                self.output.format = Some(format);
                self.output.version = imb_version(value).filter(|_| format == ImportFormat::Imb);
                self.output.common.is_on_device = value.contains("(GPU)");
            }
            "test" | "nameless_test" => {
                self.end();
                // IMB names its program once for all tests.
                let is_imb = format == ImportFormat::Imb;
                self.parsed.banners.extend((!is_imb).then_some(line));
                let (ran, name) = if is_imb { ("MPI", value) } else { value.split_once(' ').unwrap_or((value, "")) };
                let name = name.split(" Latency Test").next().unwrap_or_default().trim();
                let output = &mut self.output;
                output.common.is_on_device &= is_imb;
                (output.format, output.is_nameless) = (Some(format), about == "nameless_test");
                output.common.facts.collective = collective_named(name);
                let is_ours = ran == "MPI" || ran.starts_with("MPI-");
                if !is_ours || output.common.facts.collective.is_none() {
                    let what = "is not a benchmark of a collective of Open MPI that can be tuned";
                    output.pass(line, format!("{} {what}", short(value)));
                } else if ran != "MPI" || output.common.is_on_device {
                    output.common.is_on_device = true;
                    let what = "its buffers are in the memory of a device";
                    self.parsed.report(line, FindingCode::DeviceMemory, what);
                }
            }
            "groups" => {
                self.output.pass(line, format!("several groups ran at the same time: {}", short(value)));
            }
            "ranks" => match value.parse() {
                Ok(ranks) => self.output.common.facts.ranks = Some(ranks),
                Err(_) => self.output.pass(line, format!("{} is not a number of processes", short(value))),
            },
            "element" => {
                self.output.common.size.element = value.parse().ok().filter(|bytes| *bytes > 0);
            }
            "datatype" => self.datatype(line, value.trim_end_matches('.')),
            "algorithm" => {
                if let [collective, bytes, name] = value.split_whitespace().collect::<Vec<_>>()[..]
                    && let (Some(collective), Ok(bytes)) = (collective_named(collective), bytes.parse())
                {
                    self.output.algorithms.insert((collective, bytes), tuned_name(name));
                }
            }
            _ => {
                let wrong = Finding::new(
                    FindingCode::ValidationFailed,
                    format!("the benchmark found wrong data: {}", short(value)),
                );
                self.parsed.findings.push(wrong.clone().at(line).of_timings(0));
                self.output.wrong = Some(wrong).filter(|_| format == ImportFormat::Imb);
            }
        }
    }

    /// A benchmark of several datatypes: only the first is read.
    fn datatype(&mut self, line: u64, datatype: &str) {
        if self.output.datatype.is_some() || self.output.passed.is_none() {
            self.parsed.findings.extend(self.output.passed.take());
            let first = self.output.datatype.get_or_insert_with(|| datatype.to_owned()).clone();
            if first != datatype {
                self.output.pass(line, format!("{datatype} is another datatype than {first}, which is taken"));
            }
            self.output.common.size.element = match datatype {
                "MPI_INT" | "MPI_FLOAT" => Some(4),
                "MPI_DOUBLE" => Some(8),
                _ => None,
            };
        }
    }

    fn header(&mut self, columns: Columns) {
        let format = match columns.layout {
            TableFormat::Algorithms if columns.has(Role::Algorithm) => ImportFormat::Best,
            TableFormat::Algorithms => ImportFormat::Detail,
            TableFormat::Delimited(_) => ImportFormat::Table,
            TableFormat::Words if columns.is_of_reprompi() => ImportFormat::Reprompi,
            TableFormat::Words => ImportFormat::Osu,
        };
        // A table that names the collective is not of the benchmark that a line in front of it names.
        if format == ImportFormat::Table && columns.has(Role::Collective) && self.output.rows == 0 {
            self.output = BenchmarkOutput { stated: take(&mut self.output.stated), ..BenchmarkOutput::default() };
        }
        // Behind rows, another header begins another output.
        if self.output.rows > 0 && [Some(format), self.output.format].contains(&Some(ImportFormat::Table)) {
            self.end();
        }
        self.parsed.format.get_or_insert(format);
        self.output.is_nameless |= self.output.format.is_none() && format == ImportFormat::Osu;
        self.output.format.get_or_insert(format);
        self.output.columns = Some(Rc::new(columns));
    }

    fn row(&mut self, line: u64, content: &str) -> Result<(), ImportError> {
        let begins_with_number = content.starts_with(|sign: char| sign.is_ascii_digit());
        if let Some(passed) = self.output.passed.take_if(|_| begins_with_number) {
            let timings = passed.timings + 1;
            self.output.passed = Some(passed.of_timings(timings));
            self.output.rows += 1;
            return Ok(());
        }
        let Some(columns) = self.output.columns.clone() else {
            self.add_stray(line, content);
            return Ok(());
        };
        let Some(fields) = columns.fields(content) else {
            self.parsed.report(line, FindingCode::BadRow, "a quoted value is not closed");
            return Ok(());
        };
        if let Some(why) = columns.doubt(content, &fields) {
            return Err(ImportError::doubtful(why));
        }
        let stopped = STOPPED.iter().find(|reason| content.contains(**reason)).filter(|_| begins_with_number);
        if let (Some(reason), Some(ImportFormat::Imb)) = (stopped, self.output.format) {
            self.output.rows += 1;
            let what = format!("IMB did not measure this size: {reason}");
            self.parsed.report(line, FindingCode::InvalidMeasurement, what);
            return Ok(());
        }
        if !columns.is_row(&fields) {
            self.add_stray(line, content);
            return Ok(());
        }
        let since = if self.output.rows == 0 { 0 } else { self.last_row };
        self.output.stated.extend(self.stated.iter().filter(|it| it.line >= since).cloned());
        self.output.rows += 1;
        self.last_row = line;
        // Perhaps it has units.
        if fields.len() != columns.columns.len() || !content.contains(|sign: char| sign.is_ascii_digit()) {
            self.state(line, content);
        }
        match row::read(&columns, &fields, line, &self.output) {
            Ok(raws) => self.output.raws.extend(raws),
            Err(finding) => self.parsed.findings.push(finding.at(line)),
        }
        Ok(())
    }

    fn add_stray(&mut self, line: u64, content: &str) {
        match self.stray.last_mut() {
            Some((_, last, _)) if *last == self.last_line => *last = line,
            _ => self.stray.push((line, line, quoted(content))),
        }
        self.state(line, content);
    }

    /// Ends an output. Those that follow are of the same program.
    fn end(&mut self) {
        self.parsed.findings.extend(self.output.passed.take());
        self.state_columns();
        self.name_algorithms();
        self.combine_processes();
        // IMB names the size as each rank checks it, and may do so late.
        if let Some(wrong) = self.output.wrong.take() {
            self.output.raws.iter_mut().for_each(|raw| raw.fault = raw.fault.take().or(Some(wrong.clone())));
        }
        let common = Raw { is_on_device: self.output.common.is_on_device, ..Raw::default() };
        let next = BenchmarkOutput { version: self.output.version, common, ..BenchmarkOutput::default() };
        let ended = replace(&mut self.output, next);
        self.parsed.outputs.extend((ended.rows > 0).then_some(ended));
    }

    /// Statements of columns about the MPI library, its component, or the statistic.
    fn state_columns(&mut self) {
        let (mut seen, mut stated) = (BTreeSet::new(), Vec::new());
        for (place, raw) in self.output.raws.iter().enumerate() {
            for (name, role, value) in &raw.unread {
                let text = format!("{name} {value}");
                let is_known = |it: &Statement| ["version", "library", "statistic"].contains(&it.about.as_str());
                match role {
                    Some(role) if seen.insert((name, value)) => {
                        stated.push(Statement::new(raw.line, &text, role.name(), value));
                    }
                    // Others have one value, apart from remarks.
                    None if place == 0 => {
                        stated.extend(statement::read(raw.line, &text, &[]).into_iter().filter(is_known))
                    }
                    _ => {}
                }
            }
        }
        self.output.stated.append(&mut stated);
    }

    /// Names the algorithms of rows that PGMPITuneLib lists at the end.
    fn name_algorithms(&mut self) {
        let algorithms = take(&mut self.output.algorithms);
        for raw in &mut self.output.raws {
            let key = raw.facts.collective.zip(raw.size.printed);
            raw.facts.algorithm = raw.facts.algorithm.take().or_else(|| algorithms.get(&key?).cloned());
        }
    }

    /// Combines the times of the processes of a call.
    fn combine_processes(&mut self) {
        let rows = self.output.raws.extract_if(.., |raw| raw.process.is_some() && raw.fault.is_none());
        let calls = group(rows, |raw| (raw.facts.clone(), raw.size.printed, raw.round));
        self.output.raws.extend(calls.into_values().map(|mut call| {
            call.sort_by_key(|raw| raw.process);
            // One that occurs twice is of another call.
            let is_apart = |pair: &[Raw]| pair[1].process != pair[0].process.map(|process| process + 1);
            let fault = call.windows(2).any(is_apart).then(|| {
                Finding::new(FindingCode::BadRow, "the processes of this call are not numbered one by one")
                    .of_timings(call.len())
            });
            let times: Vec<f64> = call.iter().filter_map(|raw| Some(raw.times.max.or(raw.times.mean)?.0)).collect();
            let fold = |of: fn(f64, f64) -> f64| times.iter().copied().reduce(of).map(Seconds);
            let mean = fold(|sum, time| sum + time).map(|sum| Seconds(sum.0 / times.len() as f64));
            let times = TimeStatistics { max: fold(f64::max), min: fold(f64::min), mean };
            Raw { times, fault, processes: call.len() as u32, ..call[0].clone() }
        }));
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
