//! `collrules check`: everything that is wrong with rules files, or might surprise.

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use collrules_rules::lint::{self, Problem, Report, Severity, Verdict};
use collrules_rules::{Behaviour, Span};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde_json::{Value, json};

use crate::args::{Check, Deny};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &Check) -> Result<Exit, Failure> {
    let sources = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let reports: Vec<Report> = sources.iter().map(|source| lint::check(source, &args.release)).collect();
    let denied = match args.deny {
        None => Severity::Error,
        Some(Deny::Warnings) => Severity::Warning,
        Some(Deny::Notes) => Severity::Note,
    };
    let named = args.files.iter().zip(&sources).zip(&reports);
    let named = named.map(|((path, source), report)| (name(path), source.as_slice(), report));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = if args.json {
        let files: Vec<Value> = named.map(|(name, source, report)| as_json(&name, source, report)).collect();
        let count = |severity| reports.iter().map(|report| report.count(severity)).sum::<usize>();
        let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
        let summary = json!({ "errors": errors, "warnings": warnings, "notes": notes });
        writeln!(out, "{:#}", json!({ "files": files, "summary": summary }))
    } else {
        let mut named = named;
        named.try_for_each(|(name, source, report)| show(&mut out, &name, source, report))
    };
    written.and_then(|()| out.flush()).map_err(Failure::Stdout)?;
    let fails = reports.iter().filter_map(Report::worst).any(|worst| worst >= denied);
    Ok(if fails { Exit::Problems } else { Exit::Done })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        let mut source = Vec::new();
        std::io::stdin().lock().read_to_end(&mut source).map(|_| source)
    } else {
        fs::read(path)
    };
    read.map_err(|cause| Failure::Open { path: path.to_owned(), cause })
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn show(out: &mut impl Write, name: &str, source: &[u8], report: &Report) -> std::io::Result<()> {
    let theme = match (screen::is_coloured(), screen::is_dumb()) {
        (true, _) => GraphicalTheme::unicode(),
        (false, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(screen::width()).with_links(false);
    let text = Text::new(name, source, screen::width());
    for problem in &report.problems {
        let mut shown = String::new();
        let concerns_all = problem.versions.len() == report.outcomes.len();
        let diagnosis = Diagnosis { problem, text: &text, concerns_all };
        handler.render_report(&mut shown, &diagnosis).map_err(std::io::Error::other)?;
        writeln!(out, "{shown}")?;
    }
    screen::wrapped(&summary(name, report), "", "  ").iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn summary(name: &str, report: &Report) -> String {
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts = counts.map(|(severity, what)| (report.count(severity), what));
    let said = counts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> =
        said.map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" })).collect();
    let said = if said.is_empty() { "no problems".to_owned() } else { said.join(", ") };
    let verdict = |wanted, what: &str| {
        let outcomes = report.outcomes.iter().filter(|outcome| outcome.verdict == wanted);
        let names: Vec<_> = outcomes.map(|outcome| outcome.version.name()).collect();
        match names.len() {
            0 => None,
            all if all == report.outcomes.len() => Some(format!("{what} all versions checked")),
            _ => Some(format!("{what} {}", names.join(", "))),
        }
    };
    let verdicts = [
        verdict(Verdict::Accepted, "accepted by"),
        verdict(Verdict::Rejected, "rejected by"),
        verdict(Verdict::Crashes, "crashes"),
    ];
    let verdicts: Vec<_> = verdicts.into_iter().flatten().collect();
    format!("{name}: {said}; {}", verdicts.join("; "))
}

fn as_json(name: &str, source: &[u8], report: &Report) -> Value {
    let lines = Lines::new(source);
    let place = |span: Span| {
        let (line, column) = lines.position(span.start);
        json!({ "line": line + 1, "column": column + 1, "start": span.start, "end": span.end })
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
    let outcome = |outcome: &lint::Outcome| json!({ "release": outcome.version.name(), "verdict": outcome.verdict });
    json!({
        "file": name,
        "outcomes": report.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

/// Where the lines of a text begin.
struct Lines {
    starts: Vec<usize>,
    end: usize,
}

impl Lines {
    fn new(source: &[u8]) -> Self {
        let breaks = source.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(breaks).collect(), end: source.len() }
    }

    /// Line and column of an offset, counted from 0.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        (line, offset - self.starts[line])
    }

    /// The bytes of these lines, both included.
    fn range(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(last + 1).copied().unwrap_or(self.end);
        self.starts.get(first).copied().unwrap_or(self.end)..end
    }
}

/// A text that is fit for terminals, with every byte in its place.
///
/// miette's own sources look for the place from the beginning of the text, each time, and show whole lines, which may
/// be long.
struct Text<'n> {
    name: &'n str,
    text: String,
    lines: Lines,
    /// Lines that are longer than this are shown in part.
    longest: usize,
}

/// What miette puts beside a line of a file: its number and a bar.
const MARGIN: usize = 10;

/// What is shown of a long line before a place in it.
const AROUND: usize = 24;

impl<'n> Text<'n> {
    fn new(name: &'n str, source: &[u8], width: usize) -> Self {
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

    /// A place on one line, not too long, that is there.
    fn clipped(&self, span: Span) -> (usize, usize) {
        let start = self.boundary(span.start);
        let (line, _) = self.lines.position(start);
        let line_end = self.text[..self.lines.range(line, line).end].trim_end().len();
        let end = self.boundary(span.end.min(start + 2 * AROUND)).min(line_end.max(start));
        (start, end.max(start) - start)
    }

    /// The last place at or before this one at which a character begins.
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
        let (from, to) = (first.saturating_sub(before), last + after);
        let whole = self.lines.range(from, to);
        let long = (from..=to).any(|line| self.lines.range(line, line).len() > self.longest);
        let (range, line, column) = if before == 0 && after == 0 {
            (start..end, first, column)
        } else if !long {
            (whole, from, 0)
        } else if first == last && span.len() <= 2 * AROUND {
            let line = self.lines.range(first, first);
            let begin = self.boundary(start.saturating_sub(AROUND).max(line.start));
            let shown = begin..self.boundary((begin + self.longest).max(end).min(line.end));
            (shown, first, begin - line.start)
        } else {
            // Places that are far apart are shown one by one.
            return Err(miette::MietteError::OutOfBounds);
        };
        let count = self.text[range.clone()].lines().count();
        let place = (range.start, range.len()).into();
        let data = &self.text.as_bytes()[range];
        Ok(Box::new(miette::MietteSpanContents::new_named(self.name.to_owned(), data, place, line, column, count)))
    }
}

/// A problem as miette shows it.
struct Diagnosis<'p> {
    problem: &'p Problem,
    text: &'p Text<'p>,
    concerns_all: bool,
}

impl fmt::Display for Diagnosis<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.message)
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
