//! Starts a PostgreSQL server, prints its folder and its processes, and holds it until stdin ends.
//! The argument `paused` stops its processes.

use candor_testkit::postgres::Postgres;
use std::io::Read;
use std::thread;

// The test that starts this program reads what it prints.
#[allow(clippy::expect_used, clippy::print_stderr)]
fn main() {
    // On a thread that ends before the server does: the server dies with the process, not with it.
    let starting = thread::spawn(Postgres::start).join();
    let server = starting
        .expect("the thread ends")
        .expect("the server starts");
    if std::env::args().nth(1).as_deref() == Some("paused") {
        server.pause();
    }
    let processes: Vec<String> = server.processes().iter().map(u32::to_string).collect();
    eprintln!(
        "server {} {}",
        server.folder().display(),
        processes.join(" ")
    );
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
