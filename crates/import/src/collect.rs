//! Combines files to one set of timings: the contents, the file names, and the user's options.

use std::collections::BTreeSet;

use collrules_rules::words::some;
use collrules_rules::{Collective, Release};
use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::columns::HeaderDefaults;
use super::facts::{Facts, combine};
use super::finding::{Finding, FindingCode};
use super::formats::{ImportFormat, Size};
use super::imported::Imported;
use super::names::{self, PathFacts};
use super::pattern::NamePattern;
use super::plausible::{self, PROCESS_BANDWIDTH};
use super::raw::{BenchmarkOutput, ImportFault, Parsed, Raw, fault};
use super::statement::{self, Stated, Statement};
use super::{content, duplicates, places, reader, values};
use crate::error::ImportError;
use collrules_record::findings::Statistic;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, CandidateName, Cell};

/// Options of the user for an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// The release of Open MPI whose algorithm numbers are meant.
    pub release: Release,
    /// Facts that hold for all files.
    pub facts: Facts,
    /// Pattern of file names, in addition to the usual forms.
    pub pattern: Option<NamePattern>,
    /// Units of time per second, for columns that name no unit.
    pub per_second: Option<f64>,
    /// The time to import if there are several; if none is named, that of the slowest rank if all have it, else the mean over
    /// ranks.
    pub time: Option<Statistic>,
    /// True if timings with a warning are left out.
    pub leave_out_flagged: bool,
    /// Bytes per second that one process of the measured machine can send or receive at most.
    pub process_bandwidth: f64,
}

impl Options {
    /// Options with the release alone.
    pub fn new(release: Release) -> Self {
        Self {
            release,
            facts: Facts::default(),
            pattern: None,
            per_second: None,
            time: None,
            leave_out_flagged: false,
            process_bandwidth: PROCESS_BANDWIDTH,
        }
    }
}

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

/// Fewer timings than this can agree by chance.
const LEAST_COPY: usize = 3;

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
    /// The place of a timing with buffers in the memory of a device, and of one with others.
    on_device: Option<String>,
    on_host: Option<String>,
    /// True if a name matched the pattern.
    matched: bool,
    /// The directory of the Open MPI that commands in files name.
    installation: Option<String>,
    /// Number of timings of a file that is refused after it was read.
    refused: usize,
}

/// Largest number of lines that a message names.
const NAMED_LINES: usize = 6;

