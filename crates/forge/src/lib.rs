//! The GitHub tools: fourteen of them, written once against [`Forge`], on GitHub or on local git.

mod allow_list;
mod attempts;
pub mod dialect;
mod failure;
mod failure_line;
mod faults;
mod fields;
mod forge;
pub mod github;
pub mod local;
mod model;
mod notes;
mod repo_name;
mod server;
mod tools;
mod wildcard;
mod write_log;

pub use allow_list::AllowList;
pub use dialect::REGISTRY;
pub use failure::{
    DenialReason, Failure, GithubErrorResponse, MissingItem, RequestKind, UnmergeablePull,
    UnmergeableReason, UnmetPrecondition, UnreachableReason,
};
pub use failure_line::LINE_MESSAGE_CHARS;
pub use faults::FOREIGN_WORDS_CHARS;
pub use forge::{BackendContext, BackendFuture, Forge};
pub use local::LocalForge;
pub use model::{
    Branch, BranchPage, CheckState, Commit, CommitCheck, CommitChecks, CommitPage, CommitPerson,
    CreatedCommit, Directory, DirectoryItem, File, ItemKind, MergeInstruction, MergeMethod,
    MergedPull, NewFile, NewPullRequest, Paging, PullDetails, PullFileChange, PullFilter, PullPage,
    PullRequest, PullRequestChange, PullState, Repository, RepositoryPage, Review, Revision, Tree,
    TreeItem,
};
pub use repo_name::RepoName;
pub use server::{
    Config, ForgeServer, LineSink, MAX_LIMITED_REPOS, MAX_TREE_ENTRIES, READ_DEADLINE,
    TREE_ENTRIES, WRITE_DEADLINE, WRITES_A_MINUTE,
};
pub use tools::{MAX_FILE_BYTES, MAX_PATCH_BYTES, MAX_README_BYTES};
pub use write_log::{WriteLog, WriteLogError, open_writes};
