//! What screen, report, page, findings and tree of a run say, against the files that jobs read.
//!
//! It reads results back from what people see, and recomputes them from the raw results of fresh launches and the files that
//! `env.sh` names: none of the functions that make texts are used for that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::Verdict;
use collrules_record::reason::KeepReason;
use collrules_record::rundir::{self, RunDir};
use collrules_record::settings::{Guard, RulesUse};
use collrules_record::validation::Outcome;
use collrules_record::{Bytes, CallRule, Candidate, Cell, Ranks, Tuning};
use collrules_report::outcome;
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Behaviour, Collective, Release};
use collrules_workflow::publish::Published;

/// Largest difference between a printed number with two decimals and its value, as a share.
const ROUNDED: f64 = 0.01;

/// What the files and the raw results say.
struct Truth {
    release: Release,
    /// The files that `env.sh` names.
    tuning: Tuning,
    /// The speedup of the sizes whose rule acts and is confirmed.
    confirmed: BTreeMap<Cell, f64>,
    /// Those of them that are faster; at the others the rule loses nothing.
    faster: BTreeSet<Cell>,
    /// The sizes that were measured or compared.
    cells: BTreeSet<Cell>,
    /// The sizes that had a rule, and have none any more.
    removed: BTreeSet<Cell>,
    /// The speedup of sizes under settings, without a rule.
    settings: BTreeMap<Cell, f64>,
    has_settings: bool,
}

impl Truth {
    fn read(run: &RunDir) -> Self {
        let findings = run.findings().expect("findings");
        let behaviour = Behaviour::latest(findings.release);
        let environment = std::fs::read_to_string(run.file(rundir::ENVIRONMENT)).unwrap_or_default();
        let named = |name: &str| {
            let line = environment.lines().find_map(|line| line.strip_prefix(&format!("export OMPI_MCA_{name}=")))?;
            Some(line.trim_matches('\'').to_owned())
        };
        let tuning = match (named(RULES_FILE), named(HAN_FILE)) {
            (Some(rules), han) => Tuning::read(Path::new(&rules), han.as_deref().map(Path::new)).expect("rules"),
            (None, Some(han)) => Tuning::read(Path::new(&han), None).expect("rules of HAN"),
            (None, None) => Tuning::default(),
        };
        let tuning = tuning.read_as(&behaviour).expect("rules for this release");
        let found = run.settings().expect("settings");
        let chosen = found.as_ref().and_then(|found| found.chosen());
        let whole =
            found.as_ref().filter(|_| chosen.is_some()).and_then(|it| it.validation.as_ref()?.compared.as_ref());
        let mut truth = Self {
            release: findings.release,
            tuning,
            confirmed: BTreeMap::new(),
            faster: BTreeSet::new(),
            cells: findings.cells.iter().map(|cell| cell.cell).collect(),
            removed: BTreeSet::new(),
            settings: BTreeMap::new(),
            has_settings: chosen.is_some(),
        };
        let validation = run.validation().expect("a validation");
        let under = chosen.and_then(|chosen| chosen.under.as_ref());
        let guarded = whole.or(chosen).map(|finalist| finalist.guarded.clone()).unwrap_or_default();
        let guard = |cell: &Cell| guarded.iter().find(|guarded| guarded.subject.cell() == Some(*cell));
        for round in validation.iter().map(|validation| &validation.round) {
            truth.cells.extend(round.cells.iter().map(|cell| cell.cell));
            for found in &round.cells {
                if !truth.acts(found.cell) {
                    continue;
                }
                assert_eq!(truth.rule(found.cell), found.rule(), "{}", found.cell);
                let checks = || validation.iter().flat_map(|validation| &validation.checks);
                let is_open =
                    checks().any(|check| check.losses().chain(check.unexcluded()).any(|cell| cell == found.cell));
                let own = under.and_then(|round| round.cells.iter().find(|it| it.cell == found.cell));
                let (verdict, speedup) = match (own, guard(&found.cell), whole.is_some()) {
                    (None, ..) if truth.has_settings => continue,
                    (None, ..) => (found.verdict, found.speedup.point),
                    (Some(own), Some(guard), true) => (own.verdict, guard.speedup.point),
                    (Some(own), Some(guard), false) => (own.verdict, own.speedup.point * guard.speedup.point),
                    (Some(own), None, _) => (own.verdict, found.speedup.point),
                };
                if matches!(verdict, Outcome::Faster | Outcome::Same) && !is_open {
                    truth.confirmed.insert(found.cell, speedup);
                    truth.faster.extend((verdict == Outcome::Faster).then_some(found.cell));
                }
            }
        }
        let reverted = findings.cells.iter().filter(|it| it.verdict == Verdict::Keep { why: KeepReason::NotConfirmed });
        let compared = validation.iter().map(|validation| &validation.round);
        let tried = compared.flat_map(|round| {
            let ruled = round.cells.iter().filter(|it| it.is_ruled()).map(|it| it.cell);
            ruled.chain(round.failed.iter().filter(|failed| failed.with).map(|failed| failed.cell))
        });
        let had = reverted.map(|it| it.cell).filter(|_| validation.is_some()).chain(tried);
        truth.removed = had.filter(|cell| !truth.acts(*cell)).collect();
        let unruled = truth.cells.iter().copied().filter(|cell| !truth.acts(*cell));
        let passed = unruled.filter_map(|cell| Some((cell, guard(&cell).filter(|it| it.guard == Guard::Passed)?)));
        truth.settings = passed.map(|(cell, guarded)| (cell, guarded.speedup.point)).collect();
        truth
    }

