//! Importing from memory.

use std::path::{Path, PathBuf};

use collrules_import::{Facts, FindingCode, Import, ImportError, Importer, Options};
use collrules_record::CandidateName;
use collrules_record::units::Ranks;
use collrules_rules::{Collective, Release};

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

/// The times in microseconds, by algorithm and size, or `refused`.
pub(crate) fn outcome(options: Options, name: &str, text: &str) -> String {
    match import_with(options, &[(name, text.as_bytes())]) {
        Ok(import) => times(&import),
        Err(_) => "refused".to_owned(),
    }
}

pub(crate) fn times(import: &Import) -> String {
    let time = |it: &collrules_import::Imported| {
        let time = it.time(import.statistic).expect("the statistic of the import");
        format!("{}@{}/{}={:.2}", it.cell.ranks, it.cell.bytes.0, it.candidate, time.0 * 1e6)
    };
    import.timings.iter().map(time).collect::<Vec<_>>().join(" ")
}

pub(crate) fn given(ranks: Option<u32>, algorithm: Option<u32>) -> Options {
    let facts = Facts {
        collective: Some(Collective::Allreduce),
        ranks: ranks.map(Ranks),
        algorithm: algorithm.map(CandidateName::Id),
        ..Facts::default()
    };
    Options { facts, ..options() }
}

pub(crate) const A: &str = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nallreduce,0,32,4096,10.5\n";

pub(crate) fn osu(time: &str) -> String {
    format!("# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024 {time}\n")
}
