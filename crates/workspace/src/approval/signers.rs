//! The approvers, in the format of OpenSSH's `allowed_signers`.
//!
//! One line is `name[,name] [options] keytype base64 [comment]`. Of the options `namespaces`,
//! `valid-after` and `valid-before` are honoured. Options that would trust more people than the
//! line names (`cert-authority`, patterns) are refused, and so is a time without `Z`, which means
//! another instant on each machine.

use super::key::KeyId;
use super::signed::NAMESPACE;
use candor_fault::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, EcdsaCurve, PublicKey};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The maximum size of an approvers file, in bytes.
pub const MAX_SIGNERS_BYTES: usize = 256 * 1024;
/// The maximum number of keys in an approvers file.
pub const MAX_SIGNERS: usize = 1024;

/// The lengths of an RSA modulus in bytes: a shorter one is not trusted, a longer one not checked.
const RSA_BYTES: RangeInclusive<usize> = 256..=512;

/// A flaw of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignersFlaw {
    /// The file is too large.
    TooLarge,
    /// There are too many keys.
    TooMany,
    /// The line has no names, or no key after them.
    Incomplete,
    /// A name is empty, or a pattern that could match any name.
    Name(String),
    /// An option that is unsupported, malformed, or given twice.
    Option(String),
    /// The option `cert-authority`, which trusts every key that this key certifies.
    CertAuthority,
    /// A time that is not `YYYYMMDD[HHMM[SS]]Z`.
    Time(String),
    /// The key cannot be read.
    Key,
    /// The key is of a type that this program does not check.
    KeyType(String),
    /// The RSA key is too short to be trusted, or too long to be checked.
    RsaSize,
}

/// A flaw of an approvers file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignersError {
    /// The line, from 1.
    pub line: usize,
    pub flaw: SignersFlaw,
}

impl fmt::Display for SignersError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match &self.flaw {
            SignersFlaw::TooLarge => {
                write!(out, "the file has more than {MAX_SIGNERS_BYTES} bytes")
            }
            SignersFlaw::TooMany => write!(out, "there are more than {MAX_SIGNERS} keys"),
            SignersFlaw::Incomplete => {
                out.write_str("a line is `name keytype key`, such as `anna ssh-ed25519 AAAA…`")
            }
            SignersFlaw::Name(name) => {
                write!(
                    out,
                    "{name:?} names no one person; patterns are not allowed"
                )
            }
            SignersFlaw::Option(option) => write!(
                out,
                "the option {option:?} is unknown, malformed or given twice; \
                 there are namespaces, valid-after and valid-before"
            ),
            SignersFlaw::CertAuthority => {
                out.write_str("cert-authority is not supported; list each approver's own key")
            }
            SignersFlaw::Time(time) => {
                write!(
                    out,
                    "{time:?} is no time; write YYYYMMDD[HHMM[SS]]Z, in UTC"
                )
            }
            SignersFlaw::Key => out.write_str("the key cannot be read"),
            SignersFlaw::KeyType(name) => write!(
                out,
                "keys of type {name:?} are not supported; \
                 use ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa or a security key"
            ),
            SignersFlaw::RsaSize => out.write_str("an RSA key must have 2048 to 4096 bits"),
        }
    }
}

impl std::error::Error for SignersError {}

/// The approvers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signers(Vec<AllowedSigner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedSigner {
    names: Vec<String>,
    options: SignerOptions,
    key: KeyData,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SignerOptions {
    namespaces: Option<Vec<String>>,
    valid_after: Option<Timestamp>,
    valid_before: Option<Timestamp>,
}

/// The trust of the approvers file in a name with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignerTrust {
    /// The name may sign with the key at these instants.
    Trusted,
    /// It may, but not at one of these instants, or not for approvals.
    NotNow,
    /// The key belongs to another approver.
    OtherName,
    /// The key belongs to none of the approvers.
    Unknown,
}

impl Signers {
    /// Reads an approvers file; the first thing that is wrong with it, if any.
    pub fn parse(text: &str) -> Result<Signers, SignersError> {
        let wrong = |line, flaw| SignersError { line, flaw };
        if text.len() > MAX_SIGNERS_BYTES {
            return Err(wrong(1, SignersFlaw::TooLarge));
        }
        let mut signers = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim_matches([' ', '\t', '\r']);
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if signers.len() == MAX_SIGNERS {
                return Err(wrong(line, SignersFlaw::TooMany));
            }
            signers.push(signer(text).map_err(|flaw| wrong(line, flaw))?);
        }
        Ok(Signers(signers))
    }

    /// Returns true if there are no approvers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the approvers of another file.
    pub fn extend(&mut self, others: Signers) {
        self.0.extend(others.0);
    }

    /// Returns the names and the key of each line, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&[String], KeyId)> {
        let entry = |signer: &AllowedSigner| KeyId::of(&PublicKey::from(signer.key.clone()));
        self.0
            .iter()
            .map(move |signer| (&signer.names[..], entry(signer)))
    }

    /// Returns the best trust that any line gives to a name with a key at all of these instants.
    pub fn standing(&self, name: &str, key: &PublicKey, at: &[Timestamp]) -> SignerTrust {
        let lines = self.0.iter().filter(|signer| signer.key == *key.key_data());
        let standing = lines.map(|signer| signer.standing(name, at));
        standing.min().unwrap_or(SignerTrust::Unknown)
    }
}

