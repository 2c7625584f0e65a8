//! Repositories that are made by `git fast-import`, and the git program itself.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The commits of the long history.
const COMMITS: usize = 300_000;

/// The files of the wide tree, and the directories that they are in.
const FILES: usize = 66_000;
const DIRECTORIES: usize = 1_100;

/// The number of branches beside `main` in the wide repository.
pub(crate) const HEADS: usize = 60;

/// The entries of the directory that is listed.
const LISTED: usize = 300;

/// The names in the forge.
pub(crate) const HISTORY: &str = "bench/history";
pub(crate) const WIDE: &str = "bench/wide";
pub(crate) const READ: &str = "bench/read";

/// Runs git. Its configuration is its own, so that every machine measures the same.
pub(crate) fn git(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> io::Result<Vec<u8>> {
    let output = command(folder, arguments).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(io::Error::other(format!("git failed: {said}")))
        }
    }
}

fn command(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Bench")
        .env("GIT_AUTHOR_EMAIL", "bench@localhost")
        .env("GIT_COMMITTER_NAME", "Bench")
        .env("GIT_COMMITTER_EMAIL", "bench@localhost");
    command
}

/// Creates a bare repository from a stream for `git fast-import`, with `main` as its branch.
pub(crate) fn fast_import(folder: &Path, stream: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    git(folder, &["init", "--quiet", "--bare", "-b", "main", "."])?;
    let mut import = command(folder, &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    let input = import.stdin.take();
    input.ok_or(io::ErrorKind::BrokenPipe)?.write_all(stream)?;
    match import.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("git fast-import failed")),
    }
}

/// Imports a repository into a forge, which is created if there is none.
pub(crate) fn import(candor: &Path, from: &Path, name: &str, data: &Path) -> io::Result<()> {
    let run = |arguments: &[&OsStr]| {
        let mut command = Command::new(candor);
        command.arg("github").args(arguments);
        let output = command.arg("--data-dir").arg(data).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "candor github failed: {}",
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    };
    run(&[OsStr::new("init")])?;
    run(&[OsStr::new("import"), from.as_os_str(), OsStr::new(name)])
}

/// The repositories of this benchmark and the forge that has imported some of them.
pub(crate) struct LocalRepositories {
    scratch: TempDir,
}

impl LocalRepositories {
    pub(crate) fn create(candor: &Path) -> io::Result<LocalRepositories> {
        let all = LocalRepositories {
            scratch: tempfile::tempdir()?,
        };
        fast_import(&all.history(), &history_stream())?;
        fast_import(&all.wide(), &wide_stream())?;
        fast_import(&all.small(), &read_stream())?;
        import(candor, &all.history(), HISTORY, &all.data())?;
        import(candor, &all.wide(), WIDE, &all.data())?;
        Ok(all)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Returns the directory of a repository in the forge.
    pub(crate) fn in_forge(&self, name: &str) -> PathBuf {
        self.data().join("forge").join(format!("{name}.git"))
    }

    pub(crate) fn history(&self) -> PathBuf {
        self.path("history.git")
    }

    pub(crate) fn wide(&self) -> PathBuf {
        self.path("wide.git")
    }

    pub(crate) fn small(&self) -> PathBuf {
        self.path("small.git")
    }
}

/// Writing to a string cannot fail.
fn line(stream: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = stream.write_fmt(text);
    stream.push('\n');
}

fn commit(stream: &mut String, branch: &str, date: usize) {
    line(stream, format_args!("commit refs/heads/{branch}"));
    if date == 0 {
        line(stream, format_args!("mark :1"));
    }
    let date = 1_600_000_000 + date;
    line(
        stream,
        format_args!("committer Bench <b@localhost> {date} +0000"),
    );
    line(stream, format_args!("data 6\ncommit"));
}

/// A linear history: each commit changes one of a hundred files.
fn history_stream() -> Vec<u8> {
    let mut stream = String::new();
    for number in 0..COMMITS {
        commit(&mut stream, "main", number);
        let text = number.to_string();
        let (file, length) = (number % 100, text.len());
        line(&mut stream, format_args!("M 100644 inline file-{file}"));
        line(&mut stream, format_args!("data {length}\n{text}"));
    }
    stream.into_bytes()
}

/// Returns the path of a file of the wide tree: two levels of directories.
fn wide_path(file: usize) -> String {
    let dir = file % DIRECTORIES;
    format!("part-{:02}/dir-{dir:04}/file-{file:05}.txt", dir % 33)
}

/// A wide tree, a `main` that has gone on, and branches that have changed other files since.
fn wide_stream() -> Vec<u8> {
    let mut stream = String::new();
    commit(&mut stream, "main", 0);
    for file in 0..FILES {
        line(
            &mut stream,
            format_args!("M 100644 inline {}", wide_path(file)),
        );
        line(&mut stream, format_args!("data 12\nfile {file:07}"));
    }
    let change = |stream: &mut String, file: usize, text: &str| {
        line(stream, format_args!("M 100644 inline {}", wide_path(file)));
        line(stream, format_args!("data {}\n{text}", text.len()));
    };
    for head in 0..HEADS {
        let branch = format!("head-{head}");
        commit(&mut stream, &branch, 10 + head);
        line(&mut stream, format_args!("from :1"));
        for file in 0..3 {
            change(
                &mut stream,
                head * 211 + file * 7919,
                &format!("{branch}\n"),
            );
        }
    }
    commit(&mut stream, "main", 100);
    change(&mut stream, 65_999, "main\n");
    stream.into_bytes()
}

/// A directory of many files, one of 4 KiB.
pub(crate) fn read_stream() -> Vec<u8> {
    let mut stream = String::new();
    commit(&mut stream, "main", 0);
    for file in 0..LISTED {
        let text = match file {
            0 => "A line of a file that an agent reads at once.\n".repeat(89),
            _ => format!("file {file}\n"),
        };
        line(
            &mut stream,
            format_args!("M 100644 inline file-{file:03}.txt"),
        );
        line(&mut stream, format_args!("data {}\n{text}", text.len()));
    }
    stream.into_bytes()
}
