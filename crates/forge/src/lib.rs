//! The GitHub tools, written once against [`Forge`], on GitHub or on local git.

mod allow_list;
mod attempts;
mod change_forge;
mod change_model;
mod change_plan;
mod comparison_model;
pub mod dialect;
mod discussion_forge;
mod discussion_model;
mod failure;
mod failure_line;
mod faults;
mod fields;
mod foreign_names;
mod forge;
pub mod github;
mod history_forge;
mod issue_forge;
mod issue_model;
mod job_forge;
mod job_model;
pub mod local;
mod model;
mod notes;
mod repo_name;
mod repository_forge;
mod repository_model;
mod search_model;
mod server;
mod token_digest;
mod tools;
mod toolsets;
mod wildcard;
mod write_log;

pub use allow_list::AllowList;
pub use change_forge::ChangeForge;
pub use change_model::{
    CommitInstruction, CommittedChanges, Conflict, ConflictKind, ConflictReport, PathChange,
    PathOperation, RevertInstruction, UpdatedBranch,
};
pub use change_plan::MAX_OCCURRENCES;
pub use comparison_model::{
    CommitDetails, ComparedRevisions, Comparison, ComparisonStatus, FileChange, FileChanges,
};
pub use dialect::REGISTRY;
pub use discussion_forge::DiscussionForge;
pub use discussion_model::{
    AutoMerge, Comment, CommentKind, CommentPage, DiffSide, FoundPulls, LineComment,
    MAX_FILTERED_PULLS, NewReview, PullAttributes, PullQuery, RequestedReviewers, ReviewDecision,
    ReviewEvent, SubmittedReview,
};
pub use failure::{
    DamagedItem, DenialReason, Failure, GithubErrorResponse, MissingItem, RequestKind,
    UnmergeablePull, UnmergeableReason, UnmetPrecondition, UnreachableReason,
};
pub use failure_line::LINE_MESSAGE_CHARS;
pub use faults::FOREIGN_WORDS_CHARS;
pub use forge::{BackendContext, BackendFuture, Forge};
pub use history_forge::{HistoryForge, MAX_COMPARED_FILES};
pub use issue_forge::IssueForge;
pub use issue_model::{
    Issue, IssueChange, IssueDetails, IssueKind, IssueMatch, IssueMatches, IssuePage, IssueQuery,
    LAST_COMMENTS, NewIssue, StateReason,
};
pub use job_forge::{JobForge, MAX_JOBS, MAX_LOG_TAIL_BYTES};
pub use job_model::{
    JobLog, JobLogs, JobSelector, LogGap, RawLog, RepeatedRun, RerunTarget, RunFilter, RunPage,
    WorkflowRun,
};
pub use local::LocalForge;
pub use model::{
    Branch, BranchPage, CheckSource, CheckState, Commit, CommitCheck, CommitChecks, CommitPage,
    CommitPerson, CreatedCommit, Directory, DirectoryItem, File, ItemKind, MergeInstruction,
    MergeMethod, MergedPull, NewFile, NewPullRequest, Paging, PullDetails, PullFileChange,
    PullFilter, PullPage, PullRequest, PullRequestChange, PullState, Repository, RepositoryPage,
    Review, Revision, Tree, TreeItem,
};
pub use repo_name::RepoName;
pub use repository_forge::{ReleaseForge, RepositoryForge};
pub use repository_model::{
    CommitFilter, CreatedTag, FilteredCommits, NewRelease, NewRepository, NewTag, Release,
    ReleasePage, Tag, TagPage,
};
pub use search_model::{
    CodeMatch, CodePage, CodeQuery, CodeResult, MAX_FILE_MATCHES, MAX_MATCH_CHARS,
};
pub use server::{
    Config, ForgeServer, LineSink, MAX_LIMITED_REPOS, MAX_TREE_ENTRIES, READ_DEADLINE,
    TREE_ENTRIES, WRITE_DEADLINE, WRITES_A_MINUTE,
};
pub use token_digest::CALLER_DIGITS;
pub use tools::{
    MAX_ANSWER_BYTES, MAX_CHANGES, MAX_FILE_BYTES, MAX_JOB_LOG_BYTES, MAX_LINES_BYTES,
    MAX_LOG_BYTES, MAX_LOG_LINES, MAX_PATCH_BYTES, MAX_README_BYTES, MAX_REVIEW_COMMENTS,
    MAX_TEXT_BYTES,
};
pub use toolsets::{
    MAX_CORE_LIST_BYTES, MAX_DEFAULT_LIST_BYTES, MAX_TOOLSET_LIST_BYTES, TOOLSETS, ToolSelection,
    ToolSelectionError, Toolset,
};
pub use write_log::{WriteLog, WriteLogError, open_writes};
