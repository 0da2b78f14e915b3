//! The schema of JSON rules files, made from these types and from the registry: `schemas/tuned-rules.schema.json`.
//!
//! It is stricter than Open MPI 6.0: what is accepted there and then does not do what it says (`"comm_size_max": "inf"`,
//! `segsize`, algorithms that do not exist) has no place in a good file.

#![allow(dead_code)]

use std::fs;
use std::path::Path;

use collrules_rules::registry;
use collrules_rules::{Collective, Release};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A rules file for coll/tuned of Open MPI 6.0 and later, as JSON.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RulesFile {
    /// Not read by Open MPI.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// 3 by convention; not read by Open MPI.
    rule_file_version: Option<u32>,
    /// "tuned" by convention; not read by Open MPI.
    module: Option<String>,
    comment: Option<Comment>,
    #[schemars(schema_with = "collectives")]
    collectives: (),
}

/// Rules for some communicators. The first that match apply, and then no others are tried.
#[derive(JsonSchema)]
struct CommRule {
    comment: Option<Comment>,
    /// The smallest communicator, 0 if absent.
    #[schemars(range(min = 0, max = i32::MAX))]
    comm_size_min: Option<i64>,
    /// The largest communicator; leave it out for no limit. "inf" would never match.
    #[schemars(range(min = 0, max = i32::MAX))]
    comm_size_max: Option<i64>,
    comm_rank_distribution: Option<RankDistribution>,
    /// The first rule that matches applies; without one Open MPI decides itself.
    rules: Vec<MessageRule>,
}

/// How the ranks lie on nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum RankDistribution {
    Any,
    /// Every rank on a node of its own; never matches MPI_COMM_WORLD.
    OnePerNode,
    /// All ranks on one node.
    SingleNode,
}

/// A rule for sizes as Open MPI looks them up, in bytes, both ends included.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct MessageRule {
    comment: Option<Comment>,
    /// The smallest size, 0 if absent.
    #[schemars(range(min = 0))]
    msg_size_min: Option<i64>,
    /// The largest size, no limit if absent.
    msg_size_max: Option<MaxSize>,
    /// Name or number of the algorithm; 0 leaves the decision to Open MPI.
    alg: Value,
    /// Fan-in and fan-out, or the radix.
    #[schemars(range(min = 0, max = i32::MAX))]
    faninout: Option<i64>,
    /// Segment size in bytes; 0 sends the message in one piece.
    #[schemars(range(min = 0, max = i32::MAX))]
    seg_size: Option<i64>,
    /// The most requests outstanding; 0 is the algorithm's own default.
    #[schemars(range(min = 0, max = i32::MAX))]
    reqs: Option<i64>,
}

/// Text for people; Open MPI ignores members that it does not know.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Comment {
    Line(String),
    Lines(Vec<String>),
}

#[derive(JsonSchema)]
#[schemars(untagged)]
enum MaxSize {
    Bytes(#[schemars(range(min = 0))] i64),
    Unlimited(Inf),
}

#[derive(JsonSchema)]
enum Inf {
    #[schemars(rename = "inf")]
    Lower,
    #[schemars(rename = "Inf")]
    Title,
    #[schemars(rename = "INF")]
    Upper,
}

/// One list of rules for each collective that has algorithms, each with the algorithms of the release.
fn collectives(generator: &mut SchemaGenerator) -> Schema {
    let rule = generator.subschema_for::<CommRule>();
    let lists: Map<String, Value> = Collective::ALL
        .into_iter()
        .map(|collective| {
            let algorithms = || registry::algorithms(Release::V6_0, collective);
            let ids = std::iter::once(json!(0)).chain(algorithms().map(|algorithm| json!(algorithm.id)));
            let names = std::iter::once(json!("ignore")).chain(algorithms().map(|algorithm| json!(algorithm.name)));
            let known: Vec<Value> = ids.chain(names).collect();
            // Below 2 a radix never comes to an end.
            let endless = algorithms().filter(|algorithm| algorithm.radix).map(|algorithm| {
                json!({
                    "if": { "properties": { "alg": { "enum": [algorithm.id, algorithm.name] } }, "required": ["alg"] },
                    "then": { "properties": { "faninout": { "minimum": 2 } }, "required": ["faninout"] },
                })
            });
            let mut message = json!({ "properties": { "alg": { "enum": known } } });
            let endless: Vec<Value> = endless.collect();
            if !endless.is_empty() {
                message["allOf"] = json!(endless);
            }
            let rules = json!({ "properties": { "rules": { "items": message } } });
            (collective.name().to_owned(), json!({ "type": "array", "items": { "allOf": [rule, rules] } }))
        })
        .collect();
    json_schema!({
        "description": "Rules by collective.",
        "type": "object",
        "properties": lists,
        "additionalProperties": false,
    })
}

/// Members that may be missing may still not be null, and only known ones are wanted.
fn strict(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [kind] = &types[..] {
                    let kind = kind.clone();
                    object.insert("type".to_owned(), kind);
                }
            }
            let is_null = |option: &Value| option == &json!({ "type": "null" });
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| !is_null(option));
                if let [Value::Object(only)] = &options[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            object.values_mut().for_each(strict);
        }
        Value::Array(list) => list.iter_mut().for_each(strict),
        _ => {}
    }
}

fn generated() -> String {
    let mut schema = serde_json::to_value(schemars::schema_for!(RulesFile)).expect("a JSON value");
    strict(&mut schema);
    schema["$defs"]["CommRule"]["additionalProperties"] = json!(false);
    serde_json::to_string_pretty(&schema).expect("a JSON value") + "\n"
}

#[test]
fn the_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/tuned-rules.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, generated()).expect("can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated(),
        "out of date; make it again with UPDATE_SCHEMA=1 cargo test -p collrules-rules --test rules schema"
    );
}
