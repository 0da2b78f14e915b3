//! Columns of tables: their names in all spellings, their units, and how lines divide into them.

use std::sync::LazyLock;

use collrules_record::findings::Statistic;
use collrules_rules::names;

use crate::facts::{has_word, words};
use crate::finding::ImportError;
use crate::options::Options;

names! {
    /// Content of a column, with the name that messages use, and that tables should have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Role {
        /// The MPI library or its version.
        Library "library",
        /// The statistic of the times.
        Statistic "statistic",
        /// The component that carried the calls out.
        Component "component",
        /// The number of errors that a check of the data found.
        Check "validation",
        /// A mark of a valid call, 1 for valid ones.
        Valid "valid",
        /// A mark of which numbers may mean either.
        Status "status",
        /// A mark of an invalid call, 0 for valid ones.
        Invalid "errorcode",
        /// A parameter of an algorithm, which belongs to the candidate.
        Parameter "segsize",
        /// The first of those that a table needs.
        Collective "collective",
        /// A number.
        AlgorithmId "algorithm_id",
        /// A number or a name.
        Algorithm "algorithm",
        /// A choice, as in our own samples.
        Candidate "candidate",
        /// The first of those with numbers.
        Ranks "comm_size",
        Bytes "message_bytes",
        /// Elements.
        Count "count",
        Launch "launch",
        Round "nrep",
        Calls "iterations",
        Process "process",
        /// The first of the times.
        Mean "avg_latency_us",
        Min "min_latency_us",
        Max "max_latency_us",
        /// The median over calls.
        Median "median_us",
        /// Another statistic over calls, which is not read.
        Spread "stddev_us",
    }
}

/// Separation of the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableFormat {
    /// A table with this character between fields.
    Delimited(char),
    /// Numbers between blanks or commas.
    Words,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) role: Option<Role>,
    /// Units of a time in a second, if the name or an option says so.
    pub(super) per_second: Option<f64>,
}

/// The columns of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) layout: TableFormat,
    pub(super) columns: Vec<Column>,
}

impl Columns {
    /// The columns, if a line is a header, which need not name a given unit and statistic.
    pub(super) fn find(line: &str, given: &Options) -> Option<Result<Self, ImportError>> {
        let (layout, names) = split_header(line)?;
        let named = names.iter().map(|name| Column::named(name)).collect();
        let mut columns = match layout {
            TableFormat::Words if names.iter().any(|name| name == "test") => reprompi_columns(named),
            _ => with_one_time(named, matches!(layout, TableFormat::Delimited(_)), given.time),
        };
        columns.iter_mut().for_each(|column| column.per_second = column.per_second.or(given.per_second));
        let columns = Self { layout, columns };
        Some(columns.check(line).map(|()| columns))
    }

    /// Checks that columns mean one thing each, and that one of them is a time.
    fn check(&self, line: &str) -> Result<(), ImportError> {
        if line.contains('\u{fffd}') {
            return Err(ImportError::NotText);
        }
        // Tables of other programs, in which times and sizes mean something else.
        let is_foreign = |name: &str| spellings("*foreign").any(|foreign| contains_name(name, foreign));
        let is_repeated = |column: &Column| {
            column.role >= Some(Role::Collective)
                && column.role != Some(Role::Spread)
                && self.columns.iter().filter(|other| other.role == column.role).count() > 1
        };
        for column in &self.columns {
            let what = match column {
                _ if column.is_size_in_units() => {
                    "is not in bytes; name it message_bytes, and write 4096 or 4K for 4 KiB"
                }
                _ if !self.has(Role::Collective) && is_foreign(&column.name) => {
                    "is of another kind of benchmark, and nothing says what its sizes and times are"
                }
                _ if is_repeated(column) => "means the same as another one",
                _ => continue,
            };
            return Err(ImportError::doubtful(format!("the column {} {what}: {}", column.name, short(line))));
        }
        if [Role::Mean, Role::Median, Role::Max].into_iter().any(|role| self.has(role)) {
            return Ok(());
        }
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        Err(ImportError::doubtful(match names.iter().find(|name| is_maximum(&words(name))) {
            Some(name) => format!(
                "nothing says whether the column {name} is the maximum over ranks or over calls, and there is no median \
                 or mean; --time slowest says that it is the time of the slowest rank",
            ),
            None => format!("the header lacks a time such as {}; it has {}", Role::Mean, names.join(", ")),
        }))
    }

