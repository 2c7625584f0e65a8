//! Checks that the bare handler sends PostgreSQL exactly the statements of the order tools, with
//! the log of the server.

use super::calls::AMOUNT;
use super::store::StoreAddress;
use super::{CandorBuild, OrdersBench, serving};
use crate::load::http::HttpLoad;
use crate::requests::Case;
use candor_testkit::postgres::{MAINTENANCE, Postgres};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// The time limit for the log to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The start of a log entry with a statement and its arguments.
const EXECUTED: &str = "LOG:  execute ";

/// Compares both, and adds the number of statements of each call.
pub(super) fn compare(
    bench: &mut OrdersBench<'_>,
    server: &Postgres,
    side: CandorBuild<'_>,
) -> io::Result<()> {
    let address = watched(bench, server, "seen_tools")?;
    let tools = seen(bench, server, serving(side, &address)?)?;
    let address = watched(bench, server, "seen_bare")?;
    let bare = seen(bench, server, bench.bare(&address)?)?;
    for ((case, tools), bare) in Case::ORDERS.iter().zip(tools).zip(bare) {
        if tools != bare {
            return Err(io::Error::other(format!(
                "{}: the bare handler does not run the statements of the order tools:\n{tools:#?}\n{bare:#?}",
                case.name()
            )));
        }
        let what = format!("PostgreSQL, {}: statements on both sides", case.name());
        bench.report.orders.note(what, "", &[tools.len() as f64]);
    }
    Ok(())
}

/// Creates a store whose statements are logged.
fn watched(bench: &mut OrdersBench<'_>, server: &Postgres, name: &str) -> io::Result<StoreAddress> {
    let address = bench
        .stores
        .database(server, name, AMOUNT, bench.progress)?;
    for setting in ["log_statement = 'all'", "log_parameter_max_length = 0"] {
        let statement = format!("ALTER DATABASE {name} SET {setting}");
        bench.stores.execute(&server.url(MAINTENANCE), statement)?;
    }
    Ok(address)
}

/// Returns the statements of each case when everything is warm.
fn seen(
    bench: &OrdersBench<'_>,
    server: &Postgres,
    mut load: HttpLoad,
) -> io::Result<Vec<Vec<String>>> {
    let mut mark = LogMark { number: 0 };
    for case in Case::ORDERS {
        load.once(*case)?;
    }
    let mut all = Vec::new();
    for case in Case::ORDERS {
        let before = mark.set(bench, server)?;
        load.once(*case)?;
        let after = mark.set(bench, server)?;
        let log = server.log();
        all.push(executed(log.get(before..after).unwrap_or_default()));
    }
    Ok(all)
}

/// A statement of our own in the log, after everything that was run before it.
struct LogMark {
    number: u32,
}

impl LogMark {
    /// Writes it. Returns its offset in the log.
    fn set(&mut self, bench: &OrdersBench<'_>, server: &Postgres) -> io::Result<usize> {
        self.number += 1;
        let since = server.log().len();
        let text = format!("SELECT 'mark {}'", self.number);
        bench
            .stores
            .execute(&server.url("seen_tools"), text.clone())?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let log = server.log();
            let found = log.get(since..).and_then(|new| new.find(&text));
            if let Some(address) = found {
                return Ok(since + address + text.len());
            }
            thread::yield_now();
        }
        Err(io::Error::other("PostgreSQL does not log what it runs"))
    }
}

/// Returns the statements in a part of a log, each on one line.
fn executed(log: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut in_statement = false;
    for line in log.lines() {
        let named = line.strip_prefix(EXECUTED);
        if let Some((_, text)) = named.and_then(|named| named.split_once(": ")) {
            all.push(String::from(text));
            in_statement = true;
        } else if line.starts_with('\t') {
            // The continuation of a statement on its next line.
            if let Some(last) = all.last_mut().filter(|_| in_statement) {
                last.push(' ');
                last.push_str(line);
            }
        } else {
            in_statement = false;
        }
    }
    let plain = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    all.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_parsed_from_a_log() {
        let log = "LOG:  execute sqlx_s_7: SELECT 1\n\t     FROM t\nDETAIL:  parameters: a\n\tb\n\
                   LOG:  statement: SELECT 'mark 1'\nLOG:  execute <unnamed>: COMMIT\n";
        assert_eq!(executed(log), ["SELECT 1 FROM t", "COMMIT"]);
    }
}
