//! Tests of accepted and rejected texts, and of the places of values.

use proptest::prelude::*;

use super::*;
use crate::span::Span;

/// The value in Rust's notation, with keys in order.
fn shape(value: JsonValue<'_>) -> String {
    match value.kind() {
        ValueKind::Array => {
            let items: Vec<_> = value.items().map(shape).collect();
            format!("[{}]", items.join(" "))
        }
        ValueKind::Object => {
            let member = |member: JsonMember<'_>| format!("{}:{}", member.key.escape_ascii(), shape(member.value));
            let members: Vec<_> = value.members().map(member).collect();
            format!("{{{}}}", members.join(" "))
        }
        ValueKind::String(text) => format!("'{}'", text.escape_ascii()),
        ValueKind::Null => "null".to_owned(),
        ValueKind::Bool(value) => value.to_string(),
        ValueKind::Integer(value) => value.to_string(),
        ValueKind::Float => "float".to_owned(),
    }
}

fn taken(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let document = JsonDocument::parse(text).unwrap_or_else(|error| panic!("{}: {error}", text.escape_ascii()));
    shape(document.root())
}

fn refused(text: impl AsRef<[u8]>) -> SyntaxFault {
    let text = text.as_ref();
    JsonDocument::parse(text).expect_err(&text.escape_ascii().to_string()).fault
}

#[test]
fn standard_json_is_taken() {
    assert_eq!(taken(r#"{"a": [1, -2.5, "x", {"b": null}], "c": true, "d": {}, "e": []}"#), {
        "{a:[1 float 'x' {b:null}] c:true d:{} e:[]}"
    });
    for (text, value) in [("0", "0"), ("-0", "0"), (" \t\r\n7 \n", "7"), ("false", "false"), ("\"\"", "''")] {
        assert_eq!(taken(text), value);
    }
}

