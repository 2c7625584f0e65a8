//! `--clients`: the file of clients on disk, and the task that follows it.

use crate::cli::CommandError;
use crate::cli::shell_words::quote;
use candor_orders::{ClientDirectory, ClientsFile, MAX_CLIENTS_FILE};
use candor_wire::http::{ClientTokens, KnownClient};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks at the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A file of clients that a server follows.
#[derive(Debug)]
pub(super) struct FollowedClients {
    path: PathBuf,
    stamp: FileStamp,
    /// Refuses clients with a tenant: the order system has only one.
    single_tenant: bool,
    directory: Arc<ClientDirectory>,
}

/// The parts of a file's metadata that differ after every change.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp(Option<(u64, u64, u64, i64, i64)>);

impl FileStamp {
    fn of(metadata: io::Result<Metadata>) -> FileStamp {
        let parts = |file: Metadata| {
            (
                file.dev(),
                file.ino(),
                file.len(),
                file.ctime(),
                file.ctime_nsec(),
            )
        };
        FileStamp(metadata.ok().map(parts))
    }
}

/// Finds clients by their tokens, for the transport.
#[derive(Debug)]
struct Tokens(Arc<ClientDirectory>);

impl ClientTokens for Tokens {
    fn find(&self, token: &str) -> Option<KnownClient> {
        let client = self.0.find_by_token(token)?;
        Some(KnownClient {
            name: client.name.clone(),
            may_write: client.may_write,
        })
    }
}

impl FollowedClients {
    /// Reads the file for the first time.
    pub(super) fn open(path: &Path, single_tenant: bool) -> Result<FollowedClients, CommandError> {
        // Before the file is read: a change in between is found by the next look.
        let stamp = FileStamp::of(std::fs::metadata(path));
        let clients = read(path).and_then(|clients| check_tenants(clients, single_tenant));
        let clients = clients.map_err(|problem| unusable(path, &problem))?;
        Ok(FollowedClients {
            path: path.to_owned(),
            stamp,
            single_tenant,
            directory: Arc::new(ClientDirectory::new(clients)),
        })
    }

    pub(super) fn directory(&self) -> Arc<ClientDirectory> {
        Arc::clone(&self.directory)
    }

    pub(super) fn tokens(&self) -> Arc<dyn ClientTokens> {
        Arc::new(Tokens(self.directory()))
    }

    /// Reads the file again after every change, for ever. A file that cannot be read leaves the clients as
    /// they are.
    pub(super) async fn follow(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let look = tokio::task::spawn_blocking(move || {
                self.look();
                self
            });
            match look.await {
                Ok(followed) => self = followed,
                // The process ends.
                Err(_) => return,
            }
        }
    }

    fn look(&mut self) {
        let stamp = FileStamp::of(std::fs::metadata(&self.path));
        if stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        match read(&self.path).and_then(|clients| check_tenants(clients, self.single_tenant)) {
            Ok(clients) => {
                tracing::info!(
                    clients = clients.clients.len(),
                    "the clients were read again"
                );
                self.directory.replace(clients);
            }
            Err(problem) => tracing::error!(
                %problem,
                "the file of clients cannot be used; the clients stay as they were"
            ),
        }
    }
}

/// Reads a file of clients. Fails with a sentence that contains no token.
pub(super) fn read(path: &Path) -> Result<ClientsFile, String> {
    let mut text = String::new();
    let limit = u64::try_from(MAX_CLIENTS_FILE).unwrap_or(u64::MAX);
    File::open(path)
        // One byte more shows that the file is too large.
        .and_then(|file| file.take(limit.saturating_add(1)).read_to_string(&mut text))
        .map_err(|error| error.to_string())?;
    ClientsFile::parse(&text).map_err(|error| error.to_string())
}

fn check_tenants(clients: ClientsFile, single_tenant: bool) -> Result<ClientsFile, String> {
    let has_tenant = |client: &candor_orders::Client| client.tenant.is_some();
    match clients.clients.iter().position(has_tenant) {
        Some(index) if single_tenant => Err(format!(
            "clients[{index}].tenant: the database of the sql adapter has no tenants"
        )),
        _ => Ok(clients),
    }
}

/// Returns the error for a file of clients that cannot be used.
pub(super) fn unusable(path: &Path, problem: &str) -> CommandError {
    let shown = path.display();
    CommandError::new(format!(
        "the file of clients {shown} cannot be used: {problem}"
    ))
    .with_hint(format!(
        "to create a client, run:\n  candor orders clients add NAME --clients {}",
        quote(path)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_orders::{Client, TokenHash};

    fn write(path: &Path, names: &[&str], tenant: Option<&str>) {
        let client = |name: &&str| {
            let mut client = Client::new(name, true).unwrap();
            client.tokens = vec![TokenHash::of(name)];
            client.tenant = tenant.map(String::from);
            client
        };
        let clients = names.iter().map(client).collect();
        std::fs::write(path, ClientsFile { clients }.text()).unwrap();
    }

    #[test]
    fn changed_file_replaces_the_clients() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clients.json");
        write(&path, &["a"], None);
        let mut followed = FollowedClients::open(&path, true).unwrap();
        let tokens = followed.tokens();
        let knows = |token: &str| tokens.find(token).is_some();
        assert!(knows("a") && !knows("bob"));

        write(&path, &["a", "bob"], None);
        followed.look();
        assert!(knows("a") && knows("bob"));

        for broken in ["", "{", r#"{"version":1,"clients":[{}]}"#] {
            std::fs::write(&path, broken).unwrap();
            followed.look();
            assert!(knows("a") && knows("bob"), "{broken}");
        }
        write(&path, &["eve", "mallory"], Some("acme"));
        followed.look();
        assert!(knows("a") && !knows("eve"));
        std::fs::remove_file(&path).unwrap();
        followed.look();
        assert!(knows("a"));

        write(&path, &["bob"], None);
        followed.look();
        assert!(!knows("a") && knows("bob"));
    }

    #[test]
    fn client_with_a_tenant_needs_an_order_system_with_tenants() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clients.json");
        write(&path, &["a"], Some("acme"));
        assert!(FollowedClients::open(&path, false).is_ok());
        assert!(FollowedClients::open(&path, true).is_err());
    }
}
