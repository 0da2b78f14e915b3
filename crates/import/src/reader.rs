//! One loop that reads the text of every format: marks, headers of tables, and rows.
//!
//! OSU and IMB print means over calls, and their mean, minimum and maximum over ranks; IMB moves the root over calls.
//! ReproMPI prints single calls, either the slowest rank (`compute_runtimes` of ReproMPI takes the maximum of the local
//! times, or the last end minus the first start on a global clock) or each process, or medians of calls. The tables of
//! ompi-collectives-tuning have means over launches of OSU's or IMB's mean over ranks in microseconds, perhaps with a
//! standard deviation in parentheses.

use collrules_record::CandidateName;
use collrules_record::units::Seconds;
use collrules_rules::Collective;

use crate::columns::{Columns, Role, TableFormat, quoted, short};
use crate::facts::{Facts, collective_named};
use crate::finding::{Finding, FindingCode, ImportError};
use crate::formats::{HeaderLine, ImportFormat, banner_within, mark};
use crate::group::group;
use crate::options::Options;
use crate::raw::{BenchmarkOutput, Parsed, Raw};
use crate::statement::{self, Stated, Statement};
use crate::timing::TimeStatistics;
use crate::{row, unread};

/// Reads text. Facts and a unit that are given need not be in a table.
pub(super) fn read(text: &str, options: &Options) -> Result<Parsed, ImportError> {
    let mut reader = Reader {
        options,
        given: options.clone(),
        parsed: Parsed::default(),
        stray: None,
        output: BenchmarkOutput::default(),
        has_text: false,
        last_row: 0,
        stated: Vec::new(),
    };
    for (line, content) in (1..).zip(text.lines()) {
        reader.line(line, content.trim()).map_err(|why| why.at(line))?;
    }
    reader.end();
    if reader.parsed.format.is_none() {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(first.map_or(ImportError::Empty, |first| ImportError::Unknown(short(first))));
    }
    // Statements behind a single output are about it too.
    if let [only] = &mut reader.parsed.outputs[..] {
        only.stated.append(&mut reader.stated);
    }
    unread::report(&mut reader.parsed)?;
    Ok(reader.parsed)
}

struct Reader<'a> {
    options: &'a Options,
    /// The options, with facts that lines in front of a header state.
    given: Options,
    parsed: Parsed,
    /// Adjoining lines between those of the benchmark, such as warnings of the MPI library: the first, the last, and the
    /// first one's text.
    stray: Option<(u64, u64, String)>,
    output: BenchmarkOutput,
    /// True if a line was neither blank nor a comment.
    has_text: bool,
    last_row: u64,
    /// The latest statements of lines outside of tables.
    stated: Vec<Statement>,
}

/// IMB's words in place of times.
const STOPPED: [&str; 3] = ["time-out.", "out-of-mem.", "int-overflow."];

impl BenchmarkOutput {
    fn pass(&mut self, line: u64, why: String) {
        self.passed = Some((line, why, 0));
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
        let is_header = |rest: &str| !is_comment && Columns::find(rest, &self.given).is_some();
        if let Some(banner) = banner_within(content, is_header) {
            let what = "an output begins within the line, so that what is in front may be cut off; begin a line with";
            return Err(ImportError::Doubtful(format!("{what} {}", short(banner))));
        }
        let is_table = self.output.format == Some(ImportFormat::Table);
        let may_be_header = is_comment || !self.has_text || self.output.format.is_some();
        self.has_text |= !is_comment;
        if let Some((format, mark, value)) = mark(content) {
            self.end_stray();
            self.parsed.format.get_or_insert(format);
            self.output.format.get_or_insert(format);
            self.mark(line, format, mark, value);
        } else if let Some(found) = may_be_header.then(|| Columns::find(content, &self.given)).flatten() {
            self.end_stray();
            match found {
                // `# time (s)` is about the columns of a table.
                Ok(columns) if is_comment && is_table && columns.columns.len() == 1 => {}
                Ok(columns) => self.header(columns, is_comment),
                // Of tests that are not read, or a comment about the columns of a table.
                Err(_) if self.output.passed.is_some() || is_table && is_comment => {}
                Err(why) => return Err(why),
            }
            self.state(line, content);
        } else if is_comment {
            self.end_stray();
            let columns = self.output.columns.as_ref().filter(|columns| columns.is_table() && self.output.rows > 0);
            if columns.is_some_and(|columns| columns.are_named(content)) {
                let what = "names columns, so that what is below may be in another order; begin it with a header";
                return Err(ImportError::Doubtful(format!("{} {what}", short(content))));
            }
            self.state(line, content);
        } else {
            self.row(line, content)?;
        }
        Ok(())
    }

