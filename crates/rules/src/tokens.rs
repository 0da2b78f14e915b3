//! Numbers and words as `ompi_coll_base_file_getnext_*` of Open MPI finds them: `fscanf` in a loop.

use crate::span::Span;

/// The line that enables the fifth column of classic files.
pub(crate) const HEADER: &[u8] = b"rule-file-version-";

/// Longer words are read in pieces.
const MOST_OF_A_WORD: usize = 32;

/// The numbers of a text, one after the other.
pub(crate) struct Tokens<'t> {
    bytes: &'t [u8],
    at: usize,
}

/// Returns true for the characters that `isspace` accepts in the C locale.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The number that a whole text is to C's `strtol`; base 0 depends on how the digits begin. An empty text is 0.
pub(crate) fn strtol(text: &[u8], base: u32) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let mut tokens = Tokens::new(text);
    Tokens::skip(&mut tokens, is_space);
    let value = if base > 0 { tokens.signed(base) } else { tokens.scan_number() };
    // Of `0x` alone C reads the zero.
    value.filter(|_| tokens.at == text.len() && !text.ends_with(b"x") && !text.ends_with(b"X"))
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips the bytes that pass.
    fn skip(&mut self, passes: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&passes) {
            self.at += 1;
        }
    }

    /// Reads the next byte if it is one of these.
    fn eat(&mut self, wanted: [u8; 2]) -> Option<u8> {
        let byte = self.peek().filter(|byte| wanted.contains(byte))?;
        self.at += 1;
        Some(byte)
    }

    /// Skips as much of a literal as the text has next, as `scanf` does; true if that was all of it.
    pub(crate) fn skip_prefix(&mut self, literal: &[u8]) -> bool {
        let rest = &self.bytes[self.at..];
        let common = rest.iter().zip(literal).take_while(|(byte, wanted)| byte == wanted).count();
        self.at += common;
        common == literal.len()
    }

    /// Returns true if the next byte that is neither a space nor a tab is a digit. Skips spaces and tabs.
    pub(crate) fn digit_follows(&mut self) -> bool {
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// One `fscanf("%d")`: decimal, truncated to a C `int`.
    pub(crate) fn scan_decimal(&mut self) -> Option<i64> {
        self.skip(is_space);
        self.signed(10).map(|value| i64::from(value as i32))
    }

    /// Digits, perhaps after a sign.
    fn signed(&mut self, base: u32) -> Option<i64> {
        let sign = self.eat(*b"+-");
        self.digits(base, sign, None)
    }

    /// One `ompi_coll_base_file_getnext_string`: `fscanf("%32s")`, except for comments.
    pub(crate) fn word(&mut self) -> Option<Span> {
        loop {
            self.skip(is_space);
            let start = self.at;
            let rest = &self.bytes[start..];
            let length = rest.iter().take(MOST_OF_A_WORD).take_while(|byte| !is_space(**byte)).count();
            if length == 0 {
                return None;
            }
            self.at += length;
            if rest[0] != b'#' {
                return Some(Span::new(start, self.at));
            }
            self.skip_line();
        }
    }

    /// One `ompi_coll_base_file_getnext_size_t`: `fscanf("%zu")`, decimal, with negative numbers wrapped around.
    pub(crate) fn size(&mut self) -> Option<(u64, Span)> {
        loop {
            self.skip(is_space);
            let start = self.at;
            let negative = self.eat(*b"+-") == Some(b'-');
            let digits = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                let push = |value: u64, digit: &u8| value.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
                let value = self.bytes[self.at..self.at + digits].iter().try_fold(0, push);
                self.at += digits;
                let value = value.map_or(u64::MAX, |value| if negative { value.wrapping_neg() } else { value });
                return Some((value, Span::new(start, self.at)));
            }
            self.skip_one()?;
        }
    }

    /// One `ompi_coll_base_file_peek_next_char_is`: reads the character if it is next, after blanks, line ends and
    /// comments; none at the end.
    pub(crate) fn take_if_next(&mut self, wanted: u8) -> Option<bool> {
        loop {
            match self.peek()? {
                b'#' => self.skip_line(),
                byte if byte == wanted => {
                    self.at += 1;
                    return Some(true);
                }
                b'\n' | b' ' | b'\t' => self.at += 1,
                _ => return Some(false),
            }
        }
    }

    /// The next number, as by one `ompi_coll_base_file_getnext_long`.
    pub(crate) fn number(&mut self) -> Option<(i64, Span)> {
        loop {
            self.skip(is_space);
            let start = self.at;
            if let Some(value) = self.scan_number() {
                return Some((value, Span::new(start, self.at)));
            }
            self.skip_one()?;
        }
    }

    fn skip_line(&mut self) {
        self.skip(|byte| byte != b'\n');
        self.at = self.bytes.len().min(self.at + 1);
    }

    /// Skips a character outside of numbers, with the rest of the line if it begins a comment.
    fn skip_one(&mut self) -> Option<()> {
        let skipped = self.peek()?;
        self.at += 1;
        if skipped == b'#' {
            self.skip(|byte| byte != b'\n');
        }
        Some(())
    }

    /// One `fscanf("%li")` without the blanks before it: octal after `0`, hexadecimal after `0x`, saturating.
    ///
    /// A sign without digits is consumed, since `scanf` can push back only one character. So is `0x` without digits,
    /// which the C library reads as 0 (glibc 2.36; the standard calls it a failure).
    fn scan_number(&mut self) -> Option<i64> {
        let sign = self.eat(*b"+-");
        if self.peek() != Some(b'0') {
            return self.digits(10, sign, None);
        }
        self.at += 1;
        let base = if self.eat(*b"xX").is_some() { 16 } else { 8 };
        self.digits(base, sign, Some(0))
    }

    /// Digits after what was read before; none if there are no digits at all.
    fn digits(&mut self, base: u32, sign: Option<u8>, before: Option<i64>) -> Option<i64> {
        let mut value = before;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(base)) {
            self.at += 1;
            // Downwards for negative numbers: their range is larger by one.
            let digit = if sign == Some(b'-') { -i64::from(digit) } else { i64::from(digit) };
            value = Some(value.unwrap_or(0).saturating_mul(base.into()).saturating_add(digit));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a C program with Open MPI's loop, compiled with glibc 2.36.
    const SEEN: [(&str, &[i64]); 36] = [
        ("100 # 7 8\n9", &[100, 9]),
        ("7#8", &[7]),
        ("= , : \r\t\u{feff}1", &[1]),
        ("x1 alg2", &[1, 2]),
        ("coll-7", &[-7]),
        ("+100", &[100]),
        ("0144", &[100]),
        ("0800", &[0, 800]),
        ("08", &[0, 8]),
        ("0x64 0X1f", &[100, 31]),
        ("1e3", &[1, 3]),
        ("1.5", &[1, 5]),
        ("1K", &[1]),
        ("99999999999999999999 1", &[i64::MAX, 1]),
        ("0x7fffffffffffffffff", &[i64::MAX]),
        ("0777777777777777777777777 1", &[i64::MAX, 1]),
        ("-99999999999999999999", &[i64::MIN]),
        ("-9223372036854775808", &[i64::MIN]),
        ("-0x10", &[-16]),
        ("0x", &[0]),
        ("0xg 5", &[0, 5]),
        ("0x-5", &[0, -5]),
        ("00x5", &[0, 5]),
        ("0x0x5", &[0, 5]),
        ("0x#7\n8", &[0, 8]),
        ("-0xg 1", &[0, 1]),
        ("0_1", &[0, 1]),
        ("--5", &[5]),
        ("- 5", &[5]),
        ("++5", &[5]),
        ("-+5 3", &[5, 3]),
        ("-#5\n6", &[6]),
        ("-\n#5\n6", &[6]),
        ("--#5\n 6", &[6]),
        ("5 -", &[5]),
        ("1\x0b2\x0c3\r4\x005", &[1, 2, 3, 4, 5]),
    ];

    fn numbers(mut tokens: Tokens<'_>) -> Vec<(i64, Span)> {
        std::iter::from_fn(|| tokens.number()).collect()
    }

    #[test]
    fn numbers_are_those_that_open_mpi_sees() {
        for (text, expected) in SEEN {
            let found: Vec<_> = numbers(Tokens::new(text.as_bytes())).into_iter().map(|(value, _)| value).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_know_their_places() {
        let text = "# 1\n2 3\r\n\n4# 5\n\t-0x6";
        let found = numbers(Tokens::new(text.as_bytes()));
        let places: Vec<_> =
            found.iter().map(|(_, span)| (span.line(text.as_bytes()), span.of(text.as_bytes()))).collect();
        assert_eq!(places, [(2, &b"2"[..]), (2, b"3"), (4, b"4"), (5, b"-0x6")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_skipped() {
        let found = numbers(Tokens::new(b"\xff1\x80\0 2\xc3#3\n4"));
        let found: Vec<_> = found.into_iter().map(|(value, _)| value).collect();
        assert_eq!(found, [1, 2, 4]);
    }

    // Expected values: a C program with the loops of Open MPI's reader, one operation after the other.
    #[test]
    fn words_sizes_and_characters_are_taken_as_open_mpi_takes_them() {
        let text = b"# a b\n#\nbcast 12 han\n  # why\n @simple x-3 -1 99999999999999999999 ] 0x10 # 5\n7";
        let mut tokens = Tokens::new(text);
        let word = |tokens: &mut Tokens<'_>| tokens.word().map(|span| span.of(text).to_vec());
        assert_eq!(word(&mut tokens), Some(b"bcast".to_vec()));
        assert_eq!(tokens.size().map(|(size, _)| size), Some(12));
        assert_eq!(word(&mut tokens), Some(b"han".to_vec()));
        assert_eq!(tokens.take_if_next(b'['), Some(false));
        assert_eq!(tokens.take_if_next(b'@'), Some(true));
        assert_eq!(word(&mut tokens), Some(b"simple".to_vec()));
        let sizes = [(); 3].map(|()| tokens.size().map(|(size, _)| size));
        assert_eq!(sizes, [Some(u64::MAX - 2), Some(u64::MAX), Some(u64::MAX)]);
        assert_eq!(tokens.take_if_next(b']'), Some(true));
        assert_eq!(tokens.size().map(|(size, _)| size), Some(0), "of 0x10 the x is left");
        assert_eq!(word(&mut tokens), Some(b"x10".to_vec()));
        assert_eq!(tokens.size().map(|(size, _)| size), Some(7));
        assert_eq!((tokens.take_if_next(b'['), tokens.size(), tokens.word()), (None, None, None));
        let mut long = Tokens::new(&[b'x'; 40]);
        assert_eq!([long.word(), long.word()].map(|span| span.map(Span::len)), [Some(32), Some(8)]);
    }

    #[test]
    fn a_header_is_a_literal_scan() {
        let scan = |text: &'static str| {
            let mut tokens = Tokens::new(text.as_bytes());
            let version = if tokens.skip_prefix(b"rule-file-version-") { tokens.scan_decimal() } else { None };
            (version, numbers(tokens).into_iter().map(|(value, _)| value).collect::<Vec<_>>())
        };
        assert_eq!(scan("rule-file-version-2\n7"), (Some(2), vec![7]));
        assert_eq!(scan("rule-file-version- \n 2 7"), (Some(2), vec![7]));
        assert_eq!(scan("rule-file-version-010 7"), (Some(10), vec![7]));
        assert_eq!(scan("rule-file-version-0x10"), (Some(0), vec![10]));
        assert_eq!(scan("rule-file-version--5 7"), (Some(-5), vec![7]));
        assert_eq!(scan("rule-file-version-x 7"), (None, vec![7]));
        assert_eq!(scan("rule-file-version-4294967298 7"), (Some(2), vec![7]));
        // The part that fits is gone, and with it the sign.
        assert_eq!(scan("rule-file-7"), (None, vec![7]));
        assert_eq!(scan(" rule-file-version-2"), (None, vec![-2]));
        assert_eq!(scan("rule-version-2"), (None, vec![-2]));
    }
}
