//! The code, the exit and the message of every failure.

use candor_context::{
    BudgetFlaw, CacheProblem, CacheProblemKind, Failure, QueryFlaw, SourceFlaw, TargetFlaw,
};
use rustix::io::Errno;
use std::io;

fn text(text: &str) -> String {
    text.to_owned()
}

fn problem(kind: CacheProblemKind) -> Failure {
    let file = text("index.json");
    let problems = vec![CacheProblem { file, kind }];
    Failure::Invalid { problems }
}

/// Returns every failure: its code, its exit, its words.
fn table() -> Vec<(Failure, &'static str, u8, &'static str)> {
    let id = || text("x.md");
    vec![
        (
            Failure::Lookup {
                path: text("nowhere"),
                error: Errno::NOENT,
            },
            "cache_missing",
            4,
            "there is no cache at `nowhere`: No such file or directory (os error 2)",
        ),
        (
            Failure::Outside {
                path: text("../x\u{1b}[2J"),
            },
            "cache_missing",
            4,
            "`../x\\u{1b}[2J` leads out of the root",
        ),
        (
            Failure::Invalid {
                problems: Vec::new(),
            },
            "cache_invalid",
            5,
            "the cache is invalid",
        ),
        (
            problem(CacheProblemKind::Missing),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: missing",
        ),
        (
            problem(CacheProblemKind::NotRegular),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: not of the right kind",
        ),
        (
            problem(CacheProblemKind::Large),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: too large",
        ),
        (
            problem(CacheProblemKind::Malformed(text("EOF"))),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: malformed: EOF",
        ),
        (
            problem(CacheProblemKind::Unsupported),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: build_config is not one that can be read here",
        ),
        (
            problem(CacheProblemKind::Count {
                stated: 1,
                listed: 2,
            }),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: document_count is 1, but 2 are listed",
        ),
        (
            problem(CacheProblemKind::CacheVersion),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: cache_version does not match what is listed",
        ),
        (
            problem(CacheProblemKind::NoVersion(id())),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the version of `x.md` is no digest",
        ),
        (
            problem(CacheProblemKind::Twice(id())),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the id `x.md` is listed twice",
        ),
        (
            problem(CacheProblemKind::Order(id())),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the id `x.md` is out of order",
        ),
        (
            problem(CacheProblemKind::Pointer(text("../x"))),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: `../x` is not a name in documents/",
        ),
        (
            problem(CacheProblemKind::IndexDiffers(id())),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the manifest says something else about `x.md`",
        ),
        (
            problem(CacheProblemKind::IndexSurplus(id())),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the manifest has no `x.md`",
        ),
        (
            problem(CacheProblemKind::OtherId),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: it holds a document with another id",
        ),
        (
            problem(CacheProblemKind::OtherVersion),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: it holds another version of the document",
        ),
        (
            problem(CacheProblemKind::Content),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: the content does not hash to its version",
        ),
        (
            problem(CacheProblemKind::Unlisted),
            "cache_invalid",
            5,
            "the cache is invalid: index.json: no entry of the manifest lists it",
        ),
        (
            problem(CacheProblemKind::Unreadable(text("no"))),
            "io_error",
            6,
            "in the cache: index.json: cannot be read: no",
        ),
        (
            Failure::System {
                doing: text("write"),
                error: io::Error::from_raw_os_error(28),
            },
            "io_error",
            6,
            "cannot write: No space left on device (os error 28)",
        ),
        (
            Failure::Restless,
            "io_error",
            6,
            "the cache kept changing while it was read",
        ),
        (
            Failure::Query(QueryFlaw::Long(65_537)),
            "invalid_query",
            2,
            "the query has 65537 bytes; at most 65536 are allowed",
        ),
        (
            Failure::Query(QueryFlaw::Nul),
            "invalid_query",
            2,
            "the query holds a NUL",
        ),
        (
            Failure::Query(QueryFlaw::NotUtf8),
            "invalid_query",
            2,
            "the query is not UTF-8",
        ),
        (
            Failure::Budget(BudgetFlaw::NoCount(text("-1"))),
            "invalid_budget",
            3,
            "the budget `-1` is no whole number from 0 to 9007199254740991",
        ),
        (
            Failure::Budget(BudgetFlaw::ResponseTooLarge),
            "invalid_budget",
            3,
            "the answer to this query with this budget would be larger than 64 MiB",
        ),
        (
            Failure::Sources(vec![SourceFlaw::Name(text("\u{fffd}.md"))]),
            "cache_invalid",
            5,
            "the name `\u{fffd}.md` is not UTF-8",
        ),
        (
            Failure::Sources(vec![SourceFlaw::Content(id(), 7)]),
            "cache_invalid",
            5,
            "`x.md` is not UTF-8 from byte 7 on",
        ),
        (
            Failure::Sources(vec![SourceFlaw::SameId(text("X.md"), id())]),
            "cache_invalid",
            5,
            "`X.md` would be the same document as `x.md`: their names differ in case only",
        ),
        (
            Failure::Sources(vec![
                SourceFlaw::SameId(text("a/B.md"), text("a\\b.md")),
                SourceFlaw::SameId(text("a\\b.md"), text("a/B.md")),
            ]),
            "cache_invalid",
            5,
            "2 files cannot be documents:\n  `a/B.md` would be the same document as `a\\b.md`: a `\\` in a name counts as a `/`\n  `a\\b.md` would be the same document as `a/B.md`: a `\\` in a name counts as a `/`",
        ),
        (
            Failure::Sources(vec![SourceFlaw::Large(id(), 67_108_865)]),
            "cache_invalid",
            5,
            "`x.md` has 67108865 bytes; a document has at most 67108864",
        ),
        (
            Failure::Sources(vec![SourceFlaw::Many]),
            "cache_invalid",
            5,
            "there are more than 4000000 sources",
        ),
        (
            Failure::Target(TargetFlaw::Exists(text("c"))),
            "io_error",
            6,
            "`c` exists already",
        ),
        (
            Failure::Target(TargetFlaw::Foreign(text("c"), text("notes"))),
            "io_error",
            6,
            "`c` is not replaced: it holds `notes`, which is no file of a cache",
        ),
        (
            Failure::Target(TargetFlaw::NoDirectory(text("c"))),
            "io_error",
            6,
            "`c` exists and is no directory",
        ),
        (
            Failure::Target(TargetFlaw::NoParent(text("c"))),
            "io_error",
            6,
            "there is no directory `c`",
        ),
        (
            Failure::Target(TargetFlaw::NoName(text(".."))),
            "io_error",
            6,
            "`..` names no directory to create",
        ),
        (
            Failure::Target(TargetFlaw::Sources(text("c"))),
            "io_error",
            6,
            "`c` contains the sources",
        ),
        (
            Failure::Write {
                cache: text("c"),
                error: Errno::NOSPC.into(),
            },
            "io_error",
            6,
            "the disk of `c` is full",
        ),
        (
            Failure::Write {
                cache: text("c"),
                error: Errno::DQUOT.into(),
            },
            "io_error",
            6,
            "the disk of `c` is full",
        ),
        (
            Failure::Write {
                cache: text("c"),
                error: Errno::IO.into(),
            },
            "io_error",
            6,
            "cannot write `c`: Input/output error (os error 5)",
        ),
        (
            Failure::NoSources {
                path: text("s"),
                error: Errno::NOENT,
            },
            "io_error",
            6,
            "cannot open the sources `s`: No such file or directory (os error 2)",
        ),
        (
            Failure::SourcesGone {
                path: text("/s"),
                record: text("/c/build.json"),
                error: Errno::NOENT,
            },
            "io_error",
            6,
            "cannot open the sources `/s`, which `/c/build.json` names: No such file or directory (os error 2)",
        ),
        (
            Failure::NoRecord {
                cache: text("c"),
                reason: text("it is missing"),
            },
            "io_error",
            6,
            "build.json of `c` cannot be used: it is missing",
        ),
        (
            Failure::NoMatch {
                globs: vec![text("*.txt"), text("x/")],
            },
            "io_error",
            6,
            "no file below the sources matches `*.txt`, `x/`",
        ),
        (
            Failure::Emptying {
                removed: 21,
                documents: 40,
                sources: text("/s"),
            },
            "io_error",
            6,
            "the update would remove 21 of 40 documents, because their sources are not in `/s` any more",
        ),
        (Failure::Bug("none"), "internal_error", 7, "a bug: none"),
    ]
}

#[test]
fn every_failure_has_its_code_exit_and_message() {
    for (failure, code, exit, words) in table() {
        let fault = failure.fault();
        assert_eq!(fault.row().code.to_string(), code, "{failure:?}");
        assert_eq!(fault.row().exit, Some(exit), "{failure:?}");
        assert_eq!(failure.to_string(), words);
    }
}

#[test]
fn invalid_file_outweighs_unreadable_file() {
    let unreadable = CacheProblem {
        file: text("a"),
        kind: CacheProblemKind::Unreadable(text("no")),
    };
    let missing = CacheProblem {
        file: text("b"),
        kind: CacheProblemKind::Missing,
    };
    for (problems, code, words) in [
        (
            vec![unreadable.clone(); 2],
            "io_error",
            "in the cache: a: cannot be read: no (and one more problem)",
        ),
        (
            vec![unreadable.clone(), missing.clone(), missing],
            "cache_invalid",
            "the cache is invalid: a: cannot be read: no (and 2 more problems)",
        ),
    ] {
        let failure = Failure::Invalid { problems };
        assert_eq!(crate::fixture::code(&failure), code);
        assert_eq!(failure.to_string(), words);
    }
}
