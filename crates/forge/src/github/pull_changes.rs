//! Pull requests, changed: opened, edited, merged.

use super::api::Api;
use super::ask::{Ask, Change, Lost, Outcome};
use super::graphql::toggle;
use super::pulls::{one, route};
use super::route::Route;
use super::shapes::{Number, RawPull, Sha};
use crate::{
    Answered, Failure, MergeMethod, MergeOrder, Merged, Missing, NewPull, PullChange, PullRequest,
    PullState, RepoName, Step, Turn, Unmergeable, Unmet, Why,
};
use candor_http_client::Method;
use serde_json::{Map, Value, json};

pub(super) async fn create(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    new: &NewPull,
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
    let change = Change {
        method: Method::POST,
        route: Route::of(repo).then("pulls"),
        body: Some(Value::Object(body)),
        step: Step::Write,
        missing: Missing::Repository,
    };
    let failure = match api.change(turn, change).await {
        Ok(reply) => return reply.json::<RawPull>()?.into_model(),
        Err(failure) => failure,
    };
    if let Failure::Answered(Answered { status: 422, .. }) = failure {
        let owner = owner.unwrap_or(repo.owner());
        // The lookup only explains; where it fails, GitHub's own refusal stands.
        if let Ok(Some(number)) = standing(api, turn, repo, owner, new).await {
            return Err(Unmet::PullExists(number).into());
        }
    }
    Err(failure)
}

/// The open pull request for the same two branches.
async fn standing(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    owner: &str,
    new: &NewPull,
) -> Result<Option<u64>, Failure> {
    let route = Route::of(repo)
        .then("pulls")
        .query("state", "open")
        .query("head", &format!("{owner}:{}", new.head))
        .query("base", &new.base)
        .page(1, 1);
    let ask = Ask::new(route, Missing::Repository);
    let found: Vec<Number> = api.read_json(turn, ask).await?;
    Ok(found.first().map(|pull| pull.number))
}

/// What of a change REST can do.
fn fields(change: &PullChange) -> Option<Value> {
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
    turn: &Turn,
    repo: &RepoName,
    number: u64,
    change: &PullChange,
) -> Result<PullRequest, Failure> {
    let before = match change.draft {
        Some(draft) => Some(one(api, turn, repo, number).await?).filter(|pull| pull.draft != draft),
        None => None,
    };
    let steps = Steps {
        api,
        turn,
        repo,
        number,
    };
    match (fields(change), before) {
        (Some(body), None) => {
            let reply = api.change(turn, steps.edit(body)).await?;
            reply.json::<RawPull>()?.into_model()
        }
        (None, Some(pull)) => {
            turn.mark.begins()?;
            let pull = steps.toggled(pull).await;
            let pull = pull.map_err(|lost| lost.settled(turn))?;
            turn.mark.done();
            Ok(pull)
        }
        // What is closed cannot become a draft, so a pull request that is to be closed is closed last.
        (Some(body), Some(pull)) if change.state == Some(PullState::Closed) => {
            turn.mark.begins()?;
            let pull = steps.toggled(pull).await;
            pull.map_err(|lost| lost.settled(turn))?;
            let edited = steps.edited(body).await;
            steps.second(edited, "whether it is a draft was changed")
        }
        (Some(body), Some(_)) => {
            turn.mark.begins()?;
            let pull = steps.edited(body).await;
            let pull = pull.map_err(|lost| lost.settled(turn))?;
            let toggled = steps.toggled(pull).await;
            steps.second(toggled, "all but whether it is a draft was changed")
        }
        (None, None) => one(api, turn, repo, number).await,
    }
}

/// The two steps of an update; the mark is set by whoever knows which is the last.
struct Steps<'a> {
    api: &'a Api,
    turn: &'a Turn,
    repo: &'a RepoName,
    number: u64,
}

impl Steps<'_> {
    fn edit(&self, body: Value) -> Change {
        Change {
            method: Method::PATCH,
            route: route(self.repo, self.number),
            body: Some(body),
            step: Step::Write,
            missing: Missing::PullRequest(self.number),
        }
    }

    async fn edited(&self, body: Value) -> Result<PullRequest, Lost> {
        let reply = self.api.send(self.turn, self.edit(body)).await?;
        let pull = reply.json::<RawPull>().and_then(RawPull::into_model);
        pull.map_err(Lost::made)
    }

    async fn toggled(&self, mut pull: PullRequest) -> Result<PullRequest, Lost> {
        let node = pull.node_id.clone().unwrap_or_default();
        let toggled = toggle(self.api, self.turn, self.number, &node, !pull.draft).await?;
        pull.draft = toggled.draft;
        pull.updated_at = toggled.updated_at;
        Ok(pull)
    }

    /// What the second step came to: the first was made, whatever becomes of this one.
    fn second(
        &self,
        came: Result<PullRequest, Lost>,
        done: &'static str,
    ) -> Result<PullRequest, Failure> {
        match came {
            Ok(pull) => {
                self.turn.mark.done();
                Ok(pull)
            }
            Err(lost) if lost.outcome == Outcome::Made => {
                self.turn.mark.done();
                Err(lost.failure)
            }
            Err(lost) => Err(Failure::Partly {
                done,
                rest: Box::new(lost.failure),
            }),
        }
    }
}

pub(super) async fn merge(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    order: &MergeOrder,
) -> Result<Merged, Failure> {
    let number = order.number;
    let failure = match api.change(turn, merging(repo, order)).await {
        Ok(reply) => {
            let Sha { sha } = reply.json()?;
            return Ok(Merged { sha });
        }
        Err(failure) => failure,
    };
    match failure {
        Failure::Answered(answered) if answered.status == 405 => {
            Err(Failure::Unmergeable(Unmergeable {
                number,
                why: Why::Refused,
                state: None,
                failing_checks: Vec::new(),
                answered: Some(Box::new(answered)),
            }))
        }
        Failure::Answered(answered) if answered.status == 409 => Err(Failure::HeadMoved {
            expected: order.head_sha.clone(),
            state: None,
            // Only told where it can be had.
            actual: one(api, turn, repo, number)
                .await
                .ok()
                .map(|pull| pull.head_sha),
        }),
        other => Err(other),
    }
}

fn merging(repo: &RepoName, order: &MergeOrder) -> Change {
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
    Change {
        method: Method::PUT,
        route: route(repo, order.number).then("merge"),
        body: Some(Value::Object(body)),
        step: Step::Merge,
        missing: Missing::PullRequest(order.number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_to_change_is_sent() {
        assert_eq!(fields(&PullChange::default()), None);
        let draft = PullChange {
            draft: Some(true),
            ..PullChange::default()
        };
        assert_eq!(fields(&draft), None);
        let change = PullChange {
            body: Some(String::new()),
            state: Some(PullState::Closed),
            ..PullChange::default()
        };
        assert_eq!(
            fields(&change),
            Some(json!({ "body": "", "state": "closed" }))
        );
    }
}
