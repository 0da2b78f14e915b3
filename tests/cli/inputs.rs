//! Values as people write them, options that mean nothing, `-` for a file, and outputs that are whole or not there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, data};

const RULES: &str = "1\n7\n2\n2 1\n0 1 0 0\n8 2\n0 0 0 0\n4096 6 0 0\n";

/// A run as small as they come.
const TUNE: &str = "tune --simulate --np 2 --sizes 1K --no-validate";

#[test]
fn options_that_mean_nothing_are_refused_before_anything_is_measured() {
    let session = Session::new();
    fs::create_dir(session.path("results")).unwrap();
    session.copy(&data("thin-barrier-approx.csv"), "results/barrier.csv");
    session.copy(&data("thin-barrier-approx.csv"), "table.csv");
    for (arguments, code) in [
        ("tune --simulate --refine-width 0.5 --out run", 2),
        ("tune --simulate --refine-width nan --out run", 2),
        ("tune --simulate --budget 1e300s --out run", 2),
        ("tune --simulate --budget 1h30 --out run", 2),
        ("tune --simulate --ops bcast --only scatter:binomial --out run", 2),
        ("plan --simulate --ops bcast --only scatter:binomial", 2),
        ("tune --simulate --np 8:2 --out run", 2),
        ("tune --simulate --np 64 --out run", 4),
        ("tune --simulate --quiet --json --out run", 2),
        ("analyze nowhere", 3),
        ("diff - -", 2),
    ] {
        session.run(arguments).exits(code);
        assert!(!session.path("run").exists(), "{arguments} leaves a directory behind");
    }
    assert_said!(session);
}

#[test]
fn values_may_be_written_as_people_do() {
    let plan = |arguments: &str| {
        let ran = Ran::from(bounded().args(arguments.split(' ')).output().unwrap()).exits(0);
        ran.stdout
    };
    let plain = plan("plan --simulate --ops bcast --np 2,4,8 --sizes 8192,65536 --budget 5400 --json");
    let people = "plan --simulate --ops MPI_Bcast --np 2:8 --sizes 8KB,64k --budget 1h30m --json";
    assert_eq!(plan(people), plain);
    assert!(plain.contains("\"bcast\""), "{plain}");
}

#[test]
fn a_plan_is_a_summary_unless_all_points_are_wanted() {
    let session = Session::new();
    session.run("plan --simulate --ops bcast,barrier --np 2:8 --sizes 1K:4K").exits(0);
    session.run("plan --simulate --ops bcast --np 4 --sizes 1K --verbose").exits(0);
    assert_said!(session);
}

#[test]
fn quiet_runs_say_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let run = |arguments: &str| {
        let ran = bounded().current_dir(scratch.path()).args(arguments.split(' ')).output().unwrap();
        let ran = Ran::from(ran).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{arguments}");
    };
    run(&format!("{TUNE} --quiet --out run"));
    run(&format!("{} -q --out measured", TUNE.replace("tune", "measure")));
    assert!(scratch.path().join("run/rules.conf").exists());
}

#[test]
fn standard_input_and_run_directories_are_files() {
    let session = Session::new();
    session.write("rules.conf", RULES);
    session.given(&format!("{TUNE} --out run"));
    let table = fs::read_to_string(data("thin-barrier-approx.csv")).unwrap();
    let by_name = session.run("explain rules.conf --op bcast --np 8 --size 8K").exits(0).stdout;
    let by_input = session.run_with_input("explain - --op bcast --np 8 --size 8K", RULES).exits(0).stdout;
    assert_eq!(by_input.replace("standard input", "rules.conf"), by_name);
    let by_name = session.run("convert rules.conf --to v2 --release 5.0").exits(0).stdout;
    assert_eq!(session.run_with_input("convert - --to v2 --release 5.0", RULES).exits(0).stdout, by_name);
    session.run_with_input("diff rules.conf -", RULES).exits(0);
    session.run_with_input("analyze - --out analyzed --quiet", &table).exits(0);
    session.run_with_input("lab import - --out imported", &table).exits(0);
    assert!(session.path("analyzed/findings.json").exists() && session.path("imported/samples.csv").exists());
    for command in ["check run", "explain run", "convert run --to json", "diff run run/rules.conf"] {
        session.run(command).exits(0);
    }
}

