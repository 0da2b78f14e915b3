//! Measurements of others, made into a run directory and on to rules.

use std::fs;
use std::path::Path;

use collrules_record::findings::Statistic;
use collrules_report::remarks::remarks;
use collrules_rules::Release;

use crate::support::{Ran, bounded, data, findings};

fn import(arguments: &[&str], inputs: &[&Path], out: &Path) -> Ran {
    bounded().args(["lab", "import"]).args(arguments).args(inputs).arg("--out").arg(out).output().unwrap().into()
}

fn analyze(run: &Path) -> Ran {
    bounded().arg("analyze").arg(run).output().unwrap().into()
}

/// Findings of an import.
fn doubts(run: &Path) -> Vec<serde_json::Value> {
    let report: serde_json::Value = serde_json::from_slice(&fs::read(run.join("import.json")).unwrap()).unwrap();
    report["findings"].as_array().unwrap().clone()
}

/// A tree as a job script leaves it: one file per algorithm, ranks and run.
fn osu_tree(root: &Path) {
    for (algorithm, factor) in [(0, 2.0), (5, 3.0), (6, 1.0)] {
        for ranks in [4, 8] {
            for run in 0..2 {
                let directory = root.join(format!("np{ranks}/a{algorithm}"));
                fs::create_dir_all(&directory).unwrap();
                let mut text = "\n# OSU MPI Broadcast Latency Test v7.4\n# Datatype: MPI_CHAR.\n\
                                # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
                    .to_owned();
                for size in [1024, 2048, 4096] {
                    let time = factor * f64::from(size * ranks + run * 10) / 1000.0 + f64::from(ranks) / 10.0;
                    text += &format!("{size} {:.2} {:.2} {time:.2} 100\n", time / 2.0, time / 4.0);
                }
                fs::write(directory.join(format!("bcast-run{run}.txt")), text).unwrap();
            }
        }
    }
}

#[test]
fn a_tree_of_osu_output_becomes_rules() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    osu_tree(&tree);
    fs::write(tree.join("job.sh"), "#!/bin/sh\n").unwrap();
    let out = scratch.path().join("run");
    import(&["--release", "4.1"], &[&tree], &out).exits(0);
    let named = doubts(&out);
    let [passed] = &named[..] else { panic!("{named:?}") };
    assert_eq!((&passed["code"], &passed["severity"]), (&"passed-over".into(), &"note".into()));
    assert!(passed["file"].as_str().unwrap().ends_with("job.sh"), "{passed}");
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["backend"], "import");
    assert_eq!(manifest["statistic"], "slowest_rank_summary");
    assert_eq!((&manifest["release"], &manifest["release_stated"]), (&"4.1".into(), &true.into()));
    assert_eq!(manifest["sources"].as_array().unwrap().len(), 12);
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    assert_eq!(samples.lines().filter(|line| line.contains(",bcast,")).count(), 36);
    for unknown in ["survey", "host", "launcher", "started"] {
        assert_eq!(manifest.get(unknown), None, "nothing is made up");
    }
    analyze(&out).exits(0);
    let of_slowest = findings(&out);
    assert_eq!(of_slowest.statistic, Statistic::SlowestRankSummary);
    assert!(of_slowest.table.rules() > 0);

    // The mean over ranks, if that is wanted.
    let averages = scratch.path().join("averages");
    import(&["--time", "average"], &[&tree], &averages).exits(0);
    analyze(&averages).exits(0);
    assert_eq!(findings(&averages).statistic, Statistic::RankAverage);
}

