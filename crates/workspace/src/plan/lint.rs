//! Finds everything that is wrong or dubious about a plan, in the order of its members.
//!
//! A plan with an error cannot be enforced, so it is neither saved nor obeyed; a warning is shown
//! to the approver.

use super::command_pattern::CommandPattern;
use super::glob::{self, Globs};
use super::model::{Phase, Plan, Preflight};
use super::network::PlanNetwork;
use super::placeholder;
use super::text::is_hidden;
use crate::policy::{PolicyRule, Profile};
use crate::protected::ExecutedFiles;
use serde::Serialize;

/// The profiles that a plan may switch on.
pub const PROFILES: [&str; 2] = ["secrets", "rust-strict"];

/// Examples of protected files, for judging globs and directories.
const PROBES: [&str; 4] = [
    ".candor/config.toml",
    ".git/HEAD",
    "audit-log.jsonl",
    "docs/plans/x.toml",
];

/// Variables that make a program load code, or run another one.
const LOADERS: [&str; 5] = ["LD_", "GIT_", "PYTHONPATH", "NODE_OPTIONS", "RUSTC_WRAPPER"];

/// Variables that the server sets itself.
const OWN_VARIABLES: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"];

/// Programs that run a text or another program from their arguments, beside the shells.
const INTERPRETERS: [&str; 25] = [
    "awk", "bun", "bunx", "deno", "env", "find", "gawk", "ipython", "lua", "make", "nice", "node",
    "nohup", "npx", "perl", "php", "pypy", "python", "ruby", "setsid", "stdbuf", "time", "timeout",
    "uvx", "xargs",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The plan cannot be enforced.
    Error,
    /// The plan can be enforced, but its approver should see this.
    Warning,
}

/// The rule that a lint is about. Its name never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintRule {
    /// A text that must not be blank is blank.
    Blank,
    /// The plan has no phase.
    NoPhase,
    /// Two phases have one id.
    DuplicatePhase,
    /// A glob is malformed, absolute or leads out of the root.
    BadGlob,
    /// A glob names protected files only.
    ProtectedGlob,
    /// A command has no program, an argument that no program can get or an unknown placeholder, or a
    /// pattern is malformed.
    BadCommand,
    /// A host of the network is malformed.
    BadHost,
    /// A directory is absolute, leads out of the root or is not a plain path.
    BadDirectory,
    /// A directory contains a protected path, or is in one.
    ProtectedDirectory,
    /// A variable is given twice.
    DuplicateEnv,
    /// A profile that does not exist.
    UnknownProfile,
    /// An exception from a rule that does not exist.
    UnknownRule,
    /// The phase allows nothing.
    AllowsNothing,
    /// A glob means every file.
    WideGlob,
    /// A glob means protected files too, which stay protected.
    ReachesProtected,
    /// A name has decomposed characters, and names are compared byte for byte.
    Decomposed,
    /// A text has characters that a reader does not see.
    Hidden,
    /// A command is a shell.
    Shell,
    /// The commands may use the network.
    Network,
    /// A member about commands is set, and there are none.
    NoCommands,
    /// A name of Latin letters has a letter of another script.
    Homoglyph,
    /// A glob names files that other programs run or obey.
    ExecutedFile,
    /// The commands may write files of the tree.
    WritableInTree,
    /// A variable makes programs load code, or run another one.
    EnvLoader,
    /// A variable has no effect, because the server sets it.
    EnvIgnored,
    /// A rule about secrets is lifted for files that are not named.
    BroadException,
    /// The phase grants every command.
    AnyCommand,
    /// A pattern lets a shell or an interpreter run a text of the agent.
    Interpreter,
}

impl LintRule {
    pub fn severity(self) -> Severity {
        use LintRule::*;
        match self {
            Blank | NoPhase | DuplicatePhase | BadGlob | ProtectedGlob | BadCommand | BadHost
            | BadDirectory | ProtectedDirectory | DuplicateEnv | UnknownProfile | UnknownRule => {
                Severity::Error
            }
            AllowsNothing | WideGlob | ReachesProtected | Decomposed | Hidden | Shell | Network
            | NoCommands | Homoglyph | ExecutedFile | WritableInTree | EnvLoader | EnvIgnored
            | BroadException | AnyCommand | Interpreter => Severity::Warning,
        }
    }
}

/// One finding about a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lint {
    pub severity: Severity,
    pub rule: LintRule,
    /// The member, such as `phase[0].allow[1]`.
    pub at: String,
    /// A sentence for people.
    pub message: String,
}

/// Returns everything that is wrong or dubious about a plan. `protected` returns true for a path,
/// relative to the root, that may never be written.
pub fn lint(plan: &Plan, protected: &dyn Fn(&[u8]) -> bool) -> Vec<Lint> {
    lint_with(plan, protected, true)
}

