//! Meaning of the fields of a row.

use collrules_rules::{Collective, Release, registry};
use csv::ByteRecord;

use super::error::ImportError;
use super::facts::{Facts, TimeStatistics, collective_named};
use super::finding::FindingCode;
use super::headers::{Role, meaning};
use super::rows::Record;
use crate::raw::{ImportFault, Raw, fault};
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

/// The column names that messages use, and that tables should have.
fn canonical(role: Role) -> &'static str {
    match role {
        Role::Collective => "collective",
        Role::AlgorithmId => "algorithm_id",
        Role::Algorithm => "algorithm",
        Role::Candidate => "candidate",
        Role::Ranks => "comm_size",
        Role::Bytes => "message_bytes",
        Role::Launch => "launch",
        Role::Mean => "avg_latency_us",
        Role::Min => "min_latency_us",
        Role::Max => "max_latency_us",
    }
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
                return Err(ImportError::RepeatedColumn(canonical(meaning.role)));
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
        let mut missing = Vec::new();
        if !has(Role::Collective) && facts.collective.is_none() {
            missing.push(canonical(Role::Collective));
        }
        let named = [Role::AlgorithmId, Role::Algorithm, Role::Candidate].into_iter().any(has);
        if !named && facts.algorithm.is_none() {
            missing.push(canonical(Role::AlgorithmId));
        }
        if !has(Role::Ranks) && facts.ranks.is_none() {
            missing.push(canonical(Role::Ranks));
        }
        // A table of barriers alone has no sizes.
        if !has(Role::Bytes) && facts.collective != Some(Collective::Barrier) {
            missing.push(canonical(Role::Bytes));
        }
        if !has(Role::Mean) && !has(Role::Max) {
            missing.push(canonical(Role::Mean));
        }
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
        let bad = |column: &Column, what: String| fault(FindingCode::BadRow, format!("{}: {what}", column.name));
        let collective = match self.column(Role::Collective) {
            Some(column) => {
                let text = field(fields, column)?;
                let named = collective_named(text).map_or_else(|| text.parse::<Collective>(), Ok);
                named.map_err(|error| bad(column, error.to_string()))?
            }
            None => facts.collective.ok_or_else(|| fault(FindingCode::BadRow, "no collective"))?,
        };
        let candidate = self.candidate(fields, facts, release, collective)?;
        let ranks: Ranks = match self.column(Role::Ranks) {
            Some(column) => {
                let text = field(fields, column)?;
                text.parse().map_err(|error: collrules_record::units::BadRanks| bad(column, error.to_string()))?
            }
            None => facts.ranks.ok_or_else(|| fault(FindingCode::BadRow, "no number of ranks"))?,
        };
        let bytes = match self.column(Role::Bytes) {
            Some(column) => {
                let text = field(fields, column)?;
                let bytes: Bytes =
                    text.parse().map_err(|error: collrules_record::units::BadBytes| bad(column, error.to_string()))?;
                if !collective.has_sizes() && bytes.0 != 0 {
                    let what = format!("{collective} carries no data, but {} is {}", column.name, bytes.0);
                    return Err(fault(FindingCode::BadRow, what));
                }
                bytes
            }
            None => Bytes(0),
        };
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
        let id =
            whole(self.column(Role::AlgorithmId)?, field(&row.record, self.column(Role::AlgorithmId)?).ok()?).ok()?;
        let name = field(&row.record, self.column(Role::Algorithm)?).ok()?;
        Some((name.to_lowercase(), id))
    }

    fn column(&self, role: Role) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| *known == role).map(|(_, column)| column)
    }

    /// The digits of the time as written, which reveal mixed-up columns.
    fn digits(&self, fields: &ByteRecord) -> Option<crate::raw::Digits> {
        let column = self.column(Role::Mean).or_else(|| self.column(Role::Max))?;
        fields.get(column.index).and_then(|field| crate::raw::Digits::parse(field.trim_ascii()))
    }
}

fn field<'a>(fields: &'a ByteRecord, column: &Column) -> Result<&'a str, ImportFault> {
    let text = fields.get(column.index).and_then(|field| std::str::from_utf8(field).ok()).unwrap_or_default().trim();
    if text.is_empty() { Err(fault(FindingCode::EmptyValue, format!("{} is empty", column.name))) } else { Ok(text) }
}

fn whole(column: &Column, text: &str) -> Result<u32, ImportFault> {
    // The standard library takes a leading plus sign, which is a slip here.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| {
        let what = format!("{}: `{text}` is not a whole number from 0 to {}", column.name, u32::MAX);
        fault(FindingCode::BadRow, what)
    })
}

fn time(column: &Column, text: &str) -> Result<Seconds, ImportFault> {
    crate::raw::time(text, column.per_second)
        .map_err(|what| fault(FindingCode::BadTime, format!("{}: {what}", column.name)))
}
