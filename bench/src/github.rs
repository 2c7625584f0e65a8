//! The GitHub tools on a local forge: their command line, and a large tree.

use crate::process::{BenchProgram, MemoryUse};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// The entries of the large tree, directories included.
const ENTRIES: usize = 100_000;

const DIRECTORIES: usize = 1_000;

/// Returns the arguments that serve the tools on the forge in this directory.
pub(crate) fn serving(data: &Path) -> Vec<OsString> {
    let fixed = [
        "github",
        "serve",
        "--http",
        "--port",
        "0",
        "--max-entries",
        "100000",
        "--data-dir",
    ];
    let data = OsString::from(data);
    fixed
        .map(OsString::from)
        .into_iter()
        .chain([data])
        .collect()
}

/// Returns the memory of a server that has answered with a large tree.
pub(crate) fn large_tree(candor: &Path, data: &Path) -> io::Result<MemoryUse> {
    let clone = tempfile::tempdir()?;
    fill(clone.path())?;
    let clone = clone.path().as_os_str();
    let import = [
        OsString::from("github"),
        OsString::from("import"),
        clone.to_owned(),
    ];
    let rest = ["bench/large", "--data-dir"].map(OsString::from);
    let data_dir = OsString::from(data);
    done(
        Command::new(candor)
            .args(import)
            .args(rest)
            .arg(data_dir)
            .stdout(Stdio::null()),
    )?;
    let program = BenchProgram {
        name: "candor",
        file: candor.to_owned(),
        arguments: serving(data),
        bare: false,
    };
    let (process, address) = program.listen()?;
    let answer = ask(&address)?;
    let wanted = format!("\\\"total\\\":{ENTRIES},\\\"truncated\\\":false");
    match memchr::memmem::find(&answer, wanted.as_bytes()) {
        Some(_) => process.memory(),
        None => Err(crate::load::unexpected(&answer)),
    }
}

fn done(command: &mut Command) -> io::Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?} failed"))),
    }
}

/// Creates a repository with one commit of many small files.
fn fill(folder: &Path) -> io::Result<()> {
    done(
        Command::new("git")
            .args(["init", "--quiet", "--bare"])
            .arg(folder),
    )?;
    let mut stream = String::from(
        "blob\nmark :1\ndata 5\nhello\ncommit refs/heads/main\nmark :2\n\
         committer Bench <bench@localhost> 0 +0000\ndata 5\nlarge\n",
    );
    for file in 0..ENTRIES - DIRECTORIES {
        // Writing to a string cannot fail.
        let _ = writeln!(
            stream,
            "M 100644 :1 part-{:04}/file-{file:06}.txt",
            file % DIRECTORIES
        );
    }
    let mut import = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    let input = import.stdin.take();
    input
        .ok_or(io::ErrorKind::BrokenPipe)?
        .write_all(stream.as_bytes())?;
    if !import.wait()?.success() {
        return Err(io::Error::other("git fast-import failed"));
    }
    done(Command::new("git").arg("-C").arg(folder).args([
        "symbolic-ref",
        "HEAD",
        "refs/heads/main",
    ]))
}

/// Returns the whole answer to one call.
fn ask(address: &str) -> io::Result<Vec<u8>> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_tree","arguments":{"repo":"bench/large"}}}"#;
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}
