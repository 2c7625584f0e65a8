//! Checks the text that an edit adds to a file. Old findings are not the edit's fault, so those of the
//! old text are subtracted from those of the new one, by rule and by the text of their line.

mod conflict;
mod decode;
mod report;
mod rust;
mod secret;
mod test_module;

pub use report::{Finding, MAX_FINDING_TEXT, MAX_FINDINGS, PolicyReport, PolicyRule, Profile};

pub use test_module::is_test_module;

use decode::decode;
use report::RawFinding;

/// An edit to be judged.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequest<'a> {
    /// The path below the root, with `/`.
    pub path: &'a str,
    /// The old path and the old bytes, or `None` if there was no file.
    pub before: Option<(&'a str, &'a [u8])>,
    /// The bytes after.
    pub after: &'a [u8],
    /// True if the profile `rust-strict` is on.
    pub rust_strict: bool,
    /// Rules that are excepted.
    pub exceptions: &'a [PolicyRule],
}

/// Checks an edit. Returns the findings that the policy forbids.
pub fn check(request: PolicyRequest<'_>) -> PolicyReport {
    let findings = |path: &str, bytes: &[u8], text: &str| {
        let mut found = conflict::find(text);
        found.extend(secret::find(text));
        if request.rust_strict && rust::is_judged(path) {
            found.extend(rust::find(bytes, text));
        }
        found.retain(|raw| !request.exceptions.contains(&raw.rule));
        found
    };
    let after = decode(request.after);
    let mut added: Vec<RawFinding> = findings(request.path, request.after, &after);
    if let Some((path, bytes)) = request.before
        && !added.is_empty()
    {
        let before = decode(bytes);
        let old = findings(path, bytes, &before);
        report::take_away(&mut added, &after, &old, &before);
    }
    report::report(added, &after)
}

#[cfg(test)]
mod tests;
