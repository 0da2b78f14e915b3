//! The JSON format, in the order in which Open MPI 6.0 reads it (`coll_tuned_dynamic_file.c`).
//!
//! The order matters: the error path frees the last communicator rule and its `rules` even if they were freed before,
//! so the same fault is a rejection at first, but a crash after a valid rule.

use super::fault::{Fault, FaultKind};
use super::model::{CollectiveRules, CommRule, Format, Loaded, Rule, RuleState, SIZE_INF};
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::{self, Collective};
use crate::json::{JsonDocument, JsonMember, JsonValue, ValueKind, c_str};
use crate::lines::plain;
use crate::registry;
use crate::release::Release;
use crate::span::Span;
use crate::steps::Steps;
use crate::tokens::strtol;

/// Members of the file that Open MPI reads or expects.
pub(crate) const ROOT_KEYS: [&str; 4] = ["rule_file_version", "module", "collectives", "$schema"];
/// Members of a communicator rule.
pub(crate) const COMM_RULE_KEYS: [&str; 4] = ["comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"];
/// Members of a message rule.
pub(crate) const RULE_KEYS: [&str; 6] = ["msg_size_min", "msg_size_max", "alg", "faninout", "seg_size", "reqs"];

pub(super) fn load(document: &JsonDocument<'_>, behaviour: &Behaviour) -> Result<Loaded, Fault> {
    let mut reader = JsonReader { release: behaviour.release, finished_rule: false };
    Ok(Loaded::new(*behaviour, Format::Json, reader.file(document.root())?))
}

struct JsonReader {
    release: Release,
    /// True if a communicator rule of any collective was read to its end.
    finished_rule: bool,
}

impl JsonReader {
    /// A fault whose error path frees an earlier communicator rule again; others are rejections wherever they are.
    fn clean_up(&self, span: Span, kind: FaultKind) -> Fault {
        Fault::new(span, if self.finished_rule { FaultKind::AfterGoodRule(Box::new(kind)) } else { kind })
    }

    fn file(&mut self, root: JsonValue<'_>) -> Result<Vec<CollectiveRules>, Fault> {
        let Some(collectives) = root.get("collectives") else {
            return Err(Fault::new(root.span(), FaultKind::NoMember));
        };
        if !matches!(collectives.value.kind(), ValueKind::Object) {
            return Err(Fault::new(collectives.value.span(), FaultKind::CollectivesNotObject));
        }
        collectives.value.members().map(|member| self.collective(member)).collect()
    }

    fn collective(&mut self, member: JsonMember<'_>) -> Result<CollectiveRules, Fault> {
        let name = c_str(member.key);
        let text = || plain(&String::from_utf8_lossy(name));
        let Some(id) = collective::id_by_name(name) else {
            return Err(self.clean_up(member.key_span, FaultKind::UnknownCollective(text())));
        };
        if !matches!(member.value.kind(), ValueKind::Array) {
            return Err(self.clean_up(member.value.span(), FaultKind::NotAnArray(text())));
        }
        let mut comm_rules = Vec::new();
        for value in member.value.items() {
            comm_rules.push(self.comm_rule(value, id)?);
            self.finished_rule = true;
        }
        Ok(CollectiveRules {
            id,
            collective: Collective::from_id(id),
            name: member.key_span,
            replaced: false,
            comm_rules,
            indices: Vec::new(),
        })
    }

