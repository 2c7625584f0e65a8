//! A client that never reads stderr, or reads it late, is served.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::requests::call;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

/// More failures than a pipe and the queue before it can hold.
const FAILURES: u32 = 8_000;

fn spawn(mut command: Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Makes calls that fail, and checks that each is answered.
fn fail_calls(child: &mut Child, calls: u32) {
    let mut input = child.stdin.take().unwrap();
    let path = "x".repeat(400);
    let writing = thread::spawn(move || {
        for id in 1..=calls {
            let message = call(
                id,
                "read_file",
                json!({ "repo": "sample/hello", "path": path }),
            );
            input.write_all((message + "\n").as_bytes()).unwrap();
        }
        input
    });
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, answers) = channel();
    thread::spawn(move || output.lines().try_for_each(|line| sender.send(line)));
    for _ in 0..calls {
        let Ok(answer) = answers.recv_timeout(LIMIT) else {
            // It would never end by itself.
            child.kill().unwrap();
            panic!("an answer waits for stderr to be read");
        };
        let answer = answer.unwrap();
        assert!(answer.contains("-32002"), "{answer}");
    }
    child.stdin = Some(writing.join().unwrap());
}

/// Waits for the end of a process that ends by itself.
fn wait_for_exit(mut child: Child) {
    let (sender, ended) = sync_channel(1);
    let id = child.id();
    thread::spawn(move || sender.send(child.wait()));
    let ended = ended.recv_timeout(LIMIT);
    let status = ended
        .unwrap_or_else(|_| panic!("{id} does not end"))
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn client_that_never_reads_stderr_is_served() {
    let fixture = GithubFixture::new();
    // The log goes to stderr as well.
    let mut child = spawn(fixture.command(&["serve", "--log", "debug"]));
    let unread = child.stderr.take().unwrap();
    fail_calls(&mut child, FAILURES);
    drop(child.stdin.take());
    wait_for_exit(child);
    drop(unread);
}

/// A late reader gets the number of lost lines.
#[test]
fn lost_lines_are_counted() {
    let fixture = GithubFixture::new();
    let mut child = spawn(fixture.command(&["serve"]));
    let unread = child.stderr.take().unwrap();
    fail_calls(&mut child, FAILURES);
    let mut stderr = BufReader::new(unread);
    let (mut lines, mut lost) = (0, 0);
    let mut line = String::new();
    while lost == 0 {
        line.clear();
        assert!(
            stderr.read_line(&mut line).unwrap() > 0,
            "{lines} lines, none was lost"
        );
        match line.strip_prefix("candor: ") {
            Some(rest) => lost = rest.split(' ').next().unwrap().parse::<u32>().unwrap(),
            None => lines += 1,
        }
    }
    drop(child.stdin.take());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    lines += u32::try_from(rest.lines().count()).unwrap();
    assert!(
        rest.lines().all(|line| line.starts_with("jsonrpc_error ")),
        "{rest}"
    );
    assert_eq!(lines + lost, FAILURES);
    wait_for_exit(child);
}
