//! `--database`: the database of orders.

use crate::cli::CommandError;
use crate::cli::data_dir::DataDirArgs;
use candor_orders::sql::{DatabaseUrl, StoreError};
use clap::Args;
use std::path::{Path, PathBuf};

/// The name of the database file in the data directory.
const FILE: &str = "orders.db";

#[derive(Debug, Args)]
pub(super) struct DatabaseArgs {
    /// A SQLite file, or postgres://USER@HOST/DATABASE without a password [default: orders.db in the data directory]
    #[arg(
        long,
        value_name = "FILE|URL",
        env = "CANDOR_ORDERS_DATABASE",
        hide_env_values = true
    )]
    database: Option<String>,
    /// A file that contains the value of --database, for an address with a password
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    database_from: Option<PathBuf>,
    #[command(flatten)]
    data: DataDirArgs,
}

/// The location of the database, and the passwords in it that must not reach a log.
pub(super) struct DatabaseLocation {
    pub(super) url: DatabaseUrl,
    /// The SQLite file, which servers create if it is missing.
    pub(super) file: Option<PathBuf>,
    /// The passwords, as they are written in the address and decoded.
    pub(super) passwords: Vec<String>,
}

impl DatabaseArgs {
    /// Returns the location of a database for a command that never creates one.
    pub(super) fn existing(&self) -> Result<DatabaseLocation, CommandError> {
        let location = self.location()?;
        match &location.file {
            Some(file) if !file.exists() => {
                let file = file.display();
                Err(CommandError::new(format!("there is no store {file}")).with_hint(
                    "name the file of a store with --database; to create one, run this with the same options:\n  candor orders migrate",
                ))
            }
            _ => Ok(location),
        }
    }

    pub(super) fn location(&self) -> Result<DatabaseLocation, CommandError> {
        let value = match &self.database_from {
            None => self.database.clone(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    let path = path.display();
                    CommandError::new(format!("cannot read the address in {path}: {error}"))
                })?;
                Some(text.trim().to_owned())
            }
        };
        match value {
            None => file(&self.data.directory()?.join(FILE)),
            Some(text) if text.contains("://") => {
                let location = server(&text)?;
                match location.passwords.is_empty() || !is_on_command_line(&text) {
                    true => Ok(location),
                    false => Err(visible_password()),
                }
            }
            Some(text) => file(Path::new(text.strip_prefix("sqlite:").unwrap_or(&text))),
        }
    }
}

/// Returns true if the text is part of the command line, which every user of the machine can see.
fn is_on_command_line(text: &str) -> bool {
    std::env::args_os().any(|word| word.to_string_lossy().contains(text))
}

fn visible_password() -> CommandError {
    CommandError::new("--database contains a password, which every user of this machine can see")
        .with_hint("write the address into a file that only you can read, and name it:\n  candor orders serve --database-from FILE\nor set CANDOR_ORDERS_DATABASE to the address")
}

/// Returns the location of the database in the data directory.
pub(super) fn in_data_dir(data: &DataDirArgs) -> Result<DatabaseLocation, CommandError> {
    file(&data.directory()?.join(FILE))
}

fn file(path: &Path) -> Result<DatabaseLocation, CommandError> {
    let unusable = || {
        let path = path.display();
        CommandError::new(format!("the path {path} cannot be a database"))
            .with_hint("name a file with --database; its path must be UTF-8")
    };
    if path.as_os_str().is_empty() || path.is_dir() {
        return Err(unusable());
    }
    Ok(DatabaseLocation {
        url: DatabaseUrl::file(path).ok_or_else(unusable)?,
        file: Some(path.to_owned()),
        passwords: Vec::new(),
    })
}

fn server(url: &str) -> Result<DatabaseLocation, CommandError> {
    // The address itself is not shown: it may have a password in it.
    let unknown = || {
        CommandError::new("--database is neither a file nor a usable PostgreSQL address")
            .with_hint("write the path of a file, or postgres://USER@HOST/DATABASE; the only settings after it are sslmode and the like")
    };
    Ok(DatabaseLocation {
        url: DatabaseUrl::postgres(url).ok_or_else(unknown)?,
        file: None,
        passwords: passwords(url),
    })
}

/// Returns the passwords of an address, as written and percent-decoded.
fn passwords(url: &str) -> Vec<String> {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let before = authority.rsplit_once('@').map(|(user, _)| user);
    let named = before.and_then(|user| Some(user.split_once(':')?.1));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let asked = query.split(['&', '#']);
    let asked = asked.filter_map(|pair| pair.strip_prefix("password="));
    let mut found: Vec<_> = named
        .into_iter()
        .chain(asked)
        .flat_map(|password| [password.to_owned(), percent_decode(password)])
        .filter(|password| !password.is_empty())
        .collect();
    found.dedup();
    found
}

/// Decodes `%` followed by two hexadecimal digits.
fn percent_decode(text: &str) -> String {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let number = match (first, behind) {
            (b'%', [high, low, ..]) => digit(high).zip(digit(low)),
            _ => None,
        };
        let byte = number.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl DatabaseLocation {
    /// Converts the error of a database into an error with a hint, without passwords.
    pub(super) fn unusable(&self, error: &StoreError) -> CommandError {
        let message = self.passwords.iter().fold(error.to_string(), |text, one| {
            text.replace(one.as_str(), "[hidden]")
        });
        let command_error = CommandError::new(message);
        match error {
            StoreError::Unreachable(_) => match &self.file {
                Some(file) if file.exists() => command_error
                    .with_hint("if the file is not a store of orders, name another one with --database"),
                Some(_) => {
                    command_error.with_hint("name a file in an existing directory with --database")
                }
                None => command_error
                    .with_hint("check --database, and whether the database is running"),
            },
            StoreError::Empty => {
                command_error.with_hint("to create its tables, run this with the same options for the database:\n  candor orders migrate")
            }
            StoreError::Older(_) if self.file.is_some() => {
                command_error.with_hint("stop its servers; then, to bring the tables to the current format, run this with the same options for the database (it keeps a copy of the file with the suffix .format1):\n  candor orders migrate")
            }
            StoreError::Older(_) => {
                command_error.with_hint("stop its servers and make a backup; then, to bring the tables to the current format, run this with the same options for the database:\n  candor orders migrate")
            }
            StoreError::Newer(_) => command_error
                .with_hint("use a newer candor, or name another database with --database"),
            StoreError::Foreign(_) => {
                command_error.with_hint("name another database with --database")
            }
            StoreError::Locked(_) => {
                command_error.with_hint("run the command again when the other one has ended")
            }
            StoreError::Damaged(_) => command_error.with_hint(
                "stop its servers and restore a backup, as docs/orders-operations.md describes",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_an_address_are_found() {
        assert_eq!(passwords("postgres://u:p%40ss@h:5/db"), ["p%40ss", "p@ss"]);
        assert_eq!(passwords("postgres://u:a@b@h/db"), ["a@b"]);
        assert_eq!(
            passwords("postgres://u:one@h/db?host=x&password=tw%6f#f"),
            ["one", "tw%6f", "two"]
        );
        for none in [
            "postgres://u@h/db",
            "postgres://u:@h/db",
            "postgres://h/db?x=a:b@c",
        ] {
            assert_eq!(passwords(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn percent_escapes_are_decoded() {
        for (text, means) in [
            ("a%2Fb", "a/b"),
            ("50%", "50%"),
            ("%zz%+4%4", "%zz%+4%4"),
            ("%c3%a9", "é"),
        ] {
            assert_eq!(percent_decode(text), means);
        }
    }
}
