//! The bounds of a plan.

use super::error::PlanError;
use super::model::{Env, Phase, Plan};
use super::network::PlanNetwork;
use super::text;
use candor_sandbox::MAX_HOSTS;

/// The maximum size of the text of a plan, in bytes.
pub const MAX_PLAN_BYTES: usize = 64 * 1024;
/// The maximum size of a title, in bytes.
pub const MAX_TITLE_BYTES: usize = 256;
/// The maximum size of an objective, in bytes.
pub const MAX_OBJECTIVE_BYTES: usize = 8 * 1024;
/// The maximum number of phases of a plan.
pub const MAX_PHASES: usize = 32;
/// The maximum length of the id of a phase, in characters.
pub const MAX_PHASE_ID: usize = 64;
/// The maximum number of globs of a phase.
pub const MAX_GLOBS: usize = 64;
/// The maximum size of a glob or a directory, in bytes.
pub const MAX_GLOB_BYTES: usize = 256;
/// The maximum number of commands of a phase.
pub const MAX_COMMANDS: usize = 16;
/// The maximum number of patterns of commands that a phase grants.
pub const MAX_GRANTED_COMMANDS: usize = 32;
/// The maximum number of arguments of a command.
pub const MAX_ARGS: usize = 64;
/// The maximum size of an argument or a variable, in bytes.
pub const MAX_ARG_BYTES: usize = 4096;
/// The maximum number of writable directories of a phase.
pub const MAX_WRITABLE: usize = 16;
/// The maximum number of variables of the commands of a phase.
pub const MAX_ENV: usize = 32;
/// The maximum number of profiles of a phase.
pub const MAX_PROFILES: usize = 8;
/// The maximum number of exceptions of a phase.
pub const MAX_EXCEPTIONS: usize = 64;
/// The maximum size of the name of a rule or a profile, in bytes.
pub const MAX_RULE_BYTES: usize = 64;
/// The maximum size of the reason of an exception, in bytes.
pub const MAX_REASON_BYTES: usize = 1024;

/// Checks that a plan keeps every bound. Returns the first that it does not keep.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    long(&plan.title, MAX_TITLE_BYTES, || "title".to_owned())?;
    long(&plan.objective, MAX_OBJECTIVE_BYTES, || {
        "objective".to_owned()
    })?;
    many(&plan.phases, MAX_PHASES, || "phase".to_owned())?;
    for (index, phase) in plan.phases.iter().enumerate() {
        check_phase(phase, &format!("phase[{index}]"))?;
    }
    match text::render(plan).len() {
        bytes if bytes > MAX_PLAN_BYTES => Err(PlanError::TooLarge {
            bytes,
            max: MAX_PLAN_BYTES,
        }),
        _ => Ok(()),
    }
}

fn check_phase(phase: &Phase, at: &str) -> Result<(), PlanError> {
    let member = |name: &str| format!("{at}.{name}");
    texts(&phase.allow, MAX_GLOBS, MAX_GLOB_BYTES, &member("allow"))?;
    many(&phase.verify, MAX_COMMANDS, || member("verify"))?;
    for (index, command) in phase.verify.iter().enumerate() {
        let at = member(&format!("verify[{index}]"));
        texts(command, MAX_ARGS, MAX_ARG_BYTES, &at)?;
    }
    many(&phase.commands, MAX_GRANTED_COMMANDS, || member("commands"))?;
    for (index, pattern) in phase.commands.iter().enumerate() {
        let at = member(&format!("commands[{index}]"));
        texts(pattern, MAX_ARGS, MAX_ARG_BYTES, &at)?;
    }
    if let PlanNetwork::Hosts(hosts) = &phase.network {
        texts(hosts, MAX_HOSTS, MAX_GLOB_BYTES, &member("network"))?;
    }
    let writable = member("writable");
    texts(&phase.writable, MAX_WRITABLE, MAX_GLOB_BYTES, &writable)?;
    let length = |env: &Env| env.name().len() + env.value().map_or(0, str::len);
    many(&phase.env, MAX_ENV, || member("env"))?;
    if let Some(index) = phase.env.iter().position(|e| length(e) > MAX_ARG_BYTES) {
        return Err(PlanError::TooLong {
            at: member(&format!("env[{index}]")),
            max: MAX_ARG_BYTES,
        });
    }
    let profiles = member("policy.profiles");
    texts(
        &phase.policy.profiles,
        MAX_PROFILES,
        MAX_RULE_BYTES,
        &profiles,
    )?;
    let exceptions = &phase.policy.exceptions;
    many(exceptions, MAX_EXCEPTIONS, || member("policy.exceptions"))?;
    for (index, exception) in exceptions.iter().enumerate() {
        let at = |name: &str| member(&format!("policy.exceptions[{index}].{name}"));
        long(&exception.rule, MAX_RULE_BYTES, || at("rule"))?;
        long(&exception.path, MAX_GLOB_BYTES, || at("path"))?;
        long(&exception.reason, MAX_REASON_BYTES, || at("reason"))?;
    }
    Ok(())
}