    /// The rules of both files.
    fn rule(&self, cell: Cell) -> CallRule {
        find_rule(&self.tuning, self.release, cell)
    }

    /// Returns true if a rule of the files acts on a cell.
    fn acts(&self, cell: Cell) -> bool {
        self.rule(cell) != CallRule::default()
    }
}

fn find_rule(tuning: &Tuning, release: Release, cell: Cell) -> CallRule {
    (tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(release)), tuning.han_rule(cell))
}

/// The sizes of a confirmed tuning whose rule, of those that jobs read, was in no launch that counts, nor that of both neighbours,
/// or did not hold.
pub(crate) fn list_unlaunched(published: &Published) -> Vec<Cell> {
    let chosen = published.settings.as_ref().and_then(|found| found.chosen());
    let round = match chosen {
        Some(chosen) => chosen.under.as_ref(),
        None => published.validation.as_ref().map(|validation| &validation.round),
    };
    let whole = published.whole();
    let rule = |cell: Cell| find_rule(&whole, published.findings.release, cell);
    let is_shown = |cell: Cell| {
        let found = round.and_then(|round| round.cells.iter().find(|it| it.cell == cell));
        found.is_some_and(|it| it.rule() == rule(cell) && it.verdict.holds() && it.speedup.samples > 0)
            || round.is_some_and(|round| round.is_between(cell, rule(cell)))
    };
    let cells = published.findings.cells.iter().map(|found| found.cell).filter(|_| published.is_confirmed());
    cells.filter(|cell| rule(*cell) != CallRule::default() && !is_shown(*cell)).collect()
}

/// Sizes of a communicator with a printed speedup.
#[derive(Debug)]
struct Printed {
    collective: Collective,
    ranks: Ranks,
    first: Bytes,
    last: Bytes,
    speedup: f64,
}

impl Printed {
    fn holds(&self, cell: Cell) -> bool {
        (self.collective, self.ranks) == (cell.collective, cell.ranks) && (self.first..=self.last).contains(&cell.bytes)
    }
}

fn bytes(text: &str) -> Bytes {
    text.replace(|char: char| char.is_whitespace(), "").parse().unwrap_or_else(|_| panic!("no size: {text}"))
}

/// `362 B to 512 B`, or one size.
fn sizes(text: &str) -> (Bytes, Bytes) {
    let (first, last) = text.split_once(" to ").unwrap_or((text, text));
    (bytes(first), bytes(last))
}

/// Reads a row of gains: `bcast, 2 ranks: 1.23x at 362 B to 512 B, 1.16x at 4 KiB`.
fn read_row(row: &str) -> Vec<Printed> {
    let (place, ranges) = row.split_once(": ").expect("a place");
    let (collective, ranks) = place.split_once(", ").expect("ranks");
    let collective: Collective = collective.parse().expect("a collective");
    let ranks = Ranks(ranks.split(' ').next().and_then(|ranks| ranks.parse().ok()).expect("a number of ranks"));
    let printed = |range: &str| {
        let (speedup, place) = range.split_once("x at ").unwrap_or((range.trim_end_matches('x'), "0"));
        let (first, last) = sizes(place);
        Printed { collective, ranks, first, last, speedup: speedup.parse().expect("a speedup") }
    };
    ranges.split(", ").map(printed).collect()
}

