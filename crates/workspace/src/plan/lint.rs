//! Everything that is wrong or dubious about a plan, in the order of its members.
//!
//! A plan with an error can be enforced by nobody, so it is neither saved nor obeyed; a warning is
//! for the eyes of whoever approves.

use super::glob::{self, Globs};
use super::model::{Phase, Plan, Preflight};
use super::text::is_hidden;
use serde::Serialize;

/// The profiles that a plan may switch on.
pub const PROFILES: [&str; 2] = ["secrets", "rust-strict"];

/// Files that stand for the protected directories when a glob or a directory is judged.
const PROBES: [&str; 4] = [
    ".candor/config.toml",
    ".git/HEAD",
    "audit-log.jsonl",
    "docs/plans/x.toml",
];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"];

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The plan cannot be enforced as it stands.
    Error,
    /// It can, but whoever approves it should know.
    Warning,
}

/// What is wrong, as a name that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintRule {
    /// A text that must say something says nothing.
    Blank,
    /// The plan has no phase.
    NoPhase,
    /// Two phases have one id.
    DuplicatePhase,
    /// A glob is malformed, absolute or leads out of the root.
    BadGlob,
    /// A glob names protected files only.
    ProtectedGlob,
    /// A command has no program, or an argument that no program can get.
    BadCommand,
    /// A directory is absolute, leads out of the root or is no plain path.
    BadDirectory,
    /// A directory holds a protected path, or lies in one.
    ProtectedDirectory,
    /// A variable is given twice.
    DuplicateEnv,
    /// A profile that does not exist.
    UnknownProfile,
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
    /// Something is said about commands, and there are none.
    NoCommands,
}

impl LintRule {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        use LintRule::*;
        match self {
            Blank | NoPhase | DuplicatePhase | BadGlob | ProtectedGlob | BadCommand
            | BadDirectory | ProtectedDirectory | DuplicateEnv | UnknownProfile => Severity::Error,
            AllowsNothing | WideGlob | ReachesProtected | Decomposed | Hidden | Shell | Network
            | NoCommands => Severity::Warning,
        }
    }
}

/// One thing that is wrong or dubious.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub rule: LintRule,
    /// Where: `phase[0].allow[1]`.
    pub at: String,
    /// A sentence for people.
    pub message: String,
}

/// Everything that is wrong or dubious about a plan; `protected` says of a path, relative to the
/// root, whether it may never be written.
pub fn lint(plan: &Plan, protected: &dyn Fn(&[u8]) -> bool) -> Vec<Lint> {
    let mut linter = Linter {
        protected,
        found: Vec::new(),
    };
    linter.text("title", &plan.title);
    linter.text("objective", &plan.objective);
    if plan.phases.is_empty() {
        linter.say(LintRule::NoPhase, "phase", "the plan has no phase");
    }
    for (place, phase) in plan.phases.iter().enumerate() {
        let at = format!("phase[{place}]");
        let earlier = plan.phases.iter().take(place);
        if earlier.into_iter().any(|other| other.id == phase.id) {
            let message = format!("the id {} is taken by an earlier phase", phase.id);
            linter.say(LintRule::DuplicatePhase, &format!("{at}.id"), &message);
        }
        linter.phase(phase, &at);
    }
    linter.found
}

struct Linter<'a> {
    protected: &'a dyn Fn(&[u8]) -> bool,
    found: Vec<Lint>,
}

