//! One loop that reads the text of every format: marks, headers of tables, and rows.
//!
//! OSU and IMB print means over calls, and their mean, minimum and maximum over ranks; IMB moves the root over calls.
//! ReproMPI prints single calls, either the slowest rank (`compute_runtimes` of ReproMPI takes the maximum of the local
//! times), or medians of calls.

use std::collections::BTreeSet;
use std::mem::{replace, take};
use std::rc::Rc;

use collrules_record::Seconds;
use collrules_rules::words::counted;

use crate::columns::{Columns, Role, TableFormat, is_remark, quoted, short};
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
    let mut reader = Reader { options, parsed, output, stray: None, stated: Vec::new(), has_text: false, last_row: 0 };
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        for content in content.split('\r').map(str::trim) {
            reader.line(line, content).map_err(|why| why.at(line))?;
        }
    }
    reader.end();
    let Reader { mut parsed, stray, mut stated, last_row, .. } = reader;
    if parsed.format.is_none() {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(first.map_or(ImportError::Empty, |first| ImportError::Unknown(short(first))));
    }
    match &mut parsed.outputs[..] {
        [only] => only.stated.append(&mut stated),
        _ => parsed.behind.extend(stated.into_iter().filter(|it| it.line > last_row)),
    }
    if let Some((first, content, count)) = stray {
        let what = format!(
            "no row, nor part of a benchmark's output, as are {} of the file: {content}",
            counted(count, "line")
        );
        parsed.report(first, FindingCode::StrayLines, what);
    }
    unread::report(&mut parsed)?;
    Ok(parsed)
}

struct Reader<'a> {
    options: &'a Options,
    parsed: Parsed,
    output: BenchmarkOutput,
    /// The first line that is no part of a benchmark's output, such as a warning of the MPI library, and their number.
    stray: Option<(u64, String, usize)>,
    /// The latest statements of lines outside of tables.
    stated: Vec<Statement>,
    /// True if a line was neither blank nor a comment.
    has_text: bool,
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
            if about == "program" {
                self.state(line, content);
            }
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
                let before = self.output.columns.as_deref().filter(|_| self.output.rows == 0);
                if before.is_some_and(|before| before.shared_with(&columns) != columns.shared_with(before)) {
                    let what = "has the columns of the line in front of it in another order";
                    return Err(ImportError::doubtful(format!("{} {what}", short(content))));
                }
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
            }
            "test" | "nameless_test" => {
                self.end();
                // IMB names its program once for all tests.
                let is_imb = format == ImportFormat::Imb;
                self.parsed.banners.extend((!is_imb).then_some(line));
                let (ran, name) = if is_imb { ("MPI", value) } else { value.split_once(' ').unwrap_or((value, "")) };
                let name = name.split(" Latency Test").next().unwrap_or_default().trim();
                let output = &mut self.output;
                (output.format, output.is_nameless) = (Some(format), about == "nameless_test");
                output.common.facts.collective = collective_named(name);
                if ran != "MPI" || output.common.facts.collective.is_none() {
                    let what = "is not a benchmark of a collective of Open MPI, on data in the memory of hosts";
                    output.pass(line, format!("{} {what}", short(value)));
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
        let first = self.output.datatype.get_or_insert_with(|| datatype.to_owned()).clone();
        if first != datatype && self.output.passed.is_none() {
            self.output.pass(line, format!("only the first datatype is taken, {first}"));
        }
        self.output.common.size.element = match first.as_str() {
            "MPI_INT" | "MPI_FLOAT" => Some(4),
            "MPI_DOUBLE" => Some(8),
            _ => None,
        };
    }

    fn header(&mut self, columns: Columns) {
        let format = match columns.layout {
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
        // Such as `32 procs`.
        let may_be_heading = !columns.is_table() && content.contains(char::is_alphabetic);
        let names_ranks = || statement::find(&statement::read(line, content, &[]), "ranks").is_some();
        if !columns.is_row(&fields) || may_be_heading && names_ranks() {
            self.add_stray(line, content);
            return Ok(());
        }
        let since = if self.output.rows == 0 { 0 } else { self.last_row };
        self.output.after = if self.output.rows == 0 { self.last_row } else { self.output.after };
        self.output.stated.extend(self.stated.iter().filter(|it| it.line >= since).cloned());
        self.output.rows += 1;
        self.last_row = line;
        // Perhaps it has units.
        if fields.len() != columns.columns.len() || !content.contains(|sign: char| sign.is_ascii_digit()) {
            self.state(line, content);
        }
        match row::read(&columns, &fields, line, &self.output) {
            Ok(raw) => self.output.raws.push(raw),
            Err(finding) => self.parsed.findings.push(finding.at(line)),
        }
        Ok(())
    }

    fn add_stray(&mut self, line: u64, content: &str) {
        self.stray.get_or_insert_with(|| (line, quoted(content), 0)).2 += 1;
        self.state(line, content);
    }

    /// Ends an output. Those that follow are of the same program.
    fn end(&mut self) {
        self.parsed.findings.extend(self.output.passed.take());
        self.state_columns();
        self.combine_processes();
        // IMB names the size as each rank checks it, and may do so late.
        if let Some(wrong) = self.output.wrong.take() {
            self.output.raws.iter_mut().for_each(|raw| raw.fault = raw.fault.take().or(Some(wrong.clone())));
        }
        let next = BenchmarkOutput { version: self.output.version, ..BenchmarkOutput::default() };
        let ended = replace(&mut self.output, next);
        self.parsed.outputs.extend((ended.rows > 0).then_some(ended));
    }

    /// Statements of columns that are not read.
    fn state_columns(&mut self) {
        let (mut seen, mut stated) = (BTreeSet::new(), Vec::new());
        for (place, raw) in self.output.raws.iter().enumerate() {
            for (name, role, value) in &raw.unread {
                let text = format!("{}: {value}", name.replace('_', " "));
                match role {
                    Some(role) if seen.insert((name, value)) => {
                        stated.push(Statement::new(raw.line, &text, role.name(), value));
                    }
                    // Others have one value, apart from remarks.
                    None if place == 0 && !is_remark(name) => stated.extend(statement::read(raw.line, &text, &stated)),
                    _ => {}
                }
            }
        }
        self.output.stated.append(&mut stated);
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
