//! Gathers and scatters in pieces, for programs in C, with the sizes that were found.

use collrules_record::irregular::Irregular;
use collrules_record::{Bytes, Candidate, Ranks};
use collrules_rules::Collective;

/// The functions, which take their sizes from three macros.
const FUNCTIONS: &str = include_str!("../../templates/hmpi.h");

/// What stands for a size that no message reaches.
const NONE: u64 = i32::MAX as u64;

/// The functions with the sizes of the builtin on the largest communicator; none where its gathers do not stall beyond a size that
/// does not, and its scatters do not leap.
pub fn header(found: &Irregular) -> Option<String> {
    let largest = found.points.iter().map(|calls| calls.cell.ranks).max()?;
    let is_builtin = |of: (Collective, Ranks, Candidate), collective| of == (collective, largest, Candidate::Builtin);
    let gather =
        found.stalls.iter().filter(|it| is_builtin((it.collective, it.ranks, it.candidate), Collective::Gather));
    let (quiet, last) = gather.filter_map(|it| Some((it.quiet_below?.0, it.last.0))).next().unwrap_or((NONE, NONE));
    let scatter =
        found.steps.iter().find(|it| is_builtin((it.collective, it.ranks, it.candidate), Collective::Scatter));
    let leap = scatter.map_or(NONE, |step| step.below.0);
    let said = |what: &str, size: u64| {
        if size == NONE { format!("{what}: none") } else { format!("{what} {}", Bytes(size)) }
    };
    (quiet != NONE || leap != NONE).then(|| {
        format!(
            "/* Made from {} ({}), {largest} ranks: {}, {}, {}. */\n#ifndef HMPI_M1\n#define HMPI_M1 {quiet}\n#define HMPI_M2 {last}\n\
             #define HMPI_S {leap}\n#endif\n\n{FUNCTIONS}",
            one_line(&found.source),
            one_line(&found.library),
            said("gathers stall above", quiet),
            said("and up to", last),
            said("scatters leap above", leap),
        )
    })
}

/// A text that does not end a comment.
fn one_line(text: &str) -> String {
    text.replace("*/", "* /").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_the_comment() {
        assert_eq!(one_line("a */ int x;\n/* b"), "a * / int x; /* b");
    }

    /// The example is what a run gave, with the functions of today.
    #[test]
    fn the_example_is_made_from_a_run() {
        let example = include_str!("../../../../examples/hmpi/hmpi.h");
        let (head, functions) = example.split_once("#endif\n\n").expect("sizes and functions");
        assert!(head.starts_with("/* Made from ") && head.contains("#define HMPI_M1 "), "{head}");
        assert_eq!(functions, FUNCTIONS);
    }
}
