//! Comparing rules files with nothing, and repairing them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
#[cfg(feature = "mpi")]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use collrules_record::Validation;
use collrules_record::validation::{Outcome, ValidatedCell};
#[cfg(feature = "mpi")]
use collrules_rules::deploy::params::with_block;
use collrules_rules::{Choice, Collective, Release};

use crate::agreement::contradictions;
use crate::made_once::DECEIVED;
use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, collrules, findings, means};
#[cfg(feature = "mpi")]
use crate::support::{alone_under_each_release, alone_under_one_release, under_each_release};

fn validation(directory: &Path) -> Validation {
    serde_json::from_str(&fs::read_to_string(directory.join("validation.json")).unwrap()).unwrap()
}

fn verdicts(validation: &Validation) -> BTreeMap<(u32, u64), Outcome> {
    let place = |cell: &ValidatedCell| ((cell.cell.ranks.0, cell.cell.bytes.0), cell.verdict);
    validation.round.as_ref().unwrap().cells.iter().map(place).collect()
}

fn served(directory: &Path, bytes: u64) -> Choice {
    let table = means(&directory.join("rules.conf"), Release::V5_0);
    assert_eq!(table, findings(directory).table, "the file says what the findings say");
    table.lookup(Collective::Bcast, 8, bytes)
}

/// Rules that gain while they are measured, and take 1.5 times as long as the default under the file from 256 KiB on,
/// are reverted there and nowhere else.
#[test]
fn tune_gives_back_what_does_not_hold() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate=deceptive --np 2,8 --ops bcast --out", &out).exits(0);
    assert_eq!(contradictions(&out), [""; 0]);
    let held = served(&out, 128 << 10);
    assert!(!held.is_builtin());
    assert_eq!(served(&out, 32 << 10), held);
    for bytes in [256 << 10, 300_000, 512 << 10, 1 << 20] {
        assert_eq!(served(&out, bytes), Choice::BUILTIN, "{bytes}");
    }
    let validation = validation(&out);
    let repaired: Vec<u64> = validation.round.as_ref().unwrap().repaired.iter().map(|cell| cell.bytes.0).collect();
    assert!([256 << 10, 512 << 10, 1 << 20].iter().all(|bytes| repaired.contains(bytes)), "{repaired:?}");
    assert!(repaired.iter().all(|bytes| *bytes >= 256 << 10), "{repaired:?}");
    assert!(!validation.loses() && validation.is_confirmed());
    assert_eq!(verdicts(&validation)[&(8, 128 << 10)], Outcome::Faster);
    assert!(out.join("comparison.jsonl").is_file());
    // All that is derived agrees with what is left.
    let findings = findings(&out);
    for cell in &findings.cells {
        let bytes = cell.cell.lookup_bytes(Release::V5_0);
        assert_eq!(cell.served, findings.table.lookup(Collective::Bcast, cell.cell.ranks.0.into(), bytes));
    }
    assert!(findings.crossovers.iter().all(|crossover| crossover.at.0 < 256 << 10), "{:?}", findings.crossovers);
    assert!(findings.crossovers.iter().any(|crossover| crossover.above.is_builtin()), "{:?}", findings.crossovers);
    assert!(findings.tree.worst_regret < 0.03, "what is not to be had is no loss: {}", findings.tree.worst_regret);
    // An analysis of the run does not bring it back.
    let again = scratch.path().join("again");
    collrules(&format!("analyze {} --out", out.display()), &again).exits(0);
    assert_eq!(served(&again, 512 << 10), Choice::BUILTIN);
}

