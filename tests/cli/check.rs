//! `collrules check`: what is shown, and what the exit code says.

use serde_json::Value;

use crate::session::{Session, assert_said};
use crate::support::Ran;

const GOOD: &str = "1 # collective\n7 1 # bcast\n0 1\n 0 6 0 0\n";
const WARNED: &str = "1\n7 1\n64 1\n 0 6 0 0\n";
const NOTED: &str = "1\n7 1\n0 1\n 0 3 0 1024\n";
const BAD: &str = "1\n7 1\n0 2\n 0 6 0 0\n 1K 99 0 0\n";

fn session() -> Session {
    let session = Session::new();
    for (name, text) in [("good.conf", GOOD), ("warned.conf", WARNED), ("noted.conf", NOTED), ("bad.conf", BAD)] {
        session.write(name, text);
    }
    session
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_exit_code_says_whether_the_file_is_put_up_with() {
    let session = session();
    for (arguments, code) in [
        ("good.conf", 0),
        ("--deny notes good.conf", 0),
        ("warned.conf", 0),
        ("--deny warnings warned.conf", 1),
        ("--deny warnings noted.conf", 0),
        ("--deny notes noted.conf", 1),
        ("bad.conf", 1),
        ("nowhere.conf", 3),
        ("--release 3.0 good.conf", 2),
    ] {
        session.run(&format!("check {arguments}")).exits(code);
    }
    assert_said!(session);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_well() {
    let session = Session::new();
    let long = format!("{{\"collectives\": {{\"\u{e9}{}\": 1, \"\x1b[2J\": []}}}}", "x".repeat(300));
    for text in [&b"\xff\x1b[31m\x00 1K\r2\r\n\xc3"[..], b"", b"\n\n\n", b"{", "é 7 é\n".as_bytes(), long.as_bytes()]
    {
        session.write("rules.conf", text);
        let ran = session.run("check rules.conf").exits(1);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    }
    assert_said!(session);
}

/// A made file as a table of winners gives it: per-rank sizes, and an algorithm that does not exist, again and again.
#[test]
fn problems_of_one_cause_are_told_once() {
    let mut text = "1\n3 20\n".to_owned();
    for ranks in 2..22 {
        text += &format!("{ranks} 3\n 0 0 0 0\n 1 99 0 0\n 64 98 0 0\n");
    }
    let session = session();
    session.write("rules.conf", &text);
    let ran = session.run("check --release 5.0 rules.conf").exits(1);
    assert!(ran.stdout.trim_start().contains("rules.conf: 40 errors"), "{}", ran.stdout);
    assert!(ran.stdout.find("40 errors") < ran.stdout.find("no alltoall algorithm"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("there is no alltoall algorithm").count(), 1, "{}", ran.stdout);
    ran.says("CR407 (no such algorithm) also at 6:2, 9:2, 10:2");
    ran.says("and 31 more, which --format short lists");
    let short = session.run("check --release 5.0 --format short rules.conf").exits(1);
    assert_eq!(short.stdout.matches("CR407").count(), 40, "{}", short.stdout);
    assert!(short.stdout.lines().next().unwrap().ends_with(":5:2: CR407 there is no alltoall algorithm 99"));
    session.run("check --format short good.conf").exits(0);
    session.run("check --format short --json good.conf").exits(2);
}

#[test]
fn releases_are_chosen() {
    let session = Session::new();
    session.write("sparbit.conf", "1\n0 1\n0 1\n 0 7 0 0\n");
    session.run("check --release 4.1 sparbit.conf").exits(1);
    session.run("check --release 5.0 sparbit.conf").exits(0);
    session.run("check --release 4.1 --release 5.0.3 sparbit.conf").exits(1);
    assert_said!(session);
}

/// What no version can read is no note, and what a named one cannot read is no warning.
#[test]
fn files_that_cannot_be_read_fail() {
    let session = Session::new();
    session.write("han.conf", "1\nbcast 1\n2 1\n1 1\n0 tuned\n");
    session.write("wrong.conf", "1\nbcast 1\n2 1\n1 1\n0 nothing\n");
    session.write("header.conf", "rule-file-version-2\n1\n7 1\n2 1\n0 5 0 0 4\n");
    session.write("rules.json", r#"{"collectives": {"bcast": [{"comm_size_min": 1, "rules": []}]}}"#);
    for (arguments, code) in [
        ("han.conf", 0),
        ("han.conf --release 4.0", 1),
        ("han.conf --release 4.0,5.0", 1),
        ("han.conf --release 4.1", 0),
        ("wrong.conf", 1),
        ("wrong.conf --release 4.1", 1),
        ("wrong.conf --release 5.0", 1),
        ("wrong.conf --release 6.0", 1),
        ("wrong.conf --format short", 1),
        ("han.conf wrong.conf", 1),
        ("header.conf", 0),
        ("header.conf --release 4.1.7", 1),
        ("header.conf --release 4.1.8", 0),
        ("rules.json", 0),
        ("rules.json --release 5.0", 1),
        ("rules.json --release 6.0", 0),
    ] {
        let ran: Ran = session.command(&format!("check {arguments}")).output().unwrap().into();
        assert_eq!(ran.code, Some(code), "{arguments}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn json_is_one_object() {
    let session = session();
    let value = json(&session.run("check --json bad.conf").exits(1));
    let problems = value["files"][0]["problems"].as_array().unwrap();
    let broken = problems.iter().find(|problem| problem["code"] == "CR101").unwrap();
    assert_eq!(broken["at"]["line"], 5);
    assert_eq!(broken["at"]["column"], 2);
    assert_eq!(broken["severity"], "error");
    assert!(value["summary"]["errors"].as_u64().unwrap() > 0);
    let value = json(&session.run("check --json good.conf").exits(0));
    assert_eq!(value["summary"]["errors"], 0);
}

#[test]
fn standard_input_is_a_file() {
    let session = Session::new();
    session.run_with_input("check -", BAD).exits(1);
    assert_said!(session);
}
