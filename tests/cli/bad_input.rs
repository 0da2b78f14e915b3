//! One clear message and a documented exit code for everything that users get wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::session::{Session, assert_said};
use crate::support::{Ran, collrules, data};

/// A run as small as they come.
const TUNE: &str = "tune --simulate --np 2 --sizes 1K --no-validate --out";

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let session = Session::new();
    for (arguments, code) in [
        ("tune --ops bcast,brodcast --simulate", 2),
        ("tune --ops allreduce --sizes 1,2 --simulate", 2),
        ("tune --sizes 1:x", 2),
        ("tune --sizes 8:1", 2),
        ("tune --sizes 0", 2),
        ("tune --np 0", 2),
        ("tune --np two", 2),
        ("tune --budget soon", 2),
        ("tune --budget 0 --simulate", 2),
        ("tune --hang-timeout 0s --simulate", 2),
        ("tune --sync roundtime --clock-bound 0 --simulate", 2),
        ("tune --min-gain 300", 2),
        ("tune --simulate --np 1", 2),
        ("tune --simulate --simulated-slots 4294967295", 2),
        ("tune --mpirun-args 'a", 2),
        ("analyze nowhere.csv", 3),
        ("validate - --simulate", 3),
        ("analyze /dev/null", 2),
        ("tune --simulate --simulated-slots 4 --np 2,8", 4),
    ] {
        session.run(arguments).exits(code);
    }
    assert_said!(session);
}

/// Slips of a hurried administrator: each answer names what was meant.
#[test]
fn slips_are_answered_with_what_was_meant() {
    let session = Session::new();
    session.given(&format!("{TUNE} runs/one"));
    session.given(&format!("{TUNE} one"));
    session.write("report.md", "# Report\n\nOn 4 ranks 12 of 2020 sizes are faster,\nand 3 are slower.\n");
    fs::create_dir_all(session.path("soft/openmpi")).unwrap();
    for (arguments, code) in [
        ("tune --mpirun soft/openmpi", 4),
        ("tune --mpirun 5.0.7", 4),
        ("install one --for soft/openmpi", 4),
        ("port one --to 5.0.8", 4),
        ("install one/rules.conf", 3),
        ("drift one/report.md", 3),
        ("report one/report.html", 3),
        ("report runs", 3),
        ("validate runs --simulate", 3),
        ("status runs", 3),
        ("drift nowhere", 3),
        ("merge one nowhere --out both", 3),
        ("merge one one --out both", 2),
        ("merge one runs/one --out one", 3),
        ("tune --ops bcast;allreduce", 2),
        ("tune --ops allrduce", 2),
        ("tune --sizes 1-64K", 2),
        ("tune --sizes 1k..1M", 2),
        ("tune --sizes 1,024", 2),
        ("tune -np 4", 2),
        ("tune --hostfile hosts", 2),
        ("tune --mca pml ob1", 2),
        ("tune --np 2-8", 2),
        ("tune --budget 1h30", 2),
        ("tune --budget 1hour", 2),
        ("tune --budget 5%", 2),
        ("tune bcast", 2),
        ("plan bcast,allreduce", 2),
        ("tune one", 2),
        ("try one mpirun -np 2 ./app", 2),
        ("profile mpirun -np 2 ./app", 2),
        ("submit tune --ops bcast", 2),
        ("tune --simulate --profile one/findings.json", 3),
        ("tune --simulate --profile prof:abc", 2),
        ("tune --simulate --profile one/findings.json:0", 2),
        ("lab import one --out imported", 3),
        ("submit --system slurm --print --ppn 2 --time 30m -- tune --ops bcst", 2),
        ("submit --system slurm --print --ppn 2 --time 30m -- tune --np 64", 2),
        ("submit --system slurm --print --ppn 2 --time 30m -- mpirun ./app", 2),
        ("check report.md", 1),
        ("convert one --to json --out report.md", 6),
        ("tune --simulate --out one", 6),
        ("measure --simulate --out one", 6),
    ] {
        session.run(arguments).exits(code);
    }
    assert!(!session.path("both").exists());
    assert_said!(session);
}