impl Linter<'_> {
    fn say(&mut self, rule: LintRule, at: &str, message: &str) {
        self.found.push(Lint {
            severity: rule.severity(),
            rule,
            at: at.to_owned(),
            message: message.to_owned(),
        });
    }

    /// A text that must say something, all of it visible.
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
        for (place, glob) in phase.allow.iter().enumerate() {
            self.allowed(&format!("{allow}[{place}]"), glob);
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
        for (place, profile) in phase.policy.profiles.iter().enumerate() {
            if !PROFILES.contains(&profile.as_str()) {
                let message = format!("no such profile; there are {}", PROFILES.join(", "));
                let at = format!("{at}.policy.profiles[{place}]");
                self.say(LintRule::UnknownProfile, &at, &message);
            }
        }
        for (place, exception) in phase.policy.exceptions.iter().enumerate() {
            let at = format!("{at}.policy.exceptions[{place}]");
            self.text(&format!("{at}.rule"), &exception.rule);
            self.glob(&format!("{at}.path"), &exception.path);
            self.text(&format!("{at}.reason"), &exception.reason);
        }
    }

    fn commands(&mut self, phase: &Phase, at: &str) {
        for (place, command) in phase.verify.iter().enumerate() {
            self.command(&format!("{at}.verify[{place}]"), command);
        }
        let without = phase.verify.is_empty();
        if without && phase.preflight == Preflight::EachWrite {
            let message = "there are no commands to run after a write";
            self.say(LintRule::NoCommands, &format!("{at}.preflight"), message);
        }
        for (place, dir) in phase.writable.iter().enumerate() {
            self.directory(&format!("{at}.writable[{place}]"), dir);
        }
        if without && !phase.writable.is_empty() {
            let message = "only commands write there, and there are none";
            self.say(LintRule::NoCommands, &format!("{at}.writable"), message);
        }
        if phase.network {
            let message = "the commands may use the network: what they read can leave this machine";
            self.say(LintRule::Network, &format!("{at}.network"), message);
        }
        for (place, env) in phase.env.iter().enumerate() {
            let at = format!("{at}.env[{place}]");
            if phase.env.iter().take(place).any(|e| e.name() == env.name()) {
                let message = format!("the variable {} is given twice", env.name());
                self.say(LintRule::DuplicateEnv, &at, &message);
            }
            self.hidden(&at, env.value().unwrap_or_default());
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
            self.hidden(at, arg);
        }
    }

    /// Whether a glob is one; what is dubious about its letters is said too.
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
    }

    fn allowed(&mut self, at: &str, glob: &str) {
        let Some(globs) = self.glob(at, glob) else {
            return;
        };
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
        } else if let Some(probe) = self.probe(|probe| holds(dir, probe)) {
            let message = format!("holds protected files, such as {probe}");
            self.say(LintRule::ProtectedDirectory, at, &message);
        } else {
            self.name(at, dir);
        }
    }

    fn lies_in_protected(&self, path: &str) -> bool {
        let inside = format!("{path}/x");
        let protected = self.protected;
        !path.is_empty() && (protected(path.as_bytes()) || protected(inside.as_bytes()))
    }

    /// The first protected file that something reaches.
    fn probe(&self, reaches: impl Fn(&str) -> bool) -> Option<&'static str> {
        let reached = |probe: &&str| (self.protected)(probe.as_bytes()) && reaches(probe);
        PROBES.into_iter().find(reached)
    }
}

