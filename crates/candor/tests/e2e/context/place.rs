//! A directory of a test's own, and the program `context` run to its end in it.

use crate::context::server::Server;
use candor_testkit::{Exit, Process, ProcessOutput, ReachedCodes, renamed};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long a command may take before a test fails; none of them should.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Returns `candor` under the name `context`.
pub(crate) fn context() -> PathBuf {
    renamed(CANDOR, "context")
}

/// The user and the group that nothing belongs to.
const NOBODY: u32 = 65_534;

/// A directory that is gone with the test.
pub(crate) struct Place(TempDir);

/// What a command said, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Place(folder)
    }

    /// With four small documents below `docs`, and nothing built.
    pub(crate) fn with_docs() -> Place {
        let place = Place::empty();
        place.write("docs/fox.md", "the quick brown fox\n");
        place.write("docs/guide/Install.md", "Install it, then run it.\n");
        place.write("docs/empty.md", "");
        // What a terminal would take for a style or leave out is content like any other.
        place.write(
            "docs/odd.md",
            "fox \u{7f} \u{9b}31m \u{1b}[0m \"\\\u{2028} ÄÖ fox\r\n",
        );
        place
    }

    /// With those documents and a cache of them, `cache`.
    pub(crate) fn with_cache() -> Place {
        let place = Place::with_docs();
        place.built("docs", "cache");
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(inside)
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, inside: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, inside: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(inside);
        fs::read(&path).unwrap_or_else(|error| panic!("{error}: {}", path.display()))
    }

    /// Changes a text file: everywhere `from`, which must be there, becomes `to`.
    pub(crate) fn edit(&self, inside: impl AsRef<Path>, from: &str, to: &str) {
        let text = String::from_utf8(self.read(&inside)).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        self.write(inside, text.replace(from, to));
    }

    /// Changes bytes of a file: the first `from`, which must be there, becomes `to`.
    pub(crate) fn edit_bytes(&self, inside: &str, from: &[u8], to: &[u8]) {
        let bytes = self.read(inside);
        let at = bytes.windows(from.len()).position(|part| part == from);
        let (head, tail) = bytes.split_at(at.expect("it is there"));
        self.write(inside, [head, to, &tail[from.len()..]].concat());
    }

    pub(crate) fn remove(&self, inside: impl AsRef<Path>) {
        fs::remove_file(self.path(inside)).unwrap();
    }

    pub(crate) fn mode(&self, inside: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The file of a document, relative to the place.
    pub(crate) fn document(&self, cache: &str, id: &str) -> String {
        let index: serde_json::Value =
            serde_json::from_slice(&self.read(format!("{cache}/index.json"))).unwrap();
        format!("{cache}/{}", index[id].as_str().unwrap())
    }

    /// A copy of a cache as another program would make it: without what makes it fast.
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

    /// A command of `context`, to be run here.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.command_of(&context(), arguments)
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

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Said {
        said(self.command(arguments))
    }

    /// What a command answers; it says nothing beside.
    pub(crate) fn answer<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let said = self.run(arguments);
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (0, ""),
            "{}",
            said.stdout
        );
        said.stdout
    }

    /// What a command complains about; it answers nothing.
    pub(crate) fn complaint<S: AsRef<OsStr>>(&self, code: i32, arguments: &[S]) -> String {
        let said = self.run(arguments);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (code, ""),
            "{}",
            said.stderr
        );
        said.stderr
    }

    /// Builds a cache.
    pub(crate) fn built(&self, sources: &str, cache: &str) {
        self.answer(&["build", "--sources", sources, "--cache", cache]);
    }

    /// `resolve` below this place, with errors as programs read them.
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

    pub(crate) fn resolve(&self, cache: &str, query: &str, budget: &str) -> Said {
        said(self.resolve_command(cache, query, budget))
    }

    /// A server of what is below this place.
    pub(crate) fn serve(&self, flags: &[&str]) -> Server {
        Server::start(self.serve_command(flags))
    }

    pub(crate) fn serve_command(&self, flags: &[&str]) -> Command {
        let mut command = self.command(&["serve", "--root"]);
        command.arg(self.root()).args(flags);
        command
    }
}

impl Said {
    /// The answer, or the error object: the text that the server must have given.
    pub(crate) fn text(&self) -> &str {
        match self.code {
            0 => &self.stdout,
            _ => &self.stderr,
        }
    }
}

/// Runs a command to its end. Error objects on stderr are noted.
pub(crate) fn said(command: Command) -> Said {
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
    Said {
        code,
        stdout: String::from_utf8(stdout).unwrap(),
        stderr,
    }
}

/// The error object of a code with the message that its specification recommends.
pub(crate) fn object(code: &str) -> String {
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

pub(crate) fn exit_of(code: &str) -> i32 {
    let codes = [
        "invalid_query",
        "invalid_budget",
        "cache_missing",
        "cache_invalid",
        "io_error",
        "internal_error",
    ];
    2 + codes.iter().position(|one| *one == code).unwrap() as i32
}

/// Somebody whom permissions hold for: root may read everything.
pub(crate) struct Somebody(Option<TempDir>);

impl Somebody {
    pub(crate) fn new() -> Somebody {
        if !is_root() {
            return Somebody(None);
        }
        // The program may lie where only root can go.
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("context");
        if fs::hard_link(CANDOR, &program).is_err() {
            // By another process: a file that this one has open for writing cannot be executed.
            let copied = Command::new("cp").arg(CANDOR).arg(&program).status();
            assert!(copied.unwrap().success());
        }
        Somebody(Some(folder))
    }

    /// The same command, run by them.
    pub(crate) fn runs(&self, command: &Command) -> Command {
        let Some(folder) = &self.0 else {
            return like(command, Command::new(command.get_program()));
        };
        let mut other = like(command, Command::new(folder.path().join("context")));
        other.uid(NOBODY).gid(NOBODY);
        other
    }
}

/// Arguments, variables and directory of a command for another program.
fn like(command: &Command, mut other: Command) -> Command {
    other.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        other.current_dir(folder);
    }
    other
}

pub(crate) fn is_root() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().metadata().unwrap().uid() == 0
}

/// The same command by way of a shell that sets a limit first.
pub(crate) fn limited(command: &Command, limit: &str) -> Command {
    let mut shell = Command::new("sh");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(command.get_program());
    like(command, shell)
}

/// The same command with at most this much memory.
pub(crate) fn within_memory(command: &Command, bytes: u64) -> Command {
    let mut limited = limited(command, &format!("-v {}", bytes / 1024));
    // The C library reserves room for each thread; how many there are is the machine's affair.
    limited.env("MALLOC_ARENA_MAX", "1");
    limited
}
