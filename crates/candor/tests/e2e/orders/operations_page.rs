//! The blocks `postgres` of the guide to operations: sessions like those of `console`, on a
//! PostgreSQL database.

use crate::fixture::{CANDOR, Directory};
use candor_testkit::postgres;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../../../docs/orders-operations.md");

/// The parts of the address `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, as the programs of
/// PostgreSQL read them from the environment.
fn settings(url: &str) -> [(&'static str, String); 5] {
    let rest = url.strip_prefix("postgres://").unwrap();
    let (account, location) = rest.rsplit_once('@').unwrap();
    let (user, password) = account.split_once(':').unwrap();
    let (server, database) = location.rsplit_once('/').unwrap();
    let (host, port) = server.rsplit_once(':').unwrap();
    [
        ("PGUSER", user.to_owned()),
        ("PGPASSWORD", password.to_owned()),
        ("PGHOST", host.replace("%2F", "/").replace("%2f", "/")),
        ("PGPORT", port.to_owned()),
        ("PGDATABASE", database.to_owned()),
    ]
}

fn typed(line: &str, directory: &Path, settings: &[(&'static str, String)]) -> String {
    let programs = Path::new(CANDOR).parent().unwrap().display();
    let run = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(directory)
        .env("PATH", format!("{programs}:/usr/bin:/bin:/usr/local/bin"))
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn postgres_sessions_of_the_guide_print_the_documented_output() {
    let Some(server) = postgres::required() else {
        return;
    };
    let mut sessions = 0;
    for block in PAGE.split("```postgres\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let directory = Directory::new();
        let url = server.database();
        let settings = settings(&url);
        directory.write("orders.url", &url);
        directory.write("restored.url", server.url(&format!("restored{sessions}")));
        let mut actual = String::new();
        for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
            // Every session restores to a database of its own.
            let unique = line.replace("restored ", &format!("restored{sessions} "));
            actual += &format!("$ {line}\n{}", typed(&unique, directory.root(), &settings));
        }
        assert_eq!(actual, block);
        sessions += 1;
    }
    assert!(sessions >= 2, "the sessions were not found");
}
