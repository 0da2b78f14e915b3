//! The strict reading of a classic file: its meaning to people, and places that Open MPI reads differently.

use super::code::Code;
use super::collect::Collector;
use super::listing::{self, CollectiveListing, CommRuleListing, Listing};
use super::words::{self, NumberWord, Strict, Words};
use crate::collective::{self, Collective};
use crate::span::Span;
use crate::words::counted;

/// Reads a file and reports all problems of its text.
pub(super) fn read(source: &[u8], problems: &mut Collector) -> Strict {
    let mut strict = Strict::default();
    let words = words::split(source, &mut strict, problems);
    let mut reader = ClassicLinter { source, words: &words, strict: &mut strict, problems };
    if reader.several_rules_on_a_line() {
        // The places of the numbers cannot be known.
        return strict;
    }
    let listing = listing::read(&words);
    reader.file(&listing);
    strict
}

struct ClassicLinter<'r> {
    source: &'r [u8],
    words: &'r Words,
    strict: &'r mut Strict,
    problems: &'r mut Collector,
}

impl ClassicLinter<'_> {
    fn several_rules_on_a_line(&mut self) -> bool {
        if !self.words.has_requests() {
            return false;
        }
        let spans: Vec<Span> = self
            .words
            .lines()
            .filter(|line| line.len() > 7)
            .map(|line| line[0].span.to(line[line.len() - 1].span))
            .collect();
        self.report_all(Code::RulesOnALine, &spans, "more than one rule on a line");
        !spans.is_empty()
    }

    /// Reports places that Open MPI misreads for the same reason as one problem.
    fn report_all(&mut self, code: Code, spans: &[Span], message: &str) {
        if let Some((first, others)) = spans.split_first() {
            self.problems.add(code, *first, message).also_at(others);
        }
        self.strict.garbage.extend(spans);
    }

    fn file(&mut self, listing: &Listing<'_>) {
        let Some(count) = listing.count else {
            self.problems.add(Code::EndsEarly, Span::at(self.source.len()), "there is no number in the file");
            return;
        };
        if count.value > u64::from(Collective::ID_COUNT) {
            self.problems.add(
                Code::TooManyCollectives,
                count.span,
                format!("{} collectives are announced", count.value),
            );
        }
        if listing.ends_early {
            let at = self.words.numbers.last().map_or(0, |number| number.span.end);
            let end = Span::new(at.saturating_sub(1), at);
            self.problems.add(Code::EndsEarly, end, "the file ends here, before everything that was announced");
        } else {
            self.counts(count, listing.collectives.len(), "collective", listing.collectives.last().map(|last| last.id));
        }
        if let Some(trailing) = listing.trailing {
            let end = self.words.numbers.last().map_or(trailing.span, |last| last.span);
            self.problems.add(Code::Trailing, trailing.span.to(end), "numbers that nothing announces");
        }
        let mut seen: [Option<NumberWord>; Collective::ID_COUNT as usize] = [None; Collective::ID_COUNT as usize];
        for collective in &listing.collectives {
            self.collective(collective, listing, &mut seen);
        }
        self.fifth_columns(listing);
    }

    /// Reports a count that differs from the number of entries that follow.
    fn counts(&mut self, count: NumberWord, found: usize, what: &str, last: Option<NumberWord>) {
        if count.value == found as u64 {
            return;
        }
        let (said, seen) = (counted(count.value, what), found as u64);
        let message = format!("{said} announced, but {seen} follow{}", if seen == 1 { "s" } else { "" });
        let problem = self.problems.add(Code::WrongCount, count.span, message);
        problem.remedy = format!("Write {seen} here, or correct the lines below.").into();
        if let Some(last) = last {
            problem.points_to(last.span, format!("the last {what}"));
        }
        self.strict.garbage.push(count.span);
    }

    fn collective(
        &mut self,
        collective: &CollectiveListing<'_>,
        listing: &Listing<'_>,
        seen: &mut [Option<NumberWord>; Collective::ID_COUNT as usize],
    ) {
        let CollectiveListing { id, count, comm_rules } = collective;
        let ends_early = listing.ends_early;
        match u32::try_from(id.value).ok().filter(|id| *id < Collective::ID_COUNT) {
            None => {
                let message = format!("there is no collective {}", words::printable(id.span.of(self.source)));
                self.problems.add(Code::NoSuchId, id.span, message);
            }
            Some(known) => {
                if Collective::from_id(known).is_none() {
                    let message =
                        format!("collective {known} is {}, which cannot be tuned", collective::json_name(known));
                    self.problems.add(Code::Untuned, id.span, message);
                }
                if let Some(earlier) = seen[known as usize].replace(*id) {
                    let message = format!("these rules for {} replace earlier ones", collective::json_name(known));
                    self.problems
                        .add(Code::CollectiveTwice, id.span, message)
                        .points_to(earlier.span, "the earlier ones");
                }
            }
        }
        if !ends_early {
            let last = comm_rules.last().map(|comm_rule| comm_rule.size);
            self.counts(*count, comm_rules.len(), "communicator size", last);
        }
        let mut before: Option<NumberWord> = None;
        for comm_rule in comm_rules {
            self.fits_int(comm_rule.size, "communicator size");
            if let Some(before) = before.filter(|before| before.value > comm_rule.size.value) {
                self.unsorted("communicator size", comm_rule.size, before);
            }
            before = Some(comm_rule.size);
            self.comm_rule(comm_rule, ends_early);
        }
    }

    fn comm_rule(&mut self, comm_rule: &CommRuleListing<'_>, ends_early: bool) {
        if !ends_early {
            let last = comm_rule.rules.last().map(|rule| rule[0]);
            self.counts(comm_rule.count, comm_rule.rules.len(), "message rule", last);
        }
        let mut before: Option<NumberWord> = None;
        for (place, rule) in comm_rule.rules.iter().enumerate() {
            let size = rule[0];
            if let [min, algorithm, faninout, segsize, ..] = rule {
                let values = [min, algorithm, faninout, segsize].map(|number| number.value);
                self.strict.rules.insert(size.span.start, values);
            }
            if place == 0 && size.value != 0 {
                let message = format!("the rules for {} ranks begin at size {}", comm_rule.size.value, size.value);
                self.problems.add(Code::FirstSize, size.span, message);
            }
            match before {
                Some(before) if before.value > size.value => self.unsorted("message size", size, before),
                Some(before) if before.value == size.value => {
                    let message = format!("message size {} comes twice", size.value);
                    self.problems.add(Code::Duplicate, size.span, message).points_to(before.span, "the first time");
                    self.strict.flagged.extend([before.span.start, size.span.start]);
                }
                _ => {}
            }
            before = Some(size);
            for (field, what) in [(1, "algorithm"), (2, "fan-out"), (3, "segment size"), (4, "bound on requests")] {
                if let Some(number) = rule.get(field) {
                    self.fits_int(*number, what);
                }
            }
            if size.value > i64::MAX as u64 {
                self.problems.add(Code::HugeNumber, size.span, "this message size is cut to 9223372036854775807");
            }
        }
    }

    fn unsorted(&mut self, what: &str, size: NumberWord, before: NumberWord) {
        let message = format!("{what} {} comes after {}", size.value, before.value);
        self.problems.add(Code::Unsorted, size.span, message).points_to(before.span, "the larger one");
        self.strict.flagged.extend([before.span.start, size.span.start]);
    }

    fn fits_int(&mut self, number: NumberWord, what: &str) {
        if number.value > i32::MAX as u64 {
            let kept = i64::try_from(number.value).unwrap_or(i64::MAX) as i32;
            self.problems.add(Code::HugeNumber, number.span, format!("this {what} becomes {kept}"));
        }
    }

    fn fifth_columns(&mut self, listing: &Listing<'_>) {
        if self.words.has_requests() {
            return;
        }
        let rules = listing
            .collectives
            .iter()
            .flat_map(|collective| &collective.comm_rules)
            .flat_map(|comm_rule| &comm_rule.rules);
        let spans: Vec<Span> = rules.filter_map(|rule| rule.get(4)).map(|number| number.span).collect();
        self.report_all(Code::FifthColumn, &spans, "a fifth number on the line of a rule");
    }
}
