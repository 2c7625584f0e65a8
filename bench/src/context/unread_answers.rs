//! Large answers that nobody reads, and the memory that they take on the server.

use super::ContextBench;
use crate::figures::SubjectFigures;
use crate::process::ServerProcess;
use crate::tool_client::ToolRequest;
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

const MEMORY: (&str, f64) = ("64 unread answers of 60 MB: memory at most", 400.0);

const ANSWERS: usize = 64;

const MEGABYTES: usize = 60;

const QUICK_MEGABYTES: usize = 1;

const LINE: &str = "A word and another word, without anything that JSON has to escape. ";

/// The number of sentences in a line.
const SENTENCES: usize = 100;

/// The server is at rest if it has used no processor time for this long.
const REST: Duration = Duration::from_secs(1);

/// The longest wait for that.
const LONGEST: Duration = Duration::from_secs(60);

/// Requests answers from a cache of one large document, and reads them when the server waits.
pub(crate) fn measure(bench: &mut ContextBench<'_>) -> io::Result<()> {
    bench.progress.say("context: answers that nobody reads");
    let megabytes = match bench.quick {
        true => QUICK_MEGABYTES,
        false => MEGABYTES,
    };
    let sources = bench.scratch.join("large-sources");
    let root = bench.scratch.join("large");
    std::fs::create_dir(&sources)?;
    std::fs::create_dir(&root)?;
    let line = LINE.repeat(SENTENCES) + "\n";
    let content = line.repeat(megabytes * 1_000_000 / line.len());
    std::fs::write(sources.join("large.md"), &content)?;
    bench.context.build(&sources, &root.join("large"))?;
    let request = ToolRequest::resolve_within("large", "word", content.len() as u64);
    drop(content);
    let mut client = bench.context.serve_root(&root, &[])?;
    client.send_all(&vec![request.clone(); ANSWERS])?;
    wait_for_rest(client.process())?;
    let unread = client.process().memory()?.peak_mb;
    let mut answered = BTreeSet::new();
    for _ in 0..ANSWERS {
        answered.insert(client.receive(&request)?);
    }
    let read = client.process().memory()?.peak_mb;
    if answered.len() != ANSWERS {
        return Err(io::Error::other("a request was answered twice"));
    }
    report(&mut bench.findings, bench.quick, [unread, read]);
    Ok(())
}

fn report(findings: &mut SubjectFigures, quick: bool, [unread, read]: [f64; 2]) {
    let figures = [read];
    let found = match quick {
        true => Err("--quick"),
        false => Ok(&figures[..]),
    };
    findings.at_most(MEMORY.0, MEMORY.1, "MB", found);
    let mut note = |what: &str, figure: f64| {
        let what = format!("{ANSWERS} large answers: memory at most, {what}");
        findings.note(what, "MB", &[figure]);
    };
    note("before any is read", unread);
    note("until all are read", read);
}

fn wait_for_rest(process: &ServerProcess) -> io::Result<()> {
    let started = Instant::now();
    let mut used = process.processor_time()?;
    while started.elapsed() < LONGEST {
        std::thread::sleep(REST);
        let now = process.processor_time()?;
        if std::mem::replace(&mut used, now) == now {
            return Ok(());
        }
    }
    Err(io::Error::other("the server never waits for its reader"))
}
