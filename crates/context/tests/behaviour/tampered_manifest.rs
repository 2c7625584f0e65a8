//! Every change of `manifest.json` that the format protects is seen, and named.

use crate::ground::file_of;
use crate::tampered::{Edit, SOURCES, Tampered, tampered};
use serde_json::json;
use std::fs;

const MANIFEST: &str = "manifest.json";

#[test]
fn a_missing_manifest() {
    let cache = Tampered::new();
    fs::remove_file(cache.path(MANIFEST)).unwrap();
    assert_eq!(cache.problems(), ["manifest.json: missing"]);
    let nothing = r#"{"cache_version":"","document_count":0,"total_bytes":0,"valid":false}"#;
    assert_eq!(cache.inspected().to_string(), nothing);
    assert_eq!(
        cache.verified().to_string(),
        r#"{"cache_version":"","document_count":0,"valid":false,"problems":[{"file":"manifest.json","problem":"missing"}]}"#
    );
}

#[test]
fn a_manifest_that_is_no_file() {
    let directory = |cache: &Tampered| {
        fs::remove_file(cache.path(MANIFEST)).unwrap();
        fs::create_dir(cache.path(MANIFEST)).unwrap();
    };
    let link = |cache: &Tampered| {
        fs::rename(cache.path(MANIFEST), cache.outside("real")).unwrap();
        std::os::unix::fs::symlink("../real", cache.path(MANIFEST)).unwrap();
    };
    let fifo = |cache: &Tampered| {
        fs::remove_file(cache.path(MANIFEST)).unwrap();
        make_fifo(&cache.path(MANIFEST));
    };
    for tamper in [&directory as &dyn Fn(&Tampered), &link, &fifo] {
        assert_eq!(tampered(tamper), ["manifest.json: not of the right kind"]);
    }
}

pub(crate) fn make_fifo(path: &std::path::Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}

#[test]
fn a_manifest_that_is_no_json() {
    for (bytes, why) in [
        (&b""[..], "EOF while parsing a value at line 1 column 0"),
        (b"{", "EOF while parsing an object at line 1 column 1"),
        (b"\xef\xbb\xbf{}", "expected value at line 1 column 1"),
        (b"nonsense", "expected ident at line 1 column 2"),
    ] {
        let cache = Tampered::new();
        cache.write(MANIFEST, bytes);
        assert_eq!(
            cache.problems(),
            [format!("manifest.json: malformed: {why}")]
        );
        let nothing = r#"{"cache_version":"","document_count":0,"total_bytes":0,"valid":false}"#;
        assert_eq!(cache.inspected().to_string(), nothing);
    }
}

#[test]
fn a_cut_or_lengthened_manifest() {
    let whole = Tampered::new().text(MANIFEST);
    for length in [1, whole.len() / 2, whole.len() - 1] {
        let problems = tampered(|cache| cache.write(MANIFEST, &whole[..length]));
        assert!(
            problems[0].starts_with("manifest.json: malformed: EOF while parsing"),
            "{problems:?}"
        );
        assert_eq!(problems.len(), 1);
    }
    let problems = tampered(|cache| cache.write(MANIFEST, format!("{whole} 1")));
    let line = whole.lines().count();
    assert_eq!(
        problems,
        [format!(
            "manifest.json: malformed: trailing characters at line {line} column 3"
        )]
    );
}

#[test]
fn a_manifest_of_another_shape() {
    let edits: [(&str, Edit); 12] = [
        ("missing field `cache_version`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("cache_version"))
        }),
        ("missing field `build_config`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("build_config"))
        }),
        ("missing field `created_at`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("created_at"))
        }),
        ("missing field `document_count`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("document_count"))
        }),
        ("missing field `documents`", |all| {
            drop(all.as_object_mut().unwrap().shift_remove("documents"))
        }),
        ("missing field `file`", |all| {
            drop(
                all["documents"][0]
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("file"),
            )
        }),
        ("invalid type: null, expected a string", |all| {
            all["cache_version"] = json!(null)
        }),
        ("invalid type: integer `1`, expected a string", |all| {
            all["build_config"]["version"] = json!(1)
        }),
        ("invalid type: floating point `4.0`, expected u64", |all| {
            all["document_count"] = json!(4.0)
        }),
        ("invalid value: integer `-1`, expected u64", |all| {
            all["document_count"] = json!(-1)
        }),
        (
            "invalid type: map, expected at most 4000000 documents",
            |all| all["documents"] = json!({}),
        ),
        ("invalid type: integer `7`, expected a string", |all| {
            all["documents"][1]["id"] = json!(7)
        }),
    ];
    for (why, edit) in edits {
        let problems = tampered(|cache| cache.edit(MANIFEST, edit));
        assert_eq!(problems.len(), 1);
        let start = format!("manifest.json: malformed: {why}");
        assert!(problems[0].starts_with(&start), "{problems:?}, not {start}");
    }
}

