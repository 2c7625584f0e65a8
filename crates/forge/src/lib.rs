//! The GitHub tools: fourteen of them, written once against [`Forge`], on GitHub or on local git.

mod failure;
mod faults;
mod forge;
mod model;
mod name;

pub use failure::{Answered, Denied, Failure, Missing, Step, Unmergeable, Unmet, Unreachable, Why};
pub use forge::{Answering, Forge, Turn};
pub use model::{
    Branch, Branches, Check, CheckState, Checks, Commit, Commits, Committed, Details, Directory,
    Entry, File, FileChange, Found, Item, ItemKind, MergeMethod, MergeOrder, Merged, NewFile,
    NewPull, Paging, PullChange, PullRequest, PullState, Pulls, Repository, Review, Revision,
    Signature, Tree, Wanted,
};
pub use name::RepoName;
