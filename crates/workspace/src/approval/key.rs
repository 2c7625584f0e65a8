//! The key of an approver: an OpenSSH private key file, encrypted with a passphrase.

use crate::hex::hex;
use serde::{Deserialize, Serialize};
use ssh_key::rand_core::CryptoRngCore;
use ssh_key::{Algorithm, Fingerprint, HashAlg, Kdf, LineEnding, PrivateKey, PublicKey};
use std::fmt;
use std::str::FromStr;

/// The maximum size of a key file, in bytes.
pub const MAX_KEY_BYTES: usize = 64 * 1024;

/// The maximum number of key derivation rounds that a key file may demand for its passphrase.
pub const MAX_KEY_ROUNDS: u32 = 1024;

/// The id of a key: `SHA256:` and the fingerprint, as `ssh-keygen -l` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId([u8; 32]);

impl KeyId {
    /// Returns the id of a public key.
    pub fn of(key: &PublicKey) -> KeyId {
        // A SHA-256 fingerprint has 32 bytes.
        KeyId(
            key.fingerprint(HashAlg::Sha256)
                .sha256()
                .unwrap_or_default(),
        )
    }

    /// Parses a key id. Returns `None` for any other text.
    pub fn read(text: &str) -> Option<KeyId> {
        let id = KeyId(Fingerprint::from_str(text).ok()?.sha256()?);
        (id.to_string() == text).then_some(id)
    }

    /// Returns the fingerprint as 64 hex digits, for the names of files.
    pub(crate) fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Returns enough of those digits to distinguish the keys of a workspace.
    pub(crate) fn short(&self) -> String {
        let mut hex = self.hex();
        hex.truncate(16);
        hex
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Fingerprint::Sha256(self.0))
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for KeyId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<KeyId, &'static str> {
        KeyId::read(&text).ok_or("a key id is `SHA256:` and a fingerprint")
    }
}

/// The reason why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyError {
    /// The file is larger than any key.
    TooLarge,
    /// The file is not an OpenSSH private key.
    NotAKey,
    /// The file is encrypted, and no passphrase was given.
    NeedsPassphrase,
    /// The passphrase is wrong.
    WrongPassphrase,
    /// A new key needs a passphrase that is not empty.
    EmptyPassphrase,
    /// The file demands too much work for its passphrase.
    TooManyRounds { rounds: u32 },
    /// The key is not an Ed25519 key; only `ssh-keygen` signs with it.
    NotEd25519 {
        algorithm: String,
        is_encrypted: bool,
    },
    /// The key cannot be read or used, or the file is damaged.
    Unusable { algorithm: String },
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::TooLarge => out.write_str("the file is larger than any key"),
            KeyError::NotAKey => out.write_str("the file is not an OpenSSH private key"),
            KeyError::NeedsPassphrase => out.write_str("the key needs its passphrase"),
            KeyError::WrongPassphrase => out.write_str("the passphrase is wrong"),
            KeyError::EmptyPassphrase => out.write_str("choose a passphrase that is not empty"),
            KeyError::TooManyRounds { rounds } => write!(
                out,
                "the key file demands {rounds} rounds for its passphrase, more than {MAX_KEY_ROUNDS}"
            ),
            KeyError::Unusable { algorithm } | KeyError::NotEd25519 { algorithm, .. } => write!(
                out,
                "this program cannot sign with this key of type {algorithm}; \
                 use an Ed25519 key, or sign with ssh-keygen"
            ),
        }
    }
}

impl std::error::Error for KeyError {}

/// A key that can sign.
#[derive(Clone)]
pub struct ApproverKey(PrivateKey);

impl fmt::Debug for ApproverKey {
    /// Writes the id of the key, never the key itself.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ApproverKey({})", self.key_id())
    }
}

impl ApproverKey {
    /// Generates an Ed25519 key with this comment.
    pub fn generate(rng: &mut impl CryptoRngCore, comment: &str) -> Result<ApproverKey, KeyError> {
        let key = PrivateKey::random(rng, Algorithm::Ed25519);
        let mut key = key.map_err(|_| unusable(Algorithm::Ed25519))?;
        key.set_comment(comment);
        Ok(ApproverKey(key))
    }

