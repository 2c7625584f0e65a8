//! The reach of a command beyond files: environment, other processes, sockets, shared memory.

use crate::fixture::{Fixture, at_both_levels, at_full_level};
use candor_sandbox::{HeldNetwork, Level, Network};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

#[test]
fn the_environment_has_only_the_specified_variables() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["env"]);
        spec.env = vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("CHOSEN".into(), "by the plan".into()),
        ];
        let ran = fixture.run(&spec);
        let mut lines: Vec<&str> = ran.output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["CHOSEN=by the plan", "PATH=/usr/bin:/bin"]);
    });
}

#[test]
fn only_the_standard_streams_are_open() {
    at_both_levels(|fixture| {
        let ran =
            fixture.run_shell("cat; ls /proc/$$/fd; [ -t 0 ] || echo no terminal; : < /dev/tty");
        let lines: Vec<&str> = ran.output.lines().take(4).collect();
        assert_eq!(lines, ["0", "1", "2", "no terminal"], "{}", ran.output);
        assert_ne!(ran.end.exit_code, Some(0), "no terminal can be opened");
    });
}

#[test]
fn other_processes_do_not_exist_at_the_full_level() {
    at_full_level(|fixture| {
        let ran = fixture.run_shell("echo $PPID; ls -d /proc/[0-9]* | wc -l");
        let lines: Vec<&str> = ran.output.lines().collect();
        assert_eq!(lines[0], "1");
        assert!(
            lines[1].trim().parse::<u32>().unwrap() <= 5,
            "{}",
            ran.output
        );
    });
}

#[test]
fn server_and_parent_cannot_be_read_or_killed() {
    at_both_levels(|fixture| {
        let attempts = fixture.attack("processes", |_| {});
        // Process 1 survives what its own namespace sends, without an error.
        let (server, kill_server, kill_parent) = match fixture.level {
            Level::Full => ("ENOENT", "ESRCH", "EPERM"),
            _ => ("EACCES", "EPERM", "EPERM"),
        };
        assert_eq!(
            attempts,
            format!(
                "environment of the server: {server}
memory of the server: {server}
program of the server: {server}
root of the server: {server}
kill the server: {kill_server}
environment of the parent: EACCES
memory of the parent: EACCES
program of the parent: EACCES
root of the parent: EACCES
kill the parent: {kill_parent}
"
            )
        );
    });
}

/// Tries every kind of socket, beside a TCP server and a local one. Returns the attempts.
fn use_sockets(fixture: &Fixture, network: Network) -> String {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _local = UnixListener::bind(fixture.path("work/socket")).unwrap();
    let port = tcp.local_addr().unwrap().port().to_string();
    fixture.attack("sockets", |spec| {
        spec.env.push(("PORT".into(), port.into()));
        spec.network = network;
    })
}

#[test]
fn without_the_network_only_the_own_loopback_is_left() {
    at_both_levels(|fixture| {
        let attempts = use_sockets(fixture, Network::Off);
        let (connect, own) = match fixture.level {
            Level::Full => ("Connection refused (os error 111)", "done"),
            _ => ("EPERM", "EPERM"),
        };
        assert_eq!(
            attempts,
            format!(
                "connect over TCP: {connect}
listen on TCP: {own}
send over UDP: {own}
connect to a local socket: EPERM
make a local socket: EPERM
pair of streams: done
pair of datagrams: EPERM
own server: {own}
"
            )
        );
    });
}

#[test]
fn with_the_machines_network_local_sockets_stay_refused() {
    at_both_levels(|fixture| {
        let attempts = use_sockets(fixture, Network::Machine);
        assert_eq!(
            attempts,
            "connect over TCP: done
listen on TCP: done
send over UDP: done
connect to a local socket: EPERM
make a local socket: EPERM
pair of streams: done
pair of datagrams: EPERM
own server: done
"
        );
        let mut spec = fixture.spec(&["true"]);
        spec.network = Network::Machine;
        assert_eq!(fixture.run(&spec).held.network, HeldNetwork::Machine);
    });
}
