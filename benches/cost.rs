//! Cost of equally good rules: `collrules tune` against the usual procedure, in one run.
//!
//! The usual procedure starts one job per candidate, communicator size and launch, each a benchmark over all message
//! sizes with 10 000 calls up to 8 KiB and 1000 above, and takes the candidate with the smallest mean. Then both rules
//! files and no file at all are benchmarked again, in turn, in fresh jobs.
//!
//! `cargo bench --bench cost -- --np 2,4`

#![allow(missing_docs, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use collrules_rules::emit::{self, Notes, TargetFormat};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Bytes, Choice, Collective, Ranks, Release, RuleTable, metric, registry};
use collrules_runner::RunnerError;
use collrules_runner::mpi::{Launcher, LauncherOptions};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

#[derive(Debug, Parser)]
struct Args {
    /// Communicator sizes
    #[arg(long, value_delimiter = ',', default_value = "2,4")]
    np: Vec<Ranks>,
    /// Collectives
    #[arg(long, value_delimiter = ',', default_value = "bcast,scatter,barrier")]
    ops: Vec<Collective>,
    /// Launches of the usual procedure
    #[arg(long, default_value_t = 3)]
    launches: u32,
    /// Fresh launches of no file and of each file
    #[arg(long, default_value_t = 7)]
    fresh: u32,
    /// Share of the usual procedure's time that `collrules tune` is given as its budget
    #[arg(long, default_value_t = 0.06)]
    share: f64,
    /// The mpirun of the Open MPI to use
    #[arg(long, default_value = "mpirun")]
    mpirun: PathBuf,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// Collective, communicator size, message bytes.
type Cell = (Collective, Ranks, u64);
type Times = BTreeMap<Cell, Vec<f64>>;

fn main() {
    let args = Args::parse();
    let wishes = LauncherOptions {
        mpirun: Some(args.mpirun.clone()),
        worker: Some(PathBuf::from(env!("CARGO_BIN_EXE_collrules-worker"))),
        patience: Duration::from_secs(60),
        ..LauncherOptions::default()
    };
    let found = Launcher::find(&wishes).and_then(|launcher| {
        let mpirun = launcher.mpirun().ok_or_else(|| RunnerError::NoLauncher("mpirun".to_owned()))?;
        Release::from_version(mpirun.1).map_err(RunnerError::UnknownRelease)
    });
    let release = match found {
        Ok(release) => release,
        Err(error) => return println!("skipped: {error}"),
    };
    let scratch = tempfile::tempdir().expect("a temporary directory");

    let start = Instant::now();
    let usual = scratch.path().join("usual.conf");
    let jobs = usual_procedure(&args, release, &usual);
    let usual_time = start.elapsed().as_secs_f64();
    println!("usual procedure: {jobs} jobs, {usual_time:.0} s");

    let start = Instant::now();
    let out = scratch.path().join("run");
    let rounds = format!("{:.1}s", args.share * usual_time);
    let list = |items: Vec<String>| items.join(",");
    let ops = list(args.ops.iter().map(ToString::to_string).collect());
    let np = list(args.np.iter().map(ToString::to_string).collect());
    let tune = ["tune", "--oversubscribe", "--ops", &ops, "--np", &np, "--budget", &rounds, "--out"];
    run(Command::new(collrules()).args(tune).arg(&out).arg("--mpirun").arg(&args.mpirun));
    let our_time = start.elapsed().as_secs_f64();
    println!(
        "collrules tune, proof included: {our_time:.1} s, {:.3} of the usual procedure's time",
        our_time / usual_time
    );

    let ours = out.join("rules.conf");
    // No file twice: what differs between these two is noise.
    let times = benchmark_again(&args, [None, Some(&usual), Some(&ours), None]);
    for (name, other) in [("usual procedure", 1), ("collrules", 2), ("no file, once more,", 3)] {
        compare(&format!("{name} over no file"), &times[0], &times[other]);
    }
    compare("collrules over the usual procedure", &times[1], &times[2]);
}

/// The program under test.
fn collrules() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_collrules"))
}

