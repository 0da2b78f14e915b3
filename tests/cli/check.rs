//! `collrules check`: what is shown, and what the exit code says.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Ran, bounded, collrules};

const GOOD: &str = "1 # collective\n7 1 # bcast\n0 1\n 0 6 0 0\n";
const WARNED: &str = "1\n7 1\n64 1\n 0 6 0 0\n";
const NOTED: &str = "1\n7 1\n0 1\n 0 3 0 1024\n";
const BAD: &str = "1\n7 1\n0 2\n 0 6 0 0\n 1K 99 0 0\n";

fn check(arguments: &str, text: &str) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, text).unwrap();
    collrules(&format!("check {arguments}"), &file)
}

#[test]
fn the_exit_code_says_whether_the_file_is_put_up_with() {
    check("", GOOD).exits(0).says("no problems; accepted by all versions checked");
    check("--deny notes", GOOD).exits(0);
    check("", WARNED).exits(0).says("1 warning; accepted");
    check("--deny warnings", WARNED).exits(1);
    check("--deny warnings", NOTED).exits(0);
    check("--deny notes", NOTED).exits(1);
    check("", BAD).exits(1);
    bounded().args(["check", "nowhere.conf"]).output().map(Ran::from).unwrap().exits(3).complains("cannot open");
    check("--release 3.0", GOOD).exits(2).complains("4.0, 4.1, 5.0, 6.0");
}

#[test]
fn problems_are_shown_with_their_place() {
    let ran = check("", BAD).exits(1);
    ran.says("rules.conf:5:2]");
    ran.says("1K 99 0 0");
    ran.says("╰── broken number");
    ran.says("Write plain decimal digits.");
    assert!(!ran.stdout.contains('\u{1b}'), "colours in a pipe:\n{}", ran.stdout);
    assert!(
        ran.stdout.lines().all(|line| line.chars().count() <= 100 || line.contains("rules.conf")),
        "{}",
        ran.stdout
    );
}

#[test]
fn bytes_that_are_no_text_are_shown_as_well() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    let long = format!("{{\"collectives\": {{\"\u{e9}{}\": 1, \"\x1b[2J\": []}}}}", "x".repeat(300));
    for text in [&b"\xff\x1b[31m\x00 1K\r2\r\n\xc3"[..], b"", b"\n\n\n", b"{", "é 7 é\n".as_bytes(), long.as_bytes()]
    {
        fs::write(&file, text).unwrap();
        let ran = collrules("check", &file).exits(1);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    }
}

/// A made file as a table of winners gives it: per-rank sizes, and an algorithm that does not exist, again and again.
#[test]
fn problems_of_one_cause_are_told_once() {
    let mut text = "1\n3 20\n".to_owned();
    for ranks in 2..22 {
        text += &format!("{ranks} 3\n 0 0 0 0\n 1 99 0 0\n 64 98 0 0\n");
    }
    let ran = check("--release 5.0", &text).exits(1);
    assert!(ran.stdout.trim_start().contains("rules.conf: 40 errors"), "{}", ran.stdout);
    assert!(ran.stdout.find("40 errors") < ran.stdout.find("no alltoall algorithm"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("there is no alltoall algorithm").count(), 1, "{}", ran.stdout);
    ran.says("CR407 (no such algorithm) also at 6:2, 9:2, 10:2");
    ran.says("and 31 more, which --format short lists");
    let short = check("--release 5.0 --format short", &text).exits(1);
    assert_eq!(short.stdout.matches("CR407").count(), 40, "{}", short.stdout);
    assert!(short.stdout.lines().next().unwrap().ends_with(":5:2: CR407 there is no alltoall algorithm 99"));
    check("--format short", GOOD).exits(0);
    check("--format short --json", GOOD).exits(2);
}

#[test]
fn releases_are_chosen() {
    let sparbit = "1\n0 1\n0 1\n 0 7 0 0\n";
    check("--release 4.1", sparbit).exits(1).says("there is no allgather algorithm 7");
    check("--release 5.0", sparbit).exits(0);
    check("--release 4.1 --release 5.0.3", sparbit).exits(1).says("Concerns 4.1.8 and later.");
}

#[test]
fn json_is_one_object() {
    let ran = check("--json", BAD).exits(1);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = value["files"][0]["problems"].as_array().unwrap();
    let broken = problems.iter().find(|problem| problem["code"] == "CR101").unwrap();
    assert_eq!(broken["at"]["line"], 5);
    assert_eq!(broken["at"]["column"], 2);
    assert_eq!(broken["severity"], "error");
    assert!(value["summary"]["errors"].as_u64().unwrap() > 0);
    let value: Value = serde_json::from_str(&check("--json", GOOD).exits(0).stdout).unwrap();
    assert_eq!(value["summary"]["errors"], 0);
}

#[test]
fn standard_input_is_a_file() {
    let mut child = bounded()
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(BAD.as_bytes()).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.exits(1).says("standard input:5:2");
}
