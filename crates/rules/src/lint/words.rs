//! The words of a classic file as people read them: lines, comments, and apparent numbers.

use std::collections::{BTreeMap, HashSet};

use super::code::{Code, Severity};
use super::collect::Collector;
use crate::span::Span;
use crate::tokens::{HEADER, Tokens, is_space};
use crate::units::Bytes;

/// Results of the strict reading that later checks need.
#[derive(Debug, Default)]
pub(super) struct Strict {
    /// Places that Open MPI may read differently from people.
    pub(super) garbage: Vec<Span>,
    /// The first four numbers of each rule that people read, by its start.
    pub(super) rules: BTreeMap<usize, [u64; 4]>,
    /// Starts of rules or communicator rules whose sizes are reported already.
    pub(super) flagged: HashSet<usize>,
}

/// A word that is meant to be a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberWord {
    /// Value that was probably meant.
    pub(super) value: u64,
    pub(super) span: Span,
    /// Place of its line among those with numbers.
    pub(super) line: usize,
}

/// The numbers of a file by lines; lines without any are left out.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) numbers: Vec<NumberWord>,
    /// Index of each line's first number.
    pub(super) starts: Vec<usize>,
    /// The number of the version line, if the file begins with one.
    pub(super) header: Option<u64>,
}

impl Words {
    /// The numbers of each line.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = &[NumberWord]> + ExactSizeIterator {
        let end = |line: usize| self.starts.get(line + 1).copied().unwrap_or(self.numbers.len());
        self.starts.iter().enumerate().map(move |(line, start)| &self.numbers[*start..end(line)])
    }

    /// Returns true if rules may have a fifth column.
    pub(super) fn has_requests(&self) -> bool {
        self.header.is_some_and(|version| version > 1)
    }
}

/// Splits a text into words and reports those that are no plain numbers.
pub(super) fn split(source: &[u8], strict: &mut Strict, problems: &mut Collector) -> Words {
    let mut splitter = Splitter { source, strict, problems, words: Words::default() };
    let mut at = splitter.header();
    while at < source.len() {
        let end = line_end(source, at);
        splitter.line(Span::new(at, end));
        at = end + 1;
    }
    splitter.words
}

/// The first word with letters of a text that has more of them, outside comments and the version line, than others.
pub(super) fn find_prose(source: &[u8]) -> Option<Span> {
    let (mut at, mut first, mut words, mut others) = (0, None, 0, 0);
    for line in source.split(|byte| *byte == b'\n') {
        let text = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let mut start = at;
        for word in text.split(|byte| is_space(*byte)) {
            if !word.is_empty() && !word.starts_with(HEADER) {
                let has_letters = word.iter().any(u8::is_ascii_alphabetic);
                words += usize::from(has_letters);
                others += usize::from(!has_letters);
                first = first.or(has_letters.then(|| Span::new(start, start + word.len())));
            }
            start += word.len() + 1;
        }
        at += line.len() + 1;
    }
    first.filter(|_| words > others)
}

fn line_end(source: &[u8], at: usize) -> usize {
    source[at..].iter().position(|byte| *byte == b'\n').map_or(source.len(), |length| at + length)
}

struct Splitter<'s> {
    source: &'s [u8],
    strict: &'s mut Strict,
    problems: &'s mut Collector,
    words: Words,
}

/// Kind of a word.
enum Word {
    Plain(u64),
    /// Open MPI reads something else than was meant, if a number was: its value, and the problem.
    Faulty(Option<u64>, Code, String),
    /// A number with a label before it or punctuation around it, which Open MPI skips: the range of the digits.
    Within(Span, u64),
    Text,
}

