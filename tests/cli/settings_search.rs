//! A comparison of settings, as users and programs are told of it.

use std::fs;

use crate::support::{Ran, bounded, collrules};

#[test]
fn harmful_settings_are_told_and_not_installed() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let host = "tune --simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --launches 2 --refine 0";
    let own = "--ops bcast --sizes 8,4K,1M --budget 30s --only-settings --no-validate";
    collrules(&format!("{host} {own} --setting smcs=^cma --out"), &directory.path().join("bad")).exits(2);
    collrules(&format!("{host} {own} --setting smsc=^cma --out"), &run).exits(0);
    let whole = collrules("validate --budget 30s --json", &run).exits(0).stdout;
    let whole = whole.lines().find(|line| line.contains(r#""event":"validated_whole""#)).unwrap();
    assert!(whole.contains(r#""verdict":"confirmed""#), "{whole}");
    // As if the machine had changed: what is installed slows short messages down now.
    let file = run.join("state.json");
    let mut state: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let settings = &mut state["settings"];
    let chosen = settings["chosen"].as_u64().unwrap() as usize;
    settings["finalists"][chosen]["settings"]["btl_sm_eager_limit"] = "65536".into();
    fs::write(file, state.to_string()).unwrap();
    collrules("validate --budget 30s", &run).exits(8);
    Ran::from(bounded().args(["install", "--user"]).arg(&run).output().unwrap()).exits(3);
}
