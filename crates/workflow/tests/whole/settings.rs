//! Settings: what is planted is found, what harms or fails is left out.

use std::fs;
use std::path::Path;

use collrules_record::rundir;
use collrules_record::settings::{RulesUse, SettingsFindings, SettingsVerdict};
use collrules_record::state::TuningState;
use collrules_rules::{Collective, Release};

use crate::agreement::contradictions;
use crate::stage::{TuningFixture, means};

const HOST: &str = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --launches 2 --refine 0 \
                    --ops bcast,allreduce --sizes 8,512,4K,32K,256K,1M";

impl TuningFixture {
    fn settings(&self) -> SettingsFindings {
        self.run().settings().unwrap().unwrap()
    }
}

/// The best that slows nothing down: larger eager limits harm short messages, longer pieces plain messages. A comparison
/// confirms it; a choice that harms, or with which jobs crash, is refuted by one and removed.
#[test]
fn planted_settings_are_found_and_what_harms_or_fails_is_removed() {
    let (mut stage, _) = TuningFixture::tuned(&format!("{HOST} --no-validate --budget 60s"));
    assert_eq!(contradictions(&stage.path()), [""; 0]);
    let found = stage.settings();
    let chosen = found.chosen().unwrap().settings.clone();
    let set = |name: &str| chosen.get(name).map(String::as_str);
    assert_eq!((set("btl_sm_eager_limit"), set("smsc")), (Some("16384"), Some("^cma")));
    let failed = |name: &str| found.failed.iter().any(|failed| failed.settings.contains_key(name));
    assert!(failed("coll_sm_priority") && failed("btl_sm_fbox_threshold"), "{:?}", found.failed);
    let parameters = stage.read(rundir::MCA_PARAMS);
    assert!(parameters.contains("smsc = ^cma") && parameters.contains("btl_sm_eager_limit = 16384"), "{parameters}");
    assert!(!stage.read(rundir::RULES).contains("smsc"), "rules work alone");
    // Whatever ends a search, its launches are kept: what follows finds the same.
    fs::remove_file(stage.path().join(rundir::SETTINGS)).unwrap();
    let log = stage.read(rundir::COMPARISON);
    let kept: Vec<&str> = log.lines().take(10).collect();
    fs::write(stage.path().join(rundir::COMPARISON), kept.join("\n") + "\n{\"stage\":\"al").unwrap();
    stage.resume().unwrap();
    assert_eq!(stage.settings().chosen().unwrap().settings, chosen);
    // With nothing left to compare, the settings stay switched on.
    stage.resume().unwrap();
    assert_eq!(stage.read(rundir::MCA_PARAMS), parameters);

    let validate = |stage: &mut TuningFixture, repair: &str| {
        let validated = stage.validate(&format!("--budget 30s {repair}")).unwrap();
        (validated.loses(), validated.settings.unwrap())
    };
    let (loses, found) = validate(&mut stage, "");
    let compared = found.validation.as_ref().unwrap().compared.as_ref().unwrap();
    assert!(!loses && compared.standing == SettingsVerdict::Confirmed);
    // As if the machine had changed.
    for (name, value) in [("btl_sm_eager_limit", "65536"), ("coll_sm_priority", "90")] {
        let mut other = found.clone();
        other.finalists[found.chosen.unwrap()].settings.insert(name.to_owned(), value.to_owned());
        let state = stage.run().state().unwrap().unwrap();
        stage.run().write_state(&TuningState { settings: Some(other), ..state }).unwrap();
        let (loses, refuted) = validate(&mut stage, "");
        let whole = refuted.validation.unwrap();
        assert!(loses && whole.failed.is_some() == (name == "coll_sm_priority"));
        assert!(whole.compared.is_none_or(|it| it.standing == SettingsVerdict::Harmful));
        assert_eq!(validate(&mut stage, "--repair").1.chosen, None);
        let parameters = stage.read(rundir::MCA_PARAMS);
        assert!(!parameters.contains(name) && !parameters.contains("smsc"), "{parameters}");
    }
}

/// The algorithm of bcast that is slow under the planted settings, and the fastest for some sizes without them.
const SCATTER_ALLGATHER: u32 = 8;

#[test]
fn rules_are_compared_under_the_chosen_settings() {
    let (mut stage, _) = TuningFixture::tuned(&format!("{HOST} --budget 60s"));
    let found = stage.settings();
    let chosen = found.chosen().unwrap();
    assert_eq!(chosen.rules, RulesUse::Shared);
    assert!(chosen.with_rules.unwrap().point > 1.4 * chosen.speedup.point, "{chosen:?}");
    let (parameters, rules) = (stage.read(rundir::MCA_PARAMS), stage.path().join(rundir::TUNINGS));
    assert!(parameters.contains(rules.to_str().unwrap()) && parameters.contains("smsc = ^cma"), "{parameters}");
    // A rule that is slow under the settings is in the file no longer.
    let names_slow = |file: &Path| {
        let table = means(file, Release::V5_0);
        table.choices().any(|(of, .., it)| of == Collective::Bcast && it.algorithm == SCATTER_ALLGATHER)
    };
    let mut before = fs::read_dir(&rules).unwrap().map(|entry| entry.unwrap().path());
    assert!(before.any(|file| names_slow(&file)), "it wins without them");
    assert!(!names_slow(&stage.path().join(rundir::RULES)));
    // What was measured under the settings is kept with a run that is resumed.
    stage.resume().unwrap();
    assert_eq!(stage.read(rundir::MCA_PARAMS), parameters);
}

#[test]
fn settings_are_left_out_when_told_so_or_without_time() {
    for words in ["--budget 60s --no-settings", "--budget 4s"] {
        let (_stage, published) = TuningFixture::tuned(&format!("{HOST} --no-validate {words}"));
        assert!(published.settings.is_none(), "{words}");
    }
    let own = "--budget 30s --only-settings --setting btl_sm_eager_limit=32768 --setting env:NOTHING=1,2";
    let (stage, published) = TuningFixture::tuned(&format!("{HOST} --no-validate {own}"));
    assert_eq!(contradictions(&stage.path()), [""; 0]);
    assert_eq!(published.settings.unwrap().chosen, None, "it harms short messages");
}
