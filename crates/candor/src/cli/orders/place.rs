//! `--database`: where orders are kept.

use crate::cli::Trouble;
use crate::cli::data::DataArgs;
use candor_orders::sql::{Place, Unusable};
use clap::Args;
use std::path::{Path, PathBuf};

/// The store of orders in the data directory.
const FILE: &str = "orders.db";

#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// A SQLite file, or postgres://USER:PASSWORD@HOST/DATABASE [default: orders.db in the data directory]
    #[arg(
        long,
        value_name = "FILE|URL",
        env = "CANDOR_ORDERS_DATABASE",
        hide_env_values = true
    )]
    database: Option<String>,
    /// A file with what --database would say, so that no password is in the list of processes
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    database_from: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
}

/// Where orders are kept, with what must not reach a log.
pub(super) struct Placed {
    pub(super) place: Place,
    /// Whether it is a file, which is made where it is missing.
    pub(super) is_file: bool,
    pub(super) password: Option<String>,
}

impl PlaceArgs {
    pub(super) fn placed(&self) -> Result<Placed, Trouble> {
        let named = match &self.database_from {
            None => self.database.clone(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    let path = path.display();
                    Trouble::new(format!("cannot read the address in {path}: {error}"))
                })?;
                Some(text.trim().to_owned())
            }
        };
        match named {
            None => file(&self.data.directory()?.join(FILE)),
            Some(text) if text.contains("://") => server(&text),
            Some(text) => file(Path::new(text.strip_prefix("sqlite:").unwrap_or(&text))),
        }
    }
}

/// The store of orders in this data directory.
pub(super) fn in_data(data: &DataArgs) -> Result<Placed, Trouble> {
    file(&data.directory()?.join(FILE))
}

fn file(path: &Path) -> Result<Placed, Trouble> {
    let unusable = || {
        let path = path.display();
        Trouble::new(format!("the path {path} cannot be the name of a store"))
            .hinting("name a file with --database, in letters that are UTF-8")
    };
    if path.as_os_str().is_empty() || path.is_dir() {
        return Err(unusable());
    }
    Ok(Placed {
        place: Place::file(path).ok_or_else(unusable)?,
        is_file: true,
        password: None,
    })
}

fn server(url: &str) -> Result<Placed, Trouble> {
    // The address itself is not shown: it may have a password in it.
    let unknown = || {
        Trouble::new("--database is neither a file nor an address of PostgreSQL")
            .hinting("write postgres://USER:PASSWORD@HOST/DATABASE, or the path of a file")
    };
    Ok(Placed {
        place: Place::postgres(url).ok_or_else(unknown)?,
        is_file: false,
        password: password(url),
    })
}

/// The password of an address, as it stands there.
fn password(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(password.to_owned()).filter(|password| !password.is_empty())
}

/// A sentence about a store that cannot be used, and what to do.
pub(super) fn unusable(error: &Unusable) -> Trouble {
    let trouble = Trouble::new(error.to_string());
    match error {
        Unusable::Unreachable(_) => {
            trouble.hinting("check --database, and that the database is running")
        }
        Unusable::Empty => trouble.hinting("make its tables with `candor orders migrate`"),
        Unusable::Newer(_) => trouble.hinting("take a newer candor, or another --database"),
        Unusable::Foreign(_) => trouble.hinting("name another database with --database"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_an_address_is_found() {
        let found = |url| password(url);
        assert_eq!(
            found("postgres://u:p%40ss@h:5/db").as_deref(),
            Some("p%40ss")
        );
        assert_eq!(found("postgres://u:a@b@h/db").as_deref(), Some("a@b"));
        assert_eq!(found("postgres://u@h/db"), None);
        assert_eq!(found("postgres://h/db?x=a:b@c"), None);
    }
}
