//! A private key of a GitHub app that exists nowhere, in both forms of PEM.

/// As GitHub gives it to the owner of an app.
pub const APP_KEY_PKCS1: &str = include_str!("pkcs1.pem");

/// The same key as `openssl pkcs8` writes it.
pub const APP_KEY_PKCS8: &str = include_str!("pkcs8.pem");
