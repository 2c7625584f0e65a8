//! What `verify` and `inspect` tell about a cache that is invalid.

use crate::context::place::{Place, object};
use insta::assert_snapshot;

/// The report is an answer although the cache is invalid.
#[test]
fn verify_and_inspect_tell_what_is_wrong() {
    let place = Place::with_cache();
    place.edit(place.document("cache", "fox.md"), "brown", "green");
    place.write("cache/documents/surplus.json", "{}");
    place.edit("cache/index.json", r#""odd.md""#, r#""old.md""#);
    let verified = place.run(&["verify", "--cache", "cache"]);
    assert_eq!(verified.code, 5);
    assert_snapshot!(verified.stdout, @r#"
    {
      "cache_version": "sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8",
      "document_count": 4,
      "valid": false,
      "problems": [
        {
          "file": "index.json",
          "problem": "the manifest says something else about `odd.md`"
        },
        {
          "file": "index.json",
          "problem": "the manifest has no `old.md`"
        },
        {
          "file": "documents/surplus.json",
          "problem": "no entry of the manifest lists it"
        },
        {
          "file": "documents/6e459fed18dd.json",
          "problem": "the content does not hash to its version"
        }
      ]
    }
    "#);
    assert_snapshot!(verified.stderr, @r"
    error: the cache is invalid: index.json: the manifest says something else about `odd.md` (and 3 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ");
    let object_too = place.run(&["verify", "--cache", "cache", "--error-format", "json"]);
    assert_eq!(object_too.stdout, verified.stdout);
    assert_eq!(
        (object_too.code, object_too.stderr),
        (5, object("cache_invalid"))
    );
    assert_snapshot!(place.answer(&["inspect", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8",
      "document_count": 4,
      "total_bytes": 689,
      "valid": false
    }
    "#);
    for manifest in ["", "no JSON", "[]"] {
        place.write("cache/manifest.json", manifest);
        assert_eq!(
            place.answer(&["inspect", "--cache", "cache"]),
            "{\n  \"cache_version\": \"\",\n  \"document_count\": 0,\n  \"total_bytes\": 0,\n  \"valid\": false\n}\n"
        );
    }
    place.remove("cache/manifest.json");
    assert_snapshot!(place.run(&["verify", "--cache", "cache"]).stdout, @r#"
    {
      "cache_version": "",
      "document_count": 0,
      "valid": false,
      "problems": [
        {
          "file": "manifest.json",
          "problem": "missing"
        }
      ]
    }
    "#);
}

/// At most a hundred problems are told, the first ones.
#[test]
fn problems_are_bounded() {
    let place = Place::with_cache();
    for number in 0..250 {
        place.write(format!("cache/documents/surplus-{number:03}.json"), "");
    }
    let report = place.run(&["verify", "--cache", "cache"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 100);
    assert_eq!(problems[99]["file"], "documents/surplus-099.json");
}
