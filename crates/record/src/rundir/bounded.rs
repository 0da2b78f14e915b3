//! Reading files that should be small, without filling the memory with one that is not.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest file that is read whole, but for samples: findings of ten thousand cells take 30 MB.
const MOST_BYTES: u64 = 256 << 20;

/// What a file holds; an error where that is more than any file of its kind.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MOST_BYTES)
}

/// The same of text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_whole(path)?).map_err(|cause| io::Error::new(io::ErrorKind::InvalidData, cause.utf8_error()))
}

fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
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
        std::fs::write(&path, "12345")?;
        assert_eq!(read_up_to(&path, 5)?, b"12345");
        let error = read_up_to(&path, 4).expect_err("one byte too many");
        assert!(error.to_string().contains("more than 0 MiB"), "{error}");
        std::fs::write(&path, b"\xff")?;
        assert_eq!(read_text(&path).expect_err("no UTF-8").kind(), io::ErrorKind::InvalidData);
        Ok(())
    }
}
