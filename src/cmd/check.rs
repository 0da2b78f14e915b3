//! `collrules check`: errors and surprises in rules files.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use collrules_record::units::Ranks;
use collrules_rules::kind::FileKind;
use collrules_rules::lines::{Lines, plain};
use collrules_rules::lint::{self, Code, FileFate, LintReport, Problem, Severity};
use collrules_rules::words::counted;
use collrules_rules::{Behaviour, Span};
use collrules_workflow::WorkflowError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde_json::{Value, json};

use super::source;
use crate::exit::Exit;
use crate::screen;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if all problems are below the level of --deny (errors), 1 otherwise, 3 if a file \
                  cannot be read."
)]
pub(crate) struct CheckArgs {
    /// Rules files of any format; - is standard input, and a run directory stands for its rules, those of HAN as well
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Release, or version, to check for; may be repeated. What one of these rejects is an error [default: all that
    /// differ, and an older one need not know the format]
    #[arg(long, value_name = "RELEASE", value_delimiter = ',')]
    pub(crate) release: Vec<Behaviour>,
    /// Check what the rules do on communicators of this many ranks, on whatever machine
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<Ranks>,
    /// Format of the list of problems
    #[arg(long, value_name = "HOW", default_value = "full", conflicts_with = "json")]
    pub(crate) format: CheckFormat,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Least severe problem, apart from errors, that makes the check fail
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
}

/// Format in which a check shows problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// A summary, then each kind of problem once with its line, reason and remedy, and where else it is
    Full,
    /// One line for each problem: FILE:LINE:COLUMN: CODE MESSAGE
    Short,
}

/// Problems, apart from errors, that make a check fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings
    Warnings,
    /// Warnings and notes
    Notes,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, WorkflowError> {
    let files: Vec<PathBuf> = args.files.iter().flat_map(|path| source::files_of(path)).collect();
    let sources = files.iter().map(|path| source::read(path)).collect::<Result<Vec<_>, _>>()?;
    let reports: Vec<LintReport> =
        sources.iter().map(|source| lint::check_on(source, &args.release, args.np)).collect();
    let denied = match args.deny {
        None => Severity::Error,
        Some(Deny::Warnings) => Severity::Warning,
        Some(Deny::Notes) => Severity::Note,
    };
    let named = files.iter().zip(&sources).zip(&reports);
    let mut named = named.map(|((path, source), report)| (source::printable_path(path), source.as_slice(), report));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = if args.json {
        let files: Vec<Value> = named.map(|(name, source, report)| as_json(&name, source, report)).collect();
        let count = |severity| reports.iter().map(|report| report.count(severity)).sum::<usize>();
        let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
        let summary = json!({ "errors": errors, "warnings": warnings, "notes": notes });
        writeln!(out, "{:#}", json!({ "files": files, "summary": summary }))
    } else {
        let show = if args.format == CheckFormat::Short { show_short } else { show };
        named.try_for_each(|(name, source, report)| show(&mut out, &name, source, report))
    };
    written.and_then(|()| out.flush()).map_err(WorkflowError::Stdout)?;
    let fails = reports.iter().filter_map(LintReport::worst).any(|worst| worst >= denied);
    Ok(if fails { Exit::PROBLEMS } else { Exit::DONE })
}

/// Maximum number of other places of a problem that are named.
const NAMED: usize = 8;

/// Prints the summary, then each kind of problem: the first in full, and the places of the others.
fn show(out: &mut dyn Write, name: &str, source: &[u8], report: &LintReport) -> std::io::Result<()> {
    let theme = match (screen::is_coloured(), screen::is_dumb()) {
        (true, _) => GraphicalTheme::unicode(),
        (false, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::none(),
    };
    screen::wrapped(&summary(name, source, report), "", "  ").iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let handler = GraphicalReportHandler::new_themed(theme).with_width(screen::width()).with_links(false);
    let text = Text::new(name, source, screen::width());
    for kind in kinds(report) {
        let [problem, others @ ..] = &kind[..] else { continue };
        let mut shown = String::new();
        let concerns_all = problem.versions.len() == report.readings.len();
        let diagnosis = Diagnosis { problem, text: &text, concerns_all };
        handler.render_report(&mut shown, &diagnosis).map_err(std::io::Error::other)?;
        writeln!(out, "\n{}", shown.trim_end())?;
        if !others.is_empty() {
            let elsewhere = elsewhere(problem, others, &text.lines);
            screen::wrapped(&elsewhere, "  ", "    ").iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
    }
    Ok(())
}

/// Problems by kind, the worst kinds first.
fn kinds(report: &LintReport) -> Vec<Vec<&Problem>> {
    let mut kinds: Vec<Vec<&Problem>> = Vec::new();
    let mut places = BTreeMap::new();
    for problem in &report.problems {
        let place = *places.entry((problem.code, problem.severity)).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push(Vec::new());
        }
        kinds[place].push(problem);
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.first().map(|problem| problem.severity)));
    kinds
}

