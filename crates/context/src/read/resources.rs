//! Documents as resources: their URIs, their list in pages, and their whole contents.

use crate::cache::CacheAccessError;
use crate::failure::Failure;
use crate::passages::{Syntax, title};
use crate::read::catalogue::{Catalogue, NamedCache};
use crate::read::failure::ReadFailure;
use crate::serve::answer_room::{AnswerSpace, ENTRY_BYTES, rendering_bytes};
use candor_street::{Resource, ResourceContent, ResourceData, ResourcePage};
use xxhash_rust::xxh3::xxh3_64;

/// The most resources of one page.
pub const MAX_RESOURCES: usize = 500;

/// The most bytes of a document that is read as a resource.
pub const MAX_RESOURCE: usize = 1024 * 1024;

const SCHEME: &str = "context://";

impl Catalogue {
    /// Returns one page of the documents of all caches, sorted by cache and id.
    pub(crate) fn resource_page(
        &self,
        cursor: Option<&str>,
        space: &AnswerSpace,
    ) -> Result<ResourcePage, ReadFailure> {
        let after = match cursor {
            None => None,
            Some(cursor) => Some(parse_cursor(cursor).ok_or(ReadFailure::UnknownCursor)?),
        };
        let mut page = ResourcePage::default();
        let mut last = None;
        for cache in self.caches()? {
            let start = match &after {
                Some((name, _)) if cache.name < *name => continue,
                Some((name, id)) if cache.name == *name => Some(id.as_str()),
                _ => None,
            };
            let room = MAX_RESOURCES - page.resources.len();
            // One more document shows whether there is another page.
            let (found, has_more) = self.query(&cache, |open| {
                let contents = open.contents()?;
                let ids = &contents.ids;
                let first = start.map_or(0, |id| ids.first_after(id));
                let end = ids.len().min(first.saturating_add(room));
                let files = (first..end).map(|number| open.file_bytes(number as u32));
                let largest = files.max().unwrap_or(0);
                let answer = MAX_RESOURCES as u64 * ENTRY_BYTES;
                let claimed = space.claim(rendering_bytes(answer, largest));
                claimed.map_err(Failure::from)?;
                let mut buffer = Vec::new();
                let read = |number: usize| {
                    let document = open.document(number as u32, &mut buffer)?;
                    Ok(Resource {
                        uri: uri(&cache.name, &document.id),
                        name: document.id.clone(),
                        title: title(&document.content, Syntax::of(&document.id)),
                        description: None,
                        mime_type: Some(mime_type(&document.id)),
                        size: Some(document.content.len() as u64),
                    })
                };
                let found: Result<Vec<_>, CacheAccessError> = (first..end).map(read).collect();
                Ok((found?, end < ids.len()))
            })?;
            if let Some(resource) = found.last() {
                last = Some((cache.name.clone(), resource.name.clone()));
            }
            page.resources.extend(found);
            if has_more {
                page.next_cursor = last.map(|(cache, id)| cursor_after(&cache, &id));
                break;
            }
        }
        space.settle(page.resources.iter().map(listed_bytes).sum())?;
        Ok(page)
    }

    /// Returns the whole document that a URI names.
    pub(crate) fn resource(
        &self,
        uri: &str,
        space: &AnswerSpace,
    ) -> Result<ResourceContent, ReadFailure> {
        let (name, id) = parse_uri(uri).ok_or(ReadFailure::UnknownResource)?;
        let caches = self.caches()?;
        let found = caches.iter().find(|cache| cache.name == name);
        let cache: &NamedCache = found.ok_or(ReadFailure::UnknownResource)?;
        let document = self.query(cache, |open| {
            let Some(number) = open.contents()?.ids.find(&id) else {
                return Ok(None);
            };
            let file = open.file_bytes(number);
            let claimed = space.claim(rendering_bytes(file, file));
            claimed.map_err(Failure::from)?;
            open.document(number, &mut Vec::new()).map(Some)
        })?;
        let document = document.ok_or(ReadFailure::UnknownResource)?;
        if document.content.len() > MAX_RESOURCE {
            return Err(ReadFailure::ResourceTooLarge(document.content.len() as u64));
        }
        // Some characters are escaped.
        space.settle(2 * document.content.len() as u64)?;
        Ok(ResourceContent {
            uri: uri.to_owned(),
            mime_type: Some(mime_type(&id)),
            data: ResourceData::Text(document.content.clone()),
        })
    }
}

