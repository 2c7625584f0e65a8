//! Renders a plan for the person who signs it. Agents write plans, so invisible characters are shown as escapes.

use super::matching_files::{MatchingFiles, NamedFiles, find};
use super::opened::{OpenedWorkspace, short};
use crate::cli::shell_words::quote_text;
use candor_workspace::plan::store::StoredPlan;
use candor_workspace::plan::{Lint, Phase, Preflight, Scope, visible};
use candor_workspace::protected::ExecutedFiles;
use std::fmt::Write as _;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// The number of columns beside a name.
const WIDTH: usize = 66;

const WARN: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();

/// Renders everything that a signature would allow.
pub(super) fn render(
    workspace: &OpenedWorkspace,
    stored: &StoredPlan,
    warnings: &[Lint],
) -> String {
    let executed = workspace.executed_files();
    let mut out = format!("{BOLD}plan {}{BOLD:#}\n", short(&stored.hash));
    field(&mut out, "title", &stored.plan.title);
    field(&mut out, "objective", &stored.plan.objective);
    for phase in &stored.plan.phases {
        self::phase(&mut out, workspace, phase, &executed);
    }
    for lint in warnings {
        styled(
            &mut out,
            "warning",
            WARN,
            &format!("{} {}", lint.at, lint.message),
        );
    }
    out
}

fn phase(out: &mut String, workspace: &OpenedWorkspace, phase: &Phase, executed: &ExecutedFiles) {
    field(out, "phase", phase.id.as_str());
    let operations: Vec<_> = phase.operations.iter().map(|one| one.name()).collect();
    field(out, "may", &or_nothing(&operations.join(", ")));
    if let Ok(scope) = Scope::of(phase) {
        let found = find(workspace.root.path(), &scope, executed);
        matches(out, phase, &found, executed);
    }
    let commands = phase.verify.iter().map(|argv| command(argv));
    let commands: Vec<_> = commands.collect();
    if !commands.is_empty() {
        field(out, "runs", &one_per_line(&commands));
        let when = match phase.preflight {
            Preflight::OnRequest => "when the agent asks",
            Preflight::EachWrite => "after each write, which is undone if one fails",
        };
        field(out, "when", when);
    }
    let granted = phase.commands.iter().map(|pattern| command(pattern));
    let granted: Vec<_> = granted.collect();
    if !granted.is_empty() {
        field(out, "commands", &one_per_line(&granted));
        field(out, "", "(patterns of commands that the agent may run)");
    }
    if !phase.writable.is_empty() {
        field(out, "writing", &one_per_line(&phase.writable));
    }
    if phase.network.is_granted() {
        field(out, "network", &phase.network.to_string());
    }
    let env = phase.env.iter().map(|env| String::from(env.clone()));
    let env: Vec<_> = env.collect();
    if !env.is_empty() {
        field(out, "with", &one_per_line(&env));
    }
    if !phase.policy.profiles.is_empty() {
        field(out, "policy", &phase.policy.profiles.join(", "));
    }
    for exception in &phase.policy.exceptions {
        let (rule, path, why) = (&exception.rule, &exception.path, &exception.reason);
        field(out, "except", &format!("{rule} in {path}: {why}"));
    }
}

/// Joins texts of an agent, each on a line of its own: a line feed in one does not add another.
fn one_per_line(items: &[String]) -> String {
    let items: Vec<_> = items.iter().map(|item| visible(item)).collect();
    items.join("\n")
}

fn or_nothing(text: &str) -> String {
    match text {
        "" => String::from("nothing"),
        text => text.to_owned(),
    }
}

/// Quotes a command for a reader. The page escapes what a terminal would interpret.
pub(super) fn command(argv: &[String]) -> String {
    let words: Vec<_> = argv.iter().map(|word| quote_text(word)).collect();
    words.join(" ")
}

