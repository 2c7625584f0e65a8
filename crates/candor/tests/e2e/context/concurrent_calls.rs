//! Concurrent calls on one server and on several return the same bytes.

use crate::context::fixture::ContextFixture;
use crate::context::server::{arguments, outcome};
use crate::requests::call;
use std::collections::BTreeMap;

const CALLS: usize = 64;

/// Sends all calls before it reads. Returns the answers by their ids.
fn send_all(
    server: &mut crate::context::server::ContextServer,
    calls: &[String],
) -> BTreeMap<usize, String> {
    for (id, call_arguments) in calls.iter().enumerate() {
        server
            .stdio()
            .send_line(call(id.to_string(), "context.resolve", call_arguments));
    }
    let mut answers = BTreeMap::new();
    for _ in calls {
        let line = server.stdio().line().expect("an answer");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let id = value["id"].as_u64().unwrap();
        let text = outcome(&id.to_string(), &line).text().to_owned();
        assert_eq!(answers.insert(id as usize, text), None, "{id}");
    }
    answers
}

#[test]
fn concurrent_calls_have_the_same_answers() {
    let fixture = ContextFixture::with_cache();
    fixture.write("docs/wide.md", "the fox ".repeat(20_000));
    fixture.build("docs", "more");
    fixture.copy_unsealed("more", "copy");
    let queries = ["fox", "the", "install it,", ""];
    let caches = ["cache", "more", "copy", "nowhere"];
    let budgets = ["9", "100000", "-1"];
    let call_arguments: Vec<_> = (0..CALLS)
        .map(|id| (caches[id % 4], queries[id / 4 % 4], budgets[id / 16 % 3]))
        .collect();
    let calls: Vec<_> = call_arguments
        .iter()
        .map(|(cache, query, budget)| arguments(cache, query, budget))
        .collect();
    let alone: Vec<String> = call_arguments
        .iter()
        .map(|(cache, query, budget)| fixture.resolve(cache, query, budget).text().to_owned())
        .collect();
    let mut servers: Vec<_> = (0..3).map(|_| fixture.serve(&[])).collect();
    std::thread::scope(|scope| {
        for server in &mut servers {
            scope.spawn(|| {
                // First all of them find their caches closed, then open.
                for _ in 0..2 {
                    let answers = send_all(server, &calls);
                    for (id, answer) in answers {
                        assert_eq!(answer, alone[id], "{}", calls[id]);
                    }
                }
            });
        }
    });
    for server in servers {
        server.end();
    }
}

/// Calls while the cache is replaced return the old or the new answer.
#[test]
fn replaced_cache_gives_old_or_new_answers() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    let call_arguments = arguments("cache", "fox", "1000");
    let mut answers_so_far = vec![server.resolve("cache", "fox", "1000").unwrap()];
    for round in 0..6 {
        fixture.write("docs/fox.md", format!("the fox of round {round}\n"));
        let calls = vec![call_arguments.clone(); CALLS];
        let answers = std::thread::scope(|scope| {
            let build = scope.spawn(|| {
                let build = ["build", "--sources", "docs", "--cache", "cache", "--force"];
                let update = ["update", "--sources", "docs", "--cache", "cache"];
                match round % 2 {
                    0 => fixture.run_ok(&build),
                    _ => fixture.run_ok(&update),
                }
            });
            let answers = send_all(&mut server, &calls);
            build.join().unwrap();
            answers
        });
        let new = server.resolve("cache", "fox", "1000").unwrap();
        assert_eq!(new, fixture.resolve("cache", "fox", "1000").stdout);
        answers_so_far.push(new);
        for answer in answers.values() {
            assert!(answers_so_far[round..].contains(answer), "{answer}");
        }
    }
}
