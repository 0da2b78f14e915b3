//! `collrules bench`: tables as the OSU micro-benchmarks print them.

use std::io::{self, Write};
use std::path::Path;

use collrules_record::benchmark::{Benchmark, Length};
use collrules_record::cell::type_size;
use collrules_record::competitor;
use collrules_record::rundir;
use collrules_record::units::{Bytes, powers_of_two};
use collrules_record::{Candidate, Component, Even, Layout, Tuning};
use collrules_report::osu::{Look, OsuTable};
use collrules_rules::registry;
use collrules_runner::{Backend, RunnerError};
use collrules_workflow::publish::Published;
use collrules_workflow::start::{self, Started};

use crate::args::BenchArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;

pub(crate) fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    if args.iterations.of(Bytes(0)) == 0 || args.iterations.of(Bytes(u64::MAX)) == 0 {
        return Err(Failure::usage("--iterations has to be at least 1: 0 timed calls give no time".to_owned()));
    }
    let rules = args.rules.as_deref().map(resolve).transpose()?;
    let (mut backend, competitors, even) = match args.candidate {
        // The default needs no survey.
        Candidate::Builtin => (start::launching(&args.system, &interrupt::flag())?, Vec::new(), None),
        _ => {
            let Started { backend, survey, release, .. } = start::mpi(&args.system, &interrupt::flag())?;
            if let Candidate::Tuned(choice) = args.candidate {
                registry::algorithm(release, args.collective, choice.algorithm)
                    .map_err(|unknown| Failure::usage(unknown.to_string()))?;
            }
            let there = |component: &Component| survey.components.contains_key(component);
            (backend, competitor::components().filter(there).collect(), nodes(args, &survey.hosts)?)
        }
    };
    if let Some(run) = args.rules.as_deref().filter(|path| path.is_dir()) {
        let published = Published::open(run)?;
        // The benchmark switches the rules of coll/tuned on itself.
        let beside = Tuning { tuned: None, ..published.tuning.clone().unwrap_or_default() };
        backend.pin(&published.add_settings(beside).settings().by_name());
    }
    let benchmark = Benchmark { even, ..benchmark(args, competitors) };
    if benchmark.lengths.is_empty() {
        let size = type_size(args.collective);
        return Err(Failure::usage(format!("no message size is a multiple of {size} bytes, the datatype's size")));
    }
    let how = match &args.rules {
        Some(rules) => format!("rules of {}", rules.display()),
        None => args.candidate.to_string(),
    };
    let look = if args.csv { Look::Csv } else { Look::Text };
    let table = OsuTable { benchmark: &benchmark, how: &how, look, full: args.full };
    let mut out = io::stdout().lock();
    let mut print = |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    print(table.header()).map_err(Failure::Stdout)?;
    let mut right = true;
    backend.benchmark(&benchmark, rules.as_deref(), &mut |line| {
        right &= line.valid != Some(false);
        print(table.line(&line)).map_err(RunnerError::Output)
    })?;
    if right { Ok(Exit::Done) } else { Ok(Exit::Problems) }
}

/// The nodes, if the candidate makes calls on them.
fn nodes(args: &BenchArgs, hosts: &[String]) -> Result<Option<Even>, Failure> {
    let Candidate::Mockup(mockup) = args.candidate else { return Ok(None) };
    if !mockup.needs_nodes() {
        return Ok(None);
    }
    let even = Layout::Block.even(hosts, args.np);
    even.map(Some).map_err(|why| Failure::usage(format!("{mockup} cannot be timed on {} ranks here: {why}", args.np)))
}

/// An absolute path, since every rank opens the file from its own directory. A run directory becomes its rules file.
fn resolve(path: &Path) -> Result<std::path::PathBuf, Failure> {
    rundir::within(path, rundir::RULES).canonicalize().map_err(|cause| Failure::open(path, cause))
}

fn benchmark(args: &BenchArgs, without: Vec<Component>) -> Benchmark {
    let (first, last) = args.message_size;
    let sizes = if args.collective.has_sizes() {
        let least = Bytes(type_size(args.collective));
        let mut sizes = powers_of_two(first.unwrap_or(least).min(last), last);
        sizes.retain(|bytes| bytes.0 % least.0 == 0);
        sizes
    } else {
        vec![Bytes(0)]
    };
    let length = |bytes: Bytes| Length { bytes, warmup: args.warmup.of(bytes), iterations: args.iterations.of(bytes) };
    Benchmark {
        collective: args.collective,
        ranks: args.np,
        candidate: args.candidate,
        without,
        lengths: sizes.into_iter().map(length).collect(),
        percentiles: args.tail_lat.clone(),
        validate: args.validation,
        even: None,
    }
}
