//! The servers under test, as clients are configured for them: a program to start, or a URL.

use crate::fixture::{CANDOR, Directory, LIMIT, candor, run_ok};
use candor_testkit::{Exit, Process};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WEATHER: &str = "weather-example";

/// A fault script that makes only one query fail.
const SCRIPT: &str =
    r#"{"rules":[{"operations":["get-returns"],"every":1,"fault":{"kind":"unavailable"}}]}"#;

/// A server as a client is configured for it.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Stdio {
        program: PathBuf,
        args: Vec<String>,
    },
    Http {
        url: String,
        /// The token that the client shows.
        token: Option<String>,
    },
}

impl Target {
    /// Returns the playground, which the client starts.
    pub(crate) fn playground(flags: &[&str]) -> Self {
        Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: playground_args(flags),
        }
    }

    /// Returns the example server, which the client starts.
    pub(crate) fn weather() -> Self {
        Target::Stdio {
            program: build_weather(),
            args: Vec::new(),
        }
    }
}

fn playground_args(flags: &[&str]) -> Vec<String> {
    let words = ["playground"].iter().chain(flags);
    words.map(ToString::to_string).collect()
}

/// A store of orders with the sample catalogue.
pub(crate) struct OrderStore {
    directory: Directory,
}

impl OrderStore {
    pub(crate) fn new() -> Self {
        let directory = Directory::new();
        directory.write("script.json", SCRIPT);
        let database = directory.text("orders.db");
        run_ok(candor(&["orders", "seed", "--database", &database]));
        OrderStore { directory }
    }

    fn args(&self) -> Vec<String> {
        let (database, script) = (
            self.directory.text("orders.db"),
            self.directory.text("script.json"),
        );
        let words = [
            "orders",
            "serve",
            "--database",
            &database,
            "--faulty",
            &script,
            "--attempts",
            "1",
            "--breaker-failures",
            "0",
        ];
        words.map(String::from).into()
    }

    /// Returns the order tools, which the client starts.
    pub(crate) fn target(&self) -> Target {
        Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: self.args(),
        }
    }

    /// Adds a client and returns its token.
    pub(crate) fn add_client(&self, name: &str, scopes: &str) -> String {
        let clients = self.directory.text("clients.json");
        let words = ["orders", "clients", "add", name, "--scopes", scopes];
        let mut command = candor(&words);
        command.args(["--clients", &clients]);
        let ended = Process::run(command, LIMIT);
        assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
        String::from_utf8(ended.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// Starts the order tools over HTTP, for the clients that were added.
    pub(crate) fn listening_to_clients(&self) -> HttpServer {
        let clients = self.directory.text("clients.json");
        let more = ["--clients", &clients].map(String::from);
        HttpServer::start(self.args().into_iter().chain(more).collect())
    }

    /// Starts the order tools over HTTP.
    pub(crate) fn listening(&self) -> HttpServer {
        HttpServer::start(self.args())
    }
}

/// A server that listens on HTTP until this is dropped.
pub(crate) struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    /// Starts a playground.
    pub(crate) fn playground(flags: &[&str]) -> Self {
        HttpServer::start(playground_args(flags))
    }

    /// Starts a server on a free port, and waits until it prints its URL.
    pub(crate) fn start(args: Vec<String>) -> Self {
        let mut process = Command::new(CANDOR)
            .args(args)
            .args(["--http", "--port", "0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let stderr = process.stderr.take().expect("stderr is a pipe");
        let mut lines = BufReader::new(stderr).lines();
        let first = lines.next().expect("the server prints its URL");
        let first = first.expect("stderr is text");
        let (_, url) = first
            .split_once(" listening on ")
            .unwrap_or_else(|| panic!("not an address: {first}"));
        let url = url.to_owned();
        // A full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        HttpServer { process, url }
    }

    pub(crate) fn target(&self) -> Target {
        Target::Http {
            url: self.url.clone(),
            token: None,
        }
    }

    /// Returns the server for the client with this token.
    pub(crate) fn target_for(&self, token: &str) -> Target {
        Target::Http {
            url: self.url.clone(),
            token: Some(token.to_owned()),
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It may have ended already; the client has noticed that.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the example in the profile and with the features of this test. Returns the path of the program.
fn build_weather() -> PathBuf {
    let this = std::env::current_exe().expect("a test knows its own path");
    let profile_dir = this.ancestors().nth(2).expect("TARGET/PROFILE/deps/TEST");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(workspace())
        .args(["build", "--quiet", "--message-format", "json"])
        .args(["--workspace", "--bin", WEATHER, "--profile", profile])
        .stderr(Stdio::inherit());
    if let Some(features) = features() {
        cargo.arg("--features").arg(features);
    }
    let built = cargo.output().expect("cargo can be started");
    assert!(built.status.success(), "the example does not build");
    let messages = String::from_utf8_lossy(&built.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_weather = message["target"]["name"] == WEATHER;
        is_weather.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    program.expect("cargo prints the path of the program")
}

/// Returns the features that this test was built with, so that nothing is compiled a second time.
/// `cargo xtask test` passes them.
fn features() -> Option<OsString> {
    std::env::var_os("CANDOR_FEATURES")
}

/// Returns the root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate lies two levels below the root")
}
