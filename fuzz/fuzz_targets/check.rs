//! Any bytes are checked without a panic, and every problem points into the source.

#![no_main]

use collrules_rules::behaviour::Behaviour;
use collrules_rules::lint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let report = lint::check(bytes, &Behaviour::distinct());
    for problem in report.problems {
        assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len(), "{problem:?}");
    }
});
