//! The words of a classic file as people read them: lines, comments, and apparent numbers.

use std::collections::{BTreeMap, HashSet};

use super::code::{Code, Severity};
use super::collect::Collector;
use crate::span::Span;
use crate::tokens::{HEADER, Tokens, is_space};

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
    /// Open MPI reads one number, perhaps another than was meant.
    Odd(u64, &'static str),
    /// Open MPI reads several numbers, or another than was probably meant.
    Broken(u64),
    Negative(u64),
    /// A number with a label before it or punctuation around it, which Open MPI skips: the range of the digits.
    Within(usize, usize, u64),
    DigitsInText,
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
        let mut at = 0;
        let mut stray: Option<Span> = None;
        while at < end {
            if is_space(text[at]) {
                at += 1;
                continue;
            }
            let length = text[at..end].iter().take_while(|byte| !is_space(**byte)).count();
            let span = Span::new(line.start + at, line.start + at + length);
            at += length;
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
        let text = span.of(self.source);
        let shown = printable(text);
        match classify(text) {
            Word::Plain(value) => self.number(value, span),
            Word::Odd(value, what) => {
                let message = format!("`{shown}` is {what} to Open MPI: {value}");
                self.problems.add(Code::OddNumber, span, message);
                self.number(value, span);
            }
            Word::Broken(value) => {
                let message = format!("`{shown}` is not one integer to Open MPI");
                self.problems.add(Code::BrokenNumber, span, message);
                self.strict.garbage.push(span);
                self.number(value, span);
            }
            Word::Negative(value) => {
                self.problems.add(Code::Negative, span, format!("`{shown}` is negative"));
                self.number(value, span);
            }
            Word::Within(start, end, value) => {
                let digits = Span::new(span.start + start, span.start + end);
                self.number(value, digits);
                let rest =
                    if start > 0 { Span::new(span.start, digits.start) } else { Span::new(digits.end, span.end) };
                self.stray(rest);
            }
            Word::DigitsInText if contains(text, b"rule-file-version") => {
                let message = "this is not the beginning of the file, and so no version line";
                self.problems.add(Code::LateHeader, span, message);
            }
            Word::DigitsInText => {
                let message = format!("Open MPI reads the digits in `{shown}` as fields");
                self.problems.add(Code::DigitsInText, span, message);
                self.strict.garbage.push(span);
            }
            Word::Text => return Some(span),
        }
        None
    }

    fn number(&mut self, value: u64, span: Span) {
        self.words.numbers.push(NumberWord { value, span });
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
    let mut tokens = Tokens::new(text);
    let whole = tokens.next().filter(|number| number.span == Span::new(0, text.len()));
    match (whole, decimal(text)) {
        (Some(_), Some(value)) if text.len() == 1 || text[0] != b'0' => return Word::Plain(value),
        (Some(number), _) if number.value < 0 => return Word::Negative(number.value.unsigned_abs()),
        (Some(number), _) => return Word::Odd(number.value.unsigned_abs(), notation(text)),
        _ => {}
    }
    let Some(first) = text.iter().position(u8::is_ascii_digit) else { return Word::Text };
    let length = text[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits, behind) = (&text[..first], &text[first..first + length], &text[first + length..]);
    let value = decimal(digits).unwrap_or(0);
    let one = digits.len() == 1 || digits[0] != b'0';
    // Open MPI skips all signs but those of numbers.
    let is_sign = |byte: &u8| byte.is_ascii_punctuation() && !matches!(byte, b'+' | b'-' | b'.' | b'_');
    let is_label = before.last().is_none_or(|last| is_sign(last) || *last >= 0x80);
    let closes = behind.iter().all(|byte| matches!(byte, b',' | b';' | b':' | b')' | b']' | b'.'));
    match (before, behind) {
        _ if one && is_label && closes => Word::Within(first, first + length, value),
        ([] | [b'+' | b'-'], _) => Word::Broken(meant(digits, behind)),
        _ => Word::DigitsInText,
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
    let unit = |shift: u32| value.checked_mul(1 << shift);
    let scaled = match &behind.to_ascii_lowercase()[..] {
        b"k" | b"kb" | b"kib" => unit(10),
        b"m" | b"mb" | b"mib" => unit(20),
        b"g" | b"gb" | b"gib" => unit(30),
        [b'e', power @ ..] => {
            decimal(power).and_then(|power| value.checked_mul(10u64.checked_pow(u32::try_from(power).ok()?)?))
        }
        _ => None,
    };
    scaled.unwrap_or(value)
}
