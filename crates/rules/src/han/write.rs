//! Writing a table as a file that every release with HAN reads alike.

use std::fmt::Write;

use crate::collective::Collective;
use crate::emit::{EmitError, INT_MAX, harmless};
use crate::hazard::RankRange;
use crate::table::SizeSteps;

use super::table::HanTable;
use super::vocabulary::{ComponentChoice, HanComponent};

/// The canonical text of a table: ascending sizes, one rule per line. Comments come first.
pub fn write(table: &HanTable, header: &[String]) -> Result<String, EmitError> {
    if table.is_empty() {
        return Err(EmitError::NoHanRules);
    }
    let rules: Vec<_> = table.collectives().collect();
    let collectives: Vec<_> = rules.chunk_by(|((one, _), _), ((other, _), _)| one == other).collect();
    let mut text = String::new();
    let fixed = [
        "Rules for Open MPI's coll/han: which component runs a call.",
        "Switched on by coll_han_use_dynamic_file_rules = 1 and coll_han_dynamic_rules_filename.",
        "A rule: message size in bytes from which on it holds, and the component.",
    ];
    for line in header.iter().map(String::as_str).chain(fixed) {
        let _ = writeln!(text, "{}", format!("# {}", harmless(line)).trim_end());
    }
    let _ = writeln!(text, "\n{}  # collectives", collectives.len());
    for levels in collectives {
        let (collective, _) = levels[0].0;
        let _ = writeln!(text, "\n{collective}\n{}  # topology levels", levels.len());
        for &((_, level), ranks) in levels {
            let _ = writeln!(text, "{}  # {level}", level.id());
            let _ = writeln!(text, "{}  # configurations", ranks.count());
            for (first, end, sizes) in ranks.iter() {
                if first > INT_MAX {
                    return Err(EmitError::HanTooLarge { collective, level, ranks: first });
                }
                let range = RankRange { first, end };
                configuration(&mut text, collective, range, sizes).ok_or(EmitError::HanGap {
                    collective,
                    level,
                    ranks: range,
                })?;
            }
        }
    }
    Ok(text)
}

/// A configuration; none if a file cannot express it: only all sizes, or size 0 alone, may be left to parameters.
fn configuration(
    text: &mut String,
    collective: Collective,
    ranks: RankRange,
    sizes: &SizeSteps<Option<ComponentChoice>>,
) -> Option<()> {
    let parameters_below = sizes.get(0).is_none();
    let rules: Vec<(u64, ComponentChoice)> =
        sizes.iter().filter_map(|(start, _, choice)| choice.map(|choice| (start, choice))).collect();
    let left_out = sizes.count() - rules.len();
    let sayable = match rules.first() {
        None => true,
        Some((first, _)) if parameters_below => *first == 1 && left_out == 1,
        Some(_) => left_out == 0,
    };
    if !sayable {
        return None;
    }
    let _ = writeln!(text, "{} {}  # {ranks}", ranks.first.max(1), rules.len());
    for (start, choice) in rules {
        let _ = writeln!(text, "  {start} {}", describe_choice(collective, choice));
    }
    Some(())
}

fn describe_choice(collective: Collective, choice: ComponentChoice) -> String {
    if choice.component == HanComponent::Han { choice.words(collective) } else { choice.component.to_string() }
}