/// All that is printed for a run and does not follow from its files.
pub(crate) fn contradictions(run: &Path) -> Vec<String> {
    let run = RunDir::derived(run).expect("a directory");
    let published = Published::open(run.path()).expect("a run");
    let truth = Truth::read(&run);
    let mut wrong = Vec::new();
    let report = run.file(rundir::PAGE).display().to_string();
    let context = published.context();
    let lines = outcome::lines(&published.findings, &context, &report, published.next_command().as_deref());
    if lines.len() > 8 {
        wrong.push(format!("the last screen has {} lines: {lines:?}", lines.len()));
    }
    let rows = outcome::describe_gains(&context.gains, usize::MAX);
    let is_compared = context.validation.is_some();
    if is_compared {
        let printed: Vec<Printed> = rows.iter().flat_map(|row| read_row(row)).collect();
        check_ranges(&truth, &printed, &mut wrong);
    }
    // A row of the screen begins like one of the report.
    for line in lines.iter().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.contains(" ranks: ")) {
        let shown = line.split("; ").next().unwrap_or(line).split(", and ").next().unwrap_or(line);
        if !rows.iter().any(|row| row.starts_with(shown)) {
            wrong.push(format!("the screen says {shown:?}, which the report does not"));
        }
    }
    check_headline(&truth, &lines[0], is_compared, &mut wrong);
    check_counts(&truth, &published, &lines, &mut wrong);
    check_page(&truth, &run, is_compared, &mut wrong);
    check_tree(&truth, &run, is_compared, &mut wrong);
    check_comments(&published, &mut wrong);
    wrong.extend(
        list_unlaunched(&published).iter().map(|cell| format!("{cell}: confirmed without a launch of its rule")),
    );
    wrong
}

/// Each printed range is confirmed throughout, with its mean, and no confirmed size is missing.
fn check_ranges(truth: &Truth, printed: &[Printed], wrong: &mut Vec<String>) {
    for cell in &truth.cells {
        let is_printed = printed.iter().any(|range| range.holds(*cell));
        if is_printed != truth.confirmed.contains_key(cell) {
            wrong.push(format!("{cell}: printed as confirmed {is_printed}, by the files {}", !is_printed));
        }
    }
    for range in printed {
        let inside = truth.confirmed.iter().filter(|(cell, _)| range.holds(**cell)).map(|(_, speedup)| *speedup);
        let mean = geometric_mean(inside).unwrap_or(f64::NAN);
        if (range.speedup / mean - 1.0).abs() > ROUNDED {
            wrong.push(format!("{range:?} has a mean of {mean}"));
        }
        let cell = |bytes| Cell { collective: range.collective, ranks: range.ranks, bytes };
        let factor = cell(Bytes(1)).lookup_bytes(truth.release).max(1);
        let (table, han) = (truth.tuning.table(), truth.tuning.han_rules());
        let (tuned, han) = (table.get(range.collective), han.get(range.collective));
        let tuned = tuned.into_iter().flat_map(|steps| steps.get(range.ranks.0.into()).iter());
        let han = han.into_iter().flat_map(|steps| steps.get(range.ranks.0.into()).iter());
        let starts = tuned.map(|(start, ..)| start.div_ceil(factor)).chain(han.map(|(start, ..)| start)).map(Bytes);
        for start in starts.filter(|start| range.holds(cell(*start)) && !truth.acts(cell(*start))) {
            wrong.push(format!("{range:?} has a hole from {start} on"));
        }
    }
}

/// The verdict has the mean over the confirmed sizes, and their number.
fn check_headline(truth: &Truth, verdict: &str, is_compared: bool, wrong: &mut Vec<String>) {
    let is_confirmed = verdict.starts_with("CONFIRMED");
    if is_confirmed && truth.confirmed.is_empty() && !truth.has_settings {
        wrong.push(format!("{verdict:?}, and no file has a confirmed rule or a setting"));
    }
    if !is_confirmed || truth.has_settings || !is_compared {
        return;
    }
    let over = format!(" over {} of {} size", truth.confirmed.len(), truth.cells.len());
    if !verdict.contains(&over) {
        wrong.push(format!("{verdict:?} is not{over}"));
    }
}

/// The number at the beginning of a text.
fn number(text: &str) -> usize {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// The text between two others; none if the first is missing.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split(after).next()
}

