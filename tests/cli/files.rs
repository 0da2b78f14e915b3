//! `explain`, `convert` and `diff`: rules files without MPI.

use std::path::Path;

use serde_json::Value;

use crate::session::{Session, assert_said};
use crate::support::Ran;

/// Sizes that are not listed twice: 6.0 applies them to other communicators.
const SHIFTED: &str = "1 7 3\n2 1\n0 1 0 0\n4 1\n0 6 0 0\n8 1\n0 3 0 0\n";

/// A session with rules files of the examples.
fn session() -> Session {
    let session = Session::new();
    for name in ["classic.conf", "version-2.conf", "tuned.json"] {
        session.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rules").join(name), name);
    }
    session
}

#[test]
fn releases_that_agree_are_explained_together() {
    let session = session();
    session.run("explain classic.conf --op bcast --np 16 --size 64K").exits(0);
    session.run("explain version-2.conf --op barrier --np 4").exits(0);
    assert_said!(session);
}

#[test]
fn what_runs_in_the_end_is_explained() {
    let session = Session::new();
    session.write("rules.conf", "1 0 1\n1 1\n0 3 0 0\n");
    let ran = session.run("explain rules.conf --op allgather --np 6 --size 8 --release 5.0 --json").exits(0);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = &answer["answers"][0];
    assert_eq!(answer["said"], "recursive_doubling");
    assert_eq!(answer["runs"], "bruck");
    assert_eq!(answer["lookup_bytes"], 48);
    assert_eq!(answer["place"]["line"], 3);
    assert!(answer["reasons"][0].as_str().unwrap().contains("a power of two of ranks, not 6"), "{answer}");
}

#[test]
fn a_whole_file_is_a_table() {
    let session = session();
    session.run("explain tuned.json").exits(0);
    assert_said!(session);
}

#[test]
fn a_call_needs_its_size() {
    let session = session();
    for (arguments, code) in [
        ("classic.conf --op bcast --np 4 --in-place", 2),
        ("classic.conf --op bcast --size 4", 2),
        ("classic.conf --op bcast --np 4 --size 7 --type-size 8", 2),
        ("classic.conf --release 7.0", 2),
        ("nowhere.conf", 3),
    ] {
        session.run(&format!("explain {arguments}")).exits(code);
    }
    assert_said!(session);
}

#[test]
fn what_is_left_open_is_shown_in_ranges() {
    let session = session();
    for options in ["--op bcast", "--np 2", "--op bcast --np 8", "--op reduce_scatter"] {
        session.run(&format!("explain tuned.json --release 6.0 {options}")).exits(0);
    }
    assert_said!(session);
}

#[test]
fn results_that_would_be_wrong_are_told() {
    let session = Session::new();
    session.write("rules.conf", "1 2 1\n1 1\n0 4 0 0\n");
    for options in ["--size 8K", "--size 8K --non-commutative", "--size 0"] {
        session.run(&format!("explain rules.conf --op allreduce --np 4 --release 5.0 {options}")).exits(0);
    }
    assert_said!(session);
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let session = Session::new();
    session.write("rules\u{1b}[2J.conf", "1 7 1\n1 1\n8 1 0 0\n");
    for command in ["check", "check --format short", "explain", "convert --to json", "diff /dev/null"] {
        let ran = session.run(&format!("{command} rules\u{1b}[2J.conf"));
        let said = ran.stdout + &ran.stderr;
        assert!(!said.contains('\u{1b}'), "{command}: {said:?}");
    }
}

#[test]
fn conversions_keep_the_meaning_and_name_what_they_lose() {
    let session = session();
    let ran = session.run("convert --to json --out rules.json classic.conf").exits(0);
    assert_eq!(ran.stdout, "");
    session.run("diff classic.conf rules.json").exits(0);
    session.run("convert --to json --out rules.json classic.conf").exits(6);
    session.run("convert --to classic version-2.conf").exits(0);
    assert_said!(session);
}

#[test]
fn a_file_that_releases_read_differently_needs_a_release() {
    let session = Session::new();
    session.write("rules.conf", SHIFTED);
    session.run("convert --to json rules.conf").exits(3);
    session.run("convert --to json --release 5.0 rules.conf").exits(0);
    assert_said!(session);
}