    /// Keeps the statements of a line outside of tables.
    fn state(&mut self, line: u64, content: &str) {
        for statement in statement::read(line, content, &self.stated) {
            let (replaced, kept): (Vec<_>, Vec<_>) =
                self.stated.drain(..).partition(|earlier| statement::is_about_same(&statement.fact, &earlier.fact));
            let differs = |earlier: &Statement| earlier.is_disputed || earlier.fact != statement.fact;
            let is_disputed = replaced.iter().any(|earlier| earlier.line > self.last_row && differs(earlier));
            self.stated = kept;
            self.stated.push(Statement { is_disputed, ..statement });
        }
        self.given.facts = self.options.facts.clone().or(statement::supplied(&self.stated));
    }

    fn mark(&mut self, line: u64, format: ImportFormat, mark: HeaderLine, value: &str) {
        match mark {
            HeaderLine::Program => {
                self.end();
                self.parsed.banners.push(line);
                self.output.format = Some(format);
                self.output.version = imb_version(value).filter(|_| format == ImportFormat::Imb);
                self.output.is_on_device = value.contains("(GPU)");
            }
            HeaderLine::Test | HeaderLine::NamelessTest => {
                self.end();
                let (ran, name) = match format {
                    // Within the output of one run.
                    ImportFormat::Imb => ("MPI", value),
                    _ => {
                        self.parsed.banners.push(line);
                        value.split_once(' ').unwrap_or((value, ""))
                    }
                };
                let name = name.split(" Latency Test").next().unwrap_or_default().trim();
                let output = &mut self.output;
                // Each test of OSU says it; of IMB the whole output does.
                output.is_on_device &= format == ImportFormat::Imb;
                (output.format, output.is_nameless) = (Some(format), mark == HeaderLine::NamelessTest);
                output.facts.collective = collective_named(name);
                if ran != "MPI" && !ran.starts_with("MPI-") {
                    output.pass(line, format!("{} is not one of the collectives of Open MPI", short(value)));
                } else if output.facts.collective.is_none() {
                    output.pass(line, format!("{} is not a benchmark of a collective that can be tuned", short(name)));
                } else if ran != "MPI" || output.is_on_device {
                    output.is_on_device = true;
                    let what = "its buffers are in the memory of a device";
                    self.parsed.report(line, FindingCode::DeviceMemory, what);
                }
            }
            HeaderLine::Groups => {
                self.output.pass(line, format!("several groups ran at the same time: {}", short(value)))
            }
            HeaderLine::Ranks => match value.parse() {
                Ok(ranks) => self.output.facts.ranks = Some(ranks),
                Err(_) => self.output.pass(line, format!("{} is not a number of processes", short(value))),
            },
            HeaderLine::Element => self.output.element = value.parse().ok().filter(|bytes| *bytes > 0),
            HeaderLine::Datatype => self.datatype(line, value.trim_end_matches('.')),
            HeaderLine::Algorithm => {
                if let [collective, bytes, name] = value.split_whitespace().collect::<Vec<_>>()[..]
                    && let (Some(collective), Ok(bytes)) = (collective_named(collective), bytes.parse())
                {
                    self.output.algorithms.insert((collective, bytes), tuned_name(name));
                }
            }
            HeaderLine::WrongData => {
                let number = |text: &str| text.trim_start().split(',').next().and_then(|number| number.parse().ok());
                match value.split_once(",size =").and_then(|(_, size)| number(size)) {
                    Some(size) => drop(self.output.wrong.insert(size, line)),
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
        let format = match columns.layout {
            TableFormat::Algorithms if columns.has(Role::Algorithm) => ImportFormat::Best,
            TableFormat::Algorithms => ImportFormat::Detail,
            TableFormat::Delimited(_) if !is_comment => ImportFormat::Table,
            TableFormat::Words if !is_comment => ImportFormat::Reprompi,
            _ => ImportFormat::Osu,
        };
        // Behind rows, another header begins another output.
        if self.output.rows > 0 && [Some(format), self.output.format].contains(&Some(ImportFormat::Table)) {
            self.end();
        }
        self.parsed.format.get_or_insert(format);
        self.output.is_nameless |= self.output.format.is_none() && format == ImportFormat::Osu;
        self.output.format.get_or_insert(format);
        self.output.columns = Some(columns);
    }

    fn row(&mut self, line: u64, content: &str) -> Result<(), ImportError> {
        let begins_with_number = || content.starts_with(|sign: char| sign.is_ascii_digit());
        if let Some((_, _, rows)) = self.output.passed.as_mut().filter(|_| begins_with_number()) {
            *rows += 1;
            self.output.rows += 1;
            return Ok(());
        }
        let Some(columns) = self.output.columns.take() else {
            self.add_stray(line, content);
            return Ok(());
        };
        let fields = columns.fields(content);
        if fields.as_ref().is_some_and(|fields| columns.resembles_header(fields)) {
            let what = "resembles a header, but its columns are unknown, so that nothing behind it can be read";
            return Err(ImportError::Doubtful(format!("{} {what}", short(content))));
        }
        let stopped = STOPPED.iter().find(|reason| content.contains(**reason)).filter(|_| begins_with_number());
        if let (Some(reason), Some(ImportFormat::Imb)) = (stopped, self.output.format) {
            self.end_stray();
            self.output.rows += 1;
            let what = format!("IMB did not measure this size: {reason}");
            self.parsed.report(line, FindingCode::InvalidMeasurement, what);
        } else if fields.as_ref().is_some_and(|fields| !columns.is_row(fields)) {
            self.add_stray(line, content);
        } else {
            self.end_stray();
            let since = if self.output.rows == 0 { 0 } else { self.last_row };
            self.output.stated.extend(self.stated.iter().filter(|it| it.line >= since).cloned());
            self.output.rows += 1;
            self.last_row = line;
            if fields.as_ref().is_some_and(|fields| fields.len() != columns.columns.len()) {
                self.state(line, content);
            }
            let unclosed = || Finding::new(FindingCode::BadRow, "a quoted value is not closed");
            let fields = fields.ok_or_else(unclosed);
            let timings = fields.and_then(|fields| row::read(&columns, &fields, line, &self.output));
            for timing in timings.unwrap_or_else(|finding| vec![Err(finding)]) {
                match timing {
                    Ok(raw) => {
                        if self.output.raws.is_empty() {
                            self.output.stated.extend(libraries(&raw));
                        }
                        self.output.raws.push(raw);
                    }
                    Err(finding) => self.parsed.findings.push(finding.at(line)),
                }
            }
        }
        self.output.columns = Some(columns);
        Ok(())
    }

    fn add_stray(&mut self, line: u64, content: &str) {
        let (_, last, _) = self.stray.get_or_insert_with(|| (line, line, quoted(content)));
        *last = line;
        self.state(line, content);
    }

    /// Reports the stray lines so far.
    fn end_stray(&mut self) {
        let Some((first, last, content)) = self.stray.take() else { return };
        let what = if first == last {
            format!("not part of the benchmark's output: {content}")
        } else {
            format!("lines {first} to {last} are not part of the benchmark's output; they begin: {content}")
        };
        self.parsed.report(first, FindingCode::StrayLines, what);
    }

    /// Ends an output. Those that follow are of the same program.
    fn end(&mut self) {
        self.end_stray();
        self.report_passed();
        self.name_algorithms();
        self.combine_processes();
        self.leave_out_wrong();
        let BenchmarkOutput { version, is_on_device, .. } = self.output;
        let ended = std::mem::replace(
            &mut self.output,
            BenchmarkOutput { version, is_on_device, ..BenchmarkOutput::default() },
        );
        if ended.rows > 0 {
            self.parsed.outputs.push(ended);
        }
    }

    fn report_passed(&mut self) {
        if let Some((line, why, rows)) = self.output.passed.take() {
            self.parsed.findings.push(Finding::new(FindingCode::PassedOver, why).at(line).of_timings(rows));
        }
    }

    /// Names the algorithms of rows that PGMPITuneLib lists at the end.
    fn name_algorithms(&mut self) {
        let algorithms = std::mem::take(&mut self.output.algorithms);
        for raw in &mut self.output.raws {
            let key = raw.facts.collective.map(|collective| (collective, raw.size.printed));
            raw.facts.algorithm = raw.facts.algorithm.take().or_else(|| algorithms.get(&key?).cloned());
        }
    }

    /// Leaves out the rows of sizes with wrong data. IMB names the bytes that a rank checked, which may be the blocks of all
    /// ranks.
    fn leave_out_wrong(&mut self) {
        let Facts { collective, ranks, .. } = self.output.facts;
        let has_blocks = collective.is_some_and(|it| it.counts_blocks() || it == Collective::Alltoall);
        let ranks = ranks.filter(|_| has_blocks).map_or(1, |ranks| u64::from(ranks.0));
        for (size, line) in std::mem::take(&mut self.output.wrong) {
            let fits =
                |raw: &mut Raw| [Some(raw.size.printed), raw.size.printed.checked_mul(ranks)].contains(&Some(size));
            let wrong: Vec<Raw> = self.output.raws.extract_if(.., fits).collect();
            if wrong.is_empty() {
                self.wrong_data(line, format!("the benchmark found wrong data of {size} bytes"));
            }
            self.parsed.findings.extend(wrong.into_iter().map(|Raw { line, facts, size, .. }| {
                let finding = Finding::new(FindingCode::ValidationFailed, "the benchmark found wrong data");
                finding.at(line).about(facts, size)
            }));
        }
    }

    fn wrong_data(&mut self, line: u64, what: String) {
        self.parsed.findings.push(Finding::new(FindingCode::ValidationFailed, what).at(line).of_timings(0));
    }

    /// Combines the times of the processes of a call.
    fn combine_processes(&mut self) {
        let rows = self.output.raws.extract_if(.., |raw| raw.is_process);
        let calls = group(rows, |raw| (raw.facts.clone(), raw.size.printed, raw.round));
        for call in calls.into_values() {
            let times = call.iter().filter_map(|raw| raw.times.max.or(raw.times.mean));
            let times: Vec<f64> = times.map(|time| time.0).collect();
            let (count, first) = (call.len(), call[0].clone());
            let ranks = first.facts.ranks.or(self.given.facts.ranks);
            if let Some(ranks) = ranks.filter(|ranks| ranks.0 as usize != count) {
                let what = format!("{count} of {ranks} processes of this call have a row");
                self.parsed.report(first.line, FindingCode::BadRow, what);
                continue;
            }
            let min = times.iter().copied().reduce(f64::min).map(Seconds);
            let max = times.iter().copied().reduce(f64::max).map(Seconds);
            let mean = Some(Seconds(times.iter().sum::<f64>() / count as f64));
            self.output.raws.push(Raw { times: TimeStatistics { max, min, mean }, ..first });
        }
    }
}

/// Statements of columns that are not read about the MPI library or a statistic.
fn libraries(raw: &Raw) -> impl Iterator<Item = Statement> {
    let stated = raw.unread.iter().flat_map(|(name, value)| statement::read(raw.line, &format!("{name} {value}"), &[]));
    stated.filter(|it| matches!(it.fact, Stated::Version(_) | Stated::Library(_) | Stated::Statistic(_)))
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
