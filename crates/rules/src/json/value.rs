//! The tree of a JSON text. Its values lie in one list in their order, each with the place behind it, so that depth costs
//! nothing.

use std::borrow::Cow;

use crate::span::Span;

/// A parsed JSON text.
#[derive(Clone, Debug)]
pub struct Document<'s> {
    pub(super) nodes: Vec<Node<'s>>,
}

/// A value of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node<'s> {
    pub(super) span: Span,
    /// Its name, in an object.
    pub(super) key: Option<Text<'s>>,
    pub(super) kind: Kind<'s>,
    /// The first node that is not within it.
    pub(super) after: usize,
}

/// A string without its escapes, and its place with the quotes around it.
#[derive(Clone, Debug)]
pub(super) struct Text<'s> {
    pub(super) span: Span,
    pub(super) text: Cow<'s, [u8]>,
}

/// A value with its document.
#[derive(Clone, Copy, Debug)]
pub struct Value<'d> {
    nodes: &'d [Node<'d>],
    place: usize,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'s> {
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
pub struct Member<'d> {
    /// The name, without escapes.
    pub key: &'d [u8],
    /// The place of the name, quotes included.
    pub key_span: Span,
    /// The value.
    pub value: Value<'d>,
}

/// What C sees of a string: all before the first zero byte.
pub fn c_str(text: &[u8]) -> &[u8] {
    text.iter().position(|byte| *byte == 0).map_or(text, |end| &text[..end])
}

impl Document<'_> {
    /// The value that the text consists of.
    pub fn root(&self) -> Value<'_> {
        Value { nodes: &self.nodes, place: 0 }
    }
}

impl<'d> Value<'d> {
    fn node(self) -> &'d Node<'d> {
        &self.nodes[self.place]
    }

    /// The place of the value.
    pub fn span(self) -> Span {
        self.node().span
    }

    /// What it is.
    pub fn kind(self) -> &'d Kind<'d> {
        &self.node().kind
    }

    /// The integer that it is.
    pub fn as_integer(self) -> Option<i64> {
        match self.kind() {
            Kind::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The string that it is.
    pub fn as_bytes(self) -> Option<&'d [u8]> {
        match self.kind() {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of an array; nothing for other values.
    pub fn items(self) -> impl Iterator<Item = Value<'d>> {
        self.within().filter(move |_| *self.kind() == Kind::Array)
    }

    /// The members of an object in their order, repeated ones included; nothing for other values.
    pub fn members(self) -> impl Iterator<Item = Member<'d>> {
        self.within().filter_map(|value| {
            let Text { span, text } = value.node().key.as_ref()?;
            Some(Member { key: text, key_span: *span, value })
        })
    }

    /// The values of an array or object, in their order.
    fn within(self) -> impl Iterator<Item = Value<'d>> {
        let at = move |place: usize| (place < self.node().after).then_some(Value { place, ..self });
        std::iter::successors(at(self.place + 1), move |value| at(value.node().after))
    }

    /// The first member of this name, as C compares names.
    pub fn get(self, name: &str) -> Option<Member<'d>> {
        self.members().find(|member| c_str(member.key) == name.as_bytes())
    }

    /// The first member of each of these names, in one pass.
    pub fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Member<'d>>; N] {
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