/// Faults of the table are named at each step, down to the report.
#[test]
fn doubts_travel_with_the_numbers() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    import(&[], &[&data("epyc-two-nodes-osu.csv")], &out).exits(0);
    let named = doubts(&out);
    let mut codes: Vec<&str> = named.iter().map(|doubt| doubt["code"].as_str().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["bandwidth", "digit-slip", "empty-value", "outlier", "twin-column"]);
    assert!(named.iter().all(|doubt| doubt["severity"] == "warning"), "{named:?}");
    let lines: Vec<_> = named.iter().map(|doubt| doubt["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [144, 504, 675, 757, 841]);
    analyze(&out).exits(0);
    let imported = findings(&out);
    assert_eq!(imported.release, Release::V5_0, "it was not stated");
    assert_eq!(remarks(&imported).iter().filter(|remark| remark.starts_with("Suspicious in")).count(), 4);
    assert!(
        remarks(&imported).iter().any(|remark| remark.starts_with("1 row of the imported files")),
        "{:#?}",
        imported.remarks
    );

    // The table taken directly: the same conclusions.
    let direct = scratch.path().join("direct");
    bounded()
        .arg("analyze")
        .arg(data("epyc-two-nodes-osu.csv"))
        .arg("--out")
        .arg(&direct)
        .output()
        .map(Ran::from)
        .unwrap()
        .exits(0);
    let direct = findings(&direct);
    assert_eq!((direct.statistic, &direct.table), (imported.statistic, &imported.table));
    assert_eq!(remarks(&direct).iter().filter(|remark| remark.starts_with("Suspicious in")).count(), 4);

    let left_out = scratch.path().join("left-out");
    import(&["--leave-out-flagged"], &[&data("epyc-two-nodes-osu.csv")], &left_out).exits(0);
    let timings = fs::read_to_string(left_out.join("samples.csv")).unwrap().lines().count() - 2;
    assert_eq!(timings, 1174);
    analyze(&left_out).exits(0);
    assert!(findings(&left_out).cells.iter().all(|cell| cell.cell.collective != collrules_rules::Collective::Scatter
        || cell.points.iter().all(|point| point.candidate != collrules_record::Candidate::Builtin)));
}

#[test]
fn what_is_missing_has_an_option() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let file = scratch.path().join("output");
    fs::copy(data("osu-output/bcast-np4.txt"), &file).unwrap();
    import(&[], &[&file], &out).exits(3);
    assert!(!out.exists());
    import(&["--np", "4", "--algorithm", "binomial"], &[&file], &out).exits(0);
    import(&["--np", "4", "--candidate", "0"], &[&file], &out).exits(6);
    let second = scratch.path().join("second");
    fs::rename(&file, scratch.path().join("np16-a6")).unwrap();
    import(&[], &[&scratch.path().join("np16-a6")], &second).exits(0);
    let samples = fs::read_to_string(second.join("samples.csv")).unwrap();
    assert!(samples.contains("\n0,0,0,bcast,16,1,tuned:6/0/0/0,,,0.00000021,\n"), "{samples}");
    assert_eq!(samples.lines().filter(|line| line.contains(",bcast,16,")).count(), 17);
    import(&[], &[&scratch.path().join("nowhere")], &second).exits(3);
}