impl Importer {
    /// Begins.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            sources: Vec::new(),
            names: Vec::new(),
            timings: Vec::new(),
            findings: Vec::new(),
            lost: BTreeSet::new(),
            on_device: None,
            on_host: None,
            matched: false,
            installation: None,
            refused: 0,
        }
    }

    /// Detects the format of a file, without importing it.
    pub fn format(bytes: &[u8]) -> Option<ImportFormat> {
        let text = content::unpacked(bytes).ok()?;
        let given = HeaderDefaults { facts: &Facts::default(), per_second: None, time: None };
        match reader::read(&content::without_prefix(&content::plain(&String::from_utf8_lossy(&text))).1, &given) {
            Ok(parsed) => parsed.format,
            Err(ImportError::Unknown(_) | ImportError::Empty | ImportError::NotText) => None,
            // A header with a fault.
            Err(_) => Some(ImportFormat::Table),
        }
    }

    /// Reports a file that is skipped on purpose.
    pub fn pass_over(&mut self, file: &str, why: &str) {
        self.report(file, None, fault(FindingCode::PassedOver, why).of_timings(0));
    }

    /// Reads a file. `parts` are the parts of its path that may describe its content. Returns true if its timings are
    /// imported, from it or from another file with the same content.
    ///
    /// A file that cannot be used is a finding, not an error: others may be.
    pub fn add(&mut self, file: &str, parts: &[&str], bytes: &[u8]) -> bool {
        self.add_file(file, parts, bytes).unwrap_or_else(|why| {
            let (line, why) = why.split();
            let refused = std::mem::take(&mut self.refused);
            self.report(file, line, fault(FindingCode::UnusableFile, why.to_string()).of_timings(refused));
            false
        })
    }

    pub(crate) fn add_file(&mut self, file: &str, parts: &[&str], bytes: &[u8]) -> Result<bool, ImportError> {
        let mut text = content::unpacked(bytes)?;
        if text.contains(&0) {
            return Err(ImportError::NotText);
        }
        let unfinished = content::cut_unfinished(&mut text);
        // Names and warnings may be in any encoding; numbers are ASCII.
        let lossy = String::from_utf8_lossy(&text);
        let lossy = content::plain(&lossy);
        let (prefix, lossy) = content::without_prefix(&lossy);
        let mut crc = Crc::new();
        crc.update(bytes);
        let options = &self.options;
        let described = options.pattern.as_ref().and_then(|pattern| pattern.facts(&parts.join("/")));
        let matched = options.pattern.as_ref().filter(|_| described.is_some()).map_or(0, NamePattern::directories);
        self.matched |= described.is_some();
        let mut name = names::facts(parts, options.release);
        name.facts = described.unwrap_or_default().or(name.facts);
        if let Some(library) = name.library {
            self.pass_over(file, &format!("its path names {library}, whose algorithms are not those of Open MPI"));
            return Ok(false);
        }
        // A table need not have what the name or the options say.
        let facts = options.facts.clone().or(name.facts.clone());
        let given = HeaderDefaults { facts: &facts, per_second: options.per_second, time: options.time };
        let mut parsed = reader::read(&lossy, &given)?;
        let of_path = statement::read(1, &parts.join("/").replace('_', " "));
        let version = of_path.into_iter().find(|statement| matches!(statement.fact, Stated::Version(_)));
        parsed.outputs.iter_mut().for_each(|output| output.stated.extend(version.clone()));
        let format = parsed.format.unwrap_or(ImportFormat::Table);
        let source = SourceFile {
            file: file.to_owned(),
            format,
            bytes: bytes.len() as u64,
            crc32: format!("{:08x}", crc.sum()),
            timings: 0,
        };
        if self.is_copy(&source, &name.facts) {
            return Ok(true);
        }
        parsed.faults.extend(unfinished.map(|(line, fault)| (Some(line), fault)));
        parsed.faults.extend(prefix.map(|prefix| {
            let what = format!("every line begins with a prefix such as `{prefix}`, which is not read");
            (None, fault(FindingCode::StrayLines, what))
        }));
        let before = self.timings.len();
        self.take(source, &name, parsed)?;
        self.names.push((name.facts, places::place(file, matched, self.options.release)));
        Ok(self.timings.len() > before)
    }

    /// Returns true if a file has the content of another source, under a name with the same facts. With other facts in
    /// its name it is reported and imported, since two measurements may agree.
    fn is_copy(&mut self, source: &SourceFile, name: &Facts) -> bool {
        let is_twin = |known: &SourceFile| (known.bytes, &known.crc32) == (source.bytes, &source.crc32);
        let twins = || self.sources.iter().zip(&self.names).filter(|(known, _)| is_twin(known));
        let copy = twins().find(|(_, (facts, _))| facts == name);
        // A few numbers agree by chance, many do not.
        let twin = twins().next().filter(|(known, _)| known.timings >= LEAST_COPY);
        let (code, what) = match (copy, twin) {
            (Some((known, _)), _) => (FindingCode::Duplicate, format!("a copy of {}", known.file)),
            (None, Some((known, _))) => {
                let what = format!("has the same content as {}, though its name says something else", known.file);
                (FindingCode::SameContent, what)
            }
            (None, None) => return false,
        };
        self.report(&source.file, None, fault(code, what).of_timings(0));
        code == FindingCode::Duplicate
    }

    /// Completes the facts of a file with those of its name and of the user.
    fn take(&mut self, mut source: SourceFile, name: &PathFacts, parsed: Parsed) -> Result<(), ImportError> {
        let index = self.sources.len();
        let (given, release) = (self.options.facts.clone(), self.options.release);
        let complete = |content: &Facts| {
            let (facts, note) = combine(&given, content, &name.facts, release)?;
            Ok((needed(facts, name)?, note))
        };
        let Parsed { outputs, banners, mut faults, .. } = parsed;
        self.refused = outputs.iter().map(|output| output.raws.len()).sum::<usize>()
            + faults.iter().map(|(_, fault)| fault.timings).sum::<usize>();
        let mut timings = Vec::new();
        let mut notes = BTreeSet::new();
        let mut empty: Option<(u64, usize)> = None;
        let mut given_alone = BTreeSet::new();
        for BenchmarkOutput { raws, stated, .. } in outputs {
            self.install(&stated)?;
            let mut known: Option<(Facts, Result<_, String>)> = None;
            for raw in raws {
                // Rows in a row mostly say the same beside their numbers.
                let (_, needed) = match known.take().filter(|(facts, _)| *facts == raw.facts) {
                    Some(same) => known.insert(same),
                    None => {
                        let completed = complete(&raw.facts);
                        if let Ok((needed, _)) = &completed {
                            agree(&stated, &raw.facts, needed, release)?;
                            given_alone.extend(given.beyond(&raw.facts));
                        }
                        known.insert((raw.facts.clone(), completed))
                    }
                };
                let cell = needed.as_ref().map_err(String::clone).and_then(|(needed, _)| needed.cell(raw.size));
                let (Ok((needed, note)), Ok(cell)) = (&*needed, &cell) else {
                    let is_row = needed.is_err() && raw.facts.algorithm.is_some();
                    let code = if is_row { FindingCode::BadRow } else { FindingCode::UnusableFile };
                    let why = cell.err().unwrap_or_default();
                    match faults.last_mut() {
                        Some((_, last)) if last.code == code && last.what == why => last.timings += 1,
                        _ => faults.push((Some(raw.line), fault(code, why).of_timings(1))),
                    }
                    continue;
                };
                notes.extend(note.clone());
                if cell.collective.has_sizes() && cell.bytes == Bytes(0) {
                    empty.get_or_insert((raw.line, 0)).1 += 1;
                    continue;
                }
                let is_average = self.options.time == Some(Statistic::RankAverage);
                if let Some(disorder) = values::check(&raw, *cell, is_average).map_err(|why| why.at(raw.line))? {
                    faults.push((Some(raw.line), disorder.about(raw.facts, raw.size)));
                    continue;
                }
                let seen = if raw.is_on_device { &mut self.on_device } else { &mut self.on_host };
                seen.get_or_insert_with(|| format!("line {} of {}", raw.line, source.file));
                let Raw { line, round, times, is_median, .. } = raw;
                let NeededFacts { candidate, launch, .. } = *needed;
                let cell = *cell;
                timings.push(Imported { source: index, line, cell, candidate, launch, round, times, is_median });
            }
        }
        if banners.len() > 1 && !given_alone.is_empty() {
            let lines: Vec<String> = banners.iter().map(u64::to_string).collect();
            let what = format!(
                "outputs begin on lines {}, and all of them are taken to have the given {}",
                some(&lines, NAMED_LINES),
                given_alone.into_iter().collect::<Vec<_>>().join(" and "),
            );
            faults.push((None, fault(FindingCode::SeveralOutputs, what).of_timings(0)));
        }
        faults.extend(notes.into_iter().map(|note| (None, fault(FindingCode::PassedOver, note).of_timings(0))));
        if let Some((line, count)) = empty {
            let what = format!("no data, for which no algorithm runs ({count} such rows)");
            faults.push((Some(line), fault(FindingCode::NoData, what).of_timings(count)));
        }
        for (facts, size) in faults.iter().filter_map(|(_, fault)| fault.lost.as_ref()) {
            if let Ok((needed, _)) = complete(facts)
                && let Ok(cell) = needed.cell(*size)
            {
                self.lost.insert((cell, needed.candidate));
            }
        }
        if timings.is_empty() && faults.is_empty() {
            return Err(ImportError::NoTimings);
        }
        faults.into_iter().for_each(|(line, fault)| self.report(&source.file, line, fault));
        self.refused = 0;
        source.timings = timings.len();
        self.sources.push(source);
        self.timings.append(&mut timings);
        Ok(())
    }

    /// Compares the installation of Open MPI that lines around outputs name.
    fn install(&mut self, stated: &[Statement]) -> Result<(), ImportError> {
        for Statement { line, text, fact } in stated {
            let Stated::Installation(path) = fact else { continue };
            let known = self.installation.get_or_insert_with(|| path.clone());
            if known != path {
                let why = format!("other timings are of the Open MPI in {known}");
                return Err(ImportError::Contradicted { why, text: text.clone() }.at(*line));
            }
        }
        Ok(())
    }

    fn report(&mut self, file: &str, line: Option<u64>, fault: ImportFault) {
        self.findings.push(finding(file, line, fault, true));
    }

    /// Combines all files: resolves duplicates, and looks for implausible values.
    pub fn finish(self) -> Result<Import, ImportError> {
        let Self { options, mut sources, names, timings, mut findings, lost, matched, on_device, on_host, .. } = self;
        if options.pattern.is_some() && !matched {
            return Err(ImportError::NoMatch);
        }
        if let (Some(device), Some(host)) = (on_device, on_host) {
            return Err(ImportError::MixedMemory { device, host });
        }
        let place = |timing: &Imported| match sources.len() {
            1 => timing.line.to_string(),
            _ => format!("{} of {}", timing.line, sources[timing.source].file),
        };
        let named = findings.iter().filter_map(|finding| named_default(&finding.file, options.release));
        let named: Vec<Collective> = named.collect();
        let mut report = |timing: &Imported, fault: ImportFault| {
            findings.push(finding(&sources[timing.source].file, Some(timing.line), fault, true));
        };
        let with_default = |timings: &[Imported]| -> BTreeSet<Collective> {
            let defaults = timings.iter().filter(|timing| timing.candidate == Candidate::Builtin);
            defaults.map(|timing| timing.cell.collective).collect()
        };
        let mut undefaulted = with_default(&timings);
        undefaulted.extend(lost.iter().filter(|(_, it)| *it == Candidate::Builtin).map(|(cell, _)| cell.collective));
        undefaulted.extend(named);
        let timings = places::keep_apart(timings, &names, place, &mut report);
        let mut timings = duplicates::settle(timings, place, |timing, code, what| report(timing, fault(code, what)));
        timings.sort_by_key(|timing| (timing.cell, timing.candidate, timing.launch, timing.round));
        let by_place = |findings: &mut Vec<Finding>| {
            findings.sort_by(|a, b| (&a.file, a.line, a.code).cmp(&(&b.file, b.line, b.code)));
        };
        if timings.is_empty() {
            by_place(&mut findings);
            return Err(ImportError::Nothing { findings });
        }
        let (left, known) = (with_default(&timings), timings.iter().map(|timing| timing.cell.collective));
        let known: BTreeSet<Collective> = known.collect();
        undefaulted.retain(|collective| known.contains(collective) && !left.contains(collective));
        if let Some(collective) = undefaulted.pop_first() {
            by_place(&mut findings);
            return Err(ImportError::NoDefault { collective, findings });
        }
        let statistic = statistic(&timings, options.time)?;
        let suspicions = plausible::check(&timings, statistic, options.release, options.process_bandwidth, &lost);
        let mut keep = vec![true; timings.len()];
        for suspicion in suspicions {
            let timing = &timings[suspicion.place];
            if options.leave_out_flagged {
                suspicion.timings.iter().for_each(|place| keep[*place] = false);
            }
            let fault = fault(suspicion.code, suspicion.what).of_timings(suspicion.timings.len());
            let found = finding(&sources[timing.source].file, Some(timing.line), fault, options.leave_out_flagged);
            let mut points: Vec<(Cell, Candidate)> =
                suspicion.timings.iter().map(|place| (timings[*place].cell, timings[*place].candidate)).collect();
            points.dedup();
            findings.push(Finding { points, ..found });
        }
        by_place(&mut findings);
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

/// The collective whose default a file has timings of, by its name.
fn named_default(file: &str, release: Release) -> Option<Collective> {
    let Facts { collective, algorithm, .. } = names::facts(&file.split('/').collect::<Vec<_>>(), release).facts;
    collective.filter(|it| algorithm.is_some_and(|name| name.candidate(release, *it) == Ok(Candidate::Builtin)))
}

fn finding(file: &str, line: Option<u64>, fault: ImportFault, left_out: bool) -> Finding {
    let ImportFault { code, what: message, timings, .. } = fault;
    Finding {
        code,
        severity: code.severity(),
        file: file.to_owned(),
        line,
        message,
        timings,
        left_out: left_out && timings > 0,
        points: Vec::new(),
    }
}

/// Compares what lines around an output state with what is assumed about its rows.
fn agree(stated: &[Statement], content: &Facts, needed: &NeededFacts, release: Release) -> Result<(), ImportError> {
    let NeededFacts { collective, ranks, candidate, .. } = *needed;
    for statement in stated {
        if let Some(why) = statement.contradiction(content, ranks, (collective, candidate), release) {
            return Err(ImportError::Contradicted { why, text: statement.text.clone() }.at(statement.line));
        }
    }
    Ok(())
}

/// Facts that a timing needs.
struct NeededFacts {
    collective: Collective,
    ranks: Ranks,
    candidate: Candidate,
    launch: u32,
}

impl NeededFacts {
    fn cell(&self, size: Size) -> Result<Cell, String> {
        let Self { collective, ranks, .. } = *self;
        Ok(Cell { collective, ranks, bytes: size.message(collective, ranks)? })
    }
}

/// The needed facts, or the options that supply the missing ones.
fn needed(facts: Facts, name: &PathFacts) -> Result<NeededFacts, String> {
    let Facts { collective, ranks, algorithm, launch } = facts;
    let lacks = [
        (collective.is_none(), "which collective it is (--collective NAME)"),
        (ranks.is_none(), "how many ranks took part (--np N)"),
        (algorithm.is_none(), "which algorithm ran (--algorithm ID or NAME, 0 for Open MPI's own choice)"),
    ];
    match (collective, ranks, algorithm) {
        (Some(collective), Some(ranks), Some(CandidateName::Complete(candidate))) => {
            Ok(NeededFacts { collective, ranks, candidate, launch: launch.unwrap_or(0) })
        }
        _ => {
            let lacks: Vec<&str> = lacks.into_iter().filter_map(|(lacks, what)| lacks.then_some(what)).collect();
            let lacks = lacks.join(", nor ");
            let unread = name.unread.as_ref().map_or(String::new(), |(part, word)| {
                format!("; `{part}` is not believed, since its word `{word}` is unknown")
            });
            Err(format!(
                "neither the content nor the file name says {lacks}{unread}; --name-pattern says how to read names"
            ))
        }
    }
}

fn statistic(timings: &[Imported], wanted: Option<Statistic>) -> Result<Statistic, ImportError> {
    let max = timings.iter().all(|timing| timing.times.max.is_some());
    let mean = timings.iter().all(|timing| timing.times.mean.is_some());
    let medians = timings.iter().filter(|timing| timing.is_median).count();
    if medians > 0 && medians < timings.len() && !(max && wanted != Some(Statistic::RankAverage)) {
        return Err(ImportError::MixedMedians);
    }
    match wanted {
        None if max => Ok(Statistic::SlowestRankSummary),
        None if mean => Ok(Statistic::RankAverage),
        None => Err(ImportError::MixedTimes),
        Some(Statistic::RankAverage) if mean => Ok(Statistic::RankAverage),
        Some(Statistic::RankAverage) => Err(ImportError::NoSuchTime("averaged over ranks")),
        Some(_) if max => Ok(Statistic::SlowestRankSummary),
        Some(_) => Err(ImportError::NoSuchTime("of the slowest rank")),
    }
}
