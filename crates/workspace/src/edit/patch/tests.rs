//! Patches as models write them: ambiguous ones are refused with a reason, the others are applied.

use super::{InvalidPatch, MAX_HUNKS, PatchError, PatchMismatch, apply_patch};

const OLD: &str = "one\ntwo\nthree\n\nfive\ntwo\nseven\n";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// At this line of the patch.
    InvalidPatch(usize, InvalidPatch),
    /// For this hunk.
    PatchMismatch(usize, PatchMismatch),
}

fn refusal_of(old: Option<&str>, patch: &str) -> Refusal {
    match apply_patch(old, patch, "src/f.txt") {
        Err(PatchError::Invalid { line, reason }) => Refusal::InvalidPatch(line, reason),
        Err(PatchError::DoesNotApply { hunk, reason, .. }) => Refusal::PatchMismatch(hunk, reason),
        Ok(text) => panic!("applied: {text:?}"),
    }
}

/// Returns the hunks after the two lines that name the file.
fn with_file_names(hunks: &str) -> String {
    format!("--- a/src/f.txt\n+++ b/src/f.txt\n{hunks}")
}

#[test]
fn invalid_patches_are_refused() {
    use InvalidPatch::*;
    let other = |named: &str| OtherFile {
        named: String::from(named),
    };
    let good = with_file_names("@@ -1 +1 @@\n-one\n+ONE\n");
    let second = good.replace("f.txt", "g.txt");
    let cases: Vec<(&str, String, usize, InvalidPatch)> = vec![
        ("nothing", String::new(), 1, Empty),
        ("blank lines", String::from("\n \n"), 1, Empty),
        ("an empty fence", String::from("```diff\n```\n"), 2, Empty),
        (
            "a sentence before it",
            format!("Here is the patch:\n\n{good}"),
            1,
            NotADiff,
        ),
        ("the file itself", String::from(OLD), 1, NotADiff),
        (
            "another format",
            String::from("*** Begin Patch\n*** Update File: src/f.txt\n"),
            1,
            NotADiff,
        ),
        (
            "a mail",
            format!("From 1234 Mon Sep 17 00:00:00 2001\nSubject: x\n\n{good}"),
            1,
            NotADiff,
        ),
        (
            "search and replace",
            String::from("<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE\n"),
            1,
            NotADiff,
        ),
        (
            "a fence that stays open",
            format!("```diff\n{good}"),
            1,
            OpenFence,
        ),
        (
            "hunks alone",
            String::from("@@ -1 +1 @@\n-one\n+ONE\n"),
            1,
            NoFileNames,
        ),
        (
            "only the old name",
            String::from("--- a/src/f.txt\n@@ -1 +1 @@\n-one\n+ONE\n"),
            1,
            NoFileNames,
        ),
        (
            "only the new name",
            String::from("+++ b/src/f.txt\n@@ -1 +1 @@\n-one\n+ONE\n"),
            1,
            NoFileNames,
        ),
        ("names alone", with_file_names(""), 2, NoHunks),
        (
            "a git header alone",
            String::from("diff --git a/src/f.txt b/src/f.txt\nindex 1..2 100644\n"),
            2,
            NoHunks,
        ),
        (
            "dots for numbers",
            with_file_names("@@ ... @@\n-one\n+ONE\n"),
            3,
            HunkHeader,
        ),
        (
            "no numbers",
            with_file_names("@@\n-one\n+ONE\n"),
            3,
            HunkHeader,
        ),
        (
            "a function for numbers",
            with_file_names("@@ fn main() @@\n-one\n+ONE\n"),
            3,
            HunkHeader,
        ),
        (
            "half a header",
            with_file_names("@@ -1,3 +1,3\n-one\n+ONE\n"),
            3,
            HunkHeader,
        ),
        (
            "a negative count",
            with_file_names("@@ -1,-3 +1,3 @@\n-one\n+ONE\n"),
            3,
            HunkHeader,
        ),
        (
            "a hunk without lines",
            with_file_names("@@ -1 +1 @@\n@@ -2 +2 @@\n-two\n+TWO\n"),
            3,
            EmptyHunk,
        ),
        (
            "context without its space",
            with_file_names("@@ -1,2 +1,2 @@\n-one\n+ONE\ntwo\n"),
            6,
            HunkLine,
        ),
        (
            "a sentence behind it",
            format!("{good}\nThat is all.\n"),
            7,
            HunkLine,
        ),
        ("a fence behind it", format!("{good}```\n"), 6, HunkLine),
        (
            "dots between lines",
            with_file_names("@@ -1,3 +1,3 @@\n-one\n+ONE\n...\n three\n"),
            6,
            HunkLine,
        ),
        (
            "a marker first",
            with_file_names("@@ -1 +1 @@\n\\ No newline at end of file\n+a\n"),
            4,
            HunkLine,
        ),
        (
            "a marker inside",
            with_file_names("@@ -1,2 +1,2 @@\n-one\n+ONE\n\\ No newline at end of file\n two\n"),
            3,
            NoNewlineInside,
        ),
        ("two files", format!("{good}{second}"), 6, SeveralFiles),
        (
            "two files, miscounted",
            format!("{}{second}", good.replace("-1 +1", "-1,9 +1,9")),
            6,
            SeveralFiles,
        ),
        (
            "two files of git",
            format!("diff --git a/src/f.txt b/src/f.txt\n{good}diff --git a/g b/g\n{second}"),
            7,
            SeveralFiles,
        ),
        ("another file", second.clone(), 1, other("a/src/g.txt")),
        (
            "another new name",
            good.replace("+++ b/src/f", "+++ b/src/g"),
            2,
            other("b/src/g.txt"),
        ),
        (
            "another folder",
            good.replace("src/f", "lib/src/f"),
            1,
            other("a/lib/src/f.txt"),
        ),
        (
            "another file of git",
            format!("diff --git a/g b/g\n{good}"),
            1,
            other("a/g b/g"),
        ),
        (
            "a deletion",
            String::from("--- a/src/f.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"),
            2,
            Deletes,
        ),
        (
            "a deletion of git",
            String::from("diff --git a/src/f.txt b/src/f.txt\ndeleted file mode 100644\n"),
            2,
            Deletes,
        ),
        (
            "a rename",
            String::from(
                "diff --git a/src/g.txt b/src/f.txt\nsimilarity index 90%\nrename from src/g.txt\n",
            ),
            2,
            Renames,
        ),
        (
            "a copy",
            String::from("diff --git a/src/g.txt b/src/f.txt\ncopy from src/g.txt\n"),
            2,
            Renames,
        ),
        (
            "a mode",
            String::from("diff --git a/src/f.txt b/src/f.txt\nold mode 100644\nnew mode 100755\n"),
            2,
            ChangesMode,
        ),
        (
            "a new link",
            String::from("diff --git a/src/f.txt b/src/f.txt\nnew file mode 120000\n"),
            2,
            ChangesMode,
        ),
        (
            "binary",
            String::from("diff --git a/src/f.txt b/src/f.txt\nindex 1..2\nGIT binary patch\n"),
            3,
            Binary,
        ),
        (
            "binary, told",
            String::from("Binary files a/src/f.txt and b/src/f.txt differ\n"),
            1,
            Binary,
        ),
        (
            "a merge",
            String::from("diff --cc src/f.txt\nindex 1,2..3\n"),
            1,
            Combined,
        ),
        (
            "hunks of a merge",
            with_file_names("@@@ -1 -1 +1 @@@\n--one\n++ONE\n"),
            3,
            Combined,
        ),
        (
            "context alone",
            with_file_names("@@ -1,2 +1,2 @@\n one\n two\n"),
            5,
            ChangesNothing,
        ),
        (
            "a flood of hunks",
            with_file_names(&"@@ -1 +1 @@\n-one\n+ONE\n".repeat(MAX_HUNKS + 1)),
            3003,
            TooManyHunks,
        ),
    ];
    for (name, patch, line, reason) in cases {
        assert_eq!(
            refusal_of(Some(OLD), &patch),
            Refusal::InvalidPatch(line, reason),
            "{name}"
        );
    }
}

