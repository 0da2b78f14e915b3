//! The answer, and each violation with what to do.

use std::collections::BTreeMap;

use collrules_record::guidelines::{Change, Changed, Checked, CheckedCell, Cure, MockupFinding, Violation};
use collrules_record::units::Seconds;
use collrules_record::{Component, Estimate};
use collrules_rules::registry;
use collrules_rules::words::counted;

use crate::plain;
use crate::words::percent;

/// Where the numbers come from.
pub(super) fn origin(checked: &Checked) -> String {
    let library = checked.library.as_deref().unwrap_or("times that others measured");
    let simulated =
        if checked.simulated { " A cost model gave these times: they say nothing about any machine." } else { "" };
    format!("Judged: {} ({library}).{simulated}", plain::markdown(&checked.source))
}

/// What it comes to.
pub(super) fn answer(checked: &Checked) -> Vec<String> {
    let cells = counted(checked.cells.len(), "cell");
    let comparisons: usize = checked.cells.iter().map(|cell| cell.mockups.len()).sum();
    let tolerated = percent(checked.criteria.min_gain);
    let violations = checked.violations();
    let mut sentences = vec![if violations.is_empty() {
        format!(
            "In none of {cells} is the builtin shown to be slower by more than {tolerated} than calls that do the same."
        )
    } else {
        format!(
            "In {} of {cells} the builtin is slower by more than {tolerated} than calls that do the same.",
            violations.len(),
        )
    }];
    sentences.push(format!(
        "Tested together: {}; of the violations at most {} are expected to be wrong.",
        counted(comparisons, "mock-up"),
        percent(checked.criteria.error_rate),
    ));
    let mut cures: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, violation) in &violations {
        let kind = match violation.cure {
            Cure::Rule { withheld: None, .. } => "a rule cures them",
            Cure::Rule { .. } => "only a rule would that `collrules tune` does not write",
            Cure::Han { .. } => "another algorithm of HAN does",
            Cure::Barred { .. } => "only a rule that must not be written would",
            Cure::Component { .. } => "another component does",
            Cure::Unproven { .. } => "a candidate that was timed too little may",
            Cure::Nothing => "nothing in Open MPI that was timed does",
            Cure::Unmeasured => "no remedy was timed",
        };
        *cures.entry(kind).or_default() += 1;
    }
    if !cures.is_empty() {
        let parts: Vec<String> =
            cures.iter().map(|(kind, count)| format!("{kind} in {}", counted(*count, "cell"))).collect();
        sentences.push(format!("What cures them: {}.", parts.join("; ")));
    }
    let han = violations.iter().filter(|(cell, _)| cell.served_by == Some(Component::HAN)).count();
    if han > 0 {
        sentences.push(format!("In {} of them the calls are served by han, not by coll/tuned.", counted(han, "cell")));
    }
    sentences
}

/// A slowdown such as `52 % (95 % interval 48 % to 57 %)`.
pub(super) fn slowdown(severity: Estimate) -> String {
    let ends = match (severity.low, severity.high) {
        (Some(low), Some(high)) => {
            format!(" ({} interval {} to {})", percent(severity.level), whole(low), whole(high))
        }
        _ => String::new(),
    };
    format!("{}{ends}", whole(severity.point))
}

/// A share in whole percent.
pub(super) fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The finding on the best mock-up of a violation.
pub(super) fn best<'a>(cell: &'a CheckedCell, violation: &Violation) -> Option<&'a MockupFinding> {
    cell.mockups.iter().find(|found| found.mockup == violation.best)
}

/// The violations in sentences, the worst first.
pub(super) fn violations(checked: &Checked) -> Vec<String> {
    checked.violations().into_iter().map(|(cell, violation)| told(checked, cell, violation)).collect()
}

