//! Reading exactly as Open MPI does (`ompi/mca/coll/han/coll_han_dynamic_file.c`).
//!
//! On any fault it drops all rules and uses its parameters; it says so from `coll_base_verbose` 5 on.

use crate::behaviour::Behaviour;
use crate::collective::{Collective, id_by_name, json_name};
use crate::file::{Fault, FaultKind, Field};
use crate::json::c_str;
use crate::lines::plain;
use crate::release::Release;
use crate::span::Span;
use crate::tokens::{Tokens, strtol};

use super::model::{Configuration, HanCollectiveRules, HanFile, HanFileRule, LevelRules};
use super::vocabulary::{ComponentChoice, HanComponent, Level, algorithms, is_in, is_ruled};

/// Reads a file as a version does. Takes time and memory linear in its length, whatever the counts say.
pub fn load(bytes: &[u8], behaviour: &Behaviour) -> Result<HanFile, Fault> {
    if !is_in(behaviour.release) {
        return Err(Fault::new(Span::at(0), FaultKind::NoHan));
    }
    let mut reader = HanReader { bytes, release: behaviour.release, tokens: Tokens::new(bytes), segments: Vec::new() };
    let collectives = reader.file().map_err(|fault| Fault { line: Some(fault.span.line(bytes)), ..fault })?;
    let trailing = reader.tokens.number().filter(|(number, _)| *number > 0).map(|(_, span)| span);
    Ok(HanFile { behaviour: *behaviour, collectives, segments: reader.segments, trailing })
}

/// Arrays above this size do not fit in memory, or their size overflows.
const MOST: i64 = i32::MAX as i64;

struct HanReader<'t> {
    bytes: &'t [u8],
    release: Release,
    tokens: Tokens<'t>,
    segments: Vec<Span>,
}

