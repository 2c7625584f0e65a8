//! A backend in front of a scripted server.

use crate::description::assert_described;
use crate::marks;
use crate::scripted::{Play, Scripted};
use candor_fault::{Effect, Timestamp};
use candor_forge::github::{GithubForge, Settings, Timeouts};
use candor_forge::{Answered, Failure, RepoName, Turn};
use candor_guard::Deadline;
use candor_http_client::BearerToken;
use std::sync::Arc;
use std::time::Duration;

/// Must be seen by nobody but the server.
pub(crate) const CANARY: &str = "ghp_canary0123456789";

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The instant at which every test happens, in seconds.
pub(crate) const NOW: i64 = 1_700_000_000;

pub(crate) struct Stage {
    pub(crate) server: Scripted,
    pub(crate) forge: GithubForge,
    pub(crate) turn: Turn,
}

pub(crate) fn settings(api_url: String) -> Settings {
    Settings {
        api_url,
        token: BearerToken::new(CANARY),
        user_agent: "candor-test/1".to_owned(),
        may: Arc::new(|_| true),
        random: Arc::new(|| 0),
        clock: Arc::new(|| Timestamp::from_second(NOW).unwrap()),
        timeouts: Timeouts {
            connect: LONG,
            attempt: LONG,
        },
    }
}

pub(crate) fn repo() -> RepoName {
    RepoName::read("octo/hello").unwrap()
}

impl Stage {
    /// For a call that only reads.
    pub(crate) async fn reading() -> Stage {
        Stage::with(|_| {}).await
    }

    /// For a call that may change something.
    pub(crate) async fn writing() -> Stage {
        let mut stage = Stage::reading().await;
        stage.turn.mark = marks::writing();
        stage
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Stage {
        let server = Scripted::start().await;
        let mut settings = settings(server.url());
        change(&mut settings);
        Stage {
            forge: GithubForge::new(settings).unwrap(),
            server,
            turn: Turn {
                deadline: Deadline::after(LONG),
                mark: marks::reading(),
            },
        }
    }

    pub(crate) fn play(&self, line: &str, play: Play) -> &Self {
        self.server.play(line, play);
        self
    }

    pub(crate) fn effect(&self) -> Effect {
        self.turn.mark.effect()
    }

    /// Everything was played, nothing else was asked for, and all of it is described.
    pub(crate) fn ends(&self) {
        self.server.assert_played();
        for request in self.server.seen() {
            assert_described(&request);
            assert_eq!(request.header("x-github-api-version"), Some("2022-11-28"));
            assert_eq!(request.header("user-agent"), Some("candor-test/1"));
            let token = format!("Bearer {CANARY}");
            assert_eq!(request.header("authorization"), Some(token.as_str()));
        }
    }
}

/// The failure, which shows no secret.
pub(crate) fn failed<T: std::fmt::Debug>(result: Result<T, Failure>) -> Failure {
    let failure = result.unwrap_err();
    let shown = format!("{failure:?} {failure:#?}");
    assert!(!shown.contains("canary"), "{shown}");
    failure
}

/// The refusal that a failure is.
pub(crate) fn answered<T: std::fmt::Debug>(result: Result<T, Failure>) -> Answered {
    match failed(result) {
        Failure::Answered(answered) => answered,
        other => panic!("not answered: {other:?}"),
    }
}
