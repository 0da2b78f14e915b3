//! The words of a classic file as people read them: lines, comments, and what is meant to be a number.

use std::collections::HashSet;

use super::code::Code;
use super::code::Severity;
use super::collect::Collector;
use super::edit::Edit;
use crate::behaviour::Behaviour;
use crate::span::Span;
use crate::tokens::{HEADER, Tokens, is_space};

/// What later checks need to know of the strict reading.
#[derive(Debug, Default)]
pub(super) struct Strict {
    /// Where Open MPI reads something else than is written.
    pub(super) garbage: Vec<Span>,
    /// Where rules or communicator rules begin whose sizes are reported already.
    pub(super) flagged: HashSet<usize>,
}

/// What is meant to be a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// What is probably meant.
    pub(super) value: u64,
    pub(super) span: Span,
}

/// The numbers of a file by lines; lines without any are left out.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) numbers: Vec<Number>,
    /// Where each line begins among the numbers.
    pub(super) starts: Vec<usize>,
    /// The number of the version line, where that is the beginning of the file.
    pub(super) header: Option<u64>,
}

impl Words {
    /// The numbers of each line.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = &[Number]> + ExactSizeIterator {
        let end = |line: usize| self.starts.get(line + 1).copied().unwrap_or(self.numbers.len());
        self.starts.iter().enumerate().map(move |(line, start)| &self.numbers[*start..end(line)])
    }

    /// Whether rules may have a fifth column.
    pub(super) fn has_requests(&self) -> bool {
        self.header.is_some_and(|version| version > 1)
    }
}

/// Splits a text into words and reports those that are no plain numbers.
pub(super) fn split(source: &[u8], versions: &[Behaviour], strict: &mut Strict, problems: &mut Collector) -> Words {
    let mut splitter = Splitter { source, versions, strict, problems, words: Words::default() };
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
    versions: &'s [Behaviour],
    strict: &'s mut Strict,
    problems: &'s mut Collector,
    words: Words,
}

/// What a word is.
enum Word {
    Plain(u64),
    /// Open MPI reads one number, though perhaps another than is meant.
    Odd(u64, &'static str),
    /// Open MPI reads several numbers, or another. Whether there is no doubt what is meant.
    Broken(u64, bool),
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
        match self.words.header {
            Some(2) => {}
            Some(version) if version > 1 => {
                let message = format!("version {version} is read like version 2");
                let number = Span::new(HEADER.len(), behind);
                self.problems.add(Code::OddHeader, span, self.versions, message).edits =
                    vec![Edit::replace(number, "2")];
            }
            Some(_) => {
                let message = "this version line is the same as none, but older versions reject it";
                // With the end of its line, if that is all there is on it.
                let rest = Span::new(behind, (end + 1).min(self.source.len()));
                let alone = rest.of(self.source).iter().all(|byte| is_space(*byte));
                let line = Span::new(0, if alone { rest.end } else { behind });
                self.problems.add(Code::OddHeader, span, self.versions, message).edits = vec![Edit::remove(line)];
            }
            None => {
                self.problems.add(Code::OddHeader, span, self.versions, "the version line has no number").severity =
                    Severity::Error;
            }
        }
        behind
    }

    fn line(&mut self, line: Span) {
        let text = line.of(self.source);
        let end = text.iter().position(|byte| *byte == b'#').unwrap_or(text.len());
        let first = self.words.numbers.len();
        let mut at = 0;
        let mut stray: Option<Span> = None;
        let behind = Span::new(line.start, line.start + end);
        let behind =
            Behind { comment: comment_place(self.source, behind, text), words: last_words(self.source, behind) };
        while at < end {
            if is_space(text[at]) {
                at += 1;
                continue;
            }
            let length = text[at..end].iter().take_while(|byte| !is_space(**byte)).count();
            let span = Span::new(line.start + at, line.start + at + length);
            at += length;
            // Words of text in a row are one problem.
            if let Some(text) = self.word(span, &behind) {
                stray = Some(stray.map_or(text, |before| before.to(text)));
            } else if let Some(text) = stray.take() {
                self.stray(text, &behind);
            }
        }
        if let Some(text) = stray {
            self.stray(text, &behind);
        }
        if self.words.numbers.len() > first {
            self.words.starts.push(first);
        }
    }

