//! The memory of a server that answers with a large tree.

use super::fixture::{fast_import, import};
use super::serving;
use crate::process::{BenchProgram, MemoryUse};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// The entries of the large tree, directories included.
const ENTRIES: usize = 100_000;

const DIRECTORIES: usize = 1_000;

/// Returns the memory of a server that has answered with a large tree.
pub(crate) fn large_tree(candor: &Path, data: &Path) -> io::Result<MemoryUse> {
    let clone = tempfile::tempdir()?;
    fill(clone.path())?;
    import(candor, clone.path(), "bench/large", data)?;
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

/// Creates a repository with one commit of many small files.
fn fill(folder: &Path) -> io::Result<()> {
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
    fast_import(folder, stream.as_bytes())
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
