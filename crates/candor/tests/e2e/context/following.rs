//! `serve --update`: caches that follow their sources while they are served.

use crate::context::fixture::ContextFixture;
use crate::context::reading::{ask, fail, serve};
use crate::context::server::ContextServer;
use candor_testkit::Exit;
use insta::assert_snapshot;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// Two caches, `caches/guide` from `docs` and `caches/reference` from `other`.
fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/merge.md", "# Merge\n\nMerge a branch.\n");
    fixture.write("docs/undo.md", "# Undo\n\nRevert a commit.\n");
    fixture.write("other/api.md", "# API\n\nCall it.\n");
    fs::create_dir(fixture.path("caches")).unwrap();
    fixture.build("docs", "caches/guide");
    fixture.build("other", "caches/reference");
    fixture
}

/// Asks again and again until the answer is right.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the entry of a cache in the list of caches.
fn listed(server: &mut ContextServer, cache: &str) -> Value {
    let list = ask(server, "context_list", &json!({}));
    let caches = list["structuredContent"]["caches"].as_array().unwrap();
    let found = caches.iter().find(|one| one["cache"] == cache);
    found.cloned().unwrap_or(Value::Null)
}

fn until_fresh(server: &mut ContextServer, cache: &str, fresh: bool) -> Value {
    until(&format!("fresh is not {fresh}"), || {
        let entry = listed(server, cache);
        (entry["fresh"] == fresh).then_some(entry)
    })
}

/// Waits until a search finds this document.
fn until_found(server: &mut ContextServer, query: &str, id: &str) {
    until(&format!("{id} is not found"), || {
        let found = ask(server, "context_search", &json!({ "query": query }));
        (found["structuredContent"]["passages"][0]["id"] == id).then_some(())
    });
}

#[test]
fn change_of_the_sources_is_found_by_a_later_search() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches", "--update"]);
    let before = until_fresh(&mut server, "guide", true);
    until_fresh(&mut server, "reference", true);
    fixture.write("docs/new/zebra.md", "# Zebras\n\nStripes.\n");
    until_found(&mut server, "zebras", "new/zebra.md");
    let after = until_fresh(&mut server, "guide", true);
    assert_ne!(after["cache_version"], before["cache_version"]);
    assert_eq!(after["document_count"], 3);
    fixture.remove("docs/new/zebra.md");
    until("it is still found", || {
        let found = ask(&mut server, "context_search", &json!({ "query": "zebras" }));
        (found["structuredContent"]["passages"] == json!([])).then_some(())
    });
    // The other cache follows its own sources.
    fixture.write("other/okapi.md", "Okapis have stripes too.\n");
    until_found(&mut server, "okapi", "okapi.md");
    server.end();
    for cache in ["caches/guide", "caches/reference"] {
        fixture.run_ok(&["status", "--cache", cache, "--exit-code"]);
        fixture.run_ok(&["verify", "--cache", cache]);
    }
    assert_eq!(
        names(&fixture, "caches"),
        [".guide.spare", ".reference.spare", "guide", "reference"]
    );
}

fn names(fixture: &ContextFixture, directory: &str) -> Vec<String> {
    let names = fs::read_dir(fixture.path(directory)).unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn failing_update_leaves_the_cache_and_is_logged() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches", "--update"]);
    until_fresh(&mut server, "guide", true);
    let manifest = fixture.read("caches/guide/manifest.json");
    fixture.write("docs/bad.md", b"caf\xe9");
    fixture.write("docs/good.md", "zebra\n");
    until_fresh(&mut server, "guide", false);
    let process = server.stdio().process();
    let line = process.stderr_line("an update failed", LIMIT).unwrap();
    let (_, message) = line.split_once("an update failed").unwrap();
    assert_eq!(
        message.trim_end(),
        ": `bad.md` is not UTF-8 from byte 3 on cache=guide code=cache_invalid"
    );
    assert_eq!(fixture.read("caches/guide/manifest.json"), manifest);
    let found = ask(&mut server, "context_search", &json!({ "query": "zebra" }));
    assert_eq!(found["structuredContent"]["passages"], json!([]));
    until_found(&mut server, "revert", "undo.md");
    // The other cache goes on.
    assert_eq!(until_fresh(&mut server, "reference", true)["fresh"], true);
    fixture.write("docs/bad.md", "correct\n");
    until_fresh(&mut server, "guide", true);
    until_found(&mut server, "zebra", "good.md");
    server.end();
}

