//! Opens, edits and merges pull requests.

use super::api::Api;
use super::graphql::toggle;
use super::pulls::{one, route};
use super::raw_types::{Number, RawPull, Sha};
use super::requests::{FailedWrite, GithubRead, GithubWrite};
use super::route::Route;
use crate::{
    BackendContext, Failure, GithubErrorResponse, MergeInstruction, MergeMethod, MergedPull,
    MissingItem, NewPullRequest, PullRequest, PullRequestChange, PullState, RepoName, RequestKind,
    UnmergeablePull, UnmergeableReason, UnmetPrecondition,
};
use candor_fault::Effect;
use candor_http_client::Method;
use serde_json::{Map, Value, json};

pub(super) async fn create(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    new: &NewPullRequest,
) -> Result<PullRequest, Failure> {
    let owner = new.head_owner.as_deref();
    let head = match owner {
        Some(owner) => format!("{owner}:{}", new.head),
        None => new.head.clone(),
    };
    let mut body = Map::new();
    body.insert("title".to_owned(), json!(new.title));
    body.insert("head".to_owned(), json!(head));
    body.insert("base".to_owned(), json!(new.base));
    if let Some(text) = &new.body {
        body.insert("body".to_owned(), json!(text));
    }
    body.insert("draft".to_owned(), json!(new.draft));
    let change = GithubWrite {
        method: Method::POST,
        route: Route::of(repo).then("pulls"),
        body: Some(Value::Object(body)),
        step: RequestKind::Write,
        missing: MissingItem::Repository,
    };
    let failure = match api.change(context, change).await {
        Ok(reply) => return reply.json::<RawPull>()?.into_model(),
        Err(failure) => failure,
    };
    if let Failure::GithubErrorResponse(GithubErrorResponse { status: 422, .. }) = failure {
        let owner = owner.unwrap_or(repo.owner());
        // The lookup only explains. If it fails, GitHub's own response is returned.
        if let Ok(Some(number)) = standing(api, context, repo, owner, new).await {
            return Err(UnmetPrecondition::PullExists(number).into());
        }
    }
    Err(failure)
}

/// Returns the open pull request for the same two branches.
async fn standing(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    owner: &str,
    new: &NewPullRequest,
) -> Result<Option<u64>, Failure> {
    let route = Route::of(repo)
        .then("pulls")
        .query("state", "open")
        .query("head", &format!("{owner}:{}", new.head))
        .query("base", &new.base)
        .page(1, 1);
    let request = GithubRead::new(route, MissingItem::Repository);
    let found: Vec<Number> = api.read_json(context, request).await?;
    Ok(found.first().map(|pull| pull.number))
}

/// Returns the part of a change that REST can make.
fn fields(change: &PullRequestChange) -> Option<Value> {
    let mut body = Map::new();
    if let Some(title) = &change.title {
        body.insert("title".to_owned(), json!(title));
    }
    if let Some(text) = &change.body {
        body.insert("body".to_owned(), json!(text));
    }
    if let Some(state) = change.state {
        body.insert("state".to_owned(), json!(state));
    }
    (!body.is_empty()).then_some(Value::Object(body))
}

pub(super) async fn update(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    change: &PullRequestChange,
) -> Result<PullRequest, Failure> {
    let before = match change.draft {
        Some(draft) => {
            Some(one(api, context, repo, number).await?).filter(|pull| pull.draft != draft)
        }
        None => None,
    };
    let steps = UpdateSteps {
        api,
        context,
        repo,
        number,
    };
    match (fields(change), before) {
        (Some(body), None) => {
            let reply = api.change(context, steps.edit(body)).await?;
            reply.json::<RawPull>()?.into_model()
        }
        (None, Some(pull)) => {
            context.mark.begins()?;
            let pull = steps.toggled(pull).await;
            let pull = pull.map_err(|failed| failed.into_failure(context))?;
            context.mark.done();
            Ok(pull)
        }
        // A closed pull request cannot become a draft, so it is closed last.
        (Some(body), Some(pull)) if change.state == Some(PullState::Closed) => {
            context.mark.begins()?;
            let pull = steps.toggled(pull).await;
            pull.map_err(|failed| failed.into_failure(context))?;
            let edited = steps.edited(body).await;
            steps.second(edited, "whether it is a draft was changed")
        }
        (Some(body), Some(_)) => {
            context.mark.begins()?;
            let pull = steps.edited(body).await;
            let pull = pull.map_err(|failed| failed.into_failure(context))?;
            let toggled = steps.toggled(pull).await;
            steps.second(toggled, "all but whether it is a draft was changed")
        }
        (None, None) => one(api, context, repo, number).await,
    }
}