#[test]
fn mismatching_patches_are_refused() {
    use PatchMismatch::*;
    let cases = [
        (
            "another text",
            with_file_names("@@ -1 +1 @@\n-eins\n+ONE\n"),
            0,
            NotFound,
        ),
        (
            "other spaces",
            with_file_names("@@ -1 +1 @@\n- one\n+ONE\n"),
            0,
            NotFound,
        ),
        (
            "spaces at the end",
            with_file_names("@@ -1 +1 @@\n-one \n+ONE\n"),
            0,
            NotFound,
        ),
        (
            "half a line",
            with_file_names("@@ -1 +1 @@\n-on\n+ONE\n"),
            0,
            NotFound,
        ),
        (
            "lines left out",
            with_file_names("@@ -1,2 +1,2 @@\n one\n-three\n+THREE\n"),
            0,
            NotFound,
        ),
        (
            "the result for the old text",
            with_file_names("@@ -1 +1 @@\n-one\n+ONE\n@@ -1,2 +1,2 @@\n ONE\n-two\n+TWO\n"),
            1,
            NotFound,
        ),
        (
            "an end that is none",
            with_file_names("@@ -7 +7 @@\n-seven\n\\ No newline at end of file\n+SEVEN\n"),
            0,
            NotFound,
        ),
        (
            "twice, at neither",
            with_file_names("@@ -3 +3 @@\n-two\n+TWO\n"),
            0,
            NotUnique,
        ),
        (
            "twice, far beyond",
            with_file_names("@@ -99999999999999999999 +1 @@\n-two\n+TWO\n"),
            0,
            NotUnique,
        ),
        (
            "lines from nowhere",
            with_file_names("@@ -2,0 +3 @@\n+new\n"),
            0,
            NoContext,
        ),
        (
            "the same line twice",
            with_file_names("@@ -1 +1 @@\n-one\n+ONE\n@@ -1 +1 @@\n-one\n+UNO\n"),
            1,
            Overlaps,
        ),
        (
            "two at one place",
            with_file_names("@@ -1 +1,2 @@\n one\n+a\n@@ -1 +1,2 @@\n one\n+b\n"),
            1,
            Overlaps,
        ),
        (
            "no line break inside",
            with_file_names("@@ -1 +1 @@\n-one\n+ONE\n\\ No newline at end of file\n"),
            0,
            NotAtEnd,
        ),
        (
            "a new file that is there",
            with_file_names("@@ -0,0 +1 @@\n+new\n").replace("a/src/f.txt", "/dev/null"),
            0,
            FileExists,
        ),
    ];
    for (name, patch, hunk, reason) in cases {
        assert_eq!(
            refusal_of(Some(OLD), &patch),
            Refusal::PatchMismatch(hunk, reason),
            "{name}"
        );
    }
    let changes = with_file_names("@@ -1 +1 @@\n-one\n+ONE\n");
    assert_eq!(
        refusal_of(None, &changes),
        Refusal::PatchMismatch(0, NoFile)
    );
}

