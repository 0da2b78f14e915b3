//! The classic format, field by field.

use super::fault::{Fault, FaultKind, Field};
use super::model::{CollectiveRules, CommRule, Rule, RuleState};
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::span::Span;
use crate::steps::Steps;
use crate::tokens::{HEADER, Tokens};

/// Reads a classic file: the number of its version line, if the version reads it, and its collectives.
///
/// `inherited` is the `max_requests` of rules without one. Takes time and memory linear in the length, whatever the
/// counts say.
pub(crate) fn read(
    bytes: &[u8],
    behaviour: &Behaviour,
    inherited: u32,
) -> Result<(Option<i64>, Vec<CollectiveRules>), Fault> {
    let mut tokens = Tokens::new(bytes);
    // `fscanf("rule-file-version-%d")` at the very beginning; what it matched before it failed stays consumed.
    let header = if behaviour.reads_header && tokens.skip_prefix(HEADER) { tokens.scan_decimal() } else { None };
    let requests = header.is_some_and(|version| version > 1);
    let mut fields = FieldReader { tokens, bytes, requests, shifts_sizes: behaviour.shifts_sizes, inherited };
    let (count, span) = fields.next(Field::Collectives)?;
    if count > u64::from(Collective::ID_COUNT) {
        return Err(Fault::new(span, FaultKind::TooManyCollectives(count)));
    }
    let collectives = (0..count).map(|_| fields.collective()).collect::<Result<_, _>>()?;
    Ok((header, collectives))
}

struct FieldReader<'t> {
    tokens: Tokens<'t>,
    bytes: &'t [u8],
    /// True if rules may have a fifth column.
    requests: bool,
    shifts_sizes: bool,
    inherited: u32,
}

impl FieldReader<'_> {
    /// A field with its place. Open MPI reads a `long`, and drops the upper half where it keeps an `int`.
    fn next(&mut self, field: Field) -> Result<(u64, Span), Fault> {
        let Some((value, span)) = self.tokens.number() else {
            return Err(Fault::new(Span::at(self.bytes.len()), FaultKind::End(field)));
        };
        let value = u64::try_from(value).map_err(|_| Fault::new(span, FaultKind::Negative(field, value)))?;
        Ok((value, span))
    }

    /// The number of entries that Open MPI allocates: it truncates the count to a C `int` for that, but reads as many
    /// entries as the whole `long` says. Seen on 5.0.11: a count of 2^32 corrupts memory, and `MPI_Init` aborts.
    fn room(&self, count: u64, span: Span, field: Field) -> Result<u64, Fault> {
        match i32::try_from(count) {
            Ok(_) => Ok(count),
            // A negative number of entries is refused by the allocator.
            Err(_) if (count as i32) < 0 => Err(Fault::new(span, FaultKind::TooMany(field, count))),
            Err(_) => Ok(u64::from(count as u32)),
        }
    }

    fn collective(&mut self) -> Result<CollectiveRules, Fault> {
        let (id, name) = self.next(Field::Collective)?;
        let Some(id) = u32::try_from(id).ok().filter(|id| *id < Collective::ID_COUNT) else {
            return Err(Fault::new(name, FaultKind::NoSuchCollective(id.to_string())));
        };
        let (count, span) = self.next(Field::CommRules)?;
        let room = self.room(count, span, Field::CommRules)?;
        let mut comm_rules: Vec<CommRule> = Vec::new();
        // No reservation: a count may be absurd, and then the text ends first.
        for place in 0..count {
            let mut comm_rule = self.comm_rule()?;
            if place >= room {
                return Err(Fault::new(span, FaultKind::Overwrites(Field::CommRules, count)));
            }
            if self.shifts_sizes {
                let last = place + 1 == count;
                comm_rule.max = if last { i32::MAX } else { comm_rule.min.wrapping_sub(1) };
                comm_rule.min = comm_rules.last().map_or(0, |before| before.max.wrapping_add(1));
            }
            comm_rules.push(comm_rule);
        }
        let collective = Collective::from_id(id);
        Ok(CollectiveRules { id, collective, name, replaced: false, comm_rules, indices: Vec::new() })
    }

    fn comm_rule(&mut self) -> Result<CommRule, Fault> {
        let (listed, size) = self.next(Field::CommSize)?;
        let (count, span) = self.next(Field::MessageRules)?;
        let room = self.room(count, span, Field::MessageRules)?;
        let mut rules: Vec<Rule> = Vec::new();
        for place in 0..count {
            let rule = self.rule(rules.is_empty())?;
            if place >= room {
                return Err(Fault::new(span, FaultKind::Overwrites(Field::MessageRules, count)));
            }
            if let Some(before) = rules.last_mut().filter(|_| self.shifts_sizes) {
                // A size 0 wraps to the largest number, in `size_t`.
                before.max = rule.min.wrapping_sub(1);
            }
            rules.push(rule);
        }
        let listed = listed as i32;
        Ok(CommRule {
            span: size.to(rules.last().map_or(span, |rule| rule.span)),
            size,
            listed: Some(listed),
            min: listed,
            max: i32::MAX,
            distribution: Distribution::Any,
            rules,
            index: Steps::constant(None),
        })
    }

    fn rule(&mut self, first: bool) -> Result<Rule, Fault> {
        let (min, size) = self.next(Field::MessageSize)?;
        let algorithm = self.next(Field::Algorithm)?.0 as u32;
        let faninout = self.next(Field::Faninout)?.0 as u32;
        let (segsize, last) = self.next(Field::Segsize)?;
        let said = if self.requests && self.tokens.digit_follows() { self.tokens.number() } else { None };
        if first && min != 0 {
            return Err(Fault::new(size, FaultKind::FirstSize(min)));
        }
        let max_requests = said.map_or(self.inherited, |(number, _)| number as u32);
        Ok(Rule {
            span: size.to(said.map_or(last, |(_, span)| span)),
            min,
            max: u64::MAX,
            choice: Choice { algorithm, faninout, segsize, max_requests },
            state: RuleState::Plain,
            says_requests: said.is_some(),
        })
    }
}
