//! `candor github serve`: serves the GitHub tools on GitHub or on the local forge.

use super::open_local;
use super::write_options::{self, WriteArgs, allow_list};
use crate::cli::data_dir::DataDirArgs;
use crate::cli::listen::ListenArgs;
use crate::cli::{CommandError, VERSION};
use crate::host::{run, serve_stdio, system_clock};
use crate::stderr_lines::StderrLines;
use candor_forge::github::{GithubForge, GithubSettings, GithubTimeouts, PUBLIC_API};
use candor_forge::{
    AllowList, Config, Forge, ForgeServer, MAX_TREE_ENTRIES, TREE_ENTRIES, WRITES_A_MINUTE,
};
use candor_http_client::BearerToken;
use candor_street::{Dispatcher, MetricsHub};
use candor_wire::http::{Endpoint, router};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// Serve the GitHub tools over MCP
///
/// Uses stdin and stdout unless --http is given. The local forge needs no account and no network;
/// `--backend github` uses GitHub, with the token in GITHUB_TOKEN or --github-token-file. Without
/// --allow-writes nothing is changed. Every write is recorded before its answer is sent.
#[derive(Debug, Args)]
pub(in crate::cli) struct GithubServeArgs {
    /// The backend that has the repositories
    #[arg(long, value_enum, default_value_t = BackendName::Local)]
    backend: BackendName,
    /// The REST API of GitHub, or https://HOST/api/v3 of an Enterprise server
    #[arg(long, value_name = "URL", default_value = PUBLIC_API)]
    api_url: String,
    /// A file with the token for GitHub; without it GITHUB_TOKEN is used
    #[arg(long, value_name = "FILE")]
    github_token_file: Option<PathBuf>,
    /// Allow only repositories that match this pattern, for example `octo-org/*` (repeatable)
    #[arg(long, value_name = "PATTERN")]
    repos: Vec<String>,
    /// The set of tools
    #[arg(long, value_enum, default_value_t = ToolSet::Standard)]
    tools: ToolSet,
    /// The maximum number of tree entries in an answer
    #[arg(long, value_name = "N", default_value_t = TREE_ENTRIES, value_parser = entries)]
    max_entries: usize,
    /// The maximum number of writes per minute and repository
    #[arg(long, value_name = "N", default_value_t = WRITES_A_MINUTE, value_parser = writes)]
    writes_per_minute: NonZeroU32,
    #[command(flatten)]
    writing: WriteArgs,
    #[command(flatten)]
    data: DataDirArgs,
    /// Listen on HTTP at /mcp instead of stdio
    #[arg(long)]
    http: bool,
    #[command(flatten)]
    listen: ListenArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// Bare git repositories in the data directory
    Local,
    /// GitHub, or an Enterprise server
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ToolSet {
    /// The fourteen tools
    Standard,
    /// Also create_branch and get_pull_request
    Extended,
}

fn entries(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MAX_TREE_ENTRIES).contains(number));
    number.ok_or_else(|| format!("give a number from 1 to {MAX_TREE_ENTRIES}"))
}

fn writes(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse();
    number.map_err(|_| {
        format!(
            "give a number from 1 to {}; without --allow-writes nothing is written",
            u32::MAX
        )
    })
}

impl GithubServeArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let lines = StderrLines::shared();
        match self.http {
            true => self.over_http(&lines),
            false => self.over_stdio(&lines),
        }
    }

    fn over_stdio(&self, lines: &StderrLines) -> Result<(), CommandError> {
        run(|stop| async {
            let server = self.server(lines).await?;
            let dispatcher = Dispatcher::new(server, system_clock(), &MetricsHub::default());
            let dispatcher = dispatcher.map_err(io::Error::other)?;
            Ok(serve_stdio(dispatcher, stop).await?)
        })
    }

    fn over_http(&self, lines: &StderrLines) -> Result<(), CommandError> {
        let admission = self.listen.admission(self.writing.bearer_file())?;
        let make = || async {
            let metrics = MetricsHub::default();
            let server = self.server(lines).await?;
            let dispatcher =
                Dispatcher::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
            let endpoint = Endpoint::new(dispatcher, Arc::clone(&admission));
            Ok(router(Arc::clone(&admission), metrics, VERSION).with("/mcp", endpoint))
        };
        self.listen.serve(make, announce)
    }

    async fn server(&self, lines: &StderrLines) -> Result<ForgeServer, CommandError> {
        let repos = allow_list(&self.repos)?;
        let forge = match self.backend {
            BackendName::Local => open_local(&self.data.forge()?).await?,
            BackendName::Github => self.github(&repos)?,
        };
        let config = Config {
            repos,
            extended: self.tools == ToolSet::Extended,
            max_entries: self.max_entries,
            writes_a_minute: self.writes_per_minute,
            ..self.writing.config()
        };
        write_options::server(forge, config, lines, &self.data.directory()?)
    }

    fn github(&self, repos: &AllowList) -> Result<Arc<dyn Forge>, CommandError> {
        let repos = repos.clone();
        let forge = GithubForge::new(GithubSettings {
            api_url: self.api_url.clone(),
            token: self.token()?,
            user_agent: format!("candor/{}", env!("CARGO_PKG_VERSION")),
            allows_repo: Arc::new(move |repo| repos.allows(repo)),
            random: Arc::new(|| fastrand::u64(..)),
            clock: system_clock(),
            timeouts: GithubTimeouts::default(),
        });
        match forge {
            Ok(forge) => Ok(Arc::new(forge)),
            Err(error) => Err(CommandError::new(error.to_string())
                .with_hint("for the form of --api-url, run:\n  candor github serve --help")),
        }
    }

    /// Returns the token for GitHub: from the file, else from the environment, else `None`.
    fn token(&self) -> Result<Option<BearerToken>, CommandError> {
        let text = match &self.github_token_file {
            Some(path) => std::fs::read_to_string(path).map_err(|error| {
                CommandError::new(format!(
                    "cannot read the token in {}: {error}",
                    path.display()
                ))
            })?,
            None => {
                // Only this crate reads the environment.
                #[allow(clippy::disallowed_methods)]
                let token = std::env::var("GITHUB_TOKEN");
                match token {
                    Ok(text) if !text.trim().is_empty() => text,
                    _ => return Ok(None),
                }
            }
        };
        let token = BearerToken::new(text.trim());
        let unusable = || {
            CommandError::new("the token for GitHub is empty or contains invalid characters")
                .with_hint("check the file of --github-token-file, or GITHUB_TOKEN")
        };
        token.map(Some).ok_or_else(unusable)
    }
}

fn announce(address: &str) {
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = writeln!(
        io::stderr(),
        "github tools listening on http://{address}/mcp"
    );
}