#[test]
fn unambiguous_patches_are_applied() {
    let new = "ONE\ntwo\nthree\n\nfive\ntwo\nseven\n";
    let hunk = "@@ -1,4 +1,4 @@\n-one\n+ONE\n two\n three\n \n";
    let cases = [
        ("as it should be", with_file_names(hunk)),
        (
            "with git's header",
            format!(
                "diff --git a/src/f.txt b/src/f.txt\nindex 12ab..34cd 100644\n{}",
                with_file_names(hunk)
            ),
        ),
        (
            "with svn's header",
            format!("Index: src/f.txt\n=======\n{}", with_file_names(hunk)),
        ),
        (
            "with times",
            with_file_names(hunk).replace("f.txt\n", "f.txt\t2024-01-01 00:00:00.0 +0000\n"),
        ),
        (
            "without prefixes",
            with_file_names(hunk)
                .replace("a/src", "src")
                .replace("b/src", "src"),
        ),
        (
            "with quotes",
            with_file_names(hunk).replace("a/src/f.txt", "\"a/src/\\146.txt\""),
        ),
        (
            "with a function",
            with_file_names(&hunk.replace("4 @@", "4 @@ fn main() {")),
        ),
        (
            "in a fence",
            format!("\n```diff\n{}```\n\n", with_file_names(hunk)),
        ),
        (
            "without the last line break",
            with_file_names(hunk.trim_end_matches('\n')),
        ),
        ("with blank lines behind", with_file_names(hunk) + "\n\n"),
        (
            "with a lost space",
            with_file_names(&hunk.replace("\n \n", "\n\n")),
        ),
        (
            "with a lost space inside",
            with_file_names(&hunk.replace("\n \n", "\n\n five\n")),
        ),
        (
            "with wrong counts",
            with_file_names(&hunk.replace("-1,4 +1,4", "-1,40 +1")),
        ),
        (
            "with a wrong line",
            with_file_names(&hunk.replace("-1,4 +1,4", "-6,4 +6,4")),
        ),
        (
            "without counts",
            with_file_names("@@ -1 +1 @@\n-one\n+ONE\n"),
        ),
        ("with CRLF", with_file_names(hunk).replace('\n', "\r\n")),
    ];
    for (name, patch) in cases {
        assert_eq!(
            apply_patch(Some(OLD), &patch, "src/f.txt").as_deref(),
            Ok(new),
            "{name}"
        );
    }
}