    /// Returns true if a character stands between fields, as in tables that people make.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.layout, TableFormat::Delimited(_))
    }

    /// Returns true for columns of ReproMPI, which has the ranks in a line of its own.
    pub(super) fn is_of_reprompi(&self) -> bool {
        self.columns.iter().any(|column| column.name == "test") && !self.has(Role::Ranks)
    }

    /// The contents that others have as well, in their order.
    pub(super) fn shared_with(&self, others: &Self) -> Vec<Role> {
        self.columns.iter().filter_map(|column| column.role.filter(|role| others.has(*role))).collect()
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.column(role).is_some()
    }

    pub(super) fn column(&self, role: Role) -> Option<&Column> {
        self.columns.iter().find(|column| column.role == Some(role))
    }

    /// The fields of a line, unless a quoted value is not closed.
    pub(super) fn fields(&self, line: &str) -> Option<Vec<String>> {
        let TableFormat::Delimited(delimiter) = self.layout else {
            // Decimal commas are no separators.
            let has_commas = !line.contains(char::is_whitespace) || line.contains(", ");
            let fields = line.split(|sign: char| sign.is_whitespace() || has_commas && sign == ',');
            return Some(fields.filter(|field| !field.is_empty()).map(str::to_owned).collect());
        };
        let mut fields = split_quoted(line, delimiter)?;
        // Separators at the end of the line begin no field.
        while fields.len() > self.columns.len() && fields.last().is_some_and(|last| last.trim().is_empty()) {
            fields.pop();
        }
        Some(fields)
    }

    /// Returns why a line below the header leaves the meaning of all rows in doubt: it is a header of names that are not known,
    /// since none of its numbers is one, or a time has a unit neither there nor in the header.
    pub(super) fn doubt(&self, line: &str, fields: &[String]) -> Option<String> {
        let is_number = |field: &String| field.trim().parse::<f64>().is_ok();
        let is_name = |field: &String| field.trim().starts_with(char::is_alphabetic) && !is_number(field);
        let is_header = self.numbers(fields).count() > 1 && self.numbers(fields).all(is_name);
        if self.is_table() && is_header {
            let what = "resembles a header, but its columns are unknown, so that nothing behind it can be read";
            return Some(format!("{} {what}", short(line)));
        }
        let has_comma =
            |text: &str| text.contains(',') && text.chars().all(|sign| ",.".contains(sign) || sign.is_ascii_digit());
        if self.columns.iter().zip(fields).any(|(column, text)| column.is_time() && has_comma(text)) {
            return Some(format!(
                "{} has a comma in a time; write decimal points, and nothing between thousands",
                short(line)
            ));
        }
        let has_no_unit = |column: &Column| column.is_time() && column.per_second.is_none();
        let bare = self.columns.iter().zip(fields).find(|(column, text)| has_no_unit(column) && is_number(text));
        bare.map(|(Column { name, .. }, _)| {
            format!(
                "the column {name} has no unit, nor has its value; name the column {name}_us (or _ms, _s, _ns), write \
                 units in all of its values, or give --unit"
            )
        })
    }

    /// Returns true if a text names several of the columns.
    pub(super) fn are_named(&self, text: &str) -> bool {
        self.columns.iter().filter(|column| contains_name(text, &column.name)).count() > 1
    }

    /// Returns true if fields are a row, perhaps cut off, and not a sentence that begins with a number, such as `2 more
    /// processes have sent help message ...`: its first two numbers are numbers, or it has all fields and the first is one.
    pub(super) fn is_row(&self, fields: &[String]) -> bool {
        let expected = if fields.len() == self.columns.len() { 1 } else { 2 };
        let mut numbers = self.numbers(fields).take(expected).peekable();
        self.is_table() || numbers.peek().is_some() && numbers.all(|field| field.parse::<f64>().is_ok())
    }

    /// The fields of columns with numbers.
    fn numbers<'f>(&self, fields: &'f [String]) -> impl Iterator<Item = &'f String> {
        let of_columns = self.columns.iter().zip(fields);
        of_columns.filter(|(column, _)| column.role >= Some(Role::Ranks)).map(|(_, field)| field)
    }
}

/// Columns that name the algorithm.
pub(super) const ALGORITHMS: [Role; 3] = [Role::AlgorithmId, Role::Algorithm, Role::Candidate];

/// Columns with the size of a message.
pub(super) const SIZES: [Role; 2] = [Role::Bytes, Role::Count];