#[test]
fn lists_where_objects_are_meant() {
    let whole = |cache: &Tampered| {
        cache.edit(MANIFEST, |all| {
            *all = json!([
                all["cache_version"],
                all["build_config"],
                all["created_at"],
                all["document_count"],
                all["documents"]
            ]);
        });
    };
    let config = |cache: &Tampered| {
        cache.edit(MANIFEST, |all| all["build_config"] = json!(["1", "sha256"]));
    };
    let entry = |cache: &Tampered| {
        cache.edit(MANIFEST, |all| {
            let one = &mut all["documents"][0];
            *one = json!([one["id"], one["version"], one["file"]]);
        });
    };
    for tamper in [&whole as &dyn Fn(&Tampered), &config, &entry] {
        let problems = tampered(tamper);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let start = "manifest.json: malformed: invalid type: sequence, expected";
        assert!(problems[0].starts_with(start), "{problems:?}");
    }
}

#[test]
fn a_member_twice() {
    let problems = tampered(|cache| {
        cache.replace(
            MANIFEST,
            "{\n  \"cache_version\"",
            "{\n  \"document_count\": 4,\n  \"cache_version\"",
        );
    });
    assert_eq!(
        problems,
        ["manifest.json: malformed: duplicate field `document_count` at line 9 column 19"]
    );
}

#[test]
fn an_unsupported_build_config() {
    let unsupported = "manifest.json: build_config is not one that can be read here";
    for (member, value) in [
        ("version", "2"),
        ("version", ""),
        ("hash_algorithm", "sha512"),
        ("hash_algorithm", "SHA256"),
    ] {
        let cache = Tampered::new();
        cache.edit(MANIFEST, |all| all["build_config"][member] = json!(value));
        assert_eq!(cache.problems(), [unsupported]);
        let told = cache.inspected();
        assert_eq!(
            (
                told["document_count"].as_u64(),
                told["total_bytes"].as_u64()
            ),
            (Some(4), Some(0))
        );
    }
}

#[test]
fn a_document_count_that_is_off() {
    for said in [0, 3, 5, u64::MAX] {
        let cache = Tampered::new();
        cache.edit(MANIFEST, |all| all["document_count"] = json!(said));
        let off = format!("manifest.json: document_count is {said}, but 4 are listed");
        assert_eq!(cache.problems(), [off]);
        assert_eq!(cache.inspected()["document_count"], said);
    }
}

#[test]
fn a_cache_version_that_is_off() {
    let off = ["manifest.json: cache_version does not match what is listed"];
    let zeros = format!("sha256:{}", "0".repeat(64));
    for said in ["", "sha256:", &zeros] {
        let cache = Tampered::new();
        cache.edit(MANIFEST, |all| all["cache_version"] = json!(said));
        assert_eq!(cache.problems(), off);
        assert_eq!(cache.inspected()["cache_version"], said);
    }
    let upper = |all: &mut serde_json::Value| {
        let text = all["cache_version"]
            .as_str()
            .unwrap()
            .replace("sha256:", "SHA256:");
        all["cache_version"] = json!(text);
    };
    assert_eq!(tampered(|cache| cache.edit(MANIFEST, upper)), off);
}

#[test]
fn an_id_twice() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| {
            let list = all["documents"].as_array_mut().unwrap();
            list.insert(1, list[0].clone());
        });
    });
    assert_eq!(problems, ["manifest.json: the id `a.md` is listed twice"]);
}

