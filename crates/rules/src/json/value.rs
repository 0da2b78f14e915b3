//! The tree of a JSON text. Its values are in one list, in order, each with the index after it, so depth needs no
//! recursion.

use std::borrow::Cow;

use crate::span::Span;

/// A parsed JSON text.
#[derive(Clone, Debug)]
pub struct JsonDocument<'s> {
    pub(super) nodes: Vec<JsonNode<'s>>,
    pub(super) trailing_commas: Vec<Span>,
}

/// A value of the tree.
#[derive(Clone, Debug)]
pub(super) struct JsonNode<'s> {
    pub(super) span: Span,
    /// Its name without escapes, if it is in an object, and the place of the name, quotes included.
    pub(super) key: Option<(Span, Cow<'s, [u8]>)>,
    pub(super) kind: ValueKind<'s>,
    /// The index of the first node after it.
    pub(super) after: usize,
}

/// A value with its document.
#[derive(Clone, Copy, Debug)]
pub struct JsonValue<'d> {
    nodes: &'d [JsonNode<'d>],
    place: usize,
}

/// Type of a value, with its content.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind<'s> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without fraction and exponent that fits 64 bits.
    Integer(i64),
    /// Any other number; see its span for the text.
    Float,
    /// A string without its escapes. It need not be UTF-8.
    String(Cow<'s, [u8]>),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A named value in an object.
#[derive(Clone, Copy, Debug)]
pub struct JsonMember<'d> {
    /// The name, without escapes.
    pub key: &'d [u8],
    /// The place of the name, quotes included.
    pub key_span: Span,
    /// The value.
    pub value: JsonValue<'d>,
}

/// Returns the string as C reads it: all bytes before the first zero byte.
pub fn c_str(text: &[u8]) -> &[u8] {
    text.iter().position(|byte| *byte == 0).map_or(text, |end| &text[..end])
}

impl JsonDocument<'_> {
    /// The value of the text.
    pub fn root(&self) -> JsonValue<'_> {
        JsonValue { nodes: &self.nodes, place: 0 }
    }

    /// The commas in front of closing brackets.
    pub fn trailing_commas(&self) -> &[Span] {
        &self.trailing_commas
    }
}

impl<'d> JsonValue<'d> {
    fn node(self) -> &'d JsonNode<'d> {
        &self.nodes[self.place]
    }

    /// The place of the value.
    pub fn span(self) -> Span {
        self.node().span
    }

    /// Returns the type of the value, with its content.
    pub fn kind(self) -> &'d ValueKind<'d> {
        &self.node().kind
    }

    /// The integer; none for other types.
    pub fn as_integer(self) -> Option<i64> {
        if let ValueKind::Integer(value) = self.kind() { Some(*value) } else { None }
    }

    /// The string; none for other types.
    pub fn as_bytes(self) -> Option<&'d [u8]> {
        if let ValueKind::String(text) = self.kind() { Some(text) } else { None }
    }

    /// The elements of an array; none for other values.
    pub fn items(self) -> impl Iterator<Item = JsonValue<'d>> {
        self.within().filter(move |_| *self.kind() == ValueKind::Array)
    }

    /// The members of an object in order, repeated ones included; none for other values.
    pub fn members(self) -> impl Iterator<Item = JsonMember<'d>> {
        self.within().filter_map(|value| {
            let (span, text) = value.node().key.as_ref()?;
            Some(JsonMember { key: text, key_span: *span, value })
        })
    }

    /// The values of an array or object, in their order.
    fn within(self) -> impl Iterator<Item = JsonValue<'d>> {
        let at = move |place: usize| (place < self.node().after).then_some(JsonValue { place, ..self });
        std::iter::successors(at(self.place + 1), move |value| at(value.node().after))
    }

    /// The first member of this name, as C compares names.
    pub fn get(self, name: &str) -> Option<JsonMember<'d>> {
        self.members().find(|member| c_str(member.key) == name.as_bytes())
    }

    /// The first member of each of these names, in one pass.
    pub fn pick<const N: usize>(self, names: [&str; N]) -> [Option<JsonMember<'d>>; N] {
        let mut picked = [None; N];
        for member in self.members() {
            let key = c_str(member.key);
            if let Some(place) = names.iter().position(|name| name.as_bytes() == key) {
                picked[place].get_or_insert(member);
            }
        }
        picked
    }
}
