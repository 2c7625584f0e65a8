//! Every protected change in `documents/` is reported, even in documents that are not selected.

use crate::fixture::{file_of, make_fifo};
use crate::tampered_cache::{Edit, SOURCES, TamperedCache, tampered};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// Creates something in place of a document.
type Put = dyn Fn(&TamperedCache, &str);

/// Returns the files of all documents: selected ones, an empty one, one beyond the budget.
fn files() -> [String; 4] {
    SOURCES.map(|(_, content)| file_of(content))
}

#[test]
fn missing_document_is_reported() {
    for file in files() {
        let problems = tampered(|cache| fs::remove_file(cache.path(&file)).unwrap());
        assert_eq!(problems, [format!("{file}: missing")]);
    }
}

#[test]
fn document_that_is_not_a_file_is_reported() {
    let directory = |cache: &TamperedCache, file: &str| fs::create_dir(cache.path(file)).unwrap();
    let fifo = |cache: &TamperedCache, file: &str| make_fifo(&cache.path(file));
    let link =
        |cache: &TamperedCache, file: &str| symlink("../../moved", cache.path(file)).unwrap();
    let absolute = |cache: &TamperedCache, file: &str| {
        symlink(cache.outside("moved"), cache.path(file)).unwrap()
    };
    let dangling =
        |cache: &TamperedCache, file: &str| symlink("nowhere", cache.path(file)).unwrap();
    let kinds: [&Put; 5] = [&directory, &fifo, &link, &absolute, &dangling];
    for put in kinds {
        for file in files() {
            let problems = tampered(|cache| {
                fs::rename(cache.path(&file), cache.outside("moved")).unwrap();
                put(cache, &file);
            });
            assert_eq!(problems, [format!("{file}: not of the right kind")]);
        }
    }
}

#[test]
fn changed_content_is_reported() {
    for (file, (_, content)) in files().iter().zip(SOURCES) {
        let problems = tampered(|cache| {
            cache.edit(file, |all| {
                let changed = match content {
                    "" => String::from(" "),
                    // The length is unchanged: only the times differ.
                    content => content.replace('a', "A"),
                };
                all["content"] = json!(changed);
            });
        });
        assert_eq!(
            problems,
            [format!("{file}: the content does not hash to its version")]
        );
    }
}

#[test]
fn byte_changed_in_place_is_reported() {
    let file = file_of(SOURCES[3].1);
    let problems = tampered(|cache| {
        let text = cache.text(&file);
        cache.write(&file, text.replacen("too large", "too largE", 1));
    });
    assert_eq!(
        problems,
        [format!("{file}: the content does not hash to its version")]
    );
}

#[test]
fn restored_modification_time_hides_nothing() {
    let file = file_of(SOURCES[3].1);
    let problems = tampered(|cache| {
        let before = fs::metadata(cache.path(&file)).unwrap().modified().unwrap();
        let text = cache.text(&file);
        cache.write(&file, text.replacen("too large", "too largE", 1));
        let written = fs::File::options()
            .write(true)
            .open(cache.path(&file))
            .unwrap();
        written.set_modified(before).unwrap();
    });
    assert_eq!(
        problems,
        [format!("{file}: the content does not hash to its version")]
    );
}

#[test]
fn other_version_is_reported() {
    let file = file_of(SOURCES[0].1);
    let problems = tampered(|cache| {
        cache.edit(&file, |all| {
            all["content"] = json!("other");
            all["version"] = json!(candor_context::Digest::of(b"other").to_string());
        });
    });
    assert_eq!(
        problems,
        [format!("{file}: it holds another version of the document")]
    );
}

#[test]
fn other_id_is_reported() {
    for id in ["A.md", "a.md ", ""] {
        let file = file_of(SOURCES[0].1);
        let problems = tampered(|cache| cache.edit(&file, |all| all["id"] = json!(id)));
        assert_eq!(
            problems,
            [format!("{file}: it holds a document with another id")]
        );
    }
}

