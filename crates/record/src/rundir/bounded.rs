//! Reading files that should be small, without filling the memory if one is not.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::error::RunDirError;

/// The largest file that is read whole, except samples: findings of ten thousand cells take 30 MB.
const MOST_BYTES: u64 = 256 << 20;

/// Reads a file; fails if it is larger than any file of its kind.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MOST_BYTES)
}

/// Reads a file by this function; none if there is no file.
pub(super) fn read_if_there<T>(path: &Path, read: fn(&Path) -> io::Result<T>) -> Result<Option<T>, RunDirError> {
    match read(path) {
        Ok(content) => Ok(Some(content)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(RunDirError::Read { path: path.to_owned(), cause: cause.to_string() }),
    }
}

/// Reads a text file; fails if it is larger than any file of its kind, or not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_whole(path)?).map_err(|cause| io::Error::new(io::ErrorKind::InvalidData, cause.utf8_error()))
}

/// Reads samples, which may be large, but not too large for the memory of this host: analysis takes about twice their
/// size, a resumed campaign three times.
pub(super) fn read_samples(path: &Path) -> io::Result<Vec<u8>> {
    read_samples_within(path, available_memory().map(|left| left / 3))
}

fn read_samples_within(path: &Path, most: Option<u64>) -> io::Result<Vec<u8>> {
    let (mut file, most) = (File::open(path)?, most.unwrap_or(u64::MAX - 1));
    let mut bytes = Vec::new();
    // What has no length, such as a pipe, is read as far as allowed.
    if file.metadata()?.len() <= most {
        file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
    }
    let why = format!(
        "it has more than {} MiB, and reading it takes three times its size of memory, which this host does not have \
         left; use a host with more",
        most >> 20
    );
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// Bytes of memory that Linux gives without swapping; none if unknown.
pub fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, most)
}

/// Reads to the end; an error of the kind [`io::ErrorKind::FileTooLarge`] if there are more bytes.
pub fn read_at_most(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {} MiB, which no file of this kind needs", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_is_allowed() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("file");
        fs::write(&path, "12345")?;
        assert_eq!(read_up_to(&path, 5)?, b"12345");
        let error = read_up_to(&path, 4).expect_err("one byte too many");
        assert!(error.to_string().contains("more than 0 MiB"), "{error}");
        assert_eq!(read_samples_within(&path, Some(5))?, b"12345");
        assert_eq!(read_samples_within(&path, None)?, b"12345");
        let error = read_samples_within(&path, Some(4)).expect_err("one byte too many");
        assert!(error.to_string().contains("three times its size"), "{error}");
        fs::write(&path, b"\xff")?;
        assert_eq!(read_text(&path).expect_err("no UTF-8").kind(), io::ErrorKind::InvalidData);
        Ok(())
    }
}
