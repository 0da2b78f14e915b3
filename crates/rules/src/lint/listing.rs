//! Contents of a classic file, by its counts and by its lines.
//!
//! As in Open MPI, counts decide, unless a rule would then cross the end of a line or numbers would be left over in a
//! file with a line for each rule. In that case, lines of four or five numbers are the rules, and the numbers between
//! them are collectives and communicator sizes.

use super::words::{NumberWord, Words};

#[derive(Debug)]
pub(super) struct CommRuleListing<'w> {
    pub(super) size: NumberWord,
    pub(super) count: NumberWord,
    /// Each rule: message size, algorithm, fan-out, segment size, and perhaps the bound on requests.
    pub(super) rules: Vec<&'w [NumberWord]>,
}

#[derive(Debug)]
pub(super) struct CollectiveListing<'w> {
    pub(super) id: NumberWord,
    pub(super) count: NumberWord,
    pub(super) comm_rules: Vec<CommRuleListing<'w>>,
}

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct Listing<'w> {
    /// The number of collectives, the first field.
    pub(super) count: Option<NumberWord>,
    pub(super) collectives: Vec<CollectiveListing<'w>>,
    /// The first number after everything that was announced.
    pub(super) trailing: Option<NumberWord>,
    /// True if the numbers end before all announced entries.
    pub(super) ends_early: bool,
}

/// Reads a file.
pub(super) fn read(words: &Words) -> Listing<'_> {
    let by_lines = words.lines().any(is_rule);
    let mut counting = Counting { rest: &words.numbers, has_requests: words.has_requests(), crossed: false };
    let mut counted = Listing { count: counting.next(), ..Listing::default() };
    counted.ends_early = counting.collectives(&mut counted).is_none();
    counted.trailing = counting.rest.first().copied().filter(|_| !counted.ends_early);
    let doubtful = by_lines && (counting.crossed || counted.ends_early || counted.trailing.is_some());
    if doubtful { by_line(words).unwrap_or(counted) } else { counted }
}

fn is_rule(line: &[NumberWord]) -> bool {
    matches!(line.len(), 4 | 5)
}

/// Reads a file by its counts.
struct Counting<'w> {
    rest: &'w [NumberWord],
    has_requests: bool,
    /// True if a rule crossed the end of a line.
    crossed: bool,
}

impl<'w> Counting<'w> {
    fn next(&mut self) -> Option<NumberWord> {
        self.rest.split_off_first().copied()
    }

    fn collectives(&mut self, listing: &mut Listing<'w>) -> Option<()> {
        for _ in 0..listing.count?.value {
            let (id, count) = (self.next()?, self.next()?);
            listing.collectives.push(CollectiveListing { id, count, comm_rules: Vec::new() });
            let comm_rules = &mut listing.collectives.last_mut()?.comm_rules;
            for _ in 0..count.value {
                let (size, count) = (self.next()?, self.next()?);
                comm_rules.push(CommRuleListing { size, count, rules: Vec::new() });
                let rules = &mut comm_rules.last_mut()?.rules;
                for _ in 0..count.value {
                    rules.push(self.rule()?);
                }
            }
        }
        Some(())
    }

    fn rule(&mut self) -> Option<&'w [NumberWord]> {
        let (first, last) = (self.rest.first()?.line, self.rest.get(3)?.line);
        self.crossed |= first != last;
        // The fifth column counts where it stands on the line of the fourth.
        let has_fifth = self.has_requests && self.rest.get(4).is_some_and(|fifth| fifth.line == last);
        self.rest.split_off(..4 + usize::from(has_fifth))
    }
}

/// Numbers between two runs of rules, and the second of these runs.
type RuleGroup<'w> = (Vec<NumberWord>, Vec<&'w [NumberWord]>);

/// Reads by lines; none if the lines do not reveal the structure.
fn by_line(words: &Words) -> Option<Listing<'_>> {
    let groups = groups(words)?;
    let mut listing = Listing::default();
    // How many communicator sizes the collective has yet to come.
    let mut awaited = 0;
    for (place, (head, rules)) in groups.into_iter().enumerate() {
        let mut head = &head[..];
        if place == 0 {
            let (count, rest) = head.split_first()?;
            (listing.count, head) = (Some(*count), rest);
        }
        while let [first, second, rest @ ..] = head {
            let announced = listing.count.map_or(0, |count| count.value);
            let begins = match (rest.len(), rules.is_empty()) {
                (0, false) => false,
                (2, false) => awaited == 0 || second.value != 0,
                (_, true) if awaited == 0 && listing.collectives.len() as u64 >= announced => {
                    listing.trailing = Some(*first);
                    return Some(listing);
                }
                _ => awaited == 0,
            };
            if begins {
                listing.collectives.push(CollectiveListing { id: *first, count: *second, comm_rules: Vec::new() });
                awaited = second.value;
            } else {
                let comm_rule = CommRuleListing { size: *first, count: *second, rules: Vec::new() };
                listing.collectives.last_mut()?.comm_rules.push(comm_rule);
                awaited = awaited.saturating_sub(1);
            }
            head = rest;
        }
        if !head.is_empty() {
            return None;
        }
        if !rules.is_empty() {
            listing.collectives.last_mut()?.comm_rules.last_mut()?.rules = rules;
        }
    }
    Some(listing)
}

fn groups(words: &Words) -> Option<Vec<RuleGroup<'_>>> {
    let mut groups: Vec<RuleGroup<'_>> = Vec::new();
    let lines: Vec<&[NumberWord]> = words.lines().collect();
    // For each line, the number of rules in a row from there on.
    let mut runs = vec![0u64; lines.len() + 1];
    for (place, line) in lines.iter().enumerate().rev() {
        runs[place] = if is_rule(line) { runs[place + 1] + 1 } else { 0 };
    }
    for (place, line) in lines.iter().enumerate() {
        // `7 1 4 2` in front of two rules, of which the first is for size 0, is no rule.
        let opens = lines.get(place + 1).is_some_and(|next| is_rule(next) && next[0].value == 0);
        let head = line.len() <= 3 || opens && line.last().is_some_and(|count| count.value == runs[place + 1]);
        if head {
            match groups.last_mut().filter(|(_, rules)| rules.is_empty()) {
                Some((head, _)) => head.extend_from_slice(line),
                None => groups.push((line.to_vec(), Vec::new())),
            }
        } else if is_rule(line) {
            groups.last_mut()?.1.push(line);
        } else {
            return None;
        }
    }
    Some(groups)
}
