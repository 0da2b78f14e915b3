//! Combines files to one set of timings: the contents, the file names, and the user's options.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::words::some;
use collrules_rules::{Collective, Release};
use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::content;
use super::facts::{CompleteFacts, Facts, combine};
use super::finding::{Finding, FindingCode, ImportError};
use super::formats::ImportFormat;
use super::names::{self, PathFacts};
use super::options::Options;
use super::plausible::{self, Suspicion};
use super::reader;
use super::row::{BenchmarkOutput, Parsed, Raw};
use super::statement::{self, Assumed, Statement};
use super::timing::{self, Imported};
use collrules_record::findings::Statistic;
use collrules_record::{Bytes, Candidate, CandidateName, Cell};

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The file, as the user named it, or as found below the directory that the user named.
    pub file: String,
    /// Format that was recognized.
    pub format: ImportFormat,
    /// Its length in bytes, compressed or not.
    pub bytes: u64,
    /// CRC-32 of these bytes, in hexadecimal, as `gzip` and `crc32` print it.
    pub crc32: String,
    /// Number of its timings that are used.
    pub timings: usize,
}

/// All that was read.
#[derive(Clone, Debug)]
pub struct Import {
    /// The files.
    pub sources: Vec<SourceFile>,
    /// The timings, by cell, candidate, launch and round.
    pub timings: Vec<Imported>,
    /// Statistic that each timing holds.
    pub statistic: Statistic,
    /// Findings by file and line.
    pub findings: Vec<Finding>,
}

/// Reads file after file.
#[derive(Debug)]
pub struct Importer {
    options: Options,
    sources: Vec<SourceFile>,
    /// Facts from the name of each source, and its place: only timings of one place are compared.
    names: Vec<(Facts, String)>,
    timings: Vec<Imported>,
    findings: Vec<Finding>,
    /// Points that have an unusable value.
    lost: BTreeSet<(Cell, Candidate)>,
    /// The directory of the Open MPI that commands in files name.
    installation: Option<String>,
    /// Number of timings of a file that is refused after it was read.
    refused: usize,
}

