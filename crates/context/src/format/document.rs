//! The file of a document: how it is written and read.

use crate::format::cache_problem::CacheProblemKind;
use crate::format::digest::Digest;
use crate::format::json_object::JsonObject;
use crate::format::json_string::{put_digest, put_string};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most bytes of a document's content.
pub const MAX_CONTENT: u64 = 64 * 1024 * 1024;

/// The most bytes of a document's file: every byte of the content may need six in JSON.
pub(crate) const MAX_DOCUMENT_FILE: u64 = 8 * MAX_CONTENT;

/// A document with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path below the sources, lower-cased.
    pub id: String,
    /// The digest of the content.
    pub version: Digest,
    /// The path below the sources.
    pub source: String,
    /// The content, byte for byte as in the source.
    pub content: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
// The values are checked, but not used.
#[allow(dead_code)]
enum Metadatum {
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
struct StoredDocument {
    id: String,
    version: String,
    source: String,
    content: String,
    #[serde(rename = "metadata")]
    _metadata: BTreeMap<String, Metadatum>,
}

/// Returns the id of a source: its path, lower-cased, with `/` for each `\`.
pub(crate) fn id_of(source: &str) -> String {
    source.to_lowercase().replace('\\', "/")
}

/// Writes the file of a document: compact JSON, no newline at the end.
pub(crate) fn write(out: &mut Vec<u8>, id: &str, version: Digest, source: &str, content: &str) {
    out.extend_from_slice(br#"{"id":"#);
    put_string(out, id);
    out.extend_from_slice(br#","version":"#);
    put_digest(out, version);
    out.extend_from_slice(br#","source":"#);
    put_string(out, source);
    out.extend_from_slice(br#","content":"#);
    put_string(out, content);
    out.extend_from_slice(br#","metadata":{}}"#);
}

/// Parses the file of a document and checks that the content has the digest `version`.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, CacheProblemKind> {
    let JsonObject(read): JsonObject<StoredDocument> = serde_json::from_slice(bytes)
        .map_err(|error| CacheProblemKind::Malformed(error.to_string()))?;
    let version = Digest::of(read.content.as_bytes());
    if Digest::parse(&read.version) != Some(version) {
        return Err(CacheProblemKind::Content);
    }
    Ok(Document {
        id: read.id,
        version,
        source: read.source,
        content: read.content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_its_exact_bytes() {
        let mut out = Vec::new();
        let version = Digest::of("a\"\\\n\u{1}é".as_bytes());
        write(&mut out, "a.md", version, "A.md", "a\"\\\n\u{1}é");
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            format!(
                r#"{{"id":"a.md","version":"{version}","source":"A.md","content":"a\"\\\n\u0001é","metadata":{{}}}}"#
            )
        );
        assert_eq!(read(text.as_bytes()).unwrap().id, "a.md");
    }

    #[test]
    fn malformed_document_is_refused() {
        let version = Digest::of(b"x");
        let good = format!(
            r#"{{"id":"a","version":"{version}","source":"a","content":"x","metadata":{{"n":1,"t":"u"}},"more":[]}}"#
        );
        assert!(read(good.as_bytes()).is_ok());
        assert_eq!(
            read(good.replace(r#""x""#, r#""y""#).as_bytes()),
            Err(CacheProblemKind::Content)
        );
        for wrong in [
            good.replace("metadata", "metadate"),
            good.replace(r#""source":"a","#, ""),
            good.replace(r#""n":1"#, r#""n":1.5"#),
            good.replace(r#""n":1"#, r#""n":{}"#),
            good.replace(r#""id":"a","#, r#""id":"a","id":"b","#),
            good.replace(r#"x"#, "\\ud800"),
            "[".repeat(100_000),
            String::new(),
        ] {
            assert!(
                matches!(read(wrong.as_bytes()), Err(CacheProblemKind::Malformed(_))),
                "{wrong}"
            );
        }
    }
}
