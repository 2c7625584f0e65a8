//! A workspace in a temporary directory, with plans, an approver and a server.

use crate::approver::{Approver, plan};
use crate::bare::files;
use crate::process::BenchProgram;
use crate::tool_client::{ToolClient, ToolRequest};
use candor_workspace::path::Root;
use candor_workspace::plan::{PlanHash, hash, render, store};
use candor_workspace::state;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A workspace, with the directories of keys, state and builds beside it. Dropping it removes everything.
pub(super) struct BenchWorkspace {
    directory: PathBuf,
    root: Root,
    approver: Approver,
    _removed: TempDir,
}

impl BenchWorkspace {
    pub(super) fn create() -> io::Result<BenchWorkspace> {
        let scratch = tempfile::Builder::new().prefix("candor-bench-").tempdir()?;
        let directory = scratch.path().canonicalize()?;
        for name in ["ws", "ws/src", "config", "state", "build"] {
            // A server refuses directories in which others could write.
            let mut private = DirBuilder::new();
            private.mode(0o700).create(directory.join(name))?;
        }
        let workspace = BenchWorkspace {
            root: Root::open(directory.join("ws"))?,
            approver: Approver::generate()?,
            directory,
            _removed: scratch,
        };
        let approvers = workspace.path_beside("config/approvers");
        fs::write(&approvers, workspace.approver.line())?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(approvers, private)?;
        Ok(workspace)
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns a path beside the workspace.
    pub(super) fn path_beside(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the directory of everything that commands build.
    pub(super) fn build_dir(&self) -> PathBuf {
        self.path_beside("build")
    }

    /// Returns the directory that contains those of all workspaces.
    pub(super) fn state_dir(&self) -> PathBuf {
        self.path_beside("state")
    }

    /// Returns the state directory of this workspace.
    pub(super) fn own_state(&self) -> PathBuf {
        state::of_root(&self.state_dir(), self.root.id())
    }

    /// Writes a file of the workspace without a tool. Returns its path.
    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let at = self.root().join(path);
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&at, bytes)?;
        Ok(at)
    }

    /// Saves and approves a plan of one phase. Returns its hash.
    pub(super) fn allow(&self, phase: &Value) -> io::Result<PlanHash> {
        self.approver.allow(&self.root, phase)
    }

    /// Adds plans that nobody has approved, and syncs them all at once.
    pub(super) fn add_drafts(&self, count: usize) -> io::Result<()> {
        for number in 0..count {
            let phase = json!({ "allow": [format!("src/{number}/**")] });
            let text = render(&plan(&format!("Draft {number}"), &phase)?);
            self.write(&store::path(&hash(&text)), text)?;
        }
        files::settle(&self.directory)
    }

    /// Starts a server of the executor, and its session.
    pub(super) fn serve(&self, candor: &Path, flags: &[&str]) -> io::Result<ToolClient> {
        let mut arguments = ["workspace", "serve", "--role", "executor"]
            .map(OsString::from)
            .to_vec();
        for (name, path) in [
            ("--root", self.root().to_owned()),
            ("--config-dir", self.path_beside("config")),
            ("--state-dir", self.state_dir()),
            ("--build-dir", self.build_dir()),
        ] {
            arguments.extend([OsString::from(name), path.into()]);
        }
        arguments.extend(flags.iter().map(OsString::from));
        let program = BenchProgram {
            name: "workspace",
            file: candor.to_owned(),
            arguments,
            bare: false,
        };
        let mut client = ToolClient::connect(program.start_silently()?)?;
        let texts = &[r#"{\"session_id\":"#];
        client.time(&ToolRequest::new("begin_session", &json!({}), texts))?;
        Ok(client)
    }
}

/// Returns a call of `read_file`.
pub(super) fn read_request(path: &str) -> ToolRequest {
    let texts = &[r#"{\"path\":\""#];
    ToolRequest::new("read_file", &json!({ "path": path }), texts)
}