    fn comm_rule(&self, value: JsonValue<'_>, id: u32) -> Result<CommRule, Fault> {
        let [min, max, distribution, rules] = value.pick(COMM_RULE_KEYS);
        let size = |member, key, absent: i32| match integer(member, key) {
            // Narrowed to a C `int`, so that "inf" becomes -1.
            Ok(size) => Ok(size.map_or(absent, |size| size as i32)),
            Err((span, fault)) => Err(self.clean_up(span, fault)),
        };
        let (from, to) = (size(min, "comm_size_min", 0)?, size(max, "comm_size_max", i32::MAX)?);
        let distribution = match distribution.map(|member| (member.value, member.value.as_bytes())) {
            None => Distribution::Any,
            Some((value, None)) => return Err(self.clean_up(value.span(), FaultKind::DistributionNotString)),
            Some((_, Some(text))) => {
                let named = |distribution: &Distribution| distribution.name().as_bytes() == c_str(text);
                // Any other text is any distribution.
                Distribution::ALL.into_iter().find(named).unwrap_or_default()
            }
        };
        let Some(list) = rules.map(|member| member.value) else {
            return Err(self.clean_up(value.span(), FaultKind::NoRules));
        };
        match list.kind() {
            ValueKind::Array => {}
            ValueKind::Object if list.members().next().is_none() => {}
            ValueKind::Object => return Err(Fault::new(list.span(), FaultKind::RulesAreObject)),
            // What was freed before has been replaced by now.
            _ => return Err(Fault::new(list.span(), FaultKind::RulesNotArray)),
        }
        Ok(CommRule {
            span: value.span(),
            size: min.map_or(value.span(), |member| member.value.span()),
            listed: None,
            min: from,
            max: to,
            distribution,
            rules: list.items().map(|value| self.rule(value, id)).collect::<Result<_, _>>()?,
            index: Steps::constant(None),
        })
    }

    fn rule(&self, value: JsonValue<'_>, id: u32) -> Result<Rule, Fault> {
        let [min, max, alg, faninout, segsize, requests] = value.pick(RULE_KEYS);
        let field = |member, key, absent: u64| match integer(member, key) {
            Ok(number) => Ok(number.map_or(absent, |number| number as u64)),
            Err((span, fault)) => Err(Fault::new(span, fault)),
        };
        let mut rule = Rule {
            span: value.span(),
            min: field(min, "msg_size_min", 0)?,
            max: field(max, "msg_size_max", SIZE_INF)?,
            choice: Choice {
                algorithm: 0,
                faninout: field(faninout, "faninout", 0)? as u32,
                segsize: field(segsize, "seg_size", 0)?,
                max_requests: field(requests, "reqs", 0)? as u32,
            },
            state: RuleState::NoAlgorithm,
            says_requests: requests.is_some(),
        };
        let Some(alg) = alg.filter(|alg| matches!(alg.value.kind(), ValueKind::String(_) | ValueKind::Integer(_)))
        else {
            return Ok(rule);
        };
        let Some(collective) = Collective::from_id(id) else {
            let cause = FaultKind::AlgorithmOfUntuned(collective::json_name(id));
            return Err(Fault::new(alg.key_span.to(alg.value.span()), cause));
        };
        match self.algorithm(collective, alg.value) {
            Some(algorithm) => {
                rule.choice.algorithm = algorithm;
                rule.state = RuleState::Plain;
            }
            // Disabled by a range that nothing is in.
            None => (rule.min, rule.max, rule.state) = (SIZE_INF, 0, RuleState::Disabled),
        }
        Ok(rule)
    }

    /// The algorithm that a value names, 0 included.
    fn algorithm(&self, collective: Collective, value: JsonValue<'_>) -> Option<u32> {
        let exists = |id: u32| id == 0 || registry::algorithm(self.release, collective, id).is_ok();
        // Narrowed to a C `int` before it is looked for.
        let by_id = |id: i64| Some(id as i32 as u32).filter(|id| exists(*id));
        if let Some(id) = value.as_integer() {
            return by_id(id);
        }
        let text = c_str(value.as_bytes()?);
        let named = || {
            let name = str::from_utf8(text).ok()?;
            registry::id_of(self.release, collective, name)
        };
        strtol(text, 0).and_then(by_id).or_else(named)
    }
}

/// Returns true if a text counts as the largest number.
pub(crate) fn is_inf(text: &[u8]) -> bool {
    [&b"inf"[..], b"Inf", b"INF"].iter().any(|inf| text.starts_with(inf))
}

/// The integer that a member must be if it is there; texts that begin with "inf" are the largest.
fn integer(member: Option<JsonMember<'_>>, key: &'static str) -> Result<Option<i64>, (Span, FaultKind)> {
    let Some(JsonMember { value, .. }) = member else { return Ok(None) };
    match value.kind() {
        ValueKind::Integer(number) => Ok(Some(*number)),
        ValueKind::String(text) if is_inf(text) => Ok(Some(SIZE_INF as i64)),
        _ => Err((value.span(), FaultKind::NotAnInteger(key))),
    }
}
