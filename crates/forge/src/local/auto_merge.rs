//! Merges pull requests by themselves, as soon as the rules of their base allow it.
//!
//! There is no process that waits: whoever settles the last condition with a check, an approval or a commit
//! merges in the same call or command. Each such merge is a write of its own in the log of writes.

use super::LocalForge;
use super::pull_attributes::{self, method_word};
use crate::{
    AutoMerge, BackendContext, Failure, MergeInstruction, MergeMethod, PullRequest, PullState,
    RepoName, UnmetPrecondition, write_log,
};
use candor_fault::Cause;
use candor_guard::Deadline;
use candor_street::EffectMark;
use serde_json::{Map, Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;

const WRITE: &str = "auto-merge could not be written";

/// The time for one merge.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns true if nothing but a call of `merge_pull_request` is missing.
fn can_be_merged(pull: &PullRequest) -> bool {
    let state = pull.mergeable_state.as_deref();
    pull.state == PullState::Open
        && pull.mergeable == Some(true)
        && matches!(state, Some("clean" | "unstable"))
}

impl LocalForge {
    pub(super) async fn change_auto_merge(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        pull: &PullRequest,
        method: Option<MergeMethod>,
    ) -> Result<Option<AutoMerge>, Failure> {
        let (folded, number) = (repo.folded(), pull.number);
        let location = self.location(repo).await?;
        let lock = self.lock(&location).await?;
        let now = self.one(repo, number).await?;
        let wanted = match method {
            None => None,
            Some(_) if now.state == PullState::Closed => {
                return Err(UnmetPrecondition::NotOpen(number).into());
            }
            Some(_) if now.draft => return Err(UnmetPrecondition::IsDraft(number).into()),
            Some(_) if can_be_merged(&now) => {
                return Err(UnmetPrecondition::MergeableNow(number).into());
            }
            Some(merge_method) => Some(AutoMerge {
                merge_method,
                enabled_by: Some(self.identity.name.clone()),
            }),
        };
        if wanted == now.attributes.auto_merge {
            return Ok(wanted);
        }
        let at = self.now().as_microsecond();
        let mut change = self.change_rows(&context.mark).await?;
        let connection = change.connection();
        pull_attributes::write_auto_merge(connection, &folded, number, wanted.as_ref(), at).await?;
        change.commit(WRITE).await?;
        drop(lock);
        if wanted.is_some() {
            // A check or an approval may have come since the pull request was read.
            self.merge_what_is_ready(repo).await;
        }
        Ok(wanted)
    }

    /// Merges the pull requests with auto-merge that a change in this repository has made ready. A failure
    /// leaves auto-merge enabled, and the next change tries again.
    pub(super) async fn merge_what_is_ready(&self, repo: &RepoName) {
        let waiting = match self.database.read().await {
            Ok(mut reading) => pull_attributes::with_auto_merge(&mut reading, &repo.folded()).await,
            Err(failure) => Err(failure),
        };
        for (repo, number) in waiting.unwrap_or_default() {
            if let Some(repo) = RepoName::parse(&repo) {
                // The outcome is in the log of writes, if anything was tried.
                let _ = self.merge_if_ready(&repo, number).await;
            }
        }
    }

    /// Makes a change of branches, then merges what it has made ready.
    pub(super) async fn then_merge_what_is_ready<T>(
        &self,
        repo: &RepoName,
        change: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let made = change.await?;
        self.merge_what_is_ready(repo).await;
        Ok(made)
    }

    async fn merge_if_ready(&self, repo: &RepoName, number: u64) -> Result<(), Failure> {
        let pull = self.one(repo, number).await?;
        let Some(auto_merge) = pull.attributes.auto_merge.clone() else {
            return Ok(());
        };
        if !can_be_merged(&pull) {
            return Ok(());
        }
        let order = MergeInstruction {
            number,
            method: auto_merge.merge_method,
            title: None,
            message: None,
            head_sha: pull.head_sha,
        };
        let arguments = json!({
            "repo": repo.to_string(),
            "prNumber": number,
            "merge_method": method_word(order.method),
            "sha": order.head_sha,
        });
        let attempt = write_log::auto_merge_attempt(self.now(), &arguments);
        let attempt = self.append_own_write(attempt).await?;
        let context = BackendContext::new(Deadline::after(PATIENCE), EffectMark::unstoppable());
        let merged = self.name_full_disk(repo, self.merge_pull(&context, repo, &order));
        let merged = merged.await;
        let effect = context.mark.effect();
        let answer = merged.map(|merged| json!({ "number": number, "sha": merged.sha }));
        let outcome = answer.map_err(|failure| failure.fault(effect));
        let outcome = write_log::auto_merge_outcome(self.now(), effect, outcome);
        self.append_own_write(outcome.line(attempt)).await?;
        Ok(())
    }

    /// Appends to the log of writes. Without one, this backend makes no write of its own.
    async fn append_own_write(&self, members: Map<String, Value>) -> Result<u64, Failure> {
        const WHAT: &str = "the log of writes could not be written";
        let Some(log) = self.own_writes.get().map(Arc::clone) else {
            return Err(Failure::Broken(WHAT, Cause::from("there is no log")));
        };
        let written = tokio::task::spawn_blocking(move || log.append(members)).await;
        let written = written.map_err(io::Error::other).flatten();
        written.map_err(|error| Failure::Broken(WHAT, Cause::from(error)))
    }
}
