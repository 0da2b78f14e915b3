//! A run directory of any bytes is read without a panic; what is read of it has times that calls can take.

#![no_main]

use std::fs;

use collrules_record::rundir::{FINDINGS, LAUNCHES, MANIFEST, PROOF, RunDir, SAMPLES, VALIDATION, refinement};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|files: [&[u8]; 7]| {
    let Ok(scratch) = tempfile::tempdir() else { return };
    let names = [MANIFEST, SAMPLES, LAUNCHES, FINDINGS, VALIDATION, PROOF, &refinement(1)];
    for (name, bytes) in names.iter().zip(files) {
        if !bytes.is_empty() && fs::write(scratch.path().join(name), bytes).is_err() {
            return;
        }
    }
    let Ok(run) = RunDir::open(scratch.path()) else { return };
    let _ = (run.manifest(), run.is_imported(), run.findings(), run.validation(), run.proof(), run.refinement(1));
    let _ = (run.check_plans(), run.progress(), run.clock());
    let Ok(text) = run.samples() else { return };
    let Ok(samples) = text.samples(&run.file(SAMPLES)) else { return };
    for sample in samples {
        assert!((0.0..=1e6).contains(&sample.max.0), "{sample:?}");
    }
    // What is resumed is held against the journal once more.
    drop(run.log());
});
