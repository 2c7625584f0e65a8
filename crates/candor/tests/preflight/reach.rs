//! Beyond files: the environment, other processes, sockets.

use crate::place::Place;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

#[test]
fn the_environment_holds_what_was_agreed_and_nothing_else() {
    let place = Place::new();
    let mut order = place.order(&["env"]);
    order.env = vec![
        ("CHOSEN".into(), "by the plan".into()),
        ("HOME".into(), "/root".into()),
        ("PATH".into(), "/evil".into()),
        ("TMPDIR".into(), "/evil".into()),
    ];
    let scratch = place.at("scratch");
    let scratch = scratch.display();
    let ran = place.run(&order);
    let mut lines: Vec<&str> = ran.output_tail.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines.join("\n"),
        format!(
            "CHOSEN=by the plan\nHOME={scratch}/home\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nTMPDIR={scratch}/tmp"
        )
    );
}

#[test]
fn only_three_files_are_open_and_stdin_is_empty() {
    let place = Place::new();
    let ran = place.shell("cat; ls /proc/$$/fd; [ -t 0 ] || echo no terminal; : < /dev/tty");
    let lines: Vec<&str> = ran.output_tail.lines().take(4).collect();
    assert_eq!(lines, ["0", "1", "2", "no terminal"], "{}", ran.output_tail);
    assert_ne!(ran.exit_code, Some(0), "no terminal can be opened");
}

#[test]
fn those_who_watch_cannot_be_read_or_ended() {
    let place = Place::new();
    let said = place.attack("processes", |_| {});
    assert_eq!(
        said,
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

fn sockets(network: bool) -> String {
    let place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _local = UnixListener::bind(place.at("socket")).unwrap();
    let port = tcp.local_addr().unwrap().port().to_string();
    place.attack("sockets", |order| {
        order.env.push(("PORT".into(), port));
        order.network = network;
    })
}

#[test]
fn without_the_network_there_are_no_sockets() {
    assert_eq!(
        sockets(false),
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
fn with_the_network_other_programs_of_this_machine_stay_out_of_reach() {
    assert_eq!(
        sockets(true),
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
