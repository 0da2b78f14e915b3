//! Reading as Open MPI reads (`ompi/mca/coll/han/coll_han_dynamic_file.c`), quirk for quirk.
//!
//! Whatever it does not like, it drops all rules and uses its parameters; it says so from `coll_base_verbose` 5 on.

use crate::behaviour::Behaviour;
use crate::collective::{Collective, id_by_name, json_name};
use crate::json::c_str;
use crate::lines::plain;
use crate::release::Release;
use crate::span::Span;
use crate::tokens::Tokens;

use super::model::{CollectiveRules, Configuration, LevelRules, Loaded, Rule};
use super::vocabulary::{Choice, Component, Level, algorithms, is_ruled};

/// What a version does with a file.
#[derive(Clone, Debug)]
pub enum Load {
    /// Its rules are in force.
    Accepted(Loaded),
    /// All of it is ignored, and HAN's parameters decide.
    Rejected(Rejection),
    /// `MPI_Init` crashes with a segmentation fault.
    Crashes(Rejection),
    /// The version has no HAN (4.0).
    NoHan,
}

/// Where reading ends, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct Rejection {
    /// Where.
    pub span: Span,
    /// What stands against the file.
    pub fault: Fault,
}

/// A field of a HAN file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Field {
    /// How many collectives follow.
    #[error("the number of collectives")]
    Collectives,
    /// The name of a collective.
    #[error("the name of a collective")]
    Collective,
    /// How many levels follow.
    #[error("the number of topology levels")]
    Levels,
    /// A level.
    #[error("a topology level")]
    Level,
    /// How many configurations follow.
    #[error("the number of configurations")]
    Configurations,
    /// A configuration size.
    #[error("a configuration size")]
    ConfigurationSize,
    /// How many message sizes follow.
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

/// What stands against a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file ends before everything that was announced is there.
    #[error("the file ends where {0} should follow")]
    End(Field),
    /// A negative count, or no collectives at all.
    #[error("{field} is {value}")]
    Count {
        /// What is counted.
        field: Field,
        /// The count.
        value: i64,
    },
    /// A count that no memory holds: 5.0.11 then does without HAN altogether.
    #[error("{value} as {field} is more than there is memory for")]
    TooMany {
        /// What is counted.
        field: Field,
        /// The count.
        value: i64,
    },
    /// A name or number that is no collective.
    #[error("`{0}` is not a collective")]
    NoCollective(String),
    /// A name or number that is no level.
    #[error("`{0}` is not a topology level")]
    NoLevel(String),
    /// A configuration size below 1, or a first one above.
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
    /// An algorithm for a collective that has none: its table is missing and used nonetheless.
    #[error("HAN has no algorithms for {0}, and looks for this one in a table that is not there")]
    NoTable(&'static str),
}

enum Stop {
    Rejected(Span, Fault),
    Crashed(Span, Fault),
}

/// Reads a file as a version does. Takes time and memory linear in its length, whatever the counts say.
pub fn load(bytes: &[u8], behaviour: &Behaviour) -> Load {
    if behaviour.release == Release::V4_0 {
        return Load::NoHan;
    }
    let mut reader = Reader { bytes, release: behaviour.release, tokens: Tokens::new(bytes), segments: Vec::new() };
    match reader.file() {
        Ok(collectives) => {
            let trailing = reader.tokens.next().filter(|number| number.value > 0).map(|number| number.span);
            Load::Accepted(Loaded { behaviour: *behaviour, collectives, segments: reader.segments, trailing })
        }
        Err(Stop::Rejected(span, fault)) => Load::Rejected(Rejection { span, fault }),
        Err(Stop::Crashed(span, fault)) => Load::Crashes(Rejection { span, fault }),
    }
}

/// Larger arrays than this do not fit in memory, or their size wraps around.
const MOST: i64 = i32::MAX as i64;

struct Reader<'t> {
    bytes: &'t [u8],
    release: Release,
    tokens: Tokens<'t>,
    segments: Vec<Span>,
}

