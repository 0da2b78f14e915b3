//! From text to tree, in one pass without recursion.

use super::value::{Data, Document, NONE, Node, Text};
use crate::span::Span;

/// Why a text is no JSON to Open MPI, which then reads it as a classic file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct SyntaxError {
    /// Where it was noticed.
    pub span: Span,
    /// What is wrong.
    pub fault: SyntaxFault,
}

/// What is wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxFault {
    /// Something else where a value must stand.
    #[error("a value was expected")]
    ExpectedValue,
    /// Two elements or members without a comma.
    #[error("a comma was expected")]
    ExpectedComma,
    /// A name without its colon.
    #[error("a colon was expected")]
    ExpectedColon,
    /// Something else where a member or the end of an object must stand.
    #[error("a name in quotes or a closing brace was expected")]
    ExpectedMember,
    /// A slash: JSON has no comments.
    #[error("JSON has no comments")]
    Comment,
    /// A number such as `01`, `1.`, or `1e`.
    #[error("not a number that JSON knows")]
    BadNumber,
    /// A `\u` without four hexadecimal digits, or half a pair of them.
    #[error("an escape needs four hexadecimal digits, and a surrogate needs its other half")]
    BadEscape,
    /// A string that does not end, or has a zero byte in it.
    #[error("the string does not end")]
    OpenString,
    /// The text ends inside an array or an object, or before any value.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Something behind the value.
    #[error("nothing may follow the value")]
    Trailing,
    /// More than 4 GiB.
    #[error("the text is too long")]
    TooLong,
}

/// An array or object that is still open.
struct Open {
    node: u32,
    last: u32,
    object: bool,
}

struct Parser<'s> {
    bytes: &'s [u8],
    at: usize,
    document: Document<'s>,
    open: Vec<Open>,
    /// The name of the value to come.
    key: u32,
}

impl<'s> Document<'s> {
    /// Parses a text, in time and memory linear in its length, whatever its depth.
    pub fn parse(source: &'s [u8]) -> Result<Self, SyntaxError> {
        if u32::try_from(source.len()).is_err() {
            return Err(SyntaxError { span: Span::at(0), fault: SyntaxFault::TooLong });
        }
        let document = Document { source, nodes: Vec::new(), keys: Vec::new(), unescaped: Vec::new() };
        let at = if source.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut parser = Parser { bytes: source, at, document, open: Vec::new(), key: NONE };
        parser.text()?;
        Ok(parser.document)
    }
}