#[test]
fn a_table_may_be_doubted_without_an_import() {
    let session = Session::new();
    let row = |bytes: u64, time: f64| format!("scatter,1,64,{bytes},{time}\nscatter,0,64,{bytes},{time}\n");
    // 64 blocks of 1 MiB in 1 ms are 66 GB/s.
    let table = format!(
        "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n{}{}",
        row(1 << 10, 50.0),
        row(1 << 20, 1000.0)
    );
    session.write("table.csv", table);
    let cells = |session: &Session, out: &str| crate::support::findings(&session.path(out)).cells.len();
    session.run("analyze table.csv --out kept").exits(0);
    session.run("analyze table.csv --leave-out-flagged --out left").exits(0);
    session.run("analyze table.csv --process-bandwidth 100 --leave-out-flagged --out believed").exits(0);
    assert_eq!(["kept", "left", "believed"].map(|out| cells(&session, out)), [2, 1, 2]);
    session.run("analyze kept --process-bandwidth 9 --out other").exits(2);
}

#[test]
fn names_that_no_setting_can_hold_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(data("thin-barrier-approx.csv"), scratch.path().join("table.csv")).unwrap();
    let name = OsStr::from_bytes(b"caf\xe9");
    for arguments in [format!("{TUNE} --out"), "analyze table.csv --out".into(), "lab import table.csv --out".into()] {
        let mut command = bounded();
        command.current_dir(scratch.path()).args(arguments.split(' ')).arg(name);
        Ran::from(command.output().unwrap()).exits(2);
        assert!(!scratch.path().join(name).exists(), "{arguments}");
    }
}

/// A shell in which no file can grow beyond 512 bytes, as on a full disk.
fn on_a_full_disk(directory: &Path, arguments: &str) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f 1; exec timeout 60 {} {arguments}", env!("CARGO_BIN_EXE_collrules"));
    Ran::from(Command::new("sh").args(["-c", &script]).current_dir(directory).output().unwrap())
}

#[test]
fn outputs_are_written_whole_or_not_at_all() {
    let session = Session::new();
    let many: String = (1..200).map(|size| format!("{} {} 0 0\n", size * 8, 1 + size % 6)).collect();
    session.write("rules.conf", format!("1\n7\n1\n8 200\n0 0 0 0\n{many}"));
    let directory = session.path("");
    on_a_full_disk(&directory, "convert rules.conf --to classic --release 5.0 --out out.conf").exits(6);
    assert!(!session.path("out.conf").exists(), "half a file is left behind");
    session.run("convert rules.conf --to classic --release 5.0 --out out.conf").exits(0);
    let whole = fs::read(session.path("out.conf")).unwrap();
    session.run("convert rules.conf --to json --release 6.0 --out out.conf").exits(6);
    assert_eq!(fs::read(session.path("out.conf")).unwrap(), whole);

    session.run("man --out man").exits(0);
    let page = fs::read(session.path("man/collrules-tune.1")).unwrap();
    on_a_full_disk(&directory, "man --out man").exits(6);
    assert_eq!(fs::read(session.path("man/collrules-tune.1")).unwrap(), page);
    session.run("man --out man").exits(0);
    session.write("man/collrules-diff.1", "notes of mine about collrules\n");
    session.run("man --out man").exits(6);
    assert_eq!(fs::read(session.path("man/collrules-diff.1")).unwrap(), b"notes of mine about collrules\n");
    let left = fs::read_dir(&directory)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().as_bytes().starts_with(b".collrules"));
    assert_eq!(left.count(), 0, "temporary files are left behind");
}

#[test]
fn output_that_nobody_can_have_is_a_failure() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("rules.conf"), RULES).unwrap();
    for arguments in [
        "--help",
        "tune --help",
        "--version",
        "man tune",
        "completions bash",
        "convert rules.conf --to v2 --release 5.0",
        "check rules.conf",
        "plan --simulate --np 2 --json",
        "tune --simulate --np 2 --sizes 1K --no-validate --json --out run",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = bounded();
        command.current_dir(scratch.path()).args(arguments.split(' ')).stdout(full);
        Ran::from(command.output().unwrap()).exits(6);
    }
}

#[test]
fn a_difference_of_many_ranges_is_cut_and_said() {
    let session = Session::new();
    let rules = |first: u64| -> String {
        let rows: String = (0..1500).map(|size| format!("{} {} 0 0\n", size * 8, 1 + (size + first) % 6)).collect();
        format!("1\n7\n1\n8 1500\n{rows}")
    };
    session.write("a.conf", rules(0));
    session.write("b.conf", rules(1));
    session.run("diff a.conf b.conf --release 4.1").exits(1).says("and 500 more ranges, which --json lists");
}

#[test]
fn files_that_are_too_long_for_rules_are_refused() {
    let session = Session::new();
    // Holes take no space, and the time of a check would be minutes.
    fs::File::create(session.path("huge.conf")).unwrap().set_len(1 << 30).unwrap();
    for command in ["check huge.conf", "explain huge.conf", "convert huge.conf --to v2", "diff huge.conf huge.conf"] {
        session.run(command).exits(3).complains("it has more than 64 MiB, which no file of this kind needs");
    }
}
