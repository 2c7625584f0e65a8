//! Reads of one file and of one directory, beside a bare handler that answers the same bytes.

use super::fixture::{READ, fast_import, import, read_stream};
use super::serving;
use crate::process::BenchProgram;
use crate::requests::Case;
use crate::tool_client::{ToolClient, ToolRequest};
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A forge with the repository that is read, and the answers of its server.
pub(crate) struct ReadFixture {
    scratch: TempDir,
}

impl ReadFixture {
    pub(crate) fn create(candor: &Path) -> io::Result<ReadFixture> {
        let fixture = ReadFixture {
            scratch: tempfile::tempdir()?,
        };
        let source = fixture.path("read.git");
        fast_import(&source, &read_stream())?;
        import(candor, &source, READ, &fixture.path("forge"))?;
        Ok(fixture)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Returns the arguments of the server.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        serving(&self.path("forge"))
    }

    /// Asks the server once. Returns the arguments of a bare program that answers the same bytes.
    pub(crate) fn bare_arguments(&self, candor: &Path, case: Case) -> io::Result<Vec<OsString>> {
        let data = OsString::from(self.path("forge"));
        let fixed = ["github", "serve", "--data-dir"].map(OsString::from);
        let program = BenchProgram {
            name: "candor",
            file: candor.to_owned(),
            arguments: fixed.into_iter().chain([data]).collect(),
            bare: false,
        };
        let mut client = ToolClient::connect(program.start_silently()?)?;
        let (tool, arguments) = match case {
            Case::ReadFile4K => ("read_file", json!({ "repo": READ, "path": "file-000.txt" })),
            _ => ("get_tree", json!({ "repo": READ })),
        };
        let answer = client.raw_answer(&ToolRequest::new(tool, &arguments, &[]))?;
        client.end()?;
        let result = memchr::memmem::find(&answer, br#","result":"#);
        let result = result.map(|at| answer[at + 10..].trim_ascii_end());
        let result = result.and_then(|rest| rest.strip_suffix(b"}"));
        let result = result.ok_or_else(|| crate::load::unexpected(&answer))?;
        let file = self.path(tool);
        std::fs::write(&file, result)?;
        Ok(vec![OsString::from("bare-answer"), file.into()])
    }
}
