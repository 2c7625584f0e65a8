//! The tool `get_file_contents`: lines of a text file, or the items of a directory.

use super::answer_size::fitting;
use super::contents::{ListedItem, listed_item, listed_items};
use super::{RevisionArguments, ToolSpec, read_tool};
use crate::fields::{answer, arguments_at, branch, line_number, path_or_root, reference, repo};
use crate::forge::BackendContext;
use crate::model::{File, Revision};
use crate::server::ForgeServer;
use crate::{Failure, RepoName, UnmetPrecondition};
use candor_schema::Int;
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The maximum size of a file whose lines are read.
pub const MAX_TEXT_BYTES: u64 = 20 * 1024 * 1024;

/// The maximum number of bytes of lines in an answer.
pub const MAX_LINES_BYTES: usize = 100 * 1024;

type LineNumber = Int<1, { crate::fields::MAX_NUMBER }>;

#[derive(Deserialize)]
struct ContentsArguments {
    repo: RepoName,
    path: String,
    #[serde(flatten)]
    at: RevisionArguments,
    start_line: Option<LineNumber>,
    end_line: Option<LineNumber>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ContentsAnswer {
    File(FileAnswer),
    Dir(DirectoryAnswer),
}

#[derive(Serialize)]
struct FileAnswer {
    path: String,
    r#ref: String,
    sha: String,
    size: usize,
    start_line: usize,
    end_line: usize,
    total_lines: usize,
    content: String,
    truncated: bool,
    url: String,
}

#[derive(Serialize)]
struct DirectoryAnswer {
    path: String,
    r#ref: String,
    items: Vec<ListedItem>,
    total: usize,
    truncated: bool,
}

/// Lines of a text.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    start: usize,
    end: usize,
    total: usize,
    text: String,
    truncated: bool,
}

/// Returns lines of a text, whole ones as long as they fit. The first line of an empty text is empty.
fn excerpt(text: &str, start: Option<usize>, end: Option<usize>) -> Result<Excerpt, usize> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let total = lines.len();
    let start = start.unwrap_or(1);
    let last = end.unwrap_or(usize::MAX).min(total);
    if start > total.max(1) || end.is_some_and(|end| end < start) {
        return Err(total);
    }
    let wanted = lines.get(start - 1..last).unwrap_or_default();
    let mut excerpt = Excerpt {
        start,
        end: start - 1,
        total,
        text: String::new(),
        truncated: false,
    };
    for line in wanted {
        let room = MAX_LINES_BYTES - excerpt.text.len();
        if line.len() > room {
            excerpt.truncated = true;
            if excerpt.text.is_empty() {
                excerpt
                    .text
                    .push_str(&line[..line.floor_char_boundary(room)]);
                excerpt.end += 1;
            }
            break;
        }
        excerpt.text.push_str(line);
        excerpt.end += 1;
    }
    Ok(excerpt)
}

fn file_answer(arguments: &ContentsArguments, file: File) -> Result<FileAnswer, Failure> {
    let path = arguments.path.clone();
    let size = file.bytes.len();
    let Ok(text) = String::from_utf8(file.bytes) else {
        return Err(UnmetPrecondition::NotText(path).into());
    };
    let line = |line: Option<LineNumber>| {
        line.map(|line| usize::try_from(line.get()).unwrap_or(usize::MAX))
    };
    let excerpt = excerpt(&text, line(arguments.start_line), line(arguments.end_line));
    let excerpt = excerpt.map_err(|total_lines| UnmetPrecondition::NoSuchLines {
        path: path.clone(),
        total_lines,
    })?;
    Ok(FileAnswer {
        path,
        r#ref: file.at,
        sha: file.sha,
        size,
        start_line: excerpt.start,
        end_line: excerpt.end,
        total_lines: excerpt.total,
        content: excerpt.text,
        truncated: excerpt.truncated,
        url: file.url,
    })
}

async fn directory_answer(
    server: &ForgeServer,
    context: &BackendContext,
    arguments: &ContentsArguments,
    at: &Revision,
) -> Result<DirectoryAnswer, Failure> {
    let (repo, path) = (&arguments.repo, &arguments.path);
    let found = server.forge.directory(context, repo, path, at).await?;
    let total = found.items.len();
    let items = fitting(listed_items(found.items, server.config.max_entries));
    Ok(DirectoryAnswer {
        path: path.clone(),
        r#ref: found.at,
        truncated: items.len() < total,
        items,
        total,
    })
}