#[test]
fn hazards_are_written_with_a_warning() {
    let session = Session::new();
    session.write("rules.conf", "1 6 1\n1 1\n0 5 0 0\n");
    let ran = session.run("convert --to v2 rules.conf").exits(0);
    assert!(ran.stdout.starts_with("rule-file-version-2\n"), "{}", ran.stdout);
    assert_said!(session);
}

#[test]
fn differences_are_the_cells_and_the_exit_code() {
    let session = Session::new();
    session.write("one.conf", "1 7 1\n1 2\n0 1 0 0\n1024 6 0 0\n");
    session.write("other.conf", "# the same, but for the threshold\n1 7 1\n1 2\n0 1 0 0\n4096 6 0 0\n");
    session.write("bad.conf", "1 7 1\n1 1\n8 1 0 0\n");
    session.run("diff one.conf one.conf").exits(0);
    session.run("diff one.conf other.conf").exits(1);
    let ran = session.run("diff one.conf other.conf --release 5.0 --json").exits(1);
    let groups: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(groups[0]["differences"][0]["sizes"]["end"], 4096);
    assert_eq!(groups[0]["differences"][0]["right"]["algorithm"], 1);
    session.run("diff one.conf bad.conf").exits(3);
    session.run("diff one.conf none").exits(3);
    // Sizes that releases read differently differ from the same by 6.0 only.
    session.write("one.conf", SHIFTED);
    session.write("other.conf", "1 7 4\n4 1\n0 1 0 0\n4 1\n0 6 0 0\n8 1\n0 6 0 0\n8 1\n0 3 0 0\n");
    session.run("diff one.conf other.conf --release 5.0 --release 4.1.4").exits(0);
    session.run("diff one.conf other.conf").exits(1);
    assert_said!(session);
}

/// A run directory stands for all its rules.
#[test]
fn the_rules_of_a_run_are_all_checked_and_explained() {
    let session = Session::new();
    std::fs::create_dir(session.path("run")).unwrap();
    session.write("run/rules.conf", "1 7 1\n1 1\n0 6 0 0\n");
    let han = |algorithm: &str| format!("1\nbcast\n1\nglobal_communicator\n1\n1 1\n0 {algorithm}\n");
    session.write("run/han.conf", han("tuned"));
    let answer = |arguments: &str, code: i32| -> Value {
        let ran: Ran = session.command(arguments).output().unwrap().into();
        serde_json::from_str(&ran.exits(code).stdout).unwrap()
    };
    let explained = answer("explain --json --release 5.0 --op bcast --np 8 --size 4K run", 0);
    let names: Vec<&str> = explained.as_array().unwrap().iter().map(|it| it["file"].as_str().unwrap()).collect();
    assert_eq!(names, ["run/rules.conf", "run/han.conf"]);
    assert_eq!(answer("check --json --release 5.0 run", 0)["files"].as_array().unwrap().len(), 2);
    session.write("run/han.conf", han("nothing"));
    answer("check --json --release 5.0 run", 1);
}

/// The commands on rules files know what a file is for.
#[test]
fn files_for_han_are_checked_explained_and_compared() {
    let session = Session::new();
    let text = "1\nbcast\n1\nglobal_communicator\n2\n1 1\n0 han\n8 2\n0 han\n2048 tuned\n";
    session.write("han.conf", text);
    session.write("other.conf", text.replace("2048", "4096"));
    session.write("numbers.conf", text.replace("tuned", "3"));
    session.write("rules.conf", "1 7 1\n1 1\n0 6 0 0\n");
    for (arguments, code) in [
        ("check --release 5.0 han.conf", 0),
        ("explain --release 5.0 --op bcast --np 8 --size 4K han.conf", 0),
        ("explain --release 5.0 han.conf", 0),
        ("diff han.conf other.conf", 1),
        ("diff han.conf han.conf", 0),
        ("convert --to classic han.conf", 3),
        ("diff rules.conf han.conf", 3),
        ("check --release 5.0 numbers.conf", 1),
    ] {
        session.run(arguments).exits(code);
    }
    assert_said!(session);
}
