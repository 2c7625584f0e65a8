//! `candor workspace allow`: writes, shows and signs a plan of one phase in one step.

use super::approve::{approve, summary};
use super::opened::{OpenedWorkspace, WorkspaceArgs, lint_plan, short};
use super::plan_page::PlanPage;
use super::serve::toolchains;
use super::sign::SignArgs;
use super::terms::TermArgs;
use crate::cli::prompt;
use crate::cli::shell_words::{quote, split, split_pattern};
use crate::cli::{CommandError, print};
use crate::host::print_note;
use candor_workspace::approval::Signers;
use candor_workspace::plan::store::{StoredPlan, save};
use candor_workspace::plan::{
    Env, Operation, Phase, PhaseId, PhasePolicy, Plan, PlanHash, PlanNetwork, Preflight, hash,
    render,
};
use clap::Args;

const PHASE: &str = "WORK";

/// The value of --network that stands for every public host.
const ANY_HOST: &str = "any";

/// Allow agents to change some files: write, show and sign a plan in one step
///
/// Globs are relative to the workspace: `*` matches within a name, `**` also matches directories. Quote them, so
/// that the shell does not expand them. A glob never includes files that agents may not change: .git, docs/plans
/// and the audit log.
///
/// Commands are split at spaces and quotes; no shell runs them. They build in a private directory outside the
/// workspace. Cargo also gets the directories of its toolchain.
///
/// In a pattern of --command, `*` matches one argument and `**` at the end any number.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  candor workspace allow 'src/**' 'tests/**' --for 4h
  candor workspace allow 'src/**' --verify 'cargo test --offline' --each-write
  candor workspace allow 'src/**' --command 'cargo fmt **' --command 'cargo test **' --writable src")]
pub(in crate::cli) struct AllowArgs {
    /// The files, as globs
    #[arg(required = true, value_name = "GLOB")]
    globs: Vec<String>,
    /// A command that verifies the changes (repeatable)
    #[arg(long, value_name = "COMMAND", value_parser = command)]
    verify: Vec<CommandWords>,
    /// Run the commands after each write, and undo the write if one fails
    #[arg(long, requires = "verify")]
    each_write: bool,
    /// A pattern of commands that the agent may run (repeatable)
    #[arg(long = "command", value_name = "PATTERN", value_parser = pattern)]
    commands: Vec<CommandWords>,
    /// Let the agent run every command
    #[arg(long, conflicts_with = "commands")]
    any_command: bool,
    #[command(flatten)]
    terms: TermArgs,
    /// The allowed operations
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "create,modify,delete",
        value_parser = operation
    )]
    operations: Vec<Operation>,
    /// The title of the plan [default: the globs]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A directory or file of the workspace to which the commands may write (repeatable)
    #[arg(long, value_name = "PATH")]
    writable: Vec<String>,
    /// Allow the commands to reach every public host, or only some: --network=api.example.org,*.example.net:8443
    #[arg(
        long,
        value_name = "HOSTS",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = ANY_HOST
    )]
    network: Vec<String>,
    /// Apply the strict profile to Rust files: no unwrap, panic or unsafe outside tests
    #[arg(long)]
    rust_strict: bool,
    /// An environment variable for the commands, with the server's value or this one (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = variable)]
    env: Vec<Env>,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// A command, split into words.
#[derive(Debug, Clone)]
struct CommandWords(Vec<String>);

fn command(text: &str) -> Result<CommandWords, String> {
    split(text).map(CommandWords)
}

fn pattern(text: &str) -> Result<CommandWords, String> {
    split_pattern(text).map(CommandWords)
}

fn operation(text: &str) -> Result<Operation, String> {
    let mut all = Operation::ALL.into_iter();
    all.find(|operation| operation.name() == text)
        .ok_or_else(|| {
            String::from("give a list of create, modify and delete, separated by commas")
        })
}

fn variable(text: &str) -> Result<Env, String> {
    Env::try_from(text.to_owned()).map_err(|error| error.to_string())
}

