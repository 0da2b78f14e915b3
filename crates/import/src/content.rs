//! Contents of files: unpacked, whole lines of text, as a terminal shows them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::LazyLock;

use collrules_record::rundir::read_at_most;
use flate2::read::MultiGzDecoder;
use regex::Regex;

use crate::finding::{Finding, FindingCode, ImportError};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The largest size of a file, and of its uncompressed content: 256 MiB. The largest published tables have less than 1
/// MB.
pub const MOST_BYTES: u64 = 256 << 20;

/// The path of standard input.
pub(super) const STDIN: &str = "-";

/// Reads a file, or standard input for `-`, of at most [`MOST_BYTES`]. Refuses devices and named pipes, which may never
/// end; unnamed pipes, such as a shell's `<(zcat ...)`, are read.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        return read_at_most(io::stdin().lock(), MOST_BYTES);
    }
    let kind = fs::metadata(path)?.file_type();
    let is_named_pipe = kind.is_fifo() && fs::canonicalize(path).is_ok();
    if !kind.is_file() && (!kind.is_fifo() || is_named_pipe) {
        return Err(io::Error::other("it is not a regular file"));
    }
    read_at_most(File::open(path)?, MOST_BYTES)
}

/// Text of a file: unpacked, in lines, and without a byte order mark; with findings about a prefix of all lines, and about a
/// last line that is cut off.
pub(super) fn decode(bytes: &[u8]) -> Result<(String, Vec<Finding>), ImportError> {
    let unpacked = if bytes.starts_with(&GZIP_MAGIC) {
        read_at_most(MultiGzDecoder::new(bytes), MOST_BYTES).map_err(ImportError::Gzip)?
    } else {
        bytes.to_vec()
    };
    // Names and warnings may be in any encoding; numbers are ASCII.
    let text = from_utf16(&unpacked).unwrap_or_else(|| String::from_utf8_lossy(&unpacked).into_owned());
    if text.contains('\0') {
        return Err(ImportError::NotText);
    }
    let mut text = plain(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text));
    let mut findings = Vec::new();
    // The file may have been cut off within a line without an end, and `70` may have been `7000`.
    if let Some((whole, rest)) = text.rsplit_once('\n').filter(|(_, rest)| !rest.trim().is_empty()) {
        let what = "the last line has no line end, so that its values may be cut off; end it if it is complete";
        findings.push(Finding::new(FindingCode::BadRow, what).at(whole.split('\n').count() as u64 + 1));
        text.truncate(text.len() - rest.len());
    }
    if let Some((prefix, stripped)) = without_prefix(&text) {
        let what = format!("every line begins with a prefix such as `{prefix}`, which is not read");
        findings.push(Finding::new(FindingCode::StrayLines, what));
        text = stripped;
    }
    Ok((text, findings))
}

/// The text in UTF-8, if it begins with a byte order mark of UTF-16, as spreadsheets write it.
fn from_utf16(bytes: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2)? {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

/// A text without colours. Lines of old systems end with a carriage return.
fn plain(text: &str) -> String {
    static COLOUR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("\x1b\\[[0-9;?]*[A-Za-z]").expect("an expression that a test compiles"));
    let plain = COLOUR.replace_all(text, "");
    if plain.contains('\n') { plain.into_owned() } else { plain.replace('\r', "\n") }
}

/// A prefix that all lines have, such as `[1,0]<stdout>:`, `0: `, a time or `> `, as it is on the first line, and the text
/// without it. Prefixes may differ in their digits. They are recognized in front of the first `#`.
fn without_prefix(text: &str) -> Option<(&str, String)> {
    let (prefix, _) = text.lines().find_map(|line| line.split_once('#'))?;
    let form = regex::escape(prefix.trim_end()).replace(|sign: char| sign.is_ascii_digit(), "[0-9]");
    let form = Regex::new(&format!(r"^(?:{form}|\s*$)")).ok().filter(|_| !form.is_empty())?;
    let is_whole = text.lines().all(|line| form.is_match(line));
    is_whole.then(|| (prefix.trim(), text.lines().map(|line| form.replace(line, "").into_owned() + "\n").collect()))
}
