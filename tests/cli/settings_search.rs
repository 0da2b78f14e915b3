//! `tune` and settings: what is planted is found, what harms or fails is left out.

use std::fs;
use std::path::Path;

use crate::agreement::contradictions;
use crate::support::{Ran, bounded};

fn tune(arguments: &str, out: &Path) -> Ran {
    let simulated =
        "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --launches 2 --refine 0 --no-validate";
    let words = format!("tune {simulated} --ops bcast,allreduce --sizes 8,64,512,4K,32K,256K,1M {arguments} --out");
    bounded().args(words.split_whitespace()).arg(out).output().unwrap().into()
}

fn found(run: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(run.join("settings.json")).unwrap()).unwrap()
}

/// The best that slows nothing down: larger eager limits harm short messages, longer pieces plain messages.
#[test]
fn planted_settings_are_found_and_what_harms_or_fails_is_not_installed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    tune("--budget 60s", &run).exits(0);
    assert_eq!(contradictions(&run), [""; 0]);
    let found = found(&run);
    let chosen = &found["finalists"][found["chosen"].as_u64().unwrap() as usize];
    let set = |name: &str| chosen["settings"][name].as_str();
    assert_eq!((set("btl_sm_eager_limit"), set("smsc")), (Some("16384"), Some("^cma")));
    let failed =
        |name: &str| found["failed"].as_array().unwrap().iter().any(|failed| failed["settings"][name].is_string());
    assert!(failed("coll_sm_priority") && failed("btl_sm_fbox_threshold"), "{}", found["failed"]);
    let parameters = fs::read_to_string(run.join("mca-params.conf")).unwrap();
    assert!(parameters.contains("smsc = ^cma") && parameters.contains("btl_sm_eager_limit = 16384"), "{parameters}");
    assert!(!fs::read_to_string(run.join("rules.conf")).unwrap().contains("smsc"), "rules work alone");
    // Whatever ends a search, its launches are kept: what follows finds the same.
    fs::remove_file(run.join("settings.json")).unwrap();
    let journal = fs::read_to_string(run.join("comparison.jsonl")).unwrap();
    let kept: Vec<&str> = journal.lines().take(10).collect();
    fs::write(run.join("comparison.jsonl"), kept.join("\n") + "\n{\"stage\":\"al").unwrap();
    let words = ["tune", "--resume"];
    Ran::from(bounded().args(words).arg(&run).output().unwrap()).exits(0);
    let again = self::found(&run);
    assert_eq!(again["finalists"][again["chosen"].as_u64().unwrap() as usize]["settings"], chosen["settings"]);
    // With nothing left to compare, the settings stay switched on.
    Ran::from(bounded().args(words).arg(&run).output().unwrap()).exits(0);
    assert_eq!(fs::read_to_string(run.join("mca-params.conf")).unwrap(), parameters);
}

/// The algorithm of bcast that is slow under the planted settings, and the fastest for some sizes without them.
const SCATTER_ALLGATHER: &str = "8";

#[test]
fn rules_are_compared_under_the_chosen_settings() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let words = "tune --simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --launches 2 --refine 0 --ops \
                 bcast,allreduce --sizes 8,512,4K,32K,256K,1M --budget 60s --out";
    Ran::from(bounded().args(words.split_whitespace()).arg(&run).output().unwrap()).exits(0);
    let found = found(&run);
    let chosen = &found["finalists"][found["chosen"].as_u64().unwrap() as usize];
    assert_eq!(chosen["rules"], "shared");
    let point = |name: &str| chosen[name]["point"].as_f64().unwrap();
    assert!(point("with_rules") > 1.4 * point("speedup"), "{chosen}");
    let parameters = fs::read_to_string(run.join("mca-params.conf")).unwrap();
    let rules = run.join("tunings");
    assert!(parameters.contains(rules.to_str().unwrap()) && parameters.contains("smsc = ^cma"), "{parameters}");
    // A rule that is slow under the settings is in the file no longer.
    let names_slow = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        let rules = text.lines().map(|line| line.split('#').next().unwrap().split_whitespace().collect::<Vec<_>>());
        rules.filter(|rule| rule.len() == 4).any(|rule| rule[1] == SCATTER_ALLGATHER)
    };
    let before: Vec<_> = fs::read_dir(&rules).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(before.iter().any(|file| names_slow(file)), "it wins without them");
    assert!(!names_slow(&run.join("rules.conf")));
    // What was measured under the settings is kept with a run that is resumed.
    Ran::from(bounded().args(["tune", "--resume"]).arg(&run).output().unwrap()).exits(0);
    assert_eq!(fs::read_to_string(run.join("mca-params.conf")).unwrap(), parameters);
}

