//! The account that runs the server: PostgreSQL refuses to run as root, and tests often do.

use super::Error;
use rustix::process::{getegid, geteuid};
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const ACCOUNTS: &str = "/etc/passwd";

/// The ids of `nobody` if the machine does not list it.
const NOBODY: (u32, u32) = (65534, 65534);

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerAccount {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// True if it is not the account of this process.
    is_other: bool,
}

impl ServerAccount {
    /// Returns our own account; for root, the account `postgres`, or else `nobody`.
    pub(super) fn of_server() -> ServerAccount {
        if !geteuid().is_root() {
            return ServerAccount {
                uid: geteuid().as_raw(),
                gid: getegid().as_raw(),
                is_other: false,
            };
        }
        let list = fs::read_to_string(ACCOUNTS).unwrap_or_default();
        let (uid, gid) = other_than_root(&list);
        ServerAccount {
            uid,
            gid,
            is_other: true,
        }
    }

    /// Makes this account the owner of a file or folder.
    pub(super) fn give(self, path: &Path) -> Result<(), Error> {
        if !self.is_other {
            return Ok(());
        }
        chown(path, Some(self.uid), Some(self.gid))
            .map_err(|error| Error::io(format!("cannot give {} away", path.display()), error))
    }

    /// Makes a command run as this account.
    pub(super) fn apply_to(self, command: &mut Command) {
        if self.is_other {
            command.uid(self.uid).gid(self.gid);
        }
    }
}

fn other_than_root(list: &str) -> (u32, u32) {
    let listed = |name: &str| {
        list.lines().find_map(|line| {
            let mut fields = line.split(':');
            let is_it = fields.next() == Some(name);
            let (uid, gid) = (fields.nth(1)?, fields.next()?);
            is_it.then_some((uid.parse().ok()?, gid.parse().ok()?))
        })
    };
    let found = listed("postgres").or_else(|| listed("nobody"));
    found.unwrap_or(NOBODY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_account_takes_precedence_over_nobody() {
        let root = "root:x:0:0:root:/root:/bin/sh\n";
        let nobody = "nobody:x:99:98:nobody:/:/bin/false\n";
        let postgres = "postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/sh\n";
        let all = [root, nobody, postgres].concat();
        assert_eq!(other_than_root(&all), (101, 104));
        assert_eq!(other_than_root(&[root, nobody].concat()), (99, 98));
        assert_eq!(other_than_root(root), NOBODY);
        assert_eq!(other_than_root("postgres:x:many:few\n"), NOBODY);
    }
}
