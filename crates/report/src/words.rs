//! Numbers in words, and lines of a width: one function for each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use collrules_record::{Cell, Estimate, Seconds};
use collrules_rules::words::counted;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};

/// A share as `5 %` or `25.8 %`, with three significant digits at most.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent == 0.0 { 0 } else { (2 - percent.abs().log10().floor() as i32).clamp(0, 8) };
    let scale = 10f64.powi(decimals);
    format!("{} %", (percent * scale).round() / scale)
}

/// A share as `5 %`, without digits after the point.
pub fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share as `5.1 %`, with one digit; no sign if it rounds to zero.
pub fn tenths(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0).round() / 10.0 + 0.0)
}

/// Ranks and message size of a cell, as `8 ranks at 4 KiB`.
pub(crate) fn describe_place(cell: Cell) -> String {
    let at = if cell.collective.has_sizes() { format!(" at {}", cell.bytes) } else { String::new() };
    counted(cell.ranks.0, "rank") + &at
}

/// A ratio without its unit: two decimals, if there is room for them.
pub fn number(value: f64) -> String {
    match value {
        large if large >= 1e4 => format!("{large:.0e}"),
        large if large >= 100.0 => format!("{large:.0}"),
        small => format!("{small:.2}"),
    }
}

/// `1.25x`.
pub fn times(ratio: f64) -> String {
    number(ratio) + "x"
}

/// A ratio with its interval: `1.25x (1.21 to 1.30)`.
pub fn ratio(estimate: Estimate) -> String {
    times(estimate.point) + &ends(estimate, number)
}

/// Describes a control that is off.
pub(crate) fn describe_control(control: Estimate) -> String {
    format!("the default is {} as fast as itself in these launches", ratio(control))
}

/// How launches were compared: side by side, or one after the other with the reason.
pub(crate) fn describe_way(apart: Option<&str>) -> String {
    apart.map_or_else(|| "side by side".to_owned(), |why| format!("one after the other: {why}"))
}

/// The interval of an estimate, ` (1.21 to 1.30)`, if it has one.
pub fn ends(estimate: Estimate, say: impl Fn(f64) -> String) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if low < high => format!(" ({} to {})", say(low), say(high)),
        _ => String::new(),
    }
}

/// A sentence as lines of a width. Words longer than a line, such as paths and commands, stay whole.
pub fn wrapped(width: usize, sentence: &str, first: &str, rest: &str) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::wrap(sentence, options).into_iter().map(|line| line.into_owned()).collect()
}

/// A text that begins with a capital.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// An estimate with its interval: `1.250 (1.210 to 1.300)`.
pub fn interval(estimate: Estimate, digits: usize) -> String {
    let say = |value: f64| format!("{value:.digits$}");
    say(estimate.point) + &ends(estimate, say)
}

/// A time with its interval.
pub fn time(estimate: Estimate) -> String {
    let say = |seconds: f64| Seconds(seconds).to_string();
    say(estimate.point) + &ends(estimate, say)
}

/// Things with their numbers, the most frequent first.
pub fn count<T: Ord>(things: impl IntoIterator<Item = (T, usize)>) -> Vec<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    things.into_iter().for_each(|(thing, count)| *counts.entry(thing).or_default() += count);
    let mut counts: Vec<(T, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

/// Texts with their numbers, the most frequent first: `a (3); b (1)`. A single text has no number.
pub fn tally(texts: impl IntoIterator<Item = (String, usize)>) -> String {
    match count(texts).as_slice() {
        [(text, _)] => text.clone(),
        several => several.iter().map(|(text, count)| format!("{text} ({count})")).collect::<Vec<_>>().join("; "),
    }
}

/// The words of a line. A command in backquotes, or in quotes after an option, is one word, so that it can be copied.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut before) = (0, None, ' ');
    for (place, char) in line.char_indices() {
        if before == ' ' && char != ' ' && quote.is_none() && place > start {
            words.push(Word::from(&line[start..place]));
            start = place;
        }
        match quote {
            None if before == ' ' && (char == '`' || line[place..].starts_with("'-")) => quote = Some(char),
            Some(open) if char == open => quote = None,
            _ => {}
        }
        before = char;
    }
    words.push(Word::from(&line[start..]));
    Box::new(words.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_need() {
        for (share, text) in [
            (0.005, "0.5 %"),
            (0.07, "7 %"),
            (0.0001, "0.01 %"),
            (0.95, "95 %"),
            (0.0, "0 %"),
            (0.258_156, "25.8 %"),
            (12.345, "1235 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!([-0.0004, 0.051].map(tenths), ["0.0 %", "5.1 %"]);
        assert_eq!([0.0123, 7.0, 123.4, 12345.6].map(times), ["0.01x", "7.00x", "123x", "1e4x"]);
        let estimate = Estimate { point: 0.85, low: Some(0.81), high: Some(0.9), level: 0.95, samples: 4 };
        assert_eq!(ratio(estimate), "0.85x (0.81 to 0.90)");
        assert_eq!(ratio(Estimate { low: None, ..estimate }), "0.85x");
    }

    #[test]
    fn sentences_are_wrapped_between_words() {
        let command = "mpirun --mca coll_tuned_dynamic_rules_filename /a/long/path/to/rules.conf";
        assert_eq!(
            wrapped(40, command, "  ", "    "),
            ["  mpirun --mca", "    coll_tuned_dynamic_rules_filename", "    /a/long/path/to/rules.conf"]
        );
        let remedy = wrapped(40, "name hosts: --mpirun-args '--hostfile FILE' or use `a command with blanks`", "", "");
        assert_eq!(remedy, ["name hosts: --mpirun-args", "'--hostfile FILE' or use", "`a command with blanks`"]);
        let one = "x".repeat(50);
        assert_eq!(wrapped(40, &one, "", ""), [one], "a path stays whole");
    }
}
