//! The examples run, and show what they promise.

use std::process::Command;

use crate::support::Ran;

/// Runs an example. Cargo builds it where `cargo test --test cli` did not.
fn example(name: &str) -> Ran {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["run", "--quiet", "--example", name]);
    if !cfg!(feature = "mpi") {
        cargo.arg("--no-default-features");
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    Ran::from(cargo.output().unwrap()).exits(0)
}

#[test]
fn each_example_shows_what_it_promises() {
    let examples = [
        ("check_rules", "rejected"),
        ("osu_folder", "timings from"),
        ("replay", "fastest if by 15 %"),
        ("rules_by_hand", "is run by pipeline"),
        ("simulated_cluster", "scatter_allgather"),
    ];
    for (name, promised) in examples {
        let said = example(name).stdout.to_lowercase();
        assert!(said.contains(promised), "`{promised}` is not in what {name} says:\n{said}");
    }
    let directory = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let files = directory.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut sources: Vec<String> = files.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned)).collect();
    sources.sort_unstable();
    assert_eq!(sources, examples.map(|(name, _)| name), "every example is run here");
}
