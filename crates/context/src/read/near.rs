//! Finds the ids that a mistyped one was probably meant to be.

use crate::read::document_ids::DocumentIds;
use std::cmp::Reverse;

/// The most ids that are suggested.
pub(crate) const MAX_NEAR: usize = 3;

/// The most ids whose last components are compared by their characters. Equal ones are found among all.
const MAX_COMPARED: usize = 100_000;

/// The most characters of a last component that are compared.
const MAX_CHARS: usize = 64;

/// Names that share a beginning are near from this similarity on.
const SIMILAR: f64 = 0.87;

/// The distance of an id from the one that was asked for: of their last components first, then by the
/// components before it that are equal, then of the whole ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    of_last: usize,
    shared: Reverse<usize>,
    of_all: usize,
}

/// The nearest ids so far, best first.
#[derive(Debug)]
pub(crate) struct NearIds {
    asked: String,
    compared: usize,
    found: Vec<(Distance, String, String)>,
}

impl NearIds {
    pub(crate) fn new(asked: &str) -> NearIds {
        // Ids are lower-cased paths. The rest is a common slip: `./a.md`, `/a.md`, `a.md:3-9`.
        let lower = asked.to_lowercase();
        let path = lower.trim_start_matches("./").trim_start_matches('/');
        NearIds {
            asked: without_index(without_lines(path)).to_owned(),
            compared: 0,
            found: Vec::new(),
        }
    }

    /// Compares the ids of a cache.
    pub(crate) fn add(&mut self, cache: &str, ids: &DocumentIds) {
        let asked = self.asked.clone();
        let last = last_component(&asked);
        if last.is_empty() {
            return;
        }
        for id in ids.iter() {
            let named = without_index(id);
            if let Some(of_last) = self.distance_of_last(last, last_component(named)) {
                let distance = Distance {
                    of_last,
                    shared: Reverse(shared_components(&asked, named)),
                    of_all: bounded_distance(&asked, named),
                };
                self.insert(distance, cache, id);
            }
        }
    }

    /// Returns the nearest ids with their caches.
    pub(crate) fn into_found(self) -> Vec<(String, String)> {
        let named = |(_, cache, id)| (cache, id);
        self.found.into_iter().map(named).collect()
    }

    fn distance_of_last(&mut self, asked: &str, last: &str) -> Option<usize> {
        if asked == last {
            return Some(0);
        }
        if self.compared == MAX_COMPARED {
            return None;
        }
        self.compared += 1;
        let (asked, last) = without_shared_suffix(asked, last);
        let longer = asked.len().max(last.len());
        if longer > MAX_CHARS {
            return None;
        }
        let edits = strsim::osa_distance(asked, last);
        let near = edits * 3 <= longer || strsim::jaro_winkler(asked, last) >= SIMILAR;
        near.then_some(edits)
    }

    fn insert(&mut self, distance: Distance, cache: &str, id: &str) {
        // Of equally near ones the first stays in front.
        let at = self.found.partition_point(|(other, ..)| *other <= distance);
        if at < MAX_NEAR {
            self.found.truncate(MAX_NEAR - 1);
            self.found
                .insert(at, (distance, cache.to_owned(), id.to_owned()));
        }
    }
}

/// Returns the id without the line numbers that the text form of a passage has after it.
fn without_lines(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((id, lines)) if is_lines(lines) => id,
        _ => id,
    }
}

fn is_lines(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Returns the folder of an id such as `guide/install/index.md`, whose last component has no meaning, or
/// else the id.
fn without_index(id: &str) -> &str {
    match id.rsplit_once('/') {
        Some((folder, last)) if !folder.is_empty() && is_index(last) => folder,
        _ => id,
    }
}

fn is_index(last: &str) -> bool {
    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
    matches!(stem, "index" | "_index" | "readme")
}

/// Returns both names without their suffixes if these are equal: `a.md` and `b.md` are not alike.
fn without_shared_suffix<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    match (one.rsplit_once('.'), other.rsplit_once('.')) {
        (Some((one, suffix)), Some((other, same))) if suffix == same => (one, other),
        _ => (one, other),
    }
}

/// Returns the number of equal components before the last ones.
fn shared_components(one: &str, other: &str) -> usize {
    let pairs = one.rsplit('/').zip(other.rsplit('/')).skip(1);
    pairs.take_while(|(one, other)| one == other).count()
}

fn last_component(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Returns the number of edits between two ids, or the difference of their lengths if they are long.
fn bounded_distance(one: &str, other: &str) -> usize {
    const MOST: usize = 256;
    match one.len() <= MOST && other.len() <= MOST {
        true => strsim::osa_distance(one, other),
        false => MOST + one.len().abs_diff(other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(asked: &str, ids: &[&str]) -> Vec<String> {
        let mut near = NearIds::new(asked);
        near.add("docs", &DocumentIds::from_iter(ids.iter().copied()));
        near.into_found().into_iter().map(|(_, id)| id).collect()
    }

    #[test]
    fn last_component_is_compared_first() {
        let ids = [
            "api/install.md",
            "guide/installing.md",
            "guide/other.md",
            "install.md",
            "old/guide/install.md",
        ];
        assert_eq!(
            near("guide/install.md", &ids),
            ["old/guide/install.md", "api/install.md", "install.md"]
        );
        assert_eq!(near("guide/othr.md", &ids), ["guide/other.md"]);
    }

    #[test]
    fn case_and_decoration_do_not_matter() {
        let ids = ["guide/install.md"];
        for asked in [
            "Guide/Install.md",
            "./guide/install.md",
            "/guide/install.md",
            "docs/guide/install.md",
            "guide/install.md:3-9",
            "guide/install.md:3",
            "install",
        ] {
            assert_eq!(near(asked, &ids), ids, "{asked}");
        }
    }

    #[test]
    fn folders_are_compared_in_trees_of_index_files() {
        let ids = [
            "api/cache/index.md",
            "api/fetch/index.md",
            "api/fetch/usage/index.md",
            "index.md",
            "tools/readme.md",
        ];
        let fetch = ["api/fetch/index.md"];
        assert_eq!(near("api/fetsh/index.md", &ids), fetch);
        assert_eq!(near("api/fetch.md", &ids), fetch);
        assert_eq!(near("fetch", &ids), fetch);
        assert_eq!(near("tool/readme.md", &ids), ["tools/readme.md"]);
        assert_eq!(near("idnex.md", &ids), ["index.md"]);
    }

    #[test]
    fn unlike_ids_are_not_suggested() {
        for asked in ["", "/", "quite-different.rst", &"x".repeat(100_000)] {
            assert!(near(asked, &["guide/install.md", "", "a/"]).is_empty());
        }
    }

    #[test]
    fn equal_last_components_are_found_behind_many_others() {
        let mut ids: Vec<String> = (0..MAX_COMPARED + 10)
            .map(|number| format!("{number:07}-other.txt"))
            .collect();
        ids.push(String::from("z/wanted.md"));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(near("a/wanted.md", &ids), ["z/wanted.md"]);
    }
}
