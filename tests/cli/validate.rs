//! Comparing rules files with nothing, and repairing them.

#[cfg(feature = "mpi")]
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
#[cfg(feature = "mpi")]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use collrules_record::Validation;
#[cfg(feature = "mpi")]
use collrules_record::validation::{Outcome, ValidatedCell};
#[cfg(feature = "mpi")]
use collrules_rules::deploy::{HAN_FILE, params::with_block};
#[cfg(feature = "mpi")]
use collrules_rules::{Collective, Release};

use crate::made_once::DECEIVED;
use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, collrules};
#[cfg(feature = "mpi")]
use crate::support::{alone_under_one_release, means, under_each_release};

fn validation(directory: &Path) -> Validation {
    serde_json::from_str(&fs::read_to_string(directory.join("validation.json")).unwrap()).unwrap()
}

#[cfg(feature = "mpi")]
fn verdicts(validation: &Validation) -> BTreeMap<(u32, u64), Outcome> {
    let place = |cell: &ValidatedCell| ((cell.cell.ranks.0, cell.cell.bytes.0), cell.verdict);
    validation.round.cells.iter().map(place).collect()
}

#[test]
fn programs_are_told_what_happens() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    DECEIVED.at(&out);
    let ran = collrules("validate --json --repair", &out).exits(0);
    let events: Vec<serde_json::Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    assert_eq!((named("validating").len(), &named("validating")[0]["pairs"]), (1, &4.into()));
    assert!(named("arm_block").len() >= 4, "each of four blocks has a launch with the rules and one without");
    let last = named("validated");
    assert_eq!((last.len(), &last[0]["confirmed"]), (1, &true.into()));
    assert!(last[0]["repaired"].as_u64().unwrap() >= 3, "{}", last[0]);
    let ran = Ran::from(
        bounded()
            .args("tune --simulate --np 8 --ops bcast --json --out".split(' '))
            .arg(scratch.path().join("other"))
            .output()
            .unwrap(),
    );
    assert!(ran.exits(0).stdout.contains(r#""event":"validated""#));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let session = Session::new();
    session.write("empty.conf", "0\n");
    session.write("broken.conf", "1\n7\n");
    session.write("rules.conf", "1\n7\n1\n0 1\n0 6 0 0\n");
    for (arguments, code) in [
        ("empty.conf", 2),
        ("broken.conf", 3),
        ("none", 3),
        ("--np 64 rules.conf", 4),
        ("--ops scatter rules.conf", 2),
        ("--pairs 1 rules.conf", 2),
        ("--pairs 1001 rules.conf", 2),
        ("--pairs 4294967295 rules.conf", 2),
    ] {
        session.run(&format!("validate --simulate {arguments}")).exits(code);
    }
    assert_said!(session);
}

/// Reverted ranges are written down next to the findings that they are about, or nowhere.
#[test]
fn results_go_where_they_belong() {
    let scratch = tempfile::tempdir().unwrap();
    let runs = ["one", "other"].map(|name| scratch.path().join(name));
    for run in &runs {
        DECEIVED.at(run);
        collrules("validate", run).exits(8);
    }
    let (one, other) = (runs[0].display(), &runs[1]);
    let before = fs::read(other.join("validation.json")).unwrap();
    collrules(&format!("validate {one} --out"), other).exits(6);
    let apart = scratch.path().join("apart");
    collrules(&format!("validate {one} --repair --out"), &apart).exits(2);
    assert!(!apart.exists());
    // Twice into a directory of its own is no other file; and the run itself may be named.
    for _ in 0..2 {
        collrules(&format!("validate {one} --out"), &apart).exits(8);
    }
    collrules(&format!("validate {} --out", other.display()), &apart).exits(6);
    assert_eq!(fs::read(other.join("validation.json")).unwrap(), before);
    collrules(&format!("validate {one} --repair --out"), &runs[0]).exits(0);
    assert!(!validation(&runs[0]).reverted.is_empty());
}

/// Interrupted while it compares: what is said of the file, and the command that goes on, are right.
#[cfg(unix)]
#[test]
fn an_interruption_says_how_to_resume() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    DECEIVED.at(&out);
    let mut command = Command::new(env!("CARGO_BIN_EXE_collrules"));
    command.args(["validate", "--repair", "--json", "--pairs", "30", "--budget", "4m"]).arg(&out);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begun = lines.by_ref().map(Result::unwrap).any(|line| line.contains(r#""event":"validating""#));
    assert!(begun);
    let pid = child.id().to_string();
    // Not INT, which shells keep from what they start in the background.
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    lines.for_each(drop);
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(5);
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, named) = said.split_once("`collrules ").unwrap();
    let (named, _) = named.split_once('`').unwrap();
    assert!(named.starts_with("validate --repair "), "{named}");
    assert!(!out.join("validation.json").exists(), "nothing is repaired yet");
}

/// A chain with segments of 1 KiB takes ten times as long as the builtin from 64 KiB on. That shows although the file
/// is in force already in the environment of collrules, as after reading env.sh; and it is reverted.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "part of `make test-all`"]
fn a_terrible_file_is_found_and_repaired_on_a_real_machine() {
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = scratch.path().join("rules.conf");
        // Sizes are listed twice, so that 6.0 reads the same.
        let (none, bad) = ("1\n0 0 0 0", "3\n0 0 0 0\n65536 2 4 1024\n2097152 0 0 0");
        let text = format!("1\n7\n4\n4 {none}\n4 {bad}\n5 {bad}\n5 {none}\n");
        fs::write(&rules, &text).unwrap();
        let arguments = |budget: u32| {
            format!("validate {} --np 4 --sizes 64K,1M --oversubscribe --budget {budget}s --out", rules.display())
        };
        // Launches next to other programs may differ by so much that even this is undecided; more time decides it.
        let found = [20, 40, 80].into_iter().find(|budget| {
            let out = scratch.path().join(format!("out{budget}"));
            let mut command = mpi.collrules(&arguments(*budget), &out);
            command.env("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
            command.env("OMPI_MCA_coll_tuned_dynamic_rules_filename", &rules);
            let ran = Ran::from(command.output().unwrap());
            let found = verdicts(&validation(&out));
            assert_ne!(found.get(&(4, 1 << 20)), Some(&Outcome::Faster), "{}: {}", mpi.version, ran.stdout);
            let found = validation(&out).loses();
            assert_eq!(ran.code, Some(if found { 8 } else { 0 }), "{}: {}", mpi.version, ran.stdout);
            found
        });
        let budget = found.unwrap_or_else(|| panic!("not found within 80 s under {}", mpi.version));
        let out = scratch.path().join("repaired");
        let arguments = arguments(2 * budget).replace("--out", "--deploy mpirun --repair --out");
        Ran::from(mpi.collrules(&arguments, &out).output().unwrap()).exits(0);
        let left = means(&out.join("rules.conf"), Release::V4_1);
        assert!(left.lookup(Collective::Bcast, 4, 1 << 20).is_builtin());
        assert_eq!(fs::read_to_string(&rules).unwrap(), text);
    });
}

