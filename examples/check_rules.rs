//! Lints a rules file: what is wrong with it or might surprise, in which releases, and what to do about it.
//!
//! Run with `cargo run --example check_rules`, or with a file of your own: `cargo run --example check_rules -- FILE`.

#![allow(clippy::print_stdout)]

use collrules_rules::lint;

/// Looks right, and is silently rejected as a whole by every release: it promises two message sizes and has one.
const SHORT: &str = "\
1     # collectives
7     # bcast
1     # communicator sizes
8 2   # from 8 ranks on, message sizes
0 1 0 0
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (name, source) = match std::env::args().nth(1) {
        Some(path) => (path.clone(), std::fs::read(path)?),
        None => ("the example".to_owned(), SHORT.as_bytes().to_vec()),
    };
    // No version is named: all whose reading differs are asked.
    let report = lint::check(&source, &[]);
    for problem in &report.problems {
        let line = source[..problem.span.start].iter().filter(|byte| **byte == b'\n').count() + 1;
        println!("{name}:{line}: {:?} {}: {}", problem.severity, problem.code, problem.message);
        println!("    {}", problem.remedy);
    }
    for reading in &report.readings {
        println!("Open MPI {}: {:?}", reading.version.name(), reading.fate);
    }
    Ok(())
}
