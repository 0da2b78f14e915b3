//! One clear message and a documented exit code for everything that users get wrong.

use std::fs;
use std::path::Path;

use crate::support::{Ran, bounded, collrules, data};

fn run(arguments: &str) -> Ran {
    bounded().args(arguments.split_whitespace()).output().unwrap().into()
}

#[test]
fn an_unknown_operation_lists_the_known_ones() {
    let ran = run("tune --ops bcast,brodcast --simulate").exits(2);
    ran.complains("unknown collective `brodcast`");
    ran.complains("bcast, exscan, gather");
}

#[test]
fn sizes_that_leave_nothing_to_measure_are_refused() {
    let ran = run("tune --ops allreduce --sizes 1,2 --simulate").exits(2);
    ran.complains("nothing to measure: allreduce on 2 ranks at 1B: the message is no multiple of the 4 B of MPI_INT");
}

#[test]
fn sizes_counts_and_times_have_to_make_sense() {
    for (arguments, complaint) in [
        ("tune --sizes 1:x", "`x` is not a size"),
        ("tune --sizes 8:1", "8B is larger than 1B"),
        ("tune --sizes 0", "sizes begin at 1"),
        ("tune --np 0", "`0` is not a number of ranks"),
        ("tune --np two", "`two` is not a number of ranks"),
        ("tune --budget soon", "`soon` is not a time"),
        ("tune --min-gain 300", "not a percentage"),
        ("tune --simulate --np 1", "--np begins at 2"),
        ("tune --simulate --simulated-slots 4294967295", "more than can be simulated here"),
        ("tune --mpirun-args 'a", "cannot be split"),
        ("analyze nowhere.csv", "a table needs a directory"),
    ] {
        run(arguments).exits(2).complains(complaint);
    }
}

#[test]
fn more_ranks_than_slots_are_refused() {
    let ran = run("tune --simulate --simulated-slots 4 --np 2,8").exits(4);
    ran.complains("8 ranks are wanted, but there are 4 slots");
    ran.complains("--oversubscribe");
}

#[test]
fn a_missing_mpirun_is_named() {
    run("tune --mpirun /nowhere/mpirun").exits(4).complains("no `/nowhere/mpirun` found");
    let ran: Ran = bounded().arg("tune").env("PATH", "/nowhere").output().map_or_else(
        // With such a PATH even `timeout` is not found by name.
        |_| {
            std::process::Command::new(env!("CARGO_BIN_EXE_collrules"))
                .arg("tune")
                .env("PATH", "/nowhere")
                .output()
                .unwrap()
                .into()
        },
        Into::into,
    );
    let ran = ran.exits(4);
    ran.complains("no `mpirun` found");
    ran.complains("apt-get install openmpi-bin");
}

#[test]
fn another_mpirun_is_refused() {
    run("tune --mpirun /bin/echo").exits(4).complains("is not Open MPI's mpirun");
}

#[test]
fn a_directory_with_a_run_is_never_overwritten() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 2 --sizes 1K --out", &out).exits(0);
    let before = fs::read(out.join("samples.csv")).unwrap();
    let ran = collrules("tune --simulate --np 2 --sizes 1K --out", &out).exits(6);
    ran.complains("already holds");
    ran.complains("choose another --out");
    let table = data("thin-barrier-approx.csv");
    let ran: Ran = bounded().arg("analyze").arg(table).arg("--out").arg(&out).output().unwrap().into();
    ran.exits(6).complains("already holds");
    assert_eq!(fs::read(out.join("samples.csv")).unwrap(), before);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    collrules("tune --simulate --np 2 --sizes 1K --out", &file).exits(6).complains("is not a directory");
    let below = file.join("run");
    collrules("tune --simulate --np 2 --sizes 1K --out", &below).exits(6).complains("cannot write");
}

#[test]
fn inputs_that_cannot_be_used_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let analyze = |input: &Path| -> Ran {
        bounded().arg("analyze").arg(input).arg("--out").arg(scratch.path().join("out")).output().unwrap().into()
    };
    analyze(Path::new("nowhere.csv")).exits(3).complains("cannot open nowhere.csv");
    let table = scratch.path().join("table.csv");
    for (text, complaint) in [
        ("", "table.csv"),
        ("a,b\n1,2\n", "collective"),
        ("collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nbcast,0,4,8,none\n", "line 2"),
        ("\u{1f}\u{8b}not really packed", "table.csv"),
    ] {
        fs::write(&table, text).unwrap();
        analyze(&table).exits(3).complains(complaint);
    }
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    collrules("analyze", &empty).exits(3).complains("holds no manifest.json");
}

#[test]
fn a_damaged_run_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 2 --sizes 1K --out", &out).exits(0);
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    fs::remove_file(out.join("findings.json")).unwrap();

    // The end of a run that was cut off in the middle of a line.
    fs::write(out.join("samples.csv"), &samples[..samples.len() - 7]).unwrap();
    collrules("analyze", &out).exits(0).complains("incomplete and left out");
    fs::remove_file(out.join("findings.json")).unwrap();
    fs::write(out.join("samples.csv"), samples.replace("builtin", "builtout")).unwrap();
    collrules("analyze", &out).exits(3).complains("builtout");
    fs::write(out.join("samples.csv"), samples.replace("samples 1.0", "samples 2.0")).unwrap();
    collrules("analyze", &out).exits(3);

    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    fs::write(out.join("manifest.json"), manifest.replace("\"major\": 1", "\"major\": 2")).unwrap();
    collrules("analyze", &out).exits(3).complains("has format 2.0");
    fs::write(out.join("manifest.json"), "{").unwrap();
    collrules("analyze", &out).exits(3).complains("manifest.json");
}

#[test]
fn a_rules_file_that_open_mpi_would_reject_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, "1\n7\n1\n4 1\n100 6 0 0\n").unwrap();
    collrules("verify", &file).exits(3).complains("Open MPI does not take");
    collrules("verify", &scratch.path().join("none")).exits(3).complains("cannot open");
}
