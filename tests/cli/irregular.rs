//! Calls that stall, or do not.

use std::fs;

use collrules_model::model::Model;
use collrules_model::stalls::{CallTimes, Irregular, Jump, StallLevel};
use collrules_program::mockup::MockupPattern;
use collrules_record::{Bytes, Candidate, Mockup};
use collrules_rules::Collective;

use crate::support::{collrules, data};

/// A machine of 8 hosts on which gathers of 16 and 32 KiB by the default stall for 200 ms, and scatters leap above 16 KiB.
fn stalling_machine() -> String {
    format!("--simulate --simulated-model {}", data("stalling-machine.json").display())
}

/// Pieces are timed in a second round, as many as M1 and S ask for; `hmpi.h` has the sizes at which they were shown to help.
#[test]
fn planted_stalls_are_found_and_cured() {
    let scratch = tempfile::tempdir().unwrap();
    let machine = stalling_machine();
    let out = scratch.path().join("run");
    let words =
        format!("irregular {machine} --ops gather,scatter --sizes 4K:128K --launches 2 --calls 60 --budget none --out");
    collrules(&words, &out).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    let range = found.stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap();
    assert_eq!((range.first, range.last, range.pieces), (Bytes(16 << 10), Bytes(32 << 10), Some(4)));
    assert_eq!(range.quiet_below, Some(Bytes(8 << 10)));
    let stalling = |calls: &&CallTimes| calls.candidate == Candidate::Builtin && calls.cell.bytes == range.first;
    let gather =
        found.points.iter().filter(stalling).find(|calls| calls.cell.collective == Collective::Gather).unwrap();
    assert!(gather.levels.iter().any(|level| level.is_timeout), "{gather:?}");
    let cure = range.cures.iter().find(|cure| cure.longest == Some(Bytes(8 << 10))).unwrap();
    assert!(cure.mean.1 < cure.mean.0 && cure.p99.1 < cure.p99.0, "{cure:?}");
    let is_leap = |step: &&Jump| (step.collective, step.candidate) == (Collective::Scatter, Candidate::Builtin);
    let leaps: Vec<&Jump> = found.steps.iter().filter(is_leap).collect();
    assert!(leaps.iter().any(|step| step.below == Bytes(16 << 10) && step.cured.is_some()), "{leaps:?}");
    assert!(out.join("irregular.md").is_file() && out.join("irregular.html").is_file());
    let header = fs::read_to_string(out.join("hmpi.h")).unwrap();
    assert!(header.contains("#define HMPI_M1 8192\n#define HMPI_M2 32768\n#define HMPI_S 16384\n"), "{header}");
}

/// Hosts with one slot, and gathers of 8 to 64 KiB that stall for 200 ms always, for 50 ms, or for 200 and 600 ms; with other sizes, and
/// with these alone. A scatter of 128 KiB and more takes 10 ms longer.
#[test]
fn stalls_of_any_length_and_probability_are_found() {
    let scratch = tempfile::tempdir().unwrap();
    let measure = |machine: &str, grid: &str| -> Irregular {
        let out = scratch.path().join(format!("{machine}{}", grid.len()));
        let machine = data(&format!("irregular-{machine}.json"));
        let words = format!(
            "irregular --simulate --simulated-model {} {grid} --calls 60 --budget none --out",
            machine.display()
        );
        collrules(&words, &out).exits(0);
        serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap()
    };
    let kib = |size: u64| Bytes(size << 10);
    for (machine, levels) in
        [("always", &[(0.2, 1.0)][..]), ("50ms", &[(0.05, 0.3)]), ("600ms", &[(0.2, 0.25), (0.6, 0.1)])]
    {
        for grid in ["--ops gather", "--ops gather --sizes 8K:64K"] {
            let found = measure(machine, grid);
            let range = found.stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap();
            let ends = (range.quiet_below, range.first, range.last);
            assert_eq!(ends, (Some(kib(4)), kib(8), kib(64)), "{machine} {grid}");
            assert!(range.cures.iter().any(|cure| cure.longest == Some(kib(4))), "{machine} {grid}");
            let is_point = |calls: &&CallTimes| (calls.cell.bytes, calls.candidate) == (kib(16), Candidate::Builtin);
            let point = found.points.iter().find(is_point).unwrap();
            for (more, probability) in levels {
                let of_length = |level: &&StallLevel| (level.more.0 / more - 1.0).abs() < 0.05;
                let share = point.levels.iter().find(of_length).unwrap().probability;
                let reach = 0.1;
                assert!(share.low.unwrap() - reach < *probability && *probability < share.high.unwrap() + reach);
            }
        }
    }
    for grid in ["--ops scatter", "--ops scatter --sizes 4K:128K"] {
        let found = measure("leap", grid);
        let of_default = |step: &&Jump| step.candidate == Candidate::Builtin;
        let leaps: Vec<&Jump> = found.steps.iter().filter(of_default).collect();
        let [leap] = leaps[..] else { panic!("{leaps:?}") };
        assert_eq!((leap.below, leap.above), (kib(64), kib(128)), "{grid}");
        assert!((leap.height.0 / 0.01 - 1.0).abs() < 0.05 && leap.cured.is_some(), "{leap:?}");
    }
}

