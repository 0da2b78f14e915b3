//! Time of the rule table: the dynamic programme on 10 000 cells of one collective.

#![allow(missing_docs)]

use std::hint::black_box;

use collrules_record::findings::Statistic;

use collrules_record::criteria::Criteria;
use collrules_record::policy::Between;
use collrules_record::sample::TableTiming;
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Cell, Policy};
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Observations, analyze};
use criterion::{Criterion, criterion_group, criterion_main};

/// Bcast on 100 communicator sizes at 100 message sizes: the builtin and nine candidates, each of which is the best one
/// somewhere, with differences of a few per cent in no order that an algorithm could profit from.
fn observations() -> Observations {
    let mut timings = Vec::new();
    for ranks in 0..100u32 {
        for size in 0..100u32 {
            let cell = Cell {
                collective: Collective::Bcast,
                ranks: Ranks(ranks + 2),
                bytes: Bytes(1000 * u64::from(size + 1)),
            };
            for id in 0..10u32 {
                let candidate = Candidate::from_choice(Choice::plain(id));
                let slow = if id == 0 { 8.0 } else { f64::from((size / 11).abs_diff(id - 1)) };
                let noise = f64::from((ranks * 7919 + size * 104_729 + id * 1_299_709) % 101) / 1e3;
                let time = Seconds(1e-5 * (1.0 + 0.05 * slow + noise));
                timings.push(TableTiming { cell, candidate, launch: 0, time });
            }
        }
    }
    Observations::from_timings(&timings, Statistic::RankAverage).expect("timings")
}

fn tables(criterion: &mut Criterion) {
    let observations = observations();
    let mut group = criterion.benchmark_group("rules for 10 000 cells of one collective, analysis included");
    group.sample_size(10);
    for between in [Between::Keep, Between::Lower] {
        let policy = Policy { between, ..Policy::default() };
        group.bench_function(format!("fewest within 3 %, between: {}", between.name()), |bencher| {
            bencher.iter(|| {
                let criteria = Criteria { untested_gain: 0.03, ..Criteria::default() };
                analyze(black_box(&observations), Release::V5_0, criteria, policy, "bench")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, tables);
criterion_main!(benches);
