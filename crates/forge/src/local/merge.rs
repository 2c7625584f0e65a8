//! Merging a pull request: open → merging → (the base moves) → merged. The base is moved by comparing
//! and swapping, so whoever pushes meanwhile is noticed and never overwritten.

use super::build::{Built, Order};
use super::failing::{Or, off};
use super::fork::Head;
use super::mergeability::Word;
use super::place::{Home, Opened};
use super::pulls::{self, Pull, State};
use super::swap::{Swapped, locked};
use super::{LocalForge, Moment};
use crate::{
    Failure, MergeMethod, MergeOrder, Merged, Missing, RepoName, Turn, Unmergeable, Unmet, Why,
};
use git2::Oid;
use std::sync::Arc;

const WRITE: &str = "the merge could not be put on record";

/// How often a merge is made again on a base that somebody has moved.
const TRIES: usize = 4;

/// A merge whose objects are written.
struct Ready {
    from: Oid,
    to: Oid,
}

fn unmergeable(number: u64, why: Why, word: Word, failing_checks: Vec<String>) -> Failure {
    Failure::Unmergeable(Unmergeable {
        number,
        why,
        state: Some(word.text().to_owned()),
        failing_checks,
        answered: None,
    })
}

impl LocalForge {
    pub(super) async fn merge_pull(
        &self,
        turn: &Turn,
        repo: &RepoName,
        order: &MergeOrder,
    ) -> Result<Merged, Failure> {
        let home = self.home(repo).await?;
        let _hold = self.hold(&home).await?;
        for _ in 0..TRIES {
            let pull = self.row(repo, order.number).await?;
            let mut pull = self.settle(&home, pull).await?;
            self.must_be_mergeable(&home, &pull, order).await?;
            pull.head_sha.clone_from(&order.head_sha);
            let ready = self.prepare(&home, &pull, order).await?;
            if let Some(merged) = self.carry_out(turn, &home, &pull, &ready).await? {
                return Ok(merged);
            }
        }
        // The row and the base are what they were.
        let pull = self.row(repo, order.number).await?;
        Err(Unmet::BranchMoved(pull.base).into())
    }

    /// What stands against a merge, in the order in which it is told.
    async fn must_be_mergeable(
        &self,
        home: &Home,
        pull: &Pull,
        order: &MergeOrder,
    ) -> Result<(), Failure> {
        let refuse = |why, word, failing| Err(unmergeable(pull.number, why, word, failing));
        match pull.state {
            State::Merged => return refuse(Why::Merged, Word::Unknown, Vec::new()),
            State::Closed => return refuse(Why::Closed, Word::Unknown, Vec::new()),
            State::Open | State::Merging => {}
        }
        let standing = self.standing(home.clone(), pull, true).await?;
        if standing.head_sha != order.head_sha {
            return Err(Failure::HeadMoved {
                expected: order.head_sha.clone(),
                actual: Some(standing.head_sha),
                state: None,
            });
        }
        let head_sha = &standing.head_sha;
        let verdict = self.verdict(&home.name, &pull.base, head_sha).await?;
        match (&standing.gone, standing.conflict) {
            _ if pull.draft => refuse(Why::Draft, Word::Draft, verdict.failing),
            (Some(branch), _) => Err(Missing::Branch(branch.clone()).into()),
            (None, Some(true)) => refuse(Why::Conflict, Word::Dirty, verdict.failing),
            _ if verdict.blocked => refuse(Why::Blocked, Word::Blocked, verdict.failing),
            // Where it is not known whether it conflicts, the merge itself tells why.
            (None, Some(false) | None) => Ok(()),
        }
    }

    /// Writes the objects of a merge.
    async fn prepare(
        &self,
        home: &Home,
        pull: &Pull,
        order: &MergeOrder,
    ) -> Result<Ready, Failure> {
        let (place, home) = (Arc::clone(&self.place), home.clone());
        let (pull, order) = (pull.clone(), order.clone());
        let (by, now) = (self.identity.clone(), self.now());
        off(move || {
            let base = place.open_home(home)?;
            let head = Oid::from_str(&pull.head_sha).or_broken("a head is no commit")?;
            Head::of(&place, &base, &pull)?.bring(&base, pull.number, head)?;
            let from = base.branch(&pull.base)?;
            let from = from.ok_or_else(|| Missing::Branch(pull.base.clone()))?;
            let built = base.build(&Order {
                base: from,
                head,
                method: order.method,
                message: &words(&base, &pull, &order, from, head)?,
                by: &by,
                now,
            })?;
            let conflict = match order.method {
                MergeMethod::Rebase => (Why::NotRebaseable, Word::Clean),
                MergeMethod::Merge | MergeMethod::Squash => (Why::Conflict, Word::Dirty),
            };
            match built {
                Built::Commit(to) => Ok(Ready { from, to }),
                Built::Conflict => {
                    Err(unmergeable(pull.number, conflict.0, conflict.1, Vec::new()))
                }
            }
        })
        .await
    }

