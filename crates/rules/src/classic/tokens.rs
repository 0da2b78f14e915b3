//! Numbers as Open MPI's `ompi_coll_base_file_getnext_long` finds them: `fscanf("%li")` in a loop.

/// A number and the line that it is on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: i64,
    pub(super) line: usize,
}

/// The numbers of a text, one after the other.
pub(super) struct Tokens<'t> {
    bytes: &'t [u8],
    at: usize,
    line: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, line: 1 }
    }

    /// The line that the next character is on.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes the next character.
    fn bump(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    /// Takes the next character if it is one of these.
    fn eat(&mut self, wanted: &[u8]) -> Option<u8> {
        if wanted.contains(&self.peek()?) { self.bump() } else { None }
    }

    /// One `fscanf("%li")`: octal after `0`, hexadecimal after `0x`, saturating.
    ///
    /// A sign without digits stays consumed, as `scanf` can push back one character only. So does the `0x` without
    /// digits, which the C library takes for 0 (glibc 2.36; the standard calls it a failure).
    pub(super) fn scan_number(&mut self) -> Option<i64> {
        // What `isspace` takes in the C locale.
        while self.eat(b" \t\n\x0b\x0c\r").is_some() {}
        let sign = self.eat(b"+-");
        let zero = self.eat(b"0").is_some();
        let base = if !zero {
            10
        } else if self.eat(b"xX").is_some() {
            16
        } else {
            8
        };
        let mut magnitude = zero.then_some(0i64);
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(base)) {
            self.at += 1;
            let digit = i64::from(digit);
            // Downwards for negative numbers: their range is larger by one.
            let digit = if sign == Some(b'-') { -digit } else { digit };
            magnitude = Some(magnitude.unwrap_or(0).saturating_mul(i64::from(base)).saturating_add(digit));
        }
        magnitude
    }
}

impl Iterator for Tokens<'_> {
    type Item = Number;

    fn next(&mut self) -> Option<Number> {
        loop {
            if let Some(value) = self.scan_number() {
                // A number has no line break in it or looked at behind it.
                return Some(Number { value, line: self.line });
            }
            if self.bump()? == b'#' {
                while self.bump()? != b'\n' {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a C program with the loop of Open MPI printed, compiled with glibc 2.36.
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

    #[test]
    fn numbers_are_those_that_open_mpi_sees() {
        for (text, numbers) in SEEN {
            let found: Vec<_> = Tokens::new(text).map(|number| number.value).collect();
            assert_eq!(found, numbers, "{text:?}");
        }
    }

    #[test]
    fn numbers_know_their_lines() {
        let lines: Vec<_> = Tokens::new("# 1\n2 3\r\n\n4# 5\n\t6").map(|number| number.line).collect();
        assert_eq!(lines, [2, 2, 4, 5]);
    }
}
