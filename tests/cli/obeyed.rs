//! Checks that real releases of Open MPI obey the files that are written, and that it is noticed when they don't.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{OpenMpi, Ran, bounded, prepare, skip, under_each_release};
use collrules_rules::deploy::params::with_block;

/// A table whose winners are plain: at 2 and 4 ranks pipeline for bcast between 4 KiB and 64 KiB and binary tree above,
/// binomial for scatter, two_proc or tree for barrier; nothing at 3 ranks.
fn table() -> String {
    let mut text = String::from("collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n");
    let mut row = |collective: &str, id: u32, ranks: u32, bytes: u64, micros: u32| {
        writeln!(text, "{collective},{id},{ranks},{bytes},{micros}").unwrap();
    };
    for ranks in [2, 4] {
        for power in 0..=20 {
            let bytes = 1 << power;
            row("bcast", 0, ranks, bytes, 20);
            row("bcast", 3, ranks, bytes, if (12..=16).contains(&power) { 10 } else { 30 });
            row("bcast", 5, ranks, bytes, if power > 16 { 10 } else { 30 });
            row("scatter", 0, ranks, bytes, 20);
            row("scatter", 2, ranks, bytes, 10);
        }
        row("barrier", 0, ranks, 0, 20);
        row("barrier", if ranks == 2 { 5 } else { 6 }, ranks, 0, 10);
    }
    text
}

/// The directory that `analyze` makes of the table.
fn rules(scratch: &Path, mpi: &OpenMpi) -> PathBuf {
    let (input, out) = (scratch.join("table.csv"), scratch.join("rules of the table"));
    fs::write(&input, table()).unwrap();
    let mut command = bounded();
    command.arg("analyze").arg(input).arg("--out").arg(&out).args(["--release", &mpi.version]);
    Ran::from(command.output().unwrap()).exits(0);
    out
}

fn verify(mpi: &OpenMpi, rules: &Path, environment: &[(&str, &str)]) -> Ran {
    let mut command = mpi.collrules("verify --np 2,3,4 --oversubscribe", rules);
    command.arg("--scratch").arg(rules.parent().unwrap());
    command.envs(environment.iter().copied()).output().unwrap().into()
}

#[test]
fn every_boundary_is_obeyed() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = rules(scratch.path(), mpi);
        verify(mpi, &out.join("rules.conf"), &[]).exits(0);
        let left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("probe")), "{left:?}");
    });
}

/// Rules for larger communicators than fit here are read, and no call uses one: that proves nothing, deployed or not.
#[test]
fn rules_that_no_call_uses_are_not_checked() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = scratch.path().join("rules.conf");
        let run = |text: &str, code, options: &str| {
            fs::write(&rules, text).unwrap();
            let mut command = mpi.collrules(&format!("verify --json --np 2 --sizes 1K {options}"), scratch.path());
            command.env("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
            command.env("OMPI_MCA_coll_tuned_dynamic_rules_filename", &rules);
            let found = Ran::from(command.output().unwrap()).exits(code).stdout;
            let found: serde_json::Value = serde_json::from_str(&found).unwrap();
            let obeyed = (&found["obeyed"], found["calls"]["ruled"].as_u64().unwrap() > 0);
            assert_eq!(obeyed, (&(code == 0).into(), code == 0), "{found}");
            assert_eq!(found["reasons"], serde_json::json!([]));
            assert!(found["unreached"].as_str().is_some_and(|why| why.contains("4 ranks and more")), "{found}");
        };
        let large = "1\n7\n2\n2 1\n0 0 0 0\n4 1\n0 1 0 0\n";
        run(large, 5, &format!("{} --scratch", rules.display()));
        run(large, 5, "--deployed --scratch");
        // Those for the ranks that are here are checked, and the others named.
        run("1\n7\n2\n2 1\n0 3 0 0\n4 1\n0 1 0 0\n", 0, &format!("{} --scratch", rules.display()));
    });
}

/// From 5.0 on an algorithm that is forced somewhere beats the rules; before, rules win.
#[test]
fn a_forced_algorithm_in_the_way_is_named_with_its_source() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = rules(scratch.path(), mpi).join("rules.conf");
        let ran = verify(mpi, &file, &[("OMPI_MCA_coll_tuned_bcast_algorithm", "1")]);
        if mpi.is_before(5) {
            ran.exits(0);
        } else {
            let ran = ran.exits(7);
            ran.complains("algorithm 1 of bcast is forced");
            ran.complains("environment");
        }
    });
}

#[test]
fn a_file_that_is_not_loaded_is_noticed() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = rules(scratch.path(), mpi).join("rules.conf");
        let ran = verify(mpi, &file, &[("OMPI_MCA_coll_tuned_priority", "0")]).exits(7);
        ran.complains("a priority above that of coll/tuned (0)");
        verify(mpi, &file, &[("OMPI_MCA_coll", "^tuned")]).exits(7).complains("coll/tuned is left out");
    });
}