impl Reader<'_> {
    fn end(&self, field: Field) -> Stop {
        Stop::Rejected(Span::at(self.bytes.len()), Fault::End(field))
    }

    fn number(&mut self, field: Field) -> Result<(i64, Span), Stop> {
        self.tokens.next().map(|number| (number.value, number.span)).ok_or_else(|| self.end(field))
    }

    fn count(&mut self, field: Field) -> Result<i64, Stop> {
        let (value, span) = self.number(field)?;
        match value {
            ..0 => Err(Stop::Rejected(span, Fault::Count { field, value })),
            MOST.. => Err(Stop::Rejected(span, Fault::TooMany { field, value })),
            _ => Ok(value),
        }
    }

    /// A word as C sees it: up to a zero byte.
    fn word(&mut self, field: Field) -> Result<(&[u8], Span), Stop> {
        match self.tokens.word() {
            Some(span) => Ok((c_str(span.of(self.bytes)), span)),
            None => Err(self.end(field)),
        }
    }

    fn file(&mut self) -> Result<Vec<CollectiveRules>, Stop> {
        let (first, span) = self.number(Field::Collectives)?;
        if first <= 0 || first >= MOST {
            let (field, value) = (Field::Collectives, first);
            let fault = if first <= 0 { Fault::Count { field, value } } else { Fault::TooMany { field, value } };
            return Err(Stop::Rejected(span, fault));
        }
        (0..first).map(|_| self.collective()).collect()
    }

    fn collective(&mut self) -> Result<CollectiveRules, Stop> {
        let release = self.release;
        let (name, span) = self.word(Field::Collective)?;
        // 5.0 keeps the number in an `int` before it looks at it.
        let narrowed = |number: i64| if release > Release::V4_1 { i64::from(number as u32) } else { number };
        let by_number = || strtol(name).map(narrowed).and_then(|number| u32::try_from(number).ok());
        let id = id_by_name(name).or_else(by_number).filter(|id| *id < Collective::ID_COUNT);
        let Some(id) = id else { return Err(Stop::Rejected(span, Fault::NoCollective(shown(name)))) };
        let count = self.count(Field::Levels)?;
        let levels = (0..count).map(|_| self.level(id)).collect::<Result<_, _>>()?;
        Ok(CollectiveRules { id, span, levels })
    }

    fn level(&mut self, id: u32) -> Result<LevelRules, Stop> {
        let (number, span, name) = if self.release > Release::V4_1 {
            let (name, span) = self.word(Field::Level)?;
            let named = Level::ALL.into_iter().find(|level| level.name().as_bytes() == name);
            let number = named.map(|level| i64::from(level.id()));
            // 5.0 keeps the number in an `int` before it looks at it.
            (number.or_else(|| strtol(name).map(|number| i64::from(number as i32))), span, shown(name))
        } else {
            let (number, span) = self.number(Field::Level)?;
            (Some(number), span, number.to_string())
        };
        let level = number.and_then(|number| Level::ALL.get(usize::try_from(number).ok()?).copied());
        let Some(level) = level else { return Err(Stop::Rejected(span, Fault::NoLevel(name))) };
        let count = self.count(Field::Configurations)?;
        let mut configurations = Vec::new();
        for place in 0..count {
            configurations.push(self.configuration(id, place == 0)?);
        }
        Ok(LevelRules { level, span, configurations })
    }

    fn configuration(&mut self, id: u32, first: bool) -> Result<Configuration, Stop> {
        let (size, span) = self.number(Field::ConfigurationSize)?;
        if size < 1 || first && size > 1 {
            return Err(Stop::Rejected(span, Fault::ConfigurationSize(size)));
        }
        let count = self.count(Field::MessageSizes)?;
        let mut rules = Vec::new();
        for place in 0..count {
            rules.push(self.rule(id, place == 0)?);
        }
        Ok(Configuration { size: size as i32, span, rules })
    }

    fn rule(&mut self, id: u32, first: bool) -> Result<Rule, Stop> {
        let Some((size, span)) = self.tokens.size() else { return Err(self.end(Field::MessageSize)) };
        if first && size > 1 {
            return Err(Stop::Rejected(span, Fault::FirstSize(size)));
        }
        let release = self.release;
        let (name, named) = self.word(Field::Component)?;
        let Some(component) = Component::named(release, name) else {
            return Err(Stop::Rejected(named, Fault::NoComponent(shown(name))));
        };
        let mut last = named;
        let mut algorithm = 0;
        let reads_algorithms = release > Release::V4_1 && component == Component::Han;
        if reads_algorithms && self.tokens.take_if_next(b'@') == Some(true) {
            (algorithm, last) = self.algorithm(id)?;
        }
        if self.tokens.take_if_next(b'[') == Some(true) {
            self.segments(last)?;
        }
        Ok(Rule { size, choice: Choice { component, algorithm }, span: span.to(last) })
    }

    fn algorithm(&mut self, id: u32) -> Result<(u32, Span), Stop> {
        let release = self.release;
        let (name, span) = self.word(Field::Algorithm)?;
        if name == b"default" {
            return Ok((0, span));
        }
        let known = if is_ruled(release, id) { algorithms(release, id) } else { &[] };
        if known.is_empty() {
            return Err(Stop::Crashed(span, Fault::NoTable(json_name(id))));
        }
        let named = known.iter().position(|known| known.as_bytes() == name).map(|place| place + 1);
        let by_number = || strtol(name).and_then(|number| usize::try_from(number as i32).ok());
        match named.or_else(by_number).filter(|id| *id <= known.len()) {
            Some(algorithm) => Ok((algorithm as u32, span)),
            None => {
                let fault = Fault::NoAlgorithm { name: shown(name), collective: json_name(id) };
                Err(Stop::Rejected(span, fault))
            }
        }
    }

    /// Numbers up to a closing bracket; at the end of the file none is missed.
    fn segments(&mut self, before: Span) -> Result<(), Stop> {
        let mut last = Span::at(before.end);
        while self.tokens.take_if_next(b']') == Some(false) {
            last = self.number(Field::Segment)?.1;
        }
        self.segments.push(Span::new(before.end, last.end));
        Ok(())
    }
}

/// The number that a word consists of, as C's `strtol` with base 10 reads it; an empty one is 0.
fn strtol(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    };
    if digits.is_empty() && !word.is_empty() {
        return None;
    }
    let push = |value: i64, byte: &u8| {
        let digit = i64::from(char::from(*byte).to_digit(10)?);
        Some(value.saturating_mul(10).saturating_add(if negative { -digit } else { digit }))
    };
    digits.iter().try_fold(0, push)
}

fn shown(name: &[u8]) -> String {
    plain(&String::from_utf8_lossy(name))
}
