//! What people read: how wide it is, and whether it is in colour. Nothing else in the program decides on these.
//!
//! Text is written with its escape codes; the streams here take them out where they are not wanted: away from a
//! terminal, under `NO_COLOR` and `CLICOLOR=0`, and where `TERM` is `dumb`. `CLICOLOR_FORCE` asks for them anyway.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use collrules_report::words;

use crate::failure::Failure;

/// Columns where nothing says how many there are: what every terminal has.
const COLUMNS: usize = 80;

/// Longer lines are hard to read, however wide the terminal.
const WIDEST_PROSE: usize = 100;

/// Narrower columns would break every word.
const NARROWEST: usize = 40;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// What names a part of the output.
    Heading,
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Something suffers.
    Warning,
    /// Something is wrong.
    Bad,
}

/// The text in its colour.
pub(crate) fn paint(ink: Ink, text: &str) -> String {
    let style = match ink {
        Ink::Heading => Style::new().bold(),
        Ink::Good => AnsiColor::Green.on_default(),
        Ink::Note => AnsiColor::Cyan.on_default(),
        Ink::Warning => AnsiColor::Yellow.on_default(),
        Ink::Bad => AnsiColor::Red.on_default().bold(),
    };
    format!("{style}{text}{style:#}")
}

/// Standard output, for text with escape codes.
pub(crate) fn stdout() -> AutoStream<io::StdoutLock<'static>> {
    AutoStream::auto(io::stdout().lock())
}

/// Standard error, for text with escape codes.
pub(crate) fn stderr() -> AutoStream<io::StderrLock<'static>> {
    AutoStream::auto(io::stderr().lock())
}

/// Whether standard output shows colours, for those who make escape codes of their own.
pub(crate) fn is_coloured() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Whether the terminal can do no more than print lines, one below the other.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Columns of standard output: what `COLUMNS` says, or those of the terminal, or 80.
pub(crate) fn width() -> usize {
    columns(terminal_size::terminal_size_of(io::stdout())).unwrap_or(COLUMNS)
}

/// Columns of standard error; none where it is no terminal, so that lines of a log stay whole.
fn log_width() -> Option<usize> {
    io::stderr().is_terminal().then(|| columns(terminal_size::terminal_size_of(io::stderr())).unwrap_or(COLUMNS))
}

fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    // A terminal that does not know says 0.
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
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout();
    let text = tame(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}").and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// Text without what a terminal would obey, but for line breaks, tabs and inks. A name of a file or a directory, which may
/// be anybody's, moves no cursor and renames no window.
fn tame(text: &str) -> Cow<'_, str> {
    let is_tame = |char: char| !char.is_control() || matches!(char, '\n' | '\t');
    if text.chars().all(is_tame) {
        return Cow::Borrowed(text);
    }
    let is_ink = |rest: &str| {
        let codes =
            rest.strip_prefix("\u{1b}[").map(|rest| rest.trim_start_matches(|char| matches!(char, '0'..='9' | ';')));
        codes.is_some_and(|rest| rest.starts_with('m'))
    };
    let tamed = text.char_indices().map(|(at, char)| if is_tame(char) || is_ink(&text[at..]) { char } else { '?' });
    Cow::Owned(tamed.collect())
}

/// Writes bytes for programs to standard output, as they are and to the end.
pub(crate) fn raw(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// A line for standard error: wrapped on a terminal, whole in a log.
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
        assert_eq!(tame("a\u{1b}[2Jb\u{9b}5mc\rd\te\n"), "a?[2Jb?5mc?d\te\n");
        let painted = paint(Ink::Bad, "bad");
        assert_eq!(tame(&painted), painted);
    }

    #[test]
    fn ink_ends_where_the_text_does() {
        assert_eq!(paint(Ink::Heading, "Files:"), "\u{1b}[1mFiles:\u{1b}[0m");
    }
}
