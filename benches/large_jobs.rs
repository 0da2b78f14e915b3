//! Time and memory of a tuning of all 14 collectives on large jobs, of which none is for the jobs themselves: analysis,
//! comparison, report. The jobs are simulated.
//!
//! `cargo bench --bench large_jobs -- RANKS` for one of the sizes

#![allow(missing_docs, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Command, FromArgMatches};
use collrules_record::comparison::Stage;
use collrules_record::condition::{Arrival, Condition};
use collrules_record::options::TuneOptions;
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::Settings;
use collrules_report::tuning;
use collrules_tuner::comparison::{ArmBlock, ArmDemand, ArmLauncher, Comparison, Looks, compare};
use collrules_workflow::analyze::Source;
use collrules_workflow::campaign::Begin;
use collrules_workflow::publish::Published;
use collrules_workflow::start::start;
use collrules_workflow::tune::tune;
use collrules_workflow::{Session, TOOL};
use criterion::{Criterion, criterion_group, criterion_main};

/// Ranks of the largest communicators.
const RANKS: [u32; 4] = [64, 1024, 16_384, 65_536];

/// Time for each tuning.
const BUDGET: &str = "30m";

/// Conditions in which a call is compared.
const CONDITIONS: [Condition; 3] =
    [Condition::OF_PROGRAMS, Condition::UNALIGNED, Condition { arrival: Arrival::Random, ..Condition::OF_PROGRAMS }];

/// Blocks until the last look.
const BLOCKS: u32 = 16;

/// Launches that show no difference, so that no subject is decided before the last look.
struct Undecided(Vec<ArmSubject>);

impl ArmLauncher for Undecided {
    type Error = Infallible;

    fn block(
        &mut self,
        _: Stage,
        number: u32,
        (base, arms): (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Infallible> {
        let mut block = ArmBlock::default();
        for (arm, settings) in std::iter::once(base).chain(arms).enumerate() {
            let wanted = self.0.iter().filter(|it| subjects.is_none_or(|subjects| subjects.contains(it)));
            let time = |place: usize| 1e-5 * (1.0 + ((number as usize + 3 * arm + place) * 7919 % 101) as f64 / 1e3);
            block.push(settings.clone(), wanted.enumerate().map(|(place, it)| (it.clone(), time(place))).collect());
        }
        Ok(Some(block))
    }
}

fn session<T>(workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
    let (stop, watch) = (Arc::default(), &mut |_: collrules_workflow::Event<'_>| ());
    workflow(&mut Session { stop, failures: 20, command: Vec::new(), start: &start, watch })
}

/// Runs a step once and prints its time and the largest resident memory in it.
fn watch<T>(step: &str, work: impl FnOnce() -> T) -> T {
    // Resets the peak.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let began = Instant::now();
    let result = work();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).filter(|_| is_reset);
    println!("{step}: {:.2} s, peak {}", began.elapsed().as_secs_f64(), peak.map_or("unknown", str::trim));
    result
}

fn large_jobs(criterion: &mut Criterion) {
    let named: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    for ranks in RANKS.into_iter().filter(|ranks| named.is_empty() || named.contains(ranks)) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let words = format!(
            "--simulate --simulated-slots {ranks} --simulated-ppn 32 --np 2:{ranks} --ops all --sizes 1:1M --segments \
             8K,64K --fanouts 2,4 --budget {BUDGET}"
        );
        let command = TuneOptions::augment_args(Command::new("tune").no_binary_name(true));
        let options =
            command.try_get_matches_from(words.split_whitespace()).and_then(|it| TuneOptions::from_arg_matches(&it));
        let begin = Begin::tuning(options.expect("are options"), directory.path().join("run"));
        let tuned = watch(&format!("{ranks} ranks, {BUDGET}: the whole tuning, simulation included"), || {
            session(|session| tune(&begin, session)).expect("is tuned")
        });
        let path = tuned.run.path();
        let analyze = || {
            session(|session| {
                let (source, _) = Source::of_run(path, session).expect("is a run");
                source.decide(tuned.findings.criteria, tuned.findings.tree.policy).expect("is decided")
            })
        };
        let arm = [Settings::from([("rules".to_owned(), "with".to_owned())])];
        let calls = |condition| tuned.findings.cells.iter().map(move |it| ArmSubject::Call(it.cell, condition));
        let mut launcher = Undecided(CONDITIONS.into_iter().flat_map(calls).collect());
        let base = Settings::new();
        let comparison = Comparison {
            demand: &|_, _| ArmDemand::Gain,
            looks: Looks::between(4, BLOCKS),
            ..Comparison::new(Stage::Rules, &base, &arm)
        };
        let mut compared = || compare(&comparison, &mut launcher).expect("never fails");
        let report = || {
            let published = Published::open(path).expect("is published");
            let document = tuning::document(&published.add_results(), &published.context());
            (document.page(TOOL), document.markdown())
        };
        let subjects = CONDITIONS.len() * tuned.findings.cells.len();
        println!(
            "{} sizes, {} bytes of samples",
            tuned.findings.cells.len(),
            tuned.run.samples().expect("has samples").text.len()
        );
        watch("analysis", || black_box(analyze()));
        watch(&format!("comparison of {subjects} calls in {BLOCKS} blocks"), || black_box(compared()));
        watch("report", || black_box(report()));
        let mut group = criterion.benchmark_group(format!("{ranks} ranks"));
        group.sample_size(10).warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(1));
        group.bench_function("analysis", |bencher| bencher.iter(analyze));
        group.bench_function("comparison", |bencher| bencher.iter(&mut compared));
        group.bench_function("report", |bencher| bencher.iter(report));
        group.finish();
    }
}

criterion_group!(benches, large_jobs);
criterion_main!(benches);
