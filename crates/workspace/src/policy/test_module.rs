//! Finds out whether a file of Rust is a module that exists in tests only, by its declaration in the file
//! of the module above it.

use super::rust::{Declaration, declaration_of};

/// The maximum number of modules above one that are looked at.
const MAX_DEPTH: usize = 16;

/// Returns true if the module above a file declares it under `#[cfg(test)]`, or is such a module itself.
/// `read` returns the text of a file.
pub fn is_test_module(path: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_DEPTH {
        let Some((name, parents)) = module_of(&path) else {
            return false;
        };
        let mut declarations = parents.into_iter().filter_map(|parent| {
            let text = read(&parent)?;
            Some((declaration_of(&text, &name)?, parent))
        });
        match declarations.next() {
            Some((Declaration::Test, _)) => return true,
            Some((Declaration::Usual, parent)) => path = parent,
            None => return false,
        }
    }
    false
}

/// Returns the name of the module in a file, and the files that may declare it.
fn module_of(path: &str) -> Option<(String, Vec<String>)> {
    let (dir, file) = path.rsplit_once('/')?;
    let (name, dir) = match file {
        "lib.rs" | "main.rs" => return None,
        "mod.rs" => {
            let (above, name) = dir.rsplit_once('/')?;
            (name, above)
        }
        file => (file.strip_suffix(".rs")?, dir),
    };
    let mut parents: Vec<_> = ["mod.rs", "lib.rs", "main.rs"]
        .map(|file| format!("{dir}/{file}"))
        .into();
    parents.push(format!("{dir}.rs"));
    parents.retain(|parent| parent != path);
    Some((name.to_owned(), parents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn is_test(path: &str, files: &[(&str, &str)]) -> bool {
        let files: BTreeMap<_, _> = files.iter().copied().collect();
        is_test_module(path, &mut |path| {
            files.get(path).map(|text| (*text).to_owned())
        })
    }

    #[test]
    fn declaration_of_the_parent_decides() {
        for (path, file, text, expected) in [
            (
                "src/tests.rs",
                "src/lib.rs",
                "#[cfg(test)]\nmod tests;\n",
                true,
            ),
            (
                "src/tests.rs",
                "src/main.rs",
                "#[cfg(test)] pub(crate) mod tests;",
                true,
            ),
            (
                "src/a/tests.rs",
                "src/a.rs",
                "#[cfg(test)] mod tests;",
                true,
            ),
            (
                "src/a/tests.rs",
                "src/a/mod.rs",
                "#[cfg(all(test, unix))] mod tests;",
                true,
            ),
            (
                "src/tests/mod.rs",
                "src/lib.rs",
                "#[cfg(test)] mod tests;",
                true,
            ),
            ("src/lib.rs", "src/main.rs", "#[cfg(test)] mod lib;", false),
            ("src/tests.rs", "src/lib.rs", "mod tests;", false),
            (
                "src/tests.rs",
                "src/lib.rs",
                "#[cfg(not(test))] mod tests;",
                false,
            ),
            (
                "src/tests.rs",
                "src/lib.rs",
                "#[cfg(test)] mod tests; mod tests;",
                false,
            ),
            (
                "src/tests.rs",
                "src/lib.rs",
                "mod inner { #[cfg(test)] mod tests; }",
                false,
            ),
            (
                "src/tests.rs",
                "src/lib.rs",
                "// #[cfg(test)] mod tests;",
                false,
            ),
            (
                "src/tests.rs",
                "src/lib.rs",
                "#[cfg(test)] mod other;",
                false,
            ),
            (
                "src/tests.rs",
                "other/lib.rs",
                "#[cfg(test)] mod tests;",
                false,
            ),
        ] {
            assert_eq!(
                is_test(path, &[(file, text)]),
                expected,
                "{path} {file}: {text}"
            );
        }
    }

    #[test]
    fn module_of_a_test_module_is_one() {
        let files = [
            ("src/lib.rs", "#[cfg(test)] mod tests;"),
            ("src/tests.rs", "mod helper;"),
        ];
        assert!(is_test("src/tests/helper.rs", &files));
        assert!(!is_test("src/tests/other.rs", &files));
    }
}
