//! Every change in `documents/` that the format protects is seen, whether or not the document would
//! be selected.

use crate::ground::file_of;
use crate::tampered::{Edit, SOURCES, Tampered, tampered};
use crate::tampered_manifest::make_fifo;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// Puts something where a document was.
type Put = dyn Fn(&Tampered, &str);

/// The files of all documents: selected ones, an empty one, one beyond the budget.
fn files() -> [String; 4] {
    SOURCES.map(|(_, content)| file_of(content))
}

#[test]
fn a_missing_document() {
    for file in files() {
        let problems = tampered(|cache| fs::remove_file(cache.path(&file)).unwrap());
        assert_eq!(problems, [format!("{file}: missing")]);
    }
}

#[test]
fn a_document_that_is_no_file() {
    let directory = |cache: &Tampered, file: &str| fs::create_dir(cache.path(file)).unwrap();
    let fifo = |cache: &Tampered, file: &str| make_fifo(&cache.path(file));
    let link = |cache: &Tampered, file: &str| symlink("../../moved", cache.path(file)).unwrap();
    let absolute =
        |cache: &Tampered, file: &str| symlink(cache.outside("moved"), cache.path(file)).unwrap();
    let dangling = |cache: &Tampered, file: &str| symlink("nowhere", cache.path(file)).unwrap();
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
fn a_changed_byte_of_the_content() {
    for (file, (_, content)) in files().iter().zip(SOURCES) {
        let problems = tampered(|cache| {
            cache.edit(file, |all| {
                let changed = match content {
                    "" => String::from(" "),
                    // As long as before: only the times can show it.
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
fn one_byte_in_place() {
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
fn times_set_back_hide_nothing() {
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
fn another_version_under_the_same_id() {
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
fn another_id() {
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
fn two_documents_that_changed_places() {
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
fn a_document_that_is_no_json() {
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
fn a_document_of_another_shape() {
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
    for (why, edit) in edits {
        let problems = tampered(|cache| cache.edit(&file, edit));
        assert_eq!(problems.len(), 1, "{why}: {problems:?}");
        let start = format!("{file}: malformed: {why}");
        assert!(problems[0].starts_with(&start), "{problems:?}, not {start}");
    }
}

#[test]
fn a_file_that_nobody_lists() {
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
fn documents_that_are_no_directory() {
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
fn documents_that_were_exchanged_for_others() {
    let file = file_of(SOURCES[3].1);
    let problems = tampered(|cache| {
        let copied = cache.outside("copied");
        crate::ground::copy(&cache.path("documents"), &copied);
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
