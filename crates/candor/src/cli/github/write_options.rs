//! Options of every command that serves the GitHub tools: writes, their token, the form of failures.

use crate::cli::CommandError;
use crate::cli::data_dir::WRITES;
use crate::cli::failure_form::FailureFormArg;
use crate::cli::shell_words::quote;
use crate::host::system_clock;
use crate::stderr_lines::StderrLines;
use candor_audit::AppendError;
use candor_disk::RealDisk;
use candor_forge::{
    Config, Forge, ForgeServer, WRITES_A_MINUTE, WriteLog, WriteLogError, open_writes,
};
use clap::Args;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(in crate::cli) struct WriteArgs {
    /// Allow the GitHub tools to write: commit, open, update and merge
    #[arg(long)]
    allow_writes: bool,
    /// A file with the token that writing calls must show, instead of the token of --bearer-file
    #[arg(long, value_name = "FILE", requires = "allow_writes")]
    write_bearer_file: Option<PathBuf>,
    /// The maximum number of writes per minute and repository
    #[arg(long, value_name = "N", default_value_t = WRITES_A_MINUTE, value_parser = writes)]
    writes_per_minute: NonZeroU32,
    /// The form of the GitHub tools' failures
    #[arg(long, value_enum, default_value_t = FailureFormArg::Auto)]
    failures: FailureFormArg,
}

fn writes(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse();
    number.map_err(|_| {
        format!(
            "give a number from 1 to {}; without --allow-writes nothing is written",
            u32::MAX
        )
    })
}

impl WriteArgs {
    /// Returns the file of the token for writes.
    pub(in crate::cli) fn bearer_file(&self) -> Option<&Path> {
        self.write_bearer_file.as_deref()
    }

    /// Returns the configuration that these arguments set; the rest has default values.
    pub(in crate::cli) fn config(&self) -> Config {
        Config {
            allow_writes: self.allow_writes,
            failures: self.failures.into(),
            writes_a_minute: self.writes_per_minute,
            ..Config::default()
        }
    }
}

/// Makes the server on a backend. Its lines go to stderr, and its writes are recorded in `data`.
pub(in crate::cli) fn server(
    forge: Arc<dyn Forge>,
    config: Config,
    lines: &StderrLines,
    data: &Path,
) -> Result<ForgeServer, CommandError> {
    let lines = lines.clone();
    let sink = Arc::new(move |line: String| lines.send(&line));
    let writes = config.allow_writes;
    let server = ForgeServer::new(forge, config, sink, system_clock());
    if !writes {
        return Ok(server);
    }
    Ok(server.with_write_log(write_log(data)?))
}

/// Opens the log of writes of a data directory.
pub(super) fn write_log(data: &Path) -> Result<Arc<dyn WriteLog>, CommandError> {
    let disk = RealDisk::at(data).map_err(WriteLogError::from);
    let log = disk.and_then(|disk| open_writes(disk, WRITES, system_clock()));
    let log = log.map_err(|error| log_error(&data.join(WRITES), &error))?;
    Ok(Arc::new(log))
}

fn log_error(path: &Path, error: &WriteLogError) -> CommandError {
    let command_error = CommandError::new(format!(
        "cannot open the log of writes {}: {error}",
        path.display()
    ));
    let path = quote(path);
    command_error.with_hint(match error {
        WriteLogError::OldInUse => {
            String::from("stop the other server, or name another directory with --data-dir")
        }
        WriteLogError::OldInTheWay(name) => format!("move {name} to another directory"),
        WriteLogError::Log(AppendError::Broken(_) | AppendError::Quarantined) => {
            format!(
                "to see what is wrong, and then to move the log aside, run:\n  candor audit verify {path}\n  candor audit quarantine {path}"
            )
        }
        _ => String::from("name another directory with --data-dir, or omit --allow-writes"),
    })
}