/// Returns everything that is wrong about a plan that was saved before. A text that looks like an unknown
/// placeholder is taken as it is: plans were saved before there were placeholders.
pub(super) fn lint_stored(plan: &Plan, protected: &dyn Fn(&[u8]) -> bool) -> Vec<Lint> {
    lint_with(plan, protected, false)
}

fn lint_with(
    plan: &Plan,
    protected: &dyn Fn(&[u8]) -> bool,
    checks_placeholders: bool,
) -> Vec<Lint> {
    let mut linter = Linter {
        protected,
        checks_placeholders,
        lints: Vec::new(),
    };
    linter.text("title", &plan.title);
    linter.text("objective", &plan.objective);
    if plan.phases.is_empty() {
        linter.say(LintRule::NoPhase, "phase", "the plan has no phase");
    }
    for (index, phase) in plan.phases.iter().enumerate() {
        let at = format!("phase[{index}]");
        let earlier = plan.phases.iter().take(index);
        if earlier.into_iter().any(|other| other.id == phase.id) {
            let message = format!("the id {} is taken by an earlier phase", phase.id);
            linter.say(LintRule::DuplicatePhase, &format!("{at}.id"), &message);
        }
        linter.phase(phase, &at);
    }
    linter.lints
}

struct Linter<'a> {
    protected: &'a dyn Fn(&[u8]) -> bool,
    checks_placeholders: bool,
    lints: Vec<Lint>,
}