impl Column {
    /// The column of a name such as `comm_size`, `# Size [B]`, `Avg Latency(us)`, `t_max[usec]`.
    fn named(name: &str) -> Self {
        let words = words(name);
        let (last, others) = words.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
        let in_bytes = || plain_role(others).filter(|role| last == "b" && SIZES.contains(role));
        let found = plain_role(&words).or_else(in_bytes).map(|role| (role, None));
        // `time_us`, and `time_us_mean`, where a single letter may be anything.
        let timed = || {
            let place =
                words.iter().rposition(|word| (word == last || word.len() > 1) && per_second(word).is_some())?;
            let others: Vec<String> = [&words[..place], &words[place + 1..]].concat();
            Some((time_role(&others)?, per_second(&words[place])))
        };
        let parameter = || has_word_of(Role::Parameter.name(), &words).then_some((Role::Parameter, None));
        let found = found.or_else(parameter).or_else(timed).or_else(|| Some((time_role(&words)?, None)));
        let (role, per_second) = found.unzip();
        Self { name: name.trim().to_lowercase(), role, per_second: per_second.flatten() }
    }

    /// Returns true for the names of sizes in other units than bytes, such as `Size (KiB)` and `msg_size_kb`.
    fn is_size_in_units(&self) -> bool {
        let is_unit = |unit: &str| "k kb kib kbytes m mb mib mbytes g gb gib".split(' ').any(|known| known == unit);
        let words = words(&self.name);
        words.split_last().is_some_and(|(unit, others)| is_unit(unit) && plain_role(others) == Some(Role::Bytes))
    }

    pub(super) fn is_time(&self) -> bool {
        (Some(Role::Mean)..=Some(Role::Median)).contains(&self.role)
    }
}

/// Returns true if the words of a name follow each other in a text.
fn contains_name(text: &str, name: &str) -> bool {
    let [text, name] = [text, name].map(|text| format!("_{}_", words(text).join("_")));
    name.len() > 2 && text.contains(&name)
}

/// The names in a line, if it is a header: separated by commas, semicolons or tabs, by two blanks or more behind `#` as
/// OSU does, or by single blanks as IMB and ReproMPI do.
fn split_header(line: &str) -> Option<(TableFormat, Vec<String>)> {
    let text = line.trim_start_matches(['#', ' ', '\u{feff}']).trim();
    let is_comment = line.starts_with('#');
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    let is_known = |column: &Column| column.role >= Some(Role::Collective) || column.is_size_in_units();
    let known = |names: &[String]| names.iter().filter(|name| is_known(&Column::named(name))).count();
    let delimited = [',', ';', '\t'].into_iter().filter_map(|sign| {
        let mut names: Vec<String> = split_quoted(text, sign)?.iter().map(|name| name.trim().to_owned()).collect();
        names.truncate(names.iter().rposition(|name| !name.is_empty())? + 1);
        Some((known(&names), (TableFormat::Delimited(sign), names)))
    });
    // The first of those that divide it into equally many known names.
    if let Some((_, found)) = delimited.rev().max_by_key(|(known, _)| *known).filter(|(known, _)| *known >= 2) {
        return Some(found);
    }
    let is_imb = is_comment && (text.starts_with("bytes ") || text.starts_with("repetitions "));
    if is_imb || has("test") && (has("count") || has("msize_bytes")) {
        return Some((TableFormat::Words, words));
    }
    let is_table = |names: &[String]| {
        let named: Vec<Column> = names.iter().map(|name| Column::named(name)).collect();
        let sized = named.iter().any(|column| column.role == Some(Role::Bytes));
        let is_time = |column: &Column| column.is_time() && (sized || column.per_second.is_some());
        let is_rate = |column: &Column| sized && column.name.contains("bandwidth");
        is_comment && named.iter().any(|column| is_time(column) || is_rate(column))
    };
    let is_known = known(&words) == words.len() || spellings("*foreign").any(has);
    let spaced = text.split("  ").map(str::trim).filter(|name| !name.is_empty());
    let spaced: Vec<String> = spaced.map(str::to_owned).collect();
    let found = [(true, spaced), (is_known, words)].into_iter().find(|(may_be, names)| *may_be && is_table(names));
    found.map(|(_, names)| (TableFormat::Words, names))
}

