//! The page that says why each dependency is here, against the list in `Cargo.toml`.

use std::collections::BTreeSet;

pub(crate) const PAGE: &str = "docs/dependencies.md";
const TABLE: &str = "[workspace.dependencies]";

/// The packages from outside that `[workspace.dependencies]` names.
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

/// The packages that the first cells of the page's table name, in backticks.
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

/// What one of the two has and the other has not, one sentence each.
pub(crate) fn differences(manifest: &BTreeSet<String>, page: &BTreeSet<String>) -> Vec<String> {
    let unexplained = manifest.difference(page).map(|name| {
        format!("`{name}` has no line in {PAGE}: say who uses it, and why it and not another")
    });
    let outdated = page
        .difference(manifest)
        .map(|name| format!("{PAGE} has a line for `{name}`, which is not in {TABLE}: remove it"));
    unexplained.chain(outdated).collect()
}

/// Direct dependencies that a package declares past the one list.
pub(crate) fn past_the_list(
    manifest: &BTreeSet<String>,
    direct: &[(String, String)],
) -> Vec<String> {
    let unlisted = direct.iter().filter(|(_, name)| !manifest.contains(name));
    unlisted
        .map(|(member, name)| {
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
    fn the_manifest_gives_names_from_outside_only() {
        let manifest = "[workspace]\nresolver = \"3\"\n[workspace.dependencies]\nours = { path = \"x\" }\n# why\n\
                        http = \"1\"\nrmcp = { version = \"=3.8.0\" }\n[workspace.dependencies.clap]\nversion = \"4\"\n\
                        [workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        assert_eq!(in_manifest(manifest), set(&["clap", "http", "rmcp"]));
    }

    #[test]
    fn the_page_may_name_several_packages_in_a_cell() {
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
    fn a_dependency_past_the_list_names_its_package() {
        let direct = [("candor-wire".to_owned(), "mio".to_owned())];
        let wrong = past_the_list(&set(&["tokio"]), &direct);
        assert!(wrong[0].starts_with("candor-wire depends on `mio`"));
    }
}
