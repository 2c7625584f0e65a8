//! The lints of a plan, rule by rule.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn protected(path: &[u8]) -> bool {
    let path = path.to_ascii_lowercase();
    let within = |dir: &str| {
        let rest = path.strip_prefix(dir.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    path.starts_with(b"audit-log.jsonl")
        || [".git", ".candor", "docs/plans"].into_iter().any(within)
}

/// Returns the lints of a plan with one phase, after these changes of its members.
fn lints_of_phase(change: Value) -> Vec<String> {
    let mut phase = json!({"id": "A", "allow": ["src/**"], "operations": ["create"]});
    for (name, value) in change.as_object().unwrap() {
        phase[name] = value.clone();
    }
    let plan = json!({"title": "t", "objective": "o", "phase": [phase]});
    lints_of(&Plan::from_value(&plan).unwrap())
}

fn lints_of(plan: &Plan) -> Vec<String> {
    let lints = lint(plan, &protected);
    let one = |lint: Lint| {
        let rule = serde_json::to_value(lint.rule).unwrap();
        format!(
            "{} {}",
            rule.as_str().unwrap(),
            lint.at.replace("phase[0].", "")
        )
    };
    lints.into_iter().map(one).collect()
}

#[test]
fn valid_plan_has_no_lints() {
    let good = json!({
        "allow": ["src/**", "Cargo.toml", "docs/*.md", ".gitignore"],
        "verify": [["cargo", "test"]],
        "env": ["CI=1", "CARGO_HOME"],
        "policy": {"profiles": ["rust-strict"],
                   "exceptions": [{"rule": "unwrap", "path": "src/x.rs", "reason": "old"}]},
    });
    assert_eq!(lints_of_phase(good), Vec::<String>::new());
}

#[test]
fn writable_directories_are_shown_to_the_approver() {
    let writable = json!({ "verify": [["true"]], "writable": ["target", "docs/site"] });
    assert_eq!(
        lints_of_phase(writable),
        [
            "writable_in_tree writable[0]",
            "writable_in_tree writable[1]"
        ]
    );
}

#[test]
fn executed_files_and_homoglyphs_are_linted() {
    let globs = json!({"allow": [
        "**/build.rs", ".github/workflows/*", ".github/**", ".claude/settings.json",
        "*/.claude/settings.json", "src/*.rs", "Makefile",
        "\u{455}rc/**", "\u{43f}\u{443}\u{442}\u{44c}/**", "caf\u{e9}/**", "a/s\u{440}ec.rs",
    ]});
    assert_eq!(
        lints_of_phase(globs),
        [
            "executed_file allow[0]",
            "executed_file allow[1]",
            "executed_file allow[3]",
            "executed_file allow[4]",
            "executed_file allow[6]",
            "homoglyph allow[7]",
            "homoglyph allow[10]",
        ]
    );
}

#[test]
fn dubious_variables_and_exceptions_are_linted() {
    let exception = |rule: &str, path: &str| json!({ "rule": rule, "path": path, "reason": "r" });
    let phase = json!({
        "verify": [["true"]],
        "env": ["LD_PRELOAD=./x", "GIT_SSH", "PYTHONPATH", "PATH=./evil", "HOME", "LDX", "CI"],
        "policy": { "exceptions": [
            exception("secret-token", "**"),
            exception("private-key", "*/*.pem"),
            exception("secret-token", "tests/**"),
            exception("secret-token", "**/fixture.json"),
            exception("unwrap", "**"),
        ] },
    });
    assert_eq!(
        lints_of_phase(phase),
        [
            "env_loader env[0]",
            "env_loader env[1]",
            "env_loader env[2]",
            "env_ignored env[3]",
            "env_ignored env[4]",
            "broad_exception policy.exceptions[0].path",
            "broad_exception policy.exceptions[1].path",
        ]
    );
}

#[test]
fn globs_are_linted() {
    let globs = json!({"allow": [
        "/etc/*", "../x", "[!a]", ".git/hooks/*", "docs/plans/x.toml", "audit-log.jsonl",
        "**", "**/*", "*/*", ".*/**", "docs/**", "e\u{301}", "a\u{200b}b",
    ]});
    assert_eq!(
        lints_of_phase(globs),
        [
            "bad_glob allow[0]",
            "bad_glob allow[1]",
            "bad_glob allow[2]",
            "protected_glob allow[3]",
            "protected_glob allow[4]",
            "protected_glob allow[5]",
            "wide_glob allow[6]",
            "wide_glob allow[7]",
            "reaches_protected allow[8]",
            "reaches_protected allow[9]",
            "reaches_protected allow[10]",
            "decomposed allow[11]",
            "hidden allow[12]",
        ]
    );
    let nothing = lints_of_phase(json!({"allow": [], "operations": []}));
    assert_eq!(
        nothing,
        ["allows_nothing allow", "allows_nothing operations"]
    );
}

#[test]
fn commands_and_directories_are_linted() {
    let commands = json!({
        "verify": [[], [""], ["a\0"], ["a", "\0"], ["sh", "-c", "x"], ["/bin/bash", "x"], ["shx"]],
        "writable": [".", "", "/tmp", "a/../b", "docs", "docs/plans", ".git/x", "docsx", "a//b", "DOCS"],
        "network": true,
        "env": ["A=1", "B", "A"],
    });
    assert_eq!(
        lints_of_phase(commands),
        [
            "bad_command verify[0]",
            "bad_command verify[1]",
            "bad_command verify[2]",
            "hidden verify[2]",
            "bad_command verify[3]",
            "hidden verify[3]",
            "shell verify[4]",
            "shell verify[5]",
            "protected_directory writable[0]",
            "bad_directory writable[1]",
            "bad_directory writable[2]",
            "bad_directory writable[3]",
            "protected_directory writable[4]",
            "protected_directory writable[5]",
            "protected_directory writable[6]",
            "writable_in_tree writable[7]",
            "bad_directory writable[8]",
            "protected_directory writable[9]",
            "network network",
            "duplicate_env env[2]",
        ]
    );
    let idle = lints_of_phase(json!({"writable": ["target"], "preflight": "each_write"}));
    assert_eq!(
        idle,
        [
            "no_commands preflight",
            "writable_in_tree writable[0]",
            "no_commands writable",
        ]
    );
}

#[test]
fn policy_texts_and_ids_are_linted() {
    let policy = json!({"policy": {"profiles": ["secrets", "strict"], "exceptions": [
        {"rule": " ", "path": "..", "reason": "\u{200b}"}]}});
    assert_eq!(
        lints_of_phase(policy),
        [
            "unknown_profile policy.profiles[1]",
            "blank policy.exceptions[0].rule",
            "unknown_rule policy.exceptions[0].rule",
            "bad_glob policy.exceptions[0].path",
            "blank policy.exceptions[0].reason",
            "hidden policy.exceptions[0].reason",
        ]
    );
    let phase = json!({"id": "A", "allow": ["a"], "operations": ["create"]});
    let twice = json!({"title": " ", "objective": "a\u{202e}\nb", "phase": [phase, phase]});
    let twice = Plan::from_value(&twice).unwrap();
    assert_eq!(
        lints_of(&twice),
        [
            "blank title",
            "hidden objective",
            "duplicate_phase phase[1].id"
        ]
    );
    let none = Plan::from_value(json!({"title": "a", "objective": "b", "phase": []})).unwrap();
    assert_eq!(lints_of(&none), ["no_phase phase"]);
    let lints_json = serde_json::to_string(&lint(&none, &protected)).unwrap();
    let expected = r#"[{"severity":"error","rule":"no_phase","at":"phase","message":"the plan has no phase"}]"#;
    assert_eq!(lints_json, expected);
}

proptest! {
    #[test]
    fn plan_without_errors_can_be_enforced(plan in crate::plan::text::tests::plan()) {
        let errors = lint(&plan, &protected);
        if !errors.iter().any(|lint| lint.severity == Severity::Error) {
            for phase in &plan.phases {
                prop_assert!(crate::plan::Scope::of(phase).is_ok());
            }
        }
    }
}
