//! The proxy: the only way out of the network namespace.

use crate::fixture::{Fixture, at_full_level};
use candor_sandbox::{HeldNetwork, Hosts, Level, Network};
use candor_testkit::with_refused_call;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// The address that the resolver of the test program takes for a public one.
const PUBLIC: &str = "127.0.0.77:0";

/// Serves one answer to each connection, until the test ends. Returns the port.
fn serve(address: &str) -> u16 {
    let server = TcpListener::bind(address).unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in server.incoming() {
            let mut client = client.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let text = String::from_utf8_lossy(&head).replace("\r\n", "|");
            let _ = write!(client, "HTTP/1.0 200 OK\r\n\r\n{text}");
        }
    });
    port
}

/// Sends requests from inside the sandbox, one for each line, and returns the first line of each answer.
const ASK: &str = r#"
import os, socket, sys
proxy = os.environ['http_proxy']
assert all(os.environ[n] == proxy for n in ('HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'https_proxy', 'all_proxy'))
host, port = proxy.removeprefix('http://').split(':')
for line in sys.argv[1:]:
    s = socket.create_connection((host, int(port)))
    s.sendall(line.encode().decode('unicode_escape').encode('latin-1'))
    text = b''
    while True:
        part = s.recv(4096)
        if not part: break
        text += part
        if b'established' in text and b'/tunnelled' not in text:
            s.sendall(b'GET /tunnelled HTTP/1.0\r\n\r\n')
    lines = text.decode('latin-1').split('\r\n')
    print(lines[0] or 'closed', *[l for l in lines[1:] if '|' in l])
"#;

fn ask(fixture: &Fixture, hosts: Hosts, requests: &[String]) -> (Vec<String>, u64, u64) {
    let mut argv = vec!["python3", "-c", ASK];
    argv.extend(requests.iter().map(String::as_str));
    let mut spec = fixture.spec(&argv);
    spec.network = Network::Proxy(hosts);
    let ran = fixture.run(&spec);
    assert!(ran.is_success(), "{}", ran.output);
    assert_eq!(ran.held.network, HeldNetwork::Proxy);
    let lines = ran.output.lines().map(str::to_owned).collect();
    (lines, ran.end.connections, ran.end.refused)
}

fn only(pattern: &str) -> Hosts {
    Hosts::Only(vec![pattern.parse().unwrap()])
}

#[test]
fn a_public_host_is_reached_both_ways() {
    at_full_level(|fixture| {
        let port = serve(PUBLIC);
        let requests = [
            format!(r"GET http://public.test:{port}/path HTTP/1.1\r\nHost: other\r\nX: y\r\n\r\n"),
            format!(r"CONNECT public.test:{port} HTTP/1.1\r\n\r\n"),
        ];
        let (lines, connections, refused) = ask(fixture, Hosts::Any, &requests);
        let host = format!("public.test:{port}");
        assert_eq!(
            lines,
            [
                format!("HTTP/1.0 200 OK GET /path HTTP/1.1|X: y|Host: {host}|Connection: close||"),
                String::from("HTTP/1.1 200 Connection established GET /tunnelled HTTP/1.0||"),
            ]
        );
        assert_eq!((connections, refused), (2, 0));
    });
}

#[test]
fn addresses_of_the_machine_are_refused() {
    at_full_level(|fixture| {
        let port = serve("127.0.0.1:0");
        let names = [
            "127.0.0.1",
            "localhost",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "0",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "169.254.169.254",
            "10.0.0.1",
            "192.168.1.1",
            "[fe80::1]",
            "[fd00::1]",
            "224.0.0.1",
            "255.255.255.255",
        ];
        let requests: Vec<String> = names
            .iter()
            .flat_map(|name| {
                [
                    format!(r"CONNECT {name}:{port} HTTP/1.1\r\n\r\n"),
                    format!(r"GET http://{name}:{port}/ HTTP/1.1\r\n\r\n"),
                ]
            })
            .collect();
        let (lines, connections, refused) = ask(fixture, Hosts::Any, &requests);
        for (request, line) in requests.iter().zip(&lines) {
            assert_eq!(line, "HTTP/1.1 403 Forbidden", "{request}");
        }
        assert_eq!((connections, refused), (0, requests.len() as u64));
    });
}

#[test]
fn hosts_that_are_not_granted_are_refused() {
    at_full_level(|fixture| {
        let port = serve(PUBLIC);
        let request = [format!(r"CONNECT public.test:{port} HTTP/1.1\r\n\r\n")];
        let (lines, ..) = ask(fixture, only(&format!("public.test:{port}")), &request);
        assert!(lines[0].starts_with("HTTP/1.1 200 "), "{lines:?}");
        // The port is not one of the usual ones.
        let (lines, ..) = ask(fixture, only("public.test"), &request);
        assert_eq!(lines, ["HTTP/1.1 403 Forbidden"]);
        let (lines, ..) = ask(fixture, only("other.test"), &request);
        assert_eq!(lines, ["HTTP/1.1 403 Forbidden"]);
    });
}

#[test]
fn requests_that_are_not_http_are_closed() {
    at_full_level(|fixture| {
        let requests = [
            String::from(r"GET / HTTP/1.1\r\n\r\n"),
            String::from(r"\x16\x03\x01 not http\r\n\r\n"),
            format!(
                r"GET http://public.test/ HTTP/1.1\r\nX: {}\r\n\r\n",
                "y".repeat(8 * 1024)
            ),
        ];
        let (lines, connections, _) = ask(fixture, Hosts::Any, &requests);
        assert_eq!(lines, ["closed", "closed", "closed"]);
        assert_eq!(connections, 0);
    });
}

/// Opens more connections than the proxy serves, and prints how many are still open.
const FLOOD: &str = r#"
import os, socket, select
host, port = os.environ['http_proxy'].removeprefix('http://').split(':')
held = []
for _ in range(70):
    held.append(socket.create_connection((host, int(port))))
closed = set()
while len(closed) < 6:
    for s in select.select([s for s in held if s not in closed], [], [])[0]:
        assert s.recv(1) == b''
        closed.add(s)
print(len(held) - len(closed))
"#;

#[test]
fn connections_over_the_limit_are_closed() {
    at_full_level(|fixture| {
        let mut spec = fixture.spec(&["python3", "-c", FLOOD]);
        spec.network = Network::Proxy(Hosts::Any);
        let ran = fixture.run(&spec);
        assert_eq!(ran.output, "64\n");
    });
}

#[test]
fn below_the_full_level_the_network_is_the_machines() {
    with_refused_call(nix::libc::SYS_unshare, crate::fixture::EPERM, || {
        let fixture = Fixture::new(Level::Landlock);
        let mut spec = fixture.spec(&["sh", "-c", "echo ${http_proxy:-none}"]);
        spec.network = Network::Proxy(Hosts::Any);
        let ran = fixture.run(&spec);
        assert_eq!(ran.held.network, HeldNetwork::Machine);
        assert_eq!(ran.output, "none\n");
    });
}
