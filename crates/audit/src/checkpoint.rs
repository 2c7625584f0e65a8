//! A checkpoint: the position of a log at one moment, stored out of reach of those who can change
//! the log, and signed if a key is given. It is one canonical JSON object; the signature covers it
//! without `signature`.

use crate::append::AppendReceipt;
use crate::canonical::canonical;
use crate::hash::Hash;
use serde_json::{Map, Value};
use ssh_key::{HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};
use std::fmt;

/// The version of the checkpoint format.
const VERSION: u64 = 1;

/// The namespace of signatures: a signature that was made for another purpose is not valid here.
pub const CHECKPOINT_NAMESPACE: &str = "candor-checkpoint";

/// The most bytes of a checkpoint.
pub const MAX_CHECKPOINT: usize = 16 * 1024;

/// The position of a log: its chain and its last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// The hash of the first line, which identifies the chain.
    pub(crate) chain: Hash,
    pub(crate) last: AppendReceipt,
}

/// The recorded position of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub log: String,
    /// The hash of the log's first line, which identifies the chain.
    pub chain: Hash,
    /// The number of checkpoints so far, this one included.
    pub counter: u64,
    /// The number of the log's last line.
    pub seq: u64,
    /// The hash of that line.
    pub hash: Hash,
    /// The time at which it was written.
    pub timestamp: String,
    /// The fingerprint of the key that it claims to be signed with.
    pub key_id: Option<String>,
    signature: Option<String>,
    /// The signed bytes.
    body: Vec<u8>,
}

/// The bytes are not a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCheckpoint;

impl fmt::Display for InvalidCheckpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the file is no checkpoint")
    }
}

impl std::error::Error for InvalidCheckpoint {}

impl Checkpoint {
    /// Parses a checkpoint.
    pub fn read(bytes: &[u8]) -> Result<Checkpoint, InvalidCheckpoint> {
        if bytes.len() > MAX_CHECKPOINT {
            return Err(InvalidCheckpoint);
        }
        let members = serde_json::from_slice(bytes).map_err(|_| InvalidCheckpoint)?;
        Checkpoint::of(members).ok_or(InvalidCheckpoint)
    }

    fn of(mut members: Map<String, Value>) -> Option<Checkpoint> {
        let signature = members.shift_remove("signature");
        let body = canonical(&members).ok()?;
        let text = |name: &str| members.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| members.get(name)?.as_u64().filter(|number| *number > 0);
        let hash = |name: &str| Hash::read(members.get(name)?.as_str()?.as_bytes());
        if number("v") != Some(VERSION) {
            return None;
        }
        Some(Checkpoint {
            log: text("log")?,
            chain: hash("chain")?,
            counter: number("counter")?,
            seq: number("seq")?,
            hash: hash("hash")?,
            timestamp: text("timestamp")?,
            key_id: text("key_id"),
            signature: match signature {
                Some(Value::String(signature)) => Some(signature),
                Some(_) => return None,
                None => None,
            },
            body,
        })
    }

    /// Returns the text of a checkpoint.
    pub(crate) fn write(
        log: &str,
        position: &LogPosition,
        counter: u64,
        timestamp: String,
        signer: Option<&Signer>,
    ) -> Result<Vec<u8>, ssh_key::Error> {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(String::from(name), value);
        put("v", Value::from(VERSION));
        put("log", Value::from(log));
        put("chain", Value::from(position.chain.to_string()));
        put("counter", Value::from(counter));
        put("seq", Value::from(position.last.seq));
        put("hash", Value::from(position.last.hash.to_string()));
        put("timestamp", Value::from(timestamp));
        if let Some(signer) = signer {
            put("key_id", Value::from(signer.key_id.clone()));
            // Strings and integers always have a canonical form.
            let body = canonical(&members).unwrap_or_default();
            let signature = signer.sign(&body)?;
            members.insert(String::from("signature"), Value::from(signature));
        }
        let mut text = canonical(&members).unwrap_or_default();
        text.push(b'\n');
        Ok(text)
    }

    /// Returns true if it has a signature, valid or not.
    pub fn is_signed(&self) -> bool {
        self.signature.is_some()
    }

    /// Returns true if it was signed with one of these keys.
    pub fn is_signed_by(&self, keys: &[PublicKey]) -> bool {
        let Some(signature) = &self.signature else {
            return false;
        };
        let Ok(signature) = SshSig::from_pem(signature) else {
            return false;
        };
        keys.iter().any(|key| {
            key.verify(CHECKPOINT_NAMESPACE, &self.body, &signature)
                .is_ok()
        })
    }

    /// Returns true if it is signed, with the key that it names, whoever owns that key.
    pub fn has_valid_signature(&self) -> bool {
        let signature = self.signature.as_deref().map(SshSig::from_pem);
        let Some(Ok(signature)) = signature else {
            return false;
        };
        let key = PublicKey::from(signature.public_key().clone());
        self.key_id.as_deref() == Some(key.fingerprint(HashAlg::Sha256).to_string().as_str())
            && self.is_signed_by(&[key])
    }

    /// Returns number and hash of the log's last line.
    pub fn receipt(&self) -> AppendReceipt {
        AppendReceipt {
            seq: self.seq,
            hash: self.hash,
        }
    }
}

/// Signs checkpoints with one key.
#[derive(Clone)]
pub struct Signer {
    key: PrivateKey,
    key_id: String,
}

/// The reason why a key cannot sign checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignerKeyError {
    /// The key is encrypted; it has to be decrypted first.
    Encrypted,
    /// The key is not an Ed25519 key.
    Kind,
}

