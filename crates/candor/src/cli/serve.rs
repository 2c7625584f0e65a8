//! `candor serve`: all servers that need no configuration, on one address.

use super::data_dir::DataDirArgs;
use super::github::{self, ToolArgs, WriteArgs};
use super::listen::ListenArgs;
use super::orders::{self, ORDERS, ORDERS_NAME, readiness_check};
use super::{CommandError, VERSION};
use crate::host::system_clock;
use crate::playground::Playground;
use crate::stderr_lines::StderrLines;
use candor_street::{Dispatcher, FailureForm, MetricsHub};
use candor_wire::http::{Admission, Endpoint, HttpPaths, router};
use candor_workspace::visible_text;
use clap::Args;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Start every server that works without configuration, over HTTP
///
/// Prints the URL of each server and a command to try. Ends on Ctrl-C or SIGTERM, after running calls.
#[derive(Debug, Args)]
pub(super) struct ServeAllArgs {
    #[command(flatten)]
    listen: ListenArgs,
    #[command(flatten)]
    data: DataDirArgs,
    #[command(flatten)]
    tools: ToolArgs,
    #[command(flatten)]
    writing: WriteArgs,
}

/// The path of the GitHub tools.
const GITHUB: &str = "/mcp";

/// The path of the playground.
const PLAYGROUND: &str = "/playground/mcp";

impl ServeAllArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let admission = self.listen.admission(self.writing.bearer_file())?;
        let lines = StderrLines::shared();
        let make = || self.paths(&lines, admission);
        let token = self.listen.bearer_file();
        self.listen.serve(make, |address| announce(address, token))
    }

    async fn paths(
        &self,
        lines: &StderrLines,
        admission: Arc<Admission>,
    ) -> Result<HttpPaths, CommandError> {
        let metrics = MetricsHub::default();
        let config = self.tools.configure(self.writing.config())?;
        let forge = github::open_local(&self.data.forge()?).await?;
        let server = github::server(forge, config, lines, &self.data.directory()?)?;
        let tools = Dispatcher::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
        let playground = Playground::new(FailureForm::Auto, None, false);
        let playground =
            Dispatcher::new(playground, system_clock(), &metrics).map_err(io::Error::other)?;
        let orders = orders::open_in_data_dir(&self.data).await?;
        let orders = orders::server(orders, self.orders(), &metrics);
        let orders = Dispatcher::new(orders, system_clock(), &metrics).map_err(io::Error::other)?;
        let ready = readiness_check(&orders);
        let orders = Endpoint::new(orders, Arc::clone(&admission));
        let tools = Endpoint::new(tools, Arc::clone(&admission));
        let playground = Endpoint::new(playground, Arc::clone(&admission));
        Ok(router(admission, metrics, VERSION)
            .with(GITHUB, tools)
            .with(ORDERS, orders)
            .with(PLAYGROUND, playground)
            .with_readiness(ORDERS_NAME, ready))
    }
}

impl ServeAllArgs {
    fn orders(&self) -> candor_orders::Config {
        candor_orders::Config {
            failures: self.writing.config().failures,
            ..candor_orders::Config::default()
        }
    }
}

/// Prints the addresses and how to use them. The token itself is never printed, only the name of its file.
fn announce(address: &str, token_file: Option<&Path>) {
    let bold = anstyle::Style::new().bold();
    let (token, headers, place) = match token_file {
        None => ("", "", String::new()),
        Some(file) => (
            " \\\n    -H \"Authorization: Bearer $TOKEN\"",
            r#","headers":{"Authorization":"Bearer YOUR_TOKEN"}"#,
            format!(
                "The token is in {}; put it in place of YOUR_TOKEN and of $TOKEN.\n\n",
                visible_text(&file.display().to_string())
            ),
        ),
    };
    let text = format!(
        r#"{bold}candor{bold:#} on http://{address}

  github       http://{address}{GITHUB}   tools on git repositories of this machine; try sample/hello
  orders       http://{address}{ORDERS}   twelve tools on orders; this endpoint changes data in its own database
  playground   http://{address}{PLAYGROUND}   fails on demand: every code of every dialect
  health       http://{address}/health
  metrics      http://{address}/metrics

On stdio:
  context      candor context serve       documents within a token budget; build a cache with `candor context build`
               {{"mcpServers":{{"context":{{"command":"candor","args":["context","serve","DIR"]}}}}}}
  github       candor github serve        the same tools; `--backend github` uses GitHub
               {{"mcpServers":{{"github":{{"command":"candor","args":["github","serve"]}}}}}}
  orders       candor orders serve        the same tools; `--database postgres://…` for several servers
               {{"mcpServers":{{"orders":{{"command":"candor","args":["orders","serve"]}}}}}}
  workspace    candor workspace serve     governed edits of the files below DIR; start with `candor workspace init`
               {{"mcpServers":{{"workspace":{{"command":"candor","args":["workspace","serve","--role","executor","--root","DIR"]}}}}}}

Try:
  curl -s http://{address}{GITHUB}{token} \
    -H 'Content-Type: application/json' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"read_file","arguments":{{"repo":"sample/hello","path":"README.md"}}}}}}'

For an MCP client:
  {{"mcpServers":{{"candor-github":{{"type":"http","url":"http://{address}{GITHUB}"{headers}}},"candor-orders":{{"type":"http","url":"http://{address}{ORDERS}"{headers}}}}}}}

{place}"#
    );
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = anstream::stderr().write_all(text.as_bytes());
}
