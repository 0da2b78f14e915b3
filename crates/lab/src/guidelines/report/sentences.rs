//! The result, and each violation with a remedy.

use collrules_program::catalogue;
use collrules_record::units::Seconds;
use collrules_record::{Cell, Component, Estimate, Mockup};
use collrules_report::document::Block;
use collrules_report::facts::describe_failed_default;
use collrules_report::reasons::describe_bar;
use collrules_report::words::{count, ends, percent, tally, whole};
use collrules_rules::deploy::quoted;
use collrules_rules::registry;
use collrules_rules::words::counted;

use crate::guidelines::found::{Change, Changed, Checked, CheckedCell, Cure, Doubt, FewLaunches, Violation, Withheld};

/// Describes the origin of the numbers.
pub(super) fn origin(checked: &Checked) -> String {
    let library = checked.library.as_deref().unwrap_or("times that others measured");
    format!("Judged: {} ({library}).", checked.source)
}

/// The verdict in a few words.
pub(super) fn headline(checked: &Checked) -> String {
    if !checked.default_failed.is_empty() {
        return format!("The default failed for {}", counted(checked.default_failed.len(), "case"));
    }
    let undecided = checked.cells.iter().filter(|cell| cell.undecided.is_some()).count();
    match (checked.violations().len(), undecided) {
        (0, 0) => "No guideline is violated".to_owned(),
        (0, undecided) => format!("No violation is shown; undecided for {}", counted(undecided, "case")),
        (violated, _) => format!("Slower than equivalent calls for {}", counted(violated, "case")),
    }
}

/// Describes the result of the check.
pub(super) fn answer(checked: &Checked) -> Vec<String> {
    let mut sentences: Vec<String> = describe_failed_default(&checked.default_failed).into_iter().collect();
    let has_default = |cell: &&CheckedCell| !checked.default_failed.iter().any(|(failed, _)| *failed == cell.cell);
    let judged: Vec<&CheckedCell> = checked.cells.iter().filter(has_default).collect();
    if judged.is_empty() {
        return sentences;
    }
    let cases = counted(judged.len(), "case");
    let comparisons: usize = judged.iter().map(|cell| cell.mockups.len()).sum();
    let tolerated = percent(checked.criteria.min_gain);
    let violations = checked.violations();
    sentences.push(if violations.is_empty() {
        format!(
            "No violation is shown in {cases}: the default is not shown to be more than {tolerated} slower than \
             equivalent calls."
        )
    } else {
        format!(
            "For {} of {cases} (a collective, a number of ranks, a message size), the default is more than {tolerated} \
             slower than equivalent calls.",
            violations.len(),
        )
    });
    if checked.few_launches.is_none() {
        let wrong = percent(checked.criteria.error_rate);
        let wrong = match violations.is_empty() {
            true => String::new(),
            false => format!("; at most {wrong} of the cases with a violation are expected to be wrong"),
        };
        sentences.push(format!("{} tested together{wrong}.", counted(comparisons, "mock-up")));
    }
    sentences.extend(checked.few_launches.map(|few| describe_few_launches(few, checked.suspects().len())));
    sentences.extend(count_undecided(checked));
    let kind = |violation: &Violation| match violation.cure {
        Cure::Rule { withheld: None, .. } => "a rule",
        Cure::Rule { .. } => "only a rule that `collrules tune` does not write",
        Cure::Han { .. } => "another algorithm of HAN",
        Cure::Barred { .. } => "only a rule that must not be written",
        Cure::Component { .. } => "another component",
        Cure::Unproven { .. } => "perhaps an algorithm that was timed too little",
        Cure::Nothing => "nothing that was timed in Open MPI",
        Cure::Unmeasured => "unknown, since no remedy was timed",
    };
    let kinds = count(violations.iter().map(|(_, violation)| (kind(violation), 1)));
    let parts: Vec<String> =
        kinds.iter().map(|(kind, count)| format!("{kind} ({})", counted(*count, "case"))).collect();
    sentences.extend((!parts.is_empty()).then(|| format!("What helps: {}.", parts.join("; "))));
    let han = violations.iter().filter(|(cell, _)| cell.run_by == Some(Component::HAN)).count();
    if han > 0 {
        sentences.push(format!("For {} of them, han runs the calls, not coll/tuned.", counted(han, "case")));
    }
    sentences
}

/// Describes too few launches.
fn describe_few_launches(few: FewLaunches, suspects: usize) -> String {
    let (launches, suspects) = (counted(few.launches, "launch"), counted(suspects, "suspect"));
    format!("{launches} of each are too few for a test, which needs {}: there are only {suspects}.", few.needed)
}

