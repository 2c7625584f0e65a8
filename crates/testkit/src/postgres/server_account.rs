//! Whom the server runs as: PostgreSQL refuses to run as root, and tests often do.

use super::Error;
use rustix::process::{getegid, geteuid};
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Where the accounts of the machine are listed.
const ACCOUNTS: &str = "/etc/passwd";

/// What `nobody` is on a machine that does not list it.
const NOBODY: (u32, u32) = (65534, 65534);

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerAccount {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Whether it is another one than our own.
    other: bool,
}

impl ServerAccount {
    /// Our own, or for root the account of PostgreSQL, or else nobody's.
    pub(super) fn of_server() -> ServerAccount {
        if !geteuid().is_root() {
            return ServerAccount {
                uid: geteuid().as_raw(),
                gid: getegid().as_raw(),
                other: false,
            };
        }
        let list = fs::read_to_string(ACCOUNTS).unwrap_or_default();
        let (uid, gid) = other_than_root(&list);
        ServerAccount {
            uid,
            gid,
            other: true,
        }
    }

    /// Makes a file or a folder this account's.
    pub(super) fn own(self, path: &Path) -> Result<(), Error> {
        if !self.other {
            return Ok(());
        }
        chown(path, Some(self.uid), Some(self.gid))
            .map_err(|error| Error::io(format!("cannot give {} away", path.display()), error))
    }

    /// Has a command run as this account.
    pub(super) fn run(self, command: &mut Command) {
        if self.other {
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
    fn the_account_of_postgresql_comes_before_nobodys() {
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