/// Shows what a phase allows: first files that other programs run, then descriptions of builds.
fn matches(out: &mut String, phase: &Phase, found: &MatchingFiles, executed: &ExecutedFiles) {
    let names_executed = |glob: &&String| {
        let sample = glob.replace(['*', '?'], "x");
        executed.contains(sample.as_bytes()) && executed.is_covered(sample.as_bytes(), glob)
    };
    let named: Vec<_> = phase.allow.iter().filter(names_executed).collect();
    if !named.is_empty() || found.executed.count > 0 {
        let globs: Vec<_> = named.into_iter().cloned().collect();
        let globs = or_nothing(&one_per_line(&globs));
        styled(out, "executed", WARN, &globs);
        field(out, "", "(files that other programs run or obey)");
        field(out, "", &describe_files(&found.executed, found.cut));
    }
    if found.builds.count > 0 {
        field(out, "builds", &describe_files(&found.builds, found.cut));
    }
    field(out, "in", &or_nothing(&one_per_line(&phase.allow)));
    field(out, "", &describe_files(&found.others, found.cut));
}

fn describe_files(found: &NamedFiles, cut: bool) -> String {
    let least = if cut { "at least " } else { "" };
    let head = match found.count {
        0 if !cut => return String::from("(no file yet)"),
        1 => format!("({least}1 file now)"),
        count => format!("({least}{count} files now)"),
    };
    let mut lines = vec![head];
    let shown = found.named.iter();
    lines.extend(shown.map(|path| format!("  {}", visible(&path.display().to_string()))));
    if found.count > found.named.len() {
        lines.push(format!("  … and {} more", found.count - found.named.len()));
    }
    lines.join("\n")
}

fn field(out: &mut String, name: &str, text: &str) {
    styled(out, name, anstyle::Style::new(), text);
}

/// Appends one member, with its further lines below the first. No line is so long that a terminal would wrap it:
/// the text after the wrap could look like another member.
fn styled(out: &mut String, name: &str, style: anstyle::Style, text: &str) {
    let lines = text.split('\n').flat_map(|line| wrap(&visible(line)));
    for (index, line) in lines.enumerate() {
        let name = if index == 0 { name } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {style}{name:<10}{style:#} {}", line.trim_end());
    }
}

/// Splits a line into pieces that fit beside the names, at a space if one is near.
fn wrap(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for c in line.chars() {
        if width(&piece) + wide(c) > WIDTH {
            let space = piece.rfind(' ').map_or(piece.len(), |space| space + 1);
            let at = if space > WIDTH / 2 {
                space
            } else {
                piece.len()
            };
            let rest = piece.split_off(at);
            pieces.push(std::mem::replace(&mut piece, rest));
        }
        piece.push(c);
    }
    pieces.push(piece);
    pieces
}

/// Returns the columns of a character; one beyond ASCII may need two.
fn wide(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

fn width(text: &str) -> usize {
    text.chars().map(wide).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_with_a_line_feed_stays_on_its_line() {
        let found = NamedFiles {
            named: vec!["x\n  in  everything.rs".into(), "\u{202e}b".into()],
            count: 2,
        };
        assert_eq!(
            describe_files(&found, false),
            "(2 files now)\n  x\\n  in  everything.rs\n  \\u{202e}b"
        );
        let items = [String::from("a\nb"), String::from("c")];
        assert_eq!(one_per_line(&items), "a\\nb\nc");
    }

    #[test]
    fn no_line_is_long_enough_to_look_like_another_member() {
        let mut out = String::new();
        let text = format!("a{}may        nothing\n\u{1b}[2Kb", " ".repeat(WIDTH - 1));
        field(&mut out, "objective", &text);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0], "  objective  a");
        assert_eq!(lines[1], "             may        nothing");
        assert_eq!(lines[2], "             \\x1b[2Kb");
        let words = format!("{} {}", "x".repeat(40), "y".repeat(40));
        assert_eq!(wrap(&words), ["x".repeat(40) + " ", "y".repeat(40)]);
        let long = "ä".repeat(WIDTH);
        assert_eq!(wrap(&long).len(), 2);
        assert_eq!(wrap(&long).concat(), long);
        assert_eq!(wrap(""), [""]);
    }
}