fn told(checked: &Checked, cell: &CheckedCell, violation: &Violation) -> String {
    let time = |estimate: Option<Estimate>| estimate.map_or("-".to_owned(), |it| Seconds(it.point).to_string());
    let by = cell.served_by.map_or(String::new(), |component| format!(" (served by {component})"));
    let severity = cell.severity.map_or(String::new(), |severity| format!(", slower by {}", slowdown(severity)));
    format!(
        "{}{by}: {} against {} for {}{severity}. {}",
        cell.cell,
        time(cell.builtin),
        time(best(cell, violation).map(|found| found.time)),
        violation.best,
        cure(checked, cell, violation),
    )
}

fn cure(checked: &Checked, cell: &CheckedCell, violation: &Violation) -> String {
    let named = |choice| registry::describe(checked.release, cell.cell.collective, choice);
    let needs = violation.memory.map_or(String::new(), |memory| format!("; that needs {memory} beside their buffers"));
    let instead = format!("Programs can make {}{needs}.", violation.advice);
    match &violation.cure {
        Cure::Rule { choice, gain, withheld: None } => {
            format!("A rule for {} cures it ({gain:.2}x): `collrules tune` writes it.", named(*choice))
        }
        Cure::Rule { choice, gain, withheld: Some(why) } => {
            let named = named(*choice);
            format!("{named} would cure it ({gain:.2}x), but `collrules tune` writes no rule for it: {why}. {instead}")
        }
        Cure::Han { algorithm, gain } => {
            format!(
                "HAN's own algorithm {algorithm} cures it ({gain:.2}x): `collrules tune` asks for it in HAN's rules file."
            )
        }
        Cure::Barred { choice, gain, why, assumption } => {
            let permits = assumption.map_or(String::new(), |assumption| {
                format!(" `collrules tune --assume {}` permits it where programs keep to that.", assumption.name())
            });
            let named = named(*choice);
            format!("{named} would cure it ({gain:.2}x), but must not be chosen: {why}.{permits} {instead}")
        }
        Cure::Component { component, gain } => {
            format!("The component {component} would cure it ({gain:.2}x), which settings can ask for. {instead}")
        }
        Cure::Unproven { candidate, gain } => {
            let name = crate::facts::named(checked.release, cell.cell.collective, *candidate);
            format!("{name} may cure it ({gain:.2}x), but longer measuring has to show it. {instead}")
        }
        Cure::Nothing => format!("No candidate of Open MPI comes near. {instead}"),
        Cure::Unmeasured => format!("Remedies were not timed here. {instead}"),
    }
}

/// A paragraph for each violation that nothing in Open MPI cures.
pub(super) fn upstream(checked: &Checked) -> Vec<String> {
    let uncured = |violation: &Violation| matches!(violation.cure, Cure::Nothing | Cure::Component { .. });
    let paragraph = |(cell, violation): (&CheckedCell, &Violation)| {
        let found = best(cell, violation)?;
        let by = cell.served_by.map_or("coll/tuned".to_owned(), |component| format!("component {component}"));
        Some(format!(
            "{}: {}, served by {by}, takes {} in the median, while {} on the same communicator takes {} ({} slower; {} \
             visits, alternating calls). No forced algorithm comes within {} of it. Measured with: `{}`",
            checked.library.as_deref().unwrap_or("Open MPI"),
            cell.cell,
            Seconds(cell.builtin?.point),
            violation.advice,
            Seconds(found.time.point),
            slowdown(cell.severity?),
            found.gain?.samples,
            percent(checked.criteria.min_gain),
            checked.command.join(" "),
        ))
    };
    checked.violations().into_iter().filter(|(_, violation)| uncured(violation)).filter_map(paragraph).collect()
}

/// How much was not measured, for where there is no room to say why.
pub(super) fn count_of_left_out(checked: &Checked) -> Option<String> {
    let under = checked.under_rules.iter().flat_map(|under| &under.cells);
    let failed: usize = checked.cells.iter().chain(under).map(|cell| cell.failed.len()).sum();
    let (mockups, cells) = (checked.left_out.len(), checked.skipped.len());
    (failed + mockups + cells > 0).then(|| {
        format!("Not measured: {cells} cells, and {mockups} mock-ups of others; {failed} mock-ups failed. guidelines.md says why.")
    })
}

