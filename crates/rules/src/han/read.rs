//! Reading exactly as Open MPI does (`ompi/mca/coll/han/coll_han_dynamic_file.c`).
//!
//! On any fault it drops all rules and uses its parameters; it says so from `coll_base_verbose` 5 on.

use crate::behaviour::Behaviour;
use crate::collective::{Collective, id_by_name, json_name};
use crate::json::c_str;
use crate::lines::plain;
use crate::release::Release;
use crate::span::Span;
use crate::tokens::{Tokens, strtol};

use super::model::{Configuration, HanCollectiveRules, HanFile, HanFileRule, LevelRules};
use super::vocabulary::{ComponentChoice, HanComponent, Level, algorithms, is_ruled};

/// Result of a version reading a file.
#[derive(Clone, Debug)]
pub enum HanLoad {
    /// Its rules are active.
    Accepted(HanFile),
    /// The whole file is ignored, and HAN's parameters decide.
    Rejected(HanRejection),
    /// `MPI_Init` crashes with a segmentation fault.
    Crashes(HanRejection),
    /// The version has no HAN (4.0).
    NoHan,
}

/// Fault that ends reading, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct HanRejection {
    /// Place of the fault.
    pub span: Span,
    /// The fault.
    pub fault: HanFault,
}

/// A field of a HAN file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HanField {
    /// Number of collectives that follow.
    #[error("the number of collectives")]
    Collectives,
    /// The name of a collective.
    #[error("the name of a collective")]
    Collective,
    /// Number of levels that follow.
    #[error("the number of topology levels")]
    Levels,
    /// A level.
    #[error("a topology level")]
    Level,
    /// Number of configurations that follow.
    #[error("the number of configurations")]
    Configurations,
    /// A configuration size.
    #[error("a configuration size")]
    ConfigurationSize,
    /// Number of message sizes that follow.
    #[error("the number of message sizes")]
    MessageSizes,
    /// A message size.
    #[error("a message size")]
    MessageSize,
    /// The name of a component.
    #[error("the name of a component")]
    Component,
    /// An algorithm, behind `@`.
    #[error("the name of an algorithm")]
    Algorithm,
    /// A list of segment lengths.
    #[error("a segment length")]
    Segment,
}

/// Fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HanFault {
    /// The file ends before everything that was announced.
    #[error("the file ends where {0} should follow")]
    End(HanField),
    /// A negative count, or no collectives at all.
    #[error("{field} is {value}")]
    Count {
        /// Quantity that is counted.
        field: HanField,
        /// The count.
        value: i64,
    },
    /// A count for which there is no memory: 5.0.11 then runs without HAN.
    #[error("{value} as {field} is more than there is memory for")]
    TooMany {
        /// Quantity that is counted.
        field: HanField,
        /// The count.
        value: i64,
    },
    /// A name or number that is no collective.
    #[error("`{0}` is not a collective")]
    NoCollective(String),
    /// A name or number that is no level.
    #[error("`{0}` is not a topology level")]
    NoLevel(String),
    /// A configuration size below 1, or a first one above 1.
    #[error("the configuration size {0} is not allowed here: the first one must be 1, and no other may be smaller")]
    ConfigurationSize(i64),
    /// A first message size above 1.
    #[error("the first message size of a configuration must be 0, not {0}")]
    FirstSize(u64),
    /// A name that is no component.
    #[error("`{0}` is not a component")]
    NoComponent(String),
    /// An algorithm that HAN does not have.
    #[error("HAN has no algorithm `{name}` for {collective}")]
    NoAlgorithm {
        /// The algorithm.
        name: String,
        /// The collective.
        collective: &'static str,
    },
    /// An algorithm for a collective that has none: the missing table is used nonetheless.
    #[error("HAN has no algorithms for {0}, and looks this one up in a table that does not exist")]
    NoTable(&'static str),
}

enum HanStop {
    Rejected(Span, HanFault),
    Crashed(Span, HanFault),
}