#[test]
fn a_missing_mpirun_is_named() {
    let session = Session::new();
    session.run("tune --mpirun /nowhere/mpirun").exits(4);
    session.write("other", "#!/bin/sh\necho other 1.0\n");
    fs::set_permissions(session.path("other"), fs::Permissions::from_mode(0o755)).unwrap();
    session.run("tune --mpirun ./other").exits(4);
    assert_said!(session);
    // With such a PATH even `timeout` is not found by name.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_collrules"));
    Ran::from(command.arg("tune").env("PATH", "/nowhere").output().unwrap()).exits(4);
}

#[test]
fn a_directory_with_a_run_is_never_overwritten() {
    let session = Session::new();
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
    let session = Session::new();
    session.write("file", "");
    session.run(&format!("{TUNE} file")).exits(6);
    session.run(&format!("{TUNE} file/run")).exits(6);
    assert_said!(session);
}

#[test]
fn inputs_that_cannot_be_used_are_named() {
    let session = Session::new();
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
    let session = Session::new();
    session.given(&format!("{TUNE} run"));
    let samples = fs::read_to_string(session.path("run/samples.csv")).unwrap();
    let analyze = |session: &Session, name: &str, text: &str, code| {
        let _ = fs::remove_file(session.path("run/findings.json"));
        session.write(&format!("run/{name}"), text);
        session.run("analyze run --quiet").exits(code);
    };
    // The end of a run that was cut off in the middle of a line.
    analyze(&session, "samples.csv", &(samples.clone() + "0,9,2,bcast,2,10"), 0);
    // The end of one that was complete.
    analyze(&session, "samples.csv", &samples[..samples.len() - 7], 3);
    analyze(&session, "samples.csv", &samples.replace("builtin", "builtout"), 3);
    analyze(&session, "samples.csv", &samples.replace("samples 1.", "samples 2."), 3);
    let manifest = fs::read_to_string(session.path("run/manifest.json")).unwrap();
    analyze(&session, "manifest.json", &manifest.replace("\"major\": 1", "\"major\": 2"), 3);
    analyze(&session, "manifest.json", "{", 3);
    assert_said!(session);
}

#[test]
fn a_rules_file_that_open_mpi_would_reject_is_named() {
    let session = Session::new();
    session.write("rules.conf", "1\n7\n1\n4 1\n100 6 0 0\n");
    // Which place is named depends on the release that is there.
    session.run("verify rules.conf").exits(3);
    session.run("verify none").exits(3);
}

/// Samples and findings are worth hours: no report is written over them, whatever `--out` says.
#[test]
fn a_report_never_replaces_what_it_is_made_of() {
    let session = Session::new();
    session.given(&format!("{TUNE} run"));
    session.copy(&session.path("run/findings.json"), "findings.json");
    for name in ["run/findings.json", "run/samples.csv", "run/manifest.json", "run/rules.conf"] {
        let before = fs::read(session.path(name)).unwrap();
        session.run(&format!("report run --format json --out {name}")).exits(6);
        assert_eq!(fs::read(session.path(name)).unwrap(), before, "{name}");
    }
    session.run("report findings.json --format json --out findings.json").exits(6);
    session.run("report run --compare findings.json --format json --out ./findings.json").exits(6);
    session.run("report run --out /nowhere/at/all.html").exits(6);
    session.run("report run --out run/report.html").exits(0);
    assert_said!(session);
}

/// Findings of a later version stay if this one resumes the run.
#[test]
fn findings_of_a_later_format_are_not_replaced() {
    let session = Session::new();
    session.given(&format!("{TUNE} run"));
    let path = session.path("run/findings.json");
    let later = fs::read_to_string(&path).unwrap().replacen("\"major\": 2", "\"major\": 9", 1);
    fs::write(&path, &later).unwrap();
    session.run("tune --resume run").exits(3);
    assert_eq!(fs::read_to_string(&path).unwrap(), later);
}

