//! A schema as its walk needs it: for each subschema its rules, in the order in which they are
//! looked at.

use serde_json::Value;
use std::collections::HashSet;

/// Which subschema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(pub usize);

/// Which part of the schema that is decided alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProbeId(pub usize);

/// One subschema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Everything it demands, in order.
    pub rules: Vec<Rule>,
    /// Its `properties`, in order.
    pub properties: Vec<(String, NodeId)>,
    /// The names of its `properties`.
    pub known: HashSet<String>,
    /// Whether its `type` admits integers.
    pub integer: bool,
}

/// One thing that a subschema demands.
#[derive(Debug)]
pub(crate) enum Rule {
    /// A keyword that is decided alone.
    Demand(Demand),
    /// A member that must be there.
    Required(String, Said),
    /// No members beside `properties`.
    Closed(Said),
    /// No item twice.
    Unique(Said),
    /// The same value must match another subschema too.
    Also(NodeId),
    /// Every item must match a subschema.
    Items(NodeId),
    /// Every member beside `properties` must match a subschema.
    Others(NodeId),
    /// The node's `properties` must match theirs.
    Properties,
}

/// A keyword that is decided alone.
#[derive(Debug)]
pub(crate) struct Demand {
    pub said: Said,
    pub probe: ProbeId,
    pub advice: Advice,
    /// Whether it is said only where its subschema has found nothing else.
    pub last_resort: bool,
}

/// What is said when a rule is broken, as far as the schema alone knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub keyword: &'static str,
    pub message: String,
    pub params: Value,
    pub expected: String,
}

/// Where the hint of a broken rule comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    /// There is none.
    Nothing,
    /// It is always the same.
    Sentence(String),
    /// The nearest of these words.
    Near(Vec<String>),
}
