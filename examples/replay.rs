//! Decides on some launches of a timing table, and judges the choices by other launches, next to those of simple methods.
//!
//! Run with `cargo run --example replay`, or with a table and launches of your own:
//! `cargo run --example replay -- TABLE 0,1 2`.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use collrules_import::{self as import, Options};
use collrules_record::findings::Criteria;
use collrules_record::sample::TableTiming;
use collrules_rules::Release;
use collrules_tuner::{Observations, replay};

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

    println!("Decided on launches {:?}, judged by launches {:?}: {} cells.", replay.train, replay.test, replay.cells);
    println!("{:<24} {:>8} {:>12} {:>8} {:>6}", "method", "speedup", "slower", "regret", "rules");
    for score in &replay.scores {
        let total = score.total;
        let (slower, regret) = (100.0 * total.slower, 100.0 * total.regret);
        println!("{:<24} {:>7.4}x {slower:>10.2} % {regret:>6.2} % {:>6}", score.method, total.speedup, total.rules);
    }
    if let (Some(promised), Some(kept)) = (replay.promised, replay.kept) {
        println!("Where the default is replaced, {promised:.3}x was expected and {kept:.3}x found.");
    }
    Ok(())
}
