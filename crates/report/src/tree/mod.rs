//! The decision tree for people: collective, communicator sizes, lookup bytes, choice, and the evidence for each leaf.

mod svg;
mod text;

pub use svg::{panel, svg};
pub use text::text;

use collrules_record::tree::{Evidence, Leaf, RankBranch};
use collrules_record::units::Bytes;
use collrules_rules::Collective;

/// Whether a branch says more than that nothing was measured there and the builtin stays.
fn tells(branch: &RankBranch) -> bool {
    !branch.measured.is_empty() || branch.leaves.iter().any(|leaf| !leaf.choice.is_builtin())
}

/// The lookup bytes of a leaf, in words.
fn sizes(leaf: &Leaf) -> String {
    match (leaf.first, leaf.end) {
        (0, None) => "any size".to_owned(),
        (0, Some(end)) => format!("below {}", Bytes(end)),
        (first, None) => format!("from {}", Bytes(first)),
        (first, Some(end)) if end == first + 1 => format!("{}", Bytes(first)),
        (first, Some(end)) => format!("from {} to below {}", Bytes(first), Bytes(end)),
    }
}

/// What a leaf rests on, in words; nothing where nothing was measured.
fn evidence(collective: Collective, leaf: &Leaf) -> Option<String> {
    let Evidence { messages: (first, last), cells, samples, gain, q_value, regret, .. } = leaf.evidence.as_ref()?;
    let mut parts = vec![match cells {
        1 => "1 cell".to_owned(),
        _ => format!("{cells} cells"),
    }];
    if collective.has_sizes() {
        parts[0] += &if first == last { format!(" of {first}") } else { format!(" of {first} to {last}") };
    }
    parts.push(if *samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") });
    if !leaf.choice.is_builtin() {
        let interval = gain.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
        let spread =
            if *cells > 1 { format!(", {:.2}x to {:.2}x by cell", gain.least, gain.most) } else { String::new() };
        parts.push(format!("{:.2}x as fast as the builtin{interval}{spread}", gain.mean));
        if let Some(q_value) = q_value {
            parts.push(if *q_value >= 0.001 {
                format!("q at most {q_value:.3}")
            } else {
                format!("q at most {q_value:.0e}")
            });
        }
    }
    if *regret >= 0.000_05 {
        parts.push(format!("{:.2} % slower than the best permitted", regret * 100.0));
    }
    Some(parts.join(", "))
}
