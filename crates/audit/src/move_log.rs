//! Moving a log to another directory: the chain goes on there, and a line records the move.
//!
//! While `NAME.moved` exists in the old directory, nothing is appended there, so that a server which still
//! has the old log open cannot start a second one. After a crash the command is repeated.

use crate::append::{AppendError, LogWriter, TornBytes};
use crate::log_files::{LogFiles, MODE, read_range};
use candor_disk::{Disk, DiskFile, Open};
use serde_json::{Map, Value};
use std::io;
use std::time::Duration;

/// Bytes that are copied at once.
const CHUNK: u64 = 1024 * 1024;

/// The parameters of a move.
pub struct LogMove<'a, E> {
    /// The new directory.
    pub to: &'a E,
    /// True if an earlier attempt has made the new directory the one of the log: its files have gone on since,
    /// and only the old ones are removed.
    pub is_switched: bool,
    /// Makes the new directory the one of the log; durable when it returns.
    pub switch: &'a dyn Fn() -> io::Result<()>,
    /// Returns the line that records the move.
    pub line: &'a dyn Fn() -> Map<String, Value>,
    /// The longest time to wait for another process that holds the lock.
    pub patience: Duration,
}

/// Moves the log of this name. Returns the number of files that were moved. After an error, another attempt
/// finishes the move.
pub fn move_log<D: Disk, E: Disk>(
    disk: D,
    name: &str,
    log_move: &LogMove<'_, E>,
) -> Result<usize, AppendError> {
    let files = LogFiles::new(disk, name);
    let torn = Box::new(|torn: TornBytes| {
        let mut members = Map::new();
        members.insert(String::from("kind"), Value::from("torn"));
        members.insert(String::from("bytes"), Value::from(torn.bytes));
        members
    });
    let mut writer = LogWriter::new(files, u64::MAX, log_move.patience, torn);
    writer.with_lock(|writer| {
        if !log_move.is_switched && !is_moved(&writer.files)? {
            for appended in writer.write(vec![(log_move.line)()])? {
                appended?;
            }
        }
        write_marker(&writer.files)?;
        let names = log_names(&writer.files)?;
        if !log_move.is_switched {
            for name in &names {
                copy(&writer.files.disk, log_move.to, name)?;
            }
            log_move.to.sync_dir("")?;
        }
        // Repeated too: a switch whose sync failed is never certain to be durable.
        (log_move.switch)()?;
        for name in &names {
            writer.files.disk.unlink(name)?;
        }
        writer.files.disk.sync_dir("")?;
        Ok(names.len())
    })
}

