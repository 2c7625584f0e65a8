//! Opens, changes, reads and lists pull requests.

use super::LocalForge;
use super::database::WriteTransaction;
use super::errors::run_blocking;
use super::history::skipped;
use super::mergeability::PullStatus;
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryLocation, RepositoryRoot};
use super::stored_pulls::{self, StoredPull, StoredState};
use super::{pull_attributes, times, url};
use crate::{
    BackendContext, Failure, MissingItem, NewPullRequest, Paging, PullAttributes, PullFilter,
    PullPage, PullRequest, PullRequestChange, PullState, RepoName, UnmetPrecondition,
};
use git2::Oid;
use std::sync::Arc;

const WRITE: &str = "a pull request could not be written";

/// Returns a pull request without `mergeable`.
fn summary(location: &RepositoryLocation, pull: StoredPull, status: &PullStatus) -> PullRequest {
    let state = match status.is_open() {
        true => PullState::Open,
        false => PullState::Closed,
    };
    PullRequest {
        number: pull.number,
        title: pull.title,
        body: pull.body,
        state,
        draft: pull.draft,
        merged: status.state == StoredState::Merged,
        head: pull.head,
        head_repo: status.head_repo.clone(),
        head_sha: status.head_sha.clone(),
        base: pull.base,
        mergeable: None,
        mergeable_state: None,
        author: pull.author,
        created_at: times::of_micros(pull.created_at),
        updated_at: times::of_micros(pull.updated_at),
        url: url::pull(&location.name, pull.number),
        node_id: None,
        attributes: PullAttributes::default(),
    }
}

impl LocalForge {
    pub(super) async fn row(&self, repo: &RepoName, number: u64) -> Result<StoredPull, Failure> {
        let mut reading = self.database.read().await?;
        let found = stored_pulls::find(&mut reading, repo, number).await?;
        found.ok_or_else(|| MissingItem::PullRequest(number).into())
    }

    pub(super) async fn one(&self, repo: &RepoName, number: u64) -> Result<PullRequest, Failure> {
        let location = self.location(repo).await?;
        let pull = self.row(repo, number).await?;
        let status = self.status(location.clone(), &pull, true).await?;
        let verdict = self.verdict(repo, &pull, &status.head_sha).await?;
        let (mergeable, word) = status.words(pull.draft, &verdict);
        let mut reading = self.database.read().await?;
        let attributes = pull_attributes::read(&mut reading, &pull.repo, number).await?;
        drop(reading);
        let mut summary = summary(&location, pull, &status);
        summary.attributes = attributes;
        summary.mergeable = mergeable;
        summary.mergeable_state = Some(word.text().to_owned());
        Ok(summary)
    }

