//! The one text of a plan: TOML, with a fixed order of members and one way of quoting.
//!
//! Members with their default value are left out, lists of two or more have one item on each line,
//! and every character that a reader would not see, or that would reorder the visible text, is
//! written as an escape: the signed text is the text that was read.

use super::bounds::{self, MAX_PLAN_BYTES};
use super::error::PlanError;
use super::hash::unix_lines;
use super::model::{Phase, Plan, Preflight};
use super::network::PlanNetwork;
use std::fmt::Write as _;

/// The maximum number of characters of a parser's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns the canonical text of a plan.
pub fn render(plan: &Plan) -> String {
    let mut out = String::new();
    member(&mut out, "title", &quoted(&plan.title));
    member(&mut out, "objective", &quoted(&plan.objective));
    if plan.phases.is_empty() {
        member(&mut out, "phase", "[]");
    }
    for phase in &plan.phases {
        render_phase(&mut out, phase);
    }
    out
}

fn render_phase(out: &mut String, phase: &Phase) {
    out.push_str("\n[[phase]]\n");
    member(out, "id", &quoted(phase.id.as_str()));
    member(out, "allow", &list(phase.allow.iter().map(|g| quoted(g))));
    let operations = phase.operations.iter().map(|o| quoted(o.name()));
    member(out, "operations", &list(operations));
    if !phase.verify.is_empty() {
        member(out, "verify", &list(phase.verify.iter().map(|c| argv(c))));
    }
    if phase.preflight != Preflight::default() {
        member(out, "preflight", &quoted(phase.preflight.name()));
    }
    if !phase.commands.is_empty() {
        member(
            out,
            "commands",
            &list(phase.commands.iter().map(|c| argv(c))),
        );
    }
    if !phase.writable.is_empty() {
        let writable = phase.writable.iter().map(|dir| quoted(dir));
        member(out, "writable", &list(writable));
    }
    match &phase.network {
        PlanNetwork::Off => {}
        PlanNetwork::Any => member(out, "network", "true"),
        PlanNetwork::Hosts(hosts) => {
            member(out, "network", &list(hosts.iter().map(|host| quoted(host))));
        }
    }
    if !phase.env.is_empty() {
        let env = phase
            .env
            .iter()
            .map(|env| quoted(&String::from(env.clone())));
        member(out, "env", &list(env));
    }
    if !phase.policy.profiles.is_empty() {
        out.push_str("\n[phase.policy]\n");
        let profiles = phase.policy.profiles.iter().map(|name| quoted(name));
        member(out, "profiles", &list(profiles));
    }
    for exception in &phase.policy.exceptions {
        out.push_str("\n[[phase.policy.exceptions]]\n");
        member(out, "rule", &quoted(&exception.rule));
        member(out, "path", &quoted(&exception.path));
        member(out, "reason", &quoted(&exception.reason));
    }
}

fn member(out: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name} = {value}");
}

fn argv(command: &[String]) -> String {
    let args: Vec<_> = command.iter().map(|arg| quoted(arg)).collect();
    format!("[{}]", args.join(", "))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    match items.as_slice() {
        [] => "[]".to_owned(),
        [one] => format!("[{one}]"),
        several => format!("[\n  {},\n]", several.join(",\n  ")),
    }
}

/// Quotes a text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            hidden if is_hidden(hidden) => escape(&mut out, hidden),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a string cannot fail.
    let _ = match code {
        0..=0xffff => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}

/// Returns true if a reader would not see a character, or would see others in another order because of it.
/// The canonical text of a plan escapes exactly these, so the list never changes.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Parses a plan; the text need not be the canonical one.
pub fn parse(text: &str) -> Result<Plan, PlanError> {
    if text.len() > MAX_PLAN_BYTES {
        return Err(PlanError::TooLarge {
            bytes: text.len(),
            max: MAX_PLAN_BYTES,
        });
    }
    let plan: Plan = toml::from_str(text).map_err(|error| PlanError::Text {
        line: error.span().map(|span| line_of(text, span.start)),
        message: short(error.message()),
    })?;
    bounds::check(&plan)?;
    Ok(plan)
}

