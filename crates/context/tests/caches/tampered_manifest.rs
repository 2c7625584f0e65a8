//! Every protected change of `manifest.json` is reported.

use crate::fixture::{file_of, make_fifo};
use crate::tampered_cache::{Edit, SOURCES, TamperedCache, tampered};
use serde_json::json;
use std::fs;

const MANIFEST: &str = "manifest.json";

#[test]
fn missing_manifest_is_reported() {
    let cache = TamperedCache::new();
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
fn manifest_that_is_not_a_file_is_reported() {
    let directory = |cache: &TamperedCache| {
        fs::remove_file(cache.path(MANIFEST)).unwrap();
        fs::create_dir(cache.path(MANIFEST)).unwrap();
    };
    let link = |cache: &TamperedCache| {
        fs::rename(cache.path(MANIFEST), cache.outside("real")).unwrap();
        std::os::unix::fs::symlink("../real", cache.path(MANIFEST)).unwrap();
    };
    let fifo = |cache: &TamperedCache| {
        fs::remove_file(cache.path(MANIFEST)).unwrap();
        make_fifo(&cache.path(MANIFEST));
    };
    for tamper in [&directory as &dyn Fn(&TamperedCache), &link, &fifo] {
        assert_eq!(tampered(tamper), ["manifest.json: not of the right kind"]);
    }
}

#[test]
fn manifest_that_is_not_json_is_reported() {
    for (bytes, reason) in [
        (&b""[..], "EOF while parsing a value at line 1 column 0"),
        (b"{", "EOF while parsing an object at line 1 column 1"),
        (b"\xef\xbb\xbf{}", "expected value at line 1 column 1"),
        (b"nonsense", "expected ident at line 1 column 2"),
    ] {
        let cache = TamperedCache::new();
        cache.write(MANIFEST, bytes);
        assert_eq!(
            cache.problems(),
            [format!("manifest.json: malformed: {reason}")]
        );
        let nothing = r#"{"cache_version":"","document_count":0,"total_bytes":0,"valid":false}"#;
        assert_eq!(cache.inspected().to_string(), nothing);
    }
}

#[test]
fn truncated_or_extended_manifest_is_reported() {
    let manifest_text = TamperedCache::new().text(MANIFEST);
    for length in [1, manifest_text.len() / 2, manifest_text.len() - 1] {
        let problems = tampered(|cache| cache.write(MANIFEST, &manifest_text[..length]));
        assert!(
            problems[0].starts_with("manifest.json: malformed: EOF while parsing"),
            "{problems:?}"
        );
        assert_eq!(problems.len(), 1);
    }
    let problems = tampered(|cache| cache.write(MANIFEST, format!("{manifest_text} 1")));
    let line = manifest_text.lines().count();
    assert_eq!(
        problems,
        [format!(
            "manifest.json: malformed: trailing characters at line {line} column 3"
        )]
    );
}

#[test]
fn manifest_of_another_shape_is_reported() {
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
    for (reason, edit) in edits {
        let problems = tampered(|cache| cache.edit(MANIFEST, edit));
        assert_eq!(problems.len(), 1);
        let start = format!("manifest.json: malformed: {reason}");
        assert!(problems[0].starts_with(&start), "{problems:?}, not {start}");
    }
}

#[test]
fn created_at_that_is_not_a_time_is_reported() {
    for at in ["", "yesterday", "2023-11-14", "2023-02-29T00:00:00Z"] {
        let problems = tampered(|cache| cache.edit(MANIFEST, |all| all["created_at"] = json!(at)));
        assert_eq!(
            problems,
            ["manifest.json: created_at is not an RFC 3339 time"],
            "{at}"
        );
    }
}

#[test]
fn arrays_in_place_of_objects_are_reported() {
    let manifest_text = |cache: &TamperedCache| {
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
    let config = |cache: &TamperedCache| {
        cache.edit(MANIFEST, |all| all["build_config"] = json!(["1", "sha256"]));
    };
    let entry = |cache: &TamperedCache| {
        cache.edit(MANIFEST, |all| {
            let one = &mut all["documents"][0];
            *one = json!([one["id"], one["version"], one["file"]]);
        });
    };
    for tamper in [&manifest_text as &dyn Fn(&TamperedCache), &config, &entry] {
        let problems = tampered(tamper);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let start = "manifest.json: malformed: invalid type: sequence, expected";
        assert!(problems[0].starts_with(start), "{problems:?}");
    }
}

#[test]
fn duplicate_member_is_reported() {
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
fn unsupported_build_config_is_reported() {
    let unsupported = "manifest.json: build_config is not one that can be read here";
    for (member, value) in [
        ("version", "2"),
        ("version", ""),
        ("hash_algorithm", "sha512"),
        ("hash_algorithm", "SHA256"),
    ] {
        let cache = TamperedCache::new();
        cache.edit(MANIFEST, |all| all["build_config"][member] = json!(value));
        assert_eq!(cache.problems(), [unsupported]);
        let message = cache.inspected();
        assert_eq!(
            (
                message["document_count"].as_u64(),
                message["total_bytes"].as_u64()
            ),
            (Some(4), Some(0))
        );
    }
}

#[test]
fn wrong_document_count_is_reported() {
    for stated in [0, 3, 5, u64::MAX] {
        let cache = TamperedCache::new();
        cache.edit(MANIFEST, |all| all["document_count"] = json!(stated));
        let off = format!("manifest.json: document_count is {stated}, but 4 are listed");
        assert_eq!(cache.problems(), [off]);
        assert_eq!(cache.inspected()["document_count"], stated);
    }
}

#[test]
fn wrong_cache_version_is_reported() {
    let off = ["manifest.json: cache_version does not match what is listed"];
    let zeros = format!("sha256:{}", "0".repeat(64));
    for stated in ["", "sha256:", &zeros] {
        let cache = TamperedCache::new();
        cache.edit(MANIFEST, |all| all["cache_version"] = json!(stated));
        assert_eq!(cache.problems(), off);
        assert_eq!(cache.inspected()["cache_version"], stated);
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
fn duplicate_id_is_reported() {
    let problems = tampered(|cache| {
        cache.edit_carefully(|all| {
            let list = all["documents"].as_array_mut().unwrap();
            list.insert(1, list[0].clone());
        });
    });
    assert_eq!(problems, ["manifest.json: the id `a.md` is listed twice"]);
}

#[test]
fn ids_out_of_order_are_reported() {
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
fn id_that_differs_from_the_document_is_reported() {
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
fn version_that_is_not_a_digest_is_reported() {
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
fn version_of_another_document_is_reported() {
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
fn file_outside_documents_is_reported() {
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
fn file_of_another_document_is_reported() {
    let [one, other] = [file_of(SOURCES[0].1), file_of(SOURCES[1].1)];
    let problems = tampered(|cache| {
        for file in [MANIFEST, "index.json"] {
            cache.replace(file, &one, &other);
        }
    });
    // Afterwards both entries name the same file.
    assert_eq!(
        problems,
        [
            format!("{one}: no entry of the manifest lists it"),
            format!("{other}: it holds a document with another id"),
        ]
    );
}

#[test]
fn removed_and_added_entries_are_reported() {
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
fn at_most_a_hundred_problems_are_reported() {
    let many = |cache: &TamperedCache| {
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
