//! Comparing a tuning in fresh launches, and repairing it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use collrules_record::rundir::{self, ComparisonLog};
use collrules_record::validation::Outcome;
use collrules_record::{Seconds, Step, Validation, comparison};
use collrules_rules::{Choice, Collective};
use collrules_workflow::validate::as_measured;
use collrules_workflow::{WorkflowError, publish};

use crate::stage::{TuningFixture, bcast, means, tuning, verdicts};

/// Rules that lose from 256 KiB on, as fresh launches will show.
const DECEIVED: &str = "--simulate=deceptive --sizes 4K,64K,1M --refine 0 --no-validate";

#[test]
fn a_comparison_that_was_given_up_is_resumed_and_repairs_a_run() {
    let (mut stage, _) = TuningFixture::tuned(DECEIVED);
    let [first, second, third] = [(); 3].map(|()| publish::open(&stage.path(), None).unwrap());
    let options = tuning(DECEIVED);
    assert_eq!(
        as_measured(&first).unwrap().map(|it| (it.system, it.timing, it.condition)),
        Some((options.system, options.timing, options.condition))
    );
    let mut interrupted = |deaths, failures, patience| {
        (stage.deaths, stage.failures, stage.patience) = (deaths, failures, patience);
        let ended = stage.compare(&first, false, "--budget none --repair", None).map(drop);
        assert!(matches!(ended, Err(WorkflowError::Unvalidated { .. })), "{ended:?}");
    };
    interrupted(u32::MAX, 0, usize::MAX);
    interrupted(0, 20, 2);
    // As if it had ended while the line of the last launch was written.
    let log = stage.read(rundir::COMPARISON);
    let kept = log.rfind("\n{").unwrap() + 1;
    fs::write(stage.path().join(rundir::COMPARISON), &log[..kept + 20]).unwrap();
    stage.patience = usize::MAX;
    let validated = stage.compare(&second, false, "--budget none --repair", None).expect("is resumed");
    assert!(!validated.loses() && !validated.validation.unwrap().reverted.is_empty());
    let whole = stage.read(rundir::COMPARISON);
    assert!(whole.starts_with(&log[..kept]), "launches are kept");
    // The file is another one by now than the one that was opened first; and what is complete is not resumed.
    assert!(!stage.compare(&third, false, "--budget none", None).unwrap().loses());
    let again = ComparisonLog::open(&stage.run()).unwrap();
    assert!(again.launches().iter().any(|launch| launch.stage == comparison::Stage::Validation(1)));
    assert!(stage.read(rundir::COMPARISON).starts_with(&whole));
}

/// A comparison alone changes no rule, and one of a few sizes takes the place of nothing that is known; a repair removes what
/// loses.
#[test]
fn a_run_is_spot_checked_compared_and_repaired() {
    let (mut stage, _) = TuningFixture::tuned(DECEIVED);
    let rules = |stage: &TuningFixture| {
        let text = stage.read(rundir::RULES);
        (text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>(), text)
    };
    let (kept, commented) = rules(&stage);
    let few = stage.validate("--budget none --sizes 64K --np 8").unwrap().validation.unwrap();
    assert!(!few.loses() && !few.is_confirmed());
    let round = few.round;
    assert_eq!(verdicts(&round)[&bcast(64 << 10)], Outcome::Faster);
    assert!(round.unreached > 0);
    let all = stage.validate("--budget none").unwrap().validation.unwrap();
    assert!(all.loses() && all.settings["coll_tuned_dynamic_rules_filename"].contains("run/tunings/"));
    let found = verdicts(&all.round);
    for (bytes, verdict) in [(4 << 10, Outcome::Same), (64 << 10, Outcome::Faster), (1 << 20, Outcome::Slower)] {
        assert_eq!(found[&bcast(bytes)], verdict, "{bytes}");
    }
    assert!(found.contains_key(&bcast(16 << 10)), "sizes between: {found:?}");
    let (still, compared) = rules(&stage);
    assert!(still == kept && compared != commented, "comments change");
    let again = stage.validate("--budget none --sizes 64K --np 8").unwrap().validation.unwrap();
    let round = &again.round;
    assert!(again.loses());
    assert_eq!((verdicts(round), again.checks.len(), round.unreached), (found, all.checks.len(), 0));
    let repaired = stage.validate("--budget none --repair").unwrap().validation.unwrap();
    assert!(!repaired.loses() && repaired.round.repaired.contains(&bcast(1 << 20)));
    assert_eq!(stage.in_use(1 << 20), Choice::BUILTIN);
    assert!(!stage.validate("--budget none").unwrap().loses());
}

