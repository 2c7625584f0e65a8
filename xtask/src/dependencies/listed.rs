//! Compares `docs/dependencies.md`, which gives a reason for each dependency, with the manifests.

use super::DirectDependency;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const PAGE: &str = "docs/dependencies.md";
const TABLE: &str = "[workspace.dependencies]";

/// Returns the third-party packages in `[workspace.dependencies]`.
pub(crate) fn in_manifest(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == TABLE;
            let own_table = line.strip_prefix("[workspace.dependencies.");
            names.extend(own_table.map(|rest| rest.trim_end_matches(']').to_owned()));
        } else if inside && !line.starts_with('#') {
            let external = line.split_once('=').filter(|(_, rest)| !is_ours(rest));
            names.extend(external.map(|(name, _)| name.trim().to_owned()));
        }
    }
    names
}

fn is_ours(specification: &str) -> bool {
    specification.contains("path =") || specification.contains("path=")
}

/// Returns the packages in backticks in the first column of the page's table.
pub(crate) fn on_page(page: &str) -> BTreeSet<String> {
    let first_cell = |line: &str| line.strip_prefix('|')?.split('|').next().map(str::to_owned);
    let in_backticks = |cell: String| {
        let parts = cell.split('`').skip(1).step_by(2).map(str::to_owned);
        parts.collect::<Vec<_>>()
    };
    page.lines()
        .filter_map(first_cell)
        .flat_map(in_backticks)
        .collect()
}

/// Returns the packages that only one of the two has, one sentence each.
pub(crate) fn differences(manifest: &BTreeSet<String>, page: &BTreeSet<String>) -> Vec<String> {
    let unexplained = manifest.difference(page).map(|name| {
        format!("`{name}` has no line in {PAGE}: say who uses it, and why it and not another")
    });
    let outdated = page
        .difference(manifest)
        .map(|name| format!("{PAGE} has a line for `{name}`, which is not in {TABLE}: remove it"));
    unexplained.chain(outdated).collect()
}

/// Compares the page's column "used by" with the members that really declare each dependency.
pub(crate) fn wrong_users(page: &str, direct: &[DirectDependency]) -> Vec<String> {
    let users = users(direct);
    let mut wrong = Vec::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let mut cells = row.split(" | ");
        let (Some(first), Some(cell)) = (cells.next(), cells.next()) else {
            continue;
        };
        let name = first.trim_end_matches('`');
        match users.get(name) {
            Some(real) if real != cell => wrong.push(format!(
                "{PAGE}: `{name}` is used by \"{real}\", and the page has \"{cell}\""
            )),
            None => wrong.push(format!("{PAGE}: no member uses `{name}`: remove it")),
            Some(_) => {}
        }
    }
    wrong
}

/// Returns the text of the cell for each dependency: `audit, candor, tests of wire`.
fn users(direct: &[DirectDependency]) -> BTreeMap<&str, String> {
    let mut shipped: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut tested: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in direct {
        let member = one.member.strip_prefix("candor-").unwrap_or(&one.member);
        let by_kind = if one.for_tests {
            &mut tested
        } else {
            &mut shipped
        };
        let optional = if one.optional { " (optional)" } else { "" };
        let of_name = by_kind.entry(&one.name).or_default();
        of_name.insert(format!("{member}{optional}"));
        shipped.entry(&one.name).or_default();
    }
    let mut cells = BTreeMap::new();
    for (name, shipped) in shipped {
        let tested = tested.remove(name).unwrap_or_default();
        let only_tested: Vec<String> = tested.difference(&shipped).cloned().collect();
        let mut parts: Vec<String> = shipped.into_iter().collect();
        if !only_tested.is_empty() {
            parts.push(format!("tests of {}", only_tested.join(", ")));
        }
        cells.insert(name, parts.join(", "));
    }
    cells
}

/// Returns the direct dependencies that a member declares outside `[workspace.dependencies]`.
pub(crate) fn past_the_list(
    manifest: &BTreeSet<String>,
    direct: &[DirectDependency],
) -> Vec<String> {
    let unlisted = direct.iter().filter(|one| !manifest.contains(&one.name));
    unlisted
        .map(|DirectDependency { member, name, .. }| {
            format!("{member} depends on `{name}`, which is not in {TABLE}: put it there")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn workspace_crates_are_not_third_party() {
        let manifest = "[workspace]\nresolver = \"3\"\n[workspace.dependencies]\nours = { path = \"x\" }\n# why\n\
                        http = \"1\"\nrmcp = { version = \"=3.8.0\" }\n[workspace.dependencies.clap]\nversion = \"4\"\n\
                        [workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        assert_eq!(in_manifest(manifest), set(&["clap", "http", "rmcp"]));
    }

    #[test]
    fn page_cell_may_name_several_packages() {
        let page = "# Dependencies\nUses `x`.\n| crate | why |\n|---|---|\n| `hyper`, `hyper-util` | `y` |\n";
        assert_eq!(on_page(page), set(&["hyper", "hyper-util"]));
    }

    #[test]
    fn differences_go_both_ways() {
        let wrong = differences(&set(&["a", "b"]), &set(&["b", "c"]));
        assert_eq!(wrong.len(), 2);
        assert!(wrong[0].starts_with("`a` has no line"));
        assert!(wrong[1].contains("`c`"));
    }

    #[test]
    fn unlisted_dependency_is_reported_with_its_member() {
        let wrong = past_the_list(&set(&["tokio"]), &[direct("candor-wire", "mio", false)]);
        assert!(wrong[0].starts_with("candor-wire depends on `mio`"));
    }

    #[test]
    fn users_on_the_page_must_be_the_members_that_declare_it() {
        let declared = [
            direct("candor-wire", "bytes", false),
            direct("candor-audit", "bytes", true),
            direct("candor-forge", "bytes", false),
            direct("candor-forge", "bytes", true),
        ];
        let page = "| crate | used by | why |\n|---|---|---|\n| `bytes` | forge, wire, tests of audit | a |\n";
        assert_eq!(wrong_users(page, &declared), Vec::<String>::new());
        let wrong = wrong_users("| `bytes` | wire | a |\n| `mio` | wire | b |", &declared);
        assert_eq!(
            wrong,
            [
                "docs/dependencies.md: `bytes` is used by \"forge, wire, tests of audit\", and the page has \"wire\"",
                "docs/dependencies.md: no member uses `mio`: remove it"
            ]
        );
    }

    fn direct(member: &str, name: &str, for_tests: bool) -> DirectDependency {
        DirectDependency {
            member: member.to_owned(),
            name: name.to_owned(),
            for_tests,
            optional: false,
        }
    }
}
