//! Many peers at once, most of them slow, idle or gone: none of them can shut the server.

use crate::fixture::CANDOR;
use crate::requests::{call, parse};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{
    MANY_CONNECTIONS, connect_idle, http, metric, poll_until, raise_open_files,
};
use candor_testkit::{Http, is_long};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The time within which anybody is served. A build without optimisation gets more.
const SOON: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

const MIB: u64 = 1024 * 1024;

/// Starts a playground that may open 256 files, and therefore has room for 128 connections.
fn small_server(flags: &[&str]) -> Http {
    limited_server(256, flags)
}

/// Starts a playground that may open so many files, and has room for half as many connections.
fn limited_server(files: usize, flags: &[&str]) -> Http {
    let script = format!(r#"ulimit -n {files}; exec "$0" "$@""#);
    let fixed = ["-c", &script, CANDOR, "playground", "--http", "--port", "0"];
    let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
    Http::spawn("sh", &arguments)
}

/// Sends a ping on a new connection and returns the time until its answer.
fn time_of_ping(server: &Http, headers: &[(&str, &str)]) -> Duration {
    let start = Instant::now();
    let response = server.post(PING, headers);
    assert_eq!((response.status, response.text()), (200, result("1", "{}")));
    start.elapsed()
}

fn open_files(server: &mut Http) -> usize {
    let directory = format!("/proc/{}/fd", server.process().pid());
    fs::read_dir(directory).unwrap().count()
}

/// Returns the number that the next open file of a process gets.
fn first_free_file(pid: Option<Pid>) -> usize {
    let directory = format!("/proc/{}/fd", pid.unwrap().as_raw_nonzero());
    let names = fs::read_dir(directory).unwrap();
    let numbers: std::collections::BTreeSet<usize> = names
        .map(|name| name.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    (0..).find(|number| !numbers.contains(number)).unwrap()
}

fn memory(server: &mut Http) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process().pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

#[test]
fn newcomer_is_served_beside_many_idle_peers() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let server = http(&[]);
    let idle = connect_idle(&server, 600);
    assert!(time_of_ping(&server, &[]) < SOON);
    assert_eq!(
        metric(&server, "candor_connections_evicted_total{state=\"idle\"} "),
        0
    );
    drop(idle);
}

/// More peers than connections: newcomers are served, the connections with a token and the running call
/// are kept.
#[test]
fn low_limit_of_open_files_shuts_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "t").unwrap();
    let token = ("Authorization", "Bearer t");
    let server = small_server(&["--bearer-file", file.to_str().unwrap()]);
    let mut running = server.connect();
    let hang = call("1", "hang", r#"{"ms":5000}"#);
    running.send(server.request("POST", hang.as_bytes(), &[token]));
    let mut own = server.connect();
    own.send(server.request("POST", PING.as_bytes(), &[token]));
    assert_eq!(own.response().status, 200);
    // 126 more fit, and nobody is evicted.
    let mut idle = connect_idle(&server, 126);
    // An answer arrives a moment before its connection counts as idle.
    let metrics = poll_until(|| {
        own.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n\r\n");
        let metrics = own.response().text();
        let is_at_rest = metrics.contains("candor_connections{state=\"idle\"} 126\n");
        is_at_rest.then_some(metrics)
    });
    assert!(
        !metrics.contains("candor_connections_evicted_total{"),
        "{metrics}"
    );
    // The next one takes the place of an idle one.
    assert!(time_of_ping(&server, &[token]) < SOON);
    own.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n\r\n");
    let metrics = own.response().text();
    let evicted = "candor_connections_evicted_total{state=\"idle\"} 1\n";
    assert!(metrics.contains(evicted), "{metrics}");
    idle.extend(connect_idle(&server, 300));
    assert!(time_of_ping(&server, &[token]) < SOON);
    own.send(server.request("POST", PING.as_bytes(), &[token]));
    assert_eq!(own.response().status, 200);
    let answer = running.response();
    assert!(answer.text().contains("hung_ms"), "{}", answer.text());
}

