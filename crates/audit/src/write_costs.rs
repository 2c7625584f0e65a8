//! Counts the costs of appending: syncs that callers share, and bytes that are read for one line.

use crate::append::{LogWriter, TornBytes};
use crate::hash::Hash;
use crate::line;
use crate::log::{Log, LogOptions};
use crate::log_files::LogFiles;
use candor_sim_disk::CountingDisk;
use serde_json::{Map, Value, json};
use std::future::Future;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn members(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn waiting_callers_share_syncs() {
    let dir = tempfile::tempdir().unwrap();
    let disk = CountingDisk::at(dir.path()).unwrap();
    let log = Log::open(disk.clone(), "log", LogOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let before = disk.counts().syncs();
    for round in 0..20 {
        disk.counts().hold_data_syncs(true);
        let append = |n| Box::pin(log.append(members(json!({ "round": round, "n": n }))));
        let mut callers: Vec<_> = (0..64).map(append).collect();
        let mut context = Context::from_waker(Waker::noop());
        for caller in &mut callers {
            assert!(matches!(Pin::new(caller).poll(&mut context), Poll::Pending));
        }
        disk.counts().hold_data_syncs(false);
        for caller in callers {
            runtime.block_on(caller).unwrap();
        }
    }
    let syncs = disk.counts().syncs() - before;
    assert!(20 * 64 / syncs >= 16, "{syncs} syncs");
}

/// The number of lines at the end of a long log that really exist: more than an append reads.
const REAL_LINES: u64 = 10_000;

/// Creates a log of `count` lines of equal length. Lines far before its end are a hole in the file.
fn create_long_log(path: &Path, count: u64) {
    let mut file = std::fs::File::create(path).unwrap();
    let mut before = match count > REAL_LINES {
        true => Hash::of(&[b"before"]),
        false => Hash::NONE,
    };
    let mut bytes = Vec::new();
    for seq in count.saturating_sub(REAL_LINES) + 1..=count {
        let members = members(json!({ "n": format!("{seq:07}") }));
        let line = line::write(members, seq, before).unwrap();
        bytes.extend_from_slice(&line.bytes);
        before = line.hash;
    }
    let length = bytes.len() as u64 / count.min(REAL_LINES);
    let hole = count.saturating_sub(REAL_LINES) * length;
    file.seek(io::SeekFrom::Start(hole)).unwrap();
    file.write_all(&bytes).unwrap();
}

/// Returns the bytes that are read for one append: the first after opening the log, and the second.
fn bytes_read_for_one_append(count: u64) -> (u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    create_long_log(&dir.path().join("log"), count);
    let disk = CountingDisk::at(dir.path()).unwrap();
    let torn_entry = |_: TornBytes| Map::new();
    let files = LogFiles::new(disk.clone(), "log");
    let mut writer = LogWriter::new(files, u64::MAX, Duration::ZERO, Box::new(torn_entry));
    let mut one = || {
        let before = disk.counts().bytes_read();
        let receipt = writer.append(vec![members(json!({ "n": "0000000" }))]);
        assert!(receipt[0].as_ref().unwrap().seq > count);
        disk.counts().bytes_read() - before
    };
    let first = one();
    (first, one())
}

/// The numbers of lines in a long log have more digits.
#[test]
fn append_costs_do_not_grow_with_the_log() {
    let (short, long) = (
        bytes_read_for_one_append(1_000),
        bytes_read_for_one_append(1_000_000),
    );
    assert!(long.1 - short.1 < 8, "{short:?} {long:?}");
    assert!(long.1 < 512);
    // Opening reads the last batch only.
    assert!(long.0 <= 2 << 20, "{long:?}");
}