/// Counts add up to their base, and the base is that of the files, on the screen and in the report.
fn check_counts(truth: &Truth, published: &Published, lines: &[String], wrong: &mut Vec<String>) {
    let sum = |list: &str, between: &str| -> usize { list.split(between).map(number).sum() };
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    let mut expect = |what: &str, printed, found| counts.push((what.to_owned(), printed, found));
    let gone = lines.iter().find(|line| line.starts_with("Rules for "));
    let gone: Vec<&str> = gone.iter().flat_map(|line| line.split("Rules for ").skip(1)).collect();
    for dropped in &gone {
        if let Some(parts) = between(dropped, "dropped: ", ".") {
            expect("rules that were dropped, in all", number(dropped), sum(parts, ", "));
        }
    }
    if !truth.has_settings {
        expect("rules that were dropped or left out", gone.iter().copied().map(number).sum(), truth.removed.len());
    }
    if let Some(undecided) =
        lines[0].strip_prefix("Undecided: ").filter(|it| it.starts_with(|char: char| char.is_ascii_digit()))
    {
        let all = number(between(undecided, " of ", " size").expect("a base"));
        let unreached = undecided.split(", ").nth(1).map_or(0, number);
        assert!(number(undecided) + unreached <= all && all >= published.findings.cells.len(), "{undecided}");
    }
    let page = std::fs::read_to_string(published.run.file(rundir::PAGE)).expect("a page").replace('\u{202f}', " ");
    // Rules that are not installed are no decisions of the tuning.
    let chosen = published.settings.as_ref().and_then(|found| found.chosen());
    let has_rules = chosen.is_none_or(|chosen| chosen.rules == RulesUse::Shared);
    expect("pages with decisions", usize::from(page.contains("Decisions<")), usize::from(has_rules));
    for part in page.split("id=\"c-").skip(1) {
        let Some(collective) = part.split('"').next().and_then(|name| name.parse::<Collective>().ok()) else {
            continue;
        };
        let of_it = |cells: &BTreeSet<Cell>| cells.iter().filter(|cell| cell.collective == collective).count();
        let measured = published.findings.cells.iter().filter(|it| it.cell.collective == collective).count();
        let table = between(part, "measured sizes<", "</table>").expect("a table of reasons");
        let rows = table.split("scope=\"row\" class=\"n\">").skip(1).map(number).sum();
        expect(&format!("measured sizes of {collective}"), rows, measured);
        let short = between(part, "<span class=\"short\">of ", "<").filter(|_| !truth.has_settings);
        if let Some((all, states)) = short.and_then(|short| short.split_once(": ")) {
            expect(&format!("sizes of {collective}"), number(all), of_it(&truth.cells));
            let count = |state: &str| states.split("; ").find(|it| it.ends_with(state)).map_or(0, number);
            if published.validation.is_some() {
                let faster: BTreeSet<Cell> =
                    truth.faster.iter().copied().filter(|cell| truth.confirmed.contains_key(cell)).collect();
                let confirmed: BTreeSet<Cell> = truth.confirmed.keys().copied().collect();
                expect(&format!("faster sizes of {collective}"), count(" faster, confirmed"), of_it(&faster));
                let both = count(" faster, confirmed") + count(" rule, no difference");
                expect(&format!("confirmed sizes of {collective}"), both, of_it(&confirmed));
            }
        }
    }
    if let Some(base) = between(&page, "as the default in geometric mean over ", " measured size") {
        expect("measured sizes of the tree", number(base), published.findings.cells.len());
    }
    for round in published.validation.iter().map(|validation| &validation.round) {
        let row = |name: &str| {
            let text = between(&page, &format!("scope=\"row\">{name}<td"), "<tr").expect("a row");
            number(text.split_once('>').expect("a cell").1)
        };
        expect("compared sizes", row("sizes compared"), round.cells.len());
        let states = ["faster with it", "slower with it", "the same", "undecided"].map(row).iter().sum();
        expect("sizes with a rule, by state", row("sizes with a rule"), states);
    }
    for check in page.split("<li>Calls ").skip(1) {
        let said = check.split("</li>").next().and_then(|said| between(said, ": of ", "."));
        let Some((all, parts)) = said.and_then(|said| said.split_once(" with a rule ")) else { continue };
        if !parts.starts_with("no loss") {
            let counts: usize = parts.split(", ").filter(|it| !it.starts_with("at worst")).map(number).sum();
            expect("rules in other calls", number(all), counts);
        }
    }
    let is_off = |(_, printed, found): &&(String, usize, usize)| printed != found;
    let off = counts.iter().filter(is_off);
    wrong.extend(off.map(|(what, printed, found)| format!("{what}: {printed}, and by the files {found}")));
}

