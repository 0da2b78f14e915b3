//! `explain`, `convert` and `diff`: rules files without MPI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, bounded, collrules};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rules").join(name)
}

/// A subcommand with a file in the middle of its arguments.
fn on(command: &str, file: &Path, more: &str) -> Ran {
    bounded().args(command.split_whitespace()).arg(file).args(more.split_whitespace()).output().unwrap().into()
}

/// Sizes that are not listed twice: 6.0 serves other communicators.
const SHIFTED: &str = "1 7 3\n2 1\n0 1 0 0\n4 1\n0 6 0 0\n8 1\n0 3 0 0\n";

#[test]
fn releases_that_agree_are_explained_together() {
    let ran = on("explain", &example("classic.conf"), "--op bcast --np 16 --size 64K").exits(0);
    ran.says("every release of Open MPI: looks up 64KiB (65536 bytes)");
    ran.says("classic.conf:18: 32768 3 0 8192 # from 32 KiB");
    ran.says("runs pipeline, 8KiB segments");
    let ran = on("explain", &example("version-2.conf"), "--op barrier --np 4").exits(0);
    ran.says("Open MPI 4.0, 4.1.0 to 4.1.7, 5.0.0 to 5.0.6: rejects");
    ran.says("Open MPI 4.1.8 and later, 5.0.7 and later, 6.0: looks up 0B");
}

#[test]
fn what_runs_in_the_end_is_explained() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, "1 0 1\n1 1\n0 3 0 0\n").unwrap();
    let ran = on("explain", &file, "--op allgather --np 6 --size 8 --release 5.0 --json").exits(0);
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
    let ran = collrules("explain", &example("tuned.json")).exits(0);
    ran.says("Open MPI 4.0, 4.1, 5.0: rejects");
    ran.says("8 ranks and more less than 32KiB less than 32KiB binomial");
    ran.says("scatter any number of ranks any size any size basic_linear");
}

#[test]
fn a_call_needs_its_size() {
    on("explain", &example("classic.conf"), "--op bcast --np 4 --in-place").exits(2).complains("give --size");
    on("explain", &example("classic.conf"), "--op bcast --size 4").exits(2);
    on("explain", &example("classic.conf"), "--release 7.0").exits(2).complains("4.0, 4.1, 5.0, 6.0");
    on("explain", Path::new("nowhere.conf"), "").exits(3).complains("cannot open nowhere.conf");
}

#[test]
fn what_is_left_open_is_shown_in_ranges() {
    let shown = |more: &str| on("explain", &example("tuned.json"), &format!("--release 6.0 {more}")).exits(0);
    let bcast = shown("--op bcast");
    bcast.says("8 ranks and more less than 32KiB");
    assert!(!bcast.stdout.contains("\nscatter"), "{}", bcast.stdout);
    let two = shown("--np 2");
    two.says("scatter any number of any size any size basic_linear ranks");
    assert!(!two.stdout.contains("8 ranks and more"), "{}", two.stdout);
    shown("--op bcast --np 8").says("8 ranks and more less than 32KiB");
    shown("--op reduce_scatter").says("leaves every reduce_scatter to Open MPI");
}

#[test]
fn results_that_would_be_wrong_are_told() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, "1 2 1\n1 1\n0 4 0 0\n").unwrap();
    let call = "--op allreduce --np 4 --release 5.0";
    on("explain", &file, &format!("{call} --size 8K")).exits(0).says("runs ring");
    let wrong = on("explain", &file, &format!("{call} --size 8K --non-commutative")).exits(0);
    wrong.says("runs ring, with a WRONG RESULT: it reorders operands, and this operation does not commute");
    on("explain", &file, &format!("{call} --size 0")).exits(0).says("runs nothing: without data, MPI returns before");
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules\u{1b}[2J.conf");
    fs::write(&file, "1 7 1\n1 1\n8 1 0 0\n").unwrap();
    for command in ["check", "check --format short", "explain", "convert --to json", "diff /dev/null"] {
        let ran = on(command, &file, "");
        let said = ran.stdout + &ran.stderr;
        assert!(!said.contains('\u{1b}'), "{command}: {said:?}");
    }
}

#[test]
fn conversions_keep_the_meaning_and_name_what_they_lose() {
    let scratch = tempfile::tempdir().unwrap();
    let json = scratch.path().join("rules.json");
    let ran = on("convert --to json --out", &json, example("classic.conf").to_str().unwrap()).exits(0);
    assert_eq!(ran.stdout, "");
    ran.complains("comments are left out");
    ran.complains("the file is for Open MPI 6.0");
    on("diff", &example("classic.conf"), json.to_str().unwrap()).exits(0).says("both files decide every call alike");
    on("convert --to json --out", &json, example("classic.conf").to_str().unwrap()).exits(6).complains("cannot write");

    let ran = on("convert --to classic", &example("version-2.conf"), "").exits(0);
    ran.complains("version-2.conf:15: the bound of 8 requests of this alltoall rule is left out; its calls change");
    ran.complains("calls change in every release of Open MPI: alltoall for 16 ranks and more");
}

