//! `candor github serve`: serves the GitHub tools on GitHub or on the local forge.

use super::authentication::AuthenticationArgs;
use super::open_local;
use super::tool_options::ToolArgs;
use super::write_options::{self, WriteArgs};
use crate::cli::data_dir::DataDirArgs;
use crate::cli::listen::ListenArgs;
use crate::cli::{CommandError, VERSION};
use crate::host::{run, serve_stdio, system_clock};
use crate::stderr_lines::StderrLines;
use candor_forge::github::{GithubForge, GithubSettings, GithubTimeouts, PUBLIC_API};
use candor_forge::{AllowList, Forge, ForgeServer};
use candor_street::{Dispatcher, MetricsHub};
use candor_wire::http::{Endpoint, router};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::sync::Arc;

/// Serve the GitHub tools over MCP
///
/// Uses stdin and stdout unless --http is given. The local forge needs no account and no network;
/// `--backend github` uses GitHub, with the token in GITHUB_TOKEN or --github-token-file, as a GitHub
/// app, or with the token of each request. Without --allow-writes nothing is changed. Every write is
/// recorded before its answer is sent.
#[derive(Debug, Args)]
pub(in crate::cli) struct GithubServeArgs {
    /// The backend that has the repositories
    #[arg(long, value_enum, default_value_t = BackendName::Local)]
    backend: BackendName,
    /// The REST API of GitHub, or https://HOST/api/v3 of an Enterprise server
    #[arg(long, value_name = "URL", default_value = PUBLIC_API)]
    api_url: String,
    #[command(flatten)]
    authentication: AuthenticationArgs,
    #[command(flatten)]
    tools: ToolArgs,
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
        let admission = match self.authentication.is_from_request() {
            true => self.listen.admission_passing_tokens_on(),
            false => self.listen.admission(self.writing.bearer_file())?,
        };
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
        let config = self.tools.configure(self.writing.config())?;
        let forge = match self.backend {
            BackendName::Local => {
                self.authentication.check_local()?;
                open_local(&self.data.forge()?).await?
            }
            BackendName::Github => self.github(&config.repos)?,
        };
        write_options::server(forge, config, lines, &self.data.directory()?)
    }

    fn github(&self, repos: &AllowList) -> Result<Arc<dyn Forge>, CommandError> {
        let repos = repos.clone();
        let forge = GithubForge::new(GithubSettings {
            api_url: self.api_url.clone(),
            authentication: self.authentication.source()?,
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
}

fn announce(address: &str) {
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = writeln!(
        io::stderr(),
        "github tools listening on http://{address}/mcp"
    );
}
