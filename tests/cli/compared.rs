//! Two runs beside each other: what changed, and whether the earlier rules still suit.

use std::path::{Path, PathBuf};

use collrules_record::validation::Outcome;
use collrules_tuner::results::comparison::{Advice, RunComparison};
use collrules_tuner::results::limitation::Limitation;

use crate::page::{browser, show};
use crate::support::{Ran, bounded, collrules, data};

fn tuned(scratch: &Path, name: &str, options: &str) -> PathBuf {
    let out = scratch.join(name);
    collrules(&format!("tune --np 2,8 --ops bcast,barrier --refine 0 {options} --out"), &out).exits(0);
    out
}

fn compared(before: &Path, after: &Path, format: &str) -> Ran {
    let mut command = bounded();
    command.arg("report").arg(after).arg("--compare").arg(before).args(["--format", format]);
    command.output().unwrap().into()
}

fn comparison(before: &Path, after: &Path) -> RunComparison {
    serde_json::from_str(&compared(before, after, "json").exits(0).stdout).unwrap()
}

/// Both runs are of one cost model: whatever differs is noise.
#[test]
fn nothing_changed_and_nothing_is_to_be_done() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, other) =
        (tuned(scratch.path(), "one", "--simulate --seed 1"), tuned(scratch.path(), "other", "--simulate --seed 2"));
    let found = comparison(&one, &other);
    assert_eq!((found.cells.len(), found.count(Outcome::Same)), (44, 44), "{:?}", found.cells);
    assert!((found.builtin() - 1.0).abs() < 0.01 && found.regret().abs() < 0.01);
    assert_eq!((found.advice(), found.harmed(), found.differences.len()), (Advice::Keep, 0, 0));
    assert!(found.cells.iter().all(|cell| cell.builtin.low.is_some() && cell.q_value.is_some()));
    compared(&one, &other, "text").exits(0);
}

/// The stale builtin's barrier takes 14a on 8 ranks, and 3a or less where the builtin is the fastest algorithm.
#[test]
fn a_better_builtin_is_seen_and_so_are_rules_that_lose_to_it() {
    let scratch = tempfile::tempdir().unwrap();
    let stale = tuned(scratch.path(), "stale", "--simulate=stale");
    let fastest = tuned(scratch.path(), "fastest", "--simulate=fastest");
    let found = comparison(&stale, &fastest);
    let barrier =
        found.cells.iter().find(|cell| cell.cell.collective.name() == "barrier" && cell.cell.ranks.0 == 8).unwrap();
    assert_eq!(barrier.change, Outcome::Faster);
    assert!(barrier.builtin.low.unwrap() > 4.0, "{barrier:?}");
    assert_eq!(found.after.rules, 0);
    assert!(found.changed_choices().count() >= 2);
    // The other way round the builtin got worse, and the old table, which is empty, gives just that.
    let back = comparison(&fastest, &stale);
    assert_eq!(back.advice(), Advice::Replace);
    assert!(back.count(Outcome::Slower) > 2 && back.regret() > 0.1, "{}", back.regret());
    for format in ["text", "md"] {
        compared(&fastest, &stale, format).exits(0);
    }
    let page = compared(&fastest, &stale, "html").exits(0).stdout;
    assert!(page.contains("id=\"rules\""));
    if let Some(browser) = browser() {
        let file = scratch.path().join("changes.html");
        std::fs::write(&file, page).unwrap();
        show(&browser, &file, &["--dump-dom"]).is_clean();
    }
    compared(&fastest, &stale, "csv").exits(2);
}

#[test]
fn runs_that_have_nothing_in_common_are_said_to_have_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path(), "run", "--simulate");
    let table = scratch.path().join("table");
    let mut command = bounded();
    command
        .arg("analyze")
        .arg(data("epyc-two-nodes-osu.csv"))
        .args(["--release", "4.1", "--quiet", "--out"])
        .arg(&table);
    Ran::from(command.output().unwrap()).exits(0);
    let found = comparison(&table, &run);
    assert!(found.cells.is_empty() && found.advice() == Advice::Unknown);
    compared(&table, &run, "text").exits(0);
    // A table beside itself: nothing is known of launches, so that no difference is tested.
    let same = comparison(&table, &table);
    assert!(same.cells.iter().all(|cell| cell.q_value.is_none() && cell.change == Outcome::Same));
    assert!(same.obstacles.contains(&Limitation::FewLaunches), "{:?}", same.obstacles);
    assert!(same.regret().abs() < 1e-12 && same.advice() == Advice::Keep);
}

/// Other nodes, other times: a communicator that is spread otherwise is not compared.
#[test]
fn communicators_on_other_nodes_are_left_out() {
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path(), "run", "--simulate");
    let mut moved = crate::support::findings(&run);
    let ranks = *moved.placement.nodes.keys().next_back().unwrap();
    moved.placement.nodes.get_mut(&ranks).unwrap().0.push(1);
    let file = scratch.path().join("moved.json");
    std::fs::write(&file, serde_json::to_string(&moved).unwrap()).unwrap();
    let found = comparison(&run, &file);
    assert!(found.cells.iter().all(|cell| cell.cell.ranks != ranks) && !found.cells.is_empty());
    assert!(found.obstacles.contains(&Limitation::Moved(ranks)), "{:?}", found.obstacles);
}