impl fmt::Display for SignerKeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            SignerKeyError::Encrypted => "the key is encrypted",
            SignerKeyError::Kind => "the key is no Ed25519 key",
        })
    }
}

impl std::error::Error for SignerKeyError {}

impl Signer {
    /// Accepts an Ed25519 key that is not encrypted.
    pub fn new(key: PrivateKey) -> Result<Signer, SignerKeyError> {
        if key.is_encrypted() {
            return Err(SignerKeyError::Encrypted);
        }
        if key.key_data().ed25519().is_none() {
            return Err(SignerKeyError::Kind);
        }
        let key_id = key.fingerprint(HashAlg::Sha256).to_string();
        Ok(Signer { key, key_id })
    }

    /// Returns the fingerprint of the key.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the key with which its signatures are verified.
    pub fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }

    fn sign(&self, body: &[u8]) -> Result<String, ssh_key::Error> {
        let signature = self.key.sign(CHECKPOINT_NAMESPACE, HashAlg::Sha512, body)?;
        signature.to_pem(LineEnding::LF)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Signer({})", self.key_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssh_key::private::{Ed25519Keypair, KeypairData};

    fn position() -> LogPosition {
        let hash = Hash::of(&[b"line"]);
        LogPosition {
            chain: Hash::of(&[b"first"]),
            last: AppendReceipt { seq: 7, hash },
        }
    }

    fn key(seed: u8) -> PrivateKey {
        let pair = Ed25519Keypair::from_seed(&[seed; 32]);
        PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap()
    }

    fn written(signer: Option<&Signer>) -> String {
        let when = String::from("2026-01-02T03:04:05.678Z");
        let text = Checkpoint::write("log", &position(), 3, when, signer).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn checkpoint_is_one_canonical_line() {
        let (chain, hash) = (position().chain, position().last.hash);
        let expected = format!(
            r#"{{"chain":"{chain}","counter":3,"hash":"{hash}","log":"log","seq":7,"timestamp":"2026-01-02T03:04:05.678Z","v":1}}"#
        );
        let text = written(None);
        assert_eq!(text, expected + "\n");
        let read = Checkpoint::read(text.as_bytes()).unwrap();
        assert_eq!((read.counter, read.receipt()), (3, position().last));
        assert_eq!((read.key_id.clone(), read.is_signed()), (None, false));
        assert!(!read.is_signed_by(&[key(1).public_key().clone()]));
    }

    #[test]
    fn signature_is_valid_for_its_key_and_content_only() {
        let signer = Signer::new(key(1)).unwrap();
        let text = written(Some(&signer));
        let (key_of_signer, other) = (key(1).public_key().clone(), key(2).public_key().clone());
        let read = Checkpoint::read(text.as_bytes()).unwrap();
        assert_eq!(read.key_id.as_deref(), Some(signer.key_id()));
        assert!(read.has_valid_signature());
        assert!(read.is_signed_by(&[other.clone(), key_of_signer.clone()]));
        assert!(!read.is_signed_by(&[other]));
        for (was, is) in [
            ("\"seq\":7", "\"seq\":8"),
            ("03:04", "03:05"),
            ("\"v\":1", "\"v\":1,\"z\":1"),
        ] {
            let changed = text.replace(was, is);
            assert_ne!(changed, text);
            let read = Checkpoint::read(changed.as_bytes()).unwrap();
            assert!(!read.has_valid_signature(), "{was}");
            assert!(
                !read.is_signed_by(std::slice::from_ref(&key_of_signer)),
                "{was}"
            );
        }
        let bare: Map<String, Value> = serde_json::from_str(&written(Some(&signer))).unwrap();
        let body = canonical(&{
            let mut body = bare.clone();
            body.shift_remove("signature");
            body
        });
        let elsewhere = key(1)
            .sign("file", HashAlg::Sha512, &body.unwrap())
            .unwrap();
        let mut bare = bare;
        let pem = elsewhere.to_pem(LineEnding::LF).unwrap();
        bare.insert(String::from("signature"), Value::from(pem));
        let read = Checkpoint::read(&canonical(&bare).unwrap()).unwrap();
        assert!(!read.is_signed_by(&[key_of_signer]));
    }

    #[test]
    fn invalid_checkpoints_are_refused() {
        let text = written(None);
        for bad in [
            String::new(),
            String::from("[]"),
            text[..text.len() - 2].to_owned(),
            text.replace("\"v\":1", "\"v\":2"),
            text.replace("\"seq\":7", "\"seq\":0"),
            text.replace("\"counter\":3", "\"counter\":-3"),
            text.replace("\"hash\":\"", "\"hash\":\"0"),
            text.replace("\"v\":1", "\"signature\":1,\"v\":1"),
            format!("{text}{}", " ".repeat(MAX_CHECKPOINT)),
        ] {
            assert_eq!(
                Checkpoint::read(bad.as_bytes()),
                Err(InvalidCheckpoint),
                "{bad}"
            );
        }
    }

    #[test]
    fn only_an_unencrypted_ed25519_key_signs() {
        let mut random = ssh_key::rand_core::OsRng;
        let encrypted = key(1).encrypt(&mut random, "secret").unwrap();
        assert_eq!(
            Signer::new(encrypted).unwrap_err(),
            SignerKeyError::Encrypted
        );
        let public = key(1).public_key().key_data().ed25519().copied().unwrap();
        let other = ssh_key::private::SkEd25519::new(public.into(), 0, [0]).unwrap();
        let other = PrivateKey::new(KeypairData::SkEd25519(other), "").unwrap();
        assert_eq!(Signer::new(other).unwrap_err(), SignerKeyError::Kind);
    }
}
