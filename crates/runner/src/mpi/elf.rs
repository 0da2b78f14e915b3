//! Libraries that programs need, from their ELF headers (64 bits, little endian).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Kinds of program headers.
const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERPRETER: u64 = 3;

/// Kinds of entries in the dynamic section.
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;

/// Largest length of a header or a library name.
const MOST: usize = 65536;

/// An ELF file with its program headers.
struct Elf {
    file: File,
    headers: Vec<ElfSegment>,
}

struct ElfSegment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

impl Elf {
    /// An ELF file that is a program, or a library; none if it is anything else or broken.
    fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut begin = [0; 64];
        file.read_exact_at(&mut begin, 0).ok()?;
        if !begin.starts_with(b"\x7fELF\x02\x01") || !matches!(begin[16], 2 | 3) {
            return None;
        }
        let (first, size, count) = (number(&begin, 32, 8)?, number(&begin, 54, 2)?, number(&begin, 56, 2)?);
        let read = |place: u64| {
            let mut header = [0; 56];
            file.read_exact_at(&mut header, first.checked_add(place * size)?).ok()?;
            Some(ElfSegment {
                kind: number(&header, 0, 4)?,
                offset: number(&header, 8, 8)?,
                address: number(&header, 16, 8)?,
                size: number(&header, 32, 8)?,
            })
        };
        let headers = (0..count).map(read).collect::<Option<Vec<_>>>()?;
        Some(Self { file, headers })
    }

    /// Libraries that it requires.
    fn needed(&self) -> Option<Vec<String>> {
        let section = self.headers.iter().find(|header| header.kind == DYNAMIC)?;
        let mut bytes = vec![0; usize::try_from(section.size).ok().filter(|size| *size <= MOST)?];
        self.file.read_exact_at(&mut bytes, section.offset).ok()?;
        let entries = || bytes.chunks_exact(16).filter_map(|entry| Some((number(entry, 0, 8)?, number(entry, 8, 8)?)));
        let (_, address) = entries().find(|(kind, _)| *kind == STRINGS)?;
        let inside = |header: &&ElfSegment| {
            let end = header.address.checked_add(header.size);
            header.kind == LOAD && header.address <= address && end.is_some_and(|end| address < end)
        };
        let segment = self.headers.iter().find(inside)?;
        let strings = segment.offset.checked_add(address - segment.address)?;
        let names = entries().filter(|(kind, _)| *kind == NEEDED);
        Some(names.filter_map(|(_, place)| self.text(strings.checked_add(place)?)).collect())
    }

    fn text(&self, place: u64) -> Option<String> {
        let mut bytes = [0; 256];
        let read = self.file.read_at(&mut bytes, place).ok()?;
        let end = bytes[..read].iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at + size)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Returns true if a file is a program without a loader, so that nothing can be preloaded.
pub(super) fn is_static(file: &Path) -> bool {
    Elf::open(file).is_some_and(|elf| elf.headers.iter().all(|header| header.kind != INTERPRETER))
}

/// The MPI library that a program is linked with, such as `libmpi.so.40`; none if there is none, or the file cannot be read.
pub fn mpi_library(file: &Path) -> Option<String> {
    let needed = Elf::open(file)?.needed()?;
    needed.into_iter().find(|library| library.starts_with(MPI_LIBRARY))
}

/// Beginning of the names of MPI libraries; a number follows that changes with the binary interface.
pub(super) const MPI_LIBRARY: &str = "libmpi.so.";

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs;

    use super::*;

    #[test]
    fn programs_with_a_loader_are_not_static() {
        assert!(!is_static(&env::current_exe().expect("this test")));
        assert!(!is_static(Path::new("/etc/hostname")) && !is_static(Path::new("/nonexistent")));
    }

    #[test]
    fn libraries_of_a_program_are_read_and_broken_files_have_none() {
        let own = env::current_exe().expect("this test");
        let needed = Elf::open(&own).expect("a program").needed().expect("dynamic");
        assert!(needed.iter().any(|library| library.starts_with("libc.so.")), "{needed:?}");
        assert_eq!(mpi_library(&own), None, "this crate links no MPI");
        // Cut off or overwritten anywhere in its headers, it is refused or read, without a panic.
        let whole = fs::read(&own).expect("reads");
        let directory = tempfile::tempdir().expect("a directory");
        let broken = directory.path().join("broken");
        for place in (0..1024).step_by(7) {
            let mut bytes = whole[..whole.len().min(65536)].to_vec();
            bytes[place..place + 8].fill(0xff);
            fs::write(&broken, &bytes).expect("writes");
            let _ = mpi_library(&broken);
            fs::write(&broken, &whole[..place]).expect("writes");
            assert_eq!(mpi_library(&broken), None);
        }
    }
}