impl Linter<'_> {
    fn say(&mut self, rule: LintRule, at: &str, message: &str) {
        self.lints.push(Lint {
            severity: rule.severity(),
            rule,
            at: at.to_owned(),
            message: message.to_owned(),
        });
    }

    /// Checks that a text is not blank and that all of it is visible.
    fn text(&mut self, at: &str, text: &str) {
        if text.chars().all(|c| c.is_whitespace() || is_hidden(c)) {
            self.say(LintRule::Blank, at, "says nothing");
        }
        self.hidden(at, text);
    }

    fn hidden(&mut self, at: &str, text: &str) {
        if text.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t') {
            let message = "has characters that a reader does not see";
            self.say(LintRule::Hidden, at, message);
        }
    }

    fn phase(&mut self, phase: &Phase, at: &str) {
        let allow = format!("{at}.allow");
        if phase.allow.is_empty() {
            self.say(
                LintRule::AllowsNothing,
                &allow,
                "no glob: the phase allows nothing",
            );
        }
        for (index, glob) in phase.allow.iter().enumerate() {
            self.allowed(&format!("{allow}[{index}]"), glob);
        }
        if phase.operations.is_empty() {
            let message = "no operation: the phase allows nothing";
            self.say(
                LintRule::AllowsNothing,
                &format!("{at}.operations"),
                message,
            );
        }
        self.commands(phase, at);
        for (index, profile) in phase.policy.profiles.iter().enumerate() {
            if !PROFILES.contains(&profile.as_str()) {
                let message = format!("no such profile; there are {}", PROFILES.join(", "));
                let at = format!("{at}.policy.profiles[{index}]");
                self.say(LintRule::UnknownProfile, &at, &message);
            }
        }
        for (index, exception) in phase.policy.exceptions.iter().enumerate() {
            let at = format!("{at}.policy.exceptions[{index}]");
            self.text(&format!("{at}.rule"), &exception.rule);
            if PolicyRule::named(&exception.rule).is_none() {
                let names = PolicyRule::ALL.map(PolicyRule::name).join(", ");
                let message = format!("no such rule; there are {names}");
                self.say(LintRule::UnknownRule, &format!("{at}.rule"), &message);
            }
            self.glob(&format!("{at}.path"), &exception.path);
            self.exception(&format!("{at}.path"), &exception.rule, &exception.path);
            self.text(&format!("{at}.reason"), &exception.reason);
        }
    }

    fn commands(&mut self, phase: &Phase, at: &str) {
        for (index, command) in phase.verify.iter().enumerate() {
            self.command(&format!("{at}.verify[{index}]"), command);
        }
        if phase.verify.is_empty() && phase.preflight == Preflight::EachWrite {
            let message = "there are no commands to run after a write";
            self.say(LintRule::NoCommands, &format!("{at}.preflight"), message);
        }
        for (index, pattern) in phase.commands.iter().enumerate() {
            self.pattern(&format!("{at}.commands[{index}]"), pattern);
        }
        for (index, dir) in phase.writable.iter().enumerate() {
            self.directory(&format!("{at}.writable[{index}]"), dir);
        }
        let without = phase.verify.is_empty() && phase.commands.is_empty();
        if without && !phase.writable.is_empty() {
            let message = "only commands write there, and there are none";
            self.say(LintRule::NoCommands, &format!("{at}.writable"), message);
        }
        self.network(&phase.network, &format!("{at}.network"));
        for (index, env) in phase.env.iter().enumerate() {
            let at = format!("{at}.env[{index}]");
            if phase.env.iter().take(index).any(|e| e.name() == env.name()) {
                let message = format!("the variable {} is given twice", env.name());
                self.say(LintRule::DuplicateEnv, &at, &message);
            }
            self.variable(&at, env.name());
            self.placeholders(&at, env.value().unwrap_or_default());
            self.hidden(&at, env.value().unwrap_or_default());
        }
    }

    fn network(&mut self, network: &PlanNetwork, at: &str) {
        if let Err((index, error)) = network.to_sandbox() {
            let message = format!("is not a host: {error}");
            self.say(LintRule::BadHost, &format!("{at}[{index}]"), &message);
        }
        if network.is_granted() {
            let message = "the commands may use the network: what they read can leave this machine";
            self.say(LintRule::Network, at, message);
        }
    }

    /// Checks a pattern of commands.
    fn pattern(&mut self, at: &str, elements: &[String]) {
        let pattern = match CommandPattern::new(elements) {
            Ok(pattern) => pattern,
            Err(flaw) => {
                self.say(LintRule::BadCommand, at, &flaw.to_string());
                return;
            }
        };
        if pattern.is_any() {
            let message = "grants every command";
            self.say(LintRule::AnyCommand, at, message);
        }
        let program = pattern.program().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default();
        if pattern.has_wildcard() && is_interpreter(name) {
            let message = format!("{name} runs whatever text or program the agent gives it");
            self.say(LintRule::Interpreter, at, &message);
        }
        for element in elements {
            self.placeholders(at, element);
            self.hidden(at, element);
        }
    }

    fn placeholders(&mut self, at: &str, text: &str) {
        let unknown = placeholder::find_unknown(text);
        if let Some(unknown) = unknown.filter(|_| self.checks_placeholders) {
            let message = format!("has the unknown placeholder {unknown}; there is {{build_dir}}");
            self.say(LintRule::BadCommand, at, &message);
        }
    }

    fn variable(&mut self, at: &str, name: &str) {
        let is_loader = |loader: &&str| match loader.ends_with('_') {
            true => name.starts_with(loader),
            false => name == *loader,
        };
        if LOADERS.iter().any(is_loader) {
            let message = format!("{name} makes programs load code, or run another program");
            self.say(LintRule::EnvLoader, at, &message);
        }
        if OWN_VARIABLES.contains(&name) {
            let message = format!("{name} has no effect, because the server sets it");
            self.say(LintRule::EnvIgnored, at, &message);
        }
    }

    fn exception(&mut self, at: &str, rule: &str, glob: &str) {
        let is_secret =
            PolicyRule::named(rule).is_some_and(|rule| rule.profile() == Profile::Secrets);
        let is_literal = |name: &str| !name.contains(glob::WILDCARDS);
        if is_secret && !glob.split('/').any(is_literal) {
            let message = "lifts a rule about secrets for files that it does not name";
            self.say(LintRule::BroadException, at, message);
        }
    }

    fn command(&mut self, at: &str, command: &[String]) {
        let program = command.first().map(String::as_str).unwrap_or_default();
        if program.is_empty() {
            self.say(LintRule::BadCommand, at, "has no program");
            return;
        }
        if command.iter().any(|arg| arg.contains('\0')) {
            self.say(LintRule::BadCommand, at, "has a NUL in an argument");
        }
        let name = program.rsplit('/').next().unwrap_or_default();
        if SHELLS.contains(&name) {
            let message = format!("{name} is a shell: it runs whatever its text or script says");
            self.say(LintRule::Shell, at, &message);
        }
        for arg in command {
            self.placeholders(at, arg);
            self.hidden(at, arg);
        }
    }

    /// Compiles a glob and reports its flaws.
    fn glob(&mut self, at: &str, glob: &str) -> Option<Globs> {
        match Globs::new(&[glob.to_owned()]) {
            Ok(globs) => {
                self.name(at, glob);
                Some(globs)
            }
            Err((_, flaw)) => {
                self.say(LintRule::BadGlob, at, &format!("the glob {flaw}"));
                None
            }
        }
    }

    fn name(&mut self, at: &str, name: &str) {
        self.hidden(at, name);
        if name.chars().any(|c| matches!(c, '\u{300}'..='\u{36f}')) {
            let message = "has decomposed characters; names are compared byte for byte";
            self.say(LintRule::Decomposed, at, message);
        }
        if let Some(component) = name.split('/').find(|name| is_mixed(name)) {
            let message = format!(
                "has a letter of another script in {component:?}, which may look like a Latin one"
            );
            self.say(LintRule::Homoglyph, at, &message);
        }
    }

    fn allowed(&mut self, at: &str, glob: &str) {
        let Some(globs) = self.glob(at, glob) else {
            return;
        };
        if let Some(file) = named_executed_file(glob) {
            let message = format!("names files that other programs run or obey, such as {file}");
            self.say(LintRule::ExecutedFile, at, &message);
        }
        let only_stars = |name: &str| name.bytes().all(|b| b == b'*');
        if glob.split('/').all(only_stars) && glob.contains("**") {
            let message = "means every file but the protected ones";
            self.say(LintRule::WideGlob, at, message);
        } else if self.lies_in_protected(glob::literal_base(glob)) {
            let message = "names protected files only, which nobody may write";
            self.say(LintRule::ProtectedGlob, at, message);
        } else if let Some(probe) = self.probe(|probe| globs.matches(probe.as_bytes())) {
            let message =
                format!("means protected files too, such as {probe}; they stay protected");
            self.say(LintRule::ReachesProtected, at, &message);
        }
    }

    fn directory(&mut self, at: &str, dir: &str) {
        let plain = |name: &str| !name.is_empty() && name != "." && name != "..";
        if dir == "." {
            let message = "is the root, which holds protected paths; name a directory below it";
            self.say(LintRule::ProtectedDirectory, at, message);
        } else if !dir.split('/').all(plain) || dir.chars().any(char::is_control) {
            let message = "is no plain path of a directory, relative to the root";
            self.say(LintRule::BadDirectory, at, message);
        } else if self.lies_in_protected(dir) {
            let message = "lies in a protected path";
            self.say(LintRule::ProtectedDirectory, at, message);
        } else if let Some(held) = self.held_by(dir) {
            let message = format!("holds protected files, such as {held}");
            self.say(LintRule::ProtectedDirectory, at, &message);
        } else {
            self.name(at, dir);
            let message = "the commands may change files of the tree there";
            self.say(LintRule::WritableInTree, at, message);
        }
    }

    fn lies_in_protected(&self, path: &str) -> bool {
        let inside = format!("{path}/x");
        let protected = self.protected;
        !path.is_empty() && (protected(path.as_bytes()) || protected(inside.as_bytes()))
    }

    /// Returns the first protected file that `reaches` accepts.
    fn probe(&self, reaches: impl Fn(&str) -> bool) -> Option<&'static str> {
        let reached = |probe: &&str| (self.protected)(probe.as_bytes()) && reaches(probe);
        PROBES.into_iter().find(reached)
    }

    /// Returns a protected file that would be in a directory. The name of the directory is not
    /// compared here: only `protected` decides which names are the same.
    fn held_by(&self, dir: &str) -> Option<String> {
        let below = PROBES.iter().filter_map(|probe| probe.split_once('/'));
        let mut held = below.map(|(_, rest)| format!("{dir}/{rest}"));
        held.find(|path| (self.protected)(path.as_bytes()))
    }
}

