//! A temporary directory with documents and caches, and the program `context` run in it.

use crate::context::server::ContextServer;
use crate::fixture::{Directory, LIMIT, context};
use candor_testkit::user::{UnprivilegedProgram, with_settings_of};
use candor_testkit::{Exit, Process, ProcessOutput, ReachedCodes};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with documents and caches; other users can read it.
pub(crate) struct ContextFixture(Directory);

/// The output and exit code of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ContextFixture {
    pub(crate) fn empty() -> ContextFixture {
        let directory = Directory::new();
        fs::set_permissions(directory.root(), fs::Permissions::from_mode(0o755)).unwrap();
        ContextFixture(directory)
    }

    /// Contains four small documents below `docs`, and no cache.
    pub(crate) fn with_docs() -> ContextFixture {
        let fixture = ContextFixture::empty();
        fixture.write("docs/fox.md", "the quick brown fox\n");
        fixture.write("docs/guide/Install.md", "Install it, then run it.\n");
        fixture.write("docs/empty.md", "");
        // Characters that a terminal would interpret or leave out are content like any other.
        fixture.write(
            "docs/odd.md",
            "fox \u{7f} \u{9b}31m \u{1b}[0m \"\\\u{2028} ÄÖ fox\r\n",
        );
        fixture
    }

    /// Contains those documents and a cache of them, `cache`.
    pub(crate) fn with_cache() -> ContextFixture {
        let fixture = ContextFixture::with_docs();
        fixture.build("docs", "cache");
        fixture
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.root()
    }

    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.0.path(inside)
    }

    /// Writes a file and creates the directories above it.
    pub(crate) fn write(&self, inside: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.0.write(inside, bytes);
    }

    pub(crate) fn read(&self, inside: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(inside);
        fs::read(&path).unwrap_or_else(|error| panic!("{error}: {}", path.display()))
    }

    /// Replaces `from`, which must be in the text file, everywhere by `to`.
    pub(crate) fn edit(&self, inside: impl AsRef<Path>, from: &str, to: &str) {
        let text = String::from_utf8(self.read(&inside)).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        self.write(inside, text.replace(from, to));
    }

    /// Replaces the first `from`, which must be in the file, by `to`.
    pub(crate) fn edit_bytes(&self, inside: &str, from: &[u8], to: &[u8]) {
        let bytes = self.read(inside);
        let at = bytes.windows(from.len()).position(|part| part == from);
        let (head, tail) = bytes.split_at(at.expect("it is there"));
        self.write(inside, [head, to, &tail[from.len()..]].concat());
    }

    pub(crate) fn remove(&self, inside: impl AsRef<Path>) {
        fs::remove_file(self.path(inside)).unwrap();
    }

    pub(crate) fn set_mode(&self, inside: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns the file of a document, relative to the root.
    pub(crate) fn document(&self, cache: &str, id: &str) -> String {
        let index: serde_json::Value =
            serde_json::from_slice(&self.read(format!("{cache}/index.json"))).unwrap();
        format!("{cache}/{}", index[id].as_str().unwrap())
    }

    /// Copies a cache as another program would: without the files that make it fast.
    pub(crate) fn copy_unsealed(&self, from: &str, to: impl AsRef<Path>) {
        let (from, to) = (self.path(from), self.path(to));
        fs::create_dir_all(to.join("documents")).unwrap();
        for file in ["manifest.json", "index.json"] {
            fs::copy(from.join(file), to.join(file)).unwrap();
        }
        for entry in fs::read_dir(from.join("documents")).unwrap() {
            let name = entry.unwrap().file_name();
            let (from, to) = (from.join("documents"), to.join("documents"));
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }

    /// Returns `context ARGUMENTS`, to be run in the root.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.command_of(context(), arguments)
    }

    pub(crate) fn command_of<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        arguments: &[S],
    ) -> Command {
        let mut command = Process::command(program, &[]);
        command
            .args(arguments)
            .env_remove("SOURCE_DATE_EPOCH")
            .env_remove("CLICOLOR_FORCE")
            .current_dir(self.root());
        command
    }

    /// Runs a command. In its messages the root is `[root]`.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> CommandOutput {
        let mut output = run_command(self.command(arguments));
        output.stderr = self.without_root(&output.stderr);
        output
    }

    /// Returns the text with `[root]` for the root.
    pub(crate) fn without_root(&self, text: &str) -> String {
        text.replace(self.root().to_str().unwrap(), "[root]")
    }

    /// Runs a command that must succeed and print nothing on stderr. Returns its stdout.
    pub(crate) fn run_ok<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (0, ""),
            "{}",
            output.stdout
        );
        output.stdout
    }

    /// Runs a command that must fail with `code` and print nothing on stdout. Returns its stderr.
    pub(crate) fn run_err<S: AsRef<OsStr>>(&self, code: i32, arguments: &[S]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (code, ""),
            "{}",
            output.stderr
        );
        output.stderr
    }

    pub(crate) fn build(&self, sources: &str, cache: &str) {
        self.run_ok(&["build", "--sources", sources, "--cache", cache]);
    }

    /// Returns `context resolve` below the root, with errors as JSON.
    pub(crate) fn resolve_command<S: AsRef<OsStr>>(
        &self,
        cache: S,
        query: S,
        budget: S,
    ) -> Command {
        let mut command = self.command(&["resolve", "--error-format", "json"]);
        command.arg("--root").arg(self.root());
        command.arg("--cache").arg(cache).arg("--query").arg(query);
        command.arg("--budget").arg(budget);
        command
    }

    pub(crate) fn resolve(&self, cache: &str, query: &str, budget: &str) -> CommandOutput {
        run_command(self.resolve_command(cache, query, budget))
    }

    /// Starts a server of the caches below the root.
    pub(crate) fn serve(&self, flags: &[&str]) -> ContextServer {
        ContextServer::start(self.serve_command(flags))
    }

    pub(crate) fn serve_command(&self, flags: &[&str]) -> Command {
        let mut command = self.command(&["serve", "--root"]);
        command.arg(self.root()).args(flags);
        command
    }
}

