//! The strict reading of a classic file: its meaning to people, and places that Open MPI reads differently.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::code::Code;
use super::collect::Collector;
use super::listing::{self, CollectiveListing, CommRuleListing, Listing};
use super::words::{self, NumberWord, Strict, Words};
use crate::collective::{self, Collective};
use crate::deploy::{RULES_FILE, params};
use crate::lines::Lines;
use crate::span::Span;
use crate::words::counted;

/// Reads a file and reports all problems of its text. `is_rejected` is true if a version rejects it.
pub(super) fn read(source: &[u8], is_rejected: bool, problems: &mut Collector) -> Strict {
    let mut strict = Strict::default();
    if is_utf16(source) {
        let span = Span::new(0, source.len().min(2));
        problems.add(Code::Utf16, span, "the text is in UTF-16");
        strict.garbage.push(span);
        return strict;
    }
    let parameters = params::lines(source).unwrap_or_default();
    if let Some(first) = parameters.set.first().filter(|_| parameters.unread.is_empty()) {
        let span = Lines::new(source).range(first.number, first.number);
        let problem = problems.add(Code::Prose, Span::new(span.start, span.end), "this is a file of parameters");
        let named = parameters.set.iter().find(|line| line.name == RULES_FILE);
        problem.remedy = match named {
            Some(line) => format!("Check the rules file that it names: {}.", line.value).into(),
            None => "Check the rules file that coll_tuned_dynamic_rules_filename names.".into(),
        };
        strict.garbage.push(problem.span);
        return strict;
    }
    if let Some(text) = words::find_prose(source).filter(|_| is_rejected) {
        problems.add(Code::Prose, text, "most words are neither numbers nor comments");
        strict.garbage.push(text);
        return strict;
    }
    let words = words::split(source, &mut strict, problems);
    let mut linter = ClassicLinter { source, words: &words, strict: &mut strict, problems, is_rejected, wrong: None };
    if let Some(numbers) = line_numbers(source, &words) {
        linter.report_all(Code::LineNumbers, numbers, "each line begins with its number");
        return strict;
    }
    let several: Vec<&[NumberWord]> = words.lines().filter(|line| words.has_requests() && line.len() > 7).collect();
    if several.is_empty() {
        linter.file(&listing::read(&words));
    } else {
        // The places of the numbers cannot be known.
        let spans = several.iter().map(|line| line[0].span.to(line[line.len() - 1].span)).collect();
        linter.report_all(Code::RulesOnALine, spans, "more than one rule on a line");
    }
    strict
}

struct ClassicLinter<'r> {
    source: &'r [u8],
    words: &'r Words,
    strict: &'r mut Strict,
    problems: &'r mut Collector,
    is_rejected: bool,
    /// The first wrong count that Open MPI meets.
    wrong: Option<NumberWord>,
}

/// Returns true for a text with a zero byte for each other one.
fn is_utf16(source: &[u8]) -> bool {
    let has_mark = source.starts_with(b"\xff\xfe") || source.starts_with(b"\xfe\xff");
    has_mark || source.len() >= 8 && source.iter().filter(|byte| **byte == 0).count() * 3 >= source.len()
}

