//! The rest of a budget after all steps.

use collrules_record::remark::Remark;
use collrules_record::settings::RulesUse;
use collrules_record::units::Seconds;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;

use crate::stage::{TuningFixture, tuning};

/// Returns true if more time could decide more.
fn is_open(published: &Published) -> bool {
    let findings = &published.findings;
    let is_missing = |remark: &Remark| matches!(remark, Remark::NotMeasured { .. });
    published.gains().fates().undecided > 0
        || findings.remarks.iter().any(is_missing)
        || findings.cells.iter().any(|cell| cell.is_open(findings.criteria.min_gain))
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
}