/// Real calls from the last rank, with late ranks, with other buffers and in place are compared as well, and their data are
/// checked: all four rooted collectives.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "part of `make test-all`"]
fn rules_are_compared_in_calls_of_programs() {
    alone_under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = scratch.path().join("rules.conf");
        // Size 3 is listed twice, so that 6.0 reads the same.
        let block = |id, algorithm| format!("{id}\n3\n2 1\n0 {algorithm} 0 0\n3 1\n0 {algorithm} 0 0\n3 1\n0 0 0 0\n");
        let blocks: String = [(7, 6), (9, 1), (11, 5), (15, 2)].map(|(id, algorithm)| block(id, algorithm)).concat();
        fs::write(&rules, format!("4\n{blocks}")).unwrap();
        let options = "--np 2 --sizes 8K --pairs 2 --calls 3 --budget none --min-difference 100 --max-loss 300";
        let arguments = format!("validate {} {options} --out", rules.display());
        let out = scratch.path().join("out");
        let ran = Ran::from(mpi.collrules(&arguments, &out).output().unwrap());
        assert!(matches!(ran.code, Some(0 | 8)), "{}: {}", mpi.version, ran.stderr);
        let checks = validation(&out).checks;
        let rooted = [Collective::Bcast, Collective::Gather, Collective::Reduce, Collective::Scatter];
        let conditions: Vec<String> = checks.iter().map(|check| check.condition.to_string()).collect();
        let expected = [
            ("with the same buffers in each call", &rooted[..]),
            ("with the last rank as the root", &rooted[..]),
            ("with one rank late by half a call", &rooted[..]),
            ("in place", &rooted[1..]),
        ];
        assert_eq!(conditions, expected.map(|(condition, _)| condition), "{}", mpi.version);
        for (check, (condition, collectives)) in checks.iter().zip(expected) {
            assert_eq!((&check.untried, &check.round.failed), (&vec![], &vec![]), "{condition}");
            let cells = check.round.cells.iter().map(|cell| (cell.cell.collective, cell.cell.bytes.0));
            let wanted: Vec<_> = collectives.iter().map(|collective| (*collective, 8192)).collect();
            assert_eq!(cells.collect::<Vec<_>>(), wanted, "{condition} under {}", mpi.version);
        }
    });
}

