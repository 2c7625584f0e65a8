//! The list of all registries, to which a new dialect is added.

use candor_fault::{CANDOR_REGISTRY, CodeRow, Registry, WIRE_REGISTRY};

/// Every registry, in the order of the documentation.
pub static REGISTRIES: [&Registry; 7] = [
    &candor_context::REGISTRY,
    &candor_context::REGISTRY_V1,
    &candor_forge::REGISTRY,
    &candor_workspace::REGISTRY,
    &candor_orders::REGISTRY,
    &WIRE_REGISTRY,
    &CANDOR_REGISTRY,
];

/// Returns the registry with this name, in upper or lower case.
pub fn find_registry(name: &str) -> Option<&'static Registry> {
    REGISTRIES
        .into_iter()
        .find(|registry| registry.name.eq_ignore_ascii_case(name))
}

/// Returns the rows of a code or code name: one row for `orders/3001`, the rows of all dialects for
/// `3001`.
pub fn find_rows(key: &str) -> Vec<&'static CodeRow> {
    let (registries, code) = match key.split_once('/') {
        Some((name, code)) => (find_registry(name).into_iter().collect(), code),
        None => (REGISTRIES.to_vec(), key),
    };
    let rows = registries.into_iter().flat_map(|registry| registry.rows);
    rows.filter(|row| row.name.eq_ignore_ascii_case(code) || row.code.is_written_as(code))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn rows() -> impl Iterator<Item = &'static CodeRow> {
        REGISTRIES.into_iter().flat_map(|registry| registry.rows)
    }

    #[test]
    fn every_registry_has_its_number_of_codes() {
        let counts = REGISTRIES.map(|registry| (registry.name, registry.rows.len()));
        let expected = [
            ("context", 6),
            ("context-v1", 8),
            ("github", 8),
            ("workspace", 35),
            ("orders", 8),
            ("wire", 9),
            ("candor", 6),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn every_row_is_in_its_registry_once() {
        for registry in REGISTRIES {
            let rows = registry.rows;
            assert!(rows.iter().all(|row| row.dialect == registry.name));
            let codes: BTreeSet<_> = rows.iter().map(|row| row.code).collect();
            let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
            assert_eq!((codes.len(), names.len()), (rows.len(), rows.len()));
        }
    }

    #[test]
    fn every_remedy_is_one_sentence() {
        for row in rows() {
            let remedy = row.remedy;
            assert!(remedy.starts_with(char::is_uppercase), "{remedy}");
            assert!(remedy.ends_with('.'), "{remedy}");
            assert!(!remedy.contains(". "), "{remedy}");
            assert!(!remedy.contains('\n'), "{remedy}");
        }
    }

    #[test]
    fn messages_have_no_full_stop_and_meanings_have_one() {
        for row in rows() {
            assert!(!row.message.is_empty());
            assert!(!row.message.ends_with(['.', ' ', '\n']), "{}", row.message);
            assert!(row.meaning.ends_with('.'), "{}", row.meaning);
            for reason in row.reasons {
                assert!(reason.meaning.ends_with('.'), "{}", reason.meaning);
            }
        }
    }

    #[test]
    fn every_row_is_frozen() {
        assert!(rows().all(|row| row.frozen));
    }

    #[test]
    fn only_context_codes_have_exit_codes() {
        let exits: BTreeSet<_> = rows().filter_map(|row| row.exit).collect();
        assert_eq!(
            exits.into_iter().collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        for row in rows() {
            let of_context = row.dialect.starts_with("context");
            assert_eq!(row.exit.is_some(), of_context, "{}", row.name);
        }
    }

    #[test]
    fn every_published_schema_is_valid_and_self_contained() {
        for file in REGISTRIES
            .into_iter()
            .flat_map(|registry| (registry.schemas)())
        {
            let name = file.name;
            assert!(jsonschema::meta::is_valid(&file.schema), "{name}");
            assert!(jsonschema::validator_for(&file.schema).is_ok(), "{name}");
            assert!(!file.schema.to_string().contains("$ref"), "{name}");
        }
    }

    #[test]
    fn codes_are_found_with_and_without_their_dialect() {
        let names = |key| -> Vec<String> {
            let rows = find_rows(key);
            rows.iter()
                .map(|row| format!("{}/{}", row.dialect, row.name))
                .collect()
        };
        assert_eq!(names("orders/3001"), ["orders/RATE_LIMIT_EXCEEDED"]);
        assert_eq!(
            names("-32602"),
            ["github/INVALID_PARAMS", "wire/INVALID_PARAMS"]
        );
        assert_eq!(names("hash_mismatch"), ["workspace/HASH_MISMATCH"]);
        assert_eq!(names("github/hash_mismatch"), [""; 0]);
    }
}