fn elsewhere(problem: &Problem, others: &[&Problem], lines: &Lines<'_>) -> String {
    let mut places: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|other| {
            let (line, column) = lines.position(other.span.start);
            format!("{line}:{column}")
        })
        .collect();
    if let Some(more) = others.len().checked_sub(NAMED).filter(|more| *more > 0) {
        places.push(format!("and {more} more, which --format short lists"));
    }
    let places = places.join(", ");
    format!("{} ({}) also at {places}", problem.code, problem.code.title())
}

/// One line for each problem.
fn show_short(out: &mut dyn Write, name: &str, source: &[u8], report: &LintReport) -> std::io::Result<()> {
    let lines = Lines::new(source);
    for problem in &report.problems {
        let (line, column) = lines.position(problem.span.start);
        writeln!(out, "{name}:{line}:{column}: {} {}", problem.code, plain(&problem.message))?;
    }
    Ok(())
}

fn summary(name: &str, source: &[u8], report: &LintReport) -> String {
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts = counts.map(|(severity, what)| (report.count(severity), what));
    let said = counts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = said.map(|(count, what)| counted(*count, what)).collect();
    let said = if said.is_empty() { "no problems".to_owned() } else { said.join(", ") };
    let verdict = |wanted, what: &str| {
        let readings = report.readings.iter().filter(|reading| reading.fate == wanted);
        let names: Vec<_> = readings.map(|reading| reading.version.name()).collect();
        match names.len() {
            0 => None,
            all if all == report.readings.len() => Some(format!("{what} all versions checked")),
            _ => Some(format!("{what} {}", names.join(", "))),
        }
    };
    let verdicts = [
        verdict(FileFate::Accepted, "accepted by"),
        verdict(FileFate::Rejected, "rejected by"),
        verdict(FileFate::Crashes, "crashes"),
    ];
    // Readers take each number for what the counts before it announce.
    let first =
        report.problems.iter().find(|problem| problem.severity == Severity::Error && problem.code != Code::Rejected);
    let is_rejected = report.readings.iter().any(|reading| reading.fate == FileFate::Rejected);
    let is_counted = report.kind == FileKind::Tuned && !source.trim_ascii_start().starts_with(b"{");
    let uncertain = first
        .filter(|_| is_rejected && is_counted)
        .map(|first| format!("after line {} nothing is certain", Lines::new(source).position(first.span.start).0));
    let verdicts: Vec<_> = verdicts.into_iter().flatten().chain(uncertain).collect();
    let kind = if report.kind == FileKind::Han { "rules for coll/han, " } else { "" };
    format!("{name}: {kind}{said}; {}", verdicts.join("; "))
}