impl Parser<'_> {
    /// The next byte; at the end 0, as json-parser sees it.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// An error at the next byte, which explains itself where it is a slash or the end.
    fn wrong(&self, fault: SyntaxFault) -> SyntaxError {
        if self.at >= self.bytes.len() {
            return SyntaxError { span: Span::at(self.bytes.len()), fault: SyntaxFault::UnexpectedEnd };
        }
        let fault = if self.peek() == b'/' { SyntaxFault::Comment } else { fault };
        SyntaxError { span: Span::new(self.at, self.at + 1), fault }
    }

    fn text(&mut self) -> Result<(), SyntaxError> {
        self.skip_blanks();
        self.value()?;
        while let Some(open) = self.open.last() {
            let (object, empty) = (open.object, open.last == NONE);
            self.skip_blanks();
            if self.closes(object) {
                continue;
            }
            if !empty {
                if self.peek() != b',' {
                    return Err(self.wrong(SyntaxFault::ExpectedComma));
                }
                self.at += 1;
                self.skip_blanks();
                if self.closes(object) {
                    continue;
                }
            }
            if object {
                self.name()?;
            }
            self.value()?;
        }
        self.skip_blanks();
        // A zero byte ends the text: json-parser looks no further.
        if self.peek() == 0 { Ok(()) } else { Err(self.wrong(SyntaxFault::Trailing)) }
    }

    /// Closes the innermost array or object if its bracket comes next.
    fn closes(&mut self, object: bool) -> bool {
        if self.peek() != if object { b'}' } else { b']' } {
            return false;
        }
        self.at += 1;
        if let Some(open) = self.open.pop() {
            self.document.nodes[open.node as usize].end = self.at as u32;
        }
        true
    }

    /// A name, its colon, and the blanks behind it.
    fn name(&mut self) -> Result<(), SyntaxError> {
        if self.peek() != b'"' {
            return Err(self.wrong(SyntaxFault::ExpectedMember));
        }
        let text = self.string()?;
        self.key = self.document.keys.len() as u32;
        self.document.keys.push(text);
        self.skip_blanks();
        if self.peek() != b':' {
            return Err(self.wrong(SyntaxFault::ExpectedColon));
        }
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }

    fn value(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let data = match self.peek() {
            b'{' => return self.opens(Data::Object(NONE, 0), true),
            b'[' => return self.opens(Data::Array(NONE, 0), false),
            b'"' => Data::String(self.string()?.unescaped),
            b't' => self.word(b"true", Data::Bool(true))?,
            b'f' => self.word(b"false", Data::Bool(false))?,
            b'n' => self.word(b"null", Data::Null)?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => return Err(self.wrong(SyntaxFault::ExpectedValue)),
        };
        self.add(start, data);
        Ok(())
    }

    fn opens(&mut self, data: Data, object: bool) -> Result<(), SyntaxError> {
        let node = self.add(self.at, data);
        self.at += 1;
        self.open.push(Open { node, last: NONE, object });
        Ok(())
    }

    /// Adds a value that ends here to what is open.
    fn add(&mut self, start: usize, data: Data) -> u32 {
        let nodes = &mut self.document.nodes;
        let place = nodes.len() as u32;
        let key = std::mem::replace(&mut self.key, NONE);
        nodes.push(Node { start: start as u32, end: self.at as u32, next: NONE, key, data });
        if let Some(open) = self.open.last_mut() {
            if let Data::Array(first, count) | Data::Object(first, count) = &mut nodes[open.node as usize].data {
                *count += 1;
                if open.last == NONE {
                    *first = place;
                }
            }
            if open.last != NONE {
                nodes[open.last as usize].next = place;
            }
            open.last = place;
        }
        place
    }

    fn word(&mut self, word: &[u8], data: Data) -> Result<Data, SyntaxError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.wrong(SyntaxFault::ExpectedValue));
        }
        self.at += word.len();
        Ok(data)
    }

    /// A number. A minus sign alone is 0 to json-parser.
    fn number(&mut self) -> Result<Data, SyntaxError> {
        let start = self.at;
        let bad = |parser: &Self| SyntaxError {
            span: Span::new(start, (parser.at + 1).min(parser.bytes.len())),
            fault: SyntaxFault::BadNumber,
        };
        let negative = self.peek() == b'-';
        self.at += usize::from(negative);
        let mut integer = Some(0i64);
        let first = self.at;
        while let digit @ b'0'..=b'9' = self.peek() {
            if self.at > first && self.bytes[first] == b'0' {
                return Err(bad(self));
            }
            let digit = i64::from(digit - b'0');
            integer = integer.and_then(|value| value.checked_mul(10)).and_then(|value| value.checked_add(digit));
            self.at += 1;
        }
        let digits = self.at > first;
        // A number too large for an integer has become a float already, and those have one point at most.
        if self.peek() == b'.' && integer.is_some() {
            self.at += 1;
            if !digits || self.digits() == 0 {
                return Err(bad(self));
            }
            integer = None;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(bad(self));
            }
            integer = None;
        }
        Ok(integer.map_or(Data::Float, |value| Data::Integer(if negative { -value } else { value })))
    }

    /// Takes digits and counts them.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<Text, SyntaxError> {
        let start = self.at;
        self.at += 1;
        let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0);
        let run = |bytes: &[u8]| bytes.iter().take_while(|byte| plain(byte)).count();
        self.at += run(&self.bytes[self.at..]);
        let mut unescaped: Option<Vec<u8>> = None;
        loop {
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    let text = unescaped.get_or_insert_with(|| self.bytes[start + 1..self.at].to_vec());
                    let (length, bytes) = escape(&self.bytes[self.at..]).map_err(|fault| SyntaxError {
                        span: Span::new(self.at, (self.at + 2).min(self.bytes.len())),
                        fault,
                    })?;
                    self.at += length;
                    text.extend_from_slice(&bytes.0[..bytes.1]);
                    let more = run(&self.bytes[self.at..]);
                    text.extend_from_slice(&self.bytes[self.at..self.at + more]);
                    self.at += more;
                }
                _ => {
                    return Err(SyntaxError { span: Span::new(start, self.at), fault: SyntaxFault::OpenString });
                }
            }
        }
        self.at += 1;
        let unescaped = unescaped.map_or(NONE, |text| {
            self.document.unescaped.push(text.into_boxed_slice());
            self.document.unescaped.len() as u32 - 1
        });
        Ok(Text { start: start as u32, end: self.at as u32, unescaped })
    }
}

/// How long an escape is, and the bytes that it stands for with their number.
fn escape(text: &[u8]) -> Result<(usize, ([u8; 4], usize)), SyntaxFault> {
    let one = |byte| Ok((2, ([byte, 0, 0, 0], 1)));
    match text.get(1) {
        None | Some(0) => Err(SyntaxFault::OpenString),
        Some(b'b') => one(8),
        Some(b'f') => one(12),
        Some(b'n') => one(b'\n'),
        Some(b'r') => one(b'\r'),
        Some(b't') => one(b'\t'),
        Some(b'u') => {
            let high = hex(text.get(2..6))?;
            if high & 0xf800 != 0xd800 {
                return Ok((6, utf8(high)));
            }
            if text.get(6..8) != Some(b"\\u") {
                return Err(SyntaxFault::BadEscape);
            }
            let low = hex(text.get(8..12))?;
            // Bits are joined, not added, and the second half is not looked at: json-parser's arithmetic.
            Ok((12, utf8(0x1_0000 | (high & 0x3ff) << 10 | low & 0x3ff)))
        }
        Some(&byte) => one(byte),
    }
}

fn hex(digits: Option<&[u8]>) -> Result<u32, SyntaxFault> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let join = |value, byte| Some(value << 4 | digit(byte)?);
    digits.and_then(|digits| digits.iter().try_fold(0, join)).ok_or(SyntaxFault::BadEscape)
}

/// The bytes of a code point and their number. It is below 2^21, but surrogates may be among them.
fn utf8(code: u32) -> ([u8; 4], usize) {
    let tail = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
    match code {
        0..0x80 => ([code as u8, 0, 0, 0], 1),
        0x80..0x800 => ([0xc0 | (code >> 6) as u8, tail(0), 0, 0], 2),
        0x800..0x1_0000 => ([0xe0 | (code >> 12) as u8, tail(6), tail(0), 0], 3),
        _ => ([0xf0 | (code >> 18) as u8, tail(12), tail(6), tail(0)], 4),
    }
}
