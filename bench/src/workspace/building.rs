//! `cargo build` of a generated crate in the sandbox, compared with the same build outside.

use super::fixture::BenchWorkspace;
use super::{RatioBar, WorkspaceBench};
use crate::bare::files;
use crate::figures::SubjectFigures;
use crate::process::timed_command;
use crate::statistics::millis;
use crate::tool_client::{ToolClient, ToolRequest};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const BUILD: RatioBar = RatioBar {
    what: "cargo build of 20,000 lines in the sandbox: times as long as outside",
    limit: 1.1,
    sides: ["cargo build in the sandbox", "cargo build outside"],
};

const LINES: usize = 20_000;
const QUICK_LINES: usize = 1_000;

/// The functions of each module.
const FUNCTIONS: usize = 50;

const MANIFEST: &str = "\
[package]
name = \"generated\"
version = \"0.1.0\"
edition = \"2021\"

[workspace]
";

/// Commands cannot write it, so it exists already.
const LOCK: &str = "\
version = 3

[[package]]
name = \"generated\"
version = \"0.1.0\"
";

const ARGUMENTS: [&str; 3] = ["build", "--offline", "--locked"];

/// Adds the bar without a figure.
pub(super) fn unmeasured(findings: &mut SubjectFigures, reason: &str) {
    findings.at_most(BUILD.what, BUILD.limit, "×", Err(reason));
}

pub(super) fn measure(bench: &mut WorkspaceBench<'_>) -> io::Result<()> {
    let workspace = BenchWorkspace::create()?;
    write_crate(&workspace, if bench.quick { QUICK_LINES } else { LINES })?;
    let cargo = OutsideCargo::new(&workspace)?;
    let env = cargo.toolchain.iter();
    let env: Vec<_> = env
        .map(|(name, path)| format!("{name}={}", path.display()))
        .collect();
    let commands = json!([["cargo", "**"]]);
    workspace.allow(&json!({ "allow": ["src/**"], "commands": commands, "env": env }))?;
    let mut client = workspace.serve(bench.candor, &[])?;
    if let Some(reason) = find_difference(&mut client, &cargo)? {
        unmeasured(bench.findings, reason);
        return Ok(());
    }
    let request = cargo_request(
        &ARGUMENTS,
        &[r#"{\"argv\":[\"cargo\",\"build\",\"--offline\",\"--locked\"],\"exit_code\":0,"#],
    );
    let build_dir = workspace.build_dir();
    let mut own = || {
        empty(&build_dir)?;
        client.time(&request)
    };
    let mut other = || {
        empty(&cargo.target)?;
        Ok(millis(timed_command(&mut cargo.command(&ARGUMENTS))?.0))
    };
    let times = bench.alternate(BUILD.what, 1, [&mut own, &mut other])?;
    // Without much to build, the start of the command would decide.
    let reason = bench.quick.then_some("--quick");
    bench.add_ratio(&BUILD, &times, reason);
    Ok(())
}

fn cargo_request(arguments: &[&str], texts: &'static [&'static str]) -> ToolRequest {
    let argv: Vec<_> = ["cargo"].iter().chain(arguments).collect();
    let call = json!({ "argv": argv, "timeout_s": 600 });
    ToolRequest::new("run_command", &call, texts)
}

/// Returns the reason why the builds cannot be compared, or `None` if both sides have the same cargo.
fn find_difference(
    client: &mut ToolClient,
    cargo: &OutsideCargo,
) -> io::Result<Option<&'static str>> {
    let outside = match cargo.command(&["--version"]).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some("no cargo")),
        output => output?,
    };
    let answer = client.answer(&cargo_request(&["--version"], &[]))?;
    let inside = &answer["result"]["structuredContent"];
    if !outside.status.success() || inside["exit_code"] != 0 {
        return Ok(Some("cargo does not run"));
    }
    let same = inside["output"] == String::from_utf8_lossy(&outside.stdout).as_ref();
    Ok((!same).then_some("another cargo runs in the sandbox"))
}

/// Removes a directory with everything in it, and syncs what was written before.
fn empty(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => done?,
    }
    directory.parent().map_or(Ok(()), files::settle)
}

/// Writes a crate of about this many lines, with a lock file and without dependencies.
fn write_crate(workspace: &BenchWorkspace, lines: usize) -> io::Result<()> {
    workspace.write("Cargo.toml", MANIFEST)?;
    workspace.write("Cargo.lock", LOCK)?;
    let of_module = FUNCTIONS * function(0).lines().count();
    let modules = lines / of_module;
    let mut library = String::new();
    for module in 0..modules {
        library.push_str(&format!("pub mod part_{module};\n"));
        let functions = module * FUNCTIONS..(module + 1) * FUNCTIONS;
        let text: String = functions.map(function).collect();
        workspace.write(&format!("src/part_{module}.rs"), text)?;
    }
    workspace.write("src/lib.rs", library)?;
    Ok(())
}

fn function(number: usize) -> String {
    format!(
        "pub fn mix_{number}(values: &[u64]) -> Option<u64> {{
    let mut total = {number}_u64;
    for (index, value) in values.iter().enumerate() {{
        let turned = value.rotate_left((index % 61) as u32);
        total = total.wrapping_mul(31).wrapping_add(turned);
    }}
    let largest = values.iter().copied().max()?;
    Some(total ^ largest)
}}

"
    )
}

/// Cargo as commands have it: with the same variables, but outside the sandbox.
struct OutsideCargo {
    root: PathBuf,
    home: PathBuf,
    target: PathBuf,
    /// The directories of the toolchain.
    toolchain: Vec<(&'static str, PathBuf)>,
}

impl OutsideCargo {
    fn new(workspace: &BenchWorkspace) -> io::Result<OutsideCargo> {
        let home = workspace.path_beside("home");
        fs::create_dir(&home)?;
        Ok(OutsideCargo {
            root: workspace.root().to_owned(),
            home,
            target: workspace.path_beside("target"),
            toolchain: toolchain(),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .envs(variable("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.home)
            .env("CARGO_TARGET_DIR", &self.target)
            .envs(self.toolchain.iter().map(|(name, path)| (name, path)));
        command
    }
}

/// Returns the directories of cargo and rustup, and the variables that name them.
fn toolchain() -> Vec<(&'static str, PathBuf)> {
    let home = variable("HOME").map(PathBuf::from);
    let find = |(name, below): (&'static str, &str)| {
        let named = variable(name).map(PathBuf::from);
        let path = named.or_else(|| Some(home.as_ref()?.join(below)))?;
        Some((name, path))
    };
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
        .into_iter()
        .filter_map(find)
        .collect()
}

fn variable(name: &str) -> Option<OsString> {
    // The toolchain of the user who runs the benchmark.
    #[allow(clippy::disallowed_methods)]
    std::env::var_os(name)
}