/// What `install` installed is a copy of the tuning that is compared: launches with the default go without it, or a tuning
/// would be compared with itself and lose its rules.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "part of `make test-all`"]
fn an_installed_tuning_is_compared_with_the_default() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let (home, installed) = (scratch.path().join("home/.openmpi"), scratch.path().join("installed"));
        [&home, &installed].into_iter().for_each(|directory| fs::create_dir_all(directory).unwrap());
        let text = "1\n7\n2\n2 1\n0 6 0 0\n3 1\n0 0 0 0\n";
        let (rules, copy) = (scratch.path().join("rules.conf"), installed.join("rules.conf"));
        [&rules, &copy].into_iter().for_each(|file| fs::write(file, text).unwrap());
        fs::write(installed.join("installed.json"), "{}").unwrap();
        let switches =
            format!("coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {}\n", copy.display());
        fs::write(home.join("mca-params.conf"), switches).unwrap();
        let (worker, log) = (scratch.path().join("worker"), scratch.path().join("log"));
        let seen = "echo \"$OMPI_MCA_coll_tuned_use_dynamic_rules $OMPI_MCA_coll_tuned_dynamic_rules_filename\"";
        let real = mpi.worker();
        fs::write(&worker, format!("#!/bin/sh\n{seen} >> {}\nexec {}\n", log.display(), real.display())).unwrap();
        fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
        let validate = |out: &str| {
            let arguments =
                format!("validate {} --np 2 --sizes 8K --pairs 2 --calls 3 --budget 8s --out", rules.display());
            let mut command = mpi.collrules(&arguments, &scratch.path().join(out));
            command.arg("--worker").arg(&worker).env("HOME", scratch.path().join("home"));
            let ran = Ran::from(command.output().unwrap());
            (ran, fs::read_to_string(&log).unwrap())
        };
        let with = format!("1 {}", rules.display());
        let (ran, seen) = validate("installed-out");
        ran.complains("are switched off for launches with the default");
        assert!(seen.lines().any(|line| line == with) && seen.lines().any(|line| line.starts_with("0 ")), "{seen}");
        // Rules that the site made are what its users have.
        [&log, &installed.join("installed.json")].into_iter().for_each(|file| fs::remove_file(file).unwrap());
        let (ran, seen) = validate("foreign-out");
        ran.complains("is active on this system");
        assert!(seen.lines().any(|line| line == with) && !seen.lines().any(|line| line.starts_with("0 ")), "{seen}");
    });
}

/// Otherwise what is installed would be compared with itself.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "part of `make test-all`"]
fn jobs_have_no_installed_settings() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home/.openmpi");
        fs::create_dir_all(&home).unwrap();
        let component = if mpi.version.starts_with('4') { "vader" } else { "sm" };
        let setting = format!("btl_{component}_eager_limit");
        let (han, file) = ("coll_han_use_dynamic_file_rules", scratch.path().join("han.conf"));
        fs::write(&file, "1\n7\n1\n0 1\n1 1\n0 1\n").unwrap();
        let block = [format!("{setting} = 32768"), format!("{han} = 1"), format!("{HAN_FILE} = {}", file.display())];
        let text = with_block(Some(b"btl_base_verbose = 0\n"), &block).unwrap();
        fs::write(home.join("mca-params.conf"), text).unwrap();
        let (worker, log) = (scratch.path().join("worker"), scratch.path().join("log"));
        let (real, seen) = (mpi.worker(), format!("echo \"$OMPI_MCA_{setting} $OMPI_MCA_{han}\" >> {}", log.display()));
        fs::write(&worker, format!("#!/bin/sh\n{seen}\nexec {}\n", real.display())).unwrap();
        fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
        let rules = scratch.path().join("rules.conf");
        fs::write(&rules, "1\n7\n2\n2 1\n0 6 0 0\n3 1\n0 0 0 0\n").unwrap();
        let arguments = "--np 2 --sizes 8K --pairs 2 --calls 3 --budget 8s --out";
        let mut command =
            mpi.collrules(&format!("validate {} {arguments}", rules.display()), &scratch.path().join("out"));
        let ran =
            Ran::from(command.arg("--worker").arg(&worker).env("HOME", scratch.path().join("home")).output().unwrap());
        let names = ["installed settings are switched off in all jobs here: ", &setting, han];
        names.into_iter().for_each(|name| ran.complains(name));
        let seen = fs::read_to_string(&log).unwrap();
        let is_off = |values: &str| ["4096 0", "4096 false"].contains(&values);
        assert!(seen.lines().count() > 4 && seen.lines().all(is_off), "{seen}");
    });
}
