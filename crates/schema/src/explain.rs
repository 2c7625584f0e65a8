//! Says everything that is wrong about a value, in the order of the rules.
//!
//! A wrong type ends the checks of its value, but for `enum`, and for the range of a number that
//! is not the integer it should be. A subschema to which several references lead is tried once on
//! each value.

use crate::depth::VALUE_DEPTH_MAX;
use crate::hint;
use crate::repeats::first_repeat;
use crate::report::{Place, Report, cut};
use crate::rules::{Advice, Demand, Node, NodeId, Rule, Said};
use candor_fault::{NAME_MAX_CHARS, Violations};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// How often a subschema is tried on a value: one that applies itself twice to each member would
/// double the work with every level of the value.
const VISITS_MAX: usize = 4_000_000;

/// How many steps, into the value or to another subschema, lead from the root to the last one.
const STEPS_MAX: usize = 4 * VALUE_DEPTH_MAX;

/// Everything that is wrong about `value`; nothing where only the library could say it.
pub(crate) fn explain(nodes: &[Node], probes: &[Validator], value: &Value) -> Violations {
    let mut walk = Walk {
        nodes,
        probes,
        report: Report::default(),
        visits_left: VISITS_MAX,
    };
    let root = Spot {
        value,
        place: Place::Root,
        steps: 0,
    };
    walk.visit(NodeId(0), root);
    walk.report.into_violations()
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct Spot<'v, 'p> {
    value: &'v Value,
    place: Place<'p>,
    steps: usize,
}

impl<'v> Spot<'v, '_> {
    fn further(self) -> Self {
        Spot {
            steps: self.steps + 1,
            ..self
        }
    }

    fn at<'q>(&self, value: &'v Value, place: Place<'q>) -> Spot<'v, 'q> {
        Spot {
            value,
            place,
            steps: self.steps + 1,
        }
    }
}

/// The subschemas that were tried on one value.
struct Tried {
    first: NodeId,
    then: Vec<NodeId>,
}

impl Tried {
    /// Notes one; false where it is known.
    fn note(&mut self, id: NodeId) -> bool {
        let new = self.first != id && !self.then.contains(&id);
        if new {
            self.then.push(id);
        }
        new
    }
}

struct Walk<'s, 'v> {
    nodes: &'s [Node],
    probes: &'s [Validator],
    report: Report<'v>,
    visits_left: usize,
}

impl<'v> Walk<'_, 'v> {
    /// Tries a subschema on a value.
    fn visit(&mut self, id: NodeId, spot: Spot<'v, '_>) {
        let then = Vec::new();
        self.apply(id, spot, &mut Tried { first: id, then });
    }

    fn apply(&mut self, id: NodeId, spot: Spot<'v, '_>, tried: &mut Tried) {
        if spot.steps > STEPS_MAX || self.visits_left == 0 {
            return;
        }
        self.visits_left -= 1;
        let node = &self.nodes[id.0];
        let found_before = self.report.total();
        let mut wrong_type = false;
        for rule in &node.rules {
            if wrong_type && !outlives_wrong_type(rule, node, spot.value) {
                continue;
            }
            match rule {
                Rule::Demand(demand) => {
                    let silent = self.report.total() == found_before;
                    if (silent || !demand.last_resort) && self.breaks(demand, &spot) {
                        wrong_type |= demand.said.keyword == "type";
                    }
                }
                Rule::Unique(said) => self.unique(said, &spot),
                Rule::Required(name, said) => self.required(name, said, node, &spot),
                Rule::Closed(said) => self.closed(said, node, &spot),
                Rule::Also(other) => {
                    if tried.note(*other) {
                        self.apply(*other, spot.further(), tried);
                    }
                }
                Rule::Items(items) => self.items(*items, &spot),
                Rule::Others(others) => self.others(*others, node, &spot),
                Rule::Properties => self.properties(node, &spot),
            }
        }
    }

    /// Whether a value breaks a demand; if so, it is said.
    fn breaks(&mut self, demand: &Demand, spot: &Spot<'v, '_>) -> bool {
        let holds = self.probes[demand.probe.0].is_valid(spot.value);
        if !holds {
            self.say(&demand.said, spot, || {
                let hint = match &demand.advice {
                    Advice::Nothing => None,
                    Advice::Sentence(sentence) => Some(sentence.clone()),
                    Advice::Near(words) => hint::near_value(words, spot.value),
                };
                (demand.said.clone(), hint)
            });
        }
        !holds
    }

    fn unique(&mut self, said: &Said, spot: &Spot<'v, '_>) {
        let items = spot.value.as_array();
        if let Some((repeat, first)) = items.and_then(|items| first_repeat(items)) {
            self.say(said, spot, || {
                let params = json!({"i": repeat, "j": first});
                (with_params(said, params), None)
            });
        }
    }

    fn required(&mut self, name: &str, said: &Said, node: &Node, spot: &Spot<'v, '_>) {
        let members = spot.value.as_object();
        if let Some(members) = members.filter(|members| !members.contains_key(name)) {
            self.say(said, spot, || {
                (said.clone(), hint::missing(name, node, members))
            });
        }
    }

    fn closed(&mut self, said: &Said, node: &Node, spot: &Spot<'v, '_>) {
        for (members, name, _) in unknown(spot.value, node) {
            self.say(said, spot, || {
                let params = json!({"additionalProperty": cut(name, NAME_MAX_CHARS)});
                let hint = hint::unknown(name, node, members);
                (with_params(said, params), hint)
            });
        }
    }

    fn items(&mut self, items: NodeId, spot: &Spot<'v, '_>) {
        for (index, item) in spot.value.as_array().into_iter().flatten().enumerate() {
            self.visit(items, spot.at(item, Place::Item(&spot.place, index)));
        }
    }

    fn others(&mut self, others: NodeId, node: &Node, spot: &Spot<'v, '_>) {
        for (_, name, member) in unknown(spot.value, node) {
            self.visit(others, spot.at(member, Place::Member(&spot.place, name)));
        }
    }

    fn properties(&mut self, node: &Node, spot: &Spot<'v, '_>) {
        let members = spot.value.as_object();
        for (name, property) in &node.properties {
            if let Some(member) = members.and_then(|members| members.get(name)) {
                self.visit(*property, spot.at(member, Place::Member(&spot.place, name)));
            }
        }
    }

    fn say(
        &mut self,
        said: &Said,
        spot: &Spot<'v, '_>,
        say: impl FnOnce() -> (Said, Option<String>),
    ) {
        self.report.add(said.keyword, &spot.place, spot.value, say);
    }
}

fn outlives_wrong_type(rule: &Rule, node: &Node, value: &Value) -> bool {
    let Rule::Demand(demand) = rule else {
        return false;
    };
    match demand.said.keyword {
        "enum" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            node.integer && value.is_number()
        }
        _ => false,
    }
}

/// The members beside `properties`, in the order in which they were given, each with all members.
fn unknown<'v>(
    value: &'v Value,
    node: &Node,
) -> impl Iterator<Item = (&'v Map<String, Value>, &'v str, &'v Value)> {
    let all = value.as_object().into_iter();
    let each = all.flat_map(|all| all.iter().map(move |(name, one)| (all, name.as_str(), one)));
    each.filter(|(_, name, _)| !node.known.contains(*name))
}

fn with_params(said: &Said, params: Value) -> Said {
    Said {
        params,
        ..said.clone()
    }
}