impl AllowArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        self.check_globs(&workspace)?;
        let plan = self.plan(&workspace)?;
        lint_plan(&plan)?;
        let text = render(&plan);
        let stored = StoredPlan {
            hash: hash(&text),
            plan,
            text,
        };
        let signers = workspace.signers(&self.sign.approvers)?;
        let key_file = self.sign.key_file(&workspace, &signers)?;
        let decided = self.sign.is_unattended();
        self.sign.require_terminal(decided)?;
        let terms = self.terms.decide(&workspace)?;
        let page = PlanPage::new(&workspace, &stored, &terms)?;
        print(page.render().as_bytes())?;
        if !decided && !prompt::confirm("Sign it?")? {
            return print(b"nothing was written\n");
        }
        let approver = key_file.open()?;
        let saved = save(&workspace.root.disk(), &stored.plan);
        saved.map_err(|error| CommandError::new(format!("cannot store the plan: {error}")))?;
        let approved = approve(&page, &approver, &signers)?;
        print(summary(&stored.hash, &approved).as_bytes())?;
        note_other_plans(&workspace, &signers, &stored.hash)
    }

    /// Returns an error for globs with an unexpected meaning.
    fn check_globs(&self, workspace: &OpenedWorkspace) -> Result<(), CommandError> {
        let at = |glob: &String| workspace.root.path().join(glob);
        let is_plain = |glob: &&String| !glob.contains(['*', '?', '[', '{', '\\']);
        let plain: Vec<_> = self.globs.iter().filter(is_plain).collect();
        if let Some(dir) = plain.iter().find(|glob| at(glob).is_dir()) {
            let dir = dir.trim_end_matches('/');
            let all = match dir {
                "" | "." => String::from("**"),
                dir => format!("{dir}/**"),
            };
            return Err(CommandError::new(format!("{dir:?} is a directory"))
                .with_hint(format!("to allow every file in it, write {}", quote(&all))));
        }
        if plain.len() > 1 && plain.iter().all(|glob| at(glob).is_file()) {
            print_note(
                "these are the names of single files; quote a glob ('src/**'), so that the shell does not expand it",
            );
        }
        Ok(())
    }

    /// Returns the patterns of the commands that the agent may run.
    fn commands(&self) -> Vec<Vec<String>> {
        if self.any_command {
            return vec![vec![String::from("**")]];
        }
        let patterns = self.commands.iter();
        patterns.map(|CommandWords(words)| words.clone()).collect()
    }

    fn network(&self) -> PlanNetwork {
        match self.network.as_slice() {
            [] => PlanNetwork::Off,
            hosts if hosts.iter().any(|host| host == ANY_HOST) => PlanNetwork::Any,
            hosts => PlanNetwork::Hosts(hosts.to_vec()),
        }
    }

    fn plan(&self, workspace: &OpenedWorkspace) -> Result<Plan, CommandError> {
        let files = self.globs.join(", ");
        let commands = self.commands();
        let verify = self.verify.iter().map(|CommandWords(argv)| argv.clone());
        let verify: Vec<_> = verify.collect();
        let is_cargo = |argv: &Vec<String>| {
            let program = argv.first().map(String::as_str);
            matches!(program, Some("cargo" | "**"))
        };
        let cargo = verify.iter().chain(&commands).any(is_cargo);
        let mut env = self.env.clone();
        if cargo {
            for (name, at) in toolchains() {
                let value = format!("{name}={}", at.display());
                if !env.iter().any(|env| env.name() == name) {
                    env.push(variable(&value).map_err(CommandError::new)?);
                }
            }
            print_note(
                "the plan gives cargo the directories of its toolchain; it builds outside the workspace",
            );
            if !workspace.root.path().join("Cargo.lock").exists() {
                print_note(
                    "there is no Cargo.lock, and the commands cannot write one; to create it, run:\n  cargo generate-lockfile",
                );
            }
        }
        let profiles = match self.rust_strict {
            true => vec![String::from("rust-strict")],
            false => Vec::new(),
        };
        let phase = Phase {
            id: PhaseId::try_from(String::from(PHASE))
                .map_err(|error| CommandError::new(error.to_string()))?,
            allow: self.globs.clone(),
            operations: self.operations.iter().copied().collect(),
            verify,
            commands,
            preflight: match self.each_write {
                true => Preflight::EachWrite,
                false => Preflight::OnRequest,
            },
            writable: self.writable.clone(),
            network: self.network(),
            env,
            policy: PhasePolicy {
                profiles,
                exceptions: Vec::new(),
            },
        };
        let plan = Plan {
            title: self
                .title
                .clone()
                .unwrap_or_else(|| format!("Work on {}", shorten(&files))),
            objective: format!("Let an agent change {files}."),
            phases: vec![phase],
        };
        // Parsing the plan checks its bounds.
        let value = serde_json::to_value(&plan).map_err(std::io::Error::other)?;
        Plan::from_value(&value).map_err(|error| CommandError::new(error.to_string()))
    }
}

/// Shortens a text so that it fits a title.
fn shorten(text: &str) -> String {
    const CHARS: usize = 60;
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Prints a note if other plans are approved too, because the agent must then name its plan.
fn note_other_plans(
    workspace: &OpenedWorkspace,
    signers: &Signers,
    own: &PlanHash,
) -> Result<(), CommandError> {
    let revocations = workspace.revocations()?;
    let mut others = Vec::new();
    for stored in workspace.plans()?.plans {
        let approved = workspace.approval_of(&stored.hash, signers, &revocations)?;
        if stored.hash != *own && approved.is_ok() {
            let revoke = format!("revoke {}", short(&stored.hash));
            others.push(format!("\n  {}", workspace.command(&revoke)));
        }
    }
    if !others.is_empty() {
        print_note(&format!(
            "other plans are approved too, so an agent must name the plan that it uses; to revoke one, run:{}",
            others.concat()
        ));
    }
    Ok(())
}
