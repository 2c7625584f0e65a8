//! The script of the faulty adapter: bounded rules in JSON.

use crate::{OrderOperation, RefusalReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;

pub const MAX_SCRIPT: usize = 256 * 1024;

/// The most rules of a script.
pub const MAX_SCRIPT_RULES: usize = 100;

/// The most call numbers of a rule.
pub const MAX_SCRIPT_CALLS: usize = 1_000;

/// The longest time in a script, in milliseconds.
pub const MAX_SCRIPT_WAIT: u64 = 3_600_000;

/// A script of faults: which calls fail, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub(super) seed: u64,
    pub(super) rules: Vec<ScriptRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptRule {
    /// `None` means all operations.
    pub(super) operations: Option<Vec<OrderOperation>>,
    pub(super) when: CallSelector,
    pub(super) fault: InjectedFault,
}

/// The calls of an operation that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallSelector {
    Percent(u64),
    Every(NonZeroU64),
    Calls(BTreeSet<u64>),
}

/// The fault of a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(super) enum InjectedFault {
    Latency {
        ms: u64,
    },
    Unavailable {
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
    // Struct variants, because serde ignores unknown members of unit variants.
    Timeout {},
    Limited {
        retry_after_ms: u64,
    },
    Refused {
        #[serde(deserialize_with = "identifier")]
        original_error: RefusalReason,
        retryable: bool,
    },
    Unsupported {},
    Garbage {},
    Hang {},
    LostAnswer {},
    LostHang {},
}

fn identifier<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RefusalReason, D::Error> {
    let name = String::deserialize(from)?;
    let unread = || serde::de::Error::custom("originalError is capitals, digits and underscores");
    RefusalReason::read(&name).ok_or_else(unread)
}

impl InjectedFault {
    /// Returns the time that the fault names, in milliseconds.
    fn wait(&self) -> u64 {
        match self {
            InjectedFault::Latency { ms } => *ms,
            InjectedFault::Limited { retry_after_ms } => *retry_after_ms,
            InjectedFault::Unavailable { retry_after_ms } => retry_after_ms.unwrap_or_default(),
            _ => 0,
        }
    }
}

/// An error in a script, with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    path: String,
    what: String,
}

impl ScriptError {
    fn new(path: impl Into<String>, what: impl Into<String>) -> ScriptError {
        let (path, what) = (path.into(), what.into());
        ScriptError { path, what }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(out, "the script of faults: {}", self.what),
            path => write!(out, "the script of faults, {path}: {}", self.what),
        }
    }
}

impl std::error::Error for ScriptError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript<'a> {
    #[serde(default)]
    seed: u64,
    #[serde(borrow)]
    rules: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule<'a> {
    operations: Option<Vec<String>>,
    percent: Option<u64>,
    every: Option<u64>,
    calls: Option<Vec<u64>>,
    #[serde(borrow)]
    fault: &'a RawValue,
}

impl Script {
    /// Parses a script.
    pub fn read(text: &str) -> Result<Script, ScriptError> {
        if text.len() > MAX_SCRIPT {
            let what = format!("it is larger than {MAX_SCRIPT} bytes");
            return Err(ScriptError::new("", what));
        }
        let written: RawScript<'_> = read_object("", text)?;
        if written.rules.len() > MAX_SCRIPT_RULES {
            let what = format!("more than {MAX_SCRIPT_RULES} rules");
            return Err(ScriptError::new("rules", what));
        }
        let rules = written.rules.iter().enumerate();
        let rules: Result<_, _> = rules.map(|(path, rule)| read_rule(path, rule)).collect();
        Ok(Script {
            seed: written.seed,
            rules: rules?,
        })
    }
}

/// Parses the object at `path`. The position in serde's message counts from the start of the part,
/// so the path replaces it.
fn read_object<'a, T: Deserialize<'a>>(path: &str, text: &'a str) -> Result<T, ScriptError> {
    // Serde also accepts an array of the members in their order.
    if !text.trim_start().starts_with('{') {
        return Err(ScriptError::new(path, "must be an object"));
    }
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").filter(|_| !path.is_empty());
        let what = end.and_then(|end| message.get(..end)).unwrap_or(&message);
        ScriptError::new(path, what)
    })
}

