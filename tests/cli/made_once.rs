//! Runs that several tests begin with: simulated once per process, copied for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::agreement::contradictions;
use crate::support::collrules;

/// A run directory in memory: a test process has no end at which a directory on disk would be removed.
pub(crate) struct MadeOnce {
    arguments: &'static str,
    files: OnceLock<Vec<(PathBuf, Vec<u8>)>>,
}

/// Rules for three collectives, validated.
pub(crate) static TUNED: MadeOnce =
    MadeOnce::new("tune --simulate --np 2,4,8 --ops bcast,scatter,barrier --refine 1 --out");

/// Rules that lose from 256 KiB on, as fresh launches will show.
pub(crate) static DECEIVED: MadeOnce =
    MadeOnce::new("tune --simulate=deceptive --np 8 --ops bcast --no-validate --out");

impl MadeOnce {
    const fn new(arguments: &'static str) -> Self {
        Self { arguments, files: OnceLock::new() }
    }

    /// A copy at this place.
    pub(crate) fn at(&self, out: &Path) {
        let files = self.files.get_or_init(|| {
            let scratch = tempfile::tempdir().unwrap();
            let run = scratch.path().join("run");
            collrules(self.arguments, &run).exits(0);
            assert_eq!(contradictions(&run), [""; 0]);
            let mut files = Vec::new();
            read(&run, Path::new(""), &mut files);
            files
        });
        for (name, content) in files {
            let place = out.join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, content).unwrap();
        }
    }
}

fn read(directory: &Path, name: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = name.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => read(&entry.path(), &name, files),
            false => files.push((name, fs::read(entry.path()).unwrap())),
        }
    }
}
