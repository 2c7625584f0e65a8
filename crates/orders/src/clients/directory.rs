//! The clients that a running server knows. They are replaced as a whole when their file changes.

use super::clients_file::{Client, ClientsFile};
use super::token::TokenHash;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The clients of a running server.
#[derive(Debug)]
pub struct ClientDirectory {
    table: RwLock<ClientTable>,
}

#[derive(Debug)]
struct ClientTable {
    by_name: BTreeMap<String, Arc<Client>>,
    by_token: BTreeMap<TokenHash, Arc<Client>>,
}

impl ClientDirectory {
    pub fn new(file: ClientsFile) -> ClientDirectory {
        ClientDirectory {
            table: RwLock::new(ClientTable::new(file)),
        }
    }

    /// Replaces all clients.
    pub fn replace(&self, file: ClientsFile) {
        let table = ClientTable::new(file);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// Returns the client with this token.
    pub fn find_by_token(&self, token: &str) -> Option<Arc<Client>> {
        // The hash is looked up, not the token, so the time of the search reveals nothing about it.
        let hash = TokenHash::of(token);
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.by_token.get(&hash).cloned()
    }

    /// Returns the client with this name.
    pub fn get(&self, name: &str) -> Option<Arc<Client>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.by_name.get(name).cloned()
    }
}

impl ClientTable {
    fn new(file: ClientsFile) -> ClientTable {
        let clients: Vec<_> = file.clients.into_iter().map(Arc::new).collect();
        let token_of = |client: &Arc<Client>| {
            let client = Arc::clone(client);
            let tokens = client.tokens.clone();
            tokens
                .into_iter()
                .map(move |token| (token, Arc::clone(&client)))
        };
        ClientTable {
            by_token: clients.iter().flat_map(token_of).collect(),
            by_name: clients
                .into_iter()
                .map(|client| (client.name.clone(), client))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, tokens: &[&str]) -> ClientsFile {
        let mut client = Client::new(name, false).unwrap();
        client.tokens = tokens.iter().map(|token| TokenHash::of(token)).collect();
        ClientsFile {
            clients: vec![client],
        }
    }

    #[test]
    fn rotated_token_belongs_to_the_same_client() {
        let directory = ClientDirectory::new(file("bot", &["old", "new"]));
        let name = |token| {
            directory
                .find_by_token(token)
                .map(|client| client.name.clone())
        };
        assert_eq!(name("old").as_deref(), Some("bot"));
        assert_eq!(name("new").as_deref(), Some("bot"));
        directory.replace(file("bot", &["new"]));
        assert_eq!(name("old"), None);
        assert_eq!(name("new").as_deref(), Some("bot"));
        assert!(directory.get("bot").is_some());
        directory.replace(ClientsFile::default());
        assert_eq!(name("new"), None);
        assert!(directory.get("bot").is_none());
    }
}
