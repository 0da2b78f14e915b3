//! What a resumed or later command makes of what an earlier one compared.

use collrules_record::comparison::Stage as Step;
use collrules_record::rundir::{self, ComparisonLog};
use collrules_record::settings::RulesUse;
use collrules_record::{Cell, Seconds};
use collrules_report::gains::Removal;
use collrules_report::outcome::{self, VerdictWord};
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::Published;
use collrules_workflow::tune::tune;

use crate::agreement::list_unlaunched;
use crate::stage::{TuningFixture, bcast, options, tuning, verdicts};

/// Rules that lose at 1 MiB, as fresh launches show.
const DECEIVED: &str = "--simulate=deceptive --sizes 4K,64K,1M --refine 0 --calls 20";

/// A node with settings to find.
const HOST: &str = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4 --refine 0 --launches 2 \
                    --ops bcast,allreduce --sizes 8,512,4K,32K,256K,1M --only-settings";

const FOUND: &str = "--setting smsc=^cma --setting btl_sm_eager_limit=16384";

impl TuningFixture {
    /// Resumes the run with other options.
    fn resume_with(&mut self, words: &str) -> Published {
        let again = Begin { place: RunPlace::Resumed(self.path()), ..Begin::tuning(tuning(words), self.path()) };
        self.play(|session| tune(&again, session)).unwrap()
    }

    fn count_launches(&self) -> usize {
        ComparisonLog::open(&self.run()).unwrap().launches().len()
    }
}

#[test]
fn rules_that_were_never_launched_are_not_confirmed() {
    let host = format!("{HOST} {FOUND}");
    for words in [&format!("{DECEIVED} --no-settings")[..], &host] {
        let (mut stage, _) = TuningFixture::tuned(&format!("{words} --min-gain 90"));
        let ruled = stage.resume_with(&format!("{words} --no-validate --min-gain 3"));
        assert!(!ruled.findings.changes_nothing());
        assert_eq!(list_unlaunched(&ruled), [], "{words}: {}", ruled.verdict());
        let launched = stage.count_launches();
        let compared = stage.resume_with(&format!("{words} --min-gain 3"));
        assert!(compared.is_confirmed(), "{words}: {}", compared.verdict());
        assert_eq!(list_unlaunched(&compared), [], "{words}");
        assert!(stage.count_launches() > launched, "{words}");
    }
}

/// Without the result of the search the launches of its stages remain; those of rules that are gone say nothing about the
/// rules that are left.
#[test]
fn a_lost_result_of_a_search_is_found_again() {
    let (mut stage, published) = TuningFixture::tuned(&format!("{HOST} {FOUND}"));
    assert!(published.is_confirmed());
    std::fs::remove_file(stage.path().join(rundir::SETTINGS)).unwrap();
    let again = stage.resume().unwrap();
    assert!(again.is_confirmed(), "{}", again.verdict());
    assert_eq!(list_unlaunched(&again), []);
    let chosen = |published: &Published| published.settings.as_ref().unwrap().chosen().unwrap().clone();
    assert_eq!(
        (chosen(&again).settings, chosen(&again).rules),
        (chosen(&published).settings, chosen(&published).rules)
    );
}

/// Values with which jobs fail are known after an interruption, too.
#[test]
fn settings_with_values_that_fail_survive_an_interruption_anywhere() {
    let words = format!("{HOST} {FOUND} --calls 5 --setting coll_sm_priority=90 --setting btl_sm_fbox_threshold=1");
    let (stage, published) = TuningFixture::tuned(&words);
    let found = published.settings.unwrap();
    assert!(!found.failed.is_empty() && found.chosen.is_some());
    let blocks = ComparisonLog::open(&stage.run()).unwrap();
    let is_of = |step: Step| blocks.launches().iter().filter(|it| it.stage == step).map(|it| it.block + 1).max();
    let searched: u32 = [Step::Rules, Step::Alone, Step::Foldover, Step::Tuning].into_iter().filter_map(is_of).sum();
    for patience in [searched / 2, searched - 1, searched, searched + 1].map(|blocks| blocks as usize) {
        let mut stage = TuningFixture::new();
        stage.patience = patience;
        let ended = stage.tune(&words);
        stage.patience = usize::MAX;
        let again = ended.or_else(|_| stage.resume()).unwrap().settings.unwrap();
        assert_eq!((again.chosen, again.finalists), (found.chosen, found.finalists.clone()), "after {patience} blocks");
    }
}

