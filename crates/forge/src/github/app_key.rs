//! The private key of a GitHub app, and the JSON web tokens that it signs.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use std::fmt;

/// The time between `iat` and `exp`. GitHub admits ten minutes.
pub const JWT_SECONDS: i64 = 9 * 60;

/// The time by which `iat` lies in the past, as GitHub's documentation advises: a clock that is a little
/// ahead of GitHub's would otherwise issue tokens in the future.
const JWT_BACKDATE_SECONDS: i64 = 60;

/// The private key of an app.
pub struct AppKey(RsaKeyPair);

/// The reason why a text is not the key of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppKeyError {
    /// There is no block of PEM with a private key.
    NotPem,
    /// The key is protected by a passphrase.
    Encrypted,
    /// The block is not an RSA key of 2048 to 4096 bits.
    NotRsa,
}

impl fmt::Display for AppKeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            AppKeyError::NotPem => "it is not a private key in PEM",
            AppKeyError::Encrypted => "it is encrypted",
            AppKeyError::NotRsa => "it is not an RSA key of 2048 to 4096 bits",
        })
    }
}

impl std::error::Error for AppKeyError {}

impl AppKey {
    /// Parses the file that GitHub gives to the owner of an app (PKCS #1), or the same key as PKCS #8.
    pub fn from_pem(text: &str) -> Result<AppKey, AppKeyError> {
        let (label, body) = pem_block(text).ok_or(AppKeyError::NotPem)?;
        if label == "ENCRYPTED PRIVATE KEY" || body.contains("ENCRYPTED") {
            return Err(AppKeyError::Encrypted);
        }
        let base64: String = body.split_whitespace().collect();
        let der = STANDARD.decode(base64).map_err(|_| AppKeyError::NotPem)?;
        let key = match label {
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
            "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
            _ => return Err(AppKeyError::NotPem),
        };
        key.map(AppKey).map_err(|_| AppKeyError::NotRsa)
    }

    /// Signs a token for the app that is valid from now on, in seconds since 1970. Returns `None` if the
    /// system has no random bytes.
    pub(super) fn sign(&self, app_id: &str, now: i64) -> Option<String> {
        let issued = now - JWT_BACKDATE_SECONDS;
        let claims = json!({ "iat": issued, "exp": issued + JWT_SECONDS, "iss": app_id });
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","typ":"JWT"}"#);
        let mut token = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let mut signature = vec![0; self.0.public().modulus_len()];
        let random = SystemRandom::new();
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, token.as_bytes(), &mut signature)
            .ok()?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Some(token)
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AppKey")
    }
}

/// Returns the label and the body of the first block of PEM.
fn pem_block(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    Some((label, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_testkit::{APP_KEY_PKCS1 as PKCS1, APP_KEY_PKCS8 as PKCS8};
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    #[test]
    fn token_has_the_claims_and_verifies() {
        for pem in [PKCS1, PKCS8] {
            let key = AppKey::from_pem(pem).unwrap();
            let token = key.sign("123", 1_700_000_000).unwrap();
            let parts: Vec<&str> = token.split('.').collect();
            let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
            let json = |part: &str| serde_json::from_slice::<Value>(&decoded(part)).unwrap();
            assert_eq!(json(parts[0]), json!({ "alg": "RS256", "typ": "JWT" }));
            let claims = json!({ "iat": 1_699_999_940, "exp": 1_700_000_480, "iss": "123" });
            assert_eq!(json(parts[1]), claims);
            let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.0.public());
            let signed = format!("{}.{}", parts[0], parts[1]);
            assert!(public.verify(signed.as_bytes(), &decoded(parts[2])).is_ok());
            assert_eq!(format!("{key:?}"), "AppKey");
        }
    }

    #[test]
    fn text_that_is_not_a_key_is_refused() {
        let broken = PKCS1.replace("MII", "MIJ");
        let encrypted = PKCS1.replace("KEY-----\nM", "KEY-----\nProc-Type: 4,ENCRYPTED\n\nM");
        for (text, error) in [
            ("", AppKeyError::NotPem),
            ("ghp_0123456789abcdef", AppKeyError::NotPem),
            (&PKCS1[..PKCS1.len() / 2], AppKeyError::NotPem),
            (&PKCS1.replace('+', "*"), AppKeyError::NotPem),
            (
                "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
                AppKeyError::NotPem,
            ),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
                AppKeyError::Encrypted,
            ),
            (&encrypted, AppKeyError::Encrypted),
            (&broken, AppKeyError::NotRsa),
        ] {
            assert_eq!(AppKey::from_pem(text).unwrap_err(), error, "{text}");
        }
    }
}