/// The two steps of an update. The caller sets the mark, because it decides which step is the last.
struct UpdateSteps<'a> {
    api: &'a Api,
    context: &'a BackendContext,
    repo: &'a RepoName,
    number: u64,
}

impl UpdateSteps<'_> {
    fn edit(&self, body: Value) -> GithubWrite {
        GithubWrite {
            method: Method::PATCH,
            route: route(self.repo, self.number),
            body: Some(body),
            step: RequestKind::Write,
            missing: MissingItem::PullRequest(self.number),
        }
    }

    async fn edited(&self, body: Value) -> Result<PullRequest, FailedWrite> {
        let reply = self.api.send(self.context, self.edit(body)).await?;
        let pull = reply.json::<RawPull>().and_then(RawPull::into_model);
        pull.map_err(FailedWrite::after_effect)
    }

    async fn toggled(&self, mut pull: PullRequest) -> Result<PullRequest, FailedWrite> {
        let node = pull.node_id.clone().unwrap_or_default();
        let toggled = toggle(self.api, self.context, self.number, &node, !pull.draft).await;
        let toggled = match toggled {
            Ok(toggled) => toggled,
            Err(FailedWrite { failure, effect }) => {
                let route = route(self.repo, self.number);
                let explained = self.api.explain_not_found(self.context, &route, failure);
                let failure = explained.await;
                return Err(FailedWrite { failure, effect });
            }
        };
        pull.draft = toggled.draft;
        pull.updated_at = toggled.updated_at;
        Ok(pull)
    }

    /// Returns the result of the second step, after the first has changed something.
    fn second(
        &self,
        came: Result<PullRequest, FailedWrite>,
        done: &'static str,
    ) -> Result<PullRequest, Failure> {
        match came {
            Ok(pull) => {
                self.context.mark.done();
                Ok(pull)
            }
            Err(failed) if failed.effect == Effect::Done => {
                self.context.mark.done();
                Err(failed.failure)
            }
            Err(failed) => Err(Failure::Partly {
                done,
                rest: Box::new(failed.failure),
            }),
        }
    }
}

pub(super) async fn merge(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    order: &MergeInstruction,
) -> Result<MergedPull, Failure> {
    let number = order.number;
    let failure = match api.change(context, merging(repo, order)).await {
        Ok(reply) => {
            let Sha { sha } = reply.json()?;
            return Ok(MergedPull { sha });
        }
        Err(failure) => failure,
    };
    match failure {
        Failure::GithubErrorResponse(response) if response.status == 405 => {
            Err(Failure::Unmergeable(UnmergeablePull {
                number,
                reason: UnmergeableReason::Refused,
                state: None,
                failing_checks: Vec::new(),
                response: Some(Box::new(response)),
                conflicts: None,
            }))
        }
        Failure::GithubErrorResponse(response) if response.status == 409 => {
            Err(Failure::HeadMoved {
                expected: order.head_sha.clone(),
                state: None,
                // Only if it can be read.
                actual: one(api, context, repo, number)
                    .await
                    .ok()
                    .map(|pull| pull.head_sha),
            })
        }
        other => Err(other),
    }
}

fn merging(repo: &RepoName, order: &MergeInstruction) -> GithubWrite {
    let method = match order.method {
        MergeMethod::Merge => "merge",
        MergeMethod::Squash => "squash",
        MergeMethod::Rebase => "rebase",
    };
    let mut body = Map::new();
    body.insert("sha".to_owned(), json!(order.head_sha));
    body.insert("merge_method".to_owned(), json!(method));
    if let Some(title) = &order.title {
        body.insert("commit_title".to_owned(), json!(title));
    }
    if let Some(message) = &order.message {
        body.insert("commit_message".to_owned(), json!(message));
    }
    GithubWrite {
        method: Method::PUT,
        route: route(repo, order.number).then("merge"),
        body: Some(Value::Object(body)),
        step: RequestKind::Merge,
        missing: MissingItem::PullRequest(order.number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_to_change_is_sent() {
        assert_eq!(fields(&PullRequestChange::default()), None);
        let draft = PullRequestChange {
            draft: Some(true),
            ..PullRequestChange::default()
        };
        assert_eq!(fields(&draft), None);
        let change = PullRequestChange {
            body: Some(String::new()),
            state: Some(PullState::Closed),
            ..PullRequestChange::default()
        };
        assert_eq!(
            fields(&change),
            Some(json!({ "body": "", "state": "closed" }))
        );
    }
}
