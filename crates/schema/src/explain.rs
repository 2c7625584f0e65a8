//! Reports everything that is wrong about a value, in the order of the rules.
//!
//! A wrong type ends the checks of its value, except for `enum`, and for the range of a number that
//! should be an integer. A subschema to which several references lead is tried once on each value.

use crate::depth::MAX_VALUE_DEPTH;
use crate::hint;
use crate::indexed_json::IndexedValidator;
use crate::subschema::{Demand, HintSource, RuleText, Subschema, SubschemaId, SubschemaRule};
use crate::unique_items::first_repeat;
use crate::violation_collector::{ValueLocation, ViolationCollector, cut};
use candor_fault::{MAX_NAME_CHARS, RuleParams, Violations};
use candor_json::{JsonKind, JsonRef};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

/// The most times that subschemas are tried: one that applies itself twice to each member would
/// double the work with every level of the value.
const MAX_VISITS: usize = 4_000_000;

/// The most steps, into the value or to another subschema, from the root.
const MAX_STEPS: usize = 4 * MAX_VALUE_DEPTH;

/// Returns everything that is wrong about `value`; empty if only the library can decide it.
pub(crate) fn explain(
    subschemas: &[Subschema],
    probes: &[Arc<IndexedValidator>],
    value: JsonRef<'_>,
) -> Violations {
    let mut walk = Walk {
        subschemas,
        probes,
        report: ViolationCollector::default(),
        visits_left: MAX_VISITS,
    };
    let root = WalkPosition {
        value,
        location: ValueLocation::Root,
        steps: 0,
    };
    walk.visit(SubschemaId(0), root);
    walk.report.into_violations()
}

/// The position of the walk in the value.
#[derive(Clone, Copy)]
struct WalkPosition<'v, 'p> {
    value: JsonRef<'v>,
    location: ValueLocation<'p>,
    steps: usize,
}

impl<'v> WalkPosition<'v, '_> {
    fn one_step_deeper(self) -> Self {
        WalkPosition {
            steps: self.steps + 1,
            ..self
        }
    }

    fn at<'q>(&self, value: JsonRef<'v>, location: ValueLocation<'q>) -> WalkPosition<'v, 'q> {
        WalkPosition {
            value,
            location,
            steps: self.steps + 1,
        }
    }
}

/// The subschemas that were tried on one value.
struct TriedSubschemas {
    first: SubschemaId,
    then: Vec<SubschemaId>,
}

impl TriedSubschemas {
    /// Adds a subschema. Returns false if it was tried before.
    fn note(&mut self, id: SubschemaId) -> bool {
        let new = self.first != id && !self.then.contains(&id);
        if new {
            self.then.push(id);
        }
        new
    }
}

struct Walk<'s> {
    subschemas: &'s [Subschema],
    probes: &'s [Arc<IndexedValidator>],
    report: ViolationCollector,
    visits_left: usize,
}

impl<'v> Walk<'_> {
    /// Tries a subschema on a value.
    fn visit(&mut self, id: SubschemaId, spot: WalkPosition<'v, '_>) {
        let then = Vec::new();
        self.apply(id, spot, &mut TriedSubschemas { first: id, then });
    }

    fn apply(&mut self, id: SubschemaId, spot: WalkPosition<'v, '_>, tried: &mut TriedSubschemas) {
        if spot.steps > MAX_STEPS || self.visits_left == 0 {
            return;
        }
        self.visits_left -= 1;
        let node = &self.subschemas[id.0];
        let found_before = self.report.total();
        let mut wrong_type = false;
        for rule in &node.rules {
            if wrong_type && !outlives_wrong_type(rule, node, spot.value) {
                continue;
            }
            match rule {
                SubschemaRule::Demand(demand) => {
                    let silent = self.report.total() == found_before;
                    if (silent || !demand.last_resort) && self.breaks(demand, &spot) {
                        wrong_type |= demand.rule_text.keyword == "type";
                    }
                }
                SubschemaRule::Unique(rule_text) => self.unique(rule_text, &spot),
                SubschemaRule::Required(name, rule_text) => {
                    self.required(name, rule_text, node, &spot)
                }
                SubschemaRule::Closed(rule_text) => self.closed(rule_text, node, &spot),
                SubschemaRule::Also(other) => {
                    if tried.note(*other) {
                        self.apply(*other, spot.one_step_deeper(), tried);
                    }
                }
                SubschemaRule::Items(items) => self.items(*items, &spot),
                SubschemaRule::Others(others) => self.others(*others, node, &spot),
                SubschemaRule::Properties => self.properties(node, &spot),
            }
        }
    }