    /// Moves the base and puts that on record; nothing where somebody else has moved it before.
    async fn carry_out(
        &self,
        turn: &Turn,
        home: &Home,
        pull: &Pull,
        ready: &Ready,
    ) -> Result<Option<Merged>, Failure> {
        turn.mark.begins()?;
        match self.record_start(pull, ready).await {
            Ok(true) => {}
            // What is on record now is undone by the next who looks: the base has not moved.
            other => {
                turn.mark.undone();
                return other.map(|_| None);
            }
        }
        self.goes_on(Moment::MergeRecorded)?;
        let swapped = self.move_base(home, pull, ready).await?;
        if swapped != Swapped::Done {
            let mut writing = self.database.write().await?;
            pulls::give_up_merge(&mut writing, pull).await?;
            writing.commit().await.or_broken(WRITE)?;
            turn.mark.undone();
            return match swapped {
                Swapped::Locked => Err(locked()),
                Swapped::Done | Swapped::Moved => Ok(None),
            };
        }
        self.goes_on(Moment::MergeMoved)?;
        turn.mark.done();
        self.record_end(pull)
            .await
            .map_err(|failure| Failure::Partly {
                done: "the base branch has the pull request's changes",
                rest: Box::new(failure),
            })?;
        Ok(Some(Merged {
            sha: ready.to.to_string(),
        }))
    }

    async fn record_start(&self, pull: &Pull, ready: &Ready) -> Result<bool, Failure> {
        let (to, from) = (ready.to.to_string(), ready.from.to_string());
        let mut writing = self.database.write().await?;
        let begun = pulls::begin_merge(&mut writing, pull, &to, &from).await?;
        writing.commit().await.or_broken(WRITE)?;
        Ok(begun)
    }

    async fn move_base(&self, home: &Home, pull: &Pull, ready: &Ready) -> Result<Swapped, Failure> {
        let (place, home) = (Arc::clone(&self.place), home.clone());
        let (branch, from, to) = (pull.base.clone(), ready.from, ready.to);
        off(move || {
            let base = place.open_home(home)?;
            match from == to {
                // There is nothing to move, if it is still there.
                true if base.branch(&branch)? == Some(to) => Ok(Swapped::Done),
                true => Ok(Swapped::Moved),
                false => base.swap(&branch, from, to),
            }
        })
        .await
    }

    async fn record_end(&self, pull: &Pull) -> Result<(), Failure> {
        let mut writing = self.database.write().await?;
        pulls::end_merge(&mut writing, pull, self.now().as_microsecond()).await?;
        writing.commit().await.or_broken(WRITE)
    }
}

/// The message of a merge: the order's words, else GitHub's usual ones.
fn words(
    base: &Opened,
    pull: &Pull,
    order: &MergeOrder,
    from: Oid,
    head: Oid,
) -> Result<String, Failure> {
    let number = pull.number;
    let (title, message) = match order.method {
        MergeMethod::Merge => {
            let owner = pull.head_owner.as_deref();
            let owner = owner.unwrap_or_else(|| base.home.name.owner());
            let title = format!("Merge pull request #{number} from {owner}/{}", pull.head);
            (title, pull.title.clone())
        }
        MergeMethod::Squash => {
            let (commits, more) = base.between(from, head)?;
            let subject = |commit: &git2::Commit<'_>| {
                let first = commit.summary_bytes().unwrap_or_default();
                format!("* {}", String::from_utf8_lossy(first))
            };
            let mut subjects: Vec<String> = commits.iter().map(subject).collect();
            if more {
                subjects.push("* and more".to_owned());
            }
            (format!("{} (#{number})", pull.title), subjects.join("\n"))
        }
        // Its commits have their own.
        MergeMethod::Rebase => return Ok(String::new()),
    };
    let title = order.title.clone().unwrap_or(title);
    let message = order.message.clone().unwrap_or(message);
    Ok(match message.is_empty() {
        true => title,
        false => format!("{title}\n\n{message}"),
    })
}
