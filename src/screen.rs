//! Width and colour of the output for people, which no other module decides.
//!
//! Text is written with its escape codes; the streams here remove them if they are not wanted: away from a terminal,
//! under `NO_COLOR` and `CLICOLOR=0`, and if `TERM` is `dumb`. `CLICOLOR_FORCE` asks for them anyway.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use collrules_report::{plain, words};
use collrules_workflow::WorkflowError;
use serde::Serialize;

/// Columns if the number is unknown: every terminal has that many.
const COLUMNS: usize = 80;

/// Largest width of prose: longer lines are hard to read on any terminal.
const WIDEST_PROSE: usize = 100;

/// Smallest width: narrower columns would break every word.
const NARROWEST: usize = 40;

/// Meaning of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// Name of a part of the output.
    Heading,
    /// A good result.
    Good,
    /// For information.
    Note,
    /// A result that affects the quality.
    Warning,
    /// An error or a bad result.
    Bad,
}

/// The text with the colour of its meaning.
pub(crate) fn paint(ink: TextStyle, text: &str) -> String {
    let style = match ink {
        TextStyle::Heading => Style::new().bold(),
        TextStyle::Good => AnsiColor::Green.on_default(),
        TextStyle::Note => AnsiColor::Cyan.on_default(),
        TextStyle::Warning => AnsiColor::Yellow.on_default(),
        TextStyle::Bad => AnsiColor::Red.on_default().bold(),
    };
    format!("{style}{text}{style:#}")
}

/// Standard error, for text with escape codes.
pub(crate) fn stderr() -> AutoStream<io::StderrLock<'static>> {
    AutoStream::auto(io::stderr().lock())
}

/// Returns true if standard output shows colours, for code with its own escape codes.
pub(crate) fn is_coloured() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Returns true if the terminal can only print lines, one below the other.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Columns of standard output: `COLUMNS`, the terminal's, or 80.
pub(crate) fn width() -> usize {
    columns(terminal_size::terminal_size_of(io::stdout())).unwrap_or(COLUMNS)
}

/// Columns of standard error; none if it is not a terminal, so that lines of a log are not wrapped.
fn log_width() -> Option<usize> {
    io::stderr().is_terminal().then(|| columns(terminal_size::terminal_size_of(io::stderr())).unwrap_or(COLUMNS))
}

fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    // A terminal of unknown width reports 0.
    let found = told.or_else(|| terminal.map(|(width, _)| usize::from(width.0))).filter(|columns| *columns > 0);
    found.map(|columns| columns.max(NARROWEST))
}

/// A sentence as lines for standard output. Words that are longer than a line, such as paths and commands, stay whole, to
/// be copied.
pub(crate) fn wrapped(sentence: &str, first: &str, rest: &str) -> Vec<String> {
    wrap(width(), sentence, first, rest)
}

fn wrap(width: usize, sentence: &str, first: &str, rest: &str) -> Vec<String> {
    words::wrapped(width.min(WIDEST_PROSE), sentence, first, rest)
}

/// Prints text, with a line break at its end.
pub(crate) fn print(text: &str) -> Result<(), WorkflowError> {
    let mut out = AutoStream::auto(io::stdout().lock());
    let text = replace_control_characters(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}").and_then(|()| out.flush()).map_err(WorkflowError::Stdout)
}

/// Text without control characters except line breaks, tabs and colours: a file name from an unknown source must not
/// move the cursor or rename the window.
fn replace_control_characters(text: &str) -> Cow<'_, str> {
    let is_printable = |char: char| !char.is_control() || matches!(char, '\n' | '\t');
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let is_ink = |rest: &str| {
        let codes =
            rest.strip_prefix("\u{1b}[").map(|rest| rest.trim_start_matches(|char| matches!(char, '0'..='9' | ';')));
        codes.is_some_and(|rest| rest.starts_with('m'))
    };
    let replaced =
        text.char_indices().map(|(at, char)| if is_printable(char) || is_ink(&text[at..]) { char } else { '?' });
    Cow::Owned(replaced.collect())
}

/// Writes bytes for programs to standard output, unchanged and complete.
pub(crate) fn raw(bytes: &[u8]) -> Result<(), WorkflowError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(WorkflowError::Stdout)
}

/// Writes an answer for programs as one line, like the events before it.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), WorkflowError> {
    raw((serde_json::to_string(value)? + "\n").as_bytes())
}

/// Lists files of a directory with their contents, in lines for standard output. Names take this many columns.
pub(crate) fn list_files<'f>(
    directory: &Path,
    width: usize,
    files: impl IntoIterator<Item = (&'f str, &'f str)>,
) -> Vec<String> {
    let directory = plain::printable_line(&directory.display().to_string());
    let mut lines = vec![paint(TextStyle::Heading, &format!("Files in {directory}:"))];
    let indent = " ".repeat(width + 4);
    let files = files.into_iter();
    lines.extend(files.flat_map(|(name, what)| wrapped(what, &format!("  {name:<width$}  "), &indent)));
    lines
}

/// A line for standard error: wrapped on a terminal, unwrapped in a log.
pub(crate) fn logged(prefix: &str, line: &str) -> String {
    let Some(width) = log_width() else { return format!("{prefix}{line}") };
    let lines = line.lines().enumerate().flat_map(|(place, line)| {
        let text = line.trim_start();
        let indent = " ".repeat(line.len() - text.len());
        let first = if place == 0 { format!("{prefix}{indent}") } else { indent.clone() };
        wrap(width, text, &first, &format!("{indent}  "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_narrow_on_the_widest_terminal() {
        assert!(wrap(300, &"word ".repeat(60), "", "").iter().all(|line| line.len() <= WIDEST_PROSE));
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(replace_control_characters("a\u{1b}[2Jb\u{9b}5mc\rd\te\n"), "a?[2Jb?5mc?d\te\n");
        let painted = paint(TextStyle::Bad, "bad");
        assert_eq!(replace_control_characters(&painted), painted);
    }

    #[test]
    fn ink_ends_where_the_text_does() {
        assert_eq!(paint(TextStyle::Heading, "Files:"), "\u{1b}[1mFiles:\u{1b}[0m");
    }
}