    /// Reads the key from the text of a file.
    pub fn from_file(text: &str, passphrase: Option<&[u8]>) -> Result<ApproverKey, KeyError> {
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLarge);
        }
        let key = PrivateKey::from_openssh(text).map_err(|_| KeyError::NotAKey)?;
        if key.algorithm() != Algorithm::Ed25519 {
            return Err(KeyError::NotEd25519 {
                algorithm: key.algorithm().to_string(),
                is_encrypted: key.is_encrypted(),
            });
        }
        if !key.is_encrypted() {
            return Ok(ApproverKey(key));
        }
        let passphrase = passphrase.ok_or(KeyError::NeedsPassphrase)?;
        if let Kdf::Bcrypt { rounds, .. } = *key.kdf()
            && rounds > MAX_KEY_ROUNDS
        {
            return Err(KeyError::TooManyRounds { rounds });
        }
        // The check bytes come first in the encrypted part: if they match, the passphrase is right.
        match key.decrypt(passphrase) {
            Ok(key) => Ok(ApproverKey(key)),
            Err(ssh_key::Error::Crypto) => Err(KeyError::WrongPassphrase),
            Err(_) => Err(unusable(key.algorithm())),
        }
    }

    /// Returns the text of a file that contains the key, encrypted.
    pub fn to_file(
        &self,
        rng: &mut impl CryptoRngCore,
        passphrase: &[u8],
    ) -> Result<String, KeyError> {
        if passphrase.is_empty() {
            return Err(KeyError::EmptyPassphrase);
        }
        let encrypted = self.0.encrypt(rng, passphrase);
        let text = encrypted.and_then(|key| key.to_openssh(LineEnding::LF));
        let text = text.map_err(|_| unusable(self.0.algorithm()))?;
        Ok(text.to_string())
    }

    /// Returns the text of a file that contains the key unencrypted, for everybody who can read the
    /// file.
    pub fn to_open_file(&self) -> Result<String, KeyError> {
        let text = self.0.to_openssh(LineEnding::LF);
        let text = text.map_err(|_| unusable(self.0.algorithm()))?;
        Ok(text.to_string())
    }

    /// Returns the public key in the form of `.pub` files.
    pub fn public_line(&self) -> String {
        self.0.public_key().to_openssh().unwrap_or_default()
    }

    pub fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    pub fn key_id(&self) -> KeyId {
        KeyId::of(self.0.public_key())
    }

    /// Signs bytes for a namespace. The signature is verified before it is returned.
    pub(super) fn sign(&self, namespace: &str, bytes: &[u8]) -> Result<String, KeyError> {
        let signed = self.0.sign(namespace, HashAlg::Sha512, bytes);
        let checked = signed.and_then(|signature| {
            self.0.public_key().verify(namespace, bytes, &signature)?;
            signature.to_pem(LineEnding::LF)
        });
        checked.map_err(|_| unusable(self.0.algorithm()))
    }
}

fn unusable(algorithm: Algorithm) -> KeyError {
    KeyError::Unusable {
        algorithm: algorithm.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssh_key::rand_core::OsRng;

    #[test]
    fn key_is_read_back_only_with_its_passphrase() {
        let key = ApproverKey::generate(&mut OsRng, "anna").unwrap();
        let file = key.to_file(&mut OsRng, b"open sesame").unwrap();
        assert!(file.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
        let read = |passphrase| ApproverKey::from_file(&file, passphrase).map(|key| key.key_id());
        assert_eq!(read(Some(b"open sesame")), Ok(key.key_id()));
        assert_eq!(read(Some(b"open sesamE")), Err(KeyError::WrongPassphrase));
        assert_eq!(read(Some(b"")), Err(KeyError::WrongPassphrase));
        assert_eq!(read(None), Err(KeyError::NeedsPassphrase));
        assert_eq!(key.to_file(&mut OsRng, b""), Err(KeyError::EmptyPassphrase));
        let open = key.to_open_file().unwrap();
        let open = ApproverKey::from_file(&open, None).unwrap();
        assert_eq!(open.key_id(), key.key_id());
        let line = key.public_line();
        assert!(line.starts_with("ssh-ed25519 ") && line.ends_with(" anna"));
        assert!(!format!("{key:?}").contains("PRIVATE"));
        assert_eq!(KeyId::read(&key.key_id().to_string()), Some(key.key_id()));
    }

    #[test]
    fn invalid_key_files_have_their_errors() {
        let read = |text: &str| ApproverKey::from_file(text, Some(b"x")).unwrap_err();
        assert_eq!(read(""), KeyError::NotAKey);
        assert_eq!(read("ssh-ed25519 AAAA"), KeyError::NotAKey);
        assert_eq!(read(&"x".repeat(MAX_KEY_BYTES + 1)), KeyError::TooLarge);
        for bad in ["", "SHA256:", "SHA256:a b", "MD5:aa", "SHA256:AAAA"] {
            assert_eq!(KeyId::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn key_with_too_many_rounds_is_refused() {
        let key = ApproverKey::generate(&mut OsRng, "").unwrap().0;
        let key = key
            .encrypt_with(
                ssh_key::Cipher::Aes256Ctr,
                Kdf::Bcrypt {
                    salt: vec![7; 16],
                    rounds: 1,
                },
                7,
                b"x",
            )
            .unwrap();
        let mut bytes = key.to_bytes().unwrap().to_vec();
        let offset = bytes.windows(16).position(|w| w == [7; 16]).unwrap() + 16;
        bytes[offset..offset + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        let key = PrivateKey::from_bytes(&bytes).unwrap();
        let text = key.to_openssh(LineEnding::LF).unwrap();
        let refused = ApproverKey::from_file(&text, Some(b"x")).unwrap_err();
        assert_eq!(refused, KeyError::TooManyRounds { rounds: u32::MAX });
    }
}