/// Peers that read no answers hold every connection, and make room for a newcomer. Running calls do not.
#[test]
fn unread_answers_shut_nobody_out() {
    const CONNECTIONS: usize = 20;
    const RUNNING: usize = 3;
    let server = limited_server(2 * CONNECTIONS, &[]);
    let hang = call("1", "hang", r#"{"ms":3600000}"#);
    let hang = server.request("POST", hang.as_bytes(), &[]);
    let mut running: Vec<_> = (0..RUNNING).map(|_| server.connect()).collect();
    // More than the buffers of a connection hold.
    let flood = call("1", "flood", r#"{"bytes":5000000}"#);
    let flood = server.request("POST", flood.as_bytes(), &[]);
    let mut peers: Vec<_> = (RUNNING..CONNECTIONS).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.send(&flood);
    }
    for connection in &mut running[1..] {
        connection.send(&hang);
    }
    // On a connection that exists: a newcomer would evict a peer whose request is not read yet.
    let unread = format!("candor_connections{{state=\"unread\"}} {}\n", peers.len());
    poll_until(|| {
        running[0].send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        running[0].response().text().contains(&unread).then_some(())
    });
    running[0].send(&hang);
    // Even the last one has read nothing for long enough.
    thread::sleep(Duration::from_secs(1));
    let started = Instant::now();
    let mut newcomer = server.connect();
    newcomer.send(server.request("POST", PING.as_bytes(), &[]));
    assert_eq!(newcomer.response().status, 200);
    let time = started.elapsed();
    println!(
        "beside {} peers that read nothing a newcomer was answered in {time:?}",
        peers.len()
    );
    assert!(time < SOON, "{time:?}");
    // On the same connection: the server may not have seen yet that it is idle, and would evict
    // another peer for the next newcomer.
    newcomer.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let metrics = newcomer.response().text();
    let evicted = "candor_connections_evicted_total{state=\"unread\"} 1\n";
    assert!(metrics.contains(evicted), "{metrics}");
    // The running calls and this request.
    let busy = format!("candor_connections{{state=\"busy\"}} {}\n", RUNNING + 1);
    assert!(metrics.contains(&busy), "{metrics}");
}

#[test]
fn slow_heads_and_bodies_are_not_noticed() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let server = http(&[]);
    let request = server.request("POST", PING.as_bytes(), &[]);
    let mut slow: Vec<_> = (0..600).map(|_| server.connect()).collect();
    for connection in &mut slow {
        connection.send(&request[..40]);
    }
    let mut bodies: Vec<_> = (0..520).map(|_| server.connect()).collect();
    for connection in &mut bodies {
        connection.send(&request[..request.len() - 10]);
    }
    let mut times: Vec<_> = (0..200).map(|_| time_of_ping(&server, &[])).collect();
    times.sort_unstable();
    println!(
        "beside 600 slow heads and 520 slow bodies: p50 {:?}, p99 {:?}",
        times[100], times[198]
    );
    assert!(times[199] < SOON, "{:?}", times[199]);
    drop((slow, bodies));
}

/// More calls at once than connections are open and than requests are in work: each is answered.
#[test]
fn concurrent_calls_are_all_answered() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let wanted = if is_long() { 10_000 } else { 1_000 };
    let count = wanted.min(usize::try_from(files).unwrap_or(usize::MAX) - 100);
    let server = http(&[]);
    let start = Instant::now();
    let mut connections: Vec<_> = (0..count)
        .map(|id| {
            let mut connection = server.connect();
            let body = call(id, "hang", r#"{"ms":50}"#);
            connection.send(server.request("POST", body.as_bytes(), &[]));
            connection
        })
        .collect();
    let mut answered = 0;
    for (id, connection) in connections.iter_mut().enumerate() {
        let response = connection.response();
        let answer = parse(&response.text());
        assert_eq!((response.status, &answer["id"]), (200, &json!(id)));
        assert_eq!(answer["result"]["structuredContent"]["hung_ms"], 50);
        answered += 1;
    }
    println!(
        "{count} concurrent calls, {answered} answers in {:?}",
        start.elapsed()
    );
    assert_eq!(answered, count);
}

