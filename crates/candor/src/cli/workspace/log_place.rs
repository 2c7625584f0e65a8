//! `candor workspace log`: shows where the log is, and moves it to the state directory.

use super::opened::WorkspaceArgs;
use super::serve::os_user;
use crate::cli::{CommandError, print};
use crate::host::system_clock;
use candor_audit::{LogMove, move_log};
use candor_fault::iso_millis;
use candor_workspace::log_place::LogPlace;
use candor_workspace::state::LOG;
use candor_workspace::visible_text;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The time to wait for another process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Show where the log of the workspace is, or move it to the state directory
///
/// In the state directory, neither an agent nor the tools of the repository reach the log. The chain goes on
/// there, and a line records the move. Stop the servers of the workspace first: one that runs on cannot record
/// its calls any more, so they fail.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogPlaceArgs {
    /// Move the log to this place
    #[arg(long = "move", value_name = "PLACE", value_enum)]
    to: Option<NewPlace>,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NewPlace {
    /// The state directory, which no agent can reach
    State,
}

impl LogPlaceArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let workspace = self.workspace.open()?;
        let directory = workspace.state_dir();
        let failed = |error: &dyn std::fmt::Display| {
            CommandError::new(format!("the log was not moved: {error}"))
                .with_hint("nothing is lost; run the command again to continue")
        };
        let place = LogPlace::read(&directory)?;
        let shown = |place: LogPlace| {
            let path = place.path(&workspace.root, &directory);
            visible_text(&path.display().to_string())
        };
        if self.to.is_none() {
            return print(format!("{}\n", shown(place)).as_bytes());
        }
        let state = workspace.state()?;
        let line = || move_line(&shown(LogPlace::Root), &shown(LogPlace::State));
        let log_move = LogMove {
            to: &state,
            is_switched: place == LogPlace::State,
            switch: &|| LogPlace::State.record(&directory),
            line: &line,
            patience: PATIENCE,
        };
        let moved = move_log(workspace.root.disk(), LOG, &log_move);
        moved.map_err(|error| failed(&error))?;
        print(format!("the log is {}\n", shown(LogPlace::State)).as_bytes())
    }
}

/// Returns the line that records the move.
fn move_line(from: &str, to: &str) -> Map<String, Value> {
    let members = json!({
        "v": 1,
        "timestamp": iso_millis(system_clock().now()),
        "kind": "move",
        "from": from,
        "to": to,
        "os_user": os_user(),
    });
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
