//! A statement with its signature, and the file that holds both.

use super::key::{ApproverKey, KeyError, KeyId};
use super::statement::{Signable, StatementError};
use super::verify::verify;
use crate::write::hash_of;
use candor_audit::canonical;
use serde_json::{Map, Value};
use ssh_key::{Algorithm, LineEnding, PublicKey, SshSig};
use std::fmt;

/// The namespace of the signatures, so that none made for another purpose counts here.
pub const NAMESPACE: &str = "candor-approval";

/// The maximum size of the file of a statement, in bytes.
pub const MAX_STATEMENT_BYTES: usize = 32 * 1024;

/// The number of hex digits of the id of a statement.
const ID_DIGITS: usize = 16;

/// The bit of a security key's signature that is set if a person touched the key.
const USER_PRESENT: u8 = 1;

/// The reason why a file is not a signed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedError {
    /// It is larger than [`MAX_STATEMENT_BYTES`].
    TooLarge,
    /// It is not a JSON object, or cannot be read.
    NotJson,
    /// Its members are not those of such a statement.
    Members(String),
    /// Its members do not fit together.
    Statement(StatementError),
    /// The signature is missing, malformed, of another key than named, or not of these members.
    BadSignature,
    /// The signature was made by a security key without a touch.
    Untouched,
}

impl fmt::Display for SignedError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignedError::TooLarge => out.write_str("the file is too large"),
            SignedError::NotJson => out.write_str("the file is no JSON object"),
            SignedError::Members(why) => write!(out, "the members are wrong: {why}"),
            SignedError::Statement(why) => write!(out, "{why}"),
            SignedError::BadSignature => out.write_str("the signature does not fit"),
            SignedError::Untouched => {
                out.write_str("the security key that signed was not touched by anybody")
            }
        }
    }
}

impl std::error::Error for SignedError {}

/// A statement with a valid signature. Whether its key is trusted is not checked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedStatement<S> {
    statement: S,
    key: PublicKey,
    signature: String,
}

impl<S: Signable> SignedStatement<S> {
    /// Signs a statement.
    pub fn sign(key: &ApproverKey, statement: S) -> Result<SignedStatement<S>, KeyError> {
        let signature = key.sign(NAMESPACE, &message(&statement))?;
        Ok(SignedStatement {
            statement,
            key: key.public_key().clone(),
            signature,
        })
    }

    /// Combines a statement with an armored signature over the bytes of
    /// [`message`](SignedStatement::message), for example one of `ssh-keygen -Y sign -n candor-approval`.
    pub fn with_signature(statement: S, armored: &str) -> Result<SignedStatement<S>, SignedError> {
        statement.validate().map_err(SignedError::Statement)?;
        let signature = format!("{}\n", armored.trim().replace("\r\n", "\n"));
        let key = verify_signature(&message(&statement), &signature)?;
        Ok(SignedStatement {
            statement,
            key,
            signature,
        })
    }

    /// Returns the bytes of a statement that are signed: its canonical JSON, without a newline.
    pub fn message(statement: &S) -> Vec<u8> {
        message(statement)
    }

    /// Reads a file and checks its signature.
    pub fn read(bytes: &[u8]) -> Result<SignedStatement<S>, SignedError> {
        if bytes.len() > MAX_STATEMENT_BYTES {
            return Err(SignedError::TooLarge);
        }
        let members = serde_json::from_slice(bytes).map_err(|_| SignedError::NotJson)?;
        let Value::Object(mut members) = members else {
            return Err(SignedError::NotJson);
        };
        let mut text = |name: &str| match members.shift_remove(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(SignedError::Members(format!("there is no {name}"))),
        };
        let (key_id, signature) = (text("key_id")?, text("signature")?);
        let message = canonical(&members).map_err(|why| SignedError::Members(why.to_string()))?;
        let key = verify_signature(&message, &signature)?;
        if KeyId::of(&key).to_string() != key_id {
            return Err(SignedError::BadSignature);
        }
        let statement: S = serde_json::from_value(Value::Object(members))
            .map_err(|why| SignedError::Members(why.to_string()))?;
        statement.validate().map_err(SignedError::Statement)?;
        Ok(SignedStatement {
            statement,
            key,
            signature,
        })
    }

    /// Returns the text of the file that contains the signed statement.
    pub fn to_file(&self) -> String {
        let mut members = members(&self.statement);
        members.insert("key_id".to_owned(), self.key_id().to_string().into());
        members.insert("signature".to_owned(), self.signature.clone().into());
        let mut text = serde_json::to_string_pretty(&members).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn statement(&self) -> &S {
        &self.statement
    }

    /// Returns the first digits of the hash of the signed bytes: another approval of the same plan has
    /// another id.
    pub fn id(&self) -> String {
        let mut id = hash_of(&message(&self.statement));
        id.truncate(ID_DIGITS);
        id
    }

    /// Returns the public key of the signer.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// Returns the id of the signer's key.
    pub fn key_id(&self) -> KeyId {
        KeyId::of(&self.key)
    }
}

/// Returns the members of a statement, which always is an object of texts, lists of texts and one small
/// number.
fn members<S: Signable>(statement: &S) -> Map<String, Value> {
    match serde_json::to_value(statement) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn message<S: Signable>(statement: &S) -> Vec<u8> {
    canonical(&members(statement)).unwrap_or_default()
}

/// Verifies a signature over a message. Returns the key that made it.
fn verify_signature(message: &[u8], armored: &str) -> Result<PublicKey, SignedError> {
    let signature = SshSig::from_pem(armored).map_err(|_| SignedError::BadSignature)?;
    // The library accepts lengths that differ from the data that follows; OpenSSH does not.
    if signature.to_pem(LineEnding::LF).as_deref() != Ok(armored) {
        return Err(SignedError::BadSignature);
    }
    let key = PublicKey::from(signature.public_key().clone());
    verify(NAMESPACE, message, &signature).map_err(|_| SignedError::BadSignature)?;
    let security_key = matches!(
        signature.algorithm(),
        Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256
    );
    // The flags are followed by a counter of four bytes, at the end.
    let flags = signature.signature_bytes().iter().rev().nth(4);
    if security_key && flags.is_none_or(|flags| flags & USER_PRESENT == 0) {
        return Err(SignedError::Untouched);
    }
    Ok(key)
}