/// While the process does not run, the system completes as many connections as the queue has room for.
#[test]
fn many_peers_connect_at_once() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let server = http(&[]);
    let limit = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = limit.trim().parse::<usize>().unwrap().min(2_000);
    server.signal("STOP");
    // A connection that does not fit is tried again after a second.
    let connected: Result<Vec<_>, _> = (0..count)
        .map(|_| TcpStream::connect_timeout(&server.address(), Duration::from_millis(900)))
        .collect();
    server.signal("CONT");
    let mut connected = connected.unwrap();
    let start = Instant::now();
    assert!(time_of_ping(&server, &[]) < 5 * SOON);
    println!(
        "{count} peers connected at once, the next was served in {:?}",
        start.elapsed()
    );
    for stream in &mut connected {
        stream.write_all(b"x").unwrap();
    }
}

/// A small generator, so that a failing drill can be repeated.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, bound: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn connections_that_stop_anywhere_leave_nothing_behind() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let count = if is_long() { 100_000 } else { 4_000 };
    let mut server = http(&[]);
    let whole = server.request("POST", call("1", "echo", r#"{"text":"x"}"#).as_bytes(), &[]);
    let mut random = Lcg(count as u64);
    let mut stop_some = |server: &Http, count: usize| {
        let mut open = std::collections::VecDeque::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            // The server may have evicted it.
            let _ = stream.write_all(&whole[..random.below(whole.len() + 1)]);
            open.push_back(stream);
            if open.len() > 1_000 {
                open.pop_front();
            }
        }
    };
    // The first connections fill the allocator's pools.
    stop_some(&server, 2_000);
    let at_rest = r#"candor_connections{state="idle"} "#;
    poll_until(|| (metric(&server, at_rest) <= 1).then_some(()));
    let (files, rss) = (open_files(&mut server), memory(&mut server));
    stop_some(&server, count);
    let time = time_of_ping(&server, &[]);
    assert!(time < SOON, "{time:?}");
    let left = poll_until(|| {
        let left = open_files(&mut server);
        (left <= files + 1).then_some(left)
    });
    let grown = memory(&mut server).saturating_sub(rss);
    println!(
        "{count} connections stopped at a random byte; the next call took {time:?}; files {files} before, {left} after; memory {} KiB more",
        grown / 1024
    );
    assert!(grown < 32 * MIB, "{} MiB", grown / MIB);
}

#[test]
fn idle_connections_take_little_memory() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    raise_open_files();
    let mut server = http(&[]);
    time_of_ping(&server, &[]);
    let rest = memory(&mut server);
    let address = server.address();
    let request = server.request("POST", PING.as_bytes(), &[]);
    let mut idle = Vec::new();
    for _ in 0..4_096 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&request).unwrap();
        idle.push(stream);
    }
    let is_idle = |server: &Http| metric(server, r#"candor_connections{state="idle"} "#) >= 4_095;
    poll_until(|| is_idle(&server).then_some(()));
    let grown = memory(&mut server).saturating_sub(rest);
    println!("4,096 idle connections take {} KiB", grown / 1024);
    assert!(grown <= 64 * MIB, "{} MiB", grown / MIB);
    drop(idle);
}

/// Sends a request and returns true if a whole answer arrives.
fn is_answered(stream: &mut TcpStream, request: &[u8]) -> bool {
    if stream.write_all(request).is_err() {
        return false;
    }
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while !answer.ends_with(br#""hung_ms":5}}}"#) {
        match stream.read(&mut piece) {
            Ok(count @ 1..) => answer.extend_from_slice(&piece[..count]),
            _ => {
                assert_eq!(answer, b"", "an answer was cut");
                return false;
            }
        }
    }
    true
}