/// Describes the number of undecided cells, and the reasons.
fn count_undecided(checked: &Checked) -> Option<String> {
    let reason = |why: Doubt| match why {
        Doubt::NotTimed => "no mock-up was timed",
        Doubt::FewVisits if checked.statistic.is_summary() => "too few launches for a test",
        Doubt::FewVisits => "too few visits for a test (6 needed)",
        Doubt::MissedLaunches => "a faster mock-up was not timed in every launch",
        Doubt::NotSignificant => "the difference is not significant",
        Doubt::LaunchesDisagree => "launches disagree, and only more --launches can decide",
        Doubt::CoarseClock => "the clock is too coarse",
    };
    let undecided = checked.cells.iter().filter_map(|cell| cell.undecided.as_ref());
    let reasons: Vec<(String, usize)> = undecided.map(|undecided| (reason(undecided.why).to_owned(), 1)).collect();
    let all = counted(reasons.len(), "case");
    (!reasons.is_empty()).then(|| format!("Undecided for {all}: {}.", tally(reasons)))
}

/// A slowdown such as `52 % (95 % interval 48 % to 57 %)`.
pub(super) fn slowdown(severity: Estimate) -> String {
    let level = format!(" ({} interval ", percent(severity.level));
    whole(severity.point) + &ends(severity, whole).replacen(" (", &level, 1)
}

/// The violations in sentences, the worst first.
pub(super) fn violations(checked: &Checked) -> Vec<String> {
    let describe = |(cell, violation): (&CheckedCell, &Violation)| {
        format!("{}. {}", describe_slowdown(cell), cure(checked, cell, violation))
    };
    checked.violations().into_iter().map(describe).collect()
}

/// The undecided cases that are slower than is tolerated if chance is left out, the worst first.
pub(super) fn suspects(checked: &Checked) -> Vec<String> {
    checked.suspects().into_iter().map(|cell| describe_slowdown(cell) + ".").collect()
}

fn describe_slowdown(cell: &CheckedCell) -> String {
    let time = |estimate: Option<Estimate>| estimate.map_or("-".to_owned(), |it| Seconds(it.point).to_string());
    let by = cell.run_by.map_or(String::new(), |component| format!(" (run by {component})"));
    let severity = cell.severity.map_or(String::new(), |severity| format!(", slower by {}", slowdown(severity)));
    let with = cell
        .compared()
        .map_or(String::new(), |found| format!(" instead of {} with {}", time(Some(found.time)), found.mockup));
    format!("{}{by}: {}{with}{severity}", cell.cell, time(cell.builtin))
}

/// Calls that programs can make instead of a slow one.
fn equivalent_calls(cell: Cell, mockup: Mockup) -> String {
    let collective = cell.collective;
    match mockup {
        Mockup::Pattern(pattern) => {
            let how = catalogue::find(collective, pattern).map_or("", |guideline| guideline.calls);
            format!("{} ({how})", pattern.name())
        }
        Mockup::Split { pieces, barrier } => {
            let between = if barrier { ", with a barrier between them" } else { "" };
            format!("{pieces} calls of {collective} with a {pieces}th of the data each{between}")
        }
        Mockup::Pad(bytes) => format!("{collective} with a message of {bytes}, whose surplus is ignored"),
    }
}

fn describe_withheld(why: Withheld) -> String {
    match why {
        Withheld::OneChoice => {
            "all message sizes of a communicator size share one algorithm, and over the timed sizes \
                                another one is better, or none is shown to be"
                .to_owned()
        }
        Withheld::SharedRule(regret) => {
            format!(
                "a rule that neighbouring sizes share is kept as long as it takes at most {} % longer",
                100.0 * regret
            )
        }
    }
}