/// What was not measured, grouped by reason.
pub(super) fn left_out(checked: &Checked) -> Vec<String> {
    let mut groups: BTreeMap<(String, String), usize> = BTreeMap::new();
    for left in &checked.left_out {
        *groups.entry((format!("{} of {}", left.mockup, left.cell.collective), left.why.clone())).or_default() += 1;
    }
    for skipped in &checked.skipped {
        *groups.entry((skipped.cell.collective.to_string(), skipped.why.clone())).or_default() += 1;
    }
    let under = checked.under_rules.as_ref().map_or(&[][..], |under| &under.cells);
    for (cells, where_from) in [(&checked.cells[..], ""), (under, " under the file")] {
        for cell in cells {
            for (mockup, why) in &cell.failed {
                let what = format!("{mockup} of {} failed{where_from}", cell.cell.collective);
                *groups.entry((what, why.clone())).or_default() += 1;
            }
        }
    }
    let line = |((what, why), count): ((String, String), usize)| {
        format!("Left out in {}: {what}: {why}.", counted(count, "cell"))
    };
    groups.into_iter().map(line).collect()
}

/// A change between two checks, in a sentence.
pub fn change(changed: &Changed) -> String {
    let severity = |estimate: Option<Estimate>| estimate.map_or("not measured".to_owned(), slowdown);
    let (before, now) = (severity(changed.before), severity(changed.now));
    match changed.how {
        Change::New => {
            // Intervals that meet leave it open whether anything changed.
            let met = matches!((changed.before.and_then(|it| it.high), changed.now.and_then(|it| it.low)),
                (Some(high), Some(low)) if high >= low);
            let doubt = if met { " It may have been there before: the intervals meet." } else { "" };
            format!("New: {} is slower by {now} than calls that do the same; before: {before}.{doubt}", changed.cell)
        }
        Change::Worse => format!("Worse: {} is slower by {now}; before: {before}.", changed.cell),
        Change::Better => format!("Better: {} is slower by {now}; before: {before}.", changed.cell),
        Change::Gone => format!("Gone: {}; before it was slower by {before}.", changed.cell),
        Change::Stays => format!("Stays: {} is slower by {now}; before: {before}.", changed.cell),
        Change::Open => format!(
            "Open: {} was slower by {before}; now it is not shown to be, nor that it keeps up: {now}.",
            changed.cell
        ),
    }
}

/// What a rules file made of the guidelines: a sentence, and one for each violation without it or under it.
pub(super) fn under_rules(checked: &Checked) -> Option<(String, Vec<String>)> {
    let under = checked.under_rules.as_ref()?;
    let before = checked.violations().len();
    let stay = [Change::Stays, Change::Better, Change::Worse].map(|how| under.count(how)).iter().sum::<usize>();
    let open = under.count(Change::Open);
    let undecided = if open > 0 { format!(", {open} not decided") } else { String::new() };
    let answer = format!(
        "Under {}: of {}, {} gone, {stay} still there{undecided}; {} new.",
        under.file(),
        counted(before, "violation"),
        under.count(Change::Gone),
        under.count(Change::New),
    );
    let mut changes: Vec<&Changed> = under.changes.iter().collect();
    let worst = |changed: &Changed| changed.now.map_or(0.0, |severity| severity.point);
    changes.sort_by(|a, b| (a.how == Change::Gone).cmp(&(b.how == Change::Gone)).then(worst(b).total_cmp(&worst(a))));
    let after = checked.under_file()?;
    let line = |changed: &&Changed| {
        let violation = after.cell(changed.cell).and_then(|cell| cell.violation.as_ref());
        let by = violation.map_or(String::new(), |it| format!(" The best mock-up is {}.", it.best));
        format!("{}{by}", change(changed))
    };
    Some((answer, changes.iter().map(line).collect()))
}