#[test]
fn a_validation_keeps_to_its_time_and_leaves_nothing_unconfirmed() {
    let (mut stage, _) = TuningFixture::tuned(DECEIVED);
    stage.launches.set(0);
    stage.pause = Duration::from_millis(200);
    let validated = stage.validate("--budget 2s --repair").unwrap();
    assert!(stage.launches.get() <= 11, "{} launches of 0.2 seconds", stage.launches.get());
    let validation = validated.validation.unwrap();
    assert!(validation.verdicts(None).into_values().all(Outcome::holds) && !validation.reverted.is_empty());
    assert_eq!(validated.home.validation().unwrap(), Some(validation));
}

/// Without samples there is no new decision: nothing claims one, nothing is made up in their place, and with the samples it
/// is made.
#[test]
fn a_repair_that_fails_is_not_claimed() {
    let (mut stage, published) = TuningFixture::tuned(DECEIVED);
    let run = &published.run;
    let content = |name| (name, stage.read(name));
    let kept = [rundir::RULES, rundir::FINDINGS].map(content);
    let away = [rundir::SAMPLES, rundir::LAUNCHES].map(|name| (run.file(name), stage.directory.path().join(name)));
    for (here, there) in &away {
        fs::rename(here, there).unwrap();
    }
    let error = stage.validate("--budget none --repair").map(drop).unwrap_err();
    assert!(matches!(error, WorkflowError::Record(_)), "{error:?}");
    assert!(away.iter().all(|(here, _)| !here.exists()));
    for (name, content) in &kept {
        assert!(stage.read(name) == *content, "{name}");
    }
    assert!(!run.file(rundir::UNPROVEN).exists());
    let is_unclaimed = |it: Validation| it.reverted.is_empty() && it.round.repaired.is_empty();
    assert!(run.validation().unwrap().is_none_or(is_unclaimed));
    // The comparison alone needs none of them.
    assert!(stage.validate("--budget none").unwrap().loses());
    for (here, there) in &away {
        fs::rename(there, here).unwrap();
    }
    // As after a death between the two writes: what was reverted already is not written down twice.
    let reverted = stage.validate("--budget none --repair").unwrap().validation.unwrap().reverted;
    for (name, content) in &kept {
        fs::write(run.file(name), content).unwrap();
    }
    let again = stage.validate("--budget none --repair").unwrap().validation.unwrap().reverted;
    let twice = again.iter().enumerate().any(|(at, range)| again[..at].contains(range));
    assert!(!twice && again.starts_with(&reverted), "{again:?}");
    assert_eq!(stage.in_use(1 << 20), Choice::BUILTIN);
}

/// A file that loses below 512 KiB to a pipeline without segments: 7 (a + bm) where the builtin takes 3. scatter_allgather is
/// better when large.
const CLASSIC: &str = "1\n7\n3\n2 1\n0 0 0 0\n8 2\n0 3 0 0\n524288 8 0 0\n9 1\n0 0 0 0\n";

const JSON: &str = r#"{"collectives": {"bcast": [{"comm_size_min": 8, "comm_size_max": 8, "rules": [
    {"msg_size_min": 0, "msg_size_max": 524287, "alg": 3},
    {"msg_size_min": 524288, "alg": "scatter_allgather"}]}]}}"#;