impl Splitter<'_> {
    /// Reads the version line, if the file begins with one, and returns where the rest begins.
    fn header(&mut self) -> usize {
        if !self.source.starts_with(HEADER) {
            return 0;
        }
        let end = line_end(self.source, 0);
        let line = &self.source[HEADER.len()..end];
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let behind = HEADER.len() + digits;
        let span = Span::new(0, behind);
        self.words.header = decimal(&line[..digits]);
        let message = match self.words.header {
            Some(2) => return behind,
            Some(version) if version > 1 => format!("version {version} is read like version 2"),
            Some(_) => "this version line is the same as none, but older versions reject it".to_owned(),
            None => "the version line has no number".to_owned(),
        };
        let problem = self.problems.add(Code::OddHeader, span, message);
        if self.words.header.is_none() {
            problem.severity = Severity::Error;
        }
        behind
    }

    fn line(&mut self, line: Span) {
        let text = line.of(self.source);
        let end = text.iter().position(|byte| *byte == b'#').unwrap_or(text.len());
        let first = self.words.numbers.len();
        let mut at = line.start;
        let mut stray: Option<Span> = None;
        for word in text[..end].split(|byte| is_space(*byte)) {
            let span = Span::new(at, at + word.len());
            at = span.end + 1;
            if word.is_empty() {
                continue;
            }
            // Words of text in a row are one problem.
            if let Some(text) = self.word(span) {
                stray = Some(stray.map_or(text, |before| before.to(text)));
            } else if let Some(text) = stray.take() {
                self.stray(text);
            }
        }
        if let Some(text) = stray {
            self.stray(text);
        }
        if self.words.numbers.len() > first {
            self.words.starts.push(first);
        }
    }

    /// Reads a word; returns its place if it is only text.
    fn word(&mut self, span: Span) -> Option<Span> {
        match classify(span.of(self.source)) {
            Word::Plain(value) => self.number(value, span),
            Word::Faulty(value, code, message) => {
                self.problems.add(code, span, message);
                if matches!(code, Code::BrokenNumber | Code::DigitsInText) {
                    self.strict.garbage.push(span);
                }
                if let Some(value) = value {
                    self.number(value, span);
                }
            }
            Word::Within(digits, value) => {
                let digits = Span::new(span.start + digits.start, span.start + digits.end);
                self.number(value, digits);
                let is_behind = digits.start == span.start;
                let (start, end) = if is_behind { (digits.end, span.end) } else { (span.start, digits.start) };
                self.stray(Span::new(start, end));
            }
            Word::Text => return Some(span),
        }
        None
    }

    fn number(&mut self, value: u64, span: Span) {
        self.words.numbers.push(NumberWord { value, span, line: self.words.starts.len() });
    }

    /// Reports words that are no numbers.
    fn stray(&mut self, span: Span) {
        let text = span.of(self.source);
        let message = match text.strip_prefix(b"\xef\xbb\xbf") {
            Some([]) => "the file begins with a byte order mark".to_owned(),
            _ => format!("`{}` is neither a number nor a comment", printable(text)),
        };
        self.problems.add(Code::StrayText, span, message);
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Printable text from any bytes, cut to the length of a line.
pub(super) fn printable(text: &[u8]) -> String {
    const MOST: usize = 32;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]).into_owned();
    let mut short: String = lossy.chars().take(MOST).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if lossy.chars().count() > MOST || text.len() > 4 * MOST {
        short.push('…');
    }
    short
}

/// The value of decimal digits; none without digits. Saturates like C's.
fn decimal(digits: &[u8]) -> Option<u64> {
    let push = |value: u64, digit: &u8| value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| digits.iter().fold(0, push))
}

/// Classifies a word, given how Open MPI reads it.
fn classify(text: &[u8]) -> Word {
    let shown = printable(text);
    let mut tokens = Tokens::new(text);
    let whole = tokens.number().filter(|(_, span)| *span == Span::new(0, text.len()));
    match (whole.map(|(number, _)| (number, number.unsigned_abs())), decimal(text)) {
        (Some(_), Some(value)) if text.len() == 1 || text[0] != b'0' => return Word::Plain(value),
        (Some((..0, value)), _) => return Word::Faulty(Some(value), Code::Negative, format!("`{shown}` is negative")),
        (Some((_, value)), _) => {
            let message = format!("`{shown}` is {} to Open MPI: {value}", notation(text));
            return Word::Faulty(Some(value), Code::OddNumber, message);
        }
        _ => {}
    }
    let Some(first) = text.iter().position(u8::is_ascii_digit) else { return Word::Text };
    let length = text[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits, behind) = (&text[..first], &text[first..first + length], &text[first + length..]);
    // Open MPI skips all signs but those of numbers.
    let is_sign = |byte: &u8| byte.is_ascii_punctuation() && !matches!(byte, b'+' | b'-' | b'.' | b'_');
    let is_label = before.last().is_none_or(|last| is_sign(last) || *last >= 0x80);
    let closes = behind.iter().all(|byte| matches!(byte, b',' | b';' | b':' | b')' | b']' | b'.'));
    if is_label && closes && (digits.len() == 1 || digits[0] != b'0') {
        Word::Within(Span::new(first, first + length), decimal(digits).unwrap_or(0))
    } else if matches!(before, [] | [b'+' | b'-']) {
        let message = format!("`{shown}` is not one integer to Open MPI");
        Word::Faulty(Some(meant(digits, behind)), Code::BrokenNumber, message)
    } else if contains(text, b"rule-file-version") {
        let message = "this is not the beginning of the file, and so no version line";
        Word::Faulty(None, Code::LateHeader, message.to_owned())
    } else {
        Word::Faulty(None, Code::DigitsInText, format!("Open MPI reads the digits in `{shown}` as fields"))
    }
}

/// Describes the unusual notation of the only number of a word.
fn notation(text: &[u8]) -> &'static str {
    let digits = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    match digits {
        [b'0', b'x' | b'X', ..] => "hexadecimal",
        [b'0', _, ..] => "octal",
        _ => "a number with a sign",
    }
}

/// The number that digits with a unit after them probably stand for.
fn meant(digits: &[u8], behind: &[u8]) -> u64 {
    let value = decimal(digits).unwrap_or(0);
    let scaled = match behind {
        [b'e' | b'E', power @ ..] => {
            decimal(power).and_then(|power| value.checked_mul(10u64.checked_pow(u32::try_from(power).ok()?)?))
        }
        _ => String::from_utf8_lossy(&[digits, behind].concat()).parse().ok().map(|Bytes(bytes)| bytes),
    };
    scaled.unwrap_or(value)
}
