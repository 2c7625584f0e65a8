//! A plan as a person reads it before signing. Agents write plans: whatever a reader would not see is
//! shown as an escape.

use super::ground::{Ground, short};
use super::matching::{Matching, look};
use super::words::quote;
use candor_workspace::plan::store::Stored;
use candor_workspace::plan::{Globs, Lint, Phase, Preflight, visible};
use std::fmt::Write as _;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const WARN: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();

/// Everything that a signature would allow.
pub(super) fn plan(ground: &Ground, stored: &Stored, warnings: &[Lint]) -> String {
    let mut out = format!("{BOLD}plan {}{BOLD:#}\n", short(&stored.hash));
    field(&mut out, "title", &stored.plan.title);
    field(&mut out, "objective", &stored.plan.objective);
    for phase in &stored.plan.phases {
        self::phase(&mut out, ground, phase);
    }
    for lint in warnings {
        let said = visible(&format!("{} {}", lint.at, lint.message));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {WARN}warning{WARN:#}    {said}");
    }
    out
}

fn phase(out: &mut String, ground: &Ground, phase: &Phase) {
    field(out, "phase", phase.id.as_str());
    let operations: Vec<_> = phase.operations.iter().map(|one| one.name()).collect();
    field(out, "may", &or_nothing(&operations.join(", ")));
    field(out, "in", &or_nothing(&phase.allow.join("\n")));
    if let Ok(globs) = Globs::new(&phase.allow) {
        let found = look(ground.root.path(), &globs);
        field(out, "", &matching(&found));
    }
    let commands = phase.verify.iter().map(|argv| command(argv));
    let commands: Vec<_> = commands.collect();
    if !commands.is_empty() {
        field(out, "runs", &commands.join("\n"));
        let when = match phase.preflight {
            Preflight::OnRequest => "when the agent asks",
            Preflight::EachWrite => "after each write, which is undone where one fails",
        };
        field(out, "when", when);
    }
    if !phase.writable.is_empty() {
        field(out, "writing", &phase.writable.join("\n"));
    }
    if phase.network {
        field(out, "network", "yes");
    }
    let env = phase.env.iter().map(|env| String::from(env.clone()));
    let env: Vec<_> = env.collect();
    if !env.is_empty() {
        field(out, "with", &env.join("\n"));
    }
    if !phase.policy.profiles.is_empty() {
        field(out, "policy", &phase.policy.profiles.join(", "));
    }
    for exception in &phase.policy.exceptions {
        let (rule, path, why) = (&exception.rule, &exception.path, &exception.reason);
        field(out, "except", &format!("{rule} in {path}: {why}"));
    }
}

fn or_nothing(text: &str) -> String {
    match text {
        "" => String::from("nothing"),
        text => text.to_owned(),
    }
}

/// A command as it could be typed.
pub(super) fn command(argv: &[String]) -> String {
    let words: Vec<_> = argv.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

fn matching(found: &Matching) -> String {
    let least = if found.cut { "at least " } else { "" };
    let head = match found.count {
        0 if !found.cut => return String::from("(no file yet)"),
        1 => format!("({least}1 file now)"),
        count => format!("({least}{count} files now)"),
    };
    let mut lines = vec![head];
    let shown = found.named.iter();
    lines.extend(shown.map(|path| format!("  {}", path.display())));
    if found.count > found.named.len() {
        lines.push(format!("  … and {} more", found.count - found.named.len()));
    }
    lines.join("\n")
}

/// One member, its further lines below the first.
fn field(out: &mut String, name: &str, text: &str) {
    for (place, line) in text.split('\n').enumerate() {
        let name = if place == 0 { name } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<10} {}", visible(line));
    }
}