/// Returns true if the log was moved away from here.
pub(crate) fn is_moved<D: Disk>(files: &LogFiles<D>) -> io::Result<bool> {
    match files.disk.open(marker_name(&files.name), Open::Read) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn marker_name(name: &str) -> String {
    format!("{name}.moved")
}

fn write_marker<D: Disk>(files: &LogFiles<D>) -> io::Result<()> {
    let file = files
        .disk
        .open(marker_name(&files.name), Open::Create(MODE))?;
    file.sync_all()?;
    files.disk.sync_dir("")
}

/// Returns the names of all files of the log but its lock and the marker.
fn log_names<D: Disk>(files: &LogFiles<D>) -> io::Result<Vec<String>> {
    let further = format!("{}.", files.name);
    let (lock, marker) = (format!("{}.lock", files.name), marker_name(&files.name));
    let names = files.disk.list("")?.into_iter();
    let names = names.filter_map(|name| name.into_string().ok());
    let is_ours = |name: &String| {
        (*name == files.name || name.starts_with(&further)) && *name != lock && *name != marker
    };
    Ok(names.filter(is_ours).collect())
}

/// Copies a file durably in place of one that an interrupted attempt left.
fn copy<D: Disk, E: Disk>(from: &D, to: &E, name: &str) -> io::Result<()> {
    let source = from.open(name, Open::Read)?;
    let draft = format!("{name}.moving");
    match to.unlink(&draft) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    let copied = to.open(&draft, Open::CreateNew(MODE))?;
    let mut offset = 0;
    loop {
        let bytes = read_range(&source, offset, offset + CHUNK)?;
        if bytes.is_empty() {
            break;
        }
        copied.append_all(&bytes)?;
        offset += bytes.len() as u64;
    }
    copied.sync_all()?;
    to.rename(&draft, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::verify;
    use candor_sim_disk::{SimDisk, Subdirectory, Trials};
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn writer(disk: Subdirectory) -> LogWriter<Subdirectory> {
        let files = LogFiles::new(disk, "log");
        let torn = |torn: TornBytes| members(json!({ "torn": torn.bytes }));
        LogWriter::new(files, 300, Duration::ZERO, Box::new(torn))
    }

    fn old(disk: &SimDisk) -> Subdirectory {
        Subdirectory(disk.clone(), "old")
    }

    fn new(disk: &SimDisk) -> Subdirectory {
        Subdirectory(disk.clone(), "new")
    }

    /// A log of this many lines in `old`, two in each file.
    fn log_of_lines(lines: u64) -> SimDisk {
        let disk = SimDisk::new(1);
        disk.create_dir("old", 0o700).unwrap();
        disk.create_dir("new", 0o700).unwrap();
        disk.sync_dir("").unwrap();
        let mut writer = writer(old(&disk));
        for n in 0..lines {
            writer
                .append(vec![members(json!({ "n": n }))])
                .remove(0)
                .unwrap();
        }
        disk
    }

    fn is_switched(disk: &SimDisk) -> bool {
        disk.open("switched", Open::Read).is_ok()
    }

    fn move_to_new(disk: &SimDisk) -> Result<usize, AppendError> {
        let switch = || {
            disk.unlink("switching").ok();
            disk.open("switching", Open::CreateNew(MODE))?.sync_all()?;
            disk.rename("switching", "switched")?;
            disk.sync_dir("")
        };
        let log_move = LogMove {
            to: &new(disk),
            is_switched: is_switched(disk),
            switch: &switch,
            line: &|| members(json!({ "kind": "move" })),
            patience: Duration::ZERO,
        };
        move_log(old(disk), "log", &log_move)
    }

    #[test]
    fn chain_goes_on_in_the_new_directory() {
        let disk = log_of_lines(8);
        assert!(move_to_new(&disk).unwrap() >= 3);
        let verified = verify(new(&disk), "log").unwrap();
        assert_eq!((verified.lines, verified.flaw), (9, None));
        // A server that still has the old log open starts no second one.
        let refused = writer(old(&disk)).append(vec![Map::new()]).remove(0);
        assert!(matches!(refused, Err(AppendError::Moved)), "{refused:?}");
        let next = writer(new(&disk))
            .append(vec![Map::new()])
            .remove(0)
            .unwrap();
        assert_eq!(next.seq, 10);
        // Repeating the command does not bring the old lines back.
        assert_eq!(move_to_new(&disk).unwrap(), 0);
        assert_eq!(verify(new(&disk), "log").unwrap().lines, 10);
    }

    /// After any failure no line is lost, and another attempt finishes the move.
    #[test]
    fn move_survives_any_fault() {
        let start = log_of_lines(3);
        let workload = |disk: &SimDisk| {
            for _ in 0..2 {
                if move_to_new(disk).is_ok() {
                    disk.mark("done");
                    break;
                }
            }
        };
        let check = |disk: &SimDisk, acknowledged: &[String]| {
            assert!(acknowledged.is_empty() || is_switched(disk));
            if is_switched(disk) {
                // A session has gone on in the new directory meanwhile.
                writer(new(disk))
                    .append(vec![Map::new()])
                    .remove(0)
                    .unwrap();
            }
            let before = is_switched(disk).then(|| verify(new(disk), "log").unwrap().lines);
            move_to_new(disk).unwrap();
            let verified = verify(new(disk), "log").unwrap();
            assert_eq!(verified.flaw, None);
            assert!(verified.lines >= before.unwrap_or(4), "{verified:?}");
            let left = log_names(&LogFiles::new(old(disk), "log")).unwrap();
            assert_eq!(left, Vec::<String>::new());
        };
        let trials = Trials::new().starting_from(&start).crash_after_faults();
        trials.run(workload, check).unwrap();
    }
}
