//! What every command that serves the GitHub tools lets its owner decide.

use crate::cli::CommandError;
use crate::cli::data_dir::WRITES;
use crate::cli::failure_form::FailureFormArg;
use crate::host::system_clock;
use crate::stderr_lines::StderrLines;
use candor_audit::AppendError;
use candor_disk::RealDisk;
use candor_forge::{AllowList, Config, Forge, ForgeServer, WriteLogError, open_writes};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(in crate::cli) struct WriteArgs {
    /// Let GitHub tools change something: commit, open, update and merge
    #[arg(long)]
    allow_writes: bool,
    /// A file with the token that calls of such tools must show, instead of that of --bearer-file
    #[arg(long, value_name = "FILE", requires = "allow_writes")]
    write_bearer_file: Option<PathBuf>,
    /// The form of the GitHub tools' failures
    #[arg(long, value_enum, default_value_t = FailureFormArg::Auto)]
    failures: FailureFormArg,
}

impl WriteArgs {
    /// The file of the token for writing.
    pub(in crate::cli) fn bearer_file(&self) -> Option<&Path> {
        self.write_bearer_file.as_deref()
    }

    /// What these arguments decide; the rest is as usual.
    pub(in crate::cli) fn config(&self) -> Config {
        Config {
            allow_writes: self.allow_writes,
            failures: self.failures.into(),
            ..Config::default()
        }
    }
}

/// The patterns of `--repos` as one list.
pub(super) fn allow_list(patterns: &[String]) -> Result<AllowList, CommandError> {
    let mut list = AllowList::default();
    for pattern in patterns {
        list = list.with_pattern(pattern).ok_or_else(|| {
            CommandError::new(format!("`{pattern}` is no pattern of repositories"))
                .with_hint("write owner/name, where * stands for any text: --repos 'octo-org/*'")
        })?;
    }
    Ok(list)
}

/// The server on this backend, whose lines go to stderr and whose writes go on record in `data`.
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
    let disk = RealDisk::at(data).map_err(WriteLogError::from);
    let log = disk.and_then(|disk| open_writes(disk, WRITES, system_clock()));
    let log = log.map_err(|error| log_error(&data.join(WRITES), &error))?;
    Ok(server.with_write_log(Arc::new(log)))
}

fn log_error(path: &Path, error: &WriteLogError) -> CommandError {
    let path = path.display();
    let shown = CommandError::new(format!("cannot keep the log of writes in {path}: {error}"));
    shown.with_hint(match error {
        WriteLogError::OldInUse => {
            String::from("end the other server, or give this one a --data-dir of its own")
        }
        WriteLogError::OldInTheWay(name) => format!("move {name} to another place"),
        WriteLogError::Log(AppendError::Broken(_) | AppendError::Quarantined) => {
            format!(
                "see `candor audit verify {path}`; `candor audit quarantine {path}` moves it aside"
            )
        }
        _ => String::from("name another directory with --data-dir, or leave out --allow-writes"),
    })
}