/// The first number of each line, if these count the lines and the others are a complete file.
fn line_numbers(source: &[u8], words: &Words) -> Option<Vec<Span>> {
    let lines: Vec<&[NumberWord]> = words.lines().filter(|line| !line.is_empty()).collect();
    let line_of = |at: usize| source[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let counts_all = || {
        let counts =
            |(place, line): (u64, &&[NumberWord])| [place, line_of(line[0].span.start)].contains(&line[0].value);
        lines.len() >= 3 && (1..).zip(&lines).all(counts)
    };
    if !counts_all() {
        return None;
    }
    let (mut numbers, mut starts) = (Vec::new(), Vec::new());
    for (place, line) in lines.iter().enumerate() {
        starts.push(numbers.len());
        numbers.extend(line[1..].iter().map(|number| NumberWord { line: place, ..*number }));
    }
    let rest = Words { numbers, starts, header: words.header };
    let Listing { ends_early, trailing, collectives, .. } = listing::read(&rest);
    let is_complete = !ends_early && trailing.is_none() && !collectives.is_empty();
    is_complete.then(|| lines.iter().map(|line| line[0].span).collect())
}

/// Describes the block within which a file ends.
fn describe_open(listing: &Listing<'_>) -> String {
    let Some(CollectiveListing { id, count, comm_rules }) = listing.collectives.last() else { return String::new() };
    let name = u32::try_from(id.value)
        .ok()
        .filter(|id| *id < Collective::ID_COUNT)
        .map_or("collective", collective::json_name);
    match comm_rules.last().filter(|last| last.rules.len() as u64 != last.count.value) {
        Some(CommRuleListing { size, count, rules }) => {
            let said = counted(count.value, "message rule");
            format!(": {name} on {} ranks has {} of {said}", size.value, rules.len())
        }
        None => format!(": {name} has {} of {}", comm_rules.len(), counted(count.value, "communicator size")),
    }
}

impl ClassicLinter<'_> {
    /// Reports places that Open MPI misreads for the same reason as one problem.
    fn report_all(&mut self, code: Code, spans: Vec<Span>, message: &str) {
        if let Some((first, others)) = spans.split_first() {
            self.problems.add(code, *first, message).also_at(others);
        }
        self.strict.garbage.extend(spans);
    }

    fn file(&mut self, listing: &Listing<'_>) {
        let Listing { count, collectives, trailing, ends_early } = listing;
        let Some(count) = count else {
            self.problems.add(Code::EndsEarly, Span::at(self.source.len()), "there is no number in the file");
            return;
        };
        if count.value > u64::from(Collective::ID_COUNT) {
            let message = format!("{} collectives are announced", count.value);
            self.problems.add(Code::TooManyCollectives, count.span, message);
        }
        let end = self.words.numbers.last().map_or(0, |number| number.span.end);
        // A version that finds all its fields within these words is satisfied.
        if *ends_early && self.is_rejected {
            let end = Span::new(end.saturating_sub(1), end);
            let message = format!("the file ends here, before everything that was announced{}", describe_open(listing));
            self.problems.add(Code::EndsEarly, end, message);
        }
        if let Some(trailing) = trailing {
            let rest = Span::new(trailing.span.start, end);
            self.problems.add(Code::Trailing, rest, "numbers that nothing announces");
        }
        let mut seen = HashMap::new();
        for CollectiveListing { id, count, comm_rules } in collectives {
            self.id(*id, &mut seen);
            let sizes: Vec<NumberWord> = comm_rules.iter().map(|comm_rule| comm_rule.size).collect();
            self.order("communicator size", &sizes);
            sizes.iter().for_each(|size| self.fits_int(*size, "communicator size"));
            for CommRuleListing { size, count, rules } in comm_rules {
                let sizes: Vec<NumberWord> = rules.iter().map(|rule| rule[0]).collect();
                self.count(*ends_early, *count, "message rule", &sizes);
                self.order("message size", &sizes);
                if let Some(first) = sizes.first().filter(|first| first.value != 0) {
                    let message = format!("the rules for {} ranks begin at size {}", size.value, first.value);
                    let problem = self.problems.add(Code::FirstSize, first.span, message);
                    if sizes.iter().any(|size| size.value == 0) {
                        problem.remedy = "Sort the sizes, so that the rule for size 0 is the first.".into();
                    }
                }
                rules.iter().for_each(|rule| self.rule(rule));
            }
            self.count(*ends_early, *count, "communicator size", &sizes);
        }
        let ids: Vec<NumberWord> = collectives.iter().map(|collective| collective.id).collect();
        self.count(*ends_early, *count, "collective", &ids);
        if !self.words.has_requests() {
            let comm_rules = collectives.iter().flat_map(|collective| &collective.comm_rules);
            let fifth = comm_rules.flat_map(|comm_rule| &comm_rule.rules).filter_map(|rule| rule.get(4));
            let spans = fifth.map(|number| number.span).collect();
            self.report_all(Code::FifthColumn, spans, "a fifth number on the line of a rule");
        }
    }

    fn id(&mut self, id: NumberWord, seen: &mut HashMap<u32, Span>) {
        let Some(known) = u32::try_from(id.value).ok().filter(|id| *id < Collective::ID_COUNT) else {
            let message = format!("there is no collective {}", words::printable(id.span.of(self.source)));
            self.problems.add(Code::NoSuchId, id.span, message);
            return;
        };
        let name = collective::json_name(known);
        if Collective::from_id(known).is_none() {
            let message = format!("collective {known} is {name}, which cannot be tuned");
            self.problems.add(Code::Untuned, id.span, message);
        }
        if let Some(earlier) = seen.insert(known, id.span) {
            let message = format!("these rules for {name} replace earlier ones");
            self.problems.add(Code::CollectiveTwice, id.span, message).points_to(earlier, "the earlier ones");
        }
    }

    /// Reports a count that differs from the number of entries that follow, unless the file ends among them.
    fn count(&mut self, ends_early: bool, count: NumberWord, what: &str, entries: &[NumberWord]) {
        let found = entries.len() as u64;
        if ends_early || count.value == found {
            return;
        }
        let said = counted(count.value, what);
        let follow = if found == 1 { "follows" } else { "follow" };
        let problem =
            self.problems.add(Code::WrongCount, count.span, format!("{said} announced, but {found} {follow}"));
        // The counts around a wrong one are met when what they announce ends.
        let end = |last: NumberWord| last.span.end;
        problem.met = entries.last().copied().map_or(count.span.start, end).max(self.wrong.map_or(0, end));
        problem.remedy = match self.wrong {
            Some(wrong) => {
                let line = self.source[..wrong.span.start].iter().filter(|byte| **byte == b'\n').count() + 1;
                format!("Correct line {line} first: behind it nothing is certain.")
            }
            None if found == 0 => format!("Add {said}, or remove this block and lower the count above it."),
            None => format!("Write {found} here, or correct the lines below."),
        }
        .into();
        if let Some(last) = entries.last() {
            problem.points_to(last.span, format!("the last {what}"));
        }
        self.wrong.get_or_insert(count);
        self.strict.garbage.push(count.span);
    }

    /// Reports sizes that are smaller than the one before, and equal message sizes.
    fn order(&mut self, what: &str, sizes: &[NumberWord]) {
        for pair in sizes.windows(2) {
            let [before, size] = [pair[0], pair[1]];
            let (code, message, place) = match before.value.cmp(&size.value) {
                Ordering::Greater => {
                    (Code::Unsorted, format!("{what} {} comes after {}", size.value, before.value), "the larger one")
                }
                Ordering::Equal if what == "message size" => {
                    (Code::Duplicate, format!("message size {} comes twice", size.value), "the first time")
                }
                _ => continue,
            };
            self.problems.add(code, size.span, message).points_to(before.span, place);
            self.strict.flagged.extend([before.span.start, size.span.start]);
        }
    }

    fn rule(&mut self, rule: &[NumberWord]) {
        let size = rule[0];
        if let [min, algorithm, faninout, segsize, ..] = rule {
            let values = [min, algorithm, faninout, segsize].map(|number| number.value);
            self.strict.rules.insert(size.span.start, values);
        }
        for (number, what) in rule[1..].iter().zip(["algorithm", "fan-out", "segment size", "bound on requests"]) {
            self.fits_int(*number, what);
        }
        if size.value > i64::MAX as u64 {
            self.problems.add(Code::HugeNumber, size.span, "this message size is cut to 9223372036854775807");
        }
    }

    fn fits_int(&mut self, number: NumberWord, what: &str) {
        if number.value > i32::MAX as u64 {
            let kept = i64::try_from(number.value).unwrap_or(i64::MAX) as i32;
            self.problems.add(Code::HugeNumber, number.span, format!("this {what} becomes {kept}"));
        }
    }
}