#[test]
fn an_interrupted_comparison_of_some_sizes_answers_no_question_about_all() {
    let (mut stage, _) = TuningFixture::tuned(&format!("{DECEIVED} --no-validate"));
    stage.patience = 5;
    assert!(stage.validate("--budget none --pairs 6 --sizes 64K --np 8").is_err());
    stage.patience = usize::MAX;
    let round = stage.validate("--budget none --pairs 6").unwrap().validation.unwrap().round;
    assert!(round.unreached == 0 && round.cells.iter().all(|cell| cell.speedup.samples >= 6));
    assert!([4 << 10, 64 << 10, 1 << 20].iter().all(|bytes| verdicts(&round).contains_key(&bcast(*bytes))));
}

/// What was shown by many launches stays shown after a look with two of them.
#[test]
fn a_look_takes_no_confirmation() {
    let (mut stage, published) = TuningFixture::tuned(DECEIVED);
    assert!(published.is_confirmed());
    let files =
        |stage: &TuningFixture| [rundir::RULES, rundir::MCA_PARAMS, rundir::ENVIRONMENT].map(|name| stage.read(name));
    let before = files(&stage);
    stage.pause = std::time::Duration::from_millis(100);
    for words in ["--budget 0.1s --pairs 2", "--budget 0.1s --pairs 2 --sizes 4K,64K --np 8"] {
        assert!(!stage.validate(words).unwrap().loses());
        let now = Published::open(&stage.path()).unwrap();
        assert!(now.is_confirmed() && list_unlaunched(&now).is_empty(), "{words}: {}", now.verdict());
        assert_eq!(before[2], files(&stage)[2], "{words}");
    }
}

#[test]
fn a_validation_times_all_that_settings_could_harm() {
    let (mut stage, published) = TuningFixture::tuned(&format!("{HOST} {FOUND}"));
    let searched = published.settings.unwrap().chosen().unwrap().guarded.len();
    let whole = stage.validate("--budget 60s").unwrap().settings.unwrap().validation.unwrap().compared.unwrap();
    assert_eq!(whole.guarded.len(), searched);
}

/// A result of jobs that die is that they die.
#[test]
fn rules_whose_jobs_die_are_refuted_and_removed() {
    let (mut stage, published) = TuningFixture::tuned(DECEIVED);
    assert!(published.is_confirmed());
    for earlier in [0, 3] {
        stage.healthy = Some(earlier);
        let validated = stage.validate("--budget none").unwrap();
        assert!(validated.loses(), "after {earlier} launches");
        assert!(!validated.validation.unwrap().round.failed.is_empty());
    }
    let repaired = stage.validate("--budget none --repair").unwrap();
    assert!(!repaired.loses() && Published::open(&stage.path()).unwrap().findings.changes_nothing());
}

/// Jobs read the file that `env.sh` names.
#[test]
fn a_changed_file_that_jobs_read_is_refused() {
    let (mut stage, published) = TuningFixture::tuned(DECEIVED);
    let named = std::fs::read_dir(stage.path().join(rundir::TUNINGS)).unwrap().map(|entry| entry.unwrap().path());
    let digest = &published.tuning.unwrap().digests()[rundir::RULES];
    let pinned = named.into_iter().find(|path| path.display().to_string().contains(&digest[..12])).unwrap();
    std::fs::write(&pinned, "0\n").unwrap();
    assert!(matches!(Published::open(&stage.path()), Err(WorkflowError::Input(_))));
    assert!(stage.validate("--budget none").is_err() && stage.resume().is_err());
    std::fs::remove_file(&pinned).unwrap();
    assert!(stage.resume().unwrap().is_confirmed() && pinned.is_file());
}

