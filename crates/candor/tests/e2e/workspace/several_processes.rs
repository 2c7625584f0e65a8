//! Several processes in one workspace: one log without a gap, one successful writer.

use crate::requests::call;
use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::requests::AgentClient;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;

const CALLS: u64 = 500;

/// Sends many calls at once; the receipts.
fn send_all(client: &mut AgentClient, name: &str) -> Vec<(u64, String)> {
    for id in 1..=CALLS {
        let (tool, arguments) = match id % 50 {
            0 => (
                "write_file",
                json!({ "path": format!("src/{name}"), "content": id.to_string() }),
            ),
            1 => ("read_file", json!({ "path": "src/none" })),
            2 => ("read_file", json!({ "path": "src/a.txt" })),
            _ => ("session_status", json!({})),
        };
        client.server.send_line(call(id, tool, &arguments));
    }
    let answers = (0..CALLS).map(|_| {
        let answer: Value = serde_json::from_str(&client.server.line().unwrap()).unwrap();
        let receipt = &answer["result"]["_meta"]["dev.candor/receipt"];
        let seq = receipt["seq"]
            .as_u64()
            .unwrap_or_else(|| panic!("{answer}"));
        (seq, receipt["hash"].as_str().unwrap().to_owned())
    });
    answers.collect()
}

#[test]
fn four_processes_write_one_log_without_a_gap() {
    let fixture = WorkspaceFixture::with_plan();
    let mut clients: Vec<_> = (0..2)
        .flat_map(|_| {
            [
                fixture.executor(&[]),
                fixture.planner(&["--lock-after", "1000"]),
            ]
        })
        .collect();
    let receipts: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, client)| scope.spawn(move || send_all(client, &format!("f{number}"))))
            .collect();
        let all = threads.into_iter().map(|thread| thread.join().unwrap());
        all.flatten().collect()
    });
    for client in &mut clients {
        client.end();
    }
    fixture.verify();
    let lines = fixture.log_lines();
    assert_eq!(receipts.len() as u64, 4 * CALLS);
    assert_eq!(
        lines.len() as u64,
        4 + 4 * CALLS,
        "each call once, and each session"
    );
    let seqs: BTreeSet<_> = receipts.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs.len(), receipts.len(), "no number twice");
    for (seq, hash) in receipts {
        assert_eq!(lines[seq as usize - 1]["hash"], json!(hash));
    }
}

/// Two writers with the same valid hash: exactly one wins. Here there are 32.
#[test]
fn only_one_of_several_writers_succeeds() {
    const CLIENTS: usize = 32;
    let fixture = WorkspaceFixture::with_plan();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| fixture.executor(&[])).collect();
    for round in 0..2 {
        let before = fixture.hash("src/a.txt");
        for (number, client) in clients.iter_mut().enumerate() {
            let content = format!("{round} {number}");
            let arguments =
                json!({ "path": "src/a.txt", "content": content, "previous_hash": before });
            client.server.send_line(call(1, "write_file", &arguments));
        }
        let mut winners = Vec::new();
        for (number, client) in clients.iter_mut().enumerate() {
            let answer: Value = serde_json::from_str(&client.server.line().unwrap()).unwrap();
            if answer["result"]["isError"] != true {
                winners.push(format!("{round} {number}"));
                continue;
            }
            let failed = client.parse_failure(&answer);
            assert_eq!(failed.code(), "HASH_MISMATCH", "{failed:?}");
            assert_eq!(failed.cause()["expected"], json!(before));
            assert_eq!(failed.effect(), "none");
        }
        assert_eq!(winners, [fixture.read("src/a.txt")]);
    }
    fixture.verify();
}
