//! Renders a plan for the person who signs it. Agents write plans, so invisible characters are shown as escapes.

use super::local_time;
use super::matching_files::{MatchingFiles, NamedFiles, find};
use super::opened::{OpenedWorkspace, lint_plan, short};
use super::terms::ApprovalTerms;
use crate::cli::CommandError;
use crate::cli::shell_words::{quote_pattern, quote_text};
use candor_fault::Timestamp;
use candor_sandbox::{Level, Offer};
use candor_workspace::approval::ApprovalBinding;
use candor_workspace::plan::store::StoredPlan;
use candor_workspace::plan::{Lint, Phase, Plan, Preflight, Scope, visible};
use candor_workspace::protected::ExecutedFiles;
use candor_workspace::repository::{RepositoryError, TrackedFiles};
use std::fmt::Write as _;
use std::path::Path;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// The number of columns beside a name.
const WIDTH: usize = 66;

const WARN: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();

/// Everything that a person sees before the question, and signs.
pub(super) struct PlanPage<'a> {
    pub(super) workspace: &'a OpenedWorkspace,
    pub(super) stored: &'a StoredPlan,
    lints: Vec<Lint>,
    pub(super) terms: &'a ApprovalTerms,
    /// The end of the approval.
    pub(super) until: Timestamp,
}

