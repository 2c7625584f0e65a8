//! The sandbox depends on no other crate of this workspace.

/// Reads the manifest that this crate is built from.
#[test]
fn sandbox_depends_on_none_of_our_crates() {
    let manifest = include_str!("../../Cargo.toml");
    let (_, from) = manifest.split_once("[dependencies]\n").unwrap();
    let (dependencies, _) = from.split_once("\n[").unwrap();
    assert!(dependencies.contains("rustix"), "{dependencies}");
    let ours: Vec<&str> = dependencies
        .lines()
        .filter(|line| line.contains("candor") || line.contains("path ="))
        .collect();
    assert_eq!(ours, Vec::<&str>::new());
}
