//! The comments at the top of a file that are added after it was written: that its rules are not confirmed, their gains, and
//! their outcomes in calls of programs.

/// The first words of the comment.
const NOT_CONFIRMED: &str = "NOT CONFIRMED";

/// The beginning of the comment that has to come first in JSON: readers of classic files stop at its minus.
const FIRST_OF_JSON: &str = "\"-1 ";

const REASON: &str = "fresh launches have not confirmed these rules; `collrules validate` compares them";

/// The first words of a comment on calls of programs.
pub const IN_PROGRAMS: &str = "In programs: ";

/// The first words of a comment on gains that fresh launches confirmed.
pub const CONFIRMED: &str = "Confirmed in fresh launches: ";

/// The first words of a comment on gains that timings let expect.
pub const EXPECTED: &str = "Expected from the timings for tuning: ";

/// The text with these comments, which begin with such words, and with or without `NOT CONFIRMED`, after the version line
/// or the first comment of JSON, which have to come first.
pub fn mark(text: &str, is_open: bool, comments: &[String]) -> String {
    let bare: String = text.split_inclusive('\n').filter(|line| !is_comment(line)).collect();
    let open = is_open.then(|| format!("{NOT_CONFIRMED}: {REASON}"));
    let all = open.into_iter().chain(comments.iter().cloned());
    let Some(place) = place(&bare) else { return bare };
    let line = |said: String| if bare.starts_with('{') { format!("    \"{said}\",\n") } else { format!("# {said}.\n") };
    let lines: String = all.map(line).collect();
    format!("{}{lines}{}", &bare[..place], &bare[place..])
}

/// A text without the comments.
pub fn remove(text: Vec<u8>) -> Vec<u8> {
    String::from_utf8(text).map_or_else(|error| error.into_bytes(), |text| mark(&text, false, &[]).into_bytes())
}

fn is_comment(line: &str) -> bool {
    let said = line.trim_start().trim_start_matches(['#', '"', ' ']);
    [NOT_CONFIRMED, IN_PROGRAMS, CONFIRMED, EXPECTED].iter().any(|words| said.starts_with(words))
}

/// The offset for the comment; none in JSON without a list of comments.
fn place(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let before = offset;
        offset += line.len();
        if text.starts_with('{') {
            if line.trim_start().starts_with(FIRST_OF_JSON) {
                return Some(offset);
            }
        } else if !line.starts_with("rule-file-version") {
            return Some(before);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_marked(text: &str) -> bool {
        text.lines().take(4).any(|line| line.contains(NOT_CONFIRMED))
    }

    #[test]
    fn the_comment_stands_first_after_what_the_format_needs() {
        let classic = "# Written\n1 # collectives\n";
        assert!(mark(classic, true, &[]).starts_with("# NOT CONFIRMED: "));
        let versioned = "rule-file-version-2\n# Written\n1\n";
        assert!(mark(versioned, true, &[]).starts_with("rule-file-version-2\n# NOT CONFIRMED: "));
        let json = "{\n  \"comment\": [\n    \"-1 here\",\n    \"Written\"\n  ]\n}\n";
        assert_eq!(
            mark(json, true, &[]).lines().nth(3).map(str::trim_start).map(|line| &line[..15]),
            Some("\"NOT CONFIRMED:")
        );
        for text in [classic, versioned, json] {
            assert!(is_marked(&mark(text, true, &[])) && !is_marked(text));
            let said = ["In programs: bcast on 8 ranks: holds for root 7".to_owned()];
            let marked = mark(text, true, &said);
            assert!(
                marked.contains("confirmed these rules") && marked.contains("In programs: bcast on 8 ranks: holds")
            );
            assert_eq!(mark(&mark(&marked, false, &said), false, &[]), text);
            assert_eq!(mark(&mark(&mark(text, true, &[]), true, &[]), false, &[]), text, "nothing else changes");
        }
    }
}