#[test]
fn ids_out_of_order() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| all["documents"].as_array_mut().unwrap().swap(0, 1));
    });
    let file = file_of(SOURCES[0].1);
    assert_eq!(
        problems,
        [
            String::from("manifest.json: the id `a.md` is out of order"),
            String::from("index.json: the manifest has no `a.md`"),
            format!("{file}: no entry of the manifest lists it"),
        ]
    );
}

#[test]
fn an_id_that_is_not_the_documents() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| all["documents"][1]["id"] = json!("bb.md"));
        cache.replace("index.json", "b.md", "bb.md");
    });
    let file = file_of(SOURCES[1].1);
    assert_eq!(
        problems,
        [format!("{file}: it holds a document with another id")]
    );
}

#[test]
fn a_version_that_is_no_digest() {
    for wrong in ["", "sha256:00", "md5:d41d8cd98f00b204e9800998ecf8427e"] {
        let problems = tampered(|cache| {
            cache.edit_carefully(|all| all["documents"][2]["version"] = json!(wrong));
        });
        let file = file_of(SOURCES[2].1);
        assert_eq!(
            problems,
            [
                String::from("manifest.json: the version of `c.md` is no digest"),
                String::from("index.json: the manifest has no `c.md`"),
                format!("{file}: no entry of the manifest lists it"),
            ]
        );
    }
}

#[test]
fn a_version_that_is_another_documents() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| {
            let other = all["documents"][0]["version"].clone();
            all["documents"][3]["version"] = other;
        });
    });
    let file = file_of(SOURCES[3].1);
    assert_eq!(
        problems,
        [format!("{file}: it holds another version of the document")]
    );
}

#[test]
fn a_file_that_points_elsewhere() {
    for wrong in [
        "../outside.json",
        "/etc/passwd",
        "documents/../manifest.json",
        "documents/..",
        "documents/.",
        "documents/",
        "documents/nested/x.json",
        "documents//x.json",
        "Documents/x.json",
        "x.json",
        "",
    ] {
        let problems = tampered(|cache| {
            fs::copy(
                cache.path(&file_of(SOURCES[1].1)),
                cache.outside("outside.json"),
            )
            .unwrap();
            for file in [MANIFEST, "index.json"] {
                cache.replace(file, &file_of(SOURCES[1].1), wrong);
            }
        });
        let file = file_of(SOURCES[1].1);
        assert_eq!(
            problems,
            [
                format!("manifest.json: `{wrong}` is not a name in documents/"),
                String::from("index.json: the manifest has no `b.md`"),
                format!("{file}: no entry of the manifest lists it"),
            ]
        );
    }
}

#[test]
fn a_file_that_is_another_documents() {
    let [one, other] = [file_of(SOURCES[0].1), file_of(SOURCES[1].1)];
    let problems = tampered(|cache| {
        for file in [MANIFEST, "index.json"] {
            cache.replace(file, &one, &other);
        }
    });
    // `replace` demands one place; afterwards both entries name the same file.
    assert_eq!(
        problems,
        [
            format!("{one}: no entry of the manifest lists it"),
            format!("{other}: it holds a document with another id"),
        ]
    );
}

#[test]
fn a_removed_and_an_added_entry() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| drop(all["documents"].as_array_mut().unwrap().remove(3)));
    });
    let file = file_of(SOURCES[3].1);
    assert_eq!(
        problems,
        [
            String::from("index.json: the manifest has no `d/e.md`"),
            format!("{file}: no entry of the manifest lists it"),
        ]
    );
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| {
            let mut more = all["documents"][2].clone();
            more["id"] = json!("z.md");
            more["file"] = json!("documents/z.json");
            all["documents"].as_array_mut().unwrap().push(more);
        });
    });
    assert_eq!(
        problems,
        [
            "index.json: the manifest says something else about `z.md`",
            "documents/z.json: missing",
        ]
    );
}

#[test]
fn at_most_a_hundred_problems_are_told() {
    let many = |cache: &Tampered| {
        cache.edit(MANIFEST, |all| {
            let one = all["documents"][0].clone();
            all["documents"] = json!(vec![one; 250]);
        });
    };
    let problems = tampered(many);
    assert_eq!(problems.len(), 100);
    let problems = tampered(|cache| {
        many(cache);
        fs::remove_dir_all(cache.path("documents")).unwrap();
    });
    assert_eq!(problems.len(), 100, "also where there are no documents");
}
