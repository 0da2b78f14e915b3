//! Meaning of the fields of a row.

use std::fmt::Display;
use std::str::FromStr;

use collrules_rules::{Collective, Release, registry};
use csv::ByteRecord;

use super::error::ImportError;
use super::facts::{Facts, TimeStatistics, collective_named};
use super::finding::FindingCode;
use super::headers::{Role, meaning};
use super::rows::Record;
use crate::raw::{Digits, ImportFault, Raw, fault};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, CandidateName};

/// Reason for leaving out a row without any value.
pub(super) const EMPTY_ROW: &str = "the row is empty";

/// Place and name of each column.
pub(super) struct Columns {
    columns: Vec<(Role, Column)>,
    count: usize,
}

#[derive(Clone)]
struct Column {
    index: usize,
    name: String,
    per_second: f64,
}

impl Columns {
    /// Finds the columns by their names. Facts in `facts` need no column; `unit` is the unit of times without one.
    pub(super) fn from_header(header: &ByteRecord, facts: &Facts, unit: Option<f64>) -> Result<Self, ImportError> {
        // UTF-16, archives and the like have zero bytes in what would be their header.
        if header.as_slice().contains(&0) {
            return Err(ImportError::NotText);
        }
        let found: Option<Vec<String>> =
            header.iter().map(|name| std::str::from_utf8(name).ok().map(|name| name.trim().to_lowercase())).collect();
        let found = found.ok_or(ImportError::NotText)?;
        let mut columns: Vec<(Role, Column)> = Vec::new();
        for (index, name) in found.iter().enumerate() {
            let Some(meaning) = meaning(name) else { continue };
            if columns.iter().any(|(role, _)| *role == meaning.role) {
                return Err(ImportError::RepeatedColumn(meaning.role.name()));
            }
            let is_time = matches!(meaning.role, Role::Mean | Role::Min | Role::Max);
            let per_second = match meaning.per_second.or(unit) {
                Some(scale) => scale,
                None if is_time => return Err(ImportError::NoUnit(name.clone())),
                None => 1.0,
            };
            columns.push((meaning.role, Column { index, name: name.clone(), per_second }));
        }
        let has = |role: Role| columns.iter().any(|(known, _)| *known == role);
        let is_missing = |role: &Role| match role {
            Role::Collective => !has(*role) && facts.collective.is_none(),
            Role::AlgorithmId => {
                let named = [Role::AlgorithmId, Role::Algorithm, Role::Candidate].into_iter().any(has);
                !named && facts.algorithm.is_none()
            }
            Role::Ranks => !has(*role) && facts.ranks.is_none(),
            // A table of barriers alone has no sizes.
            Role::Bytes => !has(*role) && facts.collective != Some(Collective::Barrier),
            Role::Mean => !has(*role) && !has(Role::Max),
            _ => false,
        };
        let missing: Vec<&str> = Role::ALL.into_iter().filter(is_missing).map(Role::name).collect();
        if missing.is_empty() {
            Ok(Self { columns, count: found.len() })
        } else {
            Err(ImportError::MissingColumns { missing, found })
        }
    }

    /// The timing of a row, or the reason why it has none.
    pub(super) fn read(&self, row: &Record, facts: &Facts, release: Release) -> Result<Raw, ImportFault> {
        let fields = &row.record;
        if fields.iter().all(|field| field.trim_ascii().is_empty()) {
            return Err(fault(FindingCode::EmptyValue, EMPTY_ROW));
        }
        if let Some(end) = row.runs_on_to {
            // No value of a timing table has several lines, but a stray quote swallows rows without end.
            return Err(fault(FindingCode::BadRow, format!("a quoted value runs on to line {end}")));
        }
        if fields.len() != self.count {
            return Err(fault(FindingCode::BadRow, format!("{} fields instead of {}", fields.len(), self.count)));
        }
        if let Some(place) = fields.iter().position(|field| std::str::from_utf8(field).is_err()) {
            return Err(fault(FindingCode::BadRow, format!("field {} is not UTF-8", place + 1)));
        }
        let collective = match self.column(Role::Collective) {
            Some(column) => {
                let text = field(fields, column)?;
                let named = collective_named(text).map_or_else(|| text.parse::<Collective>(), Ok);
                named.map_err(|error| bad(column, &error))?
            }
            None => facts.collective.ok_or_else(|| fault(FindingCode::BadRow, "no collective"))?,
        };
        let candidate = self.candidate(fields, facts, release, collective)?;
        let ranks = self.parsed::<Ranks, _>(fields, Role::Ranks)?.or(facts.ranks);
        let ranks = ranks.ok_or_else(|| fault(FindingCode::BadRow, "no number of ranks"))?;
        let bytes = self.parsed::<Bytes, _>(fields, Role::Bytes)?.unwrap_or(Bytes(0));
        if let Some(column) = self.column(Role::Bytes).filter(|_| !collective.has_sizes() && bytes.0 != 0) {
            let what = format!("{collective} carries no data, but {} is {}", column.name, bytes.0);
            return Err(fault(FindingCode::BadRow, what));
        }
        let launch = match self.column(Role::Launch) {
            Some(column) => Some(whole(column, field(fields, column)?)?),
            None => facts.launch,
        };
        let time_of = |role: Role| match self.column(role) {
            Some(column) => time(column, field(fields, column)?).map(Some),
            None => Ok(None),
        };
        let facts = Facts {
            collective: Some(collective),
            ranks: Some(ranks),
            algorithm: Some(CandidateName::Complete(candidate)),
            launch,
        };
        let lost = |fault: ImportFault| fault.about(facts.clone(), bytes);
        let times = TimeStatistics {
            mean: time_of(Role::Mean).map_err(lost)?,
            min: time_of(Role::Min).map_err(lost)?,
            max: time_of(Role::Max).map_err(lost)?,
        };
        Ok(Raw { line: row.line, block: 0, facts, bytes, round: 0, times, digits: self.digits(fields) })
    }

