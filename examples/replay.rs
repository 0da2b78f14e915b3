//! Decides on some launches of a timing table, and judges the choices by other launches, next to those of simple methods.
//!
//! Run with `cargo run --example replay`, or with a table and launches of your own:
//! `cargo run --example replay -- TABLE 0,1 2`.

#![allow(clippy::print_stdout)]

#[path = "replay/score.rs"]
mod score;

use std::path::PathBuf;

use collrules_import::{self as import, Options};
use collrules_record::criteria::Criteria;
use collrules_record::sample::TableTiming;
use collrules_rules::Release;
use collrules_tuner::Observations;
use score::replay;

fn launches(list: &str) -> Result<Vec<u32>, std::num::ParseIntError> {
    list.split(',').map(str::parse).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, train, test) = match &arguments[..] {
        [path, train, test] => (PathBuf::from(path), launches(train)?, launches(test)?),
        _ => ("tests/data/three-launches.csv".into(), vec![0, 1], vec![2]),
    };
    let read = import::table(&path.display().to_string(), &import::read_file(&path)?, Options::new(Release::V5_0))?;
    let timings: Vec<TableTiming> = read.timings.iter().filter_map(|timing| timing.in_table(read.statistic)).collect();
    let observations = Observations::from_timings(&timings, read.statistic)?;
    let replay = replay(&observations, &train, &test, Release::V5_0, Criteria::default())?;
    print!("Decided on launches {train:?}, judged by launches {test:?}: {replay}");
    Ok(())
}
