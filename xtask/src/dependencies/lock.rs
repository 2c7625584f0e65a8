//! Reads `Cargo.lock` and finds packages that are locked in several versions.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A package that is locked in a newer version too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Older {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) newest: String,
}

/// Returns the versions of each package, oldest first.
pub(crate) fn versions(lock: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = None;
    for line in lock.lines() {
        if line == "[[package]]" {
            name = None;
        } else if let Some(value) = quoted(line, "name") {
            name = Some(value);
        } else if let (Some(version), Some(name)) = (quoted(line, "version"), name.take()) {
            found.entry(name).or_default().push(version);
        }
    }
    for versions in found.values_mut() {
        versions.sort_by(|one, other| ordered(one, other));
    }
    found
}

/// Returns every version that is locked beside a newer one of the same package.
pub(crate) fn older(lock: &str) -> Vec<Older> {
    let mut found = Vec::new();
    for (name, versions) in versions(lock) {
        let Some((newest, rest)) = versions.split_last() else {
            continue;
        };
        found.extend(rest.iter().map(|version| Older {
            name: name.clone(),
            version: version.clone(),
            newest: newest.clone(),
        }));
    }
    found
}

/// Returns true if a version belongs to a line such as `0.3` or `1`.
pub(crate) fn is_of_line(version: &str, line: &str) -> bool {
    version
        .strip_prefix(line)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the compatible line of a version: `1` for `1.3.2`, `0.3` for `0.3.4`.
pub(crate) fn line_of(version: &str) -> String {
    let mut parts = version.split('.');
    let major = parts.next().unwrap_or_default();
    match (major, parts.next()) {
        ("0", Some(minor)) => format!("0.{minor}"),
        _ => major.to_owned(),
    }
}

fn quoted(line: &str, key: &str) -> Option<String> {
    let value = line.strip_prefix(key)?.strip_prefix(" = \"")?;
    value.strip_suffix('"').map(str::to_owned)
}

fn ordered(one: &str, other: &str) -> Ordering {
    let numbers = |version: &str| {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        let parts = release.split('.').map(|part| part.parse::<u64>());
        parts.map(Result::unwrap_or_default).collect::<Vec<_>>()
    };
    numbers(one).cmp(&numbers(other)).then(one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"version = 4

[[package]]
name = "syn"
version = "3.0.9"
dependencies = [
 "quote",
]

[[package]]
name = "syn"
version = "2.0.119"

[[package]]
name = "quote"
version = "1.0.0"
"#;

    #[test]
    fn versions_come_oldest_first_and_the_file_version_is_none() {
        let found = versions(LOCK);
        assert_eq!(found["syn"], ["2.0.119", "3.0.9"]);
        assert_eq!(found["quote"], ["1.0.0"]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn only_versions_with_a_newer_one_are_old() {
        let wanted = Older {
            name: "syn".into(),
            version: "2.0.119".into(),
            newest: "3.0.9".into(),
        };
        assert_eq!(older(LOCK), [wanted]);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert_eq!(ordered("0.10.0", "0.9.3"), Ordering::Greater);
        assert_eq!(ordered("1.0.4+wasi-0.2.12", "1.0.4"), Ordering::Greater);
    }

    #[test]
    fn lines_end_at_a_dot() {
        assert!(is_of_line("0.3.4", "0.3"));
        assert!(is_of_line("0.3.4", "0.3.4"));
        assert!(!is_of_line("0.30.4", "0.3"));
        assert_eq!(line_of("0.3.4"), "0.3");
        assert_eq!(line_of("1.3.2"), "1");
    }
}
