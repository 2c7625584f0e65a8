//! `candor serve`: everything that works without configuration, on one address.

use super::Trouble;
use super::listen::ListenArgs;
use crate::host::system_clock;
use crate::playground::Playground;
use candor_street::{Desk, Failures, MetricsHub};
use candor_wire::http::{Endpoint, router};
use clap::Args;
use std::io::{self, Write};

/// Start every server that works without configuration, over HTTP
///
/// Prints where each server is and what to try. Ends on Ctrl-C or SIGTERM, after running calls.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    listen: ListenArgs,
}

/// Where the playground is.
const PLAYGROUND: &str = "/playground/mcp";

impl ServeArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let admission = self.listen.admission()?;
        let metrics = MetricsHub::default();
        let server = Playground::new(Failures::Auto, None, false);
        let playground = Desk::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
        let bearer = admission.bearer.is_some();
        let endpoint = Endpoint::new(playground, admission.clone());
        let paths = router(admission, metrics, super::VERSION).with(PLAYGROUND, endpoint);
        self.listen
            .serve(paths, |address| announce(address, bearer))
    }
}

fn announce(address: &str, bearer: bool) {
    let bold = anstyle::Style::new().bold();
    let token = if bearer {
        " \\\n    -H \"Authorization: Bearer $TOKEN\""
    } else {
        ""
    };
    let text = format!(
        r#"{bold}candor{bold:#} on http://{address}

  playground   http://{address}{PLAYGROUND}   fails to order: every code of every dialect
  health       http://{address}/health
  metrics      http://{address}/metrics

On stdio:
  context      context serve --root DIR   documents within a token budget; `context build` makes caches
               {{"mcpServers":{{"context":{{"command":"context","args":["serve","--root","DIR"]}}}}}}

The servers github, workspace and orders are not built yet.

Try:
  curl -s http://{address}{PLAYGROUND}{token} \
    -H 'Content-Type: application/json' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"fail","arguments":{{"dialect":"orders","code":3001}}}}}}'

For an MCP client:
  {{"mcpServers":{{"candor-playground":{{"type":"http","url":"http://{address}{PLAYGROUND}"}}}}}}

"#
    );
    // Where stderr is gone there is nobody to tell.
    let _ = anstream::stderr().write_all(text.as_bytes());
}
