//! Options of every command that serves the GitHub tools: which tools, on which repositories, and how
//! much of a tree they show.

use crate::cli::CommandError;
use candor_forge::{
    AllowList, Config, MAX_TREE_ENTRIES, TOOLSETS, TREE_ENTRIES, ToolSelection, ToolSelectionError,
};
use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ToolArgs {
    /// Allow the GitHub tools only repositories that match this pattern, for example `octo-org/*`
    /// (repeatable)
    #[arg(long, value_name = "PATTERN")]
    repos: Vec<String>,
    /// The sets of GitHub tools, separated by commas: core, loop, repos, pull_requests, issues,
    /// actions, releases, default (core and loop) or all (repeatable; core is always present)
    #[arg(long, value_name = "LIST")]
    toolsets: Vec<String>,
    /// Further GitHub tools by name, separated by commas (repeatable); `standard` alone is
    /// `--toolsets core`, `extended` alone adds create_branch and get_pull_request to it
    #[arg(long, value_name = "LIST")]
    tools: Vec<String>,
    /// The maximum number of tree entries in an answer of the GitHub tools
    #[arg(long, value_name = "N", default_value_t = TREE_ENTRIES, value_parser = entries)]
    max_entries: usize,
}

fn entries(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MAX_TREE_ENTRIES).contains(number));
    number.ok_or_else(|| format!("give a number from 1 to {MAX_TREE_ENTRIES}"))
}

impl ToolArgs {
    /// Adds what these arguments set to a configuration.
    pub(in crate::cli) fn configure(&self, config: Config) -> Result<Config, CommandError> {
        Ok(Config {
            repos: self.allow_list()?,
            tools: self.selection()?,
            max_entries: self.max_entries,
            ..config
        })
    }

    /// Parses the patterns of `--repos`.
    fn allow_list(&self) -> Result<AllowList, CommandError> {
        let mut list = AllowList::default();
        for pattern in &self.repos {
            list = list.with_pattern(pattern).ok_or_else(|| {
                CommandError::new(format!("`{pattern}` is not a pattern of repositories"))
                    .with_hint(
                        "write owner/name, in which * matches any text: --repos 'octo-org/*'",
                    )
            })?;
        }
        Ok(list)
    }

    fn selection(&self) -> Result<ToolSelection, CommandError> {
        let selected = ToolSelection::parse(&self.toolsets, &self.tools);
        selected.map_err(|error| {
            let hint = selection_hint(&error);
            CommandError::new(error.to_string()).with_hint(hint)
        })
    }
}

fn selection_hint(error: &ToolSelectionError) -> String {
    match error {
        ToolSelectionError::UnknownToolset {
            near: Some(near), ..
        }
        | ToolSelectionError::UnknownTool {
            near: Some(near), ..
        } => format!("did you mean `{near}`?"),
        ToolSelectionError::UnknownToolset { .. } => {
            let names: Vec<_> = TOOLSETS.iter().map(|toolset| toolset.name).collect();
            format!("the toolsets are {}, default and all", names.join(", "))
        }
        ToolSelectionError::UnknownTool { .. } => {
            String::from("for the names of all tools, see docs/github.md")
        }
        ToolSelectionError::OldValueMixed(_) => {
            String::from("name toolsets and tools instead: --toolsets core --tools create_branch")
        }
    }
}