impl HanReader<'_> {
    fn end(&self, field: Field) -> Fault {
        Fault::new(Span::at(self.bytes.len()), FaultKind::End(field))
    }

    fn number(&mut self, field: Field) -> Result<(i64, Span), Fault> {
        self.tokens.number().ok_or_else(|| self.end(field))
    }

    fn count(&mut self, field: Field) -> Result<(i64, Span), Fault> {
        let (value, span) = self.number(field)?;
        match value {
            ..0 => Err(Fault::new(span, FaultKind::Negative(field, value))),
            MOST.. => Err(Fault::new(span, FaultKind::TooMany(field, value as u64))),
            _ => Ok((value, span)),
        }
    }

    /// A word as C reads it: up to a zero byte.
    fn word(&mut self, field: Field) -> Result<(&[u8], Span), Fault> {
        match self.tokens.word() {
            Some(span) => Ok((c_str(span.of(self.bytes)), span)),
            None => Err(self.end(field)),
        }
    }

    fn file(&mut self) -> Result<Vec<HanCollectiveRules>, Fault> {
        let (first, span) = self.count(Field::Collectives)?;
        if first == 0 {
            return Err(Fault::new(span, FaultKind::NoCollectives));
        }
        (0..first).map(|_| self.collective()).collect()
    }

    fn collective(&mut self) -> Result<HanCollectiveRules, Fault> {
        let release = self.release;
        let (name, span) = self.word(Field::Collective)?;
        // 5.0 keeps the number in an `int` before it looks at it.
        let narrowed = |number: i64| if release > Release::V4_1 { i64::from(number as u32) } else { number };
        let by_number = || strtol(name, 10).map(narrowed).and_then(|number| u32::try_from(number).ok());
        let id = id_by_name(name).or_else(by_number).filter(|id| *id < Collective::ID_COUNT);
        let Some(id) = id else { return Err(Fault::new(span, FaultKind::NoSuchCollective(printable(name)))) };
        let (count, _) = self.count(Field::Levels)?;
        let levels = (0..count).map(|_| self.level(id)).collect::<Result<_, _>>()?;
        Ok(HanCollectiveRules { id, span, levels })
    }

    fn level(&mut self, id: u32) -> Result<LevelRules, Fault> {
        let (number, span, name) = if self.release > Release::V4_1 {
            let (name, span) = self.word(Field::Level)?;
            let named = Level::ALL.into_iter().find(|level| level.name().as_bytes() == name);
            let number = named.map(|level| i64::from(level.id()));
            // 5.0 keeps the number in an `int` before it looks at it.
            (number.or_else(|| strtol(name, 10).map(|number| i64::from(number as i32))), span, printable(name))
        } else {
            let (number, span) = self.number(Field::Level)?;
            (Some(number), span, number.to_string())
        };
        let level = number.and_then(|number| Level::ALL.get(usize::try_from(number).ok()?).copied());
        let Some(level) = level else { return Err(Fault::new(span, FaultKind::NoLevel(name))) };
        let (count, _) = self.count(Field::CommRules)?;
        let configurations = (0..count).map(|place| self.configuration(id, place == 0)).collect::<Result<_, _>>()?;
        Ok(LevelRules { level, span, configurations })
    }

    fn configuration(&mut self, id: u32, first: bool) -> Result<Configuration, Fault> {
        let (size, span) = self.number(Field::CommSize)?;
        if size < 1 || first && size > 1 {
            return Err(Fault::new(span, FaultKind::CommSize(size)));
        }
        let (count, _) = self.count(Field::MessageRules)?;
        let rules = (0..count).map(|place| self.rule(id, place == 0)).collect::<Result<_, _>>()?;
        Ok(Configuration { size: size as i32, span, rules })
    }

    fn rule(&mut self, id: u32, first: bool) -> Result<HanFileRule, Fault> {
        let Some((size, span)) = self.tokens.size() else { return Err(self.end(Field::MessageSize)) };
        if first && size > 1 {
            return Err(Fault::new(span, FaultKind::FirstSize(size)));
        }
        let release = self.release;
        let (name, named) = self.word(Field::Component)?;
        let Some(component) = HanComponent::from_name(release, name) else {
            return Err(Fault::new(named, FaultKind::NoComponent(printable(name))));
        };
        let mut last = named;
        let mut algorithm = 0;
        let reads_algorithms = release > Release::V4_1 && component == HanComponent::Han;
        if reads_algorithms && self.tokens.take_if_next(b'@') == Some(true) {
            (algorithm, last) = self.algorithm(id)?;
        }
        if self.tokens.take_if_next(b'[') == Some(true) {
            self.segments(last)?;
        }
        Ok(HanFileRule { size, choice: ComponentChoice { component, algorithm }, span: span.to(last) })
    }

    fn algorithm(&mut self, id: u32) -> Result<(u32, Span), Fault> {
        let release = self.release;
        let (name, span) = self.word(Field::Algorithm)?;
        if name == b"default" {
            return Ok((0, span));
        }
        let known = if is_ruled(release, id) { algorithms(release, id) } else { &[] };
        if known.is_empty() {
            return Err(Fault::new(span, FaultKind::NoTable(json_name(id))));
        }
        let named = known.iter().position(|known| known.as_bytes() == name).map(|place| place + 1);
        let by_number = || strtol(name, 10).and_then(|number| usize::try_from(number as i32).ok());
        let algorithm = named.or_else(by_number).filter(|id| *id <= known.len());
        let fault = || Fault::new(span, FaultKind::NoAlgorithm(printable(name), json_name(id)));
        Ok((algorithm.ok_or_else(fault)? as u32, span))
    }

    /// Numbers up to a closing bracket, which may be missing at the end of the file.
    fn segments(&mut self, before: Span) -> Result<(), Fault> {
        let mut last = Span::at(before.end);
        while self.tokens.take_if_next(b']') == Some(false) {
            last = self.number(Field::Segsize)?.1;
        }
        self.segments.push(Span::new(before.end, last.end));
        Ok(())
    }
}

fn printable(name: &[u8]) -> String {
    plain(&String::from_utf8_lossy(name))
}
