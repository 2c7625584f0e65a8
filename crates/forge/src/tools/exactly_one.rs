//! The rule that exactly one of several arguments is given. No schema states it, because clients handle
//! `oneOf` badly; the descriptions of the tools do.

use candor_fault::{ArgumentPath, Violation, Violations, excerpt};
use candor_street::{JsonKind, JsonRef};
use serde_json::json;

/// Returns the violation of the rule, if the arguments are an object.
pub(super) fn check_exactly_one(
    arguments: JsonRef<'_>,
    names: &[&'static str],
) -> Result<(), Violations> {
    let given = names.iter().filter(|name| arguments.get(name).is_some());
    if arguments.kind() != JsonKind::Object || given.count() == 1 {
        return Ok(());
    }
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let all = quoted.join(", ");
    let mut violations = Violations::default();
    violations.push(Violation {
        path: ArgumentPath(Vec::new()),
        keyword: "oneOf",
        message: "must match exactly one schema in oneOf".into(),
        params: json!({}).into(),
        value: excerpt(&arguments.to_value()),
        expected: format!("exactly one of {all}").into(),
        hint: Some(format!("give exactly one of {all}")),
    });
    Err(violations)
}
