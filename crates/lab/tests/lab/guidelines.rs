//! Checks of guidelines in simulation and of tables.

use std::collections::BTreeSet;
use std::fs;

use collrules_lab::guidelines::check::changes;
use collrules_lab::guidelines::found::{Change, Checked, Cure};
use collrules_lab::guidelines::{Checking, earlier, fails, report};
use collrules_record::criteria::Criteria;
use collrules_record::{Bytes, Candidate, Cell, HanAlgorithm, Mockup, Policy};
use collrules_rules::Collective;
use collrules_workflow::analyze::Source;

use crate::stage::{LabFixture, play};

/// Violations of known severity in named cells, and nowhere else; and files for everybody.
#[test]
fn planted_violations_are_found_and_nothing_else_is() {
    let stage = LabFixture::new();
    let check = "--simulate=planted --ops bcast,allreduce,scatter,barrier --np 4 --sizes 4,1K,256K --budget none";
    let found = stage.measure::<Checking>(check, "check").unwrap();
    let violated = found.violations();
    let cells: Vec<_> = violated.iter().map(|(found, _)| (found.cell.collective, found.cell.bytes)).collect();
    assert_eq!(cells, [(Collective::Allreduce, Bytes(4)), (Collective::Bcast, Bytes(256 << 10))]);
    for ((cell, _), planted) in violated.iter().zip([1.0, 0.5]) {
        let severity = cell.severity.unwrap();
        assert!(severity.low.unwrap() <= planted && planted <= severity.high.unwrap(), "{severity:?}");
    }
    let cures: Vec<&Cure> = violated.iter().map(|(_, violation)| &violation.cure).collect();
    assert_eq!(*cures[0], Cure::Nothing);
    assert!(matches!(cures[1], Cure::Rule { choice, .. } if choice.algorithm == 8), "{:?}", cures[1]);
    let page = stage.text("check/guidelines.html");
    assert!(page.contains("class=\"map\"") && page.contains("scatter+allgather"));
    assert!(stage.path("check/guidelines.md").is_file());
    assert!(stage.text("check/guidelines.csv").starts_with("collective,comm_size"));

    // Judged again, with a threshold that only one of them exceeds.
    let again = stage.analyse::<Checking>("--tolerate 60", "check", Some("again")).unwrap();
    assert_eq!(again.violations().len(), 1);
    assert!(fails(&found, None) && fails(&again, None));
    // Nothing is new since then; the same check a second time.
    let same = stage.analyse::<Checking>("", "check", Some("same")).unwrap();
    let changes = changes(&earlier(&stage.path("check")).unwrap(), &same);
    assert!(!fails(&same, Some(&changes)), "{changes:?}");
}

/// Remedies that are faster than every mock-up hide no violation: each group races for itself.
#[test]
fn remedies_hide_no_violation() {
    let stage = LabFixture::new();
    let violated = |remedies: &str| -> Vec<Cell> {
        let check = format!("--simulate --ops all --np 2,8 --sizes 4,64K {remedies}");
        let found = stage.measure::<Checking>(&check, &format!("check{remedies}")).unwrap();
        found.cells.iter().filter(|found| found.violation.is_some()).map(|found| found.cell).collect()
    };
    let with = violated("");
    assert!(with.len() > 10, "{with:?}");
    assert_eq!(with, violated("--no-remedies"));
}

/// If HAN runs the calls, its own algorithms are remedies too.
#[test]
fn another_algorithm_of_han_is_a_cure() {
    let stage = LabFixture::new();
    let found = stage.measure::<Checking>("--simulate=han --ops reduce --np 8 --sizes 1K --budget none", "check");
    let cure = found.unwrap().cells[0].violation.as_ref().unwrap().cure.clone();
    assert!(matches!(cure, Cure::Han { algorithm: HanAlgorithm::Simple, gain } if gain > 1.4), "{cure:?}");
}

/// A check that was cut short and goes on has the samples, and so the verdicts, of one that was not.
#[test]
fn a_check_goes_on_where_it_was_cut_short() {
    let stage = LabFixture::new();
    let check = "--simulate=planted --ops bcast,allreduce --np 4 --sizes 4,256K --budget none";
    let whole = stage.measure::<Checking>(check, "run").unwrap();
    let samples = stage.text("run/samples.csv");
    stage.cut("run", 2);
    // What is there can be judged.
    let judged = stage.analyse::<Checking>("", "run", Some("judged")).unwrap();
    assert_eq!(judged.cells.len(), whole.cells.len());
    let resumed = stage.resume::<Checking>("", "run").unwrap();
    assert_eq!(stage.text("run/samples.csv"), samples);
    assert_eq!(resumed.cells, whole.cells);
}

