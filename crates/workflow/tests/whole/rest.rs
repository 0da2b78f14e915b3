//! The rest of a budget after all steps.

use collrules_record::remark::Remark;
use collrules_record::settings::RulesUse;
use collrules_record::units::Seconds;
use collrules_report::gains::{Removal, SizeState};
use collrules_rules::Collective;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;

use crate::stage::{TuningFixture, tuning};

/// Returns true if more time could decide more.
fn is_open(published: &Published) -> bool {
    let findings = &published.findings;
    let is_missing = |remark: &Remark| matches!(remark, Remark::NotMeasured { .. });
    let chosen = published.settings.as_ref().and_then(|found| found.chosen());
    published.gains().fates().undecided > 0
        || chosen.is_some_and(|chosen| chosen.rules == RulesUse::NotCompared && !findings.changes_nothing())
        || findings.remarks.iter().any(is_missing)
        || findings.cells.iter().any(|cell| cell.is_open(findings.criteria.min_gain))
}

/// Returns true if the end of a run was said to be for want of open questions.
fn is_said_decided(stage: &TuningFixture) -> bool {
    stage.notes.iter().any(|note| note.ends_with("everything decided"))
}

/// A run ends when all is decided, or its budget is used up to the time of a launch. Its time is that of the model.
#[test]
fn a_run_ends_decided_or_uses_its_budget() {
    const NOISE: &str = "noise --sizes 64,4K,64K --np 4,8 --ops bcast,allreduce";
    const RULES: &str = "deceptive --sizes 8K,64K --refine 0 --min-gain 27";
    const FEW: &str = "stale --sizes 1K:64K --np 8 --min-gain 18";
    let mut open = 0;
    for (words, budget) in [(NOISE, 0.5), (NOISE, 2.0), (RULES, 1.0), (RULES, 3.0), (FEW, 2.0), (FEW, 5.0)] {
        for seed in 1..=4 {
            let (stage, published) =
                TuningFixture::tuned(&format!("--simulate={words} --seed {seed} --budget {budget}s"));
            let used = stage.clock.borrow().now() / budget;
            let what = format!("{words}, {budget} s, seed {seed}: {used:.2}, {}", published.verdict());
            assert!(used < 1.1, "{what}");
            assert!(used > 0.95 || !is_open(&published), "{what}");
            assert!(!is_said_decided(&stage) || !is_open(&published), "{what}");
            open += u32::from(is_open(&published));
        }
    }
    assert!(open > 0, "no budget was too small");
}

/// Settings that were chosen stay while the rest of the budget goes to what is undecided.
#[test]
fn the_rest_of_a_budget_keeps_the_settings() {
    const HOST: &str = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --refine 0 --only-settings \
                        --ops bcast,allreduce --sizes 8,512,4K,32K,256K,1M --setting smsc=^cma";
    let (stage, published) = TuningFixture::tuned(&format!("{HOST} --budget 30s --min-gain 15 --calls 20"));
    assert!(stage.notes.iter().any(|note| note.contains("are left for what is undecided")), "{:?}", stage.notes);
    assert!(published.settings.as_ref().is_some_and(|found| found.chosen.is_some()), "{}", published.verdict());
    assert_eq!(stage.run().state().unwrap().unwrap().settings, published.settings);
}

/// Rules that were confirmed under settings stay if others are decided, and there is no time to compare any.
#[test]
fn a_budget_that_is_too_short_keeps_rules_under_settings() {
    const HOST: &str = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --refine 0 --only-settings \
                        --ops bcast,allreduce --sizes 8,512,4K,32K,256K,1M --setting smsc=^cma --calls 20";
    let (mut stage, first) = TuningFixture::tuned(&format!("{HOST} --budget 120s --min-gain 30"));
    let rules = |published: &Published| published.settings.as_ref().and_then(|found| Some(found.chosen()?.rules));
    assert_eq!(rules(&first), Some(RulesUse::Shared));
    stage.startup = Some(Seconds(1.0));
    // More sizes have a rule than were compared.
    let begin = Begin::tuning(tuning(&format!("{HOST} --budget 1s --min-gain 5")), stage.path());
    let begin = Begin { place: RunPlace::Resumed(stage.path()), ..begin };
    let more = stage.play(|session| tune(&begin, session)).unwrap();
    assert_eq!(rules(&more), Some(RulesUse::Shared), "{}", more.verdict());
    assert!(!is_said_decided(&stage) || !is_open(&more), "{:?}", stage.notes);
}

/// Other criteria make other rules. Those without time for a comparison are open, and those that were confirmed before stay.
#[test]
fn rules_of_other_criteria_are_open_until_they_are_compared() {
    const HOST: &str = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --refine 0 --only-settings \
                        --ops bcast,allreduce --sizes 8,512,4K,32K,256K,1M --setting smsc=^cma --calls 20 --budget 30s";
    let (mut stage, _) = TuningFixture::tuned(&format!("{HOST} --min-gain 30"));
    stage.startup = Some(Seconds(0.05));
    stage.notes.clear();
    let begin = Begin::tuning(tuning(&format!("{HOST} --min-gain 2")), stage.path());
    let begin = Begin { place: RunPlace::Resumed(stage.path()), ..begin };
    let more = stage.play(|session| tune(&begin, session)).unwrap();
    let gains = more.gains();
    let untimed = stage.notes.iter().any(|note| note.contains("without fresh launches"));
    assert!(untimed && gains.count(|state| state == SizeState::Removed(Removal::NotReached)) > 0, "{:?}", stage.notes);
    assert!(is_open(&more) && !is_said_decided(&stage), "{:?}", stage.notes);
    let allreduce = gains.iter().filter(|(cell, _)| cell.collective == Collective::Allreduce);
    assert!(allreduce.map(|(_, gain)| gain.state).all(SizeState::is_confirmed));
    assert!(!stage.notes.iter().any(|note| note.contains("no time to compare allreduce")), "{:?}", stage.notes);
}