/// Alltoalls alone once had nothing to measure. With a model of the machine, stalls of all calls of all sizes are found, and a
/// run is resumed by the command that began it.
#[test]
fn all_calls_of_an_alltoall_stall() {
    let scratch = tempfile::tempdir().unwrap();
    let mut machine: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(data("irregular-always.json")).unwrap()).unwrap();
    let planted = &mut machine["planted"][0];
    (planted["collective"], planted["algorithm"]) = ("alltoall".into(), serde_json::Value::Null);
    (planted["from"], planted["to"], planted["more"]) = (0.into(), (8 << 20).into(), 0.05.into());
    let file = scratch.path().join("machine.json");
    fs::write(&file, machine.to_string()).unwrap();
    let simulated = format!("--simulate --simulated-model {} --budget none", file.display());
    let model = scratch.path().join("model");
    collrules(&format!("model {simulated} --calls 20 --out"), &model).exits(0);
    let found = |words: &str, name: &str| -> Irregular {
        let out = scratch.path().join(name);
        collrules(&format!("irregular {words}"), &out).exits(0);
        serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap()
    };
    let words = format!("--ops alltoall --sizes 2K,4K --calls 40 {simulated}");
    assert_eq!(found(&format!("{words} --out"), "without").stalls, []);
    let with = format!("--model {}", model.display());
    let stalls = found(&format!("{words} {with} --out"), "with").stalls;
    let of_default = stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap();
    assert_eq!((of_default.collective, of_default.quiet_below), (Collective::Alltoall, None));
    assert!(stalls.iter().any(|range| range.candidate == Candidate::Mockup(Mockup::Pattern(MockupPattern::Alltoallv))));
    assert_eq!(found(&format!("{with} --resume"), "with").stalls, stalls);
    collrules("model --resume", &scratch.path().join("with")).exits(2).complains("`collrules lab irregular --resume");
}

/// Sizes at which no pieces were timed are not handed to programs, and a header of before is taken away.
#[test]
fn no_header_is_written_without_timed_pieces() {
    let scratch = tempfile::tempdir().unwrap();
    let machine = stalling_machine();
    let out = scratch.path().join("run");
    let words =
        format!("irregular {machine} --ops gather,scatter --sizes 4K:128K --launches 2 --calls 60 --budget none --out");
    collrules(&words, &out).exits(0);
    assert!(out.join("hmpi.h").exists());
    let samples = out.join("samples.csv");
    let text = fs::read_to_string(&samples).unwrap();
    let kept: String = text.split_inclusive('\n').filter(|line| !line.contains(",split:")).collect();
    assert!(kept.len() < text.len(), "pieces were timed");
    fs::write(&samples, kept).unwrap();
    crate::reseal::reseal(&out);
    collrules("irregular", &out).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    assert!(found.stalls.iter().any(|range| range.candidate == Candidate::Builtin), "{:?}", found.stalls);
    assert!(!out.join("hmpi.h").exists(), "nobody timed its pieces");
}

/// Gathers that stall are in the model, with what they take at small, medium and large sizes, and predictions have their mean.
#[test]
fn the_many_to_one_model_is_fitted_and_asked() {
    let scratch = tempfile::tempdir().unwrap();
    let machine = stalling_machine();
    let out = scratch.path().join("model");
    let words = format!("model {machine} --np 8 --ops gather --sizes 2K:256K --calls 40 --budget none --out");
    collrules(&words, &out).exits(0);
    let model: Model = serde_json::from_str(&fs::read_to_string(out.join("model.json")).unwrap()).unwrap();
    let linear = model.many_to_one.iter().find(|gather| gather.name == "basic_linear").unwrap();
    assert_eq!((linear.quiet_below, linear.last), (Bytes(8 << 10), Bytes(32 << 10)));
    assert!(linear.kappa1.is_some(), "{linear:?}");
    let ask = |size: &str| {
        let words = format!("model predict --op gather --algorithm basic_linear --np 8 --size {size}");
        collrules(&words, &out).exits(0)
    };
    ask("4K").says("and no stalls");
    ask("32K").says("of calls stall; 50 % of calls take at most");
}

/// Every way is called as often as asked for in each launch, gatherv and scatterv among them, and first calls are apart.
#[test]
fn all_calls_that_were_asked_for_are_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("irregular --simulate --sizes 4K,8K --launches 3 --calls 7 --out", &out).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    let first = |calls: &CallTimes| calls.first.map(|first| first.calls);
    assert!(found.points.iter().all(|calls| calls.calls == 18 && first(calls) == Some(3)), "{:?}", found.points);
    for (collective, vector) in
        [(Collective::Gather, MockupPattern::Gatherv), (Collective::Scatter, MockupPattern::Scatterv)]
    {
        let by = Candidate::Mockup(Mockup::Pattern(vector));
        let of = |calls: &&CallTimes| calls.cell.collective == collective && calls.candidate == by;
        assert_eq!(found.points.iter().filter(of).count(), 2, "{vector:?}");
    }
}

