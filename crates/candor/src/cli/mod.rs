//! The command line: its grammar, and the commands of both programs.

mod atomic_file;
mod audit;
mod config;
mod context;
mod data_dir;
mod explain;
mod failure_form;
mod github;
mod listen;
mod log;
mod orders;
mod otlp;
mod playground;
mod prompt;
mod sandbox;
mod serve;
mod shell_words;
mod workspace;
mod xdg;

use crate::host::{print_error, print_hint, quiet_panics};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use config::ParseFailure;
pub use config::{MAX_CONFIG_FILE, MAX_CONFIG_KEYS, MAX_CONFIG_LEVELS, MAX_CONFIG_PROBLEMS};
pub use otlp::{LAST_SPANS_TIMEOUT, MAX_COLLECTOR_ANSWER, SEND_TIMEOUT};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit code of a wrong command line, and of failures without a code of their own.
const USAGE: u8 = 1;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("CANDOR_COMMIT"), ")");

/// Tools for AI agents whose every failure is a contract.
///
/// Each failure has a stable code, the same bytes for the same cause, and states whether to retry and
/// whether anything was changed. `candor explain` shows every code; `candor serve` starts the servers.
#[derive(Debug, Parser)]
#[command(name = "candor", version = VERSION, arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage or a failure to start. Results go to stdout, messages to stderr.

Try:
  candor serve                      start all servers on 127.0.0.1:8788
  candor explain orders/3001        show what a code means and what to do
  candor playground                 start a server on stdio that fails on demand";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a code means, whether to retry, and what to do
    Explain(explain::ExplainArgs),
    /// Start every server that works without configuration, over HTTP
    Serve(serve::ServeAllArgs),
    /// Start a server that fails on demand, for authors of clients
    Playground(playground::PlaygroundArgs),
    /// Build caches of documents and select from them within a token budget
    #[command(subcommand, after_help = context::AFTER_HELP)]
    Context(context::ContextCommand),
    /// Work on repositories and pull requests, on GitHub or on local git
    #[command(subcommand, after_help = github::AFTER_HELP)]
    Github(github::GithubCommand),
    /// Let an agent edit files: planned, approved, checked and recorded
    #[command(subcommand, after_help = workspace::AFTER_HELP)]
    Workspace(workspace::WorkspaceCommand),
    /// Create, change, ship and look up orders, in a database or in another order system
    #[command(subcommand, after_help = orders::AFTER_HELP)]
    Orders(orders::OrdersCommand),
    /// Show audit logs, verify them, and move broken ones aside
    #[command(subcommand, after_help = audit::AFTER_HELP)]
    Audit(audit::AuditCommand),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// An error of a command, as the person at the terminal sees it.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hint: Option<String>,
    exit: u8,
    /// Printed instead of the message if a program reads stderr.
    json: Option<String>,
}

impl CommandError {
    fn new(message: impl Into<String>) -> Self {
        CommandError {
            message: message.into(),
            hint: None,
            exit: USAGE,
            json: None,
        }
    }

    /// An exit code alone: everything was printed already.
    fn silent(exit: u8) -> Self {
        CommandError::new("").with_exit_code(exit)
    }

    fn with_exit_code(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    fn with_json(mut self, json: String) -> Self {
        self.json = Some(json);
        self
    }

    /// Sets what to do next. A command in it is on a line of its own, indented by two spaces.
    fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl CommandError {
    fn print(&self) {
        if let Some(json) = &self.json {
            // If stderr is closed, the message cannot be shown anywhere else.
            let _ = io::stderr().write_all(json.as_bytes());
            return;
        }
        if self.message.is_empty() {
            return;
        }
        print_error(&self.message);
        if let Some(help) = &self.hint {
            print_hint(help);
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        CommandError::new(error.to_string())
    }
}

/// Returns the grammar of the command line, for the documentation.
pub fn grammar() -> clap::Command {
    Cli::command()
}

/// Runs the program with these arguments.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    // Before anything else: the sandbox helper must not have started a thread.
    if let Some(stage) = sandbox::stage(&arguments) {
        return sandbox::run(stage);
    }
    if is_called_context(&arguments) {
        return run_context(arguments);
    }
    match config::parse::<Cli>(arguments) {
        Ok(cli) => perform(&cli.log, || act(cli.command)),
        Err(ParseFailure::Usage(error)) => usage(&context::with_tip(error)),
        Err(ParseFailure::File(error)) => {
            error.print();
            ExitCode::from(error.exit)
        }
        Err(ParseFailure::Content(problems)) => {
            problems.print();
            ExitCode::from(USAGE)
        }
    }
}

/// Select documents for a query within a token budget, by the same rules everywhere.
///
/// Build a cache from a directory of Markdown, then query it. The same cache, query and budget give the
/// same bytes on every machine, on the command line and over MCP.
#[derive(Debug, Parser)]
#[command(name = "context", version = VERSION, arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = context::AFTER_HELP)]
struct ContextCli {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: context::ContextCommand,
}

/// Returns true if the program is started under the name `context`: by a link to it, or by the
/// program `context`.
fn is_called_context(arguments: &[OsString]) -> bool {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    name.is_some_and(|name| name == "context")
}

/// Runs as the program `context`.
fn run_context(arguments: Vec<OsString>) -> ExitCode {
    match ContextCli::try_parse_from(arguments) {
        Ok(cli) => perform(&cli.log, || cli.command.run()),
        Err(error) => usage(&context::with_tip(error)),
    }
}

fn perform(log: &log::LogArgs, work: impl FnOnce() -> Result<(), CommandError>) -> ExitCode {
    quiet_panics();
    match log.start().and_then(|_flushed| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print();
            ExitCode::from(error.exit)
        }
    }
}

fn act(command: Command) -> Result<(), CommandError> {
    match command {
        Command::Explain(explain) => explain.run(),
        Command::Serve(serve) => serve.run(),
        Command::Playground(playground) => playground.run(),
        Command::Context(context) => context.run(),
        Command::Github(github) => github.run(),
        Command::Workspace(workspace) => workspace.run(),
        Command::Orders(orders) => orders.run(),
        Command::Audit(audit) => audit.run(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "candor", &mut script);
            print(&script)
        }
    }
}

/// Prints help and version on stdout, and mistakes on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            // clap prints mistakes, and the help for a missing command, on stderr.
            let _ = error.print();
            ExitCode::from(USAGE)
        }
    }
}

/// Writes a result to stdout. A reader that closes the pipe early is not a failure: `candor explain | head`.
fn print(bytes: &[u8]) -> Result<(), CommandError> {
    let mut out = anstream::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
