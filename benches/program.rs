//! Time to play a reference algorithm on 4096 ranks: a tree, which is 12 steps deep, and two turns around the ring,
//! which are 33 million messages.

#![allow(missing_docs)]

use std::hint::black_box;

use collrules_program::{Blocks, Machine, Reference, ReferenceAlgorithm, play};
use collrules_rules::Collective;
use criterion::{Criterion, criterion_group, criterion_main};

fn plays(criterion: &mut Criterion) {
    let machine = Machine { latency: 10e-6, transfer: 1e-9, operation: 0.25e-9 };
    let mut group = criterion.benchmark_group("play 4096 ranks");
    group.sample_size(10);
    for reference in Reference::ALL {
        let blocks = Blocks::share(1 << 20, 4096);
        let algorithm = ReferenceAlgorithm::new(Collective::Allreduce, reference, 0, blocks, 1).expect("there is one");
        group.bench_function(format!("allreduce {}", reference.name()), |bencher| {
            bencher.iter(|| play(black_box(&algorithm), &machine).expect("it comes to an end"));
        });
    }
    group.finish();
}

criterion_group!(benches, plays);
criterion_main!(benches);