    fn candidate(
        &self,
        fields: &ByteRecord,
        facts: &Facts,
        release: Release,
        collective: Collective,
    ) -> Result<Candidate, ImportFault> {
        let bad = |what: String| fault(FindingCode::BadRow, what);
        if let Some(column) = self.column(Role::AlgorithmId) {
            let id = whole(column, field(fields, column)?)?;
            let choice = registry::forced(release, collective, id).map_err(|error| bad(error.to_string()))?;
            return Ok(Candidate::from_choice(choice));
        }
        let column = self.column(Role::Candidate).or_else(|| self.column(Role::Algorithm));
        let algorithm = match column {
            Some(column) => Some(CandidateName::read(field(fields, column)?)),
            None => facts.algorithm.clone(),
        };
        algorithm.ok_or_else(|| bad("no algorithm".to_owned()))?.candidate(release, collective).map_err(bad)
    }

    /// Returns a row's name and number of the algorithm, if the table has both.
    pub(super) fn name_and_number(&self, row: &Record) -> Option<(String, u32)> {
        let column = self.column(Role::AlgorithmId)?;
        let id = whole(column, field(&row.record, column).ok()?).ok()?;
        let name = field(&row.record, self.column(Role::Algorithm)?).ok()?;
        Some((name.to_lowercase(), id))
    }

    /// The value of a row in a column, if the table has that.
    fn parsed<T: FromStr<Err = E>, E: Display>(
        &self,
        fields: &ByteRecord,
        role: Role,
    ) -> Result<Option<T>, ImportFault> {
        let Some(column) = self.column(role) else { return Ok(None) };
        field(fields, column)?.parse().map(Some).map_err(|error| bad(column, &error))
    }

    fn column(&self, role: Role) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| *known == role).map(|(_, column)| column)
    }

    /// The digits of the time as written, which reveal mixed-up columns.
    fn digits(&self, fields: &ByteRecord) -> Option<Digits> {
        let column = self.column(Role::Mean).or_else(|| self.column(Role::Max))?;
        fields.get(column.index).and_then(|field| Digits::parse(field.trim_ascii()))
    }
}

fn bad(column: &Column, what: &dyn Display) -> ImportFault {
    fault(FindingCode::BadRow, format!("{}: {what}", column.name))
}

fn field<'a>(fields: &'a ByteRecord, column: &Column) -> Result<&'a str, ImportFault> {
    let text = fields.get(column.index).and_then(|field| std::str::from_utf8(field).ok()).unwrap_or_default().trim();
    if text.is_empty() { Err(fault(FindingCode::EmptyValue, format!("{} is empty", column.name))) } else { Ok(text) }
}

fn whole(column: &Column, text: &str) -> Result<u32, ImportFault> {
    // The standard library takes a leading plus sign, which is a slip here.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| bad(column, &format!("`{text}` is not a whole number from 0 to {}", u32::MAX)))
}

fn time(column: &Column, text: &str) -> Result<Seconds, ImportFault> {
    crate::raw::time(text, column.per_second)
        .map_err(|what| fault(FindingCode::BadTime, format!("{}: {what}", column.name)))
}