#[test]
fn settings_are_left_out_when_told_so_or_without_time() {
    let directory = tempfile::tempdir().unwrap();
    for (place, arguments) in ["--budget 60s --no-settings", "--budget 4s"].into_iter().enumerate() {
        let run = directory.path().join(place.to_string());
        tune(arguments, &run).exits(0);
        assert!(!run.join("settings.json").exists(), "{arguments}");
    }
    let run = directory.path().join("own");
    let own = "--budget 30s --only-settings --setting btl_sm_eager_limit=32768 --setting env:NOTHING=1,2";
    tune(own, &run).exits(0);
    assert_eq!(contradictions(&run), [""; 0]);
    assert!(found(&run)["chosen"].is_null(), "it harms short messages");
    tune("--setting smcs=^cma", &directory.path().join("bad")).exits(2);
}

/// The search confirms what is planted, and so do fresh launches; a choice that harms is refuted by them and removed.
#[test]
fn a_whole_tuning_is_compared_again_and_harmful_settings_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    tune("--budget 60s", &run).exits(0);
    let validate = |arguments: &str| -> Ran {
        let words = format!("validate --budget 30s {arguments}");
        bounded().args(words.split_whitespace()).arg(&run).output().unwrap().into()
    };
    validate("").exits(0);
    assert_eq!(found(&run)["validation"]["compared"]["standing"], "confirmed");
    let whole = validate("--json").exits(0).stdout;
    let whole = whole.lines().find(|line| line.contains(r#""event":"validated_whole""#)).unwrap();
    assert!(whole.contains(r#""verdict":"confirmed""#), "{whole}");
    let journal = fs::read_to_string(run.join("comparison.jsonl")).unwrap();
    assert!(journal.contains("{\"validation\":1}"), "each comparison has launches of its own");
    // As if the machine had changed: what is installed slows short messages down now.
    let mut settings = found(&run);
    let chosen = settings["chosen"].as_u64().unwrap() as usize;
    settings["finalists"][chosen]["settings"]["btl_sm_eager_limit"] = "65536".into();
    fs::write(run.join("settings.json"), settings.to_string()).unwrap();
    validate("").exits(8);
    assert_eq!(found(&run)["validation"]["compared"]["standing"], "harmful");
    Ran::from(bounded().args(["install", "--user"]).arg(&run).output().unwrap()).exits(3);
    validate("--repair").exits(0);
    assert!(found(&run)["chosen"].is_null());
    let parameters = fs::read_to_string(run.join("mca-params.conf")).unwrap();
    assert!(!parameters.contains("btl_sm_eager_limit") && !parameters.contains("smsc"), "{parameters}");
}

/// Settings with which jobs crash are slower than any others.
#[test]
fn settings_with_which_jobs_fail_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    tune("--budget 60s", &run).exits(0);
    let mut settings = found(&run);
    let chosen = settings["chosen"].as_u64().unwrap() as usize;
    settings["finalists"][chosen]["settings"]["coll_sm_priority"] = "90".into();
    fs::write(run.join("settings.json"), settings.to_string()).unwrap();
    let validate = |arguments: &[&str]| -> Ran {
        bounded().args(["validate", "--budget", "30s"]).args(arguments).arg(&run).output().unwrap().into()
    };
    validate(&[]).exits(8);
    assert!(found(&run)["validation"]["failed"].is_object());
    validate(&["--repair"]).exits(0);
    assert!(found(&run)["chosen"].is_null());
}
