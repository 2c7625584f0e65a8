//! Pull requests: opened, changed, read, listed.

use super::LocalForge;
use super::failing::{Or, off};
use super::fork::Head;
use super::history::skipped;
use super::mergeability::Standing;
use super::place::{Home, Opened, Place};
use super::pulls::{self, Pull, State};
use super::{times, url};
use crate::{
    Failure, Missing, NewPull, Paging, PullChange, PullRequest, PullState, Pulls, RepoName, Turn,
    Unmet, Wanted,
};
use git2::Oid;
use sqlx::{Sqlite, Transaction};
use std::sync::Arc;

const WRITE: &str = "a pull request could not be written";

/// A pull request as it is answered, without whether it can be merged.
fn shown(home: &Home, pull: Pull, standing: &Standing) -> PullRequest {
    let state = match standing.is_open() {
        true => PullState::Open,
        false => PullState::Closed,
    };
    PullRequest {
        number: pull.number,
        title: pull.title,
        body: pull.body,
        state,
        draft: pull.draft,
        merged: standing.state == State::Merged,
        head: pull.head,
        head_repo: standing.head_repo.clone(),
        head_sha: standing.head_sha.clone(),
        base: pull.base,
        mergeable: None,
        mergeable_state: None,
        author: pull.author,
        created_at: times::of_micros(pull.created_at),
        updated_at: times::of_micros(pull.updated_at),
        url: url::pull(&home.name, pull.number),
        node_id: None,
    }
}

impl LocalForge {
    pub(super) async fn row(&self, repo: &RepoName, number: u64) -> Result<Pull, Failure> {
        let mut reading = self.database.read().await?;
        let found = pulls::find(&mut reading, repo, number).await?;
        found.ok_or_else(|| Missing::PullRequest(number).into())
    }

    pub(super) async fn one(&self, repo: &RepoName, number: u64) -> Result<PullRequest, Failure> {
        let home = self.home(repo).await?;
        let pull = self.row(repo, number).await?;
        let standing = self.standing(home.clone(), &pull, true).await?;
        let verdict = self.verdict(repo, &pull.base, &standing.head_sha).await?;
        let (mergeable, word) = standing.words(pull.draft, &verdict);
        let mut shown = shown(&home, pull, &standing);
        shown.mergeable = mergeable;
        shown.mergeable_state = Some(word.text().to_owned());
        Ok(shown)
    }

    pub(super) async fn listed(
        &self,
        repo: &RepoName,
        wanted: Wanted,
        paging: Paging,
    ) -> Result<Pulls, Failure> {
        let home = self.home(repo).await?;
        let most = u64::from(paging.per_page);
        let mut reading = self.database.read().await?;
        let mut rows = pulls::list(&mut reading, repo, wanted, skipped(paging), most + 1).await?;
        drop(reading);
        let more = rows.len() as u64 > most;
        rows.truncate(paging.per_page as usize);
        let place = Arc::clone(&self.place);
        off(move || {
            let base = place.open_home(home)?;
            let show = |pull: Pull| {
                let standing = Standing::of(&place, &base, &pull, false)?;
                Ok(shown(&base.home, pull, &standing))
            };
            let pulls: Result<_, Failure> = rows.into_iter().map(show).collect();
            Ok(Pulls {
                pulls: pulls?,
                more,
            })
        })
        .await
    }

