//! Time of the parts that no measurement waits for: lookup, reading, writing, and the analysis.

#![allow(missing_docs)]

use std::fmt::Write;
use std::hint::black_box;

use collrules_record::findings::Statistic;

use collrules_record::criteria::Criteria;
use collrules_record::sample::COLUMNS;
use collrules_record::sample::TableTiming;
use collrules_record::{Bytes, Candidate, Cell, Seconds};
use collrules_rules::behaviour::Behaviour;
use collrules_rules::call::Distribution;
use collrules_rules::emit::{self, Notes, TargetFormat};
use collrules_rules::file::load;
use collrules_rules::lint::check;
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Collective, Ranks, Release, RuleTable};
use collrules_tuner::{Observations, analyze};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A table for bcast with so many communicator sizes, each with so many sizes of message.
fn table(ranks: u64, sizes: u64) -> RuleTable {
    let mut steps = all_builtin();
    for block in 0..ranks {
        let mut choices = Steps::constant(Choice::BUILTIN);
        for size in 0..sizes {
            let choice = Choice::plain(1 + ((block + size) % 9) as u32);
            choices.set(1000 * size + 1, Some(1000 * size + 1001), choice);
        }
        steps.set(2 * block + 2, Some(2 * block + 3), choices);
    }
    let mut table = RuleTable::new();
    table.set(Collective::Bcast, steps);
    table
}

fn rules(criterion: &mut Criterion) {
    let table = table(100, 100);
    let write = |table: &RuleTable| emit::classic(table, &Notes::default(), |_| false).expect("it can be said");
    let text = write(&table);
    let newest = Behaviour::latest(Release::V6_0);
    let mut group = criterion.benchmark_group("rules of 10 000 ranges");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read", |bencher| bencher.iter(|| load(black_box(text.as_bytes()), &newest)));
    group.bench_function("write", |bencher| bencher.iter(|| write(black_box(&table))));
    group.finish();
    let mut bytes = 0;
    criterion.bench_function("lookup among 10 000 ranges", |bencher| {
        bencher.iter(|| {
            bytes = (bytes + 7919) % 100_000;
            table.lookup(Collective::Bcast, black_box(102), bytes)
        });
    });
}

/// A million rules, as each format has them, beside what serde_json makes of the same text.
fn large_files(criterion: &mut Criterion) {
    let table = table(1000, 1000);
    let newest = Behaviour::latest(Release::V6_0);
    let classic = emit::write(&table, &Notes::default(), TargetFormat::Classic).expect("it can be said");
    let json = emit::write(&table, &Notes::default(), TargetFormat::Json).expect("it can be said");
    for (name, text) in [("classic", &classic), ("JSON", &json)] {
        let mut group = criterion.benchmark_group(format!("a {name} file of 1 000 000 rules"));
        group.sample_size(10).throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("load", |bencher| bencher.iter(|| load(black_box(text.as_bytes()), &newest)));
        group.bench_function("check for 6.0", |bencher| bencher.iter(|| check(black_box(text.as_bytes()), &[newest])));
        if name == "JSON" {
            group.bench_function("load by serde_json, for comparison", |bencher| {
                bencher.iter(|| serde_json::from_str::<serde_json::Value>(black_box(text)));
            });
        }
        group.finish();
        let loaded = load(text.as_bytes(), &newest).expect("accepted");
        let mut bytes = 0;
        criterion.bench_function(&format!("lookup in one block of it ({name})"), |bencher| {
            bencher.iter(|| {
                bytes = (bytes + 7919) % 1_000_000;
                loaded.lookup_by_size(Collective::Bcast, black_box(Ranks(102)), bytes, Distribution::Any)
            });
        });
    }
}

/// Samples of bcast on 8 ranks: 20 sizes, 10 candidates, so many rounds in visits of three.
fn samples(rounds: u32) -> String {
    let mut text = format!("# collrules samples 1.0\n{}\n", COLUMNS.join(","));
    for power in 0..20 {
        for round in 0..rounds {
            for id in 0..10 {
                let candidate = if id == 0 { "builtin".to_owned() } else { format!("tuned:{id}/0/0/0") };
                // Spread by a few per cent, in no order that an algorithm could profit from.
                let micros = 10.0 + f64::from(id % 4) + f64::from(round * 7919 % 101) / 200.0;
                let (visit, round, seconds) = (round / 3, round % 3, micros * 1e-6);
                let bytes = 1 << power;
                writeln!(text, "0,{visit},{round},bcast,8,{bytes},{candidate},{seconds},{seconds},{seconds},")
                    .expect("a string takes everything");
            }
        }
    }
    text
}

/// Ten times the samples should take ten times as long.
fn analysis(criterion: &mut Criterion) {
    for rounds in [300, 3000] {
        let text = samples(rounds);
        let observations = Observations::from_samples(&text).expect("samples");
        let count = observations.len() as u64;
        let mut group = criterion.benchmark_group(format!("{count} samples"));
        group.sample_size(10).throughput(Throughput::Elements(count));
        group.bench_function("read", |bencher| bencher.iter(|| Observations::from_samples(black_box(&text))));
        group.bench_function("analyze", |bencher| {
            bencher.iter(|| {
                analyze(black_box(&observations), Release::V5_0, Criteria::default(), Default::default(), "bench")
            });
        });
        group.finish();
    }
}

/// One launch of 8 candidates on 50 communicator sizes at 50 message sizes: single values, which neighbours judge.
fn single_values(criterion: &mut Criterion) {
    let mut timings = Vec::new();
    for ranks in 2..52 {
        for bytes in 0..50 {
            for id in 0..8 {
                let cell = Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(1000 * bytes + 1) };
                let time = Seconds(1e-5 * (1.0 + f64::from((id * 31 + ranks * 17) % 101 + bytes as u32) / 200.0));
                timings.push(TableTiming {
                    cell,
                    candidate: Candidate::from_choice(Choice::plain(id)),
                    launch: 0,
                    time,
                });
            }
        }
    }
    let observations = Observations::from_timings(&timings, Statistic::RankAverage).expect("timings");
    let mut group = criterion.benchmark_group("20 000 single values");
    group.sample_size(10).throughput(Throughput::Elements(timings.len() as u64));
    group.bench_function("analyze", |bencher| {
        bencher.iter(|| {
            analyze(black_box(&observations), Release::V5_0, Criteria::default(), Default::default(), "bench")
        });
    });
    group.finish();
}

criterion_group!(benches, rules, large_files, analysis, single_values);
criterion_main!(benches);