#[test]
fn hunks_apply_in_any_order() {
    let patch = with_file_names(
        "@@ -7 +7 @@\n-seven\n+SEVEN\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -2,2 +2,2 @@\n two\n-three\n+THREE\n",
    );
    let result = apply_patch(Some(OLD), &patch, "src/f.txt").unwrap();
    assert_eq!(result, "ONE\ntwo\nTHREE\n\nfive\ntwo\nSEVEN\n");
}

#[test]
fn stated_line_decides_between_equal_matches() {
    let patch = with_file_names("@@ -6 +6 @@\n-two\n+TWO\n");
    let result = apply_patch(Some(OLD), &patch, "src/f.txt").unwrap();
    assert_eq!(result, "one\ntwo\nthree\n\nfive\nTWO\nseven\n");
}

#[test]
fn new_file_is_created() {
    let patch =
        "--- /dev/null\n+++ b/src/f.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";
    assert_eq!(apply_patch(None, patch, "src/f.txt").unwrap(), "a\nb");
    let named = patch.replace("/dev/null", "a/src/f.txt");
    assert_eq!(apply_patch(None, &named, "src/f.txt").unwrap(), "a\nb");
    assert_eq!(apply_patch(Some(""), &named, "src/f.txt").unwrap(), "a\nb");
    let crlf = patch.replace('\n', "\r\n");
    assert_eq!(apply_patch(None, &crlf, "src/f.txt").unwrap(), "a\r\nb");
}

#[test]
fn last_line_without_a_line_break_needs_no_marker() {
    let apply = |old: &str, hunk: &str| {
        apply_patch(Some(old), &with_file_names(hunk), "src/f.txt").unwrap()
    };
    assert_eq!(apply("a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"), "A\nb");
    assert_eq!(apply("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"), "a\nb\nc\n");
    assert_eq!(apply("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "a\nc\n");
    assert_eq!(
        apply("a\r\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"),
        "a\r\nb\r\nc\r\n"
    );
}

#[test]
fn lines_that_look_like_file_names_are_content() {
    let old = "-- x\nkept\n";
    let hunk = "@@ -1 +1 @@\n--- x\n+++ y\n@@ -2 +2 @@\n-kept\n+left\n";
    let result = apply_patch(Some(old), &with_file_names(hunk), "src/f.txt").unwrap();
    assert_eq!(result, "++ y\nleft\n");
    let miscounted = with_file_names(&hunk.replace("-1 +1", "-1,3 +1,3"));
    let expected = Refusal::InvalidPatch(3, InvalidPatch::EmptyHunk);
    assert_eq!(refusal_of(Some(old), &miscounted), expected);
}

#[test]
fn refusal_names_the_nearest_lines() {
    let refused = |hunk: &str| {
        apply_patch(Some(OLD), &with_file_names(hunk), "src/f.txt")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("@@ -3 +3 @@\n-threes\n+THREE\n"),
        "hunk 0: its old lines are not in the file; read the file again; nearest lines: 3: `three`"
    );
    assert_eq!(
        refused("@@ -3 +3 @@\n-two\n+TWO\n"),
        "hunk 0: its old lines are not at the line it names, and in several other places; give the right line or more context; its lines begin at 2: `two`, 6: `two`"
    );
    let deletes = apply_patch(Some(OLD), "--- a/f\n+++ /dev/null\n", "f").unwrap_err();
    assert_eq!(
        deletes.to_string(),
        "line 2 of the patch: it deletes the file; use delete_file"
    );
}

#[test]
fn large_texts_and_patches_take_linear_time() {
    let text = "a\n".repeat(super::MAX_RESULT / 2);
    let hunk = format!("@@ -1 +1 @@\n{}-b\n", " a\n".repeat(1 << 18));
    assert_eq!(
        refusal_of(Some(&text), &with_file_names(&hunk)),
        Refusal::PatchMismatch(0, PatchMismatch::NotFound)
    );
    let hunk = with_file_names("@@ -1 +1,2 @@\n a\n+b\n");
    assert!(apply_patch(Some(&text[2..]), &hunk, "src/f.txt").is_ok());
}