fn cure(checked: &Checked, cell: &CheckedCell, violation: &Violation) -> String {
    let named = |choice| registry::describe(checked.release, cell.cell.collective, choice);
    let needs =
        violation.memory.map_or(String::new(), |memory| format!("; that needs {memory} in addition to their buffers"));
    let instead = format!("Programs can make {}{needs}.", equivalent_calls(cell.cell, violation.best));
    match &violation.cure {
        Cure::Rule { choice, gain, withheld: None } => {
            format!("A rule for {} cures it ({gain:.2}x): `collrules tune` writes it.", named(*choice))
        }
        Cure::Rule { choice, gain, withheld: Some(why) } => {
            let (named, why) = (named(*choice), describe_withheld(*why));
            format!("{named} would cure it ({gain:.2}x), but `collrules tune` writes no rule for it: {why}. {instead}")
        }
        Cure::Han { algorithm, gain } => {
            format!(
                "HAN's own algorithm {algorithm} cures it ({gain:.2}x): `collrules tune` writes it into HAN's rules \
                 file."
            )
        }
        Cure::Barred { choice, gain, why, assumption } => {
            let permits = assumption.map_or(String::new(), |assumption| {
                format!(" `collrules tune --assume {}` permits it if your programs keep to that.", assumption.name())
            });
            let named = named(*choice);
            format!(
                "{named} would cure it ({gain:.2}x), but must not be chosen: {}.{permits} {instead}",
                describe_bar(why)
            )
        }
        Cure::Component { component, gain } => {
            format!("The component {component} would cure it ({gain:.2}x), and settings can select it. {instead}")
        }
        Cure::Unproven { candidate, gain } => {
            let name = collrules_report::facts::name_candidate(checked.release, cell.cell.collective, *candidate);
            format!("{name} may cure it ({gain:.2}x), but more measurements are needed to show it. {instead}")
        }
        Cure::Nothing => {
            let tolerated = percent(checked.criteria.min_gain);
            format!("No algorithm of Open MPI comes within {tolerated} of the mock-up. {instead}")
        }
        Cure::Unmeasured => format!("Remedies were not timed here. {instead}"),
    }
}

/// A paragraph for each violation without a remedy in Open MPI.
pub(super) fn upstream(checked: &Checked) -> Vec<String> {
    let uncured = |violation: &Violation| matches!(violation.cure, Cure::Nothing | Cure::Component { .. });
    let command = checked.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let command = if command.is_empty() { String::new() } else { format!(" Measured with: `{command}`") };
    let paragraph = |(cell, violation): (&CheckedCell, &Violation)| {
        let by = cell.run_by.map_or("coll/tuned".to_owned(), |component| format!("component {component}"));
        let (builtin, found) = (cell.builtin?, cell.compared()?);
        let samples = found.gain?.samples;
        let (over, turns) = if checked.statistic.is_summary() {
            (format!("the median of {}", counted(builtin.samples, "launch")), String::new())
        } else {
            ("the median".to_owned(), format!("; calls of both took turns, {samples} times"))
        };
        Some(format!(
            "{}: {}, run by {by}, takes {} in {over}, while {} on the same communicator takes {} ({} slower{turns}). No \
             forced algorithm comes within {} of it.{command}",
            checked.library.as_deref().unwrap_or("Open MPI"),
            cell.cell,
            Seconds(builtin.point),
            equivalent_calls(cell.cell, violation.best),
            Seconds(found.time.point),
            slowdown(cell.severity?),
            percent(checked.criteria.min_gain),
        ))
    };
    checked.violations().into_iter().filter(|(_, violation)| uncured(violation)).filter_map(paragraph).collect()
}

/// Counts cells and mock-ups that were not measured, for output without room for the reasons.
pub(super) fn count_of_left_out(checked: &Checked) -> Option<String> {
    let under = checked.under_rules.iter().flat_map(|under| &under.cells);
    let failed: usize = checked.cells.iter().chain(under).map(|cell| cell.failed.len()).sum();
    let (mockups, sizes) = (checked.left_out.len(), checked.skipped.len());
    (failed + mockups + sizes > 0).then(|| {
        format!(
            "Not measured: {}, and {} of other cases. {failed} failed. guidelines.md gives the reasons.",
            counted(sizes, "case"),
            counted(mockups, "mock-up"),
        )
    })
}

/// Lists what was not measured, grouped by reason.
pub(super) fn left_out(checked: &Checked) -> Vec<String> {
    let mockups =
        checked.left_out.iter().map(|it| (format!("{} of {}", it.mockup, it.cell.collective), it.why.to_string()));
    let cells = checked.skipped.iter().map(|it| (it.cell.collective.to_string(), it.why.to_string()));
    let under = checked.under_rules.as_ref().map_or(&[][..], |under| &under.cells);
    let failed = [(&checked.cells[..], ""), (under, " with the file")].into_iter().flat_map(|(cells, how)| {
        cells.iter().flat_map(move |cell| {
            let what = move |mockup: &Mockup| format!("{mockup} of {} failed{how}", cell.cell.collective);
            cell.failed.iter().map(move |(mockup, why)| (what(mockup), why.clone()))
        })
    });
    let groups = count(mockups.chain(cells).chain(failed).map(|group| (group, 1)));
    let line = |((what, why), count)| format!("Left out for {}: {what}: {why}.", counted::<usize>(count, "case"));
    groups.into_iter().map(line).collect()
}