/// Sizes are green on the page if rules or settings make them faster, with the speedups that are written on them.
fn check_page(truth: &Truth, run: &RunDir, is_compared: bool, wrong: &mut Vec<String>) {
    let page = std::fs::read_to_string(run.file(rundir::PAGE)).expect("a page").replace('\u{202f}', " ");
    let mut green = BTreeSet::new();
    for part in page.split("id=\"c-").skip(1) {
        let Some(collective) = part.split('"').next().and_then(|name| name.parse::<Collective>().ok()) else {
            continue;
        };
        for tile in part.split("<i class=\"").skip(1).filter(|tile| tile.starts_with("yes\"")) {
            let Some(note) = tile.split("title=\"").nth(1).and_then(|rest| rest.split('"').next()) else { continue };
            let (place, said) = note.split_once(": ").expect("a state");
            let (place, ranks) = place.split_once(" on ").map_or(("0", place), |(sizes, ranks)| (sizes, ranks));
            let ranks = Ranks(ranks.split(' ').next().and_then(|ranks| ranks.parse().ok()).expect("ranks"));
            let (first, last) = sizes(place);
            let range = Printed { collective, ranks, first, last, speedup: 0.0 };
            let inside: Vec<Cell> = truth.cells.iter().copied().filter(|cell| range.holds(*cell)).collect();
            let of_rules = said.starts_with("faster, confirmed");
            let known = if of_rules { &truth.confirmed } else { &truth.settings };
            for cell in inside.iter().filter(|cell| !known.contains_key(cell)) {
                wrong.push(format!("the page says of {cell}: {said}"));
            }
            green.extend(inside);
        }
    }
    let is_missing = |cell: &Cell, speedup: f64| speedup > 1.05 && truth.faster.contains(cell) && !green.contains(cell);
    let missing = truth.confirmed.iter().filter(|(cell, speedup)| is_missing(cell, **speedup));
    wrong.extend(missing.filter(|_| is_compared).map(|(cell, _)| format!("{cell} is not green on the page")));
}

/// The leaves of the tree have the confirmed gains.
fn check_tree(truth: &Truth, run: &RunDir, is_compared: bool, wrong: &mut Vec<String>) {
    let tree = run.findings().expect("findings").tree;
    for branch in tree.collectives.iter().filter(|_| is_compared && !truth.has_settings) {
        for range in &branch.ranges {
            for leaf in range.leaves.iter().filter(|leaf| leaf.by != Candidate::Builtin) {
                let Some(evidence) = &leaf.evidence else { continue };
                let (first, last) = evidence.messages;
                let is_here = |cell: &Cell| {
                    cell.collective == branch.collective
                        && range.ranks.holds(cell.ranks)
                        && (first..=last).contains(&cell.bytes)
                };
                let inside = truth.confirmed.iter().filter(|(cell, _)| is_here(cell)).map(|(_, speedup)| *speedup);
                let Some(mean) = geometric_mean(inside) else { continue };
                if (evidence.gain.mean / mean - 1.0).abs() > 1e-6 {
                    wrong.push(format!(
                        "{} from {first} on: the tree says {}x, not {mean}x",
                        branch.collective, evidence.gain.mean
                    ));
                }
            }
        }
    }
}

/// The comments of the rules file have the gains of the rules alone.
fn check_comments(published: &Published, wrong: &mut Vec<String>) {
    let text = std::fs::read_to_string(published.run.file(rundir::RULES)).unwrap_or_default();
    let comments: Vec<&str> =
        text.lines().filter_map(|line| line.split("Confirmed in fresh launches: ").nth(1)).collect();
    let round = published.validation.as_ref().map(|validation| &validation.round);
    let printed: Vec<Printed> =
        comments.iter().flat_map(|row| read_row(row.trim_end_matches(['.', '"', ',']))).collect();
    for found in round.iter().flat_map(|round| &round.cells) {
        let is_printed = printed.iter().any(|range| range.holds(found.cell));
        if is_printed && !matches!(found.verdict, Outcome::Faster | Outcome::Same) {
            wrong.push(format!("a comment of the rules file calls {} confirmed", found.cell));
        }
    }
}
