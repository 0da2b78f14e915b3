//! What a classic file holds, by its counts and by its lines.
//!
//! Counts are believed as Open MPI does, unless that makes a rule cross the end of a line or leaves numbers over, in a
//! file that has a line for each rule. Then lines of four or five numbers are the rules, and what stands between them
//! says which collective and which communicator size they belong to.

use super::words::{Number, Words};

/// A rule: message size, algorithm, fan-out, segment size, and perhaps the bound on requests.
pub(super) type Fields<'w> = &'w [Number];

#[derive(Debug)]
pub(super) struct CommRule<'w> {
    pub(super) size: Number,
    pub(super) count: Number,
    pub(super) rules: Vec<Fields<'w>>,
}

#[derive(Debug)]
pub(super) struct Collective<'w> {
    pub(super) id: Number,
    pub(super) count: Number,
    pub(super) comm_rules: Vec<CommRule<'w>>,
}

/// A whole file.
#[derive(Debug, Default)]
pub(super) struct Listing<'w> {
    /// The number of collectives, the first field.
    pub(super) count: Option<Number>,
    pub(super) collectives: Vec<Collective<'w>>,
    /// The first number behind everything that was announced.
    pub(super) trailing: Option<Number>,
    /// Whether the numbers end before everything that was announced is there.
    pub(super) ends_early: bool,
}

/// Reads a file.
pub(super) fn read(words: &Words) -> Listing<'_> {
    let by_lines = words.lines().any(is_rule);
    let mut counting = Counting { words, at: 0, line: 0, crossed: false };
    let counted = counting.file();
    let doubtful = by_lines && (counting.crossed || counted.ends_early || counted.trailing.is_some());
    if doubtful { by_line(words).unwrap_or(counted) } else { counted }
}

fn is_rule(line: &[Number]) -> bool {
    matches!(line.len(), 4 | 5)
}

/// Reads what the counts say.
struct Counting<'w> {
    words: &'w Words,
    at: usize,
    /// The line of the next number.
    line: usize,
    /// Whether a rule went across the end of a line.
    crossed: bool,
}

impl<'w> Counting<'w> {
    fn next(&mut self) -> Option<Number> {
        let number = *self.words.numbers.get(self.at)?;
        self.advance(1);
        Some(number)
    }

    fn advance(&mut self, numbers: usize) {
        self.at += numbers;
        while self.words.starts.get(self.line + 1).is_some_and(|start| *start <= self.at) {
            self.line += 1;
        }
    }

    fn file(&mut self) -> Listing<'w> {
        let mut listing = Listing { count: self.next(), ..Listing::default() };
        listing.ends_early = self.collectives(&mut listing).is_none();
        if !listing.ends_early {
            listing.trailing = self.words.numbers.get(self.at).copied();
        }
        listing
    }

    fn collectives(&mut self, listing: &mut Listing<'w>) -> Option<()> {
        for _ in 0..listing.count?.value {
            let (id, count) = (self.next()?, self.next()?);
            listing.collectives.push(Collective { id, count, comm_rules: Vec::new() });
            let comm_rules = &mut listing.collectives.last_mut()?.comm_rules;
            for _ in 0..count.value {
                let (size, count) = (self.next()?, self.next()?);
                comm_rules.push(CommRule { size, count, rules: Vec::new() });
                let rules = &mut comm_rules.last_mut()?.rules;
                for _ in 0..count.value {
                    rules.push(self.rule()?);
                }
            }
        }
        Some(())
    }

    fn rule(&mut self) -> Option<Fields<'w>> {
        let (start, line) = (self.at, self.line);
        self.words.numbers.get(start + 3)?;
        self.advance(3);
        let last = self.line;
        self.crossed |= last != line;
        self.advance(1);
        // The fifth column counts where it stands on the line of the fourth.
        if self.words.has_requests() && self.at < self.words.numbers.len() && self.line == last {
            self.advance(1);
        }
        Some(&self.words.numbers[start..self.at])
    }
}

/// What lies between two runs of rules, and the second of them.
struct Group<'w> {
    head: Vec<Number>,
    rules: Vec<Fields<'w>>,
}

/// Reads by lines; nothing where they do not show what is what.
fn by_line(words: &Words) -> Option<Listing<'_>> {
    let groups = groups(words)?;
    let mut listing = Listing::default();
    // How many communicator sizes the collective has yet to come.
    let mut awaited = 0;
    for (place, Group { head, rules }) in groups.into_iter().enumerate() {
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
                listing.collectives.push(Collective { id: *first, count: *second, comm_rules: Vec::new() });
                awaited = second.value;
            } else {
                let comm_rule = CommRule { size: *first, count: *second, rules: Vec::new() };
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

fn groups(words: &Words) -> Option<Vec<Group<'_>>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let lines: Vec<&[Number]> = words.lines().collect();
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
            match groups.last_mut().filter(|group| group.rules.is_empty()) {
                Some(group) => group.head.extend_from_slice(line),
                None => groups.push(Group { head: line.to_vec(), rules: Vec::new() }),
            }
        } else if is_rule(line) {
            groups.last_mut()?.rules.push(line);
        } else {
            return None;
        }
    }
    Some(groups)
}
