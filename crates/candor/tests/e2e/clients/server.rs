//! The servers under test, as clients are told of them: a program to start, or an address.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WEATHER: &str = "weather-example";

/// A script under which one query fails, and nothing else.
const SCRIPT: &str =
    r#"{"rules":[{"operations":["get-returns"],"every":1,"fault":{"kind":"unavailable"}}]}"#;

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// Where a client finds a server.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A program that the client starts.
    Stdio { program: PathBuf, args: Vec<String> },
    /// An address.
    Http { url: String },
}

impl Target {
    /// The playground, to be started by the client.
    pub(crate) fn playground(flags: &[&str]) -> Self {
        Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: playground_args(flags),
        }
    }

    /// The example server, to be started by the client.
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

/// A store of orders with the sample catalogue, which goes with this.
pub(crate) struct Orders {
    folder: tempfile::TempDir,
}

impl Orders {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("script.json"), SCRIPT).expect("a file can be made");
        let store = Orders { folder };
        let seeded = Command::new(CANDOR)
            .args(["orders", "seed", "--database", &store.path("orders.db")])
            .output();
        let seeded = seeded.expect("the program can be started");
        assert!(seeded.status.success(), "{seeded:?}");
        store
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_string_lossy().into_owned()
    }

    fn args(&self) -> Vec<String> {
        let (database, script) = (self.path("orders.db"), self.path("script.json"));
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

    /// The order tools, to be started by the client.
    pub(crate) fn target(&self) -> Target {
        Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: self.args(),
        }
    }

    /// The order tools over HTTP.
    pub(crate) fn listening(&self) -> Listening {
        Listening::start(self.args())
    }
}

/// A server that listens on HTTP until this is dropped.
pub(crate) struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    /// A playground.
    pub(crate) fn playground(flags: &[&str]) -> Self {
        Listening::start(playground_args(flags))
    }

    /// Starts one on a free port, and waits until it says where it is.
    fn start(args: Vec<String>) -> Self {
        let mut process = Command::new(CANDOR)
            .args(args)
            .args(["--http", "--port", "0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let stderr = process.stderr.take().expect("stderr is a pipe");
        let mut lines = BufReader::new(stderr).lines();
        let first = lines.next().expect("the server says where it listens");
        let first = first.expect("what the server says is text");
        let (_, url) = first
            .split_once(" listening on ")
            .unwrap_or_else(|| panic!("not an address: {first}"));
        let url = url.to_owned();
        // A full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        Listening { process, url }
    }

    pub(crate) fn target(&self) -> Target {
        Target::Http {
            url: self.url.clone(),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended already, which a client has noticed then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the example in the profile and with the features of this test, and says where the program is.
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
    if cfg!(feature = "otel") {
        cargo.args(["--features", "candor/otel"]);
    }
    let built = cargo.output().expect("cargo can be started");
    assert!(built.status.success(), "the example does not build");
    let messages = String::from_utf8_lossy(&built.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == WEATHER;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    program.expect("cargo says where the program is")
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate lies two levels below the root")
}