impl AllowedSigner {
    fn standing(&self, name: &str, at: &[Timestamp]) -> SignerTrust {
        let for_us = |namespaces: &Vec<String>| namespaces.iter().any(|n| n == NAMESPACE);
        let in_time = |at: &Timestamp| {
            self.options.valid_after.is_none_or(|after| *at >= after)
                && self.options.valid_before.is_none_or(|before| *at <= before)
        };
        if !self.names.iter().any(|own| own == name) {
            SignerTrust::OtherName
        } else if self.options.namespaces.as_ref().is_none_or(for_us) && at.iter().all(in_time) {
            SignerTrust::Trusted
        } else {
            SignerTrust::NotNow
        }
    }
}

/// Returns the line of an approvers file that trusts one of our keys for approvals only.
pub fn approver_line(name: &str, key: &PublicKey) -> String {
    let name = match name.contains([' ', '\t']) {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    };
    let key = key.to_openssh().unwrap_or_default();
    format!("{name} namespaces=\"{NAMESPACE}\" {key}\n")
}

fn signer(line: &str) -> Result<AllowedSigner, SignersFlaw> {
    let (names, rest) = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or(SignersFlaw::Incomplete)?,
        None => word(line),
    };
    let names = names.split(',').map(one_name).collect::<Result<_, _>>()?;
    let rest = rest.trim_start();
    let (options, rest) = match is_key_type(word(rest).0) {
        true => (SignerOptions::default(), rest),
        false => {
            let (text, rest) = option_word(rest);
            (options(text)?, rest.trim_start())
        }
    };
    Ok(AllowedSigner {
        names,
        options,
        key: key(rest)?,
    })
}

/// Splits a text at its first blank.
fn word(text: &str) -> (&str, &str) {
    text.split_once([' ', '\t']).unwrap_or((text, ""))
}

/// Splits a text at its first blank outside quotes.
fn option_word(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let end = text.find(|c| {
        quoted ^= c == '"';
        !quoted && (c == ' ' || c == '\t')
    });
    text.split_at(end.unwrap_or(text.len()))
}

fn one_name(name: &str) -> Result<String, SignersFlaw> {
    let pattern = name.starts_with('!') || name.contains(['*', '?']);
    if name.trim().is_empty() || pattern || name.chars().any(char::is_control) {
        return Err(SignersFlaw::Name(name.to_owned()));
    }
    Ok(name.to_owned())
}

/// Returns true if a word is the type of a key and not an option.
fn is_key_type(word: &str) -> bool {
    let known = Algorithm::from_str(word).is_ok_and(|a| !matches!(a, Algorithm::Other(_)));
    known || word.starts_with("ssh-") || word.starts_with("ecdsa-") || word.starts_with("sk-")
}

fn options(mut rest: &str) -> Result<SignerOptions, SignersFlaw> {
    if rest.is_empty() {
        return Err(SignersFlaw::Incomplete);
    }
    let mut options = SignerOptions::default();
    while !rest.is_empty() {
        let unknown = || SignersFlaw::Option(rest.to_owned());
        let end = rest.find(['=', ',']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.eq_ignore_ascii_case("cert-authority") {
            return Err(SignersFlaw::CertAuthority);
        }
        let quoted = after.strip_prefix("=\"").and_then(|v| v.split_once('"'));
        let (value, after) = quoted.ok_or_else(unknown)?;
        let fresh = match name.to_ascii_lowercase().as_str() {
            "namespaces" => {
                let all = value.split(',').map(str::to_owned).collect();
                options.namespaces.replace(all).is_none()
            }
            "valid-after" => options.valid_after.replace(time(value)?).is_none(),
            "valid-before" => options.valid_before.replace(time(value)?).is_none(),
            _ => false,
        };
        let next = match after.strip_prefix(',') {
            Some("") => None,
            Some(next) => Some(next),
            None => after.is_empty().then_some(""),
        };
        rest = next.filter(|_| fresh).ok_or_else(unknown)?;
    }
    Ok(options)
}

fn time(text: &str) -> Result<Timestamp, SignersFlaw> {
    let wrong = || SignersFlaw::Time(text.to_owned());
    let digits = text.strip_suffix('Z').ok_or_else(wrong)?;
    let well_formed = matches!(digits.len(), 8 | 12 | 14);
    if !well_formed || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let number = |from: usize, to: usize| {
        let part = digits.get(from..to).unwrap_or("0");
        part.parse::<i16>().map_err(|_| wrong())
    };
    let small = |from, to| i8::try_from(number(from, to)?).map_err(|_| wrong());
    let (hour, minute, second) = (small(8, 10)?, small(10, 12)?, small(12, 14)?);
    let civil = DateTime::new(
        number(0, 4)?,
        small(4, 6)?,
        small(6, 8)?,
        hour,
        minute,
        second,
        0,
    );
    let zoned = civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil));
    zoned.map_err(|_| wrong())
}

fn key(text: &str) -> Result<KeyData, SignersFlaw> {
    let (kind, rest) = word(text);
    let (base64, _comment) = word(rest.trim_start());
    if kind.is_empty() || base64.is_empty() {
        return Err(SignersFlaw::Incomplete);
    }
    let algorithm = Algorithm::from_str(kind);
    let supported = matches!(
        algorithm,
        Ok(Algorithm::Ed25519
            | Algorithm::SkEd25519
            | Algorithm::SkEcdsaSha2NistP256
            | Algorithm::Rsa { hash: None }
            | Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256
            })
    );
    if !supported {
        return Err(SignersFlaw::KeyType(kind.to_owned()));
    }
    let key = PublicKey::from_openssh(&format!("{kind} {base64}"));
    let key = key.map_err(|_| SignersFlaw::Key)?;
    if let KeyData::Rsa(rsa) = key.key_data() {
        let modulus = rsa.n.as_positive_bytes().map_or(0, <[u8]>::len);
        if !RSA_BYTES.contains(&modulus) {
            return Err(SignersFlaw::RsaSize);
        }
    }
    Ok(key.key_data().clone())
}

#[cfg(test)]
mod tests;
