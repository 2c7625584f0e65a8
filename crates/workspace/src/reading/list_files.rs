//! Lists the entries of a directory and of those within it.

use super::file_filter::FileFilter;
use super::tree_walk::{MAX_WALK_DEPTH, TreeWalk, Truncation, WalkEntry, WalkStart};
use super::{ReadError, WorkspaceReader, display_path};
use crate::protected::DenyRead;
use crate::state::is_log_path;
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

/// Entries in one answer.
pub const MAX_LISTED: usize = 2_000;

/// Bytes of paths in one answer.
pub const MAX_LISTED_BYTES: usize = 512 * 1024;

/// The default depth of a listing without a glob.
pub const LIST_DEPTH: usize = 3;

/// The arguments of `list_files`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListRequest {
    /// The directory; the default is the root.
    #[serde(default)]
    pub path: Option<String>,
    /// The depth; 1 is the directory itself. The default is [`LIST_DEPTH`], or with a glob as deep
    /// as it goes; never more than [`MAX_WALK_DEPTH`].
    #[serde(default)]
    pub depth: Option<usize>,
    /// Only files that match: by name if the glob has no slash, else by path from the root.
    #[serde(default)]
    pub glob: Option<String>,
}

/// The entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListAnswer {
    /// The directory that was listed, from the root; empty is the root.
    pub path: String,
    /// The depth that was listed.
    pub depth: usize,
    /// The entries in the order of names, a directory before its own entries.
    pub entries: Vec<ListEntry>,
    /// The number of further entries that were left out.
    pub omitted: u64,
    /// Directories that could not be read.
    pub unreadable: u64,
    /// Entries that are never listed; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkippedEntries>,
    /// The reason why this is incomplete; null if it is complete.
    pub truncated: Option<Truncation>,
}

/// The numbers of entries that are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SkippedEntries {
    /// The files of the audit log.
    pub protected: u64,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListEntry {
    /// From the root.
    pub path: String,
    /// The kind of the entry; links are not followed.
    pub kind: EntryKind,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// True if a `.gitignore` names it; such a directory is entered only on request.
    #[serde(skip_serializing_if = "is_false")]
    pub ignored: bool,
    /// True if it must not be read.
    #[serde(skip_serializing_if = "is_false")]
    pub denied: bool,
    /// True if its name is not UTF-8, so that `path` is only similar to it.
    #[serde(skip_serializing_if = "is_false")]
    pub not_utf8: bool,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A link, wherever it leads.
    Link,
    /// A device, a named pipe, a socket.
    Other,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl WorkspaceReader<'_> {
    /// Lists a directory.
    pub fn list_files(&self, request: &ListRequest) -> Result<ListAnswer, ReadError> {
        let filter = FileFilter::new(request.glob.as_deref())?;
        let usual = match filter {
            FileFilter::All => LIST_DEPTH,
            _ => MAX_WALK_DEPTH,
        };
        let depth = request.depth.unwrap_or(usual).clamp(1, MAX_WALK_DEPTH);
        let start = match self.start(request.path.as_deref())? {
            WalkStart::Directory(real) => real,
            WalkStart::File(_, path) => return Err(ReadError::NotADirectory { path }),
        };
        let mut answer = ListAnswer {
            path: display_path(&start).0,
            depth,
            entries: Vec::new(),
            omitted: 0,
            unreadable: 0,
            skipped: None,
            truncated: None,
        };
        let mut walk = self.walk(&start, depth)?;
        let mut bytes = 0;
        while let Some(item) = walk.next() {
            if !filter.takes(&item.path) {
                continue;
            }
            if is_log_path(&item.path) {
                answer.skipped.get_or_insert_default().protected += 1;
                continue;
            }
            let length = item.path.as_os_str().len();
            let fits = answer.entries.len() < MAX_LISTED && bytes + length <= MAX_LISTED_BYTES;
            // Once something is left out, so is all that follows.
            if answer.omitted > 0 || !fits {
                answer.omitted += 1;
                continue;
            }
            bytes += length;
            answer.entries.push(entry(&item, &walk, self.deny));
        }
        answer.unreadable = walk.unreadable;
        answer.truncated = walk
            .cut
            .or((answer.omitted > 0).then_some(Truncation::Answer));
        Ok(answer)
    }
}

