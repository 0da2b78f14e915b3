//! Overhead of the library per call: the same program, without it and with it, makes calls on one rank, where they do
//! least. Needs mpicc and mpirun in PATH.

#![allow(missing_docs)]
#![expect(clippy::unwrap_used, reason = "a bench may end for want of what it needs")]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use collrules_record::profile::rank::DIRECTORY;
use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;

/// The calls that `calls.c` makes. `sizes` is a bcast of another size each time, of 4096.
const CALLS: [&str; 6] = ["barrier", "bcast", "sizes", "allreduce", "allgatherv", "iprobe"];

/// The program, on one rank.
struct Running {
    job: Child,
    asked: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn new(program: &Path, more: &[String]) -> Self {
        let mut command = Command::new("mpirun");
        command.args(["-np", "1"]).args(more).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut job = command.spawn().expect("mpirun in PATH");
        let (asked, said) = (job.stdin.take(), BufReader::new(job.stdout.take().unwrap()));
        Self { job, asked, said }
    }

    fn time(&mut self, call: &str, count: u64) -> Duration {
        writeln!(self.asked.as_mut().unwrap(), "{call} {count}").expect("the job runs");
        let mut line = String::new();
        self.said.read_line(&mut line).expect("the job answers");
        Duration::from_nanos(line.trim().parse().expect("a known call"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The end of its input ends the program.
        self.asked = None;
        let _ = self.job.wait();
    }
}

/// The library, which cargo builds next to this bench.
fn library() -> PathBuf {
    let library = env::current_exe().unwrap().with_file_name("libcollrules_profile.so");
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

fn compiled(scratch: &TempDir) -> PathBuf {
    let (source, program) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/calls.c"), scratch.path().join("calls"));
    let made = Command::new("mpicc").arg("-O2").arg(source).arg("-o").arg(&program).status();
    assert!(made.expect("mpicc in PATH").success(), "mpicc does not compile the calls");
    program
}

fn calls(criterion: &mut Criterion) {
    let scratch = tempfile::tempdir().unwrap();
    let program = compiled(&scratch);
    let exported = |name: &str, value: &Path| ["-x".to_owned(), format!("{name}={}", value.display())];
    let preloaded = [exported("LD_PRELOAD", &library()), exported(DIRECTORY, scratch.path())].concat();
    let mut without = Running::new(&program, &[]);
    let mut with = Running::new(&program, &preloaded);
    for call in CALLS {
        let mut group = criterion.benchmark_group(call);
        group.bench_function("without", |bencher| bencher.iter_custom(|count| without.time(call, count)));
        group.bench_function("with", |bencher| bencher.iter_custom(|count| with.time(call, count)));
        group.finish();
    }
    drop(with);
    // Else the numbers would be those of no library at all.
    assert!(scratch.path().join("0.rank.json").is_file(), "the library was not in the program");
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500)).sample_size(50);
    targets = calls
}
criterion_main!(benches);