impl CommandOutput {
    /// Returns the answer or the error object, which the server must return too.
    pub(crate) fn text(&self) -> &str {
        match self.code {
            0 => &self.stdout,
            _ => &self.stderr,
        }
    }
}

/// Runs a command to its end, and records the codes of error objects on stderr as seen.
pub(crate) fn run_command(command: Command) -> CommandOutput {
    let ProcessOutput {
        exit,
        stdout,
        stderr,
    } = Process::run(command, LIMIT);
    let Exit::Code(code) = exit else {
        panic!("{exit:?}: {stderr}");
    };
    let mut reached = ReachedCodes::default();
    reached.set_dialect(Some("context"));
    reached.record(stderr.as_bytes());
    CommandOutput {
        code,
        stdout: String::from_utf8(stdout).unwrap(),
        stderr,
    }
}

/// Returns the error object of a code, with the message that the specification recommends.
pub(crate) fn error_object(code: &str) -> String {
    let message = match code {
        "cache_missing" => "Cache does not exist",
        "cache_invalid" => "Cache exists but is invalid",
        "invalid_query" => "Query is invalid",
        "invalid_budget" => "Budget is invalid",
        "io_error" => "I/O error occurred",
        "internal_error" => "Internal error",
        other => panic!("there is no code {other}"),
    };
    format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"{message}\"}}}}\n")
}

pub(crate) fn exit_code_of(code: &str) -> i32 {
    let codes = [
        "invalid_query",
        "invalid_budget",
        "cache_missing",
        "cache_invalid",
        "io_error",
        "internal_error",
    ];
    2 + codes.iter().position(|other| *other == code).unwrap() as i32
}

/// Returns the program `context` as a user whom file permissions restrict: root may read everything.
pub(crate) fn unprivileged_context() -> UnprivilegedProgram {
    UnprivilegedProgram::new(context())
}

/// Returns the same command, started by a shell that sets a limit first.
pub(crate) fn with_limit(command: &Command, limit: &str) -> Command {
    let mut shell = Command::new("sh");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(command.get_program());
    with_settings_of(command, shell)
}

/// Returns the same command with at most this much memory.
pub(crate) fn with_memory_limit(command: &Command, bytes: u64) -> Command {
    let mut with_limit = with_limit(command, &format!("-v {}", bytes / 1024));
    // The C library reserves memory for each thread, and the number of threads depends on the machine.
    with_limit.env("MALLOC_ARENA_MAX", "1");
    with_limit
}
