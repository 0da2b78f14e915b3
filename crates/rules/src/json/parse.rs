//! Parsing a text to a tree, in one pass without recursion.

use std::borrow::Cow;

use super::value::{JsonDocument, JsonNode, ValueKind};
use crate::span::Span;

/// Syntax error that makes Open MPI read a text as a classic file instead of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct SyntaxError {
    /// Place at which it was noticed.
    pub span: Span,
    /// The fault.
    pub fault: SyntaxFault,
}

/// Fault in the syntax of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxFault {
    /// Something else in place of a value.
    #[error("a value was expected")]
    ExpectedValue,
    /// Two elements or members without a comma.
    #[error("a comma was expected")]
    ExpectedComma,
    /// A name without its colon.
    #[error("a colon was expected")]
    ExpectedColon,
    /// Something else in place of a member or the end of an object.
    #[error("a name in quotes or a closing brace was expected")]
    ExpectedMember,
    /// A slash: JSON has no comments.
    #[error("JSON has no comments")]
    Comment,
    /// A number such as `01`, `1.`, or `1e`.
    #[error("not a number that JSON knows")]
    BadNumber,
    /// A `\u` without four hexadecimal digits, or one half of a surrogate pair.
    #[error("an escape needs four hexadecimal digits, and a surrogate needs its other half")]
    BadEscape,
    /// A string that does not end, or contains a zero byte.
    #[error("the string does not end")]
    OpenString,
    /// The text ends inside an array or an object, or before any value.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Something after the value.
    #[error("nothing may follow the value")]
    Trailing,
}

struct Parser<'s> {
    bytes: &'s [u8],
    at: usize,
    nodes: Vec<JsonNode<'s>>,
    /// The open arrays and objects.
    open: Vec<usize>,
    /// The name of the next value.
    key: Option<(Span, Cow<'s, [u8]>)>,
    trailing_commas: Vec<Span>,
}

impl<'s> JsonDocument<'s> {
    /// Parses a text, in time and memory linear in its length, whatever its depth.
    pub fn parse(source: &'s [u8]) -> Result<Self, SyntaxError> {
        let at = if source.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut parser =
            Parser { bytes: source, at, nodes: Vec::new(), open: Vec::new(), key: None, trailing_commas: Vec::new() };
        parser.text()?;
        Ok(Self { nodes: parser.nodes, trailing_commas: parser.trailing_commas })
    }
}

impl<'s> Parser<'s> {
    /// The next byte; at the end 0, as for json-parser.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// An error at the next byte; a slash or the end have faults of their own.
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
            let (object, empty) = (self.nodes[*open].kind == ValueKind::Object, self.nodes.len() == open + 1);
            self.skip_blanks();
            if self.closes(object) {
                continue;
            }
            if !empty {
                if self.peek() != b',' {
                    return Err(self.wrong(SyntaxFault::ExpectedComma));
                }
                let comma = Span::new(self.at, self.at + 1);
                self.at += 1;
                self.skip_blanks();
                if self.closes(object) {
                    self.trailing_commas.push(comma);
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

    /// Closes the innermost array or object if its closing bracket is next.
    fn closes(&mut self, object: bool) -> bool {
        if self.peek() != if object { b'}' } else { b']' } {
            return false;
        }
        self.at += 1;
        if let Some(open) = self.open.pop() {
            self.nodes[open].span.end = self.at;
            self.nodes[open].after = self.nodes.len();
        }
        true
    }

    /// A name, its colon, and the blanks after it.
    fn name(&mut self) -> Result<(), SyntaxError> {
        if self.peek() != b'"' {
            return Err(self.wrong(SyntaxFault::ExpectedMember));
        }
        self.key = Some(self.string()?);
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
        let kind = match self.peek() {
            b'{' => self.opens(ValueKind::Object),
            b'[' => self.opens(ValueKind::Array),
            b'"' => ValueKind::String(self.string()?.1),
            b't' => self.word(b"true", ValueKind::Bool(true))?,
            b'f' => self.word(b"false", ValueKind::Bool(false))?,
            b'n' => self.word(b"null", ValueKind::Null)?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => return Err(self.wrong(SyntaxFault::ExpectedValue)),
        };
        let after = self.nodes.len() + 1;
        self.nodes.push(JsonNode { span: Span::new(start, self.at), key: self.key.take(), kind, after });
        Ok(())
    }

    fn opens(&mut self, kind: ValueKind<'s>) -> ValueKind<'s> {
        self.open.push(self.nodes.len());
        self.at += 1;
        kind
    }

    fn word(&mut self, word: &[u8], kind: ValueKind<'s>) -> Result<ValueKind<'s>, SyntaxError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.wrong(SyntaxFault::ExpectedValue));
        }
        self.at += word.len();
        Ok(kind)
    }

    /// A number. A minus sign alone is 0 to json-parser.
    fn number(&mut self) -> Result<ValueKind<'s>, SyntaxError> {
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
        Ok(integer.map_or(ValueKind::Float, |value| ValueKind::Integer(if negative { -value } else { value })))
    }

    /// Reads digits and counts them.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<(Span, Cow<'s, [u8]>), SyntaxError> {
        let start = self.at;
        self.at += 1;
        let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0);
        let run = |bytes: &[u8]| bytes.iter().take_while(|byte| plain(byte)).count();
        self.at += run(&self.bytes[self.at..]);
        let mut text = Cow::Borrowed(&self.bytes[start + 1..self.at]);
        loop {
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    let length = escape(&self.bytes[self.at..], text.to_mut()).map_err(|fault| SyntaxError {
                        span: Span::new(self.at, (self.at + 2).min(self.bytes.len())),
                        fault,
                    })?;
                    self.at += length;
                    let more = run(&self.bytes[self.at..]);
                    text.to_mut().extend_from_slice(&self.bytes[self.at..self.at + more]);
                    self.at += more;
                }
                _ => {
                    return Err(SyntaxError { span: Span::new(start, self.at), fault: SyntaxFault::OpenString });
                }
            }
        }
        self.at += 1;
        Ok((Span::new(start, self.at), text))
    }
}

/// Resolves an escape, and returns its length.
fn escape(escape: &[u8], text: &mut Vec<u8>) -> Result<usize, SyntaxFault> {
    let byte = match escape.get(1) {
        None | Some(0) => return Err(SyntaxFault::OpenString),
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => {
            let high = hex(escape.get(2..6))?;
            let (length, code) = if high & 0xf800 != 0xd800 {
                (6, high)
            } else if escape.get(6..8) == Some(b"\\u") {
                // Bits are joined, not added, and the second half is not looked at: json-parser's arithmetic.
                (12, 0x1_0000 | (high & 0x3ff) << 10 | hex(escape.get(8..12))? & 0x3ff)
            } else {
                return Err(SyntaxFault::BadEscape);
            };
            let char = char::from_u32(code).ok_or(SyntaxFault::BadEscape)?;
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(length);
        }
        Some(byte) => *byte,
    };
    text.push(byte);
    Ok(2)
}

fn hex(digits: Option<&[u8]>) -> Result<u32, SyntaxFault> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let join = |value, byte| Some(value << 4 | digit(byte)?);
    digits.and_then(|digits| digits.iter().try_fold(0, join)).ok_or(SyntaxFault::BadEscape)
}
