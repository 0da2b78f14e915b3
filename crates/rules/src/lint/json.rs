//! The strict reading of a JSON file: everything that Open MPI 6.0 ignores, misreads, or rejects.

use std::collections::HashMap;

use super::code::{Code, Severity};
use super::collect::Collector;
use super::words::printable;
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::collective::{self, Collective};
use crate::file::{COMM_RULE_KEYS, ROOT_KEYS, RULE_KEYS, is_inf};
use crate::json::{JsonDocument, JsonMember, JsonValue, ValueKind, c_str};
use crate::names::distance;
use crate::registry;
use crate::release::Release;
use crate::span::Span;

/// Keys that other programs write, and the ones that were meant.
const ALIASES: [(&str, &str); 7] = [
    ("segsize", "seg_size"),
    ("segment_size", "seg_size"),
    ("algorithm", "alg"),
    ("max_requests", "reqs"),
    ("fanout", "faninout"),
    ("fan_in_out", "faninout"),
    ("requests", "reqs"),
];

/// The versions that JSON concerns: if none reads it, the text is judged all the same.
pub(super) fn readers(versions: &[Behaviour]) -> Vec<Behaviour> {
    let readers: Vec<Behaviour> = versions.iter().copied().filter(|version| version.reads_json).collect();
    if readers.is_empty() { vec![Behaviour::latest(Release::V6_0)] } else { readers }
}

/// Reads a file for the newest of its readers and reports all problems of its text.
pub(super) fn read(source: &[u8], release: Release, problems: &mut Collector) {
    match JsonDocument::parse(source) {
        Ok(document) => {
            for comma in document.trailing_commas() {
                problems.add(Code::TrailingComma, *comma, "a comma in front of a closing bracket");
            }
            JsonLinter { release, problems }.file(document.root());
        }
        Err(error) => {
            problems.add(Code::NotJson, error.span.within(source), format!("the text is not JSON: {error}"));
        }
    }
}

struct JsonLinter<'r> {
    release: Release,
    problems: &'r mut Collector,
}

