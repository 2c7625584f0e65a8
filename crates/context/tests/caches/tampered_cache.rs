//! A sealed cache that is changed: `resolve`, `verify` and `inspect` must all report it.

use crate::fixture::{CacheFixture, code, real};
use crate::reading::{read_code, read_every_way};
use candor_context::{CacheProblem, Digest, Failure, Location, inspect, verify};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The sources of every tampered cache; the first two are selected by the query, the last is not.
pub(crate) const SOURCES: [(&str, &str); 4] = [
    ("A.md", "alpha beta"),
    ("b.md", "beta"),
    ("c.md", ""),
    ("d/e.md", "a document that is too large for the budget"),
];

const QUERY: &str = "beta";
const BUDGET: u64 = 5;

/// A change of a file as JSON.
pub(crate) type Edit = fn(&mut Value);

/// A sealed cache whose files are changed.
pub(crate) struct TamperedCache(CacheFixture);

impl TamperedCache {
    pub(crate) fn new() -> TamperedCache {
        TamperedCache(CacheFixture::sealed(&SOURCES))
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.cache().join(file)
    }

    pub(crate) fn outside(&self, file: &str) -> PathBuf {
        self.0.path(file)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(file), bytes).unwrap();
    }

    /// Replaces a text that occurs once.
    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.text(file);
        assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
        self.write(file, text.replace(from, to));
    }

    /// Changes a file as JSON.
    pub(crate) fn edit(&self, file: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.text(file)).unwrap();
        edit(&mut value);
        self.write(file, serde_json::to_vec_pretty(&value).unwrap());
    }

    /// Changes the manifest, and corrects its count and version.
    pub(crate) fn edit_carefully(&self, edit: impl FnOnce(&mut Value)) {
        self.edit("manifest.json", |manifest| {
            edit(manifest);
            let documents = manifest["documents"].as_array().unwrap();
            let mut all = String::from(r#"{"version":"1","hash_algorithm":"sha256"}"#);
            for one in documents {
                let text = |name: &str| one[name].as_str().unwrap();
                all += &format!("{}:{}", text("id"), text("version"));
            }
            manifest["document_count"] = json!(documents.len());
            manifest["cache_version"] = json!(Digest::of(all.as_bytes()).to_string());
        });
    }

    /// Checks that the response has not changed.
    pub(crate) fn still_answers(&self) {
        let before =
            crate::fixture::oracle_response(&crate::fixture::documents(&SOURCES), QUERY, BUDGET);
        assert_eq!(self.0.query(QUERY, BUDGET).unwrap(), before);
        assert!(self.verified()["valid"].as_bool().unwrap());
        assert!(self.inspected()["valid"].as_bool().unwrap());
        for outcome in read_every_way(&self.0.cache()) {
            outcome.unwrap();
        }
    }

    /// Returns the problems. All three commands must report `cache_invalid`.
    pub(crate) fn problems(&self) -> Vec<String> {
        let failure = self.0.query(QUERY, BUDGET).expect_err("it is seen");
        assert_eq!(code(&failure), "cache_invalid", "{failure}");
        let Failure::Invalid { problems } = failure else {
            panic!("{failure:?}");
        };
        let problems: Vec<_> = problems.iter().map(CacheProblem::to_string).collect();
        let verified = self.verified();
        assert_eq!(verified["valid"], false);
        let message = verified["problems"].as_array().unwrap().iter();
        let message: Vec<_> = message
            .map(|one| {
                format!(
                    "{}: {}",
                    one["file"].as_str().unwrap(),
                    one["problem"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(message, problems, "verify and resolve agree");
        assert_eq!(self.inspected()["valid"], false);
        for outcome in read_every_way(&self.0.cache()) {
            let failure = outcome.expect_err("the reading tools see it too");
            assert_eq!(read_code(&failure), "cache_invalid", "{failure:?}");
        }
        problems
    }

    pub(crate) fn verified(&self) -> Value {
        let report = verify(&Location::Anywhere, &self.0.cache(), &real).unwrap();
        let is_invalid = report.failure().map(code);
        let report = serde_json::to_value(&report).unwrap();
        match report["valid"].as_bool().unwrap() {
            true => assert_eq!(is_invalid, None),
            false => assert_eq!(is_invalid.as_deref(), Some("cache_invalid")),
        }
        report
    }

    pub(crate) fn inspected(&self) -> Value {
        let inspection = inspect(&Location::Anywhere, &self.0.cache(), &real).unwrap();
        serde_json::to_value(inspection).unwrap()
    }
}

/// Changes a new cache, and returns its problems.
pub(crate) fn tampered(tamper: impl FnOnce(&TamperedCache)) -> Vec<String> {
    let cache = TamperedCache::new();
    tamper(&cache);
    cache.problems()
}
