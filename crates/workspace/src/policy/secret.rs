//! Secrets whose shape is proof enough.

use super::report::{PolicyRule, RawFinding};
use candor_secrets::SecretKind;

/// Finds the secrets of a text, in their order.
pub(super) fn find(text: &str) -> impl Iterator<Item = RawFinding> {
    let found = candor_secrets::find(text).into_iter();
    found.filter(|found| found.kind.is_certain()).map(|found| {
        let rule = match found.kind {
            SecretKind::PrivateKey => PolicyRule::PrivateKey,
            _ => PolicyRule::SecretToken,
        };
        RawFinding {
            rule,
            range: found.range,
        }
    })
}
