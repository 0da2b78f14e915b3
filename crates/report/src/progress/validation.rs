//! Comparisons of rules with the default, and repairs.

use std::path::Path;

use collrules_record::{Cell, Layout, Seconds};
use collrules_rules::Release;
use collrules_rules::words::{counted, some};

/// Cells that a sentence lists at most.
const LISTED: usize = 4;

/// Rules file that is compared without the findings next to it.
pub fn other_meaning(file: &Path, release: Release) -> String {
    format!(
        "{} means something else to Open MPI {release} than to the findings next to it: it is compared like any other \
         file",
        file.display(),
    )
}

/// Installed rules that launches with the default do not have.
pub fn installed_rules(file: &str) -> String {
    format!("the installed rules in {file} are switched off for launches with the default")
}

/// Active rules file with which another one is compared.
pub fn active_rules(active: &str, compared: &str) -> String {
    format!("the rules file {active} is active on this system: {compared} is compared with it")
}

/// Fewer pairs of launches than wanted.
pub fn fewer_pairs(startup: Seconds, pairs: u32, wanted: u32) -> String {
    format!("starting a job takes {startup}: {pairs} pairs of launches instead of {wanted}")
}

/// Sizes that are not compared for lack of time.
pub fn sizes_left_out(sizes: usize) -> String {
    format!(
        "too little time to compare all sizes: {sizes} without a rule or between others are left out; `collrules \
         validate --budget TIME` gives it more"
    )
}

/// Second comparison of confirmed rules.
pub const AGAIN: &str =
    "comparing the confirmed rules once more: what gains now has to gain in another phase of the machine, too";

/// Earlier comparison of the same rules, with the command that repeats it.
pub fn compared_before(run: &Path) -> String {
    format!("these rules were compared before; `collrules validate {}` compares them again", run.display())
}

/// Comparison of the rules in another layout.
pub fn in_layout(layout: Layout) -> String {
    format!("--layout {layout}: comparing the same rules there")
}

/// Rules without a comparison for lack of time, with the command that compares them, in another layout than that of the
/// run if there is one.
pub fn not_confirmed(share: Option<Seconds>, startup: Seconds, run: &Path, layout: Option<Layout>) -> String {
    let time = share.map_or_else(|| "the time".to_owned(), |share| format!("what is left ({})", share.rounded()));
    let layout = layout.map_or(String::new(), |layout| format!(" --layout {layout}"));
    format!(
        "NOT CONFIRMED: {time} is too short for two pairs of launches, each of which takes {startup} to start; \
         `collrules validate {}{layout}` compares the rules with the default",
        run.display(),
    )
}

/// Comparison that is resumed.
pub fn resuming(comparison: &Path) -> String {
    format!("resuming the comparison in {}", comparison.display())
}

/// Cells whose rules are removed.
pub fn removed(cells: &[Cell]) -> String {
    format!(
        "removed the rules for {} that fresh launches did not confirm: {}",
        counted(cells.len(), "size"),
        some(&cells.iter().map(ToString::to_string).collect::<Vec<_>>(), LISTED)
    )
}

/// A repair that leaves no rule.
pub fn no_rule_left() -> &'static str {
    "no rule is left: the default stays for all calls"
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn rules_without_time_for_launches_are_not_confirmed() {
        let said = |share, layout| not_confirmed(share, Seconds(2.0), Path::new("run"), layout);
        assert_eq!(
            said(Some(Seconds(3.0)), None),
            "NOT CONFIRMED: what is left (3 s) is too short for two pairs of launches, each of which takes 2 s to \
             start; `collrules validate run` compares the rules with the default"
        );
        let other = said(None, Some(Layout::OnePerNode));
        assert!(other.starts_with("NOT CONFIRMED: the time is too short"), "{other}");
        assert!(other.contains(&format!("`collrules validate run --layout {}`", Layout::OnePerNode)), "{other}");
    }

    #[test]
    fn many_cells_are_not_all_listed() {
        let cell = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) };
        let cells = [1, 2, 4, 8, 16].map(cell);
        assert_eq!(
            removed(&cells),
            "removed the rules for 5 sizes that fresh launches did not confirm: bcast of 1 B on 4 ranks, bcast of 2 B \
             on 4 ranks, bcast of 4 B on 4 ranks, bcast of 8 B on 4 ranks and 1 more"
        );
        assert!(removed(&cells[..1]).starts_with("removed the rules for 1 size that"));
    }
}
