//! A parameter file of Open MPI with a block of collrules: adding it, finding it, and removing it without a trace.
//!
//! The last line that sets a parameter wins within a file: `ompi_info` of 4.1.4 and of 5.0.11 names it as the source.
//! So the block goes to the end. All other lines stay byte for byte, whatever their encoding.

use std::ops::Range;

/// The first line of the block.
pub const BEGIN: &str =
    "# >>> written by `collrules install`; `collrules install --undo` removes it, with --user from a user's file >>>";
/// Its last line.
pub const END: &str = "# <<< written by `collrules install` <<<";

/// Line in a block of a file that did not exist before.
const NO_FILE: &str = "# There was no such file before.";
/// Line in a block of a file that did not end in a line break.
const NO_BREAK: &str = "# The line above had no line break.";

/// A line that gives a parameter a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterLine {
    /// Its number, from 1.
    pub number: usize,
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: String,
    /// True if the line is in the block.
    pub ours: bool,
}

/// A block that cannot be distinguished from other lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} begins or ends a block of `collrules install` without its other end: mend or remove it by hand")]
pub struct Damaged {
    /// The line of the marker without its other end.
    pub line: usize,
}

/// All lines that give a parameter a value, as Open MPI reads the file.
pub fn lines(file: &[u8]) -> Result<Vec<ParameterLine>, Damaged> {
    let block = block(file)?.unwrap_or_default();
    let mut at = 0;
    let mut found = Vec::new();
    for (place, line) in split(file).enumerate() {
        let ours = block.contains(&at);
        at += line.len();
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        let is_comment = text.starts_with('#') || text.starts_with("//");
        let Some((name, value)) = text.split_once('=').filter(|_| !is_comment) else { continue };
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        found.push(ParameterLine { number: place + 1, name, value, ours });
    }
    Ok(found)
}

/// The file with a block of these lines at its end, replacing any earlier one. `None` means no file.
pub fn with_block(file: Option<&[u8]>, block: &[String]) -> Result<Vec<u8>, Damaged> {
    let before = match file {
        Some(file) => without_block(file)?,
        None => None,
    };
    let remark = match &before {
        None => Some(NO_FILE),
        Some(text) if !text.is_empty() && !text.ends_with(b"\n") => Some(NO_BREAK),
        Some(_) => None,
    };
    let mut text = before.unwrap_or_default();
    if remark == Some(NO_BREAK) {
        text.push(b'\n');
    }
    let lines = [BEGIN].into_iter().chain(remark).chain(block.iter().map(String::as_str)).chain([END]);
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

/// The file without the block, as it was before; none if there was no file, and nothing else was added since.
pub fn without_block(file: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    let Some(block) = block(file)? else { return Ok(Some(file.to_vec())) };
    let said = |remark: &str| split(&file[block.clone()]).nth(1).is_some_and(|line| is(line, remark));
    let (mut text, after) = (file[..block.start].to_vec(), &file[block.end..]);
    if said(NO_BREAK) && after.is_empty() {
        text.pop();
    }
    text.extend_from_slice(after);
    Ok((!text.is_empty() || !said(NO_FILE)).then_some(text))
}

/// Finds the range of bytes of the block.
fn block(file: &[u8]) -> Result<Option<Range<usize>>, Damaged> {
    let (mut at, mut open, mut found) = (0, None, None);
    for (place, line) in split(file).enumerate() {
        let begin = at;
        at += line.len();
        let damaged = Err(Damaged { line: place + 1 });
        match (is(line, BEGIN), is(line, END), open, &found) {
            (true, _, None, None) => open = Some((begin, place + 1)),
            (true, ..) | (_, true, None, _) => return damaged,
            (_, true, Some((begin, _)), _) => (open, found) = (None, Some(begin..at)),
            _ => {}
        }
    }
    match open {
        Some((_, line)) => Err(Damaged { line }),
        None => Ok(found),
    }
}

/// Lines with their breaks.
fn split(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split_inclusive(|byte| *byte == b'\n')
}

fn is(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii() == wanted.as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(file: Option<&str>, block: &[&str]) -> String {
        let block: Vec<String> = block.iter().map(|line| (*line).to_owned()).collect();
        String::from_utf8(with_block(file.map(str::as_bytes), &block).expect("whole")).expect("text")
    }

    #[test]
    fn a_block_goes_to_the_end_and_leaves_no_trace() {
        let text = put(Some("a = 1\nmtl = ^ofi"), &["x = 2"]);
        assert_eq!(text, format!("a = 1\nmtl = ^ofi\n{BEGIN}\n{NO_BREAK}\nx = 2\n{END}\n"));
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"a = 1\nmtl = ^ofi".to_vec())));
        assert_eq!(without_block(put(None, &["x = 2"]).as_bytes()), Ok(None));
        assert_eq!(without_block(put(Some(""), &["x = 2"]).as_bytes()), Ok(Some(Vec::new())));
        // A line was added behind it since: that stays, on a line of its own.
        let text = put(Some("a = 1"), &["x = 2"]) + "b = 3\n";
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"a = 1\nb = 3\n".to_vec())));
        let text = put(None, &["x = 2"]) + "b = 3\n";
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"b = 3\n".to_vec())));
    }

    #[test]
    fn lines_are_read_as_open_mpi_reads_them() {
        let text = format!("# a = 0\n a=1 # 2\n//b = 3\n{BEGIN}\na = 4\n{END}\nc =\n");
        let found = lines(text.as_bytes()).expect("whole");
        let shown: Vec<_> =
            found.iter().map(|line| (line.number, line.name.as_str(), line.value.as_str(), line.ours)).collect();
        assert_eq!(shown, [(2, "a", "1 # 2", false), (5, "a", "4", true), (7, "c", "", false)]);
    }

    #[test]
    fn half_a_block_is_nobodys() {
        for (text, line) in [
            (format!("a = 1\n{BEGIN}\nx = 2\n"), 2),
            (format!("{END}\n"), 1),
            (format!("{BEGIN}\n{BEGIN}\n{END}\n"), 2),
            (format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"), 3),
        ] {
            assert_eq!(without_block(text.as_bytes()), Err(Damaged { line }), "{text}");
            assert_eq!(with_block(Some(text.as_bytes()), &[]), Err(Damaged { line }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_there_comes_back(file in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))) {
            let block = ["x = 2".to_owned()];
            let once = with_block(file.as_deref(), &block).expect("whole");
            let twice = with_block(Some(&once), &block).expect("whole");
            prop_assert_eq!(&once, &twice);
            prop_assert_eq!(without_block(&twice).expect("whole"), file);
        }
    }
}