/// One start that hangs is tried again; one that always does shows nothing, neither for the file nor against it.
#[test]
#[ignore = "part of `make test-all`"]
fn a_start_that_hangs_is_no_refutation() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = rules(scratch.path(), mpi).join("rules.conf");
        let worker = scratch.path().join("worker");
        let run = |hangs_if: &str| {
            let real = mpi.worker();
            let hang = format!("case \"${FILE}\" in *collrules-probe*) {hangs_if} && sleep 300;; esac");
            fs::write(&worker, format!("#!/bin/sh\n{hang}\nexec {}\n", real.display())).unwrap();
            fs::set_permissions(&worker, Permissions::from_mode(0o755)).unwrap();
            let mut command = mpi.collrules("verify --np 2 --oversubscribe --sizes 1K --hang-timeout 5s", &file);
            Ran::from(command.arg("--scratch").arg(scratch.path()).arg("--worker").arg(&worker).output().unwrap())
        };
        let once = scratch.path().join("hung");
        run(&format!("mkdir {} 2> /dev/null", once.display())).exits(0);
        assert!(once.exists(), "a start hung");
        run("true").exits(5);
    });
}

/// A barrier has no fan-out that could be set for a call, so that there is nothing to compare its messages with.
#[test]
fn a_call_that_cannot_be_counted_leaves_the_others_counted() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("rules.conf");
        // Linear bcast and a barrier with a fan-out of 2, on communicators of any size.
        fs::write(&file, "2\n6\n1\n2\n1\n0 1 2 0\n7\n1\n2\n1\n0 6 0 0\n").unwrap();
        let ran = verify(mpi, &file, &[]).exits(0);
        ran.says("such as barrier on 2 ranks");
        ran.says("calls proved by their messages (the rule's, not the default's): ");
    });
}

#[test]
fn a_file_that_is_not_taken_is_explained_by_the_release_in_use() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("rules.json");
        fs::write(&file, "{\"collectives\": 5}").unwrap();
        let ran = verify(mpi, &file, &[]).exits(3);
        ran.complains(&mpi.version.split('.').take(2).collect::<Vec<_>>().join("."));
    });
}

/// `verify --deployed` with these variables, and these lines in the user's parameter file.
fn deployed(mpi: &OpenMpi, scratch: &Path, file: Option<&Path>, environment: &[(&str, &str)], lines: &str) -> Ran {
    let home = scratch.join("home");
    fs::create_dir_all(home.join(".openmpi")).unwrap();
    fs::write(home.join(".openmpi/mca-params.conf"), lines).unwrap();
    let mut command = mpi.collrules("verify --deployed --np 2,3,4 --oversubscribe --sizes 1:64K --scratch", scratch);
    command.args(file).env("HOME", home).envs(environment.iter().copied());
    command.output().unwrap().into()
}

const ON: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
const FILE: &str = "OMPI_MCA_coll_tuned_dynamic_rules_filename";

#[test]
#[ignore = "part of `make test-all`"]
fn what_users_have_set_is_asked_for_as_it_is() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = rules(scratch.path(), mpi).join("rules.conf");
        let named = fs::read_dir(file.with_file_name("tunings")).unwrap().next().unwrap().unwrap().path();
        let path = named.to_str().unwrap();
        let settings = fs::read_to_string(file.with_file_name("mca-params.conf")).unwrap();
        deployed(mpi, scratch.path(), None, &[], &settings).exits(0);
        deployed(mpi, scratch.path(), Some(&named), &[ON, (FILE, path)], "").exits(0);

        // Settings of the tuning are read on the ranks as well.
        let findings = file.with_file_name("findings.json");
        let text = fs::read_to_string(&findings).unwrap();
        let mut with_setting: serde_json::Value = serde_json::from_str(&text).unwrap();
        with_setting["parameters"] = serde_json::json!({ "coll_tuned_init_chain_fanout": "5" });
        fs::write(&findings, with_setting.to_string()).unwrap();
        let without = deployed(mpi, scratch.path(), None, &[], &settings).exits(7);
        without.complains("coll_tuned_init_chain_fanout is 4 on all ranks; the tuning sets it to 5");
        let set = format!("{settings}coll_tuned_init_chain_fanout = 5\n");
        deployed(mpi, scratch.path(), None, &[], &set).exits(0);
        fs::write(&findings, text).unwrap();

        deployed(mpi, scratch.path(), None, &[], "").exits(7).complains("no rules file is active");
        let off = deployed(mpi, scratch.path(), None, &[(FILE, path)], "").exits(7);
        off.complains("the rules of coll/tuned are switched off on all ranks; set coll_tuned_use_dynamic_rules to 1");
        let misspelt = [("OMPI_MCA_coll_tuned_use_dynamic_rule", "1"), (FILE, path)];
        let misspelt = deployed(mpi, scratch.path(), None, &misspelt, "").exits(7);
        misspelt.complains("the nearest name is coll_tuned_use_dynamic_rules");
        let beside = verify(mpi, &file, &[("OMPI_MCA_coll_tuned_use_dynamic_rule", "1")]).exits(0);
        beside.says("knows no parameter coll_tuned_use_dynamic_rule");
        let set = FILE.trim_start_matches("OMPI_MCA_");
        let relative = format!("coll_tuned_use_dynamic_rules = 1\n{set} = rules of the table/rules.conf\n");
        let relative = deployed(mpi, scratch.path(), None, &[], &relative).exits(7);
        relative.complains("is a relative path, looked up from the working directory of each rank");
        relative.complains("mca-params.conf:2)");
        let other = deployed(mpi, scratch.path(), Some(&named), &[ON, (FILE, "/dev/null")], "").exits(7);
        other.complains("another rules file is set on all ranks: `/dev/null`");
        let gone = deployed(mpi, scratch.path(), Some(&named), &[ON, (FILE, "/gone/rules.conf")], "").exits(7);
        gone.complains("`/gone/rules.conf` cannot be read on all ranks");
    });
}