/// Returns true if a text is the canonical text of its plan, except for CRLF.
pub(super) fn is_canonical(text: &str, plan: &Plan) -> bool {
    render(plan) == unix_lines(text)
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

fn short(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::model::{Env, Operation, PhaseId, PhasePolicy, PolicyException};
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    /// Generates any text within the bounds that is likely to break the quoting.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z/*. ]{0,12}",
            "\\PC{0,6}",
            "[\"'\\\\\\n\\r\\t\\x00-\\x1f\\x7f\u{feff}\u{202e}\u{2028}\u{e0041}#=\\[\\]]{0,6}",
        ]
    }

    fn phase() -> impl Strategy<Value = Phase> {
        let operation = prop::sample::select(&Operation::ALL[..]);
        let exception = (text(), text(), text()).prop_map(|(rule, path, reason)| PolicyException {
            rule,
            path,
            reason,
        });
        let policy =
            (vec(text(), 0..3), vec(exception, 0..3)).prop_map(|(profiles, exceptions)| {
                PhasePolicy {
                    profiles,
                    exceptions,
                }
            });
        let env = ("[A-Z_][A-Z0-9_]{0,5}(=[ -~]{0,5})?", any::<bool>())
            .prop_map(|(text, _)| Env::try_from(text).unwrap());
        let first = (
            "[A-Z][A-Z0-9_]{0,5}",
            vec(text(), 0..4),
            btree_set(operation, 0..4),
        );
        let second = (
            vec(vec(text(), 0..4), 0..3),
            any::<bool>(),
            vec(text(), 0..3),
            vec(vec(text(), 0..4), 0..3),
        );
        let network = prop_oneof![
            Just(PlanNetwork::Off),
            Just(PlanNetwork::Any),
            vec(text(), 0..3).prop_map(PlanNetwork::Hosts),
        ];
        let third = (network, vec(env, 0..3), policy);
        (first, second, third).prop_map(|(first, second, third)| Phase {
            id: PhaseId::try_from(first.0).unwrap(),
            allow: first.1,
            operations: first.2,
            verify: second.0,
            preflight: match second.1 {
                true => Preflight::EachWrite,
                false => Preflight::OnRequest,
            },
            writable: second.2,
            commands: second.3,
            network: third.0,
            env: third.1,
            policy: third.2,
        })
    }

    pub(crate) fn plan() -> impl Strategy<Value = Plan> {
        (text(), text(), vec(phase(), 0..4)).prop_map(|(title, objective, phases)| Plan {
            title,
            objective,
            phases,
        })
    }

    proptest! {
        #[test]
        fn plans_round_trip_through_text(plan in plan()) {
            let text = render(&plan);
            let read = parse(&text).unwrap();
            prop_assert_eq!(&read, &plan);
            prop_assert_eq!(render(&read), &text[..]);
            prop_assert!(is_canonical(&text, &plan));
            prop_assert!(is_canonical(&text.replace('\n', "\r\n"), &plan));
            prop_assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text:?}");
        }

        #[test]
        fn plans_round_trip_through_json(plan in plan()) {
            let value = serde_json::to_value(&plan).unwrap();
            prop_assert_eq!(Plan::from_value(&value).unwrap(), plan);
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "[\\[\\]{}a-c.=\"'\\n# \\\\]{0,64}") {
            let _ = parse(&text);
        }
    }

    const FULL_PLAN: &str = r##"title = "Add a \"retry\" to the client"
objective = "Requests fail on a flaky line.\nTry three times."

