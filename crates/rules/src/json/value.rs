//! The tree of a JSON text. Nodes lie in one list, so that depth costs nothing.

use crate::span::Span;

/// No node, no text.
pub(super) const NONE: u32 = u32::MAX;

/// A parsed JSON text.
#[derive(Clone, Debug)]
pub struct Document<'s> {
    pub(super) source: &'s [u8],
    pub(super) nodes: Vec<Node>,
    pub(super) keys: Vec<Text>,
    /// The strings that have escapes in them, without escapes.
    pub(super) unescaped: Vec<Box<[u8]>>,
}

/// A value of the tree. Offsets are short: longer texts are refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The next value in the same array or object.
    pub(super) next: u32,
    /// Its name, in an object.
    pub(super) key: u32,
    pub(super) data: Data,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Integer(i64),
    Float,
    /// Place among the strings with escapes, if it is one of them.
    String(u32),
    /// First element and number of elements.
    Array(u32, u32),
    /// First member and number of members.
    Object(u32, u32),
}

/// A string, by its place with the quotes around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) unescaped: u32,
}

/// A value with its document.
#[derive(Clone, Copy, Debug)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    node: &'d Node,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind<'d> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without fraction and exponent that fits 64 bits.
    Integer(i64),
    /// Any other number; see its span for the text.
    Float,
    /// A string without its escapes. It need not be UTF-8.
    String(&'d [u8]),
    /// An array of this many elements.
    Array(usize),
    /// An object of this many members.
    Object(usize),
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

impl<'s> Document<'s> {
    /// The value that the text consists of.
    pub fn root(&self) -> Value<'_> {
        Value { document: self, node: &self.nodes[0] }
    }

    fn text(&self, text: Text) -> &[u8] {
        match text.unescaped {
            NONE => &self.source[text.start as usize + 1..text.end as usize - 1],
            place => &self.unescaped[place as usize],
        }
    }
}

impl<'d> Value<'d> {
    /// The place of the value.
    pub fn span(self) -> Span {
        Span::new(self.node.start as usize, self.node.end as usize)
    }

    /// What it is.
    pub fn kind(self) -> Kind<'d> {
        match self.node.data {
            Data::Null => Kind::Null,
            Data::Bool(value) => Kind::Bool(value),
            Data::Integer(value) => Kind::Integer(value),
            Data::Float => Kind::Float,
            Data::String(unescaped) => {
                let Node { start, end, .. } = *self.node;
                Kind::String(self.document.text(Text { start, end, unescaped }))
            }
            Data::Array(_, count) => Kind::Array(count as usize),
            Data::Object(_, count) => Kind::Object(count as usize),
        }
    }

    /// The integer that it is.
    pub fn as_integer(self) -> Option<i64> {
        match self.kind() {
            Kind::Integer(value) => Some(value),
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
        let first = match self.node.data {
            Data::Array(first, _) => first,
            _ => NONE,
        };
        self.chain(first)
    }

    /// The members of an object in their order, repeated ones included; nothing for other values.
    pub fn members(self) -> impl Iterator<Item = Member<'d>> {
        let first = match self.node.data {
            Data::Object(first, _) => first,
            _ => NONE,
        };
        self.chain(first).map(|value| {
            let key = value.document.keys[value.node.key as usize];
            let key_span = Span::new(key.start as usize, key.end as usize);
            Member { key: value.document.text(key), key_span, value }
        })
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

    fn chain(self, first: u32) -> impl Iterator<Item = Value<'d>> {
        let document = self.document;
        let at = move |place: u32| document.nodes.get(place as usize).map(|node| Value { document, node });
        std::iter::successors(at(first), move |value| at(value.node.next))
    }
}