/// Peers without end take the connections, and every call that has run is answered.
#[test]
fn eviction_loses_no_call() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    let time = Duration::from_secs(if is_long() { 60 } else { 3 });
    let server = small_server(&[]);
    let (answered, unserved) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = AtomicBool::new(false);
    let hang = server.request("POST", call("1", "hang", r#"{"ms":5}"#).as_bytes(), &[]);
    let address = server.address();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut crowd = std::collections::VecDeque::new();
            while !is_over.load(Ordering::Relaxed) {
                crowd.push_back(TcpStream::connect(address).unwrap());
                if crowd.len() > 200 {
                    crowd.pop_front();
                }
            }
        });
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = TcpStream::connect(address).unwrap();
                    for _ in 0..20 {
                        if !is_answered(&mut stream, &hang) {
                            unserved.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
    });
    let answered = answered.into_inner() as u64;
    let run = metric(&server, r#"candor_calls_total{tool="hang",code="ok"} "#);
    let evicted = metric(
        &server,
        r#"candor_connections_evicted_total{state="idle"} "#,
    );
    println!(
        "{time:?}: {evicted} connections evicted, {run} calls run, {answered} answered, {} not begun",
        unserved.into_inner()
    );
    assert!(evicted > 0 && answered > 0);
    assert_eq!(run, answered);
}

/// Without a free file descriptor an idle connection makes room; if there is none, newcomers wait.
#[test]
fn process_without_file_descriptors_recovers() {
    let mut server = http(&["--log", "warn"]);
    let pid = Pid::from_raw(i32::try_from(server.process().pid()).unwrap());
    let limit = prlimit(pid, Resource::Nofile, getrlimit(Resource::Nofile)).unwrap();
    let set_limit = |current: usize| {
        let changed = Rlimit {
            current: Some(current as u64),
            maximum: limit.maximum,
        };
        prlimit(pid, Resource::Nofile, changed).unwrap();
    };
    {
        let mut running = server.connect();
        let hang = call("1", "hang", r#"{"ms":1500}"#);
        running.send(server.request("POST", hang.as_bytes(), &[]));
        let mut idle = connect_idle(&server, 1);
        set_limit(first_free_file(pid));
        // The idle connection is closed for the newcomer.
        assert!(time_of_ping(&server, &[]) < SOON);
        assert!(idle.remove(0).is_closed());
        set_limit(first_free_file(pid));
        let mut newcomer = server.connect();
        newcomer.send(server.request("POST", PING.as_bytes(), &[]));
        // It is served when the running call is answered and its connection is idle.
        assert_eq!(running.response().status, 200);
        assert_eq!(newcomer.response().status, 200);
        set_limit(limit.current.unwrap() as usize);
        assert!(time_of_ping(&server, &[]) < SOON);
    }
    let log = server.process().stderr();
    let count = log.matches("a connection could not be accepted").count();
    assert!((1..=4).contains(&count), "{log}");
}

/// Bodies that never end make room for others, the oldest first.
#[test]
fn incomplete_bodies_make_room_for_complete_ones() {
    let server = http(&[]);
    let part = vec![b' '; 9 * MIB as usize];
    let length = (10 * MIB).to_string();
    let mut incomplete: Vec<_> = (0..7)
        .map(|_| {
            let mut connection = server.connect();
            let mut bytes = server.request("POST", b"", &[("Content-Length", &length)]);
            bytes.extend_from_slice(&part);
            connection.send(bytes);
            connection
        })
        .collect();
    let whole = format!("{PING}{}", " ".repeat(9 * MIB as usize));
    let response = server.post(&whole, &[]);
    assert_eq!((response.status, response.text()), (200, result("1", "{}")));
    assert!(incomplete.remove(0).is_closed());
    let evicted = r#"candor_connections_evicted_total{state="body"} "#;
    assert_eq!(metric(&server, evicted), 1);
    // The others can still be completed, if they are JSON.
    incomplete[5].send(vec![b' '; MIB as usize]);
    let parse_error = error("null", -32700, "Parse error");
    assert_eq!(incomplete[5].response().text(), parse_error);
}
