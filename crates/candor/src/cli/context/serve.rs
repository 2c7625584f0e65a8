//! `candor context serve`: serves caches to agents.

use super::build::created_at;
use super::{CommonArgs, any_path, now};
use crate::cli::CommandError;
use crate::host::stdio_server;
use candor_context::{
    Catalogue, ChangeDetection, ContextServer, DEFAULT_CACHE, EmptyDirectory, Location,
    ReadingServer, UpdateSettings,
};
use candor_street::ToolNames;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

/// Serve caches over MCP, on stdin and stdout
///
/// The tools are context_search, context_get and context_list. They only read and need no network, and
/// no environment variable changes an answer. With --root the server has the tools of version 0 instead:
/// context.resolve, context.list_caches and context.inspect_cache.
#[derive(Debug, Args)]
pub(in crate::cli) struct ContextServeArgs {
    /// Caches, or directories that contain caches [default: .context]
    #[arg(value_name = "PATH", value_parser = any_path(), conflicts_with_all = ["root", "passages", "tool_names"])]
    paths: Vec<PathBuf>,
    /// Serve version 0 for the caches below this directory; nothing outside it can be reached
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// With --root: also offer the tool context.passages
    #[arg(long, requires = "root")]
    passages: bool,
    /// With --root: the names of the tools in their list; calls may use both
    #[arg(long, value_name = "STYLE", value_enum, requires = "root")]
    tool_names: Option<ToolNameStyle>,
    /// Update the caches when their sources change, by what `build` has recorded
    ///
    /// The updates run in the background, so that no call waits for them. A cache without a record is
    /// served as it is.
    #[arg(long, conflicts_with = "root")]
    update: bool,
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
        match &self.root {
            Some(root) => {
                let location = CommonArgs::text().run(|_| Location::below(root))?;
                self.serve_root(location)
            }
            None => self.serve_paths(),
        }
    }

    /// Serves version 0.
    fn serve_root(&self, location: Location) -> Result<(), CommandError> {
        let names = self.tool_names.unwrap_or(ToolNameStyle::Own);
        let server = ContextServer::new(location, Arc::new(now), self.change_detection())
            .with_tool_names(names.into());
        Ok(stdio_server(match self.passages {
            true => server.with_passages(),
            false => server,
        })?)
    }

    /// Serves version 1.
    fn serve_paths(&self) -> Result<(), CommandError> {
        let paths = match self.paths.as_slice() {
            [] => vec![PathBuf::from(DEFAULT_CACHE)],
            paths => paths.to_vec(),
        };
        let catalogue = Catalogue::new(
            Location::Anywhere,
            paths,
            EmptyDirectory::Served,
            Arc::new(now),
            self.change_detection(),
        );
        let common = CommonArgs::text();
        catalogue.verify().map_err(|flaw| common.path_error(flaw))?;
        if !self.update {
            return Ok(stdio_server(ReadingServer::new(catalogue))?);
        }
        // A wrong variable is reported before anything starts; it does not change afterwards.
        created_at()?;
        let settings = UpdateSettings {
            detection: self.change_detection(),
            clock: Arc::new(now),
            created_at: || created_at().unwrap_or_else(|_| now()),
            random: || fastrand::u64(..),
        };
        let (server, follower) = ReadingServer::following(catalogue, settings)?;
        let ended = stdio_server(server);
        follower.end();
        Ok(ended?)
    }

    fn change_detection(&self) -> ChangeDetection {
        match self.no_watch {
            true => ChangeDetection::Compare,
            false => ChangeDetection::Watch,
        }
    }
}
