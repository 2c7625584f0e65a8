//! Creates a forge with a sample repository, which has the same commits everywhere.

use super::Identity;
use super::database::{self, Database};
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::import::WHAT;
use super::pull_head;
use super::repository_root::{OpenRepository, RepositoryRoot};
use super::revision::branch_ref;
use super::statuses;
use super::stored_pulls::{self, StoredPull, StoredState};
use crate::{CheckState, Failure, NewFile, RepoName};
use candor_fault::{Cause, Timestamp};
use git2::Oid;
use std::fs;
use std::path::Path;

const NAME: &str = "sample/hello";
const DESCRIPTION: &str = "A small repository to try the tools on\n";

/// 2025-01-01T00:00:00Z. Each commit is an hour after the one before.
const START: i64 = 1_735_689_600;
const HOUR: i64 = 3600;

/// A commit of the sample: its branch, the branch that it starts at, its message, its files.
type SampleCommit = (
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const STEPS: [SampleCommit; 5] = [
    (
        "main",
        None,
        "Say hello",
        &[
            ("README.md", "# hello\n\nSays hello.\n"),
            ("docs/guide.md", "# Guide\n\nRun it, and it says hello.\n"),
            ("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
        ],
    ),
    (
        "conflict",
        Some("main"),
        "Say who is greeted",
        &[("README.md", "# hello\n\nSays hello to everybody.\n")],
    ),
    (
        "main",
        None,
        "Say how hello is said",
        &[("README.md", "# hello\n\nSays hello, loudly.\n")],
    ),
    (
        "feature/greeting",
        Some("main"),
        "Greet by name",
        &[(
            "src/main.rs",
            "fn main() {\n    let name = \"you\";\n    println!(\"hello, {name}\");\n}\n",
        )],
    ),
    (
        "draft/guide",
        Some("main"),
        "Begin a longer guide",
        &[(
            "docs/guide.md",
            "# Guide\n\nRun it, and it says hello.\n\n## More\n",
        )],
    ),
];

/// A pull request of the sample: its branch, its title, its description, whether it is a draft.
const PULLS: [(&str, &str, Option<&str>, bool); 3] = [
    (
        "feature/greeting",
        "Greet by name",
        Some("Says hello to somebody."),
        false,
    ),
    ("conflict", "Say who is greeted", None, false),
    ("draft/guide", "A longer guide", None, true),
];

/// Creates a forge with a sample repository in a directory that is empty or absent. Returns false if
/// there is a forge already, which is not changed.
pub async fn init(dir: &Path) -> Result<bool, LocalForgeError> {
    fs::create_dir_all(dir).or_broken("the directory could not be made")?;
    let mut entries = fs::read_dir(dir).or_broken("the directory could not be read")?;
    if !dir.join(database::FILE).is_file() && entries.next().is_some() {
        return Err(LocalForgeError::NotEmpty(dir.to_path_buf()));
    }
    let database = Database::create(dir).await?;
    let mut reading = database.read().await?;
    let created = database::fact(&mut reading, "sample").await?.is_some();
    drop(reading);
    if !created {
        let root = RepositoryRoot::new(dir.to_path_buf())?;
        let heads = run_blocking(move || Ok(repository(&root))).await??;
        record(&database, &heads).await?;
    }
    database.close().await;
    Ok(!created)
}

fn name() -> Result<RepoName, Failure> {
    RepoName::parse(NAME)
        .ok_or_else(|| Failure::Broken(WHAT, Cause::from("the sample has no name")))
}

fn author() -> Identity {
    Identity {
        name: "Sample".to_owned(),
        email: "sample@example.com".to_owned(),
    }
}

/// Creates the sample repository and returns the heads of its pull requests.
fn repository(root: &RepositoryRoot) -> Result<Vec<Oid>, LocalForgeError> {
    let location = match root.find(&name()?) {
        // Left by an interrupted run that did not write the database.
        Ok(location) => location,
        Err(Failure::Missing(_)) => root.make(&name()?, fill)?,
        Err(failure) => return Err(failure.into()),
    };
    let opened = root.open_at(location)?;
    let head = |branch: &str| {
        let head = opened.branch(branch)?;
        head.ok_or_else(|| Failure::Broken(WHAT, Cause::from("the sample has other branches")))
    };
    let heads: Result<_, Failure> = PULLS.iter().map(|(branch, ..)| head(branch)).collect();
    Ok(heads?)
}

fn fill(new: &OpenRepository) -> Result<(), Failure> {
    for ((branch, from, message, files), hours) in STEPS.iter().zip(0..) {
        let parent = new.branch(from.unwrap_or(branch))?;
        let file = |(path, text): &(&str, &str)| NewFile {
            path: (*path).to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let files: Vec<NewFile> = files.iter().map(file).collect();
        let at = Timestamp::from_second(START + hours * HOUR).unwrap_or_default();
        let commit = new.write_commit(parent, &files, message, &author(), at)?;
        let created = new
            .git
            .reference(&branch_ref(branch), commit, true, "sample");
        created.or_broken(WHAT)?;
    }
    for ((branch, ..), number) in PULLS.iter().zip(1..) {
        if let Some(head) = new.branch(branch)? {
            pull_head::keep_head(new, number, head)?;
        }
    }
    fs::write(new.location.path.join("description"), DESCRIPTION).or_broken(WHAT)
}

/// Records the pull requests of the sample and its status.
async fn record(database: &Database, heads: &[Oid]) -> Result<(), Failure> {
    let repo = name()?;
    let mut writing = database.write().await?;
    let opened = STEPS.len() as i64;
    for (((head, title, body, draft), id), hours) in PULLS.iter().zip(heads).zip(opened..) {
        let at = (START + hours * HOUR) * 1_000_000;
        let pull = StoredPull {
            repo: repo.folded(),
            number: 0,
            title: (*title).to_owned(),
            body: body.map(str::to_owned),
            state: StoredState::Open,
            draft: *draft,
            head: (*head).to_owned(),
            head_owner: None,
            head_sha: id.to_string(),
            base: "main".to_owned(),
            author: Some(author().name),
            merging_sha: None,
            merging_from: None,
            created_at: at,
            updated_at: at,
        };
        stored_pulls::insert(&mut writing, &pull).await?;
    }
    if let Some(head) = heads.first() {
        let (sha, at) = (head.to_string(), START * 1_000_000);
        let state = CheckState::Passed;
        statuses::set(
            &mut writing,
            &repo,
            &sha,
            "ci/test",
            state,
            Some("All tests pass"),
            at,
        )
        .await?;
    }
    sqlx::query("INSERT INTO meta (key, value) VALUES ('sample', 'made')")
        .execute(&mut *writing)
        .await
        .or_broken(WHAT)?;
    writing.commit(WHAT).await
}
