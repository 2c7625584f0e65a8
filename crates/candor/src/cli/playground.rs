//! `candor playground`: the server that fails on demand.

use super::CommandError;
use super::failure_form::FailureFormArg;
use super::listen::ListenArgs;
use crate::host::{stdio_server, system_clock};
use crate::playground::Playground;
use candor_street::{Dispatcher, MetricsHub};
use candor_wire::http::{Endpoint, router};
use clap::Args;
use std::future::ready;
use std::io::{self, Write};
use std::time::Duration;

/// Start a server that fails on demand, for authors of clients
///
/// Tools: echo, fail (every code of every dialect), flaky (a script of successes and failures), hang,
/// panic, flood. On stdio unless --http is given.
#[derive(Debug, Args)]
pub(super) struct PlaygroundArgs {
    /// Listen on HTTP at /mcp instead of stdio
    #[arg(long)]
    http: bool,
    /// The form of failures in dialects that have two
    #[arg(long, value_enum, default_value_t = FailureFormArg::Auto)]
    failures: FailureFormArg,
    /// The deadline of every call, in milliseconds
    #[arg(long, value_name = "MS")]
    deadline_ms: Option<u64>,
    /// Also offer the fixtures of the MCP conformance suite
    #[arg(long)]
    conformance: bool,
    #[command(flatten)]
    listen: ListenArgs,
}

impl PlaygroundArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let deadline = self.deadline_ms.map(Duration::from_millis);
        let server = Playground::new(self.failures.into(), deadline, self.conformance);
        if !self.http {
            return Ok(stdio_server(server)?);
        }
        let admission = self.listen.admission(None)?;
        let metrics = MetricsHub::default();
        let dispatcher =
            Dispatcher::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
        let endpoint = Endpoint::new(dispatcher, admission.clone());
        let paths = router(admission, metrics, super::VERSION).with("/mcp", endpoint);
        self.listen.serve(|| ready(Ok(paths)), announce)
    }
}

fn announce(address: &str) {
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = writeln!(io::stderr(), "playground listening on http://{address}/mcp");
}
