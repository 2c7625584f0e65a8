//! The direction of dependencies inside the crate.

use std::fs;
use std::path::Path;

/// Collects the modules of this crate that the sources in a folder name.
fn collect_modules(folder: &Path, modules: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_modules(&path, modules);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (_, rest) in text
            .match_indices("crate::")
            .map(|(at, found)| text.split_at(at + found.len()))
        {
            let end = rest.find(|one: char| !one.is_alphanumeric() && one != '_');
            let module = &rest[..end.unwrap_or(rest.len())];
            modules.push((path.display().to_string(), module.to_owned()));
        }
    }
}

#[test]
fn sql_depends_on_the_adapter_trait_and_the_model_only() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
    let mut modules = Vec::new();
    collect_modules(&folder, &mut modules);
    assert!(!modules.is_empty());
    let allowed = ["adapter", "failure", "model", "sql"];
    modules.retain(|(_, module)| !allowed.contains(&module.as_str()) && module != "in");
    assert_eq!(modules, []);
}