/// Files that should be small are not read without end.
#[test]
fn files_that_never_end_are_refused() {
    let session = Session::new();
    session.given(&format!("{TUNE} run"));
    for name in ["findings.json", "manifest.json", "launches.jsonl"] {
        let path = session.path("run").join(name);
        let before = fs::read(&path).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_len(300 << 20).unwrap();
        let command = if name == "findings.json" { "report run" } else { "measure --resume run" };
        session.run(command).exits(3);
        fs::write(&path, before).unwrap();
    }
    session.run("report run --compare /dev/zero").exits(3);
    assert_said!(session);
}

/// Names of files and directories may come from anywhere: a terminal obeys none of them.
#[test]
fn no_name_reaches_the_terminal_as_it_is() {
    let session = Session::new();
    // A command for terminals that begins with ESC, and one in a single character.
    let evil = "r\u{1b}[31m\u{9b}5m";
    let run = format!("run-{evil}");
    session.copy(&data("thin-barrier-approx.csv"), &format!("t-{evil}.csv"));
    session.write(&format!("c-{evil}.conf"), "1\n7 1\n0 1\n 0144 1 0 0\n");
    for arguments in [
        format!("{TUNE} {run}"),
        format!("{TUNE} {run}"),
        format!("measure --simulate --np 2 --sizes 1K --out m-{run}"),
        format!("measure --resume m-{run}"),
        format!("tune --resume m-{run} --no-validate"),
        format!("validate {run}"),
        format!("report {run}"),
        format!("report {run} --compare m-{run}"),
        format!("lab guidelines --simulate --ops bcast --np 2 --sizes 1K --budget 2s --out g-{run}"),
        format!("lab guidelines g-{run}"),
        format!("analyze t-{evil}.csv --out a-{run}"),
        format!("analyze {run}"),
        format!("lab import t-{evil}.csv --out i-{run}"),
        format!("check c-{evil}.conf"),
        format!("convert c-{evil}.conf --to json"),
        format!("explain c-{evil}.conf --op bcast --np 4"),
        format!("diff c-{evil}.conf {run}"),
        format!("plan --simulate --np 2 --sizes 1K --out p-{run}"),
    ] {
        let ran = session.run(&arguments);
        let obeyed = |char| matches!(char, '\u{1b}' | '\u{9b}');
        assert!(
            !ran.stdout.contains(obeyed) && !ran.stderr.contains(obeyed),
            "{arguments}\n{}{}",
            ran.stdout,
            ran.stderr
        );
    }
    assert!(!fs::read_to_string(session.path(&run).join("report.md")).unwrap().contains('\u{1b}'));
    let guidelines = session.path(&format!("g-{run}")).join("guidelines.md");
    assert!(!fs::read_to_string(guidelines).unwrap().contains('\u{1b}'));
}

/// A grid of which `--only` leaves nothing is refused before anything is measured.
#[test]
fn the_builtin_alone_is_nothing_to_measure() {
    let session = Session::new();
    for named in [
        "--only bcast:builtin",
        "--only bcast:0",
        "--only bcast:builtin,bcast:0",
        "--only bcast:chan:oak",
        "--only barrier:chan:short --ops barrier",
        "--launches 4294967295",
    ] {
        session.run(&format!("tune --simulate --np 4 {named} --out run")).exits(2);
    }
    assert!(!session.path("run").exists());
    assert_said!(session);
}

/// Calls that do not exist are refused before anything runs, with the option that helps.
#[test]
fn calls_that_do_not_exist_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = |options: &str, why: &str| {
        let arguments = format!("measure --simulate=stale --simulated-slots 4 --sizes 1K {options} --out");
        collrules(&arguments, &scratch.path().join("run")).exits(2).complains(why);
    };
    refused("--buffers in-place --ops bcast,barrier,reduce", "no calls of barrier and bcast in place exist");
    refused("--buffers in-place --ops gather --reference", "leave out --reference");
    refused("--arrival random --ops allgatherv", "give --lateness");
    refused("--arrival random --lateness=-1us --ops bcast", "--lateness");
}