fn as_json(name: &str, source: &[u8], report: &LintReport) -> Value {
    let lines = Lines::new(source);
    let place = |span: Span| {
        let (line, column) = lines.position(span.start);
        json!({ "line": line, "column": column, "start": span.start, "end": span.end })
    };
    let problem = |problem: &Problem| {
        let related =
            problem.related.iter().map(|related| json!({ "at": place(related.span), "message": related.message }));
        json!({
            "code": problem.code,
            "title": problem.code.title(),
            "severity": problem.severity,
            "at": place(problem.span),
            "releases": problem.versions.iter().map(Behaviour::name).collect::<Vec<_>>(),
            "message": problem.message,
            "explanation": problem.explanation,
            "remedy": problem.remedy,
            "related": related.collect::<Vec<_>>(),
        })
    };
    let reading =
        |reading: &lint::VersionReading| json!({ "release": reading.version.name(), "verdict": reading.fate });
    json!({
        "file": name,
        "kind": report.kind,
        "outcomes": report.readings.iter().map(reading).collect::<Vec<_>>(),
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

/// A text that is safe for terminals, with unchanged positions of bytes.
///
/// miette's own sources search for each place from the beginning of the text, and show whole lines, which may be long.
struct Text<'n> {
    name: &'n str,
    text: String,
    lines: Lines<'n>,
    /// Longest line that is shown whole.
    longest: usize,
}

/// Columns before a line of a file in miette's output: its number and a bar.
const MARGIN: usize = 10;

/// Characters of a long line before a place in it.
const AROUND: usize = 24;

impl<'n> Text<'n> {
    fn new(name: &'n str, source: &'n [u8], width: usize) -> Self {
        let mut text = String::with_capacity(source.len());
        for chunk in source.utf8_chunks() {
            // Control characters would reach the terminal.
            text.extend(chunk.valid().chars().flat_map(|char| {
                let shown = if char.is_control() && !matches!(char, '\n' | '\t' | '\r') { '?' } else { char };
                std::iter::repeat_n(shown, if shown == char { 1 } else { char.len_utf8() })
            }));
            text.extend(std::iter::repeat_n('?', chunk.invalid().len()));
        }
        // A carriage return alone would go back over the line.
        let text = text.replace("\r\n", " \n").replace('\r', " ");
        Self { name, text, lines: Lines::new(source), longest: width - MARGIN }
    }

    /// A place limited to one line, to the text, and in length.
    fn clipped(&self, span: Span) -> (usize, usize) {
        let start = self.boundary(span.start);
        let (line, _) = self.lines.position(start);
        let line_end = self.text[..self.lines.range(line, line).end].trim_end().len();
        let end = self.boundary(span.end.min(start + 2 * AROUND)).min(line_end.max(start));
        (start, end.max(start) - start)
    }

    /// The last character boundary at or before this byte.
    fn boundary(&self, mut at: usize) -> usize {
        at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

impl SourceCode for Text<'_> {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        if end > self.text.len() {
            return Err(miette::MietteError::OutOfBounds);
        }
        let (first, column) = self.lines.position(start);
        let last = self.lines.position(end).0;
        let (from, to) = (first.saturating_sub(before).max(1), last + after);
        let whole = self.lines.range(from, to);
        let long = (from..=to).any(|line| self.lines.range(line, line).len() > self.longest);
        let (range, line, column) = if before == 0 && after == 0 {
            (start..end, first, column - 1)
        } else if !long {
            (whole, from, 0)
        } else if first == last && span.len() <= 2 * AROUND {
            let line = self.lines.range(first, first);
            let begin = self.boundary(start.saturating_sub(AROUND).max(line.start));
            let shown = begin..self.boundary((begin + self.longest).max(end).min(line.end));
            (shown, first, begin - line.start)
        } else {
            // Distant places are shown separately.
            return Err(miette::MietteError::OutOfBounds);
        };
        let count = self.text[range.clone()].lines().count();
        let place = (range.start, range.len()).into();
        let data = &self.text.as_bytes()[range];
        Ok(Box::new(miette::MietteSpanContents::new_named(self.name.to_owned(), data, place, line - 1, column, count)))
    }
}

/// A problem in miette's form.
struct Diagnosis<'p> {
    problem: &'p Problem,
    text: &'p Text<'p>,
    concerns_all: bool,
}

impl fmt::Display for Diagnosis<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&self.problem.message))
    }
}

impl fmt::Debug for Diagnosis<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.problem, f)
    }
}

impl std::error::Error for Diagnosis<'_> {}

impl Diagnostic for Diagnosis<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Note => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let Problem { explanation, remedy, versions, .. } = self.problem;
        let mut help = format!("{explanation}\n{remedy}");
        if !self.concerns_all {
            let names: Vec<_> = versions.iter().map(Behaviour::name).collect();
            help += &format!("\nConcerns {}.", names.join(", "));
        }
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.text)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (start, length) = self.text.clipped(self.problem.span);
        let title = self.problem.code.title().to_owned();
        let primary = LabeledSpan::new_primary_with_span(Some(title), (start, length));
        let related =
            self.problem.related.iter().map(|related| {
                LabeledSpan::new_with_span(Some(related.message.clone()), self.text.clipped(related.span))
            });
        Some(Box::new(std::iter::once(primary).chain(related)))
    }
}
