//! Secrets whose shape is proof enough.

use super::report::{Raw, Rule};
use candor_secrets::SecretKind;

/// The secrets of a text, in their order.
pub(super) fn find(text: &str) -> impl Iterator<Item = Raw> {
    let found = candor_secrets::find(text).into_iter();
    found.filter(|found| found.kind.is_certain()).map(|found| {
        let rule = match found.kind {
            SecretKind::PrivateKey => Rule::PrivateKey,
            _ => Rule::SecretToken,
        };
        Raw {
            rule,
            range: found.range,
        }
    })
}
