//! Answers that do not come, or come broken.

use crate::fixture::github::{GithubFixture, LONG, expect_failure, repo, settings};
use crate::github::recorded_answers::{REPOSITORY, Recorded};
use candor_call_fixtures::writing_mark;
use candor_fault::Effect;
use candor_forge::github::{GithubForge, GithubSetupError};
use candor_forge::{Failure, Forge as _, MergeInstruction, MergeMethod, UnreachableReason};
use candor_guard::Deadline;
use candor_http_client::HttpSetupError;
use candor_testkit::scripted_http::ScriptedResponse;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const REPO: &str = "GET /repos/octo/hello";
const MERGE: &str = "PUT /repos/octo/hello/pulls/7/merge";

fn why(failure: Failure) -> UnreachableReason {
    match failure {
        Failure::Unreachable(why, _) => why,
        other => panic!("reached: {other:?}"),
    }
}

/// Returns the failure of reading a repository with these responses one after the other.
async fn read(responses: Vec<ScriptedResponse>) -> (UnreachableReason, usize) {
    let fixture = GithubFixture::reading().await;
    for respond in responses {
        fixture.respond(REPO, respond);
    }
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    fixture.assert_complete();
    (why(expect_failure(found)), fixture.server.lines().len())
}

fn order() -> MergeInstruction {
    MergeInstruction {
        number: 7,
        method: MergeMethod::Squash,
        title: None,
        message: None,
        head_sha: "6dcb09b5b57875f334f61aebed695e2e4193db5e".to_owned(),
    }
}

#[tokio::test]
async fn unreadable_success_is_malformed_and_not_retried() {
    for body in [
        "",
        "{",
        "<html>Welcome</html>",
        "[]",
        r#"{"full_name":"octo/hello"}"#,
        r#"{"full_name":"#,
    ] {
        let respond = ScriptedResponse::new(200, &[], body.as_bytes());
        assert_eq!(
            read(vec![respond]).await,
            (UnreachableReason::Garbled, 1),
            "{body}"
        );
    }
    let deep = "[".repeat(100_000);
    let respond = ScriptedResponse::new(200, &[], deep.as_bytes());
    assert_eq!(read(vec![respond]).await, (UnreachableReason::Garbled, 1));
}

#[tokio::test]
async fn response_that_is_not_http_is_malformed() {
    let respond = ScriptedResponse::Part(b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec());
    assert_eq!(read(vec![respond]).await, (UnreachableReason::Garbled, 1));
}