    /// Takes a word; returns its place if it is nothing but text.
    fn word(&mut self, span: Span, behind: &Behind) -> Option<Span> {
        let text = span.of(self.source);
        let shown = shown(text);
        match classify(text) {
            Word::Plain(value) => self.number(value, span),
            Word::Odd(value, what) => {
                let message = format!("`{shown}` is {what} to Open MPI: {value}");
                self.problems.add(Code::OddNumber, span, self.versions, message).edits =
                    vec![Edit::replace(span, value.to_string())];
                self.number(value, span);
            }
            Word::Broken(value, certain) => {
                let message = format!("`{shown}` is not one integer to Open MPI");
                let problem = self.problems.add(Code::BrokenNumber, span, self.versions, message);
                if certain {
                    problem.edits = vec![Edit::replace(span, value.to_string())];
                }
                self.strict.garbage.push(span);
                self.number(value, span);
            }
            Word::Negative(value) => {
                self.problems.add(Code::Negative, span, self.versions, format!("`{shown}` is negative"));
                self.number(value, span);
            }
            Word::Within(start, end, value) => {
                let digits = Span::new(span.start + start, span.start + end);
                self.number(value, digits);
                let rest =
                    if start > 0 { Span::new(span.start, digits.start) } else { Span::new(digits.end, span.end) };
                let mut edits: Vec<Edit> = [Span::new(span.start, digits.start), Span::new(digits.end, span.end)]
                    .into_iter()
                    .filter(|rest| !rest.is_empty())
                    .map(Edit::remove)
                    .collect();
                let label = str::from_utf8(&text[..start]).map(|label| label.trim_matches(LABELLING));
                edits.extend(label.ok().filter(|label| !label.is_empty()).map(|label| behind.comment(label)));
                self.add_stray(rest, edits);
            }
            Word::DigitsInText if contains(text, b"rule-file-version") => {
                let message = "this is not the beginning of the file, and so no version line";
                self.problems.add(Code::LateHeader, span, self.versions, message).edits =
                    header_edits(self.source, span);
            }
            Word::DigitsInText => {
                let message = format!("Open MPI reads the digits in `{shown}` as fields");
                self.problems.add(Code::DigitsInText, span, self.versions, message).edits =
                    behind.as_comment(span).into_iter().collect();
                self.strict.garbage.push(span);
            }
            Word::Text => return Some(span),
        }
        None
    }

    fn number(&mut self, value: u64, span: Span) {
        self.words.numbers.push(Number { value, span });
    }

    /// Reports words that are no numbers.
    fn stray(&mut self, span: Span, behind: &Behind) {
        let text = span.of(self.source);
        let edits = match (behind.as_comment(span), str::from_utf8(text)) {
            (_, Ok("\u{feff}")) => vec![Edit::remove(span)],
            (Some(comment), _) => vec![comment],
            // Numbers follow on the line: the words go behind them.
            (None, Ok(words)) => {
                let blank = self.source[span.end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                vec![Edit::remove(Span::new(span.start, span.end + blank)), behind.comment(words)]
            }
            (None, Err(_)) => Vec::new(),
        };
        self.add_stray(span, edits);
    }

    fn add_stray(&mut self, span: Span, edits: Vec<Edit>) {
        let text = span.of(self.source);
        let message = match text.strip_prefix(b"\xef\xbb\xbf") {
            Some([]) => "the file begins with a byte order mark".to_owned(),
            _ => format!("`{}` is neither a number nor a comment", shown(text)),
        };
        self.problems.add(Code::StrayText, span, self.versions, message).edits = edits;
    }
}

/// What joins a label to its number.
const LABELLING: [char; 6] = ['=', ':', ',', '(', '[', '\u{feff}'];

/// What comes at the end of a line.
struct Behind {
    /// Where a comment goes, and what sets it off from what stands there.
    comment: (usize, &'static str, &'static str),
    /// Where the words begin behind which there is no number.
    words: usize,
}

impl Behind {
    /// Puts words into a comment at the end of the line.
    fn comment(&self, words: &str) -> Edit {
        let (at, before, behind) = self.comment;
        Edit::insert(at, format!("{before}# {words}{behind}"))
    }

