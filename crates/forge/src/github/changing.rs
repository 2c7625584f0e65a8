//! Changing: every change is sent once, and what became of it is told apart by types.

use super::api::{Api, graphql_url, json_body, location};
use super::ask::{Change, Got, JSON, Lost, Reply};
use super::broken::Broken;
use super::limits::{ANSWER_MAX_BYTES, REDIRECTS_MAX};
use super::refusal::{Asked, wait};
use crate::{Failure, Turn};
use candor_guard::Deadline;
use candor_http_client::{BodyLimit, BoundedBody, Response, ResponseBody};

impl Api {
    /// Makes a change that is the only one of its call: the mark is set around it.
    pub(super) async fn change(&self, turn: &Turn, change: Change) -> Result<Reply, Failure> {
        turn.mark.begins()?;
        match self.send(turn, change).await {
            Ok(reply) => {
                turn.mark.done();
                Ok(reply)
            }
            Err(lost) => Err(lost.settled(turn)),
        }
    }

    /// Makes a change; the mark is the caller's.
    pub(super) async fn send(&self, turn: &Turn, change: Change) -> Result<Reply, Lost> {
        match self.send_along(turn, &change).await {
            Ok(reply) => Ok(reply),
            Err(Lost { failure, outcome }) => Err(Lost {
                failure: self.placed(turn, &change.route, failure).await,
                outcome,
            }),
        }
    }

    /// Sends a change along redirects that keep it the same change.
    async fn send_along(&self, turn: &Turn, change: &Change) -> Result<Reply, Lost> {
        let mut route = change.route.text().map_err(Lost::not_made)?.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let url = self.base.join(&route);
            match self.send_to(turn, &url, change).await? {
                Got::Reply(reply) => return Ok(reply),
                // Nothing was changed yet, so looking where it leads changes nothing either.
                Got::Moved(location) => {
                    let admitted = self.admitted(turn, location, change.route.repo());
                    route = admitted.await.map_err(Lost::not_made)?;
                }
            }
        }
        let circles = Broken::redirect("more redirects than are followed");
        Err(Lost::not_made(circles))
    }

    /// Asks the GraphQL API.
    pub(super) async fn graphql(&self, turn: &Turn, change: Change) -> Result<Reply, Lost> {
        match self
            .send_to(turn, &graphql_url(&self.base), &change)
            .await?
        {
            Got::Reply(reply) => Ok(reply),
            Got::Moved(_) => Err(Lost::not_made(Broken::redirect("GraphQL was redirected"))),
        }
    }

    /// One exchange. Nothing is sent after the call's deadline; but what was sent is waited for
    /// beyond it, because whoever called has been answered by then and only the record is left to
    /// learn what happened.
    async fn send_to(&self, turn: &Turn, url: &str, change: &Change) -> Result<Got, Lost> {
        if turn.deadline.passed() {
            return Err(Lost::not_made(Broken::late()));
        }
        let until = Deadline::after(self.attempt);
        let mut headers = self.headers(JSON);
        let body = json_body(&mut headers, change.body.as_ref());
        let sent = self.client.send(change.method.clone(), url, headers, body);
        let response = match until.run(sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_unsent() => return Err(Lost::not_made(Broken::from(error))),
            Ok(Err(error)) => return Err(Lost::unknown(Broken::from(error))),
            Err(_) => return Err(Lost::unknown(Broken::late())),
        };
        match response.status().as_u16() {
            200..=299 => self.made(until, response).await.map(Got::Reply),
            307 | 308 => Ok(Got::Moved(location(response.headers()))),
            300..=399 => Err(Lost::not_made(Broken::redirect(
                "a redirect that would make another request of a change",
            ))),
            status => {
                let answered = self.said(until, change, response).await;
                Err(match status {
                    400..=499 => Lost::not_made(answered),
                    _ => Lost::unknown(answered),
                })
            }
        }
    }

    /// The answer to a change that was made.
    async fn made(&self, until: Deadline, response: Response<ResponseBody>) -> Result<Reply, Lost> {
        let (head, body) = response.into_parts();
        let read = until.run(body.read(BodyLimit::Whole(ANSWER_MAX_BYTES)));
        let body = match read.await {
            Ok(read) => read.map_err(|error| Lost::made(Broken::from(error)))?,
            Err(_) => return Err(Lost::made(Broken::late())),
        };
        let BoundedBody { bytes, truncated } = body;
        Ok(Reply {
            bytes,
            truncated,
            more: false,
            wait: wait(&head.headers, self.clock.now()),
        })
    }

    async fn said(
        &self,
        until: Deadline,
        change: &Change,
        response: Response<ResponseBody>,
    ) -> Failure {
        let asked = Asked {
            step: change.step,
            missing: &change.missing,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        match until.run(self.refused(&asked, response)).await {
            Ok(answered) => Failure::Answered(answered),
            // Its words did not come; its status and headers did.
            Err(_) => {
                let now = self.clock.now();
                let bare = super::refusal::refusal(&asked, status.as_u16(), &headers, b"", now);
                Failure::Answered(bare)
            }
        }
    }
}