#[tokio::test]
async fn lost_connection_is_retried() {
    let half = ScriptedResponse::cut(200, br#"{"full_name":"octo/"#);
    assert_eq!(
        read(vec![half.clone(); 3]).await,
        (UnreachableReason::Reset, 3)
    );
    assert_eq!(
        read(vec![ScriptedResponse::Part(Vec::new()); 3]).await,
        (UnreachableReason::Reset, 3)
    );
    // The announced length alone does not make an answer too large.
    let large = b"HTTP/1.1 200 Played\r\ncontent-length: 99999999\r\n\r\n{".to_vec();
    assert_eq!(
        read(vec![ScriptedResponse::Part(large); 3]).await,
        (UnreachableReason::Reset, 3)
    );
    let fixture = GithubFixture::reading().await;
    fixture.respond(REPO, half);
    fixture.respond(
        REPO,
        ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body()),
    );
    assert!(
        fixture
            .forge
            .repository(&fixture.context, &repo())
            .await
            .is_ok()
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn error_response_without_its_body_keeps_its_status() {
    let fixture = GithubFixture::reading().await;
    fixture.respond(REPO, ScriptedResponse::cut(404, br#"{"message":"#));
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(
        crate::fixture::github::expect_error_response(found).status,
        404
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn huge_answer_is_not_read_to_its_end() {
    let respond = ScriptedResponse::new(200, &[], &vec![b' '; 17 * 1024 * 1024]);
    assert_eq!(read(vec![respond]).await, (UnreachableReason::TooLarge, 1));
}

#[tokio::test]
async fn deadline_of_the_call_ends_a_slow_read() {
    let mut fixture = GithubFixture::reading().await;
    fixture.context.deadline = Deadline::after(Duration::from_millis(200));
    fixture.respond(REPO, ScriptedResponse::Hang(Vec::new()));
    let begun = Instant::now();
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(why(expect_failure(found)), UnreachableReason::Timeout);
    assert!(begun.elapsed() < LONG / 2);
    fixture.assert_complete();
}

#[tokio::test]
async fn attempt_has_a_bound_of_its_own() {
    let fixture =
        GithubFixture::with(|settings| settings.timeouts.attempt = Duration::from_millis(200))
            .await;
    fixture.respond(REPO, ScriptedResponse::Hang(Vec::new()));
    fixture.respond(
        REPO,
        ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body()),
    );
    assert!(
        fixture
            .forge
            .repository(&fixture.context, &repo())
            .await
            .is_ok()
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let mut fixture = GithubFixture::writing().await;
    fixture.context.deadline = Deadline::after(Duration::ZERO);
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(why(expect_failure(found)), UnreachableReason::Timeout);
    let merged = fixture
        .forge
        .merge(&fixture.context, &repo(), &order())
        .await;
    assert_eq!(why(expect_failure(merged)), UnreachableReason::Timeout);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn change_without_an_answer_has_an_unknown_effect_and_is_not_sent_again() {
    for (respond, expected) in [
        (ScriptedResponse::Part(Vec::new()), UnreachableReason::Reset),
        (
            ScriptedResponse::Part(b"HTTP/1.1 2".to_vec()),
            UnreachableReason::Reset,
        ),
        (
            ScriptedResponse::Hang(Vec::new()),
            UnreachableReason::Timeout,
        ),
    ] {
        let attempt = Duration::from_millis(300);
        let mut fixture = GithubFixture::with(|settings| settings.timeouts.attempt = attempt).await;
        fixture.context.mark = writing_mark();
        fixture.respond(MERGE, respond);
        let merged = fixture
            .forge
            .merge(&fixture.context, &repo(), &order())
            .await;
        assert_eq!(why(expect_failure(merged)), expected);
        assert_eq!(fixture.effect(), Effect::Unknown);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn change_whose_success_cannot_be_read_is_done() {
    for (respond, expected) in [
        (ScriptedResponse::cut(200, b"{"), UnreachableReason::Reset),
        (
            ScriptedResponse::new(200, &[], b"<html>"),
            UnreachableReason::Garbled,
        ),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(MERGE, respond);
        let merged = fixture
            .forge
            .merge(&fixture.context, &repo(), &order())
            .await;
        assert_eq!(why(expect_failure(merged)), expected);
        assert_eq!(fixture.effect(), Effect::Done);
        fixture.assert_complete();
    }
}

/// A port on which nobody listens.
async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn without_a_connection_nothing_happens() {
    let url = format!("http://{}", nobody().await);
    let mut fixture = GithubFixture::with(|settings| settings.api_url = url).await;
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(why(expect_failure(found)), UnreachableReason::Connect);
    fixture.context.mark = writing_mark();
    let merged = fixture
        .forge
        .merge(&fixture.context, &repo(), &order())
        .await;
    assert_eq!(why(expect_failure(merged)), UnreachableReason::Connect);
    assert_eq!(fixture.effect(), Effect::None);
}

#[tokio::test]
async fn failed_tls_has_its_own_reason() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let greeting = b"220 mail.example.com ESMTP\r\n";
        stream.write_all(greeting).await.unwrap();
        stream.read_u8().await.unwrap();
    });
    let forge = match GithubForge::new(settings(url)) {
        Ok(forge) => forge,
        // On a machine without certificates, the client is refused before it sends anything.
        Err(error) => {
            return assert_eq!(
                error,
                GithubSetupError::Http(HttpSetupError::NoCertificates)
            );
        }
    };
    let fixture = GithubFixture::reading().await;
    let found = forge.repository(&fixture.context, &repo()).await;
    assert_eq!(why(expect_failure(found)), UnreachableReason::Tls);
    plain.await.unwrap();
}