impl JsonLinter<'_> {
    /// Returns true for a value of a type, and reports any other.
    fn is(&mut self, value: JsonValue<'_>, wanted: &ValueKind<'_>, what: &str, words: &str) -> bool {
        let is_wanted = value.kind() == wanted;
        if !is_wanted {
            self.wrong_type(value, what, words);
        }
        is_wanted
    }

    fn wrong_type(&mut self, value: JsonValue<'_>, what: &str, wanted: &str) {
        let found = kind(value.kind());
        self.problems.add(Code::WrongType, short(value), format!("{what} must be {wanted}, not {found}"));
    }

    /// The first member of each name of an object; none for other values. Reports these, and members that are not read:
    /// unknown and repeated ones.
    fn members<'d, const N: usize>(
        &mut self,
        object: JsonValue<'d>,
        known: [&'static str; N],
        place: &str,
    ) -> Option<[Option<JsonMember<'d>>; N]> {
        if !self.is(object, &ValueKind::Object, place, "an object") {
            return None;
        }
        let mut seen = [None; N];
        for member in object.members() {
            let key = c_str(member.key);
            match known.iter().position(|name| name.as_bytes() == key) {
                Some(position) => {
                    if let Some(first) = seen[position].replace(member.key_span) {
                        let message = format!("`{}` comes twice, and only the first counts", known[position]);
                        self.problems.add(Code::RepeatedKey, member.key_span, message).points_to(first, "the first");
                    }
                }
                None => self.unknown_key(member, &known, place),
            }
        }
        Some(object.pick(known))
    }

    fn unknown_key(&mut self, member: JsonMember<'_>, known: &[&'static str], place: &str) {
        let name = printable(member.key);
        // JSON has no comments, so that people, and our own writer, make members of them.
        if matches!(&name[..], "comment" | "comments" | "description") || name.starts_with(['_', '$', '/', '#']) {
            return;
        }
        let alias = ALIASES.iter().find(|(alias, meant)| *alias == name && known.contains(meant));
        let near = || known.iter().copied().find(|known| close(&name, known));
        let (code, message, remedy) = match alias.map(|(_, meant)| *meant).or_else(near) {
            Some(meant) => (
                Code::MisspeltKey,
                format!("`{name}` is ignored: the member is called `{meant}`"),
                format!("Write \"{meant}\"."),
            ),
            None => (
                Code::UnknownKey,
                format!("`{name}` means nothing to Open MPI here"),
                format!("Remove it; {place} has {}.", known.join(", ")),
            ),
        };
        self.problems.add(code, member.key_span, message).remedy = remedy.into();
    }

    fn file(&mut self, root: JsonValue<'_>) {
        let Some([_, _, collectives, _]) = self.members(root, ROOT_KEYS, "the file") else { return };
        let Some(JsonMember { value: collectives, .. }) = collectives else {
            self.problems.add(Code::MissingMember, short(root), "the file has no `collectives`");
            return;
        };
        if !self.is(collectives, &ValueKind::Object, "`collectives`", "an object") {
            return;
        }
        let mut seen = HashMap::new();
        for member in collectives.members() {
            let name = printable(c_str(member.key));
            let collective = match collective::id_by_name(c_str(member.key)) {
                None => {
                    self.unknown_collective(member, &name);
                    None
                }
                Some(id) => {
                    if let Some(first) = seen.insert(id, member.key_span) {
                        let message = format!("`{name}` comes twice, and only the last counts");
                        self.problems.add(Code::RepeatedKey, member.key_span, message).points_to(first, "the first");
                    }
                    let collective = Collective::from_id(id);
                    if collective.is_none() {
                        self.untuned(member, &name);
                    }
                    collective
                }
            };
            if self.is(member.value, &ValueKind::Array, &format!("`{name}`"), "an array of communicator rules") {
                member.value.items().for_each(|comm_rule| self.comm_rule(comm_rule, collective));
            }
        }
    }

    fn unknown_collective(&mut self, member: JsonMember<'_>, name: &str) {
        let all = Collective::ALL.map(Collective::name);
        let same = all.into_iter().find(|known| plain(known) == plain(name).trim_start_matches("mpi"));
        let meant = same.or_else(|| all.into_iter().find(|known| close(name, known)));
        let problem =
            self.problems.add(Code::UnknownCollective, member.key_span, format!("`{name}` is not a collective"));
        problem.remedy = match meant {
            Some(meant) => format!("Write \"{meant}\".").into(),
            None => format!("Write one of {}.", all.join(", ")).into(),
        };
    }

    fn untuned(&mut self, member: JsonMember<'_>, name: &str) {
        let message = format!("`{name}` has no tuned algorithms");
        let problem = self.problems.add(Code::UntunedAlgorithm, member.key_span, message);
        let rules = member.value.items().filter_map(|comm_rule| comm_rule.get("rules"));
        if rules.flat_map(|rules| rules.value.items()).all(|rule| rule.get("alg").is_none()) {
            problem.severity = Severity::Warning;
        }
    }

    fn comm_rule(&mut self, comm_rule: JsonValue<'_>, collective: Option<Collective>) {
        let Some(members) = self.members(comm_rule, COMM_RULE_KEYS, "a communicator rule") else { return };
        let [min, max, distribution, rules] = members;
        self.number(min, COMM_RULE_KEYS[0]);
        self.number(max, COMM_RULE_KEYS[1]);
        if let Some(JsonMember { value, .. }) = distribution {
            match value.as_bytes() {
                None => self.wrong_type(value, "`comm_rank_distribution`", "a string"),
                Some(text) if Distribution::ALL.iter().all(|known| known.name().as_bytes() != c_str(text)) => {
                    let message = format!("`{}` counts as \"any\"", printable(text));
                    self.problems.add(Code::UnknownDistribution, value.span(), message);
                }
                Some(_) => {}
            }
        }
        let Some(JsonMember { value: rules, .. }) = rules else {
            self.problems.add(Code::MissingMember, short(comm_rule), "the communicator rule has no `rules`");
            return;
        };
        if self.is(rules, &ValueKind::Array, "`rules`", "an array") {
            rules.items().for_each(|rule| self.rule(rule, collective));
        }
    }

    fn rule(&mut self, rule: JsonValue<'_>, collective: Option<Collective>) {
        let Some(members) = self.members(rule, RULE_KEYS, "a message rule") else { return };
        for (member, key) in members.into_iter().zip(RULE_KEYS).filter(|(_, key)| *key != "alg") {
            self.number(member, key);
        }
        match members[2] {
            None => {
                self.problems.add(Code::NoAlgorithm, short(rule), "the rule has no `alg`");
            }
            Some(alg) => self.algorithm(alg.value, collective),
        }
    }

    /// Reports a value that is no number, or none in the range of its key: a size, a number of ranks, or another C `int`.
    fn number(&mut self, member: Option<JsonMember<'_>>, key: &str) {
        let Some(JsonMember { value, .. }) = member else { return };
        let (is_size, is_ranks) = (key.starts_with("msg_size"), key.starts_with("comm_size"));
        let (code, message) = match value.kind() {
            ValueKind::Integer(0..=0x7fff_ffff) => return,
            ValueKind::Integer(0..) if is_size => return,
            ValueKind::Integer(size) if is_size => (Code::NumberRange, format!("`{key}` is {size}")),
            ValueKind::Integer(number) => (Code::NumberRange, format!("`{key}` becomes {}", *number as i32)),
            ValueKind::String(text) if is_inf(text) && is_size => return,
            ValueKind::String(text) if is_inf(text) => {
                (if is_ranks { Code::InfiniteRanks } else { Code::NumberRange }, format!("`{key}` becomes -1"))
            }
            _ => {
                let wanted = if is_size { "an integer or \"inf\"" } else { "an integer" };
                return self.wrong_type(value, &format!("`{key}`"), wanted);
            }
        };
        self.problems.add(code, value.span(), message);
    }

    fn algorithm(&mut self, value: JsonValue<'_>, collective: Option<Collective>) {
        let Some(collective) = collective else { return };
        let known = |id: i64| {
            let id = u32::try_from(id).ok();
            id.is_some_and(|id| id == 0 || registry::algorithm(self.release, collective, id).is_ok())
        };
        let (text, exists) = match value.kind() {
            ValueKind::Integer(id) => (id.to_string(), known(*id)),
            ValueKind::String(name) => {
                let name = c_str(name);
                let named = |name: &str| {
                    let number = name.trim().parse::<i64>().ok();
                    registry::id_of(self.release, collective, name).is_some() || number.is_some_and(known)
                };
                (printable(name), str::from_utf8(name).is_ok_and(named))
            }
            _ => {
                let found = kind(value.kind());
                self.problems.add(Code::NoAlgorithm, short(value), format!("`alg` is {found}, which counts as 0"));
                return;
            }
        };
        if !exists {
            let algorithms = registry::algorithms(self.release, collective);
            let list: Vec<_> = algorithms.map(|algorithm| format!("{} {}", algorithm.id, algorithm.name)).collect();
            let message = format!("{collective} has no algorithm `{text}`, and the rule is dropped");
            self.problems.add(Code::UnknownName, value.span(), message).remedy =
                format!("Write one of {}.", list.join(", ")).into();
        }
    }
}

fn kind(kind: &ValueKind<'_>) -> &'static str {
    match kind {
        ValueKind::Null => "null",
        ValueKind::Bool(_) => "a truth value",
        ValueKind::Integer(_) => "an integer",
        ValueKind::Float => "a number with fraction, exponent or too many digits",
        ValueKind::String(_) => "a string",
        ValueKind::Array => "an array",
        ValueKind::Object => "an object",
    }
}

/// The span of a value, or of its opening bracket.
fn short(value: JsonValue<'_>) -> Span {
    let span = value.span();
    match value.kind() {
        ValueKind::Array | ValueKind::Object => Span::new(span.start, span.start + 1),
        _ => span,
    }
}

/// A name without differences in spelling.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-', ' '], "")
}

/// Returns true if a name differs from a known one by no more than two letters, or by case and underscores only.
fn close(name: &str, known: &str) -> bool {
    if plain(name) == plain(known) {
        return true;
    }
    known.len() > 4 && name.len().abs_diff(known.len()) <= 2 && distance(name, known) <= 2
}