    pub(super) async fn listed(
        &self,
        repo: &RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> Result<PullPage, Failure> {
        let location = self.location(repo).await?;
        let most = u64::from(paging.per_page);
        let mut reading = self.database.read().await?;
        let mut rows =
            stored_pulls::list(&mut reading, repo, wanted, skipped(paging), most + 1).await?;
        drop(reading);
        let more = rows.len() as u64 > most;
        rows.truncate(paging.per_page as usize);
        let pulls = self.summaries(location, rows).await?;
        Ok(PullPage { pulls, more })
    }

    /// Returns pull requests as a list has them.
    pub(super) async fn summaries(
        &self,
        location: RepositoryLocation,
        rows: Vec<StoredPull>,
    ) -> Result<Vec<PullRequest>, Failure> {
        let root = Arc::clone(&self.root);
        run_blocking(move || {
            root.read(&location.name, |base| {
                let show = |pull: &StoredPull| {
                    let status = PullStatus::of(&root, base, pull, false)?;
                    Ok(summary(&base.location, pull.clone(), &status))
                };
                rows.iter().map(show).collect()
            })
        })
        .await
    }

    pub(super) async fn create_pull(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        new: &NewPullRequest,
    ) -> Result<PullRequest, Failure> {
        let location = self.location(repo).await?;
        let _lock = self.lock(&location).await?;
        let now = self.now().as_microsecond();
        let mut pull = StoredPull {
            repo: repo.folded(),
            number: 0,
            title: new.title.clone(),
            body: new.body.clone().filter(|body| !body.is_empty()),
            state: StoredState::Open,
            draft: new.draft,
            head: new.head.clone(),
            head_owner: new.head_owner.clone(),
            head_sha: String::new(),
            base: new.base.clone(),
            author: Some(self.identity.name.clone()),
            merging_sha: None,
            merging_from: None,
            created_at: now,
            updated_at: now,
        };
        let other = |owner: &String| !owner.eq_ignore_ascii_case(location.name.owner());
        pull.head_owner = pull.head_owner.filter(other);
        let mut reading = self.database.read().await?;
        let there = stored_pulls::open_between(&mut reading, &pull).await?;
        drop(reading);
        let root = Arc::clone(&self.root);
        let (at, judged) = (location.clone(), pull.clone());
        let id = run_blocking(move || root.build(&at, |base| judge(&root, base, &judged, there)));
        let id = id.await?;
        pull.head_sha = id.to_string();
        context.mark.begins()?;
        let (number, writing) = match self.insert(&location, &pull, id).await {
            Ok(inserted) => inserted,
            // Nothing was committed, so there is no pull request.
            Err(failure) => {
                context.mark.undone();
                return Err(failure);
            }
        };
        writing.commit_change(WRITE, &context.mark).await?;
        self.after("the pull request was opened", repo, number)
            .await
    }

    /// Reads a pull request that was just written.
    async fn after(
        &self,
        done: &'static str,
        repo: &RepoName,
        number: u64,
    ) -> Result<PullRequest, Failure> {
        let read = self.one(repo, number).await;
        read.map_err(|failure| Failure::Partly {
            done,
            rest: Box::new(failure),
        })
    }

    /// Writes a new pull request and keeps its head. The caller commits. The head is kept first: an unused
    /// ref does no harm.
    async fn insert(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
        id: Oid,
    ) -> Result<(u64, WriteTransaction), Failure> {
        let mut writing = self.database.write().await?;
        let Some(number) = stored_pulls::insert(&mut writing, pull).await? else {
            let other = stored_pulls::open_between(&mut writing, pull).await?;
            return Err(UnmetPrecondition::PullExists(other.unwrap_or_default()).into());
        };
        let mut pull = pull.clone();
        pull.number = number;
        self.copy_into(location.clone(), &pull, id).await?;
        Ok((number, writing))
    }

    /// Copies the objects of a head into its base and keeps them with a ref.
    pub(super) async fn copy_into(
        &self,
        location: RepositoryLocation,
        pull: &StoredPull,
        id: Oid,
    ) -> Result<(), Failure> {
        let (root, pull) = (Arc::clone(&self.root), pull.clone());
        run_blocking(move || {
            root.build(&location, |base| {
                PullHead::of(&root, base, &pull)?.copy_into(base, pull.number, id)
            })
        })
        .await
    }

    pub(super) async fn change(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        number: u64,
        change: &PullRequestChange,
    ) -> Result<PullRequest, Failure> {
        let location = self.location(repo).await?;
        let lock = self.lock(&location).await?;
        let pull = self.row(repo, number).await?;
        let mut pull = self.settle(&location, pull).await?;
        let was = pull.state;
        if was == StoredState::Merged {
            let draft = change.draft.is_some_and(|draft| draft != pull.draft);
            // Closing a closed pull request changes nothing.
            if change.state == Some(PullState::Open) || draft {
                return Err(UnmetPrecondition::AlreadyMerged(number).into());
            }
        }
        if let Some(title) = &change.title {
            pull.title.clone_from(title);
        }
        if let Some(body) = &change.body {
            pull.body = Some(body.clone()).filter(|body| !body.is_empty());
        }
        pull.draft = change.draft.unwrap_or(pull.draft);
        pull.updated_at = self.now().as_microsecond();
        let kept = match (was, change.state) {
            (StoredState::Open, Some(PullState::Closed)) => {
                self.close(&location, &mut pull).await?
            }
            (StoredState::Closed, Some(PullState::Open)) => {
                self.reopen(&location, &mut pull).await?
            }
            _ => None,
        };
        context.mark.begins()?;
        let writing = match self.write_change(&location, &pull, was, kept).await {
            Ok(writing) => writing,
            // Nothing was committed.
            Err(failure) => {
                context.mark.undone();
                return Err(failure);
            }
        };
        writing.commit_change(WRITE, &context.mark).await?;
        drop(lock);
        if change.draft == Some(false) {
            self.merge_what_is_ready(repo).await;
        }
        self.after("the pull request was changed", repo, number)
            .await
    }

    /// Writes a change. The caller commits.
    async fn write_change(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
        was: StoredState,
        kept: Option<Oid>,
    ) -> Result<WriteTransaction, Failure> {
        let mut writing = self.database.write().await?;
        let opens = was == StoredState::Closed && pull.state == StoredState::Open;
        if let (true, Some(other)) = (opens, stored_pulls::open_between(&mut writing, pull).await?)
        {
            return Err(UnmetPrecondition::PullExists(other).into());
        }
        if let Some(id) = kept {
            self.copy_into(location.clone(), pull, id).await?;
        }
        match was {
            StoredState::Merged => stored_pulls::reword(&mut writing, pull).await?,
            _ => stored_pulls::change(&mut writing, pull).await?,
        }
        if pull.state == StoredState::Closed {
            let (repo, at) = (&pull.repo, pull.updated_at);
            pull_attributes::write_auto_merge(&mut writing, repo, pull.number, None, at).await?;
        }
        Ok(writing)
    }

    /// Closes a pull request with its current head as the last one.
    async fn close(
        &self,
        location: &RepositoryLocation,
        pull: &mut StoredPull,
    ) -> Result<Option<Oid>, Failure> {
        let id = self.head_now(location, pull).await?;
        pull.state = StoredState::Closed;
        if let Some(id) = id {
            pull.head_sha = id.to_string();
        }
        Ok(id)
    }

    async fn reopen(
        &self,
        location: &RepositoryLocation,
        pull: &mut StoredPull,
    ) -> Result<Option<Oid>, Failure> {
        let id = self.head_now(location, pull).await?;
        let id = id.ok_or_else(|| MissingItem::Branch(pull.head.clone()))?;
        pull.state = StoredState::Open;
        pull.head_sha = id.to_string();
        Ok(Some(id))
    }

    async fn head_now(
        &self,
        location: &RepositoryLocation,
        pull: &StoredPull,
    ) -> Result<Option<Oid>, Failure> {
        let (root, location, pull) = (Arc::clone(&self.root), location.clone(), pull.clone());
        run_blocking(move || Ok(PullHead::of(&root, &root.open_at(location)?, &pull)?.id)).await
    }
}

/// Returns the head of a pull request if it may be opened.
fn judge(
    root: &RepositoryRoot,
    base: &OpenRepository,
    pull: &StoredPull,
    there: Option<u64>,
) -> Result<Oid, Failure> {
    let onto = base.branch(&pull.base)?;
    let onto = onto.ok_or_else(|| base.missing_branch(&pull.base))?;
    let head = PullHead::of(root, base, pull)?;
    let id = head
        .id
        .ok_or_else(|| MissingItem::Branch(pull.head.clone()))?;
    if let Some(number) = there {
        return Err(UnmetPrecondition::PullExists(number).into());
    }
    head.share_objects(base)?;
    if base.contains(onto, id)? {
        return Err(Failure::Unmet(UnmetPrecondition::NothingToMerge {
            head: pull.head.clone(),
            base: pull.base.clone(),
        }));
    }
    if base.merge_base(onto, id)?.is_none() {
        return Err(UnmetPrecondition::Unrelated.into());
    }
    // A pull request that exceeds the bounds of a merge is not opened; one that conflicts is.
    base.write_to_memory()?;
    base.conflicts(onto, id)?;
    Ok(id)
}
