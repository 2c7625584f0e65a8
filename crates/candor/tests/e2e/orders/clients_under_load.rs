//! Rotation, revocation and a broken file of clients while they make changes: none is lost or made
//! twice, and no token is written anywhere.

use super::clients::{add, clients, wait_for_status};
use crate::fixture::LIMIT;
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::requests::{order, post};
use crate::requests::{call, parse};
use candor_testkit::Exit;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The clients that make changes at the same time.
const WORKERS: usize = 4;

/// The tokens that a client has had, the current one last.
#[derive(Default)]
struct Tokens(Mutex<Vec<String>>);

impl Tokens {
    fn all(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap()
    }

    fn current(&self) -> String {
        self.all().last().unwrap().clone()
    }
}

/// Posts a message with a token. Returns the status and the body.
fn send(address: SocketAddr, token: &str, message: &str) -> (u16, String) {
    let authorization = format!("Authorization: Bearer {token}\r\n");
    post(address, &authorization, message)
}

/// Makes a change with the current token until it is answered. A refused token is replaced, and the
/// same call is sent again.
fn create(address: SocketAddr, tokens: &Tokens, message: &str) -> Value {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        match send(address, &tokens.current(), message) {
            (401, _) => {}
            (status, body) => {
                assert_eq!(status, 200, "{body}");
                return parse(&body);
            }
        }
    }
    panic!("no token is accepted");
}

/// Creates orders until it is told to stop, each of them with two equal calls. Returns their ids.
fn work(address: SocketAddr, tokens: &Tokens, worker: usize, stop: &AtomicBool) -> Vec<String> {
    let mut ids = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let key = format!("wish-{worker}-{}", ids.len());
        let message = call(1, "create-sales-order", order(&key, "TEA", 1));
        let first = create(address, tokens, &message);
        assert_eq!(first["result"].get("isError"), None, "{first}");
        assert_eq!(create(address, tokens, &message), first);
        let id = &first["result"]["structuredContent"]["order"]["id"];
        ids.push(id.as_str().unwrap().to_owned());
    }
    ids
}

fn check(fixture: &OrdersFixture) {
    let (bot, reader) = (Tokens::default(), add(fixture, &["reader"]));
    bot.all().push(add(fixture, &["bot", "--scopes", "write"]));
    let file = fixture.path("clients.json");
    let flags = [["--clients", file.to_str().unwrap()].as_slice(), &UNLIMITED].concat();
    let mut server = fixture.http(&flags);
    let (address, stop) = (server.address(), AtomicBool::new(false));
    let ids: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (bot, stop) = (&bot, &stop);
                scope.spawn(move || work(address, bot, worker, stop))
            })
            .collect();
        for _ in 0..2 {
            let old = bot.current();
            let new = clients(fixture, &["rotate", "bot"]).trim_end().to_owned();
            wait_for_status(&server, &new, 200);
            bot.all().push(new);
            clients(fixture, &["revoke", "bot", "--old-tokens"]);
            wait_for_status(&server, &old, 401);
        }
        let good = fs::read(&file).unwrap();
        fs::write(&file, "{\"version\":1,").unwrap();
        let broken = "the clients stay as they were";
        assert!(server.process().stderr_line(broken, LIMIT).is_some());
        wait_for_status(&server, &bot.current(), 200);
        fs::write(&file, good).unwrap();
        clients(fixture, &["revoke", "reader"]);
        wait_for_status(&server, &reader, 401);
        stop.store(true, Ordering::Relaxed);
        let made = workers.into_iter().map(|worker| worker.join().unwrap());
        made.flatten().collect()
    });
    let distinct: BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    assert!(ids.len() > WORKERS, "{}", ids.len());
    let database = fixture.database();
    let count = database.lines("SELECT COUNT(*) FROM orders");
    assert_eq!(count, ids.len().to_string());
    assert_eq!(database.broken_invariants(), [""; 0]);

    let metrics = {
        let authorization = format!("Bearer {}", bot.current());
        let response = server.get("/metrics", &[("Authorization", &authorization)]);
        assert_eq!(response.status, 200);
        response.text()
    };
    let process = server.process().pid();
    let command_line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
    let environment = fs::read_to_string(format!("/proc/{process}/environ")).unwrap();
    let records = database.lines("SELECT client, tool, key, fingerprint, outcome FROM records");
    assert!(
        records.contains("bot create-sales-order wish-0-0"),
        "{records}"
    );
    let keys = database.lines("SELECT client, tool, key FROM keys");
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = server.process().whole_stderr(LIMIT);
    let clients_file = fs::read_to_string(&file).unwrap();
    for token in bot.all().iter().chain([&reader]) {
        for (place, text) in [
            ("metrics", &metrics),
            ("command line", &command_line),
            ("environment", &environment),
            ("records", &records),
            ("keys", &keys),
            ("log", &log),
            ("clients", &clients_file),
        ] {
            assert!(!text.contains(token.as_str()), "a token is in the {place}");
        }
    }
}

#[test]
fn clients_change_under_load_without_a_lost_or_doubled_change() {
    OrdersFixture::for_each_database().for_each(|fixture| check(&fixture));
}
