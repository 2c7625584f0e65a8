//! The reports of `verify` and `inspect` about an invalid cache.

use crate::context::fixture::{ContextFixture, error_object};
use insta::assert_snapshot;

/// The report goes to stdout although the cache is invalid.
#[test]
fn verify_and_inspect_report_problems() {
    let fixture = ContextFixture::with_cache();
    fixture.edit(fixture.document("cache", "fox.md"), "brown", "green");
    fixture.write("cache/documents/surplus.json", "{}");
    fixture.edit("cache/index.json", r#""odd.md""#, r#""old.md""#);
    let verified = fixture.run(&["verify", "--cache", "cache"]);
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
    let object_too = fixture.run(&["verify", "--cache", "cache", "--error-format", "json"]);
    assert_eq!(object_too.stdout, verified.stdout);
    assert_eq!(
        (object_too.code, object_too.stderr),
        (5, error_object("cache_invalid"))
    );
    assert_snapshot!(fixture.run_ok(&["inspect", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8",
      "document_count": 4,
      "total_bytes": 689,
      "valid": false
    }
    "#);
    for manifest in ["", "no JSON", "[]"] {
        fixture.write("cache/manifest.json", manifest);
        assert_eq!(
            fixture.run_ok(&["inspect", "--cache", "cache"]),
            "{\n  \"cache_version\": \"\",\n  \"document_count\": 0,\n  \"total_bytes\": 0,\n  \"valid\": false\n}\n"
        );
    }
    fixture.remove("cache/manifest.json");
    assert_snapshot!(fixture.run(&["verify", "--cache", "cache"]).stdout, @r#"
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

/// The first hundred problems are reported.
#[test]
fn at_most_a_hundred_problems_are_reported() {
    let fixture = ContextFixture::with_cache();
    for number in 0..250 {
        fixture.write(format!("cache/documents/surplus-{number:03}.json"), "");
    }
    let report = fixture.run(&["verify", "--cache", "cache"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 100);
    assert_eq!(problems[99]["file"], "documents/surplus-099.json");
}
