//! `candor context serve`: serves the caches below a root to agents.

use super::{CommonArgs, now};
use crate::cli::CommandError;
use crate::host::stdio_server;
use candor_context::{ChangeDetection, ContextServer, Location};
use candor_street::ToolNames;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

/// Serve the caches below a directory over MCP, on stdin and stdout
///
/// The tools are context.resolve, context.list_caches and context.inspect_cache. The server only reads
/// and needs no network, and no environment variable changes an answer.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextServeArgs {
    /// The directory that contains the caches; nothing outside it can be reached
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Also offer the tool context.passages
    #[arg(long)]
    passages: bool,
    /// The names of the tools in their list; calls may use both
    #[arg(long, value_name = "STYLE", value_enum, default_value_t = ToolNameStyle::Own)]
    tool_names: ToolNameStyle,
    /// Check every file before every answer, instead of watching the directories
    #[arg(long)]
    no_watch: bool,
}

/// The style of tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToolNameStyle {
    /// context.resolve
    Own,
    /// context_resolve, for clients that refuse dots
    Underscore,
}

impl From<ToolNameStyle> for ToolNames {
    fn from(style: ToolNameStyle) -> ToolNames {
        match style {
            ToolNameStyle::Own => ToolNames::Own,
            ToolNameStyle::Underscore => ToolNames::Underscore,
        }
    }
}

impl ContextServeArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let common = CommonArgs::text();
        let location = common.run(|_| Location::below(&self.root))?;
        let noticing = match self.no_watch {
            true => ChangeDetection::Compare,
            false => ChangeDetection::Watch,
        };
        let server = ContextServer::new(location, Arc::new(now), noticing)
            .with_tool_names(self.tool_names.into());
        Ok(stdio_server(match self.passages {
            true => server.with_passages(),
            false => server,
        })?)
    }
}