    /// Returns true if a value breaks a demand, and reports it.
    fn breaks(&mut self, demand: &Demand, spot: &WalkPosition<'v, '_>) -> bool {
        let holds = self.probes[demand.probe.0].is_valid(spot.value);
        if !holds {
            self.say(&demand.rule_text, spot, || {
                let hint = match &demand.advice {
                    HintSource::Nothing => None,
                    HintSource::Sentence(sentence) => Some(sentence.clone()),
                    HintSource::Near(words) => hint::near_value(words, spot.value),
                    HintSource::Ending(ending) => hint::with_ending(ending, spot.value),
                };
                (demand.rule_text.clone(), hint)
            });
        }
        !holds
    }

    fn unique(&mut self, rule_text: &RuleText, spot: &WalkPosition<'v, '_>) {
        if let Some((repeat, first)) = first_repeat(spot.value) {
            self.say(rule_text, spot, || {
                let params = json!({"i": repeat, "j": first});
                (with_params(rule_text, params.into()), None)
            });
        }
    }

    fn required(
        &mut self,
        name: &str,
        rule_text: &RuleText,
        node: &Subschema,
        spot: &WalkPosition<'v, '_>,
    ) {
        if spot.value.is_object() && spot.value.get(name).is_none() {
            self.say(rule_text, spot, || {
                (rule_text.clone(), hint::missing(name, node, spot.value))
            });
        }
    }

    fn closed(&mut self, rule_text: &RuleText, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        // Looking them up takes a pass over all members for each, so it is done once.
        let mut absent = None;
        for (name, _) in unknown(spot.value, node) {
            self.say(rule_text, spot, || {
                let params = RuleParams::AdditionalProperty(cut(&name, MAX_NAME_CHARS));
                let absent = absent.get_or_insert_with(|| absent_properties(node, spot.value));
                let hint = hint::unknown(&name, absent);
                (with_params(rule_text, params), hint)
            });
        }
    }

    fn items(&mut self, items: SubschemaId, spot: &WalkPosition<'v, '_>) {
        for (index, item) in spot.value.items().enumerate() {
            self.visit(
                items,
                spot.at(item, ValueLocation::Item(&spot.location, index)),
            );
        }
    }

    fn others(&mut self, others: SubschemaId, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        for (name, member) in unknown(spot.value, node) {
            self.visit(
                others,
                spot.at(member, ValueLocation::Member(&spot.location, &name)),
            );
        }
    }

    fn properties(&mut self, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        for (name, property) in &node.properties {
            if let Some(member) = spot.value.get(name) {
                self.visit(
                    *property,
                    spot.at(member, ValueLocation::Member(&spot.location, name)),
                );
            }
        }
    }

    fn say(
        &mut self,
        rule_text: &RuleText,
        spot: &WalkPosition<'v, '_>,
        say: impl FnOnce() -> (RuleText, Option<String>),
    ) {
        self.report
            .add(rule_text.keyword, &spot.location, spot.value, say);
    }
}

fn outlives_wrong_type(rule: &SubschemaRule, node: &Subschema, value: JsonRef<'_>) -> bool {
    let SubschemaRule::Demand(demand) = rule else {
        return false;
    };
    match demand.rule_text.keyword {
        "enum" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            node.integer && value.kind() == JsonKind::Number
        }
        _ => false,
    }
}

/// Returns the members that `properties` does not list, in the order in which they were given.
fn unknown<'v>(
    value: JsonRef<'v>,
    node: &Subschema,
) -> impl Iterator<Item = (Cow<'v, str>, JsonRef<'v>)> {
    value.members().filter(|(name, _)| !node.has_property(name))
}

/// Returns the names in `properties` that a value does not have.
fn absent_properties<'s>(node: &'s Subschema, value: JsonRef<'_>) -> Vec<&'s str> {
    let names = node.properties.iter().map(|(name, _)| name.as_str());
    names.filter(|name| value.get(name).is_none()).collect()
}

fn with_params(rule_text: &RuleText, params: RuleParams) -> RuleText {
    RuleText {
        params,
        ..rule_text.clone()
    }
}
