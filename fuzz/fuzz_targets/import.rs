//! Any bytes are imported under any name without a panic; what is used has a time, and findings point into the file.

#![no_main]

use collrules_import::{ImportError, Importer, Options};
use collrules_rules::Release;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8])| {
    let (name, bytes) = input;
    let parts: Vec<&str> = name.split('/').collect();
    let mut importer = Importer::new(Options::new(Release::V5_0));
    importer.add(name, &parts, bytes);
    // Under a name that tells the rest, more of it is used.
    importer.add("bcast-np4-a0", &["bcast-np4-a0"], bytes);
    let findings = match importer.finish() {
        Ok(import) => {
            for timing in &import.timings {
                assert!(timing.time(import.statistic).is_some_and(|time| time.0 > 0.0 && time.0.is_finite()));
            }
            import.findings
        }
        Err(ImportError::Nothing { findings }) => findings,
        Err(_) => Vec::new(),
    };
    // Packed bytes have lines of their own.
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        for finding in findings {
            assert!(finding.line.is_none_or(|line| (1..=lines).contains(&line)), "{finding}");
        }
    }
});
