//! The files that agents must not read: first the default secrets, then those of a person.

use super::path_rules::{PathRules, PathRulesError};
use std::path::Path;

/// Patterns of files that usually contain secrets: environment files, private keys, and
/// credentials, including git's credential store.
pub const DEFAULT_DENY_READ: &str = "\
credentials
!**/credentials/**
credentials.json
application_default_credentials.json
.env*
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.kdbx
*.ppk
id_rsa
id_dsa
id_ecdsa
id_ecdsa_sk
id_ed25519
id_ed25519_sk
secring.gpg
private-keys-v1.d/
.netrc
_netrc
.npmrc
.pypirc
.pgpass
.htpasswd
.dockercfg
.git-credentials
.ssh/
.gnupg/
*.tfstate*
secrets.json
secrets.yaml
secrets.yml
secrets.toml
.vault-token
**/.docker/config.json
**/.kube/config
**/.aws/credentials
**/.cargo/credentials.toml
**/.config/gh/hosts.yml
**/.git/config
**/.git/config.worktree
**/.git/worktrees/**/config.worktree
**/.git/modules/**/config
";

/// The files that must not be read.
#[derive(Debug, Clone)]
pub struct DenyRead(Option<PathRules>);

impl DenyRead {
    /// Parses a person's file. Its lines follow the default ones.
    pub fn parse(bytes: &[u8]) -> Result<DenyRead, PathRulesError> {
        Ok(DenyRead(Some(PathRules::parse(DEFAULT_DENY_READ, bytes)?)))
    }

    /// Denies everything, for a person's file that cannot be used.
    pub fn everything() -> DenyRead {
        DenyRead(None)
    }

    /// Returns true if the file at a path from the root is not to be read.
    pub fn denies(&self, path: &Path) -> bool {
        self.0
            .as_ref()
            .is_none_or(|rules| rules.inclusion(path).is_some())
    }
}

impl Default for DenyRead {
    /// Returns the default secrets only.
    fn default() -> DenyRead {
        DenyRead::parse(b"").unwrap_or(DenyRead::everything())
    }
}

#[cfg(test)]
mod tests;
