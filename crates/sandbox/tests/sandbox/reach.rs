//! The reach of a command beyond files: environment, other processes, sockets.

use crate::fixture::Fixture;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

#[test]
fn the_environment_has_only_the_specified_variables() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&["env"]);
    spec.env = vec![
        ("CHOSEN".into(), "by the plan".into()),
        ("HOME".into(), "/root".into()),
        ("PATH".into(), "/evil".into()),
        ("TMPDIR".into(), "/evil".into()),
    ];
    let scratch = fixture.path("scratch");
    let scratch = scratch.display();
    let outcome = fixture.run(&spec);
    let mut lines: Vec<&str> = outcome.output_tail.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines.join("\n"),
        format!(
            "CHOSEN=by the plan\nHOME={scratch}/home\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nTMPDIR={scratch}/tmp"
        )
    );
}

#[test]
fn only_the_standard_streams_are_open_and_stdin_is_empty() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let outcome =
        fixture.run_shell("cat; ls /proc/$$/fd; [ -t 0 ] || echo no terminal; : < /dev/tty");
    let lines: Vec<&str> = outcome.output_tail.lines().take(4).collect();
    assert_eq!(
        lines,
        ["0", "1", "2", "no terminal"],
        "{}",
        outcome.output_tail
    );
    assert_ne!(outcome.exit_code, Some(0), "no terminal can be opened");
}

#[test]
fn server_and_warden_cannot_be_read_or_killed() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let attempts = fixture.attack("processes", |_| {});
    assert_eq!(
        attempts,
        "environment of the server: EACCES
memory of the server: EACCES
program of the server: EACCES
root of the server: EACCES
kill the server: EPERM
environment of the warden: EACCES
memory of the warden: EACCES
program of the warden: EACCES
root of the warden: EACCES
kill the warden: EPERM
"
    );
}

/// Returns `None` if the test is skipped.
fn attempt_sockets(network: bool) -> Option<String> {
    let fixture = Fixture::with_sandbox()?;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _local = UnixListener::bind(fixture.path("socket")).unwrap();
    let port = tcp.local_addr().unwrap().port().to_string();
    Some(fixture.attack("sockets", |spec| {
        spec.env.push(("PORT".into(), port));
        spec.network = network;
    }))
}

#[test]
fn without_the_network_there_are_no_sockets() {
    let Some(attempts) = attempt_sockets(false) else {
        return;
    };
    assert_eq!(
        attempts,
        "connect over TCP: EPERM
listen on TCP: EPERM
send over UDP: EPERM
connect to a local socket: EPERM
make a local socket: EPERM
pair of streams: done
pair of datagrams: EPERM
"
    );
}

#[test]
fn with_the_network_local_sockets_stay_refused() {
    let Some(attempts) = attempt_sockets(true) else {
        return;
    };
    assert_eq!(
        attempts,
        "connect over TCP: done
listen on TCP: done
send over UDP: done
connect to a local socket: EPERM
make a local socket: EPERM
pair of streams: done
pair of datagrams: EPERM
"
    );
}