/// ReproMPI's time of a call is that of the slowest rank, as are the median and mean of its summaries.
fn reprompi_columns(mut columns: Vec<Column>) -> Vec<Column> {
    use Role::{Max, Mean, Median, Min};
    for column in columns.iter_mut().filter(|column| matches!(column.role, Some(Mean | Median | Min | Max))) {
        column.role = Some(Role::Spread);
    }
    let place = |name: &&str| columns.iter().position(|column| column.name == *name);
    if let Some(place) = ["runtime_sec", "median_sec", "mean_sec"].iter().find_map(place) {
        (columns[place].role, columns[place].per_second) = (Some(Max), Some(1.0));
    }
    columns
}

/// Keeps one time of those over calls: the median, else the mean. A maximum is that of the slowest rank if its name or
/// the user says so.
fn with_one_time(mut columns: Vec<Column>, is_table: bool, wanted: Option<Statistic>) -> Vec<Column> {
    let has = |role: Role| columns.iter().any(|column| column.role == Some(role));
    let (has_median, is_repeated) = (has(Role::Median), has(Role::Median) || has(Role::Spread));
    let is_wanted = wanted.is_some_and(|wanted| wanted != Statistic::RankAverage);
    let over_ranks = |column: &Column| is_wanted || names_ranks(&words(&column.name), is_repeated && is_table);
    let maxima: Vec<bool> = columns.iter().filter(|column| column.role == Some(Role::Max)).map(over_ranks).collect();
    let has_minimum = maxima.contains(&true) && !maxima.contains(&false);
    for column in &mut columns {
        column.role = match column.role {
            Some(Role::Mean) if has_median => Some(Role::Spread),
            Some(Role::Max) if !over_ranks(column) => Some(Role::Spread),
            Some(Role::Min) if !has_minimum => Some(Role::Spread),
            role => role,
        };
    }
    columns
}

/// Splits a line of a table, whose values may be in quotes, unless one of them is not closed.
fn split_quoted(line: &str, delimiter: char) -> Option<Vec<String>> {
    let mut is_quoted = false;
    let ends = |sign: char| {
        is_quoted ^= sign == '"';
        sign == delimiter && !is_quoted
    };
    let fields = line.split(ends).map(|field| field.replace('"', "")).collect();
    line.matches('"').count().is_multiple_of(2).then_some(fields)
}

/// Returns the number of these units per second.
pub(super) fn per_second(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some(1e3),
        "us" | "usec" | "usecs" | "µs" | "μs" | "microsecond" | "microseconds" => Some(1e6),
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Some(1e9),
        _ => None,
    }
}

/// Spellings of columns: a line for each content. Those of times are without words such as `time`, and without units.
const SPELLINGS: &str = include_str!("columns.txt");

static SPELLED: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let lines = SPELLINGS.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(content, spellings)| (content, spellings.split(' ').collect())).collect()
});

fn plain_role(words: &[String]) -> Option<Role> {
    let name = words.join("_");
    let mut lines = SPELLED.iter().filter(|(content, _)| !content.starts_with('*'));
    let (content, _) = lines.find(|(_, spellings)| spellings.contains(&&*name))?;
    Role::ALL.into_iter().find(|role| role.name() == *content)
}

/// The spellings on the line of a content.
fn spellings(content: &str) -> impl Iterator<Item = &'static str> {
    SPELLED.iter().filter(move |(known, _)| *known == content).flat_map(|(_, spellings)| spellings).copied()
}

/// Returns true if a word of a name suffices to tell its content.
fn has_word_of(content: &str, words: &[String]) -> bool {
    let mut lines = SPELLED.iter().filter(|(known, _)| known.strip_prefix('*') == Some(content));
    lines.any(|(_, spellings)| words.iter().any(|word| spellings.contains(&word.as_str())))
}

/// Returns true for the name of a remark, or of a result, on which no time depends.
pub(super) fn is_remark(name: &str) -> bool {
    ["remark", "result"].iter().any(|content| has_word_of(content, &words(name)))
}

/// Content of a column of times, by the words of its name without the unit.
pub(super) fn time_role(words: &[String]) -> Option<Role> {
    let is_time = |word: &&String| ["latency", "lat", "time", "t", "runtime"].contains(&word.as_str());
    let others: Vec<String> = words.iter().filter(|word| !is_time(word)).cloned().collect();
    let is_spread = others.iter().any(|word| is_spread(word)) || others.windows(2).any(|pair| pair == ["std", "dev"]);
    match plain_role(&others).filter(|role| *role >= Role::Mean) {
        None if others.is_empty() && words.iter().any(|word| word != "t") => Some(Role::Mean),
        None if names_ranks(words, true) => Some(Role::Max),
        None => is_spread.then_some(Role::Spread),
        role => role,
    }
}