/// Files of others stay as they are, whatever their text and wherever a link leads: jobs may be reading them. What is left of
/// one is written beside the result, in its format.
#[test]
fn a_file_of_others_is_repaired_into_the_directory_of_the_result() {
    let mut stage = TuningFixture::new();
    let at = |name: &str| stage.directory.path().join(name);
    let (site, target, link) = (at("site"), at("site/tuned.conf"), at("rules.conf"));
    fs::create_dir(&site).unwrap();
    symlink(&target, &link).unwrap();
    // No UTF-8: comments of others may be in Latin-1.
    let latin = [b"# gr\xf6\xdfer\n", CLASSIC.as_bytes()].concat();
    for (text, release) in [(CLASSIC.as_bytes(), "4.1"), (&latin, "5.0"), (JSON.as_bytes(), "6.0")] {
        fs::write(&target, text).unwrap();
        let out = stage.directory.path().join(release);
        let opened = publish::open(&link, None).unwrap();
        assert_eq!(as_measured(&opened).unwrap(), None);
        let words = format!("--simulate --simulated-release {release} --np 2,8 --budget none --repair");
        let validated = stage.compare(&opened, false, &words, Some(&out)).unwrap();
        assert!(!validated.loses() && link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), text);
        let repaired = validated.validation.unwrap().round.repaired;
        assert!(!repaired.is_empty() && repaired.iter().all(|cell| cell.bytes.0 < 512 << 10), "{repaired:?}");
        let rules = out.join(rundir::RULES);
        assert_eq!(fs::read(&rules).unwrap().trim_ascii_start().starts_with(b"{"), release == "6.0");
        assert!(!out.join(rundir::UNPROVEN).exists());
        let left = means(&rules, release.parse().unwrap());
        let algorithm = |bytes| left.lookup(Collective::Bcast, 8, bytes).algorithm;
        assert_eq!((algorithm(4 << 10), algorithm(1 << 20)), (0, 8), "the pipeline is gone, scatter_allgather is not");
    }
    assert_eq!(fs::read_dir(&site).unwrap().count(), 1);
}

/// Rules that make no difference are called neither faster nor slower, but for one validation in 20: four or more of 20
/// have a probability of 1.6 %.
#[test]
fn rules_without_effect_are_found_to_have_none() {
    let mut stage = TuningFixture::new();
    let file = stage.directory.path().join("rules.conf");
    fs::write(&file, "1\n7\n3\n2 1\n0 0 0 0\n8 1\n0 8 0 0\n9 1\n0 0 0 0\n").unwrap();
    let opened = publish::open(&file, None).unwrap();
    let wrong = (1..=20).filter(|seed| {
        let out = stage.directory.path().join(seed.to_string());
        let words = format!("--simulate=noise --np 8 --sizes 1,256,64K --seed {seed}");
        let validation = stage.compare(&opened, false, &words, Some(&out)).unwrap().validation.unwrap();
        verdicts(&validation.round).values().any(|verdict| *verdict != Outcome::Same)
    });
    let wrong = wrong.count();
    assert!(wrong < 4, "{wrong} of 20");
}

/// A tuning whose rules partly lose.
const HOST: &str = "--simulate=deceptive --np 4,8 --sizes 8K,64K,512K --ops bcast,allreduce --no-settings --refine 0";

/// A tuning that goes on knows what a repair between its sessions compared and removed.
#[test]
fn what_a_repair_removes_stays_removed_if_the_tuning_goes_on() {
    let (mut stage, _) = TuningFixture::tuned(&format!("{HOST} --budget 12s"));
    // As if it had been killed right after it was resumed with more time.
    let mut begun = stage.run().state().unwrap().expect("a state");
    begun.reopen(Step::Decide.into());
    begun.steps.push(Step::Begin(Some(Seconds(400.0))).into());
    stage.run().write_next_state(&begun).unwrap();
    stage.validate("--budget none --repair --min-difference 60").expect("compares");
    let [state, next] = [stage.run().state(), stage.run().next_state()].map(|state| state.unwrap().expect("a state"));
    assert!(!state.reverted.is_empty() && state.reverted.iter().all(|range| next.reverted.contains(range)));
    assert_eq!(next.steps.last(), state.steps.last());
    assert_eq!(next.settings, state.settings);
    let resumed = stage.resume().expect("goes on");
    assert!(resumed.is_confirmed(), "{}", resumed.verdict());
    assert_eq!(stage.run().next_state().unwrap(), None);
}

/// An analysis of a tuning that was interrupted before its first results is one with all that it compared.
#[test]
fn an_analysis_keeps_what_an_interrupted_tuning_compared() {
    let words = format!("{HOST} --budget 400s");
    let (whole, _) = TuningFixture::tuned(&words);
    let log = ComparisonLog::open(&whole.run()).unwrap();
    let blocks: BTreeSet<_> = log.launches().iter().map(|launch| (launch.stage, launch.block)).collect();
    let mut stage = TuningFixture::new();
    stage.patience = blocks.len() - 2;
    assert!(stage.tune(&words).is_err());
    let next = stage.run().next_state().unwrap();
    stage.patience = usize::MAX;
    let published = stage.analyze(None, "");
    let compared = next.is_some_and(|next| next.steps.iter().any(|step| step.evidence.is_some()));
    assert_eq!(published.validation.is_some(), compared);
    assert!(compared, "interrupted after a comparison");
    assert_eq!(stage.run().next_state().unwrap(), None);
}