fn read_rule(number: usize, text: &RawValue) -> Result<ScriptRule, ScriptError> {
    let path = format!("rules.{number}");
    let written: RawRule<'_> = read_object(&path, text.get())?;
    let at = |name: &str| format!("{path}.{name}");
    let fault: InjectedFault = read_object(&at("fault"), written.fault.get())?;
    if fault.wait() > MAX_SCRIPT_WAIT {
        let what = format!("longer than {MAX_SCRIPT_WAIT} ms");
        return Err(ScriptError::new(at("fault"), what));
    }
    let when = match (written.percent, written.every, &written.calls) {
        (Some(percent @ 0..=100), None, None) => CallSelector::Percent(percent),
        (Some(_), None, None) => {
            return Err(ScriptError::new(at("percent"), "must be from 0 to 100"));
        }
        (None, Some(every), None) => {
            let every = NonZeroU64::new(every);
            let zero = || ScriptError::new(at("every"), "must be at least 1");
            CallSelector::Every(every.ok_or_else(zero)?)
        }
        (None, None, Some(calls)) => CallSelector::Calls(numbers(at("calls"), calls)?),
        _ => {
            let what = "needs exactly one of percent, every and calls";
            return Err(ScriptError::new(path, what));
        }
    };
    let named = written.operations;
    let operations = named
        .map(|names| operations(&at("operations"), &names))
        .transpose()?;
    Ok(ScriptRule {
        operations,
        when,
        fault,
    })
}

fn numbers(path: String, calls: &[u64]) -> Result<BTreeSet<u64>, ScriptError> {
    if calls.is_empty() || calls.len() > MAX_SCRIPT_CALLS {
        let what = format!("must name 1 to {MAX_SCRIPT_CALLS} calls");
        return Err(ScriptError::new(path, what));
    }
    if calls.contains(&0) {
        return Err(ScriptError::new(path, "the first call is number 1"));
    }
    Ok(calls.iter().copied().collect())
}