#[test]
fn more_is_taken_than_the_standard_allows() {
    assert_eq!(taken("\u{feff}[1]"), "[1]");
    assert_eq!(taken("[1,2,]"), "[1 2]");
    assert_eq!(taken(r#"{"a":1,"a":2,}"#), "{a:1 a:2}");
    assert_eq!(taken("[1]\0 anything"), "[1]");
    assert_eq!(taken("\"line\nbreak\t\\x\\/\""), r"'line\nbreak\tx/'");
    assert_eq!(taken("[-]"), "[0]");
    assert_eq!(taken("[-e5, 1E+3, 0e1, 0.50]"), "[float float float float]");
    assert_eq!(taken(b"\"\xff\""), r"'\xff'");
}

#[test]
fn integers_have_64_bits_and_the_rest_are_floats() {
    assert_eq!(taken("[9223372036854775807, -9223372036854775807]"), "[9223372036854775807 -9223372036854775807]");
    assert_eq!(taken("[9223372036854775808, -9223372036854775808, 18446744073709551615]"), "[float float float]");
    assert_eq!(taken("[99999999999999999999e2]"), "[float]");
    // The point of a number that has become a float already ends it.
    assert_eq!(refused("[99999999999999999999.5]"), SyntaxFault::ExpectedComma);
}

#[test]
fn escapes_are_resolved() {
    assert_eq!(taken(r#""\u0041\u00e9\u20ac\ud83d\ude00\b\f\n\r\t\"\\""#), {
        format!("'{}'", "Aé€😀\u{8}\u{c}\n\r\t\"\\".as_bytes().escape_ascii())
    });
    assert_eq!(taken(r#""a\u0000b""#), r"'a\x00b'");
    for text in [r#""\u12""#, r#""\u12g4""#, r#""\ud83d""#, r#""\ud83dx""#, r#""\ud83d\u12""#] {
        assert_eq!(refused(text), SyntaxFault::BadEscape, "{text}");
    }
}

#[test]
fn what_is_no_json_is_refused() {
    use SyntaxFault::*;
    for (text, fault) in [
        ("", UnexpectedEnd),
        (" ", UnexpectedEnd),
        ("\u{feff}", UnexpectedEnd),
        ("[1", UnexpectedEnd),
        ("{\"a\"", UnexpectedEnd),
        ("{\"a\":", UnexpectedEnd),
        ("[,1]", ExpectedValue),
        ("[1,,2]", ExpectedValue),
        ("{\"a\":}", ExpectedValue),
        ("{,}", ExpectedMember),
        ("{\"a\":1,,}", ExpectedMember),
        ("{a:1}", ExpectedMember),
        ("{1:1}", ExpectedMember),
        ("{\"a\"]", ExpectedColon),
        ("{\"a\" 1}", ExpectedColon),
        ("[1 2]", ExpectedComma),
        ("{\"a\":1 \"b\":2}", ExpectedComma),
        ("[1}", ExpectedComma),
        ("{\"a\":1]", ExpectedComma),
        ("[1] x", Trailing),
        ("1 2", Trailing),
        ("truth", ExpectedValue),
        ("nul", ExpectedValue),
        ("True", ExpectedValue),
        ("NaN", ExpectedValue),
        ("+1", ExpectedValue),
        (".5", ExpectedValue),
        ("'a'", ExpectedValue),
        ("[01]", BadNumber),
        ("[-01]", BadNumber),
        ("[00]", BadNumber),
        ("[1.]", BadNumber),
        ("[-.5]", BadNumber),
        ("[1.e5]", BadNumber),
        ("[1e]", BadNumber),
        ("[1e+]", BadNumber),
        ("[--5]", ExpectedComma),
        ("[0x10]", ExpectedComma),
        ("\"open", OpenString),
        ("\"open\\", OpenString),
        ("\"zero\0\"", OpenString),
        ("// comment\n[1]", Comment),
        ("[1 /* two */]", Comment),
        ("[1] // three", Comment),
        ("# rules\n1\n", ExpectedValue),
        ("1 # collectives\n7\n", Trailing),
    ] {
        assert_eq!(refused(text), fault, "{text}");
    }
}

#[test]
fn errors_have_their_place() {
    let error = JsonDocument::parse(b"{\n  \"a\": 1\n  // no\n}").expect_err("a comment");
    assert_eq!(error.span, Span::new(13, 14));
    assert_eq!(error.span.start, 13);
    assert_eq!(error.to_string(), "JSON has no comments");
}

#[test]
fn values_have_their_places() {
    let text = br#"{"a": [10, {"b\n": "x"}], "c": -3 }"#;
    let document = JsonDocument::parse(text).expect("JSON");
    let said = |span: Span| String::from_utf8_lossy(span.of(text)).into_owned();
    assert_eq!(said(document.root().span()), String::from_utf8_lossy(text));
    let members: Vec<_> = document.root().members().collect();
    assert_eq!(members.iter().map(|member| said(member.key_span)).collect::<Vec<_>>(), ["\"a\"", "\"c\""]);
    let items: Vec<_> = members[0].value.items().collect();
    assert_eq!(items.iter().map(|item| said(item.span())).collect::<Vec<_>>(), ["10", r#"{"b\n": "x"}"#]);
    let inner = items[1].members().next().expect("a member");
    assert_eq!((inner.key, said(inner.value.span())), (&b"b\n"[..], "\"x\"".to_owned()));
    assert_eq!(said(members[1].value.span()), "-3");
}

#[test]
fn of_repeated_keys_the_first_counts_and_names_end_at_a_zero() {
    let document = JsonDocument::parse(br#"{"a": 1, "b\u0000c": 2, "a": 3, "b": 4}"#).expect("JSON");
    let root = document.root();
    let found = |name| root.get(name).and_then(|member| member.value.as_integer());
    assert_eq!([found("a"), found("b"), found("c")], [Some(1), Some(2), None]);
    let picked = root.pick(["b", "x", "a"]).map(|member| member.and_then(|member| member.value.as_integer()));
    assert_eq!(picked, [Some(2), None, Some(1)]);
}

#[test]
fn depth_costs_nothing() {
    let deep = 1_000_000;
    let text = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let document = JsonDocument::parse(text.as_bytes()).expect("JSON");
    assert_eq!(*document.root().kind(), ValueKind::Array);
    assert_eq!(refused("[{\"a\":".repeat(deep)), SyntaxFault::UnexpectedEnd);
}

proptest! {
    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = JsonDocument::parse(&bytes);
    }

    /// Texts made of JSON's characters: those that the standard accepts are accepted, with the same meaning.
    #[test]
    fn what_the_standard_takes_is_taken(
        text in prop_oneof![
            r#"[\[\]{}",:\\0-9eEtrufalsn. +-]{0,40}"#,
            r#"(\{"[ab]":|\[|[0-9]{1,3}|,|\]|\}|"x"| ){0,30}"#,
        ],
    ) {
        let Ok(expected) = serde_json::from_str::<serde_json::Value>(&text) else {
            let _ = JsonDocument::parse(text.as_bytes());
            return Ok(());
        };
        let found = taken(&text);
        match expected {
            serde_json::Value::Number(number) if number.is_f64() => prop_assert_eq!(found, "float"),
            serde_json::Value::Array(_) => prop_assert_eq!(found.as_bytes()[0], b'['),
            serde_json::Value::Object(_) => prop_assert_eq!(found.as_bytes()[0], b'{'),
            serde_json::Value::String(text) => prop_assert_eq!(found, format!("'{}'", text.as_bytes().escape_ascii())),
            other => prop_assert_eq!(found, other.to_string()),
        }
    }
}