/// Without the default, nothing is compared: such an import is refused when it is written.
#[test]
fn imports_that_lost_the_default_are_refused() {
    let output = |time: &str| format!("# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n1024  {time}\n");
    let (default, other, best) = (output("5.0"), output("5.5"), output("4.0"));
    let killed = "mpirun noticed that process rank 3 exited on signal 9 (Killed).\n";
    let (lost, none) = (output("x"), output("5.0").replace("1024  5.0\n", killed));
    for (files, code) in [
        (vec![("allreduce_np8_default.log", default.as_str())], 0),
        (vec![("allreduce_np8_default.log", &default), ("allreduce_np8_algo0.log", &other)], 3),
        (vec![("allreduce_np8_default.log", &default), ("allreduce_np8_algo0.log", &default)], 0),
        (vec![("allreduce_np8_default_run0.log", &default), ("allreduce_np8_algo0_run1.log", &other)], 0),
        (vec![("allreduce_np8_default_run0.log", &default), ("allreduce_np8_default_run1.log", &lost)], 0),
        (vec![("allreduce_np8_default.log", &lost)], 3),
        (vec![("allreduce_np8_algo0.log", &none)], 3),
        (vec![("allreduce_np8_algo0.log", killed)], 3),
        (vec![("allreduce_np8_algo0.log", "")], 3),
        (vec![("np8/allreduce_algo0.log", killed)], 3),
        (vec![("bcast_np8_algo0.log", killed)], 0),
        (vec![], 0),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let (sweep, out) = (scratch.path().join("sweep"), scratch.path().join("run"));
        for (name, text) in files.iter().chain(&[("allreduce_np8_algo3.log", best.as_str())]) {
            let file = sweep.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let ran = import(&[], &[&sweep], &out);
        assert_eq!(ran.code, Some(code), "{files:?}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(out.exists(), code == 0, "{files:?}");
        if files.len() == 2 && code == 3 {
            files.iter().for_each(|(name, _)| assert!(ran.stderr.contains(name), "{name} in {}", ran.stderr));
        }
    }
}

/// Both commands have one reader, and the same options for it.
#[test]
fn tables_are_analyzed_with_the_options_of_imports() {
    let scratch = tempfile::tempdir().unwrap();
    let (table, mut count) = (scratch.path().join("table.csv"), 0);
    for (text, options, code) in [
        ("collective,alg,np,size,latency\nbcast,0,4,8,3\nbcast,6,4,8,2\n", "", 3),
        ("collective,alg,np,size,latency\nbcast,0,4,8,3\nbcast,6,4,8,2\n", "--unit us", 0),
        ("alg,np,size,avg_us\n0,4,8,3\n6,4,8,2\n", "", 3),
        ("alg,np,size,avg_us\n0,4,8,3\n6,4,8,2\n", "--collective bcast", 0),
        ("collective,alg,size,avg_us\nbcast,0,8,3\nbcast,6,8,2\n", "", 3),
        ("collective,alg,size,avg_us\nbcast,0,8,3\nbcast,6,8,2\n", "--np 4", 0),
        ("collective,alg,np,size,max_us\nbcast,0,4,8,3\nbcast,6,4,8,2\n", "", 3),
        ("collective,alg,np,size,max_us\nbcast,0,4,8,3\nbcast,6,4,8,2\n", "--time slowest", 0),
        ("collective,np,size,avg_us\nbcast,4,8,3\n", "--algorithm 0 --launch 2", 0),
        ("collective,alg,np,avg_us\nbarrier,0,4,3\nbarrier,1,4,2\n", "", 0),
    ] {
        fs::write(&table, text).unwrap();
        for command in ["analyze", "lab import"] {
            count += 1;
            let out = scratch.path().join(count.to_string());
            let mut collrules = bounded();
            collrules.args(command.split(' ')).arg(&table).args(options.split_whitespace()).arg("--out").arg(out);
            let ran: Ran = collrules.output().unwrap().into();
            assert_eq!(ran.code, Some(code), "{command} {options} {text}: {}{}", ran.stdout, ran.stderr);
        }
    }
    for options in ["--unit us", "--np 4", "--leave-out-flagged", "--time average", "--release 4.1"] {
        let ran: Ran =
            bounded().arg("analyze").arg(scratch.path()).args(options.split_whitespace()).output().unwrap().into();
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
    }
}

/// One output of a benchmark lacks the algorithm.
#[test]
fn each_input_has_its_command() {
    let scratch = tempfile::tempdir().unwrap();
    let ran: Ran = bounded()
        .arg("analyze")
        .arg(data("osu-output/bcast-np4.txt"))
        .arg("--out")
        .arg(scratch.path().join("out"))
        .output()
        .unwrap()
        .into();
    ran.exits(3).complains("--algorithm");
    let out = scratch.path().join("run");
    let ran = import(&["--json"], &[&data("thin-barrier-approx.csv")], &out).exits(0);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0);
    let ran: Ran = bounded().args(["analyze", "--release", "4.1"]).arg(&out).output().unwrap().into();
    ran.exits(2);
}
