//! Appends lines to the log of a directory from several threads, and prints each receipt once the line
//! is durable. Arguments: the directory, and how many lines.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test starts this program and reads what it prints"
)]

mod real_log;

use candor_audit::Log;
use candor_disk::RealDisk;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

const THREADS: u64 = 4;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap());
    let count: u64 = arguments.next().unwrap().to_str().unwrap().parse().unwrap();
    let disk = RealDisk::at(&directory).unwrap();
    let log = Log::open(disk, "log", real_log::options(&directory)).unwrap();
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (log, out) = (&log, &out);
            scope.spawn(move || {
                for n in 0..count / THREADS {
                    let line = json!({ "thread": thread, "n": n, "process": std::process::id() });
                    let Value::Object(members) = line else {
                        unreachable!()
                    };
                    let receipt = log.append_blocking(members).unwrap();
                    let text = format!("{} {}\n", receipt.seq, receipt.hash);
                    let mut out = out.lock().unwrap();
                    out.write_all(text.as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}
