//! The core of collrules does not know the instruments.

use std::fs;
use std::path::Path;

/// Crates that tune, and those that they are built from and tested with.
const CORE: [&str; 10] =
    ["batch", "import", "profile", "program", "record", "report", "rules", "runner", "tuner", "worker"];

#[test]
fn no_crate_of_the_core_depends_on_an_instrument() {
    for name in CORE {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).unwrap();
        let others = text.lines().filter_map(|line| line.strip_prefix("collrules-")?.split([' ', '.']).next());
        for other in others {
            assert!(CORE.contains(&other), "{name} depends on {other}");
        }
    }
}
