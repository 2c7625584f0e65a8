//! Answers that do not come, or come broken.

use crate::documented::{REPOSITORY, Recorded};
use crate::scripted::Play;
use crate::stage::{LONG, Stage, failed, repo, settings};
use candor_fault::Effect;
use candor_forge::github::{GithubForge, SetupError};
use candor_forge::{Failure, Forge as _, MergeMethod, MergeOrder, Unreachable};
use candor_guard::Deadline;
use candor_http_client::HttpSetupError;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const REPO: &str = "GET /repos/octo/hello";
const MERGE: &str = "PUT /repos/octo/hello/pulls/7/merge";

fn why(failure: Failure) -> Unreachable {
    match failure {
        Failure::Unreachable(why, _) => why,
        other => panic!("reached: {other:?}"),
    }
}

/// Why reading a repository fails when these answers are played one after the other.
async fn read(plays: Vec<Play>) -> (Unreachable, usize) {
    let stage = Stage::reading().await;
    for play in plays {
        stage.play(REPO, play);
    }
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    stage.ends();
    (why(failed(found)), stage.server.lines().len())
}

fn order() -> MergeOrder {
    MergeOrder {
        number: 7,
        method: MergeMethod::Squash,
        title: None,
        message: None,
        head_sha: "6dcb09b5b57875f334f61aebed695e2e4193db5e".to_owned(),
    }
}

#[tokio::test]
async fn an_unreadable_success_is_garbled_and_not_asked_again() {
    for body in [
        "",
        "{",
        "<html>Welcome</html>",
        "[]",
        r#"{"full_name":"octo/hello"}"#,
        r#"{"full_name":"#,
    ] {
        let play = Play::new(200, &[], body.as_bytes());
        assert_eq!(read(vec![play]).await, (Unreachable::Garbled, 1), "{body}");
    }
    let deep = "[".repeat(100_000);
    let play = Play::new(200, &[], deep.as_bytes());
    assert_eq!(read(vec![play]).await, (Unreachable::Garbled, 1));
}

#[tokio::test]
async fn what_is_no_http_is_garbled() {
    let play = Play::Part(b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec());
    assert_eq!(read(vec![play]).await, (Unreachable::Garbled, 1));
}

#[tokio::test]
async fn a_broken_connection_is_tried_again() {
    let half = Play::cut(200, br#"{"full_name":"octo/"#);
    assert_eq!(read(vec![half.clone(); 3]).await, (Unreachable::Reset, 3));
    assert_eq!(
        read(vec![Play::Part(Vec::new()); 3]).await,
        (Unreachable::Reset, 3)
    );
    let stage = Stage::reading().await;
    stage.play(REPO, half);
    stage.play(REPO, Play::json(200, Recorded::of(REPOSITORY, 0).body()));
    assert!(stage.forge.repository(&stage.turn, &repo()).await.is_ok());
    stage.ends();
}

#[tokio::test]
async fn a_refusal_whose_body_breaks_off_keeps_its_status() {
    let stage = Stage::reading().await;
    stage.play(REPO, Play::cut(404, br#"{"message":"#));
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(crate::stage::answered(found).status, 404);
    stage.ends();
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let play = Play::new(200, &[], &vec![b' '; 17 * 1024 * 1024]);
    assert_eq!(read(vec![play]).await, (Unreachable::TooLarge, 1));
}

#[tokio::test]
async fn the_deadline_of_the_call_ends_a_slow_read() {
    let mut stage = Stage::reading().await;
    stage.turn.deadline = Deadline::after(Duration::from_millis(200));
    stage.play(REPO, Play::Silence);
    let begun = Instant::now();
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(why(failed(found)), Unreachable::Timeout);
    assert!(begun.elapsed() < LONG / 2);
    stage.ends();
}

#[tokio::test]
async fn an_attempt_has_a_bound_of_its_own() {
    let stage =
        Stage::with(|settings| settings.timeouts.attempt = Duration::from_millis(200)).await;
    stage.play(REPO, Play::Silence);
    stage.play(REPO, Play::json(200, Recorded::of(REPOSITORY, 0).body()));
    assert!(stage.forge.repository(&stage.turn, &repo()).await.is_ok());
    stage.ends();
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let mut stage = Stage::writing().await;
    stage.turn.deadline = Deadline::after(Duration::ZERO);
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(why(failed(found)), Unreachable::Timeout);
    let merged = stage.forge.merge(&stage.turn, &repo(), &order()).await;
    assert_eq!(why(failed(merged)), Unreachable::Timeout);
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn a_change_without_an_answer_has_an_unknown_effect_and_is_not_sent_again() {
    for (play, expected) in [
        (Play::Part(Vec::new()), Unreachable::Reset),
        (Play::Part(b"HTTP/1.1 2".to_vec()), Unreachable::Reset),
        (Play::Silence, Unreachable::Timeout),
    ] {
        let attempt = Duration::from_millis(300);
        let mut stage = Stage::with(|settings| settings.timeouts.attempt = attempt).await;
        stage.turn.mark = crate::marks::writing();
        stage.play(MERGE, play);
        let merged = stage.forge.merge(&stage.turn, &repo(), &order()).await;
        assert_eq!(why(failed(merged)), expected);
        assert_eq!(stage.effect(), Effect::Unknown);
        stage.ends();
    }
}

#[tokio::test]
async fn a_change_whose_success_cannot_be_read_is_done() {
    for (play, expected) in [
        (Play::cut(200, b"{"), Unreachable::Reset),
        (Play::new(200, &[], b"<html>"), Unreachable::Garbled),
    ] {
        let stage = Stage::writing().await;
        stage.play(MERGE, play);
        let merged = stage.forge.merge(&stage.turn, &repo(), &order()).await;
        assert_eq!(why(failed(merged)), expected);
        assert_eq!(stage.effect(), Effect::Done);
        stage.ends();
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
    let mut stage = Stage::with(|settings| settings.api_url = url).await;
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(why(failed(found)), Unreachable::Connect);
    stage.turn.mark = crate::marks::writing();
    let merged = stage.forge.merge(&stage.turn, &repo(), &order()).await;
    assert_eq!(why(failed(merged)), Unreachable::Connect);
    assert_eq!(stage.effect(), Effect::None);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_apart() {
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
        // A machine without certificates trusts nobody, and says so before anything is asked.
        Err(error) => return assert_eq!(error, SetupError::Http(HttpSetupError::NoCertificates)),
    };
    let stage = Stage::reading().await;
    let found = forge.repository(&stage.turn, &repo()).await;
    assert_eq!(why(failed(found)), Unreachable::Tls);
    plain.await.unwrap();
}
