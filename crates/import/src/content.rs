//! Contents of files: unpacked, without a byte order mark, and whole lines only.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::MultiGzDecoder;
use regex::Regex;

use crate::error::ImportError;
use crate::finding::{Finding, FindingCode};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The largest size of a file, and of its uncompressed content: 256 MiB. The largest published tables have less than 1
/// MB.
pub const MOST_BYTES: u64 = 256 << 20;

/// The path that stands for standard input.
pub(super) const STDIN: &str = "-";

/// Reads a file, or standard input for `-`, of at most [`MOST_BYTES`]. Refuses devices and named pipes, which may never
/// end; unnamed pipes, such as a shell's `<(zcat ...)`, are read.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new(STDIN) {
        limited(io::stdin().lock(), &mut bytes)?;
        return Ok(bytes);
    }
    let kind = fs::metadata(path)?.file_type();
    let is_named_pipe = kind.is_fifo() && fs::canonicalize(path).is_ok();
    if !kind.is_file() && (!kind.is_fifo() || is_named_pipe) {
        return Err(io::Error::other("it is not a regular file"));
    }
    limited(File::open(path)?, &mut bytes)?;
    Ok(bytes)
}

/// The text of a file: unpacked, without a byte order mark.
pub(super) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let mut text = Vec::new();
    if bytes.starts_with(&GZIP_MAGIC) {
        limited(MultiGzDecoder::new(bytes), &mut text).map_err(|cause| match cause.kind() {
            io::ErrorKind::FileTooLarge => ImportError::Read(cause),
            _ => ImportError::Gzip(cause),
        })?;
    } else {
        text.extend_from_slice(bytes);
    }
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

/// Reads to the end; an error if there are more than [`MOST_BYTES`].
pub(super) fn limited(reader: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    reader.take(MOST_BYTES + 1).read_to_end(bytes)?;
    if bytes.len() as u64 <= MOST_BYTES {
        return Ok(());
    }
    let why = format!("it has more than {} MiB when it is unpacked; split it", MOST_BYTES >> 20);
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// A text as a terminal shows it: without colours, and of lines that were overwritten the last text.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    static COLOUR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("\x1b\\[[0-9;?]*[A-Za-z]").expect("an expression that a test compiles"));
    let text = COLOUR.replace_all(text, "");
    if !text.contains('\r') {
        return text;
    }
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
    let lines = text.split('\n').map(last);
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// A text without a prefix that all of its lines have, such as `[1,0]<stdout>:`, `0: `, a time or `> `, and the first
/// line's prefix. Prefixes may differ in their digits. They are recognized in front of the first `#`.
pub(super) fn without_prefix(text: &str) -> (Option<String>, Cow<'_, str>) {
    let found = text.lines().find_map(|line| line.split_once('#')).map(|(prefix, _)| prefix);
    let Some(prefix) = found.filter(|prefix| !prefix.trim().is_empty()) else { return (None, Cow::Borrowed(text)) };
    let shape =
        |text: &str| text.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect::<String>();
    let own = shape(prefix.trim_end());
    let rest =
        |line: &str| line.get(..own.len()).filter(|begin| shape(begin) == own).map(|_| line[own.len()..].to_owned());
    let stripped: Option<Vec<String>> =
        text.lines().map(|line| if line.trim().is_empty() { Some(String::new()) } else { rest(line) }).collect();
    match stripped {
        Some(lines) => (Some(prefix.trim().to_owned()), Cow::Owned(lines.join("\n") + "\n")),
        None => (None, Cow::Borrowed(text)),
    }
}

/// Cuts off a last line that has no line end: the file may have been cut off within it, and `70` may have been `7000`.
/// Returns a finding about it. A text of one line is left as it is.
pub(super) fn cut_unfinished(text: &mut Vec<u8>) -> Option<Finding> {
    let end = text.iter().rposition(|byte| *byte == b'\n')? + 1;
    let is_finished = text[end..].trim_ascii().is_empty();
    text.truncate(end);
    let line = text.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let what = "the last line has no line end, so that its values may be cut off; end it if it is complete";
    (!is_finished).then(|| Finding::new(FindingCode::BadRow, what).at(line))
}