fn entry(item: &WalkEntry, walk: &TreeWalk<'_>, deny: &DenyRead) -> ListEntry {
    let kind = match item.kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    let (path, exact) = display_path(&item.path);
    ListEntry {
        path,
        kind,
        size: match kind {
            EntryKind::File => walk.size(item),
            _ => None,
        },
        ignored: item.ignored,
        denied: kind != EntryKind::Directory && deny.denies(&item.path),
        not_utf8: !exact,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, json};
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    fn list(fixture: &Fixture, request: ListRequest) -> String {
        json(fixture.reading().list_files(&request))
    }

    /// Returns only the paths, in one line.
    fn paths(fixture: &Fixture, request: &ListRequest) -> String {
        let answer = fixture.reading().list_files(request).unwrap();
        let paths: Vec<_> = answer.entries.into_iter().map(|entry| entry.path).collect();
        paths.join(" ")
    }

    #[test]
    fn entries_are_listed_in_order_and_links_are_not_followed() {
        let fixture = Fixture::new();
        fixture.write("b/c.txt", "12345");
        fixture.write("b/a", "");
        fixture.write("a.txt", "1");
        fixture.write(".env", "S");
        fixture.write(".git/HEAD", "ref");
        fixture.write("target/debug/x", "");
        fixture.write(".gitignore", "/target\n");
        fixture.link("out", "../evil");
        fixture.fifo("fifo");
        assert_eq!(
            list(&fixture, ListRequest::default()),
            concat!(
                r#"{"path":"","depth":3,"entries":["#,
                r#"{"path":".env","kind":"file","size":1,"denied":true},"#,
                r#"{"path":".git","kind":"directory"},"#,
                r#"{"path":".gitignore","kind":"file","size":8},"#,
                r#"{"path":"a.txt","kind":"file","size":1},"#,
                r#"{"path":"b","kind":"directory"},"#,
                r#"{"path":"b/a","kind":"file","size":0},"#,
                r#"{"path":"b/c.txt","kind":"file","size":5},"#,
                r#"{"path":"fifo","kind":"other"},"#,
                r#"{"path":"out","kind":"link"},"#,
                r#"{"path":"target","kind":"directory","ignored":true}"#,
                r#"],"omitted":0,"unreadable":0,"truncated":null}"#
            )
        );
    }

    #[test]
    fn audit_log_is_not_listed() {
        let fixture = Fixture::new();
        for name in [
            "audit-log.jsonl",
            "audit-log.jsonl.lock",
            "audit-log.json",
            "sub/audit-log.jsonl",
        ] {
            fixture.write(name, "");
        }
        let request = ListRequest::default();
        assert_eq!(
            paths(&fixture, &request),
            "audit-log.json sub sub/audit-log.jsonl"
        );
        let answer = fixture.reading().list_files(&request).unwrap();
        assert_eq!(answer.skipped, Some(SkippedEntries { protected: 2 }));
    }

    #[test]
    fn path_depth_and_glob_select_entries() {
        let fixture = Fixture::new();
        fixture.write("a/b/c/d/e.rs", "");
        fixture.write("a/x.rs", "");
        fixture.write("target/debug/x.rs", "");
        fixture.write("target/x.log", "");
        fixture.write(".gitignore", "/target\n*.log\n!a/**/*.log\n");
        fixture.write(".git/config", "");
        fixture.link("link", "a");
        let request = |path: Option<&str>, depth, glob: Option<&str>| ListRequest {
            path: path.map(str::to_owned),
            depth,
            glob: glob.map(str::to_owned),
        };
        assert_eq!(
            paths(&fixture, &request(Some("a"), Some(1), None)),
            "a/b a/x.rs"
        );
        assert_eq!(
            paths(&fixture, &request(Some("link/"), Some(1), None)),
            "a/b a/x.rs"
        );
        assert_eq!(
            paths(&fixture, &request(Some("."), Some(0), Some("a"))),
            "a"
        );
        assert_eq!(
            paths(&fixture, &request(None, None, Some("*.rs"))),
            "a/b/c/d/e.rs a/x.rs"
        );
        assert_eq!(
            paths(&fixture, &request(None, None, Some("a/*/c"))),
            "a/b/c"
        );
        assert_eq!(
            paths(&fixture, &request(Some(".git"), None, None)),
            ".git/config"
        );
        let target = request(Some("target"), None, None);
        assert_eq!(
            paths(&fixture, &target),
            "target/debug target/debug/x.rs target/x.log"
        );
        let entries = fixture.reading().list_files(&target).unwrap().entries;
        let ignored: Vec<bool> = entries.iter().map(|entry| entry.ignored).collect();
        assert_eq!(ignored, [false, false, true]);
    }

    #[test]
    fn invalid_requests_are_refused_with_a_reason() {
        let fixture = Fixture::new();
        fixture.write("f", "");
        fixture.link("out", "../evil");
        for (path, expected) in [
            ("f", "f is a file, not a directory"),
            ("none", "none does not exist"),
            ("out", "a link on the way leads out of the workspace"),
            (
                "..",
                "the path contains `..`; name the file by its path from the workspace root",
            ),
            ("", "the path is empty"),
        ] {
            let request = ListRequest {
                path: Some(path.to_owned()),
                ..ListRequest::default()
            };
            assert_eq!(list(&fixture, request), expected);
        }
        let request = ListRequest {
            glob: Some("[".to_owned()),
            ..ListRequest::default()
        };
        let expected = "the glob cannot be used: unclosed character class; missing ']'";
        assert_eq!(list(&fixture, request), expected);
    }

    #[test]
    fn full_answer_counts_omitted_entries() {
        let fixture = Fixture::new();
        for n in 0..MAX_LISTED + 3 {
            fs::write(fixture.at(&format!("{n:05}")), "").unwrap();
        }
        let answer = fixture
            .reading()
            .list_files(&ListRequest::default())
            .unwrap();
        assert_eq!(answer.entries.len(), MAX_LISTED);
        assert_eq!(
            (answer.omitted, answer.truncated),
            (3, Some(Truncation::Answer))
        );
        assert_eq!(answer.entries[1999].path, "01999");
        let stopped = fixture
            .until(&|| true)
            .list_files(&ListRequest::default())
            .unwrap();
        assert_eq!(
            (stopped.entries.len(), stopped.truncated),
            (0, Some(Truncation::Time))
        );
    }

    #[test]
    fn answer_is_bounded_in_bytes() {
        let fixture = Fixture::new();
        let dir = vec!["d".repeat(250); 8].join("/");
        for n in 0..300 {
            fixture.write(&format!("{dir}/{n:03}"), "");
        }
        let request = ListRequest {
            glob: Some("[0-9]*".to_owned()),
            ..ListRequest::default()
        };
        let answer = fixture.reading().list_files(&request).unwrap();
        let fit = MAX_LISTED_BYTES / (dir.len() + 4);
        assert_eq!(
            (answer.entries.len(), answer.omitted),
            (fit, 300 - fit as u64)
        );
    }

    #[test]
    fn walk_ends_at_the_maximum_depth() {
        let fixture = Fixture::new();
        let deep = vec!["d"; MAX_WALK_DEPTH + 5].join("/");
        fs::create_dir_all(fixture.at(&deep)).unwrap();
        let request = ListRequest {
            depth: Some(1_000_000),
            ..ListRequest::default()
        };
        let answer = fixture.reading().list_files(&request).unwrap();
        assert_eq!(
            (answer.depth, answer.entries.len()),
            (MAX_WALK_DEPTH, MAX_WALK_DEPTH)
        );
        assert_eq!(answer.truncated, Some(Truncation::Work));
    }

    #[test]
    fn name_that_is_not_utf8_is_marked() {
        let fixture = Fixture::new();
        fs::write(fixture.at("").join(OsStr::from_bytes(b"a\xff")), "").unwrap();
        let answer = fixture
            .reading()
            .list_files(&ListRequest::default())
            .unwrap();
        assert_eq!(answer.entries[0].path, "a\u{fffd}");
        assert!(answer.entries[0].not_utf8);
    }
}