/// What launches confirmed stays confirmed with more time, unless they show a loss; what the new ones confirm is kept. So it does
/// if there is no time for new ones.
#[test]
fn more_time_takes_no_confirmation() {
    const LITTLE: &str = "--simulate=deceptive --np 2:8 --ops bcast,allreduce,alltoall --sizes 1K:64K --no-settings";
    for (further, startup) in [("120s", None), ("1s", Some(Seconds(1.0)))] {
        let mut stage = TuningFixture::new();
        let mut tuned = |budget: &str, is_first: bool| {
            stage.startup = startup.filter(|_| !is_first);
            let begin = Begin::tuning(options(&format!("{LITTLE} --seed 499 --budget {budget}")), stage.path());
            let place = if is_first { RunPlace::New(stage.path()) } else { RunPlace::Resumed(stage.path()) };
            stage.play(|session| tune(&Begin { place, ..begin }, session)).unwrap()
        };
        let (first, more) = (tuned("3s", true), tuned(further, false));
        let (before, after) = (first.gains(), more.gains());
        let confirmed = before.iter().filter(|(_, gain)| gain.state.is_confirmed()).map(|(cell, _)| cell);
        let is_lost = |cell: &Cell| {
            let is_slower = matches!(after.removal(*cell), Some(Removal::Slower | Removal::SlowerIn(_)));
            !after.get(*cell).state.is_confirmed() && !is_slower
        };
        let lost: Vec<Cell> = confirmed.filter(is_lost).collect();
        assert!(lost.is_empty(), "{further}: {lost:?}");
        let is_shared = |cell: &Cell| after.removal(*cell) == Some(Removal::Shared);
        let shared: Vec<Cell> = after.iter().map(|(cell, _)| cell).filter(is_shared).collect();
        assert!(shared.is_empty(), "{further}: faster, and removed: {shared:?}");
        assert!(more.is_confirmed(), "{further}: {}", more.verdict());
        assert_eq!(list_unlaunched(&more), [], "{further}");
    }
}

#[test]
fn rules_that_were_not_compared_under_settings_are_said_to_be_left_out() {
    let (_stage, published) = TuningFixture::tuned(&format!("{HOST} {FOUND} --no-validate"));
    assert!(!published.findings.changes_nothing());
    assert_eq!(published.settings.as_ref().unwrap().chosen().unwrap().rules, RulesUse::NotCompared);
    let count = |published: &Published| outcome::lines(&published.findings, &published.context(), "", None).len();
    let said = count(&published);
    let mut unsaid = published;
    unsaid.settings.iter_mut().for_each(|found| found.leave_out_rules());
    assert_eq!(count(&unsaid) + 1, said);
}

/// A budget that decides nothing asks for more.
#[test]
fn what_is_undecided_goes_on_with_another_budget() {
    let words = "--simulate=noise --sizes 64,4K,64K --np 4,8 --ops bcast,allreduce --refine 0 --no-settings --seed";
    let undecided = (1..20).find_map(|seed| {
        let (_, published) = TuningFixture::tuned(&format!("{words} {seed} --budget 0.5s"));
        published.needs_time().map(|budget| (budget, published.next_command()))
    });
    let (budget, next) = undecided.expect("noise decides nothing");
    assert_eq!(budget, Seconds(1.0));
    assert!(next.is_some_and(|next| next.contains("--resume") && next.ends_with("--budget 1s")));
    let (_, endless) = TuningFixture::tuned(&format!("{words} 1 --budget none"));
    assert_eq!(endless.needs_time(), None, "{:?}", endless.verdict());
    let (_, of_few_calls) = TuningFixture::tuned("--simulate --ops bcast --np 4 --calls 5 --budget none --refine 0");
    assert_eq!(of_few_calls.verdict().word, VerdictWord::Undecided);
    assert_eq!(of_few_calls.needs_time(), Some(Seconds(300.0)));
}