/// A file that cures one of two violations, which are planted, and brings about another: they are told apart.
#[test]
fn a_rules_file_is_checked_before_and_after_in_one_campaign() {
    let mut stage = LabFixture::new();
    // scatter_allgather for long messages of bcast on 4 ranks; nothing reaches allreduce.
    let rules = stage.write("rules.conf", "1\n7\n2\n4 2\n0 0 0 0\n262144 8 0 0\n5 1\n0 0 0 0\n");
    let check = format!(
        "--simulate=planted --ops bcast,allreduce,scatter --np 4 --sizes 4,1K,256K --budget none --rules {}",
        rules.display()
    );
    let found = stage.measure::<Checking>(&check, "check").unwrap();
    let under = found.under_rules.as_ref().unwrap();
    let changes: Vec<_> = under.changes.iter().map(|it| (it.cell.collective, it.cell.bytes, it.how)).collect();
    let expected =
        [(Collective::Allreduce, Bytes(4), Change::Stays), (Collective::Bcast, Bytes(256 << 10), Change::Gone)];
    assert_eq!(changes, expected);
    assert_eq!((found.cells.len(), under.cells.len()), (9, 9));
    assert!(fails(&found, None), "one is left with the file");
    let samples = stage.text("check/samples.csv");
    let launches = |candidate: &str| -> BTreeSet<u32> {
        let rows = samples.lines().filter(|line| line.split(',').any(|field| field == candidate));
        rows.filter_map(|line| line.split(',').next()?.parse().ok()).collect()
    };
    assert_eq!(launches("builtin"), [0, 1, 2].into());
    assert_eq!(launches("rules"), [3, 4, 5].into());
    assert!(stage.text("check/guidelines.csv").contains(",true\n"));

    // Cut short in the second half, it goes on to the same samples.
    stage.cut("check", 4);
    assert_eq!(stage.resume::<Checking>("", "check").unwrap(), found);
    assert_eq!(stage.text("check/samples.csv"), samples);
    // What is judged again says the same, and rules rest on what was measured without the file.
    let again = stage.analyse::<Checking>("", "check", Some("again")).unwrap();
    assert_eq!(again.under_rules, found.under_rules);
    let source = play(|session| Source::open(&stage.path("check"), None, session)).unwrap();
    let findings = source.decide(Criteria::default(), Policy::default()).unwrap();
    let timed: BTreeSet<_> = findings.cells.iter().flat_map(|cell| &cell.points).map(|point| point.candidate).collect();
    assert!(timed.contains(&Candidate::Builtin) && !timed.contains(&Candidate::Rules), "{timed:?}");

    for (name, text) in [("a file without rules", "1\n7\n0\n"), ("no rules file", "no rules\n")] {
        fs::write(&rules, text).unwrap();
        let checked = stage.measure::<Checking>(&check, "none");
        stage.refuse(name, checked);
        assert!(!stage.path("none/samples.csv").exists());
    }
    fs::write(&rules, "1\n7\n1\n4 1\n0 6 0 0\n").unwrap();
    let resumed = stage.resume::<Checking>("", "check");
    stage.refuse("another file", resumed);
    insta::assert_snapshot!(stage.refused());
}

#[test]
fn the_catalogue_is_listed_for_people_and_programs() {
    let (listed, json) = (report::list(), report::list_json().unwrap());
    let entries: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(entries.len(), 53);
    for entry in entries {
        let name = entry["candidate"].as_str().unwrap();
        name.parse::<Mockup>().unwrap();
        assert!(listed.contains(name.strip_prefix("mockup:").unwrap_or(name)), "{name} is not listed");
    }
}

#[test]
fn a_table_with_mockups_is_judged_and_what_cannot_be_is_said() {
    let mut stage = LabFixture::new();
    let mut text = "collective,candidate,comm_size,message_bytes,launch,avg_latency_us\n".to_owned();
    for launch in 0..12 {
        let noise = f64::from(launch) / 100.0;
        text += &format!("bcast,builtin,8,1048576,{launch},{}\n", 40.0 + noise);
        text += &format!("bcast,mockup:scatter+allgather,8,1048576,{launch},{}\n", 10.0 + noise);
    }
    stage.write("table.csv", &text);
    let judged: Checked = stage.analyse::<Checking>("", "table.csv", None).unwrap();
    let severity = judged.cells[0].severity.unwrap().point;
    assert!((severity - 2.98).abs() < 0.01, "{severity}");
    for (lacks, without) in [
        ("default", text.replace("builtin", "mockup:allgatherv")),
        ("mockups", text.replace("mockup:scatter+allgather", "tuned:6/0/0/0")),
    ] {
        let table = format!("no-{lacks}.csv");
        stage.write(&table, &without);
        let judged = stage.analyse::<Checking>("", &table, None);
        stage.refuse(&table, judged);
    }
    for words in ["--ops brodcast", "--only reduce+bcst", "--only split:0"] {
        stage.refuse_options::<Checking>(words);
    }
    for words in [
        "--only lane --ops bcast --simulate",
        "--only split:8 --ops bcast --sizes 4 --simulate",
        "--only pad:4 --ops bcast --sizes 64 --simulate",
        "--only scan+shift --ops bcast --simulate",
        "--max-extra-memory 1 --only allgatherv --ops bcast --simulate",
    ] {
        let checked = stage.measure::<Checking>(words, "none");
        stage.refuse(words, checked);
        assert!(!stage.path("none").exists(), "{words}");
    }
    insta::assert_snapshot!(stage.refused());
}
