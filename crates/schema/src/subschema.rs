//! A schema as its walk needs it: for each subschema its rules, in the order in which they are
//! looked at.

use candor_fault::RuleParams;
use std::collections::HashSet;
use std::sync::Arc;

/// The index of a subschema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubschemaId(pub usize);

/// The index of a part of the schema that is decided separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProbeId(pub usize);

/// One subschema.
#[derive(Debug, Default)]
pub(crate) struct Subschema {
    /// Its rules, in order.
    pub rules: Vec<SubschemaRule>,
    /// Its `properties`, in order.
    pub properties: Vec<(String, SubschemaId)>,
    /// The names of its `properties`.
    pub known: HashSet<String>,
    /// True if its `type` admits integers.
    pub integer: bool,
}

/// Up to this many properties, comparing a name with each is faster than hashing it.
const FEW_PROPERTIES: usize = 8;

impl Subschema {
    /// Returns true if `properties` lists this name.
    pub(crate) fn has_property(&self, name: &str) -> bool {
        match self.properties.len() <= FEW_PROPERTIES {
            true => self.properties.iter().any(|(known, _)| known == name),
            false => self.known.contains(name),
        }
    }
}

/// One rule of a subschema.
#[derive(Debug)]
pub(crate) enum SubschemaRule {
    /// A keyword that is decided alone.
    Demand(Demand),
    /// A member that must be there.
    Required(String, RuleText),
    /// No members beside `properties`.
    Closed(RuleText),
    /// No item twice.
    Unique(RuleText),
    /// The same value must match another subschema too.
    Also(SubschemaId),
    /// Every item must match a subschema.
    Items(SubschemaId),
    /// Every member beside `properties` must match a subschema.
    Others(SubschemaId),
    /// The node's `properties` must match theirs.
    Properties,
}

/// A keyword that is decided alone.
#[derive(Debug)]
pub(crate) struct Demand {
    pub rule_text: RuleText,
    pub probe: ProbeId,
    pub advice: HintSource,
    /// True if it is reported only if its subschema has found nothing else.
    pub last_resort: bool,
}

/// The texts of a violation, as far as they follow from the schema alone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleText {
    pub keyword: &'static str,
    pub message: Arc<str>,
    pub params: RuleParams,
    pub expected: Arc<str>,
}

/// The source of the hint for a broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HintSource {
    /// There is none.
    Nothing,
    /// It is always the same.
    Sentence(String),
    /// The nearest of these words.
    Near(Vec<String>),
    /// The value with this ending.
    Ending(String),
}
