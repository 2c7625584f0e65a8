//! A checkpoint: how far a log had come, said where whoever changes the log does not reach, and signed
//! where a key is given. One canonical JSON object; the signature covers it without `signature`.

use crate::append::AppendReceipt;
use crate::canonical::canonical;
use crate::hash::Hash;
use serde_json::{Map, Value};
use ssh_key::{HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};
use std::fmt;

/// The version of checkpoints.
const VERSION: u64 = 1;

/// What signatures are for: one that was made for something else is none.
pub const CHECKPOINT_NAMESPACE: &str = "candor-checkpoint";

/// How many bytes a checkpoint may have.
pub const MAX_CHECKPOINT: usize = 16 * 1024;

/// How far a log has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// The hash of the first line.
    pub(crate) chain: Hash,
    /// The last line.
    pub(crate) last: AppendReceipt,
}

/// What was said about a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the log.
    pub log: String,
    /// The hash of its first line: another one is another chain.
    pub chain: Hash,
    /// How many checkpoints there were, this one included.
    pub counter: u64,
    /// The number of its last line.
    pub seq: u64,
    /// The hash of that line.
    pub hash: Hash,
    /// When it was said.
    pub timestamp: String,
    /// The fingerprint of the key that it says it was signed with.
    pub key_id: Option<String>,
    signature: Option<String>,
    /// What is signed.
    body: Vec<u8>,
}

/// These bytes are no checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCheckpoint;

impl fmt::Display for InvalidCheckpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the file is no checkpoint")
    }
}

impl std::error::Error for InvalidCheckpoint {}

impl Checkpoint {
    /// Reads a checkpoint.
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

    /// The text of a checkpoint, and what it says.
    pub(crate) fn write(
        log: &str,
        mark: &LogPosition,
        counter: u64,
        timestamp: String,
        signer: Option<&Signer>,
    ) -> Result<Vec<u8>, ssh_key::Error> {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(String::from(name), value);
        put("v", Value::from(VERSION));
        put("log", Value::from(log));
        put("chain", Value::from(mark.chain.to_string()));
        put("counter", Value::from(counter));
        put("seq", Value::from(mark.last.seq));
        put("hash", Value::from(mark.last.hash.to_string()));
        put("timestamp", Value::from(timestamp));
        if let Some(signer) = signer {
            put("key_id", Value::from(signer.key_id.clone()));
            // Texts and whole numbers always have a canonical form.
            let body = canonical(&members).unwrap_or_default();
            let signature = signer.sign(&body)?;
            members.insert(String::from("signature"), Value::from(signature));
        }
        let mut text = canonical(&members).unwrap_or_default();
        text.push(b'\n');
        Ok(text)
    }

    /// Whether it carries a signature, whoever made it.
    pub fn is_signed(&self) -> bool {
        self.signature.is_some()
    }

    /// Whether one of these keys has signed it.
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

    /// The line that it names.
    pub fn receipt(&self) -> AppendReceipt {
        AppendReceipt {
            seq: self.seq,
            hash: self.hash,
        }
    }
}

/// Signs checkpoints.
#[derive(Clone)]
pub struct Signer {
    key: PrivateKey,
    key_id: String,
}

/// Why a key cannot sign checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignerKeyError {
    /// It is encrypted, and has to be opened first.
    Encrypted,
    /// It is no Ed25519 key.
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
    /// Signs with this key: Ed25519, and not encrypted any more.
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

    /// The fingerprint of the key.
    pub fn key_id(&self) -> &str {
        &self.key_id
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

    fn mark() -> LogPosition {
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
        let text = Checkpoint::write("log", &mark(), 3, when, signer).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_checkpoint_is_one_canonical_line() {
        let (chain, hash) = (mark().chain, mark().last.hash);
        let wanted = format!(
            r#"{{"chain":"{chain}","counter":3,"hash":"{hash}","log":"log","seq":7,"timestamp":"2026-01-02T03:04:05.678Z","v":1}}"#
        );
        let text = written(None);
        assert_eq!(text, wanted + "\n");
        let read = Checkpoint::read(text.as_bytes()).unwrap();
        assert_eq!((read.counter, read.receipt()), (3, mark().last));
        assert_eq!((read.key_id.clone(), read.is_signed()), (None, false));
        assert!(!read.is_signed_by(&[key(1).public_key().clone()]));
    }

    #[test]
    fn a_signature_holds_for_its_key_and_its_words() {
        let signer = Signer::new(key(1)).unwrap();
        let text = written(Some(&signer));
        let (own, other) = (key(1).public_key().clone(), key(2).public_key().clone());
        let read = Checkpoint::read(text.as_bytes()).unwrap();
        assert_eq!(read.key_id.as_deref(), Some(signer.key_id()));
        assert!(read.is_signed_by(&[other.clone(), own.clone()]));
        assert!(!read.is_signed_by(&[other]));
        for (was, is) in [
            ("\"seq\":7", "\"seq\":8"),
            ("03:04", "03:05"),
            ("\"v\":1", "\"v\":1,\"z\":1"),
        ] {
            let changed = text.replace(was, is);
            assert_ne!(changed, text);
            let read = Checkpoint::read(changed.as_bytes()).unwrap();
            assert!(!read.is_signed_by(std::slice::from_ref(&own)), "{was}");
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
        assert!(!read.is_signed_by(&[own]));
    }

    #[test]
    fn what_is_no_checkpoint_is_refused() {
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
    fn only_an_open_ed25519_key_signs() {
        let mut random = ssh_key::rand_core::OsRng;
        let encrypted = key(1).encrypt(&mut random, "secret").unwrap();
        assert_eq!(
            Signer::new(encrypted).unwrap_err(),
            SignerKeyError::Encrypted
        );
        let other = PrivateKey::random(
            &mut random,
            ssh_key::Algorithm::Ecdsa {
                curve: ssh_key::EcdsaCurve::NistP256,
            },
        );
        assert_eq!(
            Signer::new(other.unwrap()).unwrap_err(),
            SignerKeyError::Kind
        );
    }
}
