//! The strict reading of a JSON file: everything that Open MPI 6.0 ignores, misreads, or rejects.

use super::code::{Code, Severity};
use super::collect::Collector;
use super::words::printable;
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::collective::{self, Collective};
use crate::file::{COMM_RULE_KEYS, ROOT_KEYS, RULE_KEYS, is_inf};
use crate::json::{Document, JsonMember, JsonValue, ValueKind, c_str};
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
    match Document::parse(source) {
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
    /// Returns true for an object, and reports any other value.
    fn is_object(&mut self, value: JsonValue<'_>, what: &str) -> bool {
        let is_object = *value.kind() == ValueKind::Object;
        if !is_object {
            self.wrong_type(value, what, "an object");
        }
        is_object
    }

    /// Returns true for an array, and reports any other value.
    fn is_array(&mut self, value: JsonValue<'_>, what: &str, wanted: &str) -> bool {
        let is_array = *value.kind() == ValueKind::Array;
        if !is_array {
            self.wrong_type(value, what, wanted);
        }
        is_array
    }

    fn wrong_type(&mut self, value: JsonValue<'_>, what: &str, wanted: &str) {
        let found = kind(value.kind());
        self.problems.add(Code::WrongType, short(value), format!("{what} must be {wanted}, not {found}"));
    }

    fn file(&mut self, root: JsonValue<'_>) {
        if !self.is_object(root, "the file") {
            return;
        }
        self.keys(root, &ROOT_KEYS, "the file");
        let Some(collectives) = root.get("collectives") else {
            self.problems.add(Code::MissingMember, short(root), "the file has no `collectives`");
            return;
        };
        if !self.is_object(collectives.value, "`collectives`") {
            return;
        }
        let mut seen: [Option<Span>; Collective::ID_COUNT as usize] = [None; Collective::ID_COUNT as usize];
        for member in collectives.value.members() {
            self.collective(member, &mut seen);
        }
    }

    /// Reports members that are not read: unknown and repeated ones.
    fn keys(&mut self, object: JsonValue<'_>, known: &[&'static str], place: &str) {
        let mut seen: [Option<Span>; 8] = [None; 8];
        for member in object.members() {
            let key = c_str(member.key);
            match known.iter().position(|name| name.as_bytes() == key) {
                Some(position) => {
                    if let Some(first) = seen[position].replace(member.key_span) {
                        let message = format!("`{}` comes twice, and only the first counts", known[position]);
                        self.problems.add(Code::RepeatedKey, member.key_span, message).points_to(first, "the first");
                    }
                }
                None => self.unknown_key(member, known, place),
            }
        }
    }

    fn unknown_key(&mut self, member: JsonMember<'_>, known: &[&'static str], place: &str) {
        let name = printable(member.key);
        // JSON has no comments, so that people, and our own writer, make members of them.
        if matches!(&name[..], "comment" | "comments" | "description") || name.starts_with(['_', '$', '/', '#']) {
            return;
        }
        let alias = ALIASES.iter().find(|(alias, meant)| *alias == name && known.contains(meant));
        let near = || known.iter().copied().find(|known| close(&name, known));
        match alias.map(|(_, meant)| *meant).or_else(near) {
            Some(meant) => {
                let message = format!("`{name}` is ignored: the member is called `{meant}`");
                let problem = self.problems.add(Code::MisspeltKey, member.key_span, message);
                problem.remedy = format!("Write \"{meant}\".").into();
            }
            None => {
                let message = format!("`{name}` means nothing to Open MPI here");
                let problem = self.problems.add(Code::UnknownKey, member.key_span, message);
                problem.remedy = format!("Remove it; {place} has {}.", known.join(", ")).into();
            }
        }
    }

    fn collective(&mut self, member: JsonMember<'_>, seen: &mut [Option<Span>; Collective::ID_COUNT as usize]) {
        let text = c_str(member.key);
        let name = printable(text);
        let Some(id) = collective::id_by_name(text) else {
            let mut known = Collective::ALL.into_iter().map(Collective::name);
            let same = known.clone().find(|known| plain(known) == plain(&name).trim_start_matches("mpi"));
            let meant = same.or_else(|| known.find(|known| close(&name, known)));
            let message = format!("`{name}` is not a collective");
            let problem = self.problems.add(Code::UnknownCollective, member.key_span, message);
            problem.remedy = match meant {
                Some(meant) => format!("Write \"{meant}\".").into(),
                None => format!("Write one of {}.", Collective::ALL.map(Collective::name).join(", ")).into(),
            };
            self.comm_rules(member.value, None, &name);
            return;
        };
        if let Some(first) = seen[id as usize].replace(member.key_span) {
            let message = format!("`{name}` comes twice, and only the last counts");
            self.problems.add(Code::RepeatedKey, member.key_span, message).points_to(first, "the first");
        }
        let collective = Collective::from_id(id);
        if collective.is_none() {
            let message = format!("`{name}` has no tuned algorithms");
            let problem = self.problems.add(Code::UntunedAlgorithm, member.key_span, message);
            let rules = member.value.items().filter_map(|comm_rule| comm_rule.get("rules"));
            if rules.flat_map(|rules| rules.value.items()).all(|rule| rule.get("alg").is_none()) {
                problem.severity = Severity::Warning;
            }
        }
        self.comm_rules(member.value, collective, &name);
    }

    fn comm_rules(&mut self, list: JsonValue<'_>, collective: Option<Collective>, name: &str) {
        if !self.is_array(list, &format!("`{name}`"), "an array of communicator rules") {
            return;
        }
        for comm_rule in list.items() {
            if !self.is_object(comm_rule, "a communicator rule") {
                continue;
            }
            self.keys(comm_rule, &COMM_RULE_KEYS, "a communicator rule");
            let [min, max, distribution, rules] = comm_rule.pick(COMM_RULE_KEYS);
            for member in [min, max].into_iter().flatten() {
                self.ranks(member);
            }
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
                continue;
            };
            if self.is_array(rules, "`rules`", "an array") {
                rules.items().for_each(|rule| self.rule(rule, collective));
            }
        }
    }

    fn ranks(&mut self, member: JsonMember<'_>) {
        let key = printable(member.key);
        if member.value.as_bytes().is_some_and(is_inf) {
            self.problems.add(Code::InfiniteRanks, member.value.span(), format!("`{key}` becomes -1"));
        } else {
            self.int(member, &key);
        }
    }

    /// A number that is kept in a C `int`.
    fn int(&mut self, member: JsonMember<'_>, key: &str) {
        match member.value.kind() {
            ValueKind::Integer(value) if i32::try_from(*value).is_ok_and(|value| value >= 0) => {}
            ValueKind::Integer(value) => {
                let message = format!("`{key}` becomes {}", *value as i32);
                self.problems.add(Code::NumberRange, member.value.span(), message);
            }
            ValueKind::String(text) if is_inf(text) => {
                self.problems.add(Code::NumberRange, member.value.span(), format!("`{key}` becomes -1"));
            }
            _ => self.wrong_type(member.value, &format!("`{key}`"), "an integer"),
        }
    }

    fn rule(&mut self, rule: JsonValue<'_>, collective: Option<Collective>) {
        if !self.is_object(rule, "a message rule") {
            return;
        }
        self.keys(rule, &RULE_KEYS, "a message rule");
        let [min, max, alg, faninout, segsize, requests] = rule.pick(RULE_KEYS);
        for (member, key) in [(min, "msg_size_min"), (max, "msg_size_max")] {
            let Some(member) = member else { continue };
            match member.value.kind() {
                ValueKind::Integer(size) if *size >= 0 => {}
                ValueKind::Integer(size) => {
                    self.problems.add(Code::NumberRange, member.value.span(), format!("`{key}` is {size}"));
                }
                ValueKind::String(text) if is_inf(text) => {}
                _ => self.wrong_type(member.value, &format!("`{key}`"), "an integer or \"inf\""),
            }
        }
        for (member, key) in [(faninout, "faninout"), (segsize, "seg_size"), (requests, "reqs")] {
            if let Some(member) = member {
                self.int(member, key);
            }
        }
        match alg {
            None => {
                self.problems.add(Code::NoAlgorithm, short(rule), "the rule has no `alg`");
            }
            Some(alg) => self.algorithm(alg.value, collective),
        }
    }

    fn algorithm(&mut self, value: JsonValue<'_>, collective: Option<Collective>) {
        let Some(collective) = collective else { return };
        let known = |id: i64| {
            let id = u32::try_from(id).ok();
            id.is_some_and(|id| id == 0 || registry::algorithm(self.release, collective, id).is_ok())
        };
        let text;
        let exists = match value.kind() {
            ValueKind::Integer(id) => {
                text = id.to_string();
                known(*id)
            }
            ValueKind::String(name) => {
                let name = c_str(name);
                text = printable(name);
                let named = str::from_utf8(name).ok();
                let number = named.and_then(|name| name.trim().parse::<i64>().ok());
                let id = named.and_then(|name| registry::id_of(self.release, collective, name));
                id.is_some() || number.is_some_and(known)
            }
            _ => {
                let found = kind(value.kind());
                self.problems.add(Code::NoAlgorithm, short(value), format!("`alg` is {found}, which counts as 0"));
                return;
            }
        };
        if exists {
            return;
        }
        let algorithms = registry::algorithms(self.release, collective);
        let list: Vec<_> = algorithms.map(|algorithm| format!("{} {}", algorithm.id, algorithm.name)).collect();
        let message = format!("{} has no algorithm `{text}`, and the rule is dropped", collective.name());
        self.problems.add(Code::UnknownName, value.span(), message).remedy =
            format!("Write one of {}.", list.join(", ")).into();
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