async fn contents(
    server: Arc<ForgeServer>,
    context: BackendContext,
    mut arguments: ContentsArguments,
) -> Result<ContentsAnswer, Failure> {
    let at = RevisionArguments {
        branch: arguments.at.branch.take(),
        r#ref: arguments.at.r#ref.take(),
    };
    let at = at.revision();
    let (repo, path) = (&arguments.repo, &arguments.path);
    let file = match path.as_str() {
        "" => Err(UnmetPrecondition::IsDirectory(String::new()).into()),
        _ => {
            server
                .forge
                .file(&context, repo, path, &at, MAX_TEXT_BYTES)
                .await
        }
    };
    match file {
        Ok(file) => Ok(ContentsAnswer::File(file_answer(&arguments, file)?)),
        Err(Failure::Unmet(UnmetPrecondition::IsDirectory(_))) => {
            let directory = directory_answer(&server, &context, &arguments, &at).await?;
            Ok(ContentsAnswer::Dir(directory))
        }
        Err(failure) => Err(failure),
    }
}

pub(super) fn get_file_contents() -> Tool<ForgeServer> {
    let members = json!({
        "type": { "enum": ["file", "dir"] },
        "path": { "type": "string" },
        "ref": { "type": "string" },
        "sha": { "type": "string" },
        "size": { "type": "integer" },
        "start_line": { "type": "integer" },
        "end_line": { "type": "integer" },
        "total_lines": { "type": "integer" },
        "content": { "type": "string" },
        "items": { "type": "array", "items": listed_item() },
        "total": { "type": "integer" },
        "truncated": { "type": "boolean" },
        "url": { "type": "string" }
    });
    let optional = [
        "sha",
        "size",
        "start_line",
        "end_line",
        "total_lines",
        "content",
        "items",
        "total",
        "url",
    ];
    let spec = ToolSpec {
        name: "get_file_contents",
        description: "Read lines of a text file (20 MiB at most; 100 KiB a call, go on after `end_line` where `truncated`), or list a directory. Not for binary files: use read_file.",
        input: arguments_at(
            &["repo", "path"],
            json!({
                "repo": repo(),
                "path": path_or_root(),
                "branch": branch(),
                "ref": reference(),
                "start_line": line_number("1 if absent"),
                "end_line": line_number("The last line if absent")
            }),
        ),
        output: answer(members, &optional),
    };
    read_tool(spec, contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(
        text: &str,
        start: Option<usize>,
        end: Option<usize>,
    ) -> Result<(usize, usize, String), usize> {
        let excerpt = excerpt(text, start, end)?;
        assert!(!excerpt.truncated);
        Ok((excerpt.start, excerpt.end, excerpt.text))
    }

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        let text = "one\r\ntwo\nthree";
        let all = |start, end| shown(text, start, end);
        assert_eq!(all(None, None), Ok((1, 3, text.to_owned())));
        assert_eq!(all(Some(2), Some(2)), Ok((2, 2, String::from("two\n"))));
        assert_eq!(all(Some(3), Some(99)), Ok((3, 3, String::from("three"))));
        assert_eq!(all(Some(4), None), Err(3));
        assert_eq!(all(Some(2), Some(1)), Err(3));
        assert_eq!(shown("", None, None), Ok((1, 0, String::new())));
        assert_eq!(shown("", Some(1), Some(5)), Ok((1, 0, String::new())));
        assert_eq!(shown("", Some(2), None), Err(0));
    }

    #[test]
    fn answer_has_whole_lines_unless_one_is_too_long() {
        let line = format!("{}\n", "x".repeat(MAX_LINES_BYTES / 2 - 1));
        let text = line.repeat(3);
        let first = excerpt(&text, None, None).unwrap();
        assert_eq!((first.end, first.total, first.truncated), (2, 3, true));
        assert_eq!(first.text.len(), MAX_LINES_BYTES);
        let rest = excerpt(&text, Some(first.end + 1), None).unwrap();
        assert_eq!((rest.end, rest.truncated), (3, false));
        let long = format!("x{}\nb", "ü".repeat(MAX_LINES_BYTES));
        let cut = excerpt(&long, None, None).unwrap();
        assert_eq!((cut.end, cut.total, cut.truncated), (1, 2, true));
        assert_eq!(cut.text.len(), MAX_LINES_BYTES - 1);
    }
}