/// Returns an executed file that a glob covers, with `x` for each name that has a wildcard.
fn named_executed_file(glob: &str) -> Option<String> {
    let sample = |name: &str| match name.contains(glob::WILDCARDS) {
        true => String::from("x"),
        false => name.to_owned(),
    };
    let names: Vec<_> = glob.split('/').map(sample).collect();
    let file = names.join("/");
    let executed = ExecutedFiles::default();
    let covers = executed.contains(file.as_bytes()) && executed.is_covered(file.as_bytes(), glob);
    covers.then_some(file)
}

/// Returns true for a program that runs a text or another program from its arguments. Versions as in
/// `python3.12` do not matter.
fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    SHELLS.contains(&name) || INTERPRETERS.contains(&name)
}

/// Returns true if a name has Latin letters and letters of another script.
fn is_mixed(name: &str) -> bool {
    let letters = || name.chars().filter(|c| c.is_alphabetic());
    letters().any(is_latin) && letters().any(|c| !is_latin(c))
}

/// Returns true for letters of the Latin script. Letters in full width are not among them: they look
/// like Latin ones and are different characters.
fn is_latin(c: char) -> bool {
    matches!(c,
        'a'..='z'
        | 'A'..='Z'
        | '\u{aa}'
        | '\u{ba}'
        | '\u{c0}'..='\u{2af}'
        | '\u{1d00}'..='\u{1d25}'
        | '\u{1e00}'..='\u{1eff}'
        | '\u{2c60}'..='\u{2c7f}'
        | '\u{a722}'..='\u{a7ff}')
}

#[cfg(test)]
mod tests;
