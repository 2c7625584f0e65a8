//! Toolsets: which tools a server offers. The list of tools depends on this selection only.

use candor_schema::nearest;
use std::collections::BTreeSet;
use std::fmt;

/// A named group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolset {
    pub name: &'static str,
    /// The names of its tools, sorted.
    pub tools: &'static [&'static str],
}

/// The fourteen tools of the specification. They are always present.
const CORE: Toolset = Toolset {
    name: "core",
    tools: &[
        "commit_files",
        "create_pull_request",
        "fetch",
        "get_branches",
        "get_checks_for_sha",
        "get_commits",
        "get_pr_mergeability",
        "get_tree",
        "list_directory",
        "list_pull_requests",
        "merge_pull_request",
        "read_file",
        "search",
        "update_pull_request",
    ],
};

/// The tools that an agent needs from the first branch to the merged pull request.
const LOOP: Toolset = Toolset {
    name: "loop",
    tools: &[
        "add_issue_comment",
        "commit_changes",
        "compare_commits",
        "create_branch",
        "get_commit",
        "get_file_contents",
        "get_job_logs",
        "get_pull_request",
        "get_pull_request_comments",
        "revert_pull_request",
        "search_code",
        "update_pull_request_branch",
    ],
};

/// The tools for reviewers, and for authors who answer them.
const PULL_REQUESTS: Toolset = Toolset {
    name: "pull_requests",
    tools: &[
        "add_reply_to_pull_request_comment",
        "create_pull_request_review",
        "find_pull_requests",
        "request_pull_request_reviewers",
        "set_auto_merge",
    ],
};

/// The tools for issues.
const ISSUES: Toolset = Toolset {
    name: "issues",
    tools: &[
        "create_issue",
        "get_issue",
        "list_issues",
        "search_issues",
        "update_issue",
    ],
};

/// The tools on runs of workflows.
const ACTIONS: Toolset = Toolset {
    name: "actions",
    tools: &["list_workflow_runs", "rerun_failed_jobs"],
};

/// The tools on repositories as a whole.
const REPOS: Toolset = Toolset {
    name: "repos",
    tools: &[
        "create_repository",
        "delete_branch",
        "get_repository_tree",
        "list_commits",
    ],
};

/// The tools on tags and releases.
const RELEASES: Toolset = Toolset {
    name: "releases",
    tools: &["create_release", "create_tag", "list_releases", "list_tags"],
};

/// Every toolset.
pub const TOOLSETS: [Toolset; 7] = [CORE, LOOP, REPOS, PULL_REQUESTS, ISSUES, ACTIONS, RELEASES];

/// The maximum size of `tools/list` for `core`: clients put it into every prompt.
pub const MAX_CORE_LIST_BYTES: usize = 26 * 1024;

/// The maximum size of `tools/list` for `default`.
pub const MAX_DEFAULT_LIST_BYTES: usize = 48 * 1024;

/// The maximum size that each further toolset adds.
pub const MAX_TOOLSET_LIST_BYTES: usize = 12 * 1024;

/// The toolsets of `default`.
const DEFAULT: [Toolset; 2] = [CORE, LOOP];

/// The names that `--toolsets` takes beside those of toolsets.
const GROUPS: [&str; 2] = ["default", "all"];

/// The old values of `--tools`: `core`, and `core` with two tools.
const STANDARD: &str = "standard";
const EXTENDED: &str = "extended";
const EXTENDED_TOOLS: [&str; 2] = ["create_branch", "get_pull_request"];

/// The tools that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSelection(BTreeSet<&'static str>);

/// The reason why tools cannot be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSelectionError {
    UnknownToolset {
        name: String,
        near: Option<&'static str>,
    },
    UnknownTool {
        name: String,
        near: Option<&'static str>,
    },
    /// An old value of `--tools` stands beside another value or beside `--toolsets`.
    OldValueMixed(&'static str),
}

impl fmt::Display for ToolSelectionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolSelectionError::UnknownToolset { name, .. } => {
                write!(out, "there is no toolset {name:?}")
            }
            ToolSelectionError::UnknownTool { name, .. } => {
                write!(out, "there is no tool {name:?}")
            }
            ToolSelectionError::OldValueMixed(value) => write!(
                out,
                "`--tools {value}` excludes every other value and --toolsets"
            ),
        }
    }
}

impl std::error::Error for ToolSelectionError {}

impl ToolSelection {
    /// Returns the fourteen tools of the specification.
    pub fn core() -> ToolSelection {
        ToolSelection::of(&[CORE])
    }

    /// Returns every tool.
    pub fn all() -> ToolSelection {
        ToolSelection::of(&TOOLSETS)
    }

    fn of(toolsets: &[Toolset]) -> ToolSelection {
        let names = toolsets.iter().flat_map(|toolset| toolset.tools);
        ToolSelection(names.copied().collect())
    }

    /// Selects by the values of `--toolsets` and `--tools`. Every value is a list separated by commas.
    pub fn parse(
        toolsets: &[String],
        tools: &[String],
    ) -> Result<ToolSelection, ToolSelectionError> {
        let (toolsets, tools) = (entries(toolsets), entries(tools));
        let old = [STANDARD, EXTENDED].into_iter();
        if let Some(old) = old.into_iter().find(|old| tools.contains(old)) {
            return match toolsets.is_empty() && tools.len() == 1 {
                true if old == EXTENDED => Ok(ToolSelection::core().with(EXTENDED_TOOLS)),
                true => Ok(ToolSelection::core()),
                false => Err(ToolSelectionError::OldValueMixed(old)),
            };
        }
        let mut selection = match toolsets.is_empty() {
            true => ToolSelection::default(),
            false => ToolSelection::core(),
        };
        for name in toolsets {
            selection = selection.with(named_toolset(name)?);
        }
        for name in tools {
            selection = selection.with([named_tool(name)?]);
        }
        Ok(selection)
    }

