//! Gathers and scatters in pieces, for programs in C, with the sizes that were found.

use collrules_model::stalls::{Irregular, Jump, Stalls};
use collrules_record::{Bytes, Candidate, Ranks};
use collrules_rules::Collective;

/// The functions, which take their sizes from three macros.
const FUNCTIONS: &str = include_str!("../../templates/hmpi.h");

/// A size larger than any message, used if there is no limit.
const NONE: u64 = i32::MAX as u64;

/// The functions with the sizes of the default on the largest communicator; none if calls in these pieces were not
/// timed, or do not help.
pub(super) fn header(found: &Irregular) -> Option<String> {
    // The largest is the job; a smaller one may be the control inside one host.
    let largest = found.points.iter().map(|calls| calls.cell.ranks).max()?;
    let is_own = |of: (Collective, Ranks, Candidate), collective| of == (collective, largest, Candidate::Builtin);
    let leaps = |collective| -> Vec<&Jump> {
        found.steps.iter().filter(|it| is_own((it.collective, it.ranks, it.candidate), collective)).collect()
    };
    let first_cured = |leaps: &[&Jump]| {
        leaps.iter().find_map(|step| Some((step.below.0, step.cured?.last.0))).unwrap_or((NONE, NONE))
    };
    let gathers = found.stalls.iter().filter(|it| is_own((it.collective, it.ranks, it.candidate), Collective::Gather));
    let cured = |it: &Stalls| it.cures.iter().any(|cure| cure.longest.is_some());
    let sizes = |it: &Stalls| Some((it.quiet_below?.0, it.last.0));
    // Pieces that avoid a leap are as good as those that avoid stalls.
    let (quiet, last) = gathers
        .filter(|it| cured(it))
        .filter_map(sizes)
        .next()
        .unwrap_or_else(|| first_cured(&leaps(Collective::Gather)));
    let scatters = leaps(Collective::Scatter);
    let (leap, leap_last) = first_cured(&scatters);
    let ends = |what: &str, from: u64, to: u64| match from {
        NONE => format!("{what} go in one call"),
        _ => format!("{what} above {} and up to {} go in pieces", Bytes(from), Bytes(to)),
    };
    let leaps: Vec<String> = scatters.iter().map(|step| step.below.to_string()).collect();
    let leaps = if leaps.is_empty() { String::new() } else { format!("; scatters jump above {}", leaps.join(", ")) };
    (quiet != NONE || leap != NONE).then(|| {
        format!(
            "/* Made from {} ({}), {largest} ranks: {}, {}{leaps}. */\n#ifndef HMPI_M1\n#define HMPI_M1 {quiet}\n#define HMPI_M2 {last}\n\
             #define HMPI_S {leap}\n#define HMPI_S2 {leap_last}\n#endif\n\n{FUNCTIONS}",
            one_line(&found.source),
            one_line(&found.library),
            ends("gathers", quiet, last),
            ends("scatters", leap, leap_last),
        )
    })
}

/// A text without line breaks that does not end a comment.
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

    /// The example comes from a run, with today's functions.
    #[test]
    fn the_example_is_made_from_a_run() {
        let example = include_str!("../../../../examples/hmpi/hmpi.h");
        let (head, functions) = example.split_once("#endif\n\n").expect("sizes and functions");
        assert!(head.starts_with("/* Made from ") && head.contains("#define HMPI_M1 "), "{head}");
        assert_eq!(functions, FUNCTIONS);
    }
}