/// Reads a file as a version does. Takes time and memory linear in its length, whatever the counts say.
pub fn load(bytes: &[u8], behaviour: &Behaviour) -> HanLoad {
    if behaviour.release == Release::V4_0 {
        return HanLoad::NoHan;
    }
    let mut reader = HanReader { bytes, release: behaviour.release, tokens: Tokens::new(bytes), segments: Vec::new() };
    match reader.file() {
        Ok(collectives) => {
            let trailing = reader.tokens.next().filter(|number| number.value > 0).map(|number| number.span);
            HanLoad::Accepted(HanFile { behaviour: *behaviour, collectives, segments: reader.segments, trailing })
        }
        Err(HanStop::Rejected(span, fault)) => HanLoad::Rejected(HanRejection { span, fault }),
        Err(HanStop::Crashed(span, fault)) => HanLoad::Crashes(HanRejection { span, fault }),
    }
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
    fn end(&self, field: HanField) -> HanStop {
        HanStop::Rejected(Span::at(self.bytes.len()), HanFault::End(field))
    }

    fn number(&mut self, field: HanField) -> Result<(i64, Span), HanStop> {
        self.tokens.next().map(|number| (number.value, number.span)).ok_or_else(|| self.end(field))
    }

    fn count(&mut self, field: HanField) -> Result<(i64, Span), HanStop> {
        let (value, span) = self.number(field)?;
        match value {
            ..0 => Err(HanStop::Rejected(span, HanFault::Count { field, value })),
            MOST.. => Err(HanStop::Rejected(span, HanFault::TooMany { field, value })),
            _ => Ok((value, span)),
        }
    }

    /// A word as C reads it: up to a zero byte.
    fn word(&mut self, field: HanField) -> Result<(&[u8], Span), HanStop> {
        match self.tokens.word() {
            Some(span) => Ok((c_str(span.of(self.bytes)), span)),
            None => Err(self.end(field)),
        }
    }

    fn file(&mut self) -> Result<Vec<HanCollectiveRules>, HanStop> {
        let (first, span) = self.count(HanField::Collectives)?;
        if first == 0 {
            return Err(HanStop::Rejected(span, HanFault::Count { field: HanField::Collectives, value: 0 }));
        }
        (0..first).map(|_| self.collective()).collect()
    }

    fn collective(&mut self) -> Result<HanCollectiveRules, HanStop> {
        let release = self.release;
        let (name, span) = self.word(HanField::Collective)?;
        // 5.0 keeps the number in an `int` before it looks at it.
        let narrowed = |number: i64| if release > Release::V4_1 { i64::from(number as u32) } else { number };
        let by_number = || strtol(name, 10).map(narrowed).and_then(|number| u32::try_from(number).ok());
        let id = id_by_name(name).or_else(by_number).filter(|id| *id < Collective::ID_COUNT);
        let Some(id) = id else { return Err(HanStop::Rejected(span, HanFault::NoCollective(printable(name)))) };
        let (count, _) = self.count(HanField::Levels)?;
        let levels = (0..count).map(|_| self.level(id)).collect::<Result<_, _>>()?;
        Ok(HanCollectiveRules { id, span, levels })
    }

    fn level(&mut self, id: u32) -> Result<LevelRules, HanStop> {
        let (number, span, name) = if self.release > Release::V4_1 {
            let (name, span) = self.word(HanField::Level)?;
            let named = Level::ALL.into_iter().find(|level| level.name().as_bytes() == name);
            let number = named.map(|level| i64::from(level.id()));
            // 5.0 keeps the number in an `int` before it looks at it.
            (number.or_else(|| strtol(name, 10).map(|number| i64::from(number as i32))), span, printable(name))
        } else {
            let (number, span) = self.number(HanField::Level)?;
            (Some(number), span, number.to_string())
        };
        let level = number.and_then(|number| Level::ALL.get(usize::try_from(number).ok()?).copied());
        let Some(level) = level else { return Err(HanStop::Rejected(span, HanFault::NoLevel(name))) };
        let (count, _) = self.count(HanField::Configurations)?;
        let configurations = (0..count).map(|place| self.configuration(id, place == 0)).collect::<Result<_, _>>()?;
        Ok(LevelRules { level, span, configurations })
    }

    fn configuration(&mut self, id: u32, first: bool) -> Result<Configuration, HanStop> {
        let (size, span) = self.number(HanField::ConfigurationSize)?;
        if size < 1 || first && size > 1 {
            return Err(HanStop::Rejected(span, HanFault::ConfigurationSize(size)));
        }
        let (count, _) = self.count(HanField::MessageSizes)?;
        let rules = (0..count).map(|place| self.rule(id, place == 0)).collect::<Result<_, _>>()?;
        Ok(Configuration { size: size as i32, span, rules })
    }

    fn rule(&mut self, id: u32, first: bool) -> Result<HanFileRule, HanStop> {
        let Some((size, span)) = self.tokens.size() else { return Err(self.end(HanField::MessageSize)) };
        if first && size > 1 {
            return Err(HanStop::Rejected(span, HanFault::FirstSize(size)));
        }
        let release = self.release;
        let (name, named) = self.word(HanField::Component)?;
        let Some(component) = HanComponent::from_name(release, name) else {
            return Err(HanStop::Rejected(named, HanFault::NoComponent(printable(name))));
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

    fn algorithm(&mut self, id: u32) -> Result<(u32, Span), HanStop> {
        let release = self.release;
        let (name, span) = self.word(HanField::Algorithm)?;
        if name == b"default" {
            return Ok((0, span));
        }
        let known = if is_ruled(release, id) { algorithms(release, id) } else { &[] };
        if known.is_empty() {
            return Err(HanStop::Crashed(span, HanFault::NoTable(json_name(id))));
        }
        let named = known.iter().position(|known| known.as_bytes() == name).map(|place| place + 1);
        let by_number = || strtol(name, 10).and_then(|number| usize::try_from(number as i32).ok());
        match named.or_else(by_number).filter(|id| *id <= known.len()) {
            Some(algorithm) => Ok((algorithm as u32, span)),
            None => {
                let fault = HanFault::NoAlgorithm { name: printable(name), collective: json_name(id) };
                Err(HanStop::Rejected(span, fault))
            }
        }
    }

    /// Numbers up to a closing bracket, which may be missing at the end of the file.
    fn segments(&mut self, before: Span) -> Result<(), HanStop> {
        let mut last = Span::at(before.end);
        while self.tokens.take_if_next(b']') == Some(false) {
            last = self.number(HanField::Segment)?.1;
        }
        self.segments.push(Span::new(before.end, last.end));
        Ok(())
    }
}

fn printable(name: &[u8]) -> String {
    plain(&String::from_utf8_lossy(name))
}