[[phase]]
id = "CODE"
allow = [
  "src/**",
  "Cargo.toml",
]
operations = [
  "create",
  "modify",
]
verify = [
  ["cargo", "test", "--", "a b"],
  ["cargo", "clippy"],
]
preflight = "each_write"
commands = [["cargo", "fmt", "**"]]
writable = ["target"]
network = true
env = ["CI=true"]

[phase.policy]
profiles = ["rust-strict"]

[[phase.policy.exceptions]]
rule = "unwrap"
path = "src/gen/**"
reason = "generated\u202E"

[[phase]]
id = "DOCS"
allow = []
operations = []
"##;

    #[test]
    fn canonical_text_is_rendered_unchanged() {
        let plan = parse(FULL_PLAN).unwrap();
        assert_eq!(render(&plan), FULL_PLAN);
        assert_eq!(
            plan.phases[0].policy.exceptions[0].reason,
            "generated\u{202e}"
        );
        assert_eq!(parse(&FULL_PLAN.replace('\n', "\r\n")).unwrap(), plan);
        let other = FULL_PLAN.replace("network = true", "network = true # free");
        assert!(!is_canonical(&other, &parse(&other).unwrap()));
        let twice = FULL_PLAN.replace("  \"create\",\n", "  \"create\",\n  \"create\",\n");
        assert!(!is_canonical(&twice, &parse(&twice).unwrap()));
        let mark = format!("\u{feff}{FULL_PLAN}");
        assert!(parse(&mark).is_err() || !is_canonical(&mark, &plan));
    }

    /// These words reach clients, so a renamed type must not change them.
    #[test]
    fn wrong_types_are_named_as_in_version_one() {
        let reason = |policy: serde_json::Value| {
            let phase = serde_json::json!({"id": "CODE", "allow": ["src/**"], "policy": policy});
            let plan = serde_json::json!({"title": "t", "objective": "o", "phase": [phase]});
            Plan::from_value(&plan).unwrap_err().to_string()
        };
        let policy = reason(serde_json::json!(501));
        assert!(policy.contains("expected struct Policy"), "{policy}");
        let exception = reason(serde_json::json!({"exceptions": [1]}));
        assert!(
            exception.contains("expected struct Exception"),
            "{exception}"
        );
    }

    #[test]
    fn errors_name_their_line() {
        let error_of = |text: &str| match parse(text).unwrap_err() {
            PlanError::Text { line, message } => (line, message),
            other => panic!("{other:?}"),
        };
        let (line, message) = error_of(&FULL_PLAN.replace("network = true", "netwrk = true"));
        assert_eq!(line, Some(21));
        assert!(message.contains("unknown field `netwrk`"), "{message}");
        let (line, message) = error_of(&FULL_PLAN.replace("\"DOCS\"", "\"docs\""));
        assert_eq!(line, Some(33));
        assert!(message.starts_with("a phase id is"), "{message}");
        assert_eq!(error_of("\n\ntitle = \n").0, Some(3));
        assert_eq!(error_of("title = \"a\"\rb").0, Some(1));
        let long = format!("{} = 1", "x".repeat(2000));
        assert!(error_of(&long).1.chars().count() <= MAX_MESSAGE_CHARS + 1);
    }

    #[test]
    fn large_and_deep_texts_are_refused() {
        let large = format!("title = \"{}\"", "x".repeat(1 << 20));
        let refused = parse(&large).unwrap_err();
        assert!(matches!(
            refused,
            PlanError::TooLarge { bytes: 1048586, .. }
        ));
        let deep = [
            format!("title = {}", "[".repeat(60_000)),
            format!("title = {}", "{a=".repeat(20_000)),
            format!("{}title = 1", "a.".repeat(30_000)),
            format!("[{}a]\n", "a.".repeat(30_000)),
            format!("[[{}a]]\n", "a.".repeat(30_000)),
        ];
        for text in deep {
            let refused = parse(&text).unwrap_err();
            assert!(matches!(refused, PlanError::Text { .. }), "{refused:?}");
        }
    }
}