/// A way of which the budget left no second call is named, and not left out in silence.
#[test]
fn ways_with_first_calls_alone_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("irregular --simulate --sizes 4K,8K --launches 2 --calls 7 --out", &out).exits(0);
    let samples = out.join("samples.csv");
    let text = fs::read_to_string(&samples).unwrap();
    let is_first = |line: &str| line.split(',').skip(1).take(2).eq(["0", "0"]);
    let keep = |line: &&str| !line.contains(",gather,8,4096,mockup:gatherv,") || is_first(line);
    let kept: String = text.split_inclusive('\n').filter(keep).collect();
    assert!(kept.len() < text.len(), "{text}");
    fs::write(&samples, kept).unwrap();
    crate::reseal::reseal(&out);
    collrules("irregular", &out).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    let gatherv = Candidate::Mockup(Mockup::Pattern(MockupPattern::Gatherv));
    let [(cell, candidate)] = found.only_first[..] else { panic!("{:?}", found.only_first) };
    assert_eq!((cell.bytes, candidate), (Bytes(4 << 10), gatherv));
}

#[test]
fn a_directory_without_a_run_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    collrules("irregular", scratch.path()).exits(3);
}

/// Every byte of gathers and scatters in pieces arrives, for sizes that do not divide.
#[cfg(feature = "mpi")]
#[test]
fn gathers_and_scatters_in_pieces_move_every_byte() {
    use std::path::Path;
    use std::process::Command;

    use crate::support::{Ran, prepare, skip, under_each_release};

    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hmpi/check.c");
        // It is a header for C++ too, and silent where a program uses one of its functions alone.
        for (compiler, name) in [("mpicc", "one.c"), ("mpicxx", "one.cc")] {
            let one = scratch.path().join(name);
            let header = source.with_file_name("hmpi.h");
            fs::write(&one, format!("#include \"{}\"\nint main() {{ return 0; }}\n", header.display())).unwrap();
            let mut compile = Command::new(mpi.compiler(compiler));
            // Open MPI's own bindings for C++ have warnings.
            compile.args(["-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-c", "-o"]);
            compile.arg(scratch.path().join("one.o")).arg(&one);
            if let Ok(compiled) = compile.output() {
                Ran::from(compiled).exits(0);
            }
        }
        // With the sizes that were measured, and with odd ones.
        for sizes in ["-DMEASURED", "-DODD"] {
            let program = scratch.path().join(format!("check{sizes}"));
            let mut compile = Command::new(mpi.compiler("mpicc"));
            compile.args(["-Wall", "-Wextra", "-Werror", "-O1", sizes, "-o"]).arg(&program).arg(&source);
            let Ok(compiled) = compile.output() else { return skip("no mpicc that compiles the example") };
            Ran::from(compiled).exits(0);
            for ranks in ["1", "3"] {
                let mut command = Command::new(&mpi.mpirun);
                prepare(&mut command);
                command.args(["--oversubscribe", "-np", ranks]).arg(&program);
                Ran::from(command.output().unwrap()).exits(0).says("0 bytes are wrong");
            }
        }
    });
}

/// Single calls that ReproMPI timed, of which every third one of 8 to 64 KiB waits for 200 ms; its summaries tell nothing.
#[test]
fn imported_calls_are_examined() {
    let scratch = tempfile::tempdir().unwrap();
    let import = |name: &str, rows: &str| {
        let table = scratch.path().join(name);
        fs::write(&table, format!("#@datatype_size_bytes=1\n#@nprocs=8\n#@clocktype=local\n{rows}")).unwrap();
        let out = scratch.path().join(format!("{name}-run"));
        collrules(&format!("import {} --algorithm builtin --out", table.display()), &out).exits(0);
        out
    };
    let mut calls = "test nrep count runtime_sec\n".to_owned();
    for power in 10..=18_u32 {
        for call in 0..150_u32 {
            let stalls = (13..=16).contains(&power) && call % 3 == 0;
            let usual = 20e-6 + 8e-9 * f64::from(1_u32 << power) * (1.0 + 0.002 * f64::from(call % 50));
            let time = usual + if stalls { 0.2 + 1e-5 * f64::from(call) } else { 0.0 };
            calls += &format!("MPI_Gather {call} {} {time:.9}\n", 1_u32 << power);
        }
    }
    let run = import("calls.txt", &calls);
    collrules("irregular", &run).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(run.join("irregular.json")).unwrap()).unwrap();
    let [range] = &found.stalls[..] else { panic!("{:?}", found.stalls) };
    let ends = (range.quiet_below, range.first, range.last);
    assert_eq!(ends, (Some(Bytes(4 << 10)), Bytes(8 << 10), Bytes(64 << 10)));
    let summaries = import(
        "summaries.txt",
        "test count total_nrep valid_nrep mean_sec median_sec min_sec max_sec\nMPI_Gather 8 10 10 1e-5 1e-5 1e-5 1e-5\n",
    );
    collrules("irregular", &summaries).exits(3);
}
