//! Crates depend on those below them: the core on no instrument, neither on reports.

use std::fs;
use std::path::Path;

/// Crates that tune, and those that they are built from.
const CORE: [&str; 9] = ["batch", "import", "profile", "program", "record", "rules", "runner", "tuner", "worker"];

/// The instruments, and the crates that they may use besides the core.
const INSTRUMENTS: [(&str, &[&str]); 2] = [("model", &[]), ("lab", &["model"])];

/// The crates of the workspace that a crate is built from. Those that only its tests use, which compare remarks in the
/// words of reports, do not count.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(manifest).unwrap();
    let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix("collrules-")?.split([' ', '.']).next().map(str::to_owned)).collect()
}

#[test]
fn no_crate_of_the_core_depends_on_an_instrument_or_on_reports() {
    for name in CORE {
        for other in dependencies(name) {
            assert!(CORE.contains(&&*other), "{name} depends on {other}");
        }
    }
    assert!(dependencies("tuner").contains(&"record".to_owned()), "manifests are understood");
}

#[test]
fn no_instrument_depends_on_reports() {
    for (name, others) in INSTRUMENTS {
        for other in dependencies(name) {
            assert!(CORE.contains(&&*other) || others.contains(&&*other), "{name} depends on {other}");
        }
    }
}