    fn with(mut self, names: impl IntoIterator<Item = &'static str>) -> ToolSelection {
        self.0.extend(names);
        self
    }

    /// Returns true if the tool is selected.
    pub fn contains(&self, tool: &str) -> bool {
        self.0.contains(tool)
    }
}

impl Default for ToolSelection {
    /// Returns the selection of a server that is started without flags.
    fn default() -> Self {
        ToolSelection::of(&DEFAULT)
    }
}

/// Splits the values of a flag at commas.
fn entries(values: &[String]) -> Vec<&str> {
    let parts = values.iter().flat_map(|value| value.split(','));
    parts.map(str::trim).collect()
}

fn named_toolset(name: &str) -> Result<Vec<&'static str>, ToolSelectionError> {
    let toolsets: Vec<Toolset> = match name {
        "default" => DEFAULT.to_vec(),
        "all" => TOOLSETS.to_vec(),
        _ => TOOLSETS
            .into_iter()
            .filter(|one| one.name == name)
            .collect(),
    };
    if toolsets.is_empty() {
        let known = TOOLSETS.iter().map(|toolset| toolset.name);
        return Err(ToolSelectionError::UnknownToolset {
            name: name.to_owned(),
            near: nearest_static(name, known.chain(GROUPS)),
        });
    }
    Ok(ToolSelection::of(&toolsets).0.into_iter().collect())
}

fn named_tool(name: &str) -> Result<&'static str, ToolSelectionError> {
    let mut tools = TOOLSETS
        .iter()
        .flat_map(|toolset| toolset.tools.iter().copied());
    let known = tools.clone();
    tools
        .find(|tool| *tool == name)
        .ok_or_else(|| ToolSelectionError::UnknownTool {
            name: name.to_owned(),
            near: nearest_static(name, known),
        })
}

fn nearest_static(
    name: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> Option<&'static str> {
    let near = nearest(name, known.clone())?;
    known.into_iter().find(|one| *one == near)
}

/// Returns the toolset of a tool.
pub(crate) fn toolset_of(tool: &str) -> Option<&'static str> {
    let mut toolsets = TOOLSETS.iter();
    let found = toolsets.find(|toolset| toolset.tools.contains(&tool))?;
    Some(found.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(toolsets: &[&str], tools: &[&str]) -> Result<ToolSelection, ToolSelectionError> {
        let texts = |values: &[&str]| {
            values
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        ToolSelection::parse(&texts(toolsets), &texts(tools))
    }

    #[test]
    fn toolsets_and_tools_are_united() {
        let core = ToolSelection::core();
        let with_branch = core.clone().with(["create_branch"]);
        assert_eq!(parse(&[], &[]), Ok(ToolSelection::default()));
        assert_eq!(parse(&["core"], &[]), Ok(core.clone()));
        assert_eq!(parse(&["core"], &["create_branch"]), Ok(with_branch));
        let default = ToolSelection::of(&[CORE, LOOP]);
        assert_eq!(parse(&["loop"], &[]), Ok(default.clone()));
        for both in [&["core, loop"][..], &["core", "loop"], &["default"]] {
            assert_eq!(parse(both, &[]), Ok(default.clone()));
        }
        assert_eq!(parse(&["all"], &[]), Ok(ToolSelection::all()));
        let names = TOOLSETS.map(|toolset| toolset.name);
        assert_eq!(parse(&names, &[]), Ok(ToolSelection::all()));
        assert_eq!(parse(&[], &["search,fetch"]), Ok(ToolSelection::default()));
    }

    #[test]
    fn old_values_stay_and_stand_alone() {
        let core = ToolSelection::core();
        assert_eq!(parse(&[], &["standard"]), Ok(core.clone()));
        assert_eq!(parse(&[], &["extended"]), Ok(core.with(EXTENDED_TOOLS)));
        for (toolsets, tools, old) in [
            (&["core"][..], &["standard"][..], STANDARD),
            (&[], &["extended,search"], EXTENDED),
            (&[], &["extended", "standard"], STANDARD),
        ] {
            assert_eq!(
                parse(toolsets, tools),
                Err(ToolSelectionError::OldValueMixed(old))
            );
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        let toolset = |near| ToolSelectionError::UnknownToolset {
            name: String::from("cor"),
            near,
        };
        assert_eq!(parse(&["cor"], &[]), Err(toolset(Some("core"))));
        let tool = |name: &str, near| ToolSelectionError::UnknownTool {
            name: name.to_owned(),
            near,
        };
        assert_eq!(
            parse(&[], &["create_brnach"]),
            Err(tool("create_brnach", Some("create_branch")))
        );
        assert_eq!(parse(&[], &[""]), Err(tool("", None)));
        assert!(parse(&["Core"], &[]).is_err());
    }

    #[test]
    fn toolsets_are_sorted_and_share_no_tool() {
        let all: Vec<_> = TOOLSETS.iter().flat_map(|toolset| toolset.tools).collect();
        assert_eq!(ToolSelection::all().0.len(), all.len());
        for toolset in TOOLSETS {
            assert!(toolset.tools.is_sorted(), "{}", toolset.name);
            for tool in toolset.tools {
                assert_eq!(toolset_of(tool), Some(toolset.name));
            }
        }
    }
}