#[test]
fn a_file_that_releases_read_differently_needs_a_release() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, SHIFTED).unwrap();
    let ran = on("convert --to json", &file, "").exits(3);
    ran.complains(
        "bcast on 2 ranks, looked up as 0B, gets basic_linear in Open MPI 5.0.7 and later, and binomial in 6.0",
    );
    ran.complains("--release");
    on("convert --to json --release 5.0", &file, "").exits(0).says("\"comm_size_min\": 4, \"comm_size_max\": 7");
}

#[test]
fn hazards_are_written_with_a_warning() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("rules.conf");
    fs::write(&file, "1 6 1\n1 1\n0 5 0 0\n").unwrap();
    let ran = on("convert --to v2", &file, "").exits(0);
    ran.complains("warning: barrier 5/0/0/0 (two_proc)");
    assert!(ran.stdout.starts_with("rule-file-version-2\n"), "{}", ran.stdout);
}

#[test]
fn differences_are_the_cells_and_the_exit_code() {
    let scratch = tempfile::tempdir().unwrap();
    let [one, other, bad] = ["one.conf", "other.conf", "bad.conf"].map(|name| scratch.path().join(name));
    fs::write(&one, "1 7 1\n1 2\n0 1 0 0\n1024 6 0 0\n").unwrap();
    fs::write(&other, "# the same, but for the threshold\n1 7 1\n1 2\n0 1 0 0\n4096 6 0 0\n").unwrap();
    fs::write(&bad, "1 7 1\n1 1\n8 1 0 0\n").unwrap();
    let diff = |left: &Path, right: &Path, more: &str| on("diff", left, &format!("{} {more}", right.display()));
    diff(&one, &one, "").exits(0).says("every release of Open MPI: both files decide every call alike");
    let ran = diff(&one, &other, "").exits(1);
    ran.says("1 range of calls is decided differently");
    ran.says("bcast any number of ranks 1KiB to less than 4KiB binomial basic_linear");
    let ran = diff(&one, &other, "--release 5.0 --json").exits(1);
    let groups: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(groups[0]["differences"][0]["sizes"]["end"], 4096);
    assert_eq!(groups[0]["differences"][0]["right"]["algorithm"], 1);
    diff(&one, &bad, "").exits(3).complains("the first message size of a communicator size must be 0");
    diff(&one, &scratch.path().join("none"), "").exits(3);
    // Sizes that releases read differently differ from the same by 6.0 only.
    fs::write(&one, SHIFTED).unwrap();
    fs::write(&other, "1 7 4\n4 1\n0 1 0 0\n4 1\n0 6 0 0\n8 1\n0 6 0 0\n8 1\n0 3 0 0\n").unwrap();
    diff(&one, &other, "--release 5.0 --release 4.1.4").exits(0);
    diff(&one, &other, "").exits(1).says("Open MPI 6.0: 2 ranges of calls are decided differently");
}

/// The commands on rules files know what a file is for.
#[test]
fn files_for_han_are_checked_explained_and_compared() {
    let scratch = tempfile::tempdir().unwrap();
    let [one, other, tuned] = ["han.conf", "other.conf", "rules.conf"].map(|name| scratch.path().join(name));
    let text = "1\nbcast\n1\nglobal_communicator\n2\n1 1\n0 han\n8 2\n0 han\n2048 tuned\n";
    fs::write(&one, text).unwrap();
    fs::write(&other, text.replace("2048", "4096")).unwrap();
    fs::write(&tuned, "1 7 1\n1 1\n0 6 0 0\n").unwrap();
    let ran = collrules("check --release 5.0", &one).exits(0);
    ran.says("rules for coll/han, no problems; accepted by all versions checked");
    let ran = collrules("explain --release 5.0 --op bcast --np 8 --size 4K", &one).exits(0);
    ran.says("han.conf:10: 2048 tuned");
    ran.says("runs tuned, by its own rules file where there is one");
    collrules("explain --release 5.0", &one).exits(0).says("8 ranks and more less than 2KiB han 2KiB and more tuned");
    let ran = collrules(&format!("diff {}", one.display()), &other).exits(1);
    ran.says("bcast global_communicator 8 ranks and more 2KiB to less than 4KiB tuned han");
    collrules(&format!("diff {}", one.display()), &one).exits(0).says("both files decide every call alike");
    let confused = "this is a rules file for coll/han, which coll_tuned_dynamic_rules_filename does not read";
    collrules("convert --to classic", &one).exits(3).complains(confused);
    collrules(&format!("diff {}", tuned.display()), &one).exits(3).complains(confused);
    fs::write(&other, text.replace("tuned", "3")).unwrap();
    let ran = collrules("check --release 5.0", &other).exits(1);
    ran.says("`3` is no component");
    ran.says("Write the name of a component, not its number");
}