/// An update that would empty the cache is refused, and done by hand it is noticed.
#[test]
fn update_by_another_process_is_noticed() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches", "--update"]);
    until_fresh(&mut server, "guide", true);
    fixture.remove("docs/merge.md");
    fixture.remove("docs/undo.md");
    until("it is not refused", || {
        let entry = listed(&mut server, "guide");
        let process = server.stdio().process();
        let refused = process.stderr().contains("would remove");
        (entry["fresh"] == false && refused).then_some(())
    });
    let update = ["update", "--cache", "caches/guide", "--force"];
    let output = fixture.run(&update);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let entry = until_fresh(&mut server, "guide", true);
    assert_eq!(entry["document_count"], 0);
    // A build from other sources is followed there.
    fixture.run_ok(&[
        "build",
        "--sources",
        "other",
        "--cache",
        "caches/guide",
        "--force",
    ]);
    until("the new build is not seen", || {
        let entry = listed(&mut server, "guide");
        (entry["fresh"] == true && entry["document_count"] == 1).then_some(())
    });
    fixture.write("other/quagga.md", "quagga\n");
    until("the new sources are not followed", || {
        let entry = listed(&mut server, "guide");
        (entry["document_count"] == 2).then_some(())
    });
    server.end();
}

#[test]
fn cache_without_a_record_is_served_as_it_is() {
    let fixture = fixture();
    fixture.remove("caches/guide/build.json");
    fixture.build("docs", "caches/odd");
    fixture.write("caches/odd/build.json", r#"{"format":2}"#);
    let mut server = serve(&fixture, &["caches", "--update"]);
    until_fresh(&mut server, "reference", true);
    assert_eq!(listed(&mut server, "guide")["fresh"], Value::Null);
    assert_eq!(listed(&mut server, "odd")["fresh"], Value::Null);
    let process = server.stdio().process();
    let line = process.stderr_line("build.json", LIMIT).unwrap();
    let (_, message) = line.split_once("WARN ").unwrap();
    assert_snapshot!(message.trim_end(), @"the sources are not followed: build.json is ignored: its format is 2, and this program reads format 1 cache=odd");
    fixture.write("docs/zebra.md", "zebra\n");
    fixture.write("other/zebra.md", "zebra\n");
    until_found(&mut server, "zebra", "zebra.md");
    let found = ask(&mut server, "context_search", &json!({ "query": "zebra" }));
    let passages = found["structuredContent"]["passages"].as_array().unwrap();
    assert_eq!(passages.len(), 1, "{passages:?}");
    assert_eq!(passages[0]["cache"], "reference");
    // An update by hand writes the record, and then the cache is followed.
    fixture.run_ok(&["update", "--sources", "docs", "--cache", "caches/guide"]);
    until_fresh(&mut server, "guide", true);
    // The reason is logged once.
    let stderr = server.stdio().process().stderr();
    assert_eq!(stderr.matches("build.json is ignored").count(), 1);
    server.end();
}

#[test]
fn cache_that_appears_later_is_followed() {
    let fixture = fixture();
    fs::create_dir(fixture.path("more")).unwrap();
    let mut server = serve(&fixture, &["more", "--update"]);
    assert_eq!(listed(&mut server, "late"), Value::Null);
    fixture.build("docs", "more/late");
    // It is never unknown whether it is fresh.
    assert!(listed(&mut server, "late")["fresh"].is_boolean());
    until_fresh(&mut server, "late", true);
    fixture.write("docs/zebra.md", "zebra\n");
    until_found(&mut server, "zebra", "zebra.md");
    // One that disappears is not followed any more.
    fs::rename(fixture.path("more/late"), fixture.path("moved")).unwrap();
    assert_eq!(listed(&mut server, "late"), Value::Null);
    until("it is still followed", || {
        (threads(&mut server, "context-update") == 0).then_some(())
    });
    fs::rename(fixture.path("moved"), fixture.path("more/late")).unwrap();
    until_fresh(&mut server, "late", true);
    server.end();
}

/// Returns the number of threads with this name.
fn threads(server: &mut ContextServer, name: &str) -> usize {
    let pid = server.stdio().process().pid();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let named = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    named.filter(|comm| comm.trim_end() == name).count()
}

#[test]
fn linked_cache_is_followed() {
    let fixture = fixture();
    symlink("caches/guide", fixture.path("link")).unwrap();
    let mut server = serve(&fixture, &["link", "--update"]);
    until_fresh(&mut server, "link", true);
    fixture.write("docs/zebra.md", "zebra\n");
    until_found(&mut server, "zebra", "zebra.md");
    // The link leads to another cache now.
    fs::remove_file(fixture.path("link")).unwrap();
    symlink("caches/reference", fixture.path("link")).unwrap();
    fixture.write("other/okapi.md", "okapi\n");
    until_found(&mut server, "okapi", "okapi.md");
    server.end();
    assert!(
        fs::symlink_metadata(fixture.path("link"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn freshness_is_unknown_without_updates() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    assert_eq!(listed(&mut server, "guide")["fresh"], Value::Null);
    assert_eq!(threads(&mut server, "context-follow"), 0);
    server.end();
    // Nothing was updated.
    assert_eq!(names(&fixture, "caches"), ["guide", "reference"]);
}

/// Version 0 forbids a server that changes caches.
#[test]
fn version_zero_refuses_to_update() {
    let fixture = fixture();
    let before = fixture.read("caches/guide/manifest.json");
    assert_snapshot!(fixture.run_err(1, &["serve", "--root", "caches", "--update"]), @r"
    error: the argument '--root <DIR>' cannot be used with '--update'

    Usage: context serve --root <DIR> [PATH]...

    For more information, try '--help'.
    ");
    assert_eq!(fixture.read("caches/guide/manifest.json"), before);
    let mut command = fixture.command(&["serve", "caches", "--update"]);
    command.env("SOURCE_DATE_EPOCH", "yesterday");
    let output = crate::context::fixture::run_command(command);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    assert!(
        output.stderr.contains("SOURCE_DATE_EPOCH"),
        "{}",
        output.stderr
    );
}

/// Another process holds the lock: the update waits, and no call does.
#[test]
fn no_call_waits_for_an_update() {
    let fixture = fixture();
    let lock = fs::File::create(fixture.path("caches/.guide.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut server = serve(&fixture, &["caches", "--update"]);
    // A cache that waits for its lock does not keep the others from being updated.
    until_fresh(&mut server, "reference", true);
    fixture.write("docs/zebra.md", "zebra\n");
    for _ in 0..50 {
        assert_eq!(listed(&mut server, "guide")["fresh"], false);
        let found = ask(&mut server, "context_search", &json!({ "query": "merge" }));
        assert_eq!(found["structuredContent"]["passages"][0]["id"], "merge.md");
        ask(&mut server, "context_get", &json!({ "id": "undo.md" }));
    }
    // The end of the input ends an update that waits.
    let mut other = serve(&fixture, &["caches", "--update"]);
    until_fresh(&mut other, "reference", true);
    other.end();
    drop(lock);
    until_found(&mut server, "zebra", "zebra.md");
    server.end();
    assert!(!fixture.path("caches/.guide.lock").exists());
}

/// The server ends after the running update, which leaves nothing behind.
#[test]
fn end_of_the_input_waits_for_the_running_update() {
    let fixture = ContextFixture::empty();
    for number in 0..800 {
        fixture.write(format!("docs/{number}.md"), format!("document {number}\n"));
    }
    fixture.build("docs", "cache");
    let drafts = || {
        let names = names(&fixture, "");
        names.iter().any(|name| name.starts_with(".cache.tmp-"))
    };
    for round in 0..20 {
        let mut server = serve(&fixture, &["cache", "--update"]);
        until_fresh(&mut server, "cache", true);
        for number in 0..800 {
            let content = format!("document {number} of round {round}\n");
            fixture.write(format!("docs/{number}.md"), content);
        }
        let start = Instant::now();
        let mut is_running = false;
        while !is_running && start.elapsed() < Duration::from_secs(3) {
            is_running = drafts();
        }
        match round % 2 {
            0 => server.stdio().close(),
            _ => server.stdio().process().signal("TERM"),
        }
        assert_eq!(server.stdio().exit(), Exit::Code(0));
        assert!(!drafts() && !fixture.path(".cache.lock").exists());
        fixture.run_ok(&["verify", "--cache", "cache"]);
        if is_running {
            return;
        }
    }
    panic!("no update was seen while it ran");
}

/// A cache that is replaced between two calls of a reading agent: never lines of another text.
#[test]
fn cache_replaced_while_it_is_read_is_version_changed() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches", "--update"]);
    until_fresh(&mut server, "guide", true);
    let first = ask(
        &mut server,
        "context_get",
        &json!({ "id": "merge.md", "budget": 2 }),
    );
    let first = &first["structuredContent"];
    let next = json!({ "id": "merge.md", "range": first["next"], "version": first["version"] });
    ask(&mut server, "context_get", &next);
    // Another document changes: reading on works.
    fixture.write("docs/undo.md", "changed zebra\n");
    until_found(&mut server, "zebra", "undo.md");
    let rest = ask(&mut server, "context_get", &next);
    assert_eq!(rest["structuredContent"]["content"], "\nMerge a branch.\n");
    fixture.write(
        "docs/merge.md",
        "# Okapi\n\nAnother text of other length.\n",
    );
    until_found(&mut server, "okapi", "merge.md");
    let told = fail(&mut server, "context_get", next.clone());
    assert!(told.starts_with("version_changed: "), "{told}");
    assert!(told.contains(first["version"].as_str().unwrap()), "{told}");
    // The same without `--update`, by a build.
    let mut reader = serve(&fixture, &["caches"]);
    let again = ask(
        &mut reader,
        "context_get",
        &json!({ "id": "merge.md", "budget": 2 }),
    );
    let again = &again["structuredContent"];
    let next = json!({ "id": "merge.md", "lines": [3, 3], "version": again["version"] });
    ask(&mut reader, "context_get", &next);
    fixture.write("docs/merge.md", "one\n");
    fixture.run_ok(&[
        "build",
        "--sources",
        "docs",
        "--cache",
        "caches/guide",
        "--force",
    ]);
    let told = fail(&mut reader, "context_get", next);
    assert!(told.starts_with("version_changed: "), "{told}");
    server.end();
    reader.end();
}