/// A run is validated and repaired step by step: the comparison alone changes nothing, and its exit code tells; the
/// repair does.
#[test]
fn a_run_is_validated_and_repaired_later() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    DECEIVED.at(&out);
    assert!(!out.join("validation.json").exists());
    let before = fs::read_to_string(out.join("rules.conf")).unwrap();
    // The simulation is that of the run; it need not be named again.
    let ran = Ran::from(bounded().env("COLUMNS", "80").arg("validate").arg(&out).output().unwrap()).exits(8);
    assert!(
        ran.stdout.lines().all(|line| line.chars().count() <= 80 || line.starts_with("All numbers")),
        "{}",
        ran.stdout
    );
    // Its comments change; its rules stay.
    let after = fs::read_to_string(out.join("rules.conf")).unwrap();
    assert_ne!(after, before);
    let rules = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rules(&after), rules(&before));
    let found = verdicts(&validation(&out));
    for (bytes, verdict) in [(4 << 10, Outcome::Same), (64 << 10, Outcome::Faster), (1 << 20, Outcome::Slower)] {
        assert_eq!(found[&(8, bytes)], verdict, "{bytes}");
    }
    assert!(found.keys().any(|(_, bytes)| !bytes.is_power_of_two()), "sizes between: {found:?}");
    assert!(validation(&out).settings["coll_tuned_dynamic_rules_filename"].contains("run/tunings/"));
    collrules("validate --repair", &out.join("rules.conf")).exits(0);
    let repaired = validation(&out).round.unwrap();
    assert!(repaired.repaired.iter().any(|cell| cell.bytes.0 == 1 << 20), "{:?}", repaired.repaired);
    assert_eq!(served(&out, 1 << 20), Choice::BUILTIN);
    collrules("validate", &out).exits(0);
}

/// Rules that make no difference are called neither faster nor slower, but for one validation in 20: four or more of 20
/// have a probability of 1.6 %.
#[test]
#[ignore = "part of `make test-all`"]
fn rules_without_effect_are_found_to_have_none() {
    let scratch = tempfile::tempdir().unwrap();
    let rules = scratch.path().join("rules.conf");
    fs::write(&rules, "1\n7\n3\n2 1\n0 0 0 0\n8 1\n0 8 0 0\n9 1\n0 0 0 0\n").unwrap();
    let wrong = (1..=20).filter(|seed| {
        let out = scratch.path().join(format!("{seed}"));
        let arguments =
            format!("validate {} --simulate=noise --np 8 --sizes 1:64K --seed {seed} --out", rules.display());
        let ran = collrules(&arguments, &out);
        assert!(matches!(ran.code, Some(0 | 8)), "{}", ran.stderr);
        verdicts(&validation(&out)).values().any(|verdict| *verdict != Outcome::Same)
    });
    let wrong = wrong.count();
    assert!(wrong < 4, "{wrong} of 20");
}

/// A file of unknown origin stays as it is; what is left of it is written beside the result, in its format.
#[test]
fn a_file_of_others_is_repaired_into_the_directory_of_the_result() {
    let scratch = tempfile::tempdir().unwrap();
    // The pipeline without segments takes 7 (a + bm) where the builtin takes 3; scatter_allgather is better when large.
    for (name, text, release) in [
        ("classic.conf", "1\n7\n3\n2 1\n0 0 0 0\n8 2\n0 3 0 0\n524288 8 0 0\n9 1\n0 0 0 0\n", "4.1"),
        (
            "rules.json",
            r#"{"collectives": {"bcast": [{"comm_size_min": 8, "comm_size_max": 8, "rules": [
                {"msg_size_min": 0, "msg_size_max": 524287, "alg": 3},
                {"msg_size_min": 524288, "alg": "scatter_allgather"}]}]}}"#,
            "6.0",
        ),
    ] {
        let rules = scratch.path().join(name);
        fs::write(&rules, text).unwrap();
        let out = scratch.path().join(format!("{name}.out"));
        let arguments =
            format!("validate {} --simulate --simulated-release {release} --np 2,8 --repair --out", rules.display());
        collrules(&arguments, &out).exits(0);
        assert_eq!(fs::read_to_string(&rules).unwrap(), text);
        let rules = out.join("rules.conf");
        let repaired = fs::read_to_string(&rules).unwrap();
        assert_eq!(repaired.trim_start().starts_with('{'), name == "rules.json", "{repaired}");
        let left = means(&rules, release.parse().unwrap());
        let algorithm = |bytes| left.lookup(Collective::Bcast, 8, bytes).algorithm;
        assert_eq!((algorithm(4 << 10), algorithm(1 << 20)), (0, 8), "the pipeline is gone, scatter_allgather is not");
        assert!(!validation(&out).loses());
    }
}