/// A tuning may consist of settings alone: there is no rules file to name, and the ranks have the values or not.
#[test]
fn installed_settings_are_read_on_all_ranks() {
    const NAME: &str = "coll_tuned_init_chain_fanout";
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let block = with_block(None, &[format!("{NAME} = 5")]).unwrap();
        let block = String::from_utf8(block).unwrap();
        deployed(mpi, scratch.path(), None, &[], &block).exits(0).says(&format!("{NAME} = 5"));
        let other = deployed(mpi, scratch.path(), None, &[(&format!("OMPI_MCA_{NAME}"), "6")], &block).exits(7);
        other.complains(&format!("{NAME} is 6 on all ranks; the tuning sets it to 5"));
    });
}

#[test]
fn programs_can_read_what_was_shown() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let file = rules(scratch.path(), mpi).join("rules.conf");
        let mut command =
            mpi.collrules("verify --json --np 2,4 --oversubscribe --sizes 1:64K --scratch", scratch.path());
        let ran = Ran::from(command.arg(&file).output().unwrap()).exits(0);
        let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(shown["obeyed"], true, "{shown}");
        assert_eq!(shown["messages"]["other"].as_array().map(Vec::len), Some(0), "{shown}");
        assert!(shown["messages"]["shown"].as_array().is_some_and(|cells| cells.len() > 5), "{shown}");
    });
}

/// An ordinary MPI program sends what the algorithm of the rule sends, with each way to switch the file on; and other
/// messages without the file.
#[test]
fn an_ordinary_program_sends_what_the_rule_says() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = rules(scratch.path(), mpi);
        let program = scratch.path().join("ordinary");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/ordinary.c");
        let compiled = Command::new(mpi.compiler("mpicc")).arg(&source).arg("-o").arg(&program).status();
        if !compiled.is_ok_and(|status| status.success()) {
            return skip("no mpicc that compiles the ordinary program");
        }
        let settings = out.join("mca-params.conf");
        let deployed = traffic(mpi, &program, &[], &[("OMPI_MCA_mca_base_param_files", settings.to_str().unwrap())]);
        let forced = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_bcast_algorithm", "3"];
        let forced = traffic(mpi, &program, &forced, &[]);
        assert_eq!(deployed, forced, "{}", mpi.version);
        assert_ne!(deployed, traffic(mpi, &program, &[], &[]), "{}", mpi.version);

        let script = format!(". '{}' && env", out.join("env.sh").display());
        let environment = Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(environment.stdout).unwrap();
        let exported: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .filter(|(name, _)| name.starts_with("OMPI_MCA_"))
            .collect();
        assert_eq!(exported.len(), 2, "{exported:?}");
        assert_eq!(traffic(mpi, &program, &[], &exported), forced, "{}", mpi.version);
    });
}

/// Messages per sender and receiver that Open MPI itself sends for a program on 4 ranks, as its monitoring layer
/// reports them: bytes and number.
fn traffic(
    mpi: &OpenMpi,
    program: &Path,
    options: &[&str],
    environment: &[(&str, &str)],
) -> BTreeMap<(u32, u32), (u64, u64)> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "120"]).arg(&mpi.mpirun).args(["-np", "4"]);
    if mpi.is_before(5) {
        command.arg("--oversubscribe");
    } else {
        command.args(["--map-by", ":OVERSUBSCRIBE", "--mca", "pml", "ob1,monitoring"]);
        let libraries = mpi.mpirun.parent().unwrap().parent().unwrap().join("lib");
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "1"]);
    command.args(options).arg(program).envs(environment.iter().copied());
    prepare(&mut command);
    let ran = Ran::from(command.output().unwrap()).exits(0);
    let text = format!("{}\n{}", ran.stdout, ran.stderr);
    let mut traffic = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("I\t")) {
        // I, sender, receiver, "N bytes", "M msgs sent", histogram
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| field.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let pair = (number(fields[0]) as u32, number(fields[1]) as u32);
        traffic.insert(pair, (number(fields[2]), number(fields[3])));
    }
    assert!(!traffic.is_empty(), "no monitoring output in:\n{text}");
    traffic
}
