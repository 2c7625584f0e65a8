//! The GitHub tools: fourteen of them, written once against [`Forge`], on GitHub or on local git.

mod allow;
mod attempts;
pub mod dialect;
mod failure;
mod faults;
mod fields;
mod forge;
pub mod github;
mod line;
pub mod local;
mod model;
mod name;
mod server;
mod tools;
mod wildcard;
mod writes;

pub use allow::AllowList;
pub use dialect::REGISTRY;
pub use failure::{Answered, Denied, Failure, Missing, Step, Unmergeable, Unmet, Unreachable, Why};
pub use faults::FOREIGN_WORDS_CHARS;
pub use forge::{Answering, Forge, Turn};
pub use line::LINE_MESSAGE_CHARS;
pub use local::LocalForge;
pub use model::{
    Branch, Branches, Check, CheckState, Checks, Commit, Commits, Committed, Details, Directory,
    Entry, File, FileChange, Found, Item, ItemKind, MergeMethod, MergeOrder, Merged, NewFile,
    NewPull, Paging, PullChange, PullRequest, PullState, Pulls, Repository, Review, Revision,
    Signature, Tree, Wanted,
};
pub use name::RepoName;
pub use server::{
    Config, ForgeServer, LineSink, MAX_LIMITED_REPOS, MAX_TREE_ENTRIES, READ_DEADLINE,
    TREE_ENTRIES, WRITE_DEADLINE, WRITES_A_MINUTE,
};
pub use tools::{FILE_MAX, PATCHES_MAX, README_MAX};
pub use writes::{Unopened, WriteLog, open_writes};
