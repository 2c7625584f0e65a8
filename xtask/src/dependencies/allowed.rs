//! Compares the licences and second versions of dependencies with the list of allowed ones.

use super::lock::{self, Older};
use super::spdx::{self, Expression};
use crate::ledger::{self, LedgerEntry};

pub(crate) const FILE: &str = "xtask/allowed.txt";
const LICENCES: &str = "licences";
const DUPLICATES: &str = "duplicates";

/// A third-party package and the licence that it declares.
#[derive(Debug, Clone)]
pub(crate) struct PackageLicence {
    pub(crate) package: String,
    pub(crate) licence: Option<String>,
}

/// Returns every difference between packages and list, one sentence each.
pub(crate) fn licences(entries: &[LedgerEntry], packages: &[PackageLicence]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut read: Vec<(&PackageLicence, Expression)> = Vec::new();
    for package in packages {
        let Some(licence) = &package.licence else {
            wrong.push(format!("{} declares no licence", package.package));
            continue;
        };
        match spdx::parse(licence) {
            Ok(expression) => read.push((package, expression)),
            Err(why) => wrong.push(format!(
                "{} declares `{licence}`, which is not a licence expression: {why}",
                package.package
            )),
        }
    }
    let listed = ledger::section(entries, LICENCES);
    let met_by = |names: &[&LedgerEntry], expression: &Expression| {
        expression.is_met(&|licence| names.iter().any(|entry| entry.subject == licence))
    };
    for (package, expression) in &read {
        if !met_by(&listed, expression) {
            wrong.push(format!(
                "{} is under `{}`, which {FILE} does not allow",
                package.package,
                package.licence.as_deref().unwrap_or_default()
            ));
        }
    }
    read.retain(|(_, expression)| met_by(&listed, expression));
    wrong.extend(unneeded(&listed, |fewer| {
        read.iter().all(|(_, expression)| met_by(fewer, expression))
    }));
    wrong
}

/// Returns the entries that can all be removed together without refusing a package.
fn unneeded(listed: &[&LedgerEntry], still_fine: impl Fn(&[&LedgerEntry]) -> bool) -> Vec<String> {
    let mut kept = listed.to_vec();
    let mut wrong = Vec::new();
    for entry in listed {
        let fewer: Vec<&LedgerEntry> = kept
            .iter()
            .copied()
            .filter(|other| *other != *entry)
            .collect();
        if still_fine(&fewer) {
            wrong.push(format!(
                "{FILE}:{}: no dependency needs the licence `{}`: remove the line",
                entry.line, entry.subject
            ));
            kept = fewer;
        }
    }
    wrong
}

/// Returns every second version without a reason, and every reason without a second version.
pub(crate) fn duplicates(entries: &[LedgerEntry], older: &[Older]) -> Vec<String> {
    let listed = ledger::section(entries, DUPLICATES);
    let covers = |entry: &LedgerEntry, found: &Older| {
        let parts = entry.subject.split_once(' ');
        parts.is_some_and(|(name, line)| {
            name == found.name && lock::is_of_line(&found.version, line)
        })
    };
    let unexplained = older
        .iter()
        .filter(|found| !listed.iter().any(|entry| covers(entry, found)))
        .map(|found| {
            let Older {
                name,
                version,
                newest,
            } = found;
            format!(
                "{name} {version} is locked beside {newest}: unify them (`cargo tree -i {name}@{version}` \
                 shows who asks), or add `{name} {}  reason` to [{DUPLICATES}] of {FILE}",
                lock::line_of(version)
            )
        });
    let outdated = listed
        .iter()
        .filter(|entry| !older.iter().any(|found| covers(entry, found)))
        .map(|entry| {
            format!(
                "{FILE}:{}: `{}` is no longer a second version: remove the line",
                entry.line, entry.subject
            )
        });
    unexplained.chain(outdated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<LedgerEntry> {
        ledger::read(FILE, text).unwrap()
    }

    fn declared(pairs: &[(&str, Option<&str>)]) -> Vec<PackageLicence> {
        let one = |(package, licence): &(&str, Option<&str>)| PackageLicence {
            package: (*package).to_owned(),
            licence: licence.map(str::to_owned),
        };
        pairs.iter().map(one).collect()
    }

    #[test]
    fn unlisted_licence_is_reported_with_its_package() {
        let list = entries("[licences]\nMIT  x\n");
        let packages = declared(&[
            ("a 1", Some("MIT OR Apache-2.0")),
            ("b 2", Some("AGPL-3.0-only")),
            ("c 3", None),
            ("d 4", Some("MIT OR")),
        ]);
        assert_eq!(
            licences(&list, &packages),
            [
                "c 3 declares no licence",
                "d 4 declares `MIT OR`, which is not a licence expression: it ends too early",
                "b 2 is under `AGPL-3.0-only`, which xtask/allowed.txt does not allow",
            ]
        );
    }

    #[test]
    fn unused_licence_is_reported() {
        let list = entries("[licences]\nMIT  x\nUnlicense  y\nZlib  z\n");
        let packages = declared(&[("a 1", Some("Unlicense OR MIT")), ("b 2", Some("MIT"))]);
        let wrong = licences(&list, &packages);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("`Unlicense`") && wrong[1].contains("`Zlib`"));
    }

    #[test]
    fn of_two_that_can_stand_in_for_each_other_only_one_leaves() {
        let list = entries("[licences]\nMIT  x\nApache-2.0  y\n");
        let packages = declared(&[("a 1", Some("MIT OR Apache-2.0"))]);
        let wrong = licences(&list, &packages);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("`MIT`"));
    }

    #[test]
    fn duplicates_need_a_reason_and_a_reason_needs_duplicates() {
        let list = entries("[duplicates]\nsyn 2  derive macros\nrand 0.8  gone\n");
        let found = |name: &str, version: &str, newest: &str| Older {
            name: name.into(),
            version: version.into(),
            newest: newest.into(),
        };
        let older = [
            found("syn", "2.0.119", "3.0.9"),
            found("getrandom", "0.3.4", "0.4.3"),
        ];
        let wrong = duplicates(&list, &older);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(
            wrong[0].contains("add `getrandom 0.3  reason`"),
            "{wrong:?}"
        );
        assert!(wrong[1].starts_with("xtask/allowed.txt:3: `rand 0.8`"));
    }
}