/// Changes between two checks, or with a rules file; with the best mock-ups of a check if it is the later one.
pub(super) fn changes<'a>(changes: impl IntoIterator<Item = &'a Changed>, after: Option<&Checked>) -> Block {
    let row = |changed: &Changed| {
        let Changed { how, cell, before, now } = changed;
        // Intervals that meet leave it open whether anything changed.
        let met = before.and_then(|it| it.high).zip(now.and_then(|it| it.low)).is_some_and(|(high, low)| high >= low);
        let how = match how {
            Change::New if met => "new, perhaps",
            Change::New => "new",
            Change::Worse => "worse",
            Change::Better => "better",
            Change::Gone => "gone",
            Change::Stays => "stays",
            Change::Open => "undecided",
        };
        let severity = |estimate: &Option<Estimate>| estimate.map_or("not measured".to_owned(), slowdown);
        let violation = after.and_then(|after| after.cell(*cell)?.violation.as_ref());
        let best = violation.map_or("-".to_owned(), |violation| violation.best.to_string());
        [how.to_owned(), cell.to_string(), severity(before), severity(now), best]
    };
    Block::table(["change", "call", "slower before", "slower now", "best mock-up now"], changes.into_iter().map(row))
}

/// Describes the effect of a rules file on the guidelines: a summary, and each violation with or without it.
pub(super) fn under_rules(checked: &Checked, after: &Checked) -> Option<(String, Block)> {
    let under = checked.under_rules.as_ref()?;
    let before = checked.violations().len();
    let stay = [Change::Stays, Change::Better, Change::Worse].map(|how| under.count(how)).iter().sum::<usize>();
    let open = under.count(Change::Open);
    let undecided = if open > 0 { format!(", {open} undecided") } else { String::new() };
    let answer = format!(
        "With {}: of {}, {} gone, {stay} still there{undecided}; {} new.",
        under.file(),
        counted(before, "violation"),
        under.count(Change::Gone),
        under.count(Change::New),
    );
    let mut sorted: Vec<&Changed> = under.changes.iter().collect();
    let worst = |changed: &Changed| changed.now.map_or(0.0, |severity| severity.point);
    sorted.sort_by(|a, b| (a.how == Change::Gone).cmp(&(b.how == Change::Gone)).then(worst(b).total_cmp(&worst(a))));
    Some((answer, changes(sorted, Some(after))))
}

#[cfg(test)]
mod tests {
    use collrules_record::criteria::Criteria;
    use collrules_record::findings::Statistic;
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::{Collective, Release};

    use super::*;
    use crate::guidelines::found::{FORMAT, MockupFinding};

    const CELL: Cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(1024) };

    fn nothing_found() -> Checked {
        Checked {
            format: FORMAT,
            source: "table.csv".to_owned(),
            simulated: false,
            library: None,
            command: Vec::new(),
            release: Release::V5_0,
            statistic: Statistic::RankAverage,
            criteria: Criteria { min_gain: 0.1, ..Criteria::default() },
            few_launches: None,
            cells: Vec::new(),
            default_failed: Vec::new(),
            left_out: Vec::new(),
            skipped: Vec::new(),
            under_rules: None,
        }
    }

    #[test]
    fn no_violation_is_denied_where_the_default_failed() {
        let checked = Checked { default_failed: vec![(CELL, "wrong result".to_owned())], ..nothing_found() };
        assert_eq!(headline(&checked), "The default failed for 1 case");
        assert!(matches!(&answer(&checked)[..], [said] if said.starts_with("WRONG")), "{:?}", answer(&checked));
    }

    #[test]
    fn values_of_separate_launches_took_no_turns() {
        let estimate = |point| Estimate { point, low: None, high: None, level: 0.95, samples: 6 };
        let mockup = Mockup::Split { pieces: 2, barrier: false };
        let found = MockupFinding {
            mockup,
            time: estimate(1e-3),
            gain: Some(estimate(2.0)),
            p_value: None,
            q_value: None,
            violated: true,
        };
        let cell = CheckedCell {
            compared: Some(mockup),
            cell: CELL,
            builtin: Some(estimate(2e-3)),
            run_by: None,
            mockups: vec![found],
            failed: Vec::new(),
            severity: Some(estimate(1.0)),
            violation: Some(Violation { best: mockup, memory: None, cure: Cure::Nothing }),
            undecided: None,
        };
        let table = Checked { cells: vec![cell], ..nothing_found() };
        let [said] = &upstream(&table)[..] else { panic!("a paragraph") };
        assert!(said.contains("in the median of 6 launches") && said.ends_with("comes within 10 % of it."), "{said}");
        let command = vec!["collrules".to_owned(), "lab".to_owned()];
        let run = Checked { statistic: Statistic::RankMaximum, command, ..table };
        let [said] = &upstream(&run)[..] else { panic!("a paragraph") };
        assert!(said.contains("took turns, 6 times") && said.ends_with("Measured with: `collrules lab`"), "{said}");
    }
}
