//! What the stub answers unless a test says otherwise.

use candor_forge::{
    Branch, Branches, Check, CheckState, Checks, Commit, Commits, Committed, Details, Directory,
    Entry, Failure, File, FileChange, Found, Item, ItemKind, Merged, PullRequest, PullState, Pulls,
    RepoName, Repository, Review, Signature, Tree,
};
use std::collections::{BTreeMap, VecDeque};

/// The head of every pull request.
pub(crate) const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

/// The commit of everything that is made.
pub(crate) const MADE: &str = "fedcba9876543210fedcba9876543210fedcba98";

/// Where a method of the backend stands still until it is told to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    /// Before its change began.
    Before,
    /// After its change began.
    Begun,
    /// Nowhere: it panics after its change began, or where a read would answer.
    Panics,
}

/// Everything that the stub knows.
pub(crate) struct World {
    /// The states of the pull request, one a look; the last stays.
    pub(crate) pulls: VecDeque<PullRequest>,
    pub(crate) repository: Repository,
    pub(crate) found: Vec<Repository>,
    pub(crate) readme: Option<(Vec<u8>, bool)>,
    pub(crate) file: Vec<u8>,
    pub(crate) items: Vec<Item>,
    pub(crate) tree: Tree,
    pub(crate) checks: Vec<Check>,
    pub(crate) signature: Option<Signature>,
    /// Methods that fail.
    pub(crate) failing: BTreeMap<&'static str, Failure>,
    /// Methods that stand still.
    pub(crate) standing: BTreeMap<&'static str, Stands>,
    /// Whether a write that fails leaves open what it did.
    pub(crate) failing_midway: bool,
}

pub(crate) fn repo(name: &str) -> RepoName {
    RepoName::read(name).unwrap()
}

pub(crate) fn repository(name: &str) -> Repository {
    Repository {
        name: repo(name),
        description: Some(String::from("A cat.")),
        default_branch: String::from("main"),
        stars: 7,
        language: None,
        url: format!("https://forge.test/{name}"),
    }
}

pub(crate) fn pull() -> PullRequest {
    PullRequest {
        number: 7,
        title: String::from("Purr"),
        body: None,
        state: PullState::Open,
        draft: false,
        merged: false,
        head: String::from("topic"),
        head_repo: Some(repo("octo/cat")),
        head_sha: String::from(HEAD),
        base: String::from("main"),
        mergeable: Some(true),
        mergeable_state: Some(String::from("clean")),
        author: None,
        created_at: String::from("2025-10-12T15:49:21Z"),
        updated_at: String::from("2025-10-12T15:49:21Z"),
        url: String::from("https://forge.test/octo/cat/pull/7"),
        node_id: None,
    }
}

pub(crate) fn check(name: &str, state: CheckState) -> Check {
    Check {
        name: name.to_owned(),
        state,
        conclusion: format!("{state:?}").to_lowercase(),
        url: None,
    }
}

pub(crate) fn item(name: &str) -> Item {
    Item {
        name: name.to_owned(),
        kind: ItemKind::File,
        path: format!("src/{name}"),
        size: 3,
        url: format!("https://forge.test/octo/cat/src/{name}"),
    }
}

pub(crate) fn entry(path: &str) -> Entry {
    Entry {
        path: path.to_owned(),
        kind: "blob",
        size: Some(3),
        mode: String::from("100644"),
    }
}

impl Default for World {
    fn default() -> Self {
        World {
            pulls: VecDeque::from([pull()]),
            repository: repository("octo/cat"),
            found: vec![repository("octo/cat")],
            readme: Some((b"# Cat\n".to_vec(), false)),
            file: b"fn main() {}\n".to_vec(),
            items: vec![item("a.rs")],
            tree: Tree {
                at: String::from("main"),
                sha: String::from(MADE),
                total: 1,
                truncated: false,
                entries: vec![entry("src/a.rs")],
            },
            checks: vec![
                check("build", CheckState::Passed),
                check("lint", CheckState::Failed),
                check("slow", CheckState::Pending),
            ],
            signature: None,
            failing: BTreeMap::new(),
            standing: BTreeMap::new(),
            failing_midway: false,
        }
    }
}

impl World {
    /// The pull request as it is now; the next look may find another.
    pub(crate) fn look(&mut self) -> PullRequest {
        match self.pulls.len() {
            1 => self.pulls[0].clone(),
            _ => self.pulls.pop_front().unwrap(),
        }
    }

    pub(crate) fn found(&self) -> Found {
        Found {
            repositories: self.found.clone(),
            total_count: 1_000,
            incomplete: false,
        }
    }

    pub(crate) fn directory(&self) -> Directory {
        Directory {
            at: String::from("main"),
            items: self.items.clone(),
        }
    }

    pub(crate) fn file(&self) -> File {
        File {
            at: String::from("main"),
            bytes: self.file.clone(),
            url: String::from("https://forge.test/octo/cat/file"),
        }
    }

    pub(crate) fn commits(&self) -> Commits {
        let commit = Commit {
            sha: String::from(HEAD),
            message: String::from("Purr"),
            author: self.signature.clone(),
            committer: self.signature.clone(),
            parents: vec![String::from(MADE)],
            url: String::from("https://forge.test/octo/cat/commit"),
        };
        Commits {
            commits: vec![commit],
            more: true,
        }
    }

    pub(crate) fn branch(&self, name: &str) -> Branch {
        Branch {
            name: name.to_owned(),
            protected: false,
            sha: String::from(HEAD),
        }
    }

    pub(crate) fn branches(&self) -> Branches {
        Branches {
            branches: vec![self.branch("main")],
            default: String::from("main"),
            more: false,
        }
    }

    pub(crate) fn pulls(&self) -> Pulls {
        Pulls {
            pulls: self.pulls.iter().cloned().collect(),
            more: false,
        }
    }

    pub(crate) fn checks(&self) -> Checks {
        Checks {
            sha: String::from(HEAD),
            checks: self.checks.clone(),
        }
    }

    pub(crate) fn merged(&self) -> Merged {
        Merged {
            sha: String::from(MADE),
        }
    }

    pub(crate) fn committed(&self) -> Committed {
        Committed {
            sha: String::from(MADE),
            parent: String::from(HEAD),
            url: String::from("https://forge.test/octo/cat/commit"),
        }
    }

    pub(crate) fn details(&self) -> Details {
        Details {
            reviews: vec![Review {
                author: None,
                state: String::from("APPROVED"),
                body: String::new(),
            }],
            files: vec![FileChange {
                path: String::from("a"),
                status: String::from("modified"),
                additions: 1,
                deletions: 0,
                patch: None,
            }],
            truncated: false,
        }
    }
}