/// Runs a command to its end and gives its output. Open MPI lets root start jobs only when told so twice.
fn run(command: &mut Command) -> String {
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
    }
    let output = command.output().expect("collrules starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Benchmarks a collective in a job of its own and adds the averages, in microseconds.
fn benchmark(args: &Args, collective: Collective, ranks: Ranks, options: &[&str], times: &mut Times) {
    let (op, np) = (collective.to_string(), ranks.to_string());
    let fixed = ["bench", &op, "--np", &np, "--oversubscribe", "--csv", "--iterations", "10000,1000"];
    let text = run(Command::new(collrules()).args(fixed).args(options).arg("--mpirun").arg(&args.mpirun));
    for line in text.lines().skip(1) {
        let (bytes, average) = line.split_once(',').unwrap_or(("0", line));
        let bytes = bytes.parse().expect("a size");
        times.entry((collective, ranks, bytes)).or_default().push(average.parse().expect("a time"));
    }
}

/// Benchmarks each candidate by itself and writes what has the smallest mean. Returns the number of jobs.
fn usual_procedure(args: &Args, release: Release, rules: &Path) -> usize {
    let mut jobs = 0;
    let mut table = RuleTable::new();
    for collective in &args.ops {
        let mut blocks = all_builtin();
        for ranks in &args.np {
            let mut best: BTreeMap<u64, (f64, Choice)> = BTreeMap::new();
            let fitting = registry::algorithms(release, *collective).filter(|algorithm| algorithm.admits(*ranks));
            let forced =
                fitting.map(|algorithm| registry::forced(release, *collective, algorithm.id).expect("it is known"));
            for choice in std::iter::once(Choice::BUILTIN).chain(forced) {
                let candidate = if choice.is_builtin() { "builtin".to_owned() } else { format!("tuned:{choice}") };
                let mut times = Times::new();
                for _ in 0..args.launches {
                    benchmark(args, *collective, *ranks, &["--candidate", &candidate], &mut times);
                    jobs += 1;
                }
                for ((_, _, bytes), times) in times {
                    let mean = times.iter().sum::<f64>() / times.len() as f64;
                    let entry = best.entry(bytes).or_insert((mean, choice));
                    if mean < entry.0 {
                        *entry = (mean, choice);
                    }
                }
            }
            let mut sizes = Steps::constant(Choice::BUILTIN);
            for (bytes, (_, choice)) in best {
                sizes.set(metric::lookup_bytes(release, *collective, *ranks, Bytes(bytes), 1), None, choice);
            }
            blocks.set(u64::from(ranks.0), Some(u64::from(ranks.0) + 1), sizes);
        }
        table.set(*collective, blocks);
    }
    // The usual procedure knows of no hazards; in a benchmark all ranks look up the same size.
    let text = emit::write(&table, &Notes::default(), TargetFormat::Classic).expect("it can be said");
    fs::write(rules, text).expect("the scratch directory can be written");
    jobs
}

/// The times of each variant, in jobs that alternate in a shuffled order.
fn benchmark_again<const N: usize>(args: &Args, variants: [Option<&Path>; N]) -> [Times; N] {
    let mut times = [const { Times::new() }; N];
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..args.fresh {
        for (collective, ranks) in
            args.ops.iter().flat_map(|collective| args.np.iter().map(move |np| (*collective, *np)))
        {
            let mut order: [usize; N] = std::array::from_fn(|place| place);
            order.shuffle(&mut rng);
            for place in order {
                let rules = variants[place].map(|rules| rules.to_string_lossy().into_owned());
                let options: Vec<&str> = rules.iter().flat_map(|rules| ["--rules", rules]).collect();
                benchmark(args, collective, ranks, &options, &mut times[place]);
            }
        }
    }
    times
}

/// Prints how much faster the second is: per cell by medians over launches, over all cells by the geometric mean, with
/// the range of the middle half of launches.
fn compare(what: &str, before: &Times, after: &Times) {
    let launches = before.values().map(Vec::len).min().unwrap_or(0);
    let mean_of = |ratio: &dyn Fn(&Vec<f64>, &Vec<f64>) -> f64| {
        let logs: Vec<f64> = before.iter().map(|(cell, times)| ratio(times, &after[cell]).ln()).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    };
    let overall = mean_of(&|before, after| median(before) / median(after));
    let mut single: Vec<f64> =
        (0..launches).map(|launch| mean_of(&|before, after| before[launch] / after[launch])).collect();
    single.sort_unstable_by(f64::total_cmp);
    let slower = before.iter().filter(|(cell, times)| median(&after[cell]) > 1.05 * median(times)).count() as f64
        / before.len() as f64;
    println!(
        "{what}: {overall:.3}x (single launches {:.3} to {:.3}), {:.1} % of {} cells slower by more than 5 %",
        single.first().unwrap_or(&f64::NAN),
        single.last().unwrap_or(&f64::NAN),
        100.0 * slower,
        before.len(),
    );
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0
}