/// A comparison that was cut short is gone on with: its samples stay, and the result is that of one that was not.
#[test]
fn a_comparison_that_was_cut_short_is_gone_on_with() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --np 8 --ops bcast,barrier --no-validate --out", &out).exits(0);
    collrules("validate --seed 4", &out).exits(0);
    let whole = validation(&out);
    let log = out.join("comparison.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    // As if it had ended while the line of the sixth launch was written.
    fs::remove_file(out.join("validation.json")).unwrap();
    let kept: Vec<&str> = lines.split_inclusive('\n').take(7).collect();
    let (torn, whole_lines) = kept.split_last().unwrap();
    fs::write(&log, whole_lines.concat() + &torn[..torn.len() / 2]).unwrap();
    collrules("validate --seed 4", &out).exits(0);
    let resumed = validation(&out);
    // What was cut is measured anew with other noise, which may tip a cell without a difference.
    let faster = |of: &Validation| {
        let verdicts = verdicts(of).into_iter().filter(|(_, verdict)| *verdict == Outcome::Faster);
        verdicts.map(|(place, _)| place).collect::<Vec<_>>()
    };
    assert_eq!(faster(&resumed), faster(&whole));
    assert!(fs::read_to_string(&log).unwrap().starts_with(&whole_lines.concat()));
    // Once it is complete, another validation has launches of its own.
    let before = fs::read_to_string(&log).unwrap();
    collrules("validate --seed 4", &out).exits(0);
    assert!(fs::read_to_string(&log).unwrap().strip_prefix(&before).unwrap().contains(r#"{"validation":1}"#));
}

/// A comparison of a few sizes confirms no others, and takes the place of nothing that is known.
#[test]
fn a_spot_check_confirms_what_it_compared() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    DECEIVED.at(&out);
    collrules("validate --sizes 64K --np 8", &out).exits(0);
    let few = validation(&out);
    assert_eq!(verdicts(&few)[&(8, 64 << 10)], Outcome::Faster);
    assert!(few.round.as_ref().unwrap().unreached > 0 && !few.is_confirmed(), "{few:?}");
    collrules("validate", &out).exits(8);
    let (all, checks) = (verdicts(&validation(&out)), validation(&out).checks.len());
    collrules("validate --sizes 64K --np 8", &out).exits(8);
    let again = validation(&out);
    assert_eq!((verdicts(&again), again.checks.len()), (all, checks));
    assert_eq!(again.round.unwrap().unreached, 0);
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
    assert!(named("arm_launch").len() >= 8, "each of four blocks has a launch with the rules and one without");
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

/// A file that loses 4 KiB and less to a pipeline without segments.
const LOSING: &str = "1\n7\n3\n2 1\n0 0 0 0\n8 2\n0 3 0 0\n524288 8 0 0\n9 1\n0 0 0 0\n";

fn repair_of(rules: &Path, out: &Path) -> Ran {
    collrules(&format!("validate {} --simulate --simulated-release 4.1 --np 8 --repair --out", rules.display()), out)
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

/// Without samples there is no new decision: nothing claims one, nothing is made up in their place, and with the samples it
/// is made.
#[test]
fn a_repair_that_fails_is_not_claimed() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    DECEIVED.at(&out);
    let kept = ["rules.conf", "findings.json"].map(|name| (name, fs::read(out.join(name)).unwrap()));
    let away = ["samples.csv", "launches.jsonl"].map(|name| (out.join(name), scratch.path().join(name)));
    for (here, there) in &away {
        fs::rename(here, there).unwrap();
    }
    collrules("validate --repair", &out).exits(3);
    for (here, _) in &away {
        assert!(!here.exists(), "{}", here.display());
    }
    for (name, content) in &kept {
        assert_eq!(&fs::read(out.join(name)).unwrap(), content, "{name}");
    }
    assert!(!out.join("rules.conf.unproven").exists());
    if out.join("validation.json").exists() {
        let claimed = validation(&out);
        assert!(claimed.reverted.is_empty() && claimed.round.is_none_or(|round| round.repaired.is_empty()));
    }
    // The comparison alone needs none of them.
    collrules("validate", &out).exits(8);
    for (here, there) in &away {
        fs::rename(there, here).unwrap();
    }
    // As after a death between the two writes: what was reverted already is not written down twice.
    collrules("validate --repair", &out).exits(0);
    let reverted = validation(&out).reverted;
    for (name, content) in &kept {
        fs::write(out.join(name), content).unwrap();
    }
    collrules("validate --repair", &out).exits(0);
    let again = validation(&out).reverted;
    let twice = again.iter().enumerate().any(|(at, range)| again[..at].contains(range));
    assert!(!twice && again.starts_with(&reverted), "{again:?}");
    assert_eq!(served(&out, 1 << 20), Choice::BUILTIN);
}

/// Files of others stay as they are, whatever their text and wherever a link leads: jobs may be reading them.
#[cfg(unix)]
#[test]
fn every_original_stays_as_it_is() {
    use std::os::unix::fs::symlink;
    let scratch = tempfile::tempdir().unwrap();
    let site = scratch.path().join("site");
    fs::create_dir(&site).unwrap();
    let (target, link) = (site.join("tuned.conf"), scratch.path().join("rules.conf"));
    symlink(&target, &link).unwrap();
    // No UTF-8: comments of others may be in Latin-1.
    let second = [b"# gr\xf6\xdfer\n", LOSING.as_bytes()].concat();
    for (number, text) in [LOSING.as_bytes(), &second, LOSING.as_bytes()].into_iter().enumerate() {
        fs::write(&target, text).unwrap();
        let out = scratch.path().join(format!("out{number}"));
        repair_of(&link, &out).exits(0);
        assert_eq!(fs::read(&target).unwrap(), text);
        assert!(link.is_symlink());
        assert_ne!(fs::read(out.join("rules.conf")).unwrap(), text);
        assert!(!out.join("rules.conf.unproven").exists());
    }
    assert_eq!(fs::read_dir(&site).unwrap().count(), 1);
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
fn a_terrible_file_is_found_and_repaired_on_real_releases() {
    alone_under_each_release(|mpi| {
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
            assert_ne!(found[&(4, 1 << 20)], Outcome::Faster, "{}: {}", mpi.version, ran.stdout);
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
        let text = with_block(Some(b"btl_base_verbose = 0\n"), &[format!("{setting} = 32768")]).unwrap();
        fs::write(home.join("mca-params.conf"), text).unwrap();
        let (worker, log) = (scratch.path().join("worker"), scratch.path().join("log"));
        let (real, seen) = (mpi.worker(), format!("echo \"$OMPI_MCA_{setting}\" >> {}", log.display()));
        fs::write(&worker, format!("#!/bin/sh\n{seen}\nexec {}\n", real.display())).unwrap();
        fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
        let rules = scratch.path().join("rules.conf");
        fs::write(&rules, "1\n7\n2\n2 1\n0 6 0 0\n3 1\n0 0 0 0\n").unwrap();
        let arguments = "--np 2 --sizes 8K --pairs 2 --calls 3 --budget 8s --out";
        let mut command =
            mpi.collrules(&format!("validate {} {arguments}", rules.display()), &scratch.path().join("out"));
        let ran =
            Ran::from(command.arg("--worker").arg(&worker).env("HOME", scratch.path().join("home")).output().unwrap());
        ran.complains(&format!("installed settings are switched off in all jobs here: {setting}"));
        let seen = fs::read_to_string(&log).unwrap();
        assert!(seen.lines().count() > 4 && seen.lines().all(|value| value == "4096"), "{seen}");
    });
}