    pub(super) async fn propose(
        &self,
        turn: &Turn,
        repo: &RepoName,
        new: &NewPull,
    ) -> Result<PullRequest, Failure> {
        let home = self.home(repo).await?;
        let _hold = self.hold(&home).await?;
        let now = self.now().as_microsecond();
        let mut pull = Pull {
            repo: repo.folded(),
            number: 0,
            title: new.title.clone(),
            body: new.body.clone().filter(|body| !body.is_empty()),
            state: State::Open,
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
        let other = |owner: &String| !owner.eq_ignore_ascii_case(home.name.owner());
        pull.head_owner = pull.head_owner.filter(other);
        let mut reading = self.database.read().await?;
        let there = pulls::open_between(&mut reading, &pull).await?;
        drop(reading);
        let place = Arc::clone(&self.place);
        let (at, judged) = (home.clone(), pull.clone());
        let id = off(move || judge(&place, &place.open_home(at)?, &judged, there)).await?;
        pull.head_sha = id.to_string();
        turn.mark.begins()?;
        let (number, writing) = match self.insert(&home, &pull, id).await {
            Ok(inserted) => inserted,
            // Nothing was committed: there is no pull request.
            Err(failure) => {
                turn.mark.undone();
                return Err(failure);
            }
        };
        writing.commit().await.or_broken(WRITE)?;
        turn.mark.done();
        self.after("the pull request was opened", repo, number)
            .await
    }

    /// A pull request that was just written.
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

    /// Writes a new pull request and keeps its head, to be committed. The head comes first: a ref too
    /// many does no harm.
    async fn insert(
        &self,
        home: &Home,
        pull: &Pull,
        id: Oid,
    ) -> Result<(u64, Transaction<'static, Sqlite>), Failure> {
        let mut writing = self.database.write().await?;
        let Some(number) = pulls::insert(&mut writing, pull).await? else {
            let other = pulls::open_between(&mut writing, pull).await?;
            return Err(Unmet::PullExists(other.unwrap_or_default()).into());
        };
        let mut pull = pull.clone();
        pull.number = number;
        self.bring(home.clone(), &pull, id).await?;
        Ok((number, writing))
    }

    /// Brings the objects of a head into its base, to stay there.
    pub(super) async fn bring(&self, home: Home, pull: &Pull, id: Oid) -> Result<(), Failure> {
        let (place, pull) = (Arc::clone(&self.place), pull.clone());
        off(move || {
            let base = place.open_home(home)?;
            Head::of(&place, &base, &pull)?.bring(&base, pull.number, id)
        })
        .await
    }

    pub(super) async fn change(
        &self,
        turn: &Turn,
        repo: &RepoName,
        number: u64,
        change: &PullChange,
    ) -> Result<PullRequest, Failure> {
        let home = self.home(repo).await?;
        let _hold = self.hold(&home).await?;
        let pull = self.row(repo, number).await?;
        let mut pull = self.settle(&home, pull).await?;
        let was = pull.state;
        if was == State::Merged {
            let draft = change.draft.is_some_and(|draft| draft != pull.draft);
            // Closing what is closed changes nothing.
            if change.state == Some(PullState::Open) || draft {
                return Err(Unmet::AlreadyMerged(number).into());
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
            (State::Open, Some(PullState::Closed)) => self.close(&home, &mut pull).await?,
            (State::Closed, Some(PullState::Open)) => self.reopen(&home, &mut pull).await?,
            _ => None,
        };
        turn.mark.begins()?;
        let writing = match self.write_change(&home, &pull, was, kept).await {
            Ok(writing) => writing,
            // Nothing was committed.
            Err(failure) => {
                turn.mark.undone();
                return Err(failure);
            }
        };
        writing.commit().await.or_broken(WRITE)?;
        turn.mark.done();
        self.after("the pull request was changed", repo, number)
            .await
    }

    /// Writes a change, to be committed.
    async fn write_change(
        &self,
        home: &Home,
        pull: &Pull,
        was: State,
        kept: Option<Oid>,
    ) -> Result<Transaction<'static, Sqlite>, Failure> {
        let mut writing = self.database.write().await?;
        let opens = was == State::Closed && pull.state == State::Open;
        if let (true, Some(other)) = (opens, pulls::open_between(&mut writing, pull).await?) {
            return Err(Unmet::PullExists(other).into());
        }
        if let Some(id) = kept {
            self.bring(home.clone(), pull, id).await?;
        }
        match was {
            State::Merged => pulls::reword(&mut writing, pull).await?,
            _ => pulls::change(&mut writing, pull).await?,
        }
        Ok(writing)
    }

    /// Closed, with the head that it has now as its last.
    async fn close(&self, home: &Home, pull: &mut Pull) -> Result<Option<Oid>, Failure> {
        let id = self.head_now(home, pull).await?;
        pull.state = State::Closed;
        if let Some(id) = id {
            pull.head_sha = id.to_string();
        }
        Ok(id)
    }

    async fn reopen(&self, home: &Home, pull: &mut Pull) -> Result<Option<Oid>, Failure> {
        let id = self.head_now(home, pull).await?;
        let id = id.ok_or_else(|| Missing::Branch(pull.head.clone()))?;
        pull.state = State::Open;
        pull.head_sha = id.to_string();
        Ok(Some(id))
    }

    async fn head_now(&self, home: &Home, pull: &Pull) -> Result<Option<Oid>, Failure> {
        let (place, home, pull) = (Arc::clone(&self.place), home.clone(), pull.clone());
        off(move || Ok(Head::of(&place, &place.open_home(home)?, &pull)?.id)).await
    }
}

/// The head of a pull request that may be opened.
fn judge(place: &Place, base: &Opened, pull: &Pull, there: Option<u64>) -> Result<Oid, Failure> {
    let onto = base.branch(&pull.base)?;
    let onto = onto.ok_or_else(|| base.without(&pull.base))?;
    let head = Head::of(place, base, pull)?;
    let id = head.id.ok_or_else(|| Missing::Branch(pull.head.clone()))?;
    if let Some(number) = there {
        return Err(Unmet::PullExists(number).into());
    }
    head.lend(base)?;
    if base.contains(onto, id)? {
        return Err(Failure::Unmet(Unmet::NothingToMerge {
            head: pull.head.clone(),
            base: pull.base.clone(),
        }));
    }
    if base.merge_base(onto, id)?.is_none() {
        return Err(Unmet::Unrelated.into());
    }
    base.must_merge_shallow(onto, id)?;
    Ok(id)
}