    /// Makes a comment of what is from here on, if there is no number in it.
    fn as_comment(&self, span: Span) -> Option<Edit> {
        (span.start >= self.words).then(|| Edit::insert(self.words, "# "))
    }
}

fn comment_place(source: &[u8], words: Span, line: &[u8]) -> (usize, &'static str, &'static str) {
    match words.len() < line.len() {
        true => (words.end, "", " "),
        false => (words.start + words.of(source).trim_ascii_end().len(), " ", ""),
    }
}

/// Where the last words of a line begin that are no numbers.
fn last_words(source: &[u8], line: Span) -> usize {
    let text = line.of(source);
    let (mut begin, mut end) = (text.len(), text.len());
    while end > 0 {
        let blank = text[..end].iter().rev().take_while(|byte| is_space(**byte)).count();
        end -= blank;
        let length = text[..end].iter().rev().take_while(|byte| !is_space(**byte)).count();
        let word = &text[end - length..end];
        if length == 0 || contains(word, b"rule-file-version") {
            break;
        }
        match classify(word) {
            Word::Text | Word::DigitsInText => begin = end - length,
            _ => break,
        }
        end -= length;
    }
    line.start + begin
}

/// Moves a version line to the beginning.
fn header_edits(source: &[u8], span: Span) -> Vec<Edit> {
    let text = span.of(source);
    let word = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Some(number) = word.strip_prefix(HEADER).and_then(decimal) else { return Vec::new() };
    let before = source[..span.start].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let behind = source[span.end..].iter().take_while(|byte| is_space(**byte) && **byte != b'\n').count();
    let (start, end) = (span.start - before, span.end + behind);
    let begins = start == 0 || source[start - 1] == b'\n';
    let line = match source.get(end) {
        Some(b'\n') if begins => Span::new(start, end + 1),
        _ => span,
    };
    vec![Edit::insert(0, format!("{}{number}\n", String::from_utf8_lossy(HEADER))), Edit::remove(line)]
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A text of any bytes, cut to what fits a line.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 32;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(4 * MOST)]).into_owned();
    let mut short: String = lossy.chars().take(MOST).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if lossy.chars().count() > MOST || text.len() > 4 * MOST {
        short.push('…');
    }
    short
}

/// The value of decimal digits; none where there are none. Saturates like C's.
fn decimal(digits: &[u8]) -> Option<u64> {
    let push = |value: u64, digit: &u8| value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| digits.iter().fold(0, push))
}

/// What a word is, given what Open MPI reads in it.
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
    let is_label = before.last().is_none_or(|last| matches!(last, b'=' | b':' | b',' | b'(' | b'[' | 0x80..));
    let closes = behind.iter().all(|byte| matches!(byte, b',' | b';' | b':' | b')' | b']' | b'.'));
    match (before, behind) {
        _ if one && is_label && closes => Word::Within(first, first + length, value),
        ([] | [b'+' | b'-'], _) => {
            let (value, certain) = meant(digits, behind);
            Word::Broken(value, certain && before != b"-")
        }
        _ => Word::DigitsInText,
    }
}

/// What is unusual about the only number of a word.
fn notation(text: &[u8]) -> &'static str {
    let digits = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    match digits {
        [b'0', b'x' | b'X', ..] => "hexadecimal",
        [b'0', _, ..] => "octal",
        _ => "a number with a sign",
    }
}

/// What is probably meant by digits and what sticks to them, and whether there is no doubt.
fn meant(digits: &[u8], behind: &[u8]) -> (u64, bool) {
    let value = decimal(digits).unwrap_or(0);
    let unit = |shift: u32| value.checked_mul(1 << shift);
    let certain = match &behind.to_ascii_lowercase()[..] {
        b"" => Some(value),
        b"k" | b"kb" | b"kib" => unit(10),
        b"m" | b"mb" | b"mib" => unit(20),
        b"g" | b"gb" | b"gib" => unit(30),
        [b'e', power @ ..] => {
            decimal(power).and_then(|power| value.checked_mul(10u64.checked_pow(u32::try_from(power).ok()?)?))
        }
        _ => None,
    };
    (certain.unwrap_or(value), certain.is_some())
}
