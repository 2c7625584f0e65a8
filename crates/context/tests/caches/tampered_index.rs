//! Every difference between `index.json` and the manifest is reported.

use crate::fixture::file_of;
use crate::tampered_cache::{SOURCES, TamperedCache, tampered};
use serde_json::json;
use std::fs;

const INDEX: &str = "index.json";

#[test]
fn missing_index_is_reported() {
    let problems = tampered(|cache| fs::remove_file(cache.path(INDEX)).unwrap());
    assert_eq!(problems, ["index.json: missing"]);
}

#[test]
fn index_that_is_not_a_file_is_reported() {
    let problems = tampered(|cache| {
        fs::rename(cache.path(INDEX), cache.outside("real")).unwrap();
        std::os::unix::fs::symlink(cache.outside("real"), cache.path(INDEX)).unwrap();
    });
    assert_eq!(problems, ["index.json: not of the right kind"]);
}

#[test]
fn malformed_index_is_reported() {
    for (bytes, reason) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        (
            "[]",
            "invalid type: sequence, expected an object of ids and files, at most 4000000 at line 1 column 1",
        ),
        (
            r#"{"a.md":1}"#,
            "invalid type: integer `1`, expected a string at line 1 column 10",
        ),
        (
            r#"{"a.md":"\ud800"}"#,
            "unexpected end of hex escape at line 1 column 16",
        ),
        ("{}x", "trailing characters at line 1 column 3"),
    ] {
        let problems = tampered(|cache| cache.write(INDEX, bytes));
        assert_eq!(problems, [format!("index.json: malformed: {reason}")]);
    }
}

#[test]
fn surplus_id_is_reported() {
    for id in ["0", "b.mdx", "zzz"] {
        let problems = tampered(|cache| {
            cache.edit(INDEX, |all| all[id] = json!(file_of(SOURCES[0].1)));
        });
        assert_eq!(
            problems,
            [format!("index.json: the manifest has no `{id}`")]
        );
    }
}

#[test]
fn missing_id_is_reported() {
    for (path, _) in SOURCES {
        let id = path.to_lowercase();
        let problems = tampered(|cache| {
            cache.edit(INDEX, |all| {
                drop(all.as_object_mut().unwrap().shift_remove(&id))
            });
        });
        let lacks = format!("index.json: the manifest says something else about `{id}`");
        assert_eq!(problems, [lacks]);
    }
}

#[test]
fn other_file_is_reported() {
    let problems = tampered(|cache| {
        cache.edit(INDEX, |all| {
            let (one, other) = (all["a.md"].clone(), all["b.md"].clone());
            all["a.md"] = other;
            all["b.md"] = one;
        });
    });
    let differs = |id| format!("index.json: the manifest says something else about `{id}`");
    assert_eq!(problems, [differs("a.md"), differs("b.md")]);
    for wrong in ["documents/x.json", "../x", "", "documents/", "/documents/x"] {
        let problems = tampered(|cache| cache.edit(INDEX, |all| all["c.md"] = json!(wrong)));
        assert_eq!(problems, [differs("c.md")]);
    }
}

#[test]
fn duplicate_id_is_reported() {
    let again = |cache: &TamperedCache, file: &str| {
        let line = format!("{{\n  \"a.md\": \"{file}\",\n  \"a.md\"");
        cache.replace(INDEX, "{\n  \"a.md\"", &line);
    };
    let twice = "index.json: the id `a.md` is listed twice";
    let problems = tampered(|cache| again(cache, &file_of(SOURCES[0].1)));
    assert_eq!(problems, [twice]);
    let problems = tampered(|cache| again(cache, "documents/zzz.json"));
    assert_eq!(problems, [twice]);
}