#[test]
fn exchanged_documents_are_reported() {
    let [one, other, ..] = files();
    let problems = tampered(|cache| {
        fs::rename(cache.path(&one), cache.outside("moved")).unwrap();
        fs::rename(cache.path(&other), cache.path(&one)).unwrap();
        fs::rename(cache.outside("moved"), cache.path(&other)).unwrap();
    });
    let says = |file: &str| format!("{file}: it holds a document with another id");
    assert_eq!(problems, [says(&one), says(&other)]);
}

#[test]
fn document_that_is_not_json_is_reported() {
    for bytes in [&b""[..], b"{", b"null", b"\xff", b"[[[[", b"{}"] {
        for file in files() {
            let problems = tampered(|cache| cache.write(&file, bytes));
            assert_eq!(problems.len(), 1);
            assert!(
                problems[0].starts_with(&format!("{file}: malformed: ")),
                "{problems:?}"
            );
        }
    }
}

#[test]
fn document_of_another_shape_is_reported() {
    let edits: [(&str, Edit); 7] = [
        ("missing field `metadata`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("metadata"))
        }),
        ("missing field `source`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("source"))
        }),
        ("missing field `content`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("content"))
        }),
        ("invalid type: null, expected a string", |all| {
            all["content"] = json!(null)
        }),
        ("invalid type: sequence, expected a map", |all| {
            all["metadata"] = json!([])
        }),
        (
            "data did not match any variant of untagged enum Metadatum",
            |all| all["metadata"] = json!({ "a": [] }),
        ),
        ("invalid type: sequence, expected", |all| {
            *all = json!([
                all["id"],
                all["version"],
                all["source"],
                all["content"],
                all["metadata"]
            ]);
        }),
    ];
    let file = file_of(SOURCES[0].1);
    for (reason, edit) in edits {
        let problems = tampered(|cache| cache.edit(&file, edit));
        assert_eq!(problems.len(), 1, "{reason}: {problems:?}");
        let start = format!("{file}: malformed: {reason}");
        assert!(problems[0].starts_with(&start), "{problems:?}, not {start}");
    }
}

#[test]
fn unlisted_file_is_reported() {
    for name in ["zzz.json", ".hidden", "A.md", "0"] {
        let problems = tampered(|cache| cache.write(&format!("documents/{name}"), ""));
        assert_eq!(
            problems,
            [format!(
                "documents/{name}: no entry of the manifest lists it"
            )]
        );
    }
    let problems = tampered(|cache| fs::create_dir(cache.path("documents/folder")).unwrap());
    assert_eq!(
        problems,
        ["documents/folder: no entry of the manifest lists it"]
    );
}

#[test]
fn documents_that_is_not_a_directory_is_reported() {
    let problems = tampered(|cache| fs::remove_dir_all(cache.path("documents")).unwrap());
    assert_eq!(problems, ["documents: missing"]);
    let problems = tampered(|cache| {
        fs::remove_dir_all(cache.path("documents")).unwrap();
        cache.write("documents", "");
    });
    assert_eq!(problems, ["documents: not of the right kind"]);
    let problems = tampered(|cache| {
        fs::rename(cache.path("documents"), cache.outside("moved")).unwrap();
        symlink("../moved", cache.path("documents")).unwrap();
    });
    assert_eq!(problems, ["documents: not of the right kind"]);
}

#[test]
fn exchanged_documents_directory_is_reported() {
    let file = file_of(SOURCES[3].1);
    let problems = tampered(|cache| {
        let copied = cache.outside("copied");
        crate::fixture::copy(&cache.path("documents"), &copied);
        let name = copied.join(file.strip_prefix("documents/").unwrap());
        let text = fs::read_to_string(&name).unwrap();
        fs::write(&name, text.replacen("too large", "too largE", 1)).unwrap();
        fs::rename(cache.path("documents"), cache.outside("moved")).unwrap();
        fs::rename(copied, cache.path("documents")).unwrap();
    });
    assert_eq!(
        problems,
        [format!("{file}: the content does not hash to its version")]
    );
}