/// Returns true if a word names a statistic over repetitions other than their mean.
fn is_spread(word: &str) -> bool {
    let bare = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let is_quantile = bare.len() < word.len() && ["p", "q", "pct"].contains(&bare);
    is_quantile || has_word_of(Role::Spread.name(), &[bare.to_owned()])
}

/// Returns true if a name is that of a maximum.
pub(super) fn is_maximum(words: &[String]) -> bool {
    has_word(words, &["max", "maximum"])
}

/// Returns true if the name of a maximum says that it is over ranks: `slowest`, `max_over_ranks`, IMB's `t_max`, and OSU's
/// `Max Latency` unless statistics over calls stand next to it.
fn names_ranks(words: &[String], is_repeated: bool) -> bool {
    let begins = |known: [&str; 2]| words.len() > 1 && words[..2] == known;
    has_word(words, &["slowest"])
        || is_maximum(words) && has_word(words, &["rank", "ranks", "process", "processes", "proc", "procs"])
        || begins(["t", "max"])
        || !is_repeated && begins(["max", "latency"])
}

/// Largest number of characters of a line that a message shows.
const SHOWN: usize = 60;

/// The beginning of a line, in quotes, without control characters.
pub(super) fn short(content: &str) -> String {
    let end = content.char_indices().nth(SHOWN).map(|(end, _)| end);
    quoted(&end.map_or_else(|| content.to_owned(), |end| format!("{}…", &content[..end])))
}

/// A line in quotes, without control characters.
pub(super) fn quoted(content: &str) -> String {
    format!("`{}`", content.replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_spellings_is_about_a_column() {
        let lines = SPELLINGS.lines().skip(1).filter(|line| !line.starts_with('*'));
        for (content, spellings) in lines.map(|line| line.split_once(": ").expect(line)) {
            for spelling in spellings.split(' ') {
                assert_eq!(plain_role(&words(spelling)).map(Role::name), Some(content), "{spelling}");
            }
        }
    }

    #[test]
    fn headers_are_known_however_they_are_spelled() {
        for (header, role, per_second) in [
            ("comm_size", Role::Ranks, 0.0),
            ("# Size", Role::Bytes, 0.0),
            ("Size [B]", Role::Bytes, 0.0),
            ("Size (B)", Role::Bytes, 0.0),
            ("#bytes", Role::Bytes, 0.0),
            ("Avg Latency(us)", Role::Mean, 1e6),
            ("Lat Avg[us]", Role::Mean, 1e6),
            ("lat_us", Role::Mean, 1e6),
            ("avg_latency_us", Role::Mean, 1e6),
            ("t_max[usec]", Role::Max, 1e6),
            ("Latency (ms)", Role::Mean, 1e3),
            ("time [s]", Role::Mean, 1.0),
            ("latency", Role::Mean, 0.0),
            ("median_us", Role::Median, 1e6),
            ("time_us_mean", Role::Mean, 1e6),
            ("latency_us_median", Role::Median, 1e6),
            ("geomean_us", Role::Mean, 1e6),
            ("trimmed_mean_us", Role::Mean, 1e6),
            ("time_us_max", Role::Max, 1e6),
            ("slowest_rank_ms", Role::Max, 1e3),
            ("max_over_ranks [us]", Role::Max, 1e6),
            ("NP_total", Role::Ranks, 0.0),
            ("ALGO_NAME", Role::Algorithm, 0.0),
        ] {
            let column = Column::named(header);
            assert_eq!((column.role, column.per_second.unwrap_or(0.0)), (Some(role), per_second), "{header}");
        }
        for header in [
            "std_us",
            "time_us_std",
            "latency_us_q1",
            "stddev",
            "p99_us",
            "percentile_99",
            "ci95_low_us",
            "var",
            "P50 Tail Lat(us)",
            "Std Dev [us]",
        ] {
            assert_eq!(Column::named(header).role, Some(Role::Spread), "{header}");
        }
        for header in ["", "b", "us", "note", "t", "vary", "Mbytes/sec"] {
            assert_eq!(Column::named(header).role, None, "{header}");
        }
    }
}