impl Importer {
    /// Begins.
    pub fn new(options: Options) -> Self {
        let (sources, names, timings, findings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (lost, installation, refused) = (BTreeSet::new(), None, 0);
        Self { options, sources, names, timings, findings, lost, installation, refused }
    }

    /// Reports a file that is skipped on purpose.
    pub fn pass_over(&mut self, file: &str, why: &str) {
        self.report(file, Finding::new(FindingCode::PassedOver, why));
    }

    /// Reads a file. `parts` are the parts of its path that may describe its content, of which the first was named.
    ///
    /// A file that cannot be used is a finding, not an error: others may be.
    pub fn add(&mut self, file: &str, parts: &[&str], bytes: &[u8]) {
        if let Err(why) = self.add_file(file, parts, bytes) {
            use ImportError::{Doubtful, Empty, NotText, Unknown};
            let is_of_others = parts.len() > 1 && matches!(why, Unknown(_) | Empty | NotText);
            let code = if is_of_others { FindingCode::PassedOver } else { FindingCode::UnusableFile };
            let (line, what) = if let Doubtful { line, what } = why { (line, what) } else { (None, why.to_string()) };
            let timings = std::mem::take(&mut self.refused);
            let finding = Finding::new(code, what).of_timings(timings);
            self.report(file, Finding { line, ..finding });
        }
    }

    pub(crate) fn add_file(&mut self, file: &str, parts: &[&str], bytes: &[u8]) -> Result<(), ImportError> {
        let (text, findings) = content::decode(bytes)?;
        let release = self.options.release;
        let name = names::facts(parts, release);
        let mut parsed = reader::read(&text, &self.options)?;
        let of_path = statement::of_path(parts);
        parsed.outputs.iter_mut().for_each(|output| output.stated.extend_from_slice(&of_path));
        let mut crc = Crc::new();
        crc.update(bytes);
        let source = SourceFile {
            file: file.to_owned(),
            format: parsed.format.unwrap_or(ImportFormat::Table),
            bytes: bytes.len() as u64,
            crc32: format!("{:08x}", crc.sum()),
            timings: 0,
        };
        parsed.findings.extend(findings);
        self.take(source, &name, parsed)?;
        self.names.push((name.facts, names::place(file, release)));
        Ok(())
    }

    /// Takes the timings of a file, with the facts of its name and of the user.
    fn take(&mut self, mut source: SourceFile, name: &PathFacts, parsed: Parsed) -> Result<(), ImportError> {
        let Parsed { outputs, banners, behind, mut findings, .. } = parsed;
        let supplied = supplied(&outputs, &behind);
        let count: usize = outputs.iter().map(|output| output.raws.len()).sum();
        self.refused = count + findings.iter().map(|finding| finding.timings).sum::<usize>();
        let mut timings = Vec::new();
        let is_average = self.options.time == Some(Statistic::RankAverage);
        // Rows without use, with the first one's line, if they are not all, and their number; and notes about names.
        let mut unused: BTreeMap<(FindingCode, String), (Option<u64>, usize)> = BTreeMap::new();
        for (output, supplied) in outputs.iter().zip(supplied) {
            let named = statement::find(&output.stated, "installation").map(|statement| statement.value.clone());
            self.installation = self.installation.take().or(named);
            for rows in output.raws.chunk_by(|a, b| a.facts == b.facts) {
                let content = &rows[0].facts;
                let completed = self.complete(content, &supplied, name);
                if let Ok((subject, note)) = &completed {
                    let (columns, installation) = (output.columns.as_deref(), self.installation.as_deref());
                    let assumed = Assumed { subject, content, columns, installation, release: self.options.release };
                    findings.extend(statement::compare(&output.stated, &assumed)?);
                    let used = rows.iter().filter(|raw| raw.fault.is_none());
                    let mut named = used.filter_map(|raw| Some((raw.line, raw.name.as_deref()?)));
                    named.try_for_each(|(line, name)| assumed.compare_name(line, name))?;
                    unused.extend(note.iter().map(|note| ((FindingCode::PassedOver, note.clone()), (None, 0))));
                }
                let is_whole = completed.is_err() && rows.len() == count;
                for raw in rows {
                    let read =
                        completed.as_ref().map_err(Clone::clone).and_then(|(subject, _)| self.timing(raw, subject));
                    match (read, &raw.fault) {
                        (read, Some(fault)) => {
                            self.lost.extend(read.map(|timing| (timing.cell, timing.candidate)));
                            findings.push(fault.clone().at(raw.line));
                        }
                        (Ok(timing), None) => {
                            let faults = timing::check(&timing, (raw.step, raw.calls), is_average);
                            faults.map_err(|why| why.at(raw.line))?;
                            timings.push(timing);
                        }
                        (Err(unusable), None) => {
                            unused.entry(unusable).or_insert(((!is_whole).then_some(raw.line), 0)).1 += 1
                        }
                    }
                }
            }
        }
        timing::check_order(&timings)?;
        findings.extend(unused.into_iter().map(|((code, what), (line, count))| {
            let finding = Finding::new(code, what).of_timings(count);
            Finding { line, ..finding }
        }));
        let given = Facts { collective: None, ..self.options.facts.clone() };
        if banners.len() > 1 && given != Facts::default() {
            let lines: Vec<String> = banners.iter().map(u64::to_string).collect();
            let lines = some(&lines, timing::NAMED_LINES);
            let what =
                format!("outputs begin on lines {lines}, and the given --np, --algorithm or --launch is that of all");
            findings.push(Finding::new(FindingCode::SeveralOutputs, what));
        }
        if timings.is_empty() && findings.is_empty() {
            return Err(ImportError::NoTimings);
        }
        findings.into_iter().for_each(|finding| self.report(&source.file, finding));
        self.refused = 0;
        source.timings = timings.len();
        self.sources.push(source);
        self.timings.extend_from_slice(&timings);
        Ok(())
    }

    /// The facts of a timing, from the content, the name, the options and else the lines around the output, with a note
    /// about a name that is not believed; or the options that supply missing ones.
    fn complete(
        &self,
        content: &Facts,
        supplied: &Facts,
        name: &PathFacts,
    ) -> Result<(CompleteFacts, Option<String>), (FindingCode, String)> {
        let code = if content.algorithm.is_some() { FindingCode::BadRow } else { FindingCode::UnusableFile };
        let combined = combine(&self.options.facts, content, &name.facts, self.options.release);
        let (facts, note) = combined.map_err(|why| (code, why))?;
        let Facts { collective, ranks, algorithm, launch } = facts.or(supplied.clone());
        if let (Some(collective), Some(ranks), Some(CandidateName::Complete(candidate))) =
            (collective, ranks, &algorithm)
        {
            let (candidate, launch) = (*candidate, launch.unwrap_or(0));
            return Ok((CompleteFacts { collective, ranks, candidate, launch }, note));
        }
        let lacks = [
            (collective.is_none(), "which collective it is (--collective NAME)"),
            (ranks.is_none(), "how many ranks took part (--np N)"),
            (algorithm.is_none(), "which algorithm ran (--algorithm ID or NAME, 0 for Open MPI's own choice)"),
        ];
        let lacks: Vec<&str> = lacks.into_iter().filter_map(|(lacks, what)| lacks.then_some(what)).collect();
        let unread = note.or(name.unread.clone()).map_or(String::new(), |why| format!("; {why}"));
        let lacks = lacks.join(", nor ");
        let what = format!(
            "neither the content nor the file name says {lacks}{unread}; files can have names such as bcast-np4-a3.txt, and \
             tables columns collective, comm_size and algorithm_id"
        );
        Err((FindingCode::UnusableFile, what))
    }

    /// The timing of a row, or the reason why it is not used.
    fn timing(&self, raw: &Raw, facts: &CompleteFacts) -> Result<Imported, (FindingCode, String)> {
        let CompleteFacts { collective, ranks, candidate, launch } = *facts;
        let code = if raw.size.printed.is_none() { FindingCode::BadRow } else { FindingCode::UnusableFile };
        let bytes = raw.size.message(collective, ranks).map_err(|why| (code, why.to_owned()))?;
        let cell = Cell { collective, ranks, bytes };
        if collective.has_sizes() && bytes == Bytes(0) {
            return Err((FindingCode::NoData, "no data, for which no algorithm runs".to_owned()));
        }
        if raw.fault.is_none() && ![0, ranks.0].contains(&raw.processes) {
            let what = format!("{} of {ranks} processes of this call have a row", raw.processes);
            return Err((FindingCode::BadRow, what));
        }
        let Raw { line, round, times, is_median, .. } = *raw;
        let source = self.sources.len();
        Ok(Imported { source, line, cell, candidate, launch, round, times, is_median })
    }

    fn report(&mut self, file: &str, finding: Finding) {
        self.findings.push(Finding { file: file.to_owned(), ..finding });
    }

    /// Combines all files: resolves duplicates, and looks for implausible values.
    pub fn finish(self) -> Result<Import, ImportError> {
        let Self { options, mut sources, names, timings, mut findings, lost, .. } = self;
        let release = options.release;
        let place = |timing: &Imported| match sources.len() {
            1 => timing.line.to_string(),
            _ => format!("{} of {}", timing.line, sources[timing.source].file),
        };
        let with_default = |timings: &[Imported]| -> BTreeSet<Collective> {
            let defaults = timings.iter().filter(|timing| timing.candidate == Candidate::Builtin);
            defaults.map(|timing| timing.cell.collective).collect()
        };
        let mut undefaulted = with_default(&timings);
        undefaulted.extend(lost.iter().filter(|(_, it)| *it == Candidate::Builtin).map(|(cell, _)| cell.collective));
        undefaulted.extend(findings.iter().filter_map(|finding| named_default(&finding.file, release)));
        let located = |timing: &Imported, finding: Finding| Finding {
            file: sources[timing.source].file.clone(),
            ..finding.at(timing.line)
        };
        let report = |timing: &Imported, finding| findings.push(located(timing, finding));
        let mut timings = timing::settle(timings, &names, place, report);
        let by_place = |a: &Finding, b: &Finding| (&a.file, a.line, a.code).cmp(&(&b.file, b.line, b.code));
        findings.sort_by(by_place);
        let left = with_default(&timings);
        let is_left = |collective| timings.iter().any(|timing| timing.cell.collective == collective);
        if let Some(collective) = undefaulted.into_iter().find(|it| is_left(*it) && !left.contains(it)) {
            return Err(ImportError::NoDefault { collective, findings });
        }
        let statistic = statistic(&timings, options.time)?;
        let mut keep = vec![true; timings.len()];
        for Suspicion { place, code, what, timings: doubtful } in
            plausible::check(&timings, statistic, release, options.process_bandwidth)
        {
            let mut points: Vec<_> = doubtful.iter().map(|it| (timings[*it].cell, timings[*it].candidate)).collect();
            points.dedup();
            let left_out = options.leave_out_flagged && !doubtful.is_empty();
            doubtful.iter().for_each(|place| keep[*place] &= !left_out);
            let finding = Finding::new(code, what).of_timings(doubtful.len());
            findings.push(Finding { points, left_out, ..located(&timings[place], finding) });
        }
        findings.sort_by(by_place);
        let mut kept = keep.into_iter();
        timings.retain(|_| kept.next() == Some(true));
        if timings.is_empty() {
            return Err(ImportError::Nothing { findings });
        }
        sources.iter_mut().for_each(|source| source.timings = 0);
        timings.iter().for_each(|timing| sources[timing.source].timings += 1);
        Ok(Import { sources, timings, statistic, findings })
    }
}

/// The facts that statements about outputs supply if nothing else does: the default, which ompi-collectives-tuning and others
/// call `tuned`; and the ranks, if a line directly in front of each output names them and none behind the last one, so that it
/// is certain to which output a line belongs.
fn supplied(outputs: &[BenchmarkOutput], behind: &[Statement]) -> Vec<Facts> {
    let is_default = |it: &&Statement| {
        ["algorithm", "component"].contains(&it.about.as_str()) && it.value.eq_ignore_ascii_case("tuned")
    };
    let of_output = |output: &BenchmarkOutput| {
        let own = output.stated.iter().filter(|it| !it.is_disputed && it.line > output.after);
        let ranks = statement::find(own.clone(), "ranks").and_then(|statement| statement.value.parse().ok());
        let algorithm = own.clone().find(is_default).map(|_| CandidateName::Complete(Candidate::Builtin));
        Facts { ranks, algorithm, ..Facts::default() }
    };
    let mut facts: Vec<Facts> = outputs.iter().map(of_output).collect();
    let is_each = facts.iter().all(|facts| facts.ranks.is_some()) && statement::find(behind, "ranks").is_none();
    facts.iter_mut().filter(|_| !is_each).for_each(|facts| facts.ranks = None);
    facts
}

/// The collective whose default a file has timings of, by its name.
fn named_default(file: &str, release: Release) -> Option<Collective> {
    let Facts { collective, algorithm, .. } = names::facts(&file.split('/').collect::<Vec<_>>(), release).facts;
    collective.filter(|it| algorithm.is_some_and(|name| name.candidate(release, *it) == Ok(Candidate::Builtin)))
}

/// The statistic of an import: of the slowest rank if all timings have it, unless the user wants another.
fn statistic(timings: &[Imported], wanted: Option<Statistic>) -> Result<Statistic, ImportError> {
    let is_whole = |statistic| timings.iter().all(|timing| timing.time(statistic).is_some());
    let is_slowest = is_whole(Statistic::SlowestRankSummary);
    let usual = if is_slowest { Statistic::SlowestRankSummary } else { Statistic::RankAverage };
    let statistic = wanted.unwrap_or(usual);
    let medians = timings.iter().filter(|timing| timing.is_median).count();
    let what = if statistic == Statistic::RankAverage && ![0, timings.len()].contains(&medians) {
        "times are medians over calls and others are means"
    } else if is_whole(statistic) {
        return Ok(statistic);
    } else if wanted.is_none() {
        "timings are of the slowest rank and others are averaged over ranks"
    } else {
        "timings have the time that --time names and others have not"
    };
    Err(ImportError::Mixed(format!("some {what}")))
}
