//! Reports everything that is wrong about a value, in the order of the rules.
//!
//! A wrong type ends the checks of its value, except for `enum`, and for the range of a number that
//! should be an integer. A subschema to which several references lead is tried once on each value.

use crate::depth::MAX_VALUE_DEPTH;
use crate::hint;
use crate::subschema::{Demand, HintSource, RuleText, Subschema, SubschemaId, SubschemaRule};
use crate::unique_items::first_repeat;
use crate::violation_collector::{ValueLocation, ViolationCollector, cut};
use candor_fault::{MAX_NAME_CHARS, Violations};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// The most times that subschemas are tried: one that applies itself twice to each member would
/// double the work with every level of the value.
const MAX_VISITS: usize = 4_000_000;

/// The most steps, into the value or to another subschema, from the root.
const MAX_STEPS: usize = 4 * MAX_VALUE_DEPTH;

/// Returns everything that is wrong about `value`; empty if only the library can decide it.
pub(crate) fn explain(subschemas: &[Subschema], probes: &[Validator], value: &Value) -> Violations {
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
    value: &'v Value,
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

    fn at<'q>(&self, value: &'v Value, location: ValueLocation<'q>) -> WalkPosition<'v, 'q> {
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

struct Walk<'s, 'v> {
    subschemas: &'s [Subschema],
    probes: &'s [Validator],
    report: ViolationCollector<'v>,
    visits_left: usize,
}

impl<'v> Walk<'_, 'v> {
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
                };
                (demand.rule_text.clone(), hint)
            });
        }
        !holds
    }

    fn unique(&mut self, rule_text: &RuleText, spot: &WalkPosition<'v, '_>) {
        let items = spot.value.as_array();
        if let Some((repeat, first)) = items.and_then(|items| first_repeat(items)) {
            self.say(rule_text, spot, || {
                let params = json!({"i": repeat, "j": first});
                (with_params(rule_text, params), None)
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
        let members = spot.value.as_object();
        if let Some(members) = members.filter(|members| !members.contains_key(name)) {
            self.say(rule_text, spot, || {
                (rule_text.clone(), hint::missing(name, node, members))
            });
        }
    }

    fn closed(&mut self, rule_text: &RuleText, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        for (members, name, _) in unknown(spot.value, node) {
            self.say(rule_text, spot, || {
                let params = json!({"additionalProperty": cut(name, MAX_NAME_CHARS)});
                let hint = hint::unknown(name, node, members);
                (with_params(rule_text, params), hint)
            });
        }
    }

    fn items(&mut self, items: SubschemaId, spot: &WalkPosition<'v, '_>) {
        for (index, item) in spot.value.as_array().into_iter().flatten().enumerate() {
            self.visit(
                items,
                spot.at(item, ValueLocation::Item(&spot.location, index)),
            );
        }
    }

    fn others(&mut self, others: SubschemaId, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        for (_, name, member) in unknown(spot.value, node) {
            self.visit(
                others,
                spot.at(member, ValueLocation::Member(&spot.location, name)),
            );
        }
    }

    fn properties(&mut self, node: &Subschema, spot: &WalkPosition<'v, '_>) {
        let members = spot.value.as_object();
        for (name, property) in &node.properties {
            if let Some(member) = members.and_then(|members| members.get(name)) {
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

fn outlives_wrong_type(rule: &SubschemaRule, node: &Subschema, value: &Value) -> bool {
    let SubschemaRule::Demand(demand) = rule else {
        return false;
    };
    match demand.rule_text.keyword {
        "enum" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            node.integer && value.is_number()
        }
        _ => false,
    }
}

/// Returns the members that `properties` does not list, in the order in which they were given, each
/// with all members.
fn unknown<'v>(
    value: &'v Value,
    node: &Subschema,
) -> impl Iterator<Item = (&'v Map<String, Value>, &'v str, &'v Value)> {
    let all = value.as_object().into_iter();
    let each = all.flat_map(|all| all.iter().map(move |(name, one)| (all, name.as_str(), one)));
    each.filter(|(_, name, _)| !node.known.contains(*name))
}

fn with_params(rule_text: &RuleText, params: Value) -> RuleText {
    RuleText {
        params,
        ..rule_text.clone()
    }
}