fn holds(dir: &str, path: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn protected(path: &[u8]) -> bool {
        let within =
            |dir: &str| path == dir.as_bytes() || holds(dir, &String::from_utf8_lossy(path));
        path.starts_with(b"audit-log.jsonl")
            || [".git", ".candor", "docs/plans"].into_iter().any(within)
    }

    /// The rules and places of what is said about a plan of one phase with these members changed.
    fn said(change: Value) -> Vec<String> {
        let mut phase = json!({"id": "A", "allow": ["src/**"], "operations": ["create"]});
        for (name, value) in change.as_object().unwrap() {
            phase[name] = value.clone();
        }
        let plan = json!({"title": "t", "objective": "o", "phase": [phase]});
        told(&Plan::from_value(plan).unwrap())
    }

    fn told(plan: &Plan) -> Vec<String> {
        let found = lint(plan, &protected);
        let one = |lint: Lint| {
            let rule = serde_json::to_value(lint.rule).unwrap();
            format!(
                "{} {}",
                rule.as_str().unwrap(),
                lint.at.replace("phase[0].", "")
            )
        };
        found.into_iter().map(one).collect()
    }

    #[test]
    fn a_good_plan_is_told_nothing() {
        let good = json!({
            "allow": ["src/**", "Cargo.toml", "docs/*.md", ".gitignore"],
            "verify": [["cargo", "test"]],
            "writable": ["target", "docs/site"],
            "env": ["CI=1", "CARGO_HOME"],
            "policy": {"profiles": ["rust-strict"],
                       "exceptions": [{"rule": "unwrap", "path": "src/x.rs", "reason": "old"}]},
        });
        assert_eq!(said(good), Vec::<String>::new());
    }

    #[test]
    fn globs_are_judged() {
        let globs = json!({"allow": [
            "/etc/*", "../x", "[!a]", ".git/hooks/*", "docs/plans/x.toml", "audit-log.jsonl",
            "**", "**/*", "*/*", ".*/**", "docs/**", "e\u{301}", "a\u{200b}b",
        ]});
        assert_eq!(
            said(globs),
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
        let nothing = said(json!({"allow": [], "operations": []}));
        assert_eq!(
            nothing,
            ["allows_nothing allow", "allows_nothing operations"]
        );
    }

    #[test]
    fn commands_and_their_directories_are_judged() {
        let commands = json!({
            "verify": [[], [""], ["a\0"], ["a", "\0"], ["sh", "-c", "x"], ["/bin/bash", "x"], ["shx"]],
            "writable": [".", "", "/tmp", "a/../b", "docs", "docs/plans", ".git/x", "docsx", "a//b"],
            "network": true,
            "env": ["A=1", "B", "A"],
        });
        assert_eq!(
            said(commands),
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
                "bad_directory writable[8]",
                "network network",
                "duplicate_env env[2]",
            ]
        );
        let idle = said(json!({"writable": ["target"], "preflight": "each_write"}));
        assert_eq!(idle, ["no_commands preflight", "no_commands writable"]);
    }

    #[test]
    fn policy_texts_and_ids_are_judged() {
        let policy = json!({"policy": {"profiles": ["secrets", "strict"], "exceptions": [
            {"rule": " ", "path": "..", "reason": "\u{200b}"}]}});
        assert_eq!(
            said(policy),
            [
                "unknown_profile policy.profiles[1]",
                "blank policy.exceptions[0].rule",
                "bad_glob policy.exceptions[0].path",
                "blank policy.exceptions[0].reason",
                "hidden policy.exceptions[0].reason",
            ]
        );
        let phase = json!({"id": "A", "allow": ["a"], "operations": ["create"]});
        let twice = json!({"title": " ", "objective": "a\u{202e}\nb", "phase": [phase, phase]});
        let twice = Plan::from_value(twice).unwrap();
        assert_eq!(
            told(&twice),
            [
                "blank title",
                "hidden objective",
                "duplicate_phase phase[1].id"
            ]
        );
        let none = Plan::from_value(json!({"title": "a", "objective": "b", "phase": []})).unwrap();
        assert_eq!(told(&none), ["no_phase phase"]);
        let shown = serde_json::to_string(&lint(&none, &protected)).unwrap();
        let wanted = r#"[{"severity":"error","rule":"no_phase","at":"phase","message":"the plan has no phase"}]"#;
        assert_eq!(shown, wanted);
    }

    proptest! {
        #[test]
        fn a_plan_without_errors_can_be_enforced(plan in crate::plan::text::tests::plan()) {
            let errors = lint(&plan, &protected);
            if !errors.iter().any(|lint| lint.severity == Severity::Error) {
                for phase in &plan.phases {
                    prop_assert!(crate::plan::Scope::of(phase).is_ok());
                }
            }
        }
    }
}
