//! Importing from memory.

use std::path::{Path, PathBuf};

use collrules_import::{FindingCode, Import, ImportError, Importer, Options};
use collrules_rules::Release;

pub(crate) fn options() -> Options {
    Options::new(Release::V5_0)
}

/// Imports files given by path and content.
pub(crate) fn import_with(options: Options, files: &[(&str, &[u8])]) -> Result<Import, ImportError> {
    let mut importer = Importer::new(options);
    for (path, bytes) in files {
        let parts: Vec<&str> = path.split('/').collect();
        importer.add(path, &parts, bytes);
    }
    importer.finish()
}

pub(crate) fn import(path: &str, text: impl AsRef<[u8]>) -> Import {
    import_with(options(), &[(path, text.as_ref())]).unwrap()
}

/// Code and line of each finding.
pub(crate) fn found(import: &Import) -> Vec<(FindingCode, Option<u64>)> {
    import.findings.iter().map(|finding| (finding.code, finding.line)).collect()
}

/// A file of the test data of the repository.
pub(crate) fn data(name: &str) -> Vec<u8> {
    std::fs::read(root().join("tests/data").join(name)).unwrap()
}

/// A file beside the repository, which need not be there.
pub(crate) fn shared(name: &str) -> Option<Vec<u8>> {
    use std::io::Write;
    let path = root().join("../shared/data").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        // Past the capture of the test runner.
        let _ = writeln!(std::io::stderr(), "skipped: {} is not there", path.display());
    }
    bytes
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Formats each timing for comparison: collective, ranks, bytes, candidate, launch, mean and maximum in microseconds.
pub(crate) fn timings(import: &Import) -> Vec<String> {
    let us =
        |time: Option<collrules_record::Seconds>| time.map_or("-".to_owned(), |time| format!("{:.2}", time.0 * 1e6));
    let text = |timing: &collrules_import::Imported| {
        let cell = timing.cell;
        format!(
            "{} {} {} {} {}.{} {} {}",
            cell.collective,
            cell.ranks,
            cell.bytes.0,
            timing.candidate,
            timing.launch,
            timing.round,
            us(timing.times.mean),
            us(timing.times.max)
        )
    };
    import.timings.iter().map(text).collect()
}