fn operations(path: &str, names: &[String]) -> Result<Vec<OrderOperation>, ScriptError> {
    if names.is_empty() {
        let what = "names no operation; leave it out to mean all";
        return Err(ScriptError::new(path, what));
    }
    let each = names.iter().enumerate().map(|(number, name)| {
        let unknown = || {
            let path = format!("{path}.{number}");
            ScriptError::new(path, "no tool has this name")
        };
        OrderOperation::read(name).ok_or_else(unknown)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fault_parses() {
        let kinds = [
            (
                r#"{"kind":"latency","ms":5}"#,
                InjectedFault::Latency { ms: 5 },
            ),
            (
                r#"{"kind":"unavailable"}"#,
                InjectedFault::Unavailable {
                    retry_after_ms: None,
                },
            ),
            (
                r#"{"kind":"unavailable","retryAfterMs":9}"#,
                InjectedFault::Unavailable {
                    retry_after_ms: Some(9),
                },
            ),
            (r#"{"kind":"timeout"}"#, InjectedFault::Timeout {}),
            (
                r#"{"kind":"limited","retryAfterMs":9}"#,
                InjectedFault::Limited { retry_after_ms: 9 },
            ),
            (
                r#"{"kind":"refused","originalError":"ORDER_NOT_FOUND","retryable":false}"#,
                InjectedFault::Refused {
                    original_error: RefusalReason::OrderNotFound,
                    retryable: false,
                },
            ),
            (r#"{"kind":"unsupported"}"#, InjectedFault::Unsupported {}),
            (r#"{"kind":"garbage"}"#, InjectedFault::Garbage {}),
            (r#"{"kind":"hang"}"#, InjectedFault::Hang {}),
            (r#"{"kind":"lost-answer"}"#, InjectedFault::LostAnswer {}),
            (r#"{"kind":"lost-hang"}"#, InjectedFault::LostHang {}),
        ];
        for (text, fault) in kinds {
            let script = format!(r#"{{"rules":[{{"every":1,"fault":{text}}}]}}"#);
            assert_eq!(Script::read(&script).unwrap().rules[0].fault, fault);
        }
    }

    #[test]
    fn script_error_names_its_path() {
        let rule =
            |rule: &str| format!(r#"{{"rules":[{{"every":1,"fault":{{"kind":"hang"}}}},{rule}]}}"#);
        let fault = |fault: &str| rule(&format!(r#"{{"every":1,"fault":{fault}}}"#));
        let hang = r#""fault":{"kind":"hang"}"#;
        let calls = vec!["1"; MAX_SCRIPT_CALLS + 1].join(",");
        let rules = vec!["0"; MAX_SCRIPT_RULES + 1].join(",");
        let texts = [
            String::from("{"),
            String::from("[]"),
            String::from("{}"),
            String::from(r#"{"rules":[],"sed":1}"#),
            String::from(r#"{"seed":-1,"rules":[]}"#),
            String::from(r#"{"rules":[],"rules":[]}"#),
            format!(r#"{{"rules":[{rules}]}}"#),
            " ".repeat(MAX_SCRIPT + 1),
            rule("1"),
            rule("{}"),
            rule(&format!("{{{hang}}}")),
            rule(&format!(r#"{{"every":1,"percent":1,{hang}}}"#)),
            rule(&format!(r#"{{"percent":101,{hang}}}"#)),
            rule(&format!(r#"{{"every":0,{hang}}}"#)),
            rule(&format!(r#"{{"calls":[],{hang}}}"#)),
            rule(&format!(r#"{{"calls":[0],{hang}}}"#)),
            rule(&format!(r#"{{"calls":[{calls}],{hang}}}"#)),
            rule(&format!(r#"{{"every":1,"operations":[],{hang}}}"#)),
            rule(&format!(
                r#"{{"every":1,"operations":["get-orders","get_orders"],{hang}}}"#
            )),
            rule(&format!(r#"{{"every":1,"evry":1,{hang}}}"#)),
            rule(&format!(r#"{{"every":1,"every":2,{hang}}}"#)),
            fault("{}"),
            fault(r#"{"kind":"explode"}"#),
            fault(r#"{"kind":"hang","ms":1}"#),
            fault(r#"{"kind":"latency"}"#),
            fault(r#"{"kind":"latency","ms":1.5}"#),
            fault(r#"{"kind":"latency","ms":3600001}"#),
            fault(r#"{"kind":"limited","retryAfterMs":3600001}"#),
            fault(r#"{"kind":"refused","originalError":"no such order","retryable":true}"#),
        ];
        let messages: Vec<_> = texts
            .iter()
            .map(|text| Script::read(text).unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        the script of faults: EOF while parsing an object at line 1 column 1
        the script of faults: must be an object
        the script of faults: missing field `rules` at line 1 column 2
        the script of faults: unknown field `sed`, expected `seed` or `rules` at line 1 column 17
        the script of faults: invalid value: integer `-1`, expected u64 at line 1 column 10
        the script of faults: duplicate field `rules` at line 1 column 19
        the script of faults, rules: more than 100 rules
        the script of faults: it is larger than 262144 bytes
        the script of faults, rules.1: must be an object
        the script of faults, rules.1: missing field `fault`
        the script of faults, rules.1: needs exactly one of percent, every and calls
        the script of faults, rules.1: needs exactly one of percent, every and calls
        the script of faults, rules.1.percent: must be from 0 to 100
        the script of faults, rules.1.every: must be at least 1
        the script of faults, rules.1.calls: must name 1 to 1000 calls
        the script of faults, rules.1.calls: the first call is number 1
        the script of faults, rules.1.calls: must name 1 to 1000 calls
        the script of faults, rules.1.operations: names no operation; leave it out to mean all
        the script of faults, rules.1.operations.1: no tool has this name
        the script of faults, rules.1: unknown field `evry`, expected one of `operations`, `percent`, `every`, `calls`, `fault`
        the script of faults, rules.1: duplicate field `every`
        the script of faults, rules.1.fault: missing field `kind`
        the script of faults, rules.1.fault: unknown variant `explode`, expected one of `latency`, `unavailable`, `timeout`, `limited`, `refused`, `unsupported`, `garbage`, `hang`, `lost-answer`, `lost-hang`
        the script of faults, rules.1.fault: unknown field `ms`, there are no fields
        the script of faults, rules.1.fault: missing field `ms`
        the script of faults, rules.1.fault: invalid type: floating point `1.5`, expected u64
        the script of faults, rules.1.fault: longer than 3600000 ms
        the script of faults, rules.1.fault: longer than 3600000 ms
        the script of faults, rules.1.fault: originalError is capitals, digits and underscores
        "#);
    }
}