impl<'a> PlanPage<'a> {
    /// Decides until when an approval that begins now holds. A plan that cannot be enforced is an error.
    pub(super) fn new(
        workspace: &'a OpenedWorkspace,
        stored: &'a StoredPlan,
        terms: &'a ApprovalTerms,
    ) -> Result<PlanPage<'a>, CommandError> {
        Ok(PlanPage {
            workspace,
            stored,
            lints: lint_plan(&stored.plan)?,
            terms,
            until: terms.until(workspace)?,
        })
    }

    /// Renders everything that a signature would allow, and its terms.
    pub(super) fn render(&self) -> String {
        let executed = self.workspace.executed_files();
        let plan = &self.stored.plan;
        let mut out = format!("{BOLD}plan {}{BOLD:#}\n", short(&self.stored.hash));
        field(&mut out, "title", &plan.title);
        field(&mut out, "objective", &plan.objective);
        for phase in &plan.phases {
            self.phase(&mut out, phase, &executed);
        }
        for lint in &self.lints {
            let text = format!("{} {}", lint.at, lint.message);
            styled(&mut out, "warning", WARN, &text);
        }
        sandbox(&mut out, &self.terms.offer, plan);
        binding(&mut out, self.terms);
        let until = local_time::format(self.until);
        let span = local_time::format_duration(self.terms.duration);
        field(&mut out, "until", &format!("{until}\n{span} from now"));
        out
    }

    fn phase(&self, out: &mut String, phase: &Phase, executed: &ExecutedFiles) {
        field(out, "phase", phase.id.as_str());
        let operations: Vec<_> = phase.operations.iter().map(|one| one.name()).collect();
        field(out, "may", &or_nothing(&operations.join(", ")));
        if let Ok(scope) = Scope::of(phase) {
            let found = find(self.workspace.root.path(), &scope, executed);
            matches(out, phase, &found, executed);
        }
        verify_commands(out, phase);
        granted_commands(out, phase);
        self.writable(out, phase);
        if !phase.verify.is_empty() || !phase.commands.is_empty() {
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

    /// Shows what the commands may change in the tree.
    fn writable(&self, out: &mut String, phase: &Phase) {
        if phase.writable.is_empty() {
            return;
        }
        let paths: Vec<_> = phase.writable.iter().map(Path::new).collect();
        let counted = self.workspace.repository.tracked_files(&paths);
        let lines: Vec<_> = match counted {
            Ok(counted) => {
                let all = phase.writable.iter().zip(counted);
                all.map(|(path, files)| tracked(path, files)).collect()
            }
            Err(RepositoryError::NoRepository) => phase.writable.clone(),
            Err(why) => {
                let unknown = format!("(tracked files cannot be counted: {why})");
                let paths = phase.writable.iter().cloned();
                paths.chain([unknown]).collect()
            }
        };
        styled(out, "writable", WARN, &one_per_line(&lines));
    }
}

/// Returns a path that commands may change, after the number of tracked files in it.
fn tracked(path: &str, files: TrackedFiles) -> String {
    let least = if files.cut { "at least " } else { "" };
    match files.count {
        0 => format!("no tracked file in {path}"),
        1 => format!("{least}1 tracked file in {path}"),
        count => format!("{least}{count} tracked files in {path}"),
    }
}

/// Shows the commands that verify the changes.
fn verify_commands(out: &mut String, phase: &Phase) {
    let commands: Vec<_> = phase.verify.iter().map(|argv| command(argv)).collect();
    if commands.is_empty() {
        return;
    }
    field(out, "runs", &one_per_line(&commands));
    let when = match phase.preflight {
        Preflight::OnRequest => "when the agent asks",
        Preflight::EachWrite => "after each write, which is undone if one fails",
    };
    field(out, "when", when);
}

/// Shows the commands that the agent may choose.
fn granted_commands(out: &mut String, phase: &Phase) {
    let granted = phase.commands.iter().map(|pattern| quote_pattern(pattern));
    let granted: Vec<_> = granted.collect();
    if !granted.is_empty() {
        field(out, "commands", &one_per_line(&granted));
        field(out, "", "(patterns of commands that the agent may run)");
    }
}

/// Shows the sandbox of this machine if it is weaker than a person would expect.
fn sandbox(out: &mut String, offer: &Offer, plan: &Plan) {
    let level = offer.level;
    let is_networked = plan.phases.iter().any(|phase| phase.network.is_granted());
    let network = match level {
        Level::Full => return,
        Level::Landlock if is_networked => {
            Some("the network is then the machine's own, with its services")
        }
        Level::Landlock => None,
        Level::None => {
            Some("nothing then keeps them from the files and the network of this machine")
        }
    };
    let mut lines = vec![format!(
        "{level}, which is weaker than full; commands run only if the server accepts it (--sandbox {level})"
    )];
    lines.extend(network.map(str::to_owned));
    let missing = offer.missing.iter();
    lines.extend(missing.map(|missing| format!("without {missing}")));
    styled(out, "sandbox", WARN, &lines.join("\n"));
}

/// Shows the workspaces in which the approval holds.
fn binding(out: &mut String, terms: &ApprovalTerms) {
    let ApprovalBinding { root, repository } = &terms.binding;
    let mut lines = Vec::new();
    if let Some(root) = root {
        lines.push(format!("this path: {root}"));
    }
    match (root, repository) {
        (Some(_), Some(repository)) => lines.push(format!("and this repository: {repository}")),
        (None, Some(repository)) => {
            lines.push(format!("every clone of this repository: {repository}"));
        }
        (_, None) => {}
    }
    if let Some(why) = &terms.without_repository {
        lines.push(format!("(and to no repository: {why})"));
    }
    field(out, "bound to", &one_per_line(&lines));
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
    use serde_json::json;

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
    fn only_a_weaker_sandbox_is_shown() {
        let phase = json!({ "id": "A", "allow": ["a"], "operations": ["modify"], "network": true });
        let plan = json!({ "title": "t", "objective": "o", "phase": [phase] });
        let plan = Plan::from_value(&plan).unwrap();
        let shown = |level| {
            let offer = Offer {
                level,
                landlock: None,
                missing: Vec::new(),
                namespaces: Vec::new(),
                seccomp: true,
            };
            let mut out = String::new();
            sandbox(&mut out, &offer, &plan);
            out
        };
        assert_eq!(shown(Level::Full), "");
        let weaker = shown(Level::Landlock);
        assert!(
            weaker.contains("landlock, which is weaker than full"),
            "{weaker}"
        );
        assert!(
            weaker.contains("network is then the machine's own"),
            "{weaker}"
        );
        let none = shown(Level::None);
        assert!(none.contains("(--sandbox none)"), "{none}");
    }

    #[test]
    fn number_of_tracked_files_precedes_the_path() {
        let tracked = |count, cut| tracked("a\n (no tracked file)", TrackedFiles { count, cut });
        assert_eq!(
            tracked(0, false),
            "no tracked file in a\n (no tracked file)"
        );
        assert_eq!(tracked(1, false), "1 tracked file in a\n (no tracked file)");
        assert!(tracked(7, true).starts_with("at least 7 tracked files in a"));
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