/// Returns the estimated size of a resource in a list.
fn listed_bytes(resource: &Resource) -> u64 {
    let title = resource.title.as_ref().map_or(0, String::len);
    let texts = resource.uri.len() + resource.name.len() + title;
    texts as u64 + 128
}

/// Returns the URI of a document: every byte that is neither unreserved nor `/` is percent-encoded.
fn uri(cache: &str, id: &str) -> String {
    let mut uri = String::from(SCHEME);
    // The first `/` ends the name of the cache.
    encode(&mut uri, cache, false);
    uri.push('/');
    encode(&mut uri, id, true);
    uri
}

fn encode(out: &mut String, text: &str, keep_slash: bool) {
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~')
            || (byte == b'/' && keep_slash);
        match plain {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// Returns the cache and the id of a URI.
fn parse_uri(uri: &str) -> Option<(String, String)> {
    let (cache, id) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((decode(cache)?, decode(id)?))
}

/// Returns the decoded text, or `None` if an escape is malformed or the bytes are not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push((digit(*high)? * 16 + digit(*low)?) as u8);
                tail
            }
            (b'%', _) => return None,
            (byte, tail) => {
                bytes.push(*byte);
                tail
            }
        };
    }
    String::from_utf8(bytes).ok()
}

/// Returns the cursor of the page after a document: its URI with a checksum, so that a text that was
/// never issued is recognised.
fn cursor_after(cache: &str, id: &str) -> String {
    let position = uri(cache, id);
    format!("{:016x}.{position}", xxh3_64(position.as_bytes()))
}

fn parse_cursor(cursor: &str) -> Option<(String, String)> {
    let (checksum, position) = cursor.split_once('.')?;
    let issued = format!("{:016x}", xxh3_64(position.as_bytes()));
    (checksum == issued).then(|| parse_uri(position))?
}

/// Returns the media type of a document by the suffix of its id.
fn mime_type(id: &str) -> &'static str {
    let name = id.rsplit('/').next().unwrap_or(id);
    match name.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "md" | "markdown" => "text/markdown",
        "mdx" => "text/mdx",
        "rst" => "text/x-rst",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" => "application/xml",
        "js" | "jsx" | "mjs" => "text/javascript",
        "ts" | "tsx" => "text/x-typescript",
        "rs" => "text/x-rust",
        "py" => "text/x-python",
        "go" => "text/x-go",
        "java" => "text/x-java",
        "rb" => "text/x-ruby",
        "c" | "h" => "text/x-c",
        "cc" | "cpp" | "hpp" => "text/x-c++",
        "sh" => "text/x-shellscript",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uris_are_encoded() {
        assert_eq!(
            uri("docs", "rest/a-b_c.d~e.md"),
            "context://docs/rest/a-b_c.d~e.md"
        );
        assert_eq!(
            uri("my docs", "ü?#%.md"),
            "context://my%20docs/%C3%BC%3F%23%25.md"
        );
        assert_eq!(uri("a/b", "c"), "context://a%2Fb/c");
    }

    #[test]
    fn texts_that_are_not_a_uri_or_a_cursor_are_recognised() {
        for text in [
            "",
            "context://",
            "context://docs",
            "file:///docs/a",
            "context://d/%",
            "context://d/%4",
            "context://d/%zz",
            "context://d/%ff",
        ] {
            assert_eq!(parse_uri(text), None, "{text}");
        }
        let cursor = cursor_after("docs", "a.md");
        assert_eq!(
            parse_cursor(&cursor),
            Some((String::from("docs"), String::from("a.md")))
        );
        for text in [
            "",
            ".",
            "1",
            "context://docs/a.md",
            &cursor.replace("a.md", "b.md"),
            &cursor.to_uppercase(),
        ] {
            assert_eq!(parse_cursor(text), None, "{text}");
        }
    }

    #[test]
    fn suffix_decides_the_media_type() {
        assert_eq!(mime_type("a/b.md"), "text/markdown");
        assert_eq!(mime_type("a.md/b"), "text/plain");
        assert_eq!(mime_type("makefile"), "text/plain");
        assert_eq!(mime_type("x.tar.json"), "application/json");
    }

    proptest! {
        #[test]
        fn uris_round_trip(cache in "\\PC{0,10}", id in "[/\\PC]{0,20}") {
            let uri = uri(&cache, &id);
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(parse_uri(&uri), Some((cache.clone(), id.clone())));
            prop_assert_eq!(parse_cursor(&cursor_after(&cache, &id)), Some((cache, id)));
        }
    }
}
