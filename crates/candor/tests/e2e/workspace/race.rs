//! Another process replaces files and directories by links that lead outside, as fast as it can.

use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::requests::AgentClient;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(10);

const SECRET: &str = "what is outside";

/// The outcome of a call from its answer alone: reading the log would slow the race.
fn outcome(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(!answer.to_string().contains(SECRET), "{answer}");
    match answer["result"]["isError"] == true {
        true => {
            let envelope: Value = serde_json::from_str(text).unwrap();
            envelope["error_code"].as_str().unwrap().to_owned()
        }
        false => String::from("ok"),
    }
}

/// Asks these in turns until the time is over; how many came out well, and how many led out.
fn run(mut client: AgentClient, calls: &[(&str, Value)], until: Instant) -> (u32, u32) {
    let (mut well, mut out) = (0, 0);
    while Instant::now() < until {
        for (tool, arguments) in calls {
            let answer = client.call(tool, arguments);
            match outcome(&answer).as_str() {
                "ok" => well += 1,
                "OUTSIDE_WORKSPACE" => out += 1,
                // Something was missing for a moment, or had changed.
                "PATH_NOT_FOUND"
                | "FILE_NOT_FOUND"
                | "HASH_MISMATCH"
                | "INVALID_INPUT_VALUE"
                | "FILE_ALREADY_EXISTS"
                | "INVALID_PATH"
                | "FILE_READ_FAILED" => {}
                // The link came between two steps of the write and stayed; the next write settles it.
                "UNKNOWN_TOOL_FAILURE" if answer.to_string().contains("ELOOP") => {}
                other => panic!("{other}: {answer}"),
            }
        }
    }
    client.end();
    (well, out)
}

#[test]
fn swapped_links_never_lead_outside() {
    let fixture = WorkspaceFixture::with_plan();
    fs::create_dir(fixture.path_beside("outside")).unwrap();
    fs::write(fixture.path_beside("outside/file"), SECRET).unwrap();
    fixture.write("src/dir/file", "inside");
    fixture.write("src/file", "inside");
    symlink(fixture.path_beside("outside"), fixture.path("src/dir.link")).unwrap();
    symlink(
        fixture.path_beside("outside/file"),
        fixture.path("src/file.link"),
    )
    .unwrap();
    let over = AtomicBool::new(false);
    let until = Instant::now() + TIME;
    let writes = [
        (
            "write_file",
            json!({ "path": "src/dir/file", "content": "new" }),
        ),
        (
            "write_file",
            json!({ "path": "src/dir/made", "content": "new" }),
        ),
        (
            "write_file",
            json!({ "path": "src/file", "content": "new" }),
        ),
        (
            "delete_file",
            json!({ "path": "src/dir/made", "previous_hash": crate::workspace::fixture::sha256(b"new") }),
        ),
    ];
    let reads = [
        ("read_file", json!({ "path": "src/dir/file" })),
        ("read_file", json!({ "path": "src/file" })),
        ("list_files", json!({ "path": "src/dir" })),
        ("search_files", json!({ "pattern": "what is" })),
    ];
    thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0_u64;
            // Ends even if the others have failed.
            while !over.load(Ordering::Relaxed) && Instant::now() < until + TIME {
                for name in ["dir", "file"] {
                    let (one, other) = (fixture.path("src").join(name), format!("{name}.link"));
                    let other = fixture.path("src").join(other);
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                    swaps += 1;
                }
            }
            swaps
        });
        let (writer, reader) = (fixture.executor(&[]), fixture.executor(&[]));
        let reading = scope.spawn(move || run(reader, &reads, until));
        let wrote = run(writer, &writes, until);
        let read = reading.join().unwrap();
        over.store(true, Ordering::Relaxed);
        let swaps = swapping.join().unwrap();
        assert!(swaps > 1000, "{swaps}");
        for (well, out) in [wrote, read] {
            assert!(well > 0 && out > 0, "{wrote:?} {read:?}");
        }
    });
    let names = fs::read_dir(fixture.path_beside("outside")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"]);
    let text = fs::read_to_string(fixture.path_beside("outside/file")).unwrap();
    assert_eq!(text, SECRET);
    fixture.verify();
}
