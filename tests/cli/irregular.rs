//! Calls that stall, or do not.

use std::fs;

use collrules_record::irregular::{Calls, Irregular};
use collrules_record::mockup::Pattern;
use collrules_record::{Candidate, Mockup};
use collrules_rules::Collective;

use crate::support::collrules;

/// The samples of a simulated run, in which every third call of the builtin gather of 32 KiB takes 200 ms longer.
#[test]
fn planted_stalls_are_found_and_cured() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let ran = collrules("irregular --simulate --ops gather --sizes 4K:128K --launches 2 --out", &out).exits(0);
    ran.says("No call stalls");
    let file = out.join("samples.csv");
    let text = fs::read_to_string(&file).unwrap();
    let mut turn = 0;
    let stalled: Vec<String> = text
        .lines()
        .map(|line| {
            let mut values: Vec<String> = line.split(',').map(str::to_owned).collect();
            let is_gather = line.contains(",gather,8,32768,builtin,");
            turn += usize::from(is_gather);
            if is_gather && turn % 3 == 0 {
                // The times are the three columns after the candidate.
                for value in &mut values[7..10] {
                    *value = (value.parse::<f64>().unwrap() + 0.2 + f64::from(turn as u32 % 10) * 1e-3).to_string();
                }
            }
            values.join(",")
        })
        .collect();
    fs::write(&file, stalled.join("\n") + "\n").unwrap();
    let ran = collrules("irregular", &out).exits(0);
    ran.says("gather by the builtin on 8 ranks stalls from 32KiB to 32KiB (up to 16KiB none)");
    ran.says("TCP's timeout");
    ran.says("What helps best is ");
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    let [range] = &found.stalls[..] else { panic!("{:?}", found.stalls) };
    assert_eq!(range.pieces, Some(2));
    assert!(range.cures.iter().all(|cure| cure.mean.1 < cure.mean.0 && cure.p99.1 < cure.p99.0));
    assert!(fs::read_to_string(out.join("irregular.md")).unwrap().contains("| cell | by | calls |"));
    let page = fs::read_to_string(out.join("irregular.html")).unwrap();
    assert!(page.contains("Some calls take many times as long") && page.contains("99th percentile"), "{page}");
    let header = fs::read_to_string(out.join("hmpi.h")).unwrap();
    assert!(header.contains("#define HMPI_M1 16384\n#define HMPI_M2 32768\n"), "{header}");
}

/// Every way is called as often as asked for in each launch, gatherv and scatterv among them, and first calls are apart.
#[test]
fn all_calls_that_were_asked_for_are_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let ran = collrules("irregular --simulate --sizes 4K,8K --launches 3 --calls 7 --out", &out).exits(0);
    ran.says("The first timed call of a launch");
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    let first = |calls: &Calls| calls.first.map(|first| first.calls);
    assert!(found.points.iter().all(|calls| calls.calls == 18 && first(calls) == Some(3)), "{:?}", found.points);
    for (collective, vector) in [(Collective::Gather, Pattern::Gatherv), (Collective::Scatter, Pattern::Scatterv)] {
        let by = Candidate::Mockup(Mockup::Pattern(vector));
        let of = |calls: &&Calls| calls.cell.collective == collective && calls.candidate == by;
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
    let ran = collrules("irregular", &out).exits(0);
    ran.says("Only the first call of each launch was timed of gather on 8 ranks at 4KiB by gatherv");
    let found: Irregular = serde_json::from_str(&fs::read_to_string(out.join("irregular.json")).unwrap()).unwrap();
    assert_eq!(found.only_first.len(), 1);
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
        // With the sizes that were measured, and with odd ones.
        for sizes in ["-DMEASURED", "-DODD"] {
            let program = scratch.path().join(format!("check{sizes}"));
            let mut compile = Command::new("mpicc");
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
