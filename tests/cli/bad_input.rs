//! One clear message and a documented exit code for everything that users get wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::session::{Session, assert_said};
use crate::support::{Ran, data};

/// A run as small as they come.
const TUNE: &str = "tune --simulate --np 2 --sizes 1K --no-validate --out";

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let mut session = Session::new();
    for (arguments, code) in [
        ("tune --ops bcast,brodcast --simulate", 2),
        ("tune --ops allreduce --sizes 1,2 --simulate", 2),
        ("tune --sizes 1:x", 2),
        ("tune --sizes 8:1", 2),
        ("tune --sizes 0", 2),
        ("tune --np 0", 2),
        ("tune --np two", 2),
        ("tune --budget soon", 2),
        ("tune --min-gain 300", 2),
        ("tune --simulate --np 1", 2),
        ("tune --simulate --simulated-slots 4294967295", 2),
        ("tune --mpirun-args 'a", 2),
        ("analyze nowhere.csv", 3),
        ("analyze /dev/null", 2),
        ("tune --simulate --simulated-slots 4 --np 2,8", 4),
    ] {
        session.run(arguments).exits(code);
    }
    assert_said!(session);
}

#[test]
fn a_missing_mpirun_is_named() {
    let mut session = Session::new();
    session.run("tune --mpirun /nowhere/mpirun").exits(4);
    session.write("other", "#!/bin/sh\necho other 1.0\n");
    fs::set_permissions(session.path("other"), fs::Permissions::from_mode(0o755)).unwrap();
    session.run("tune --mpirun ./other").exits(4);
    assert_said!(session);
    // With such a PATH even `timeout` is not found by name.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_collrules"));
    let ran = Ran::from(command.arg("tune").env("PATH", "/nowhere").output().unwrap()).exits(4);
    ran.complains("no `mpirun` found");
    ran.complains("apt-get install openmpi-bin");
}

#[test]
fn a_directory_with_a_run_is_never_overwritten() {
    let mut session = Session::new();
    session.copy(&data("thin-barrier-approx.csv"), "table.csv");
    session.given(&format!("{TUNE} run"));
    let before = fs::read(session.path("run/samples.csv")).unwrap();
    session.run(&format!("{TUNE} run")).exits(6);
    session.run("analyze table.csv --out run").exits(6);
    assert_eq!(fs::read(session.path("run/samples.csv")).unwrap(), before);
    assert_said!(session);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let mut session = Session::new();
    session.write("file", "");
    session.run(&format!("{TUNE} file")).exits(6);
    session.run(&format!("{TUNE} file/run")).exits(6);
    assert_said!(session);
}

#[test]
fn inputs_that_cannot_be_used_are_named() {
    let mut session = Session::new();
    session.run("analyze nowhere.csv --out out").exits(3);
    for text in [
        "",
        "a,b\n1,2\n",
        "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nbcast,0,4,8,none\n",
        "\u{1f}\u{8b}not really packed",
    ] {
        session.write("table.csv", text);
        session.run("analyze table.csv --out out").exits(3);
    }
    fs::create_dir(session.path("empty")).unwrap();
    session.run("analyze empty").exits(3);
    assert_said!(session);
}

#[test]
fn a_damaged_run_is_named() {
    let mut session = Session::new();
    session.given(&format!("{TUNE} run"));
    let samples = fs::read_to_string(session.path("run/samples.csv")).unwrap();
    let analyze = |session: &mut Session, name: &str, text: &str, code| {
        let _ = fs::remove_file(session.path("run/findings.json"));
        session.write(&format!("run/{name}"), text);
        session.run("analyze run --quiet").exits(code);
    };
    // The end of a run that was cut off in the middle of a line.
    analyze(&mut session, "samples.csv", &samples[..samples.len() - 7], 0);
    analyze(&mut session, "samples.csv", &samples.replace("builtin", "builtout"), 3);
    analyze(&mut session, "samples.csv", &samples.replace("samples 1.0", "samples 2.0"), 3);
    let manifest = fs::read_to_string(session.path("run/manifest.json")).unwrap();
    analyze(&mut session, "manifest.json", &manifest.replace("\"major\": 1", "\"major\": 2"), 3);
    analyze(&mut session, "manifest.json", "{", 3);
    assert_said!(session);
}

#[test]
fn a_rules_file_that_open_mpi_would_reject_is_named() {
    let mut session = Session::new();
    session.write("rules.conf", "1\n7\n1\n4 1\n100 6 0 0\n");
    // Which place is named depends on the release that is there.
    session.run("verify rules.conf").exits(3).complains("Open MPI does not accept");
    session.run("verify none").exits(3).complains("cannot open");
}
