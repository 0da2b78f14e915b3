//! From a folder of OSU output to rules, as libraries: what others measured with `osu_bcast -f` and the like, one file for
//! each algorithm and number of ranks.
//!
//! Run with `cargo run --example osu_folder`, or with a folder of your own: `cargo run --example osu_folder -- FOLDER`.
//! The command line does the same: `collrules lab import FOLDER --out run`, then `collrules analyze run`.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use collrules_import::{Importer, Options, add_all};
use collrules_record::criteria::Criteria;
use collrules_report::{notes, summary, terminal};
use collrules_rules::Release;
use collrules_rules::emit;
use collrules_tuner::Observations;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/examples/osu").into());

    // Ranks and algorithms are taken from the names of files and directories where the content does not say them.
    let release = Release::V4_1;
    let mut importer = Importer::new(Options::new(release));
    add_all(&mut importer, &[folder]).map_err(|error| error.cause)?;
    let imported = importer.finish()?;
    println!("{} timings from {} files", imported.timings.len(), imported.sources.len());
    for finding in &imported.findings {
        println!("  {finding}");
    }

    // The slowest rank's time where all files tell it, and the average over ranks where they do not.
    let timings: Vec<_> = imported.timings.iter().filter_map(|timing| timing.in_table(imported.statistic)).collect();
    let observations = Observations::from_timings(&timings, imported.statistic)?;
    let findings =
        collrules_tuner::analyze(&observations, release, Criteria::default(), Default::default(), "the folder")?;
    println!("\n{}\n", terminal::verdicts(&findings, 80));
    println!("{}", summary::text(&findings, 80));
    println!("\n{}", emit::classic(&findings.table, &notes::notes(&findings, "the example"), |_| false)?);
    Ok(())
}