fn texts(all: &[String], count: usize, bytes: usize, at: &str) -> Result<(), PlanError> {
    many(all, count, || at.to_owned())?;
    for (index, text) in all.iter().enumerate() {
        long(text, bytes, || format!("{at}[{index}]"))?;
    }
    Ok(())
}

fn many<T>(all: &[T], max: usize, at: impl FnOnce() -> String) -> Result<(), PlanError> {
    if all.len() > max {
        return Err(PlanError::TooMany { at: at(), max });
    }
    Ok(())
}

fn long(text: &str, max: usize, at: impl FnOnce() -> String) -> Result<(), PlanError> {
    if text.len() > max {
        return Err(PlanError::TooLong { at: at(), max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn error_of(change: impl FnOnce(&mut Value)) -> PlanError {
        let phase = json!({"id": "A", "allow": [], "operations": []});
        let mut plan = json!({"title": "t", "objective": "o", "phase": [phase]});
        change(&mut plan);
        Plan::from_value(&plan).unwrap_err()
    }

    #[test]
    fn each_bound_is_reported_with_its_path() {
        let many = |at: &str, max| PlanError::TooMany {
            at: at.to_owned(),
            max,
        };
        let long = |at: &str, max| PlanError::TooLong {
            at: at.to_owned(),
            max,
        };
        let globs = error_of(|plan| plan["phase"][0]["allow"] = json!(vec!["a"; 65]));
        assert_eq!(globs, many("phase[0].allow", 64));
        let glob = error_of(|plan| plan["phase"][0]["allow"] = json!(["a", "a".repeat(257)]));
        assert_eq!(glob, long("phase[0].allow[1]", 256));
        let arg = error_of(|plan| plan["phase"][0]["verify"] = json!([["a", "a".repeat(4097)]]));
        assert_eq!(arg, long("phase[0].verify[0][1]", 4096));
        let patterns = error_of(|plan| plan["phase"][0]["commands"] = json!(vec![["a"]; 33]));
        assert_eq!(patterns, many("phase[0].commands", 32));
        let hosts = error_of(|plan| plan["phase"][0]["network"] = json!(vec!["a.org"; 33]));
        assert_eq!(hosts, many("phase[0].network", 32));
        let env = error_of(|plan| plan["phase"][0]["env"] = json!(["A", "B=".repeat(3000)]));
        assert_eq!(env, long("phase[0].env[1]", 4096));
        let policy =
            json!({"exceptions": [{"rule": "r", "path": "p", "reason": "x".repeat(1025)}]});
        let reason = error_of(|plan| plan["phase"][0]["policy"] = policy);
        assert_eq!(reason, long("phase[0].policy.exceptions[0].reason", 1024));
        let phases = error_of(|plan| {
            let one = plan["phase"][0].clone();
            plan["phase"] = json!(vec![one; 33]);
        });
        assert_eq!(phases, many("phase", 32));
    }

    #[test]
    fn sum_of_all_parts_is_bounded() {
        let whole = error_of(|plan| {
            plan["phase"][0]["verify"] = json!(vec![vec!["x".repeat(4000); 8]; 8]);
        });
        assert!(matches!(whole, PlanError::TooLarge { max: 65536, .. }));
    }
}
