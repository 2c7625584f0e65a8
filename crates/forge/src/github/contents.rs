//! Directories and files, as they stand at a revision.

use super::api::Api;
use super::ask::{Ask, OBJECT, RAW};
use super::broken::Broken;
use super::limits::LISTING_MAX_ENTRIES;
use super::revisions;
use super::route::Route;
use super::shapes::{RawContent, RawEntry, RawItem, RawTree};
use crate::{
    Answered, Directory, Failure, File, Item, ItemKind, Missing, RepoName, Revision, Turn, Unmet,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_http_client::BodyLimit;

pub(super) async fn directory(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    path: &str,
    at: &Revision,
) -> Result<Directory, Failure> {
    let name = revisions::name(api, turn, repo, at).await?;
    let found = content(api, turn, repo, path, at).await?;
    let entries = match (found.kind.as_str(), found.entries) {
        ("dir", Some(entries)) => entries,
        ("dir", None) => return Err(Broken::nonsense("a directory without entries").into()),
        _ => return Err(Unmet::NotADirectory(path.to_owned()).into()),
    };
    let mut items = match entries.len() < LISTING_MAX_ENTRIES {
        true => entries
            .into_iter()
            .map(listed)
            .collect::<Result<Vec<_>, Failure>>()?,
        false => {
            let url = found.html_url.unwrap_or_default();
            whole_directory(api, turn, repo, path, &found.sha, &url).await?
        }
    };
    items.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(Directory { at: name, items })
}

pub(super) async fn file(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    path: &str,
    at: &Revision,
    most: u64,
) -> Result<File, Failure> {
    let name = revisions::name(api, turn, repo, at).await?;
    let found = content(api, turn, repo, path, at).await;
    let found = found.map_err(|failure| unloadable(failure, path, most))?;
    let too_large = |size| {
        Failure::from(Unmet::TooLarge {
            path: path.to_owned(),
            size,
            most,
        })
    };
    let bytes = match found.kind.as_str() {
        "dir" => return Err(Unmet::IsDirectory(path.to_owned()).into()),
        "submodule" => return Err(Unmet::IsSubmodule(path.to_owned()).into()),
        _ if found.submodule_git_url.is_some() => {
            return Err(Unmet::IsSubmodule(path.to_owned()).into());
        }
        // A link to a file comes as that file; any other link is what it says.
        "symlink" => found.target.unwrap_or_default().into_bytes(),
        "file" if found.size > most => return Err(too_large(Some(found.size))),
        "file" => match (found.encoding.as_deref(), found.content) {
            (Some("base64"), Some(text)) => decoded(text)?,
            _ => raw(api, turn, repo, path, at, most).await?,
        },
        _ => return Err(Broken::nonsense("a content of an unknown type").into()),
    };
    if bytes.len() as u64 > most {
        return Err(too_large(Some(bytes.len() as u64)));
    }
    Ok(File {
        at: name,
        bytes,
        url: found.html_url.unwrap_or_default(),
    })
}

fn route(repo: &RepoName, path: &str, at: &Revision) -> Route {
    let route = Route::of(repo).then("contents");
    let route = match path {
        "" => route.then(""),
        path => route.names(path),
    };
    match revisions::parameter(at) {
        Some(value) => route.query("ref", &value),
        None => route,
    }
}

async fn content(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    path: &str,
    at: &Revision,
) -> Result<RawContent, Failure> {
    let missing = Missing::Path(path.to_owned());
    let ask = Ask::new(route(repo, path, at), missing).accepting(OBJECT);
    match api.read_json(turn, ask).await {
        Err(Failure::Answered(answered)) if answered.status == 404 => {
            Err(misplaced(api, turn, repo, at, answered).await)
        }
        other => other,
    }
}

/// Of a path that is not there: whether it is the revision that is missing.
async fn misplaced(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    at: &Revision,
    mut answered: Answered,
) -> Failure {
    let given = !matches!(at, Revision::Default);
    if given && answered.missing != Missing::Repository {
        let name = revisions::parameter(at).unwrap_or_default();
        let name = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let found = revisions::resolve(api, turn, repo, at, name).await;
        if let Err(Failure::Missing(_) | Failure::Answered(Answered { status: 404, .. })) = found {
            answered.missing = revisions::missing(at);
        }
    }
    Failure::Answered(answered)
}

/// GitHub says by a code of its own that a file is larger than anything it hands out.
fn unloadable(failure: Failure, path: &str, most: u64) -> Failure {
    let Failure::Answered(answered) = &failure else {
        return failure;
    };
    let errors = answered
        .errors
        .as_ref()
        .and_then(|errors| errors.as_array());
    let mut codes = errors.into_iter().flatten().map(|error| &error["code"]);
    match answered.status == 403 && codes.any(|code| code == "too_large") {
        false => failure,
        true => Failure::from(Unmet::TooLarge {
            path: path.to_owned(),
            size: None,
            most,
        }),
    }
}

async fn raw(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    path: &str,
    at: &Revision,
    most: u64,
) -> Result<Vec<u8>, Failure> {
    let missing = Missing::Path(path.to_owned());
    let ask = Ask::new(route(repo, path, at), missing)
        .accepting(RAW)
        .with_limit(BodyLimit::Whole(most));
    Ok(api.read(turn, ask).await?.bytes.to_vec())
}

/// Base64 as GitHub writes it, in lines.
fn decoded(text: String) -> Result<Vec<u8>, Failure> {
    let lines = text.split_ascii_whitespace();
    let joined: String = lines.collect();
    STANDARD
        .decode(joined)
        .map_err(|error| Broken::garbled("Base64Error", &error).into())
}

fn listed(raw: RawItem) -> Result<Item, Failure> {
    let kind = match raw.kind.as_str() {
        "dir" => ItemKind::Dir,
        "symlink" => ItemKind::Symlink,
        "submodule" => ItemKind::Submodule,
        // In a listing GitHub calls a submodule a file; only its git object is none.
        "file" if raw.git_url.as_deref().is_some_and(is_tree) => ItemKind::Submodule,
        "file" => ItemKind::File,
        _ => return Err(Broken::nonsense("an entry of an unknown type").into()),
    };
    Ok(Item {
        name: raw.name,
        kind,
        path: raw.path,
        size: raw.size,
        url: raw.html_url.unwrap_or_default(),
    })
}

fn is_tree(git_url: &str) -> bool {
    let mut parts = git_url.rsplit('/').skip(1);
    (parts.next(), parts.next()) == (Some("trees"), Some("git"))
}

/// A directory with more entries than its listing has.
async fn whole_directory(
    api: &Api,
    turn: &Turn,
    repo: &RepoName,
    path: &str,
    sha: &str,
    url: &str,
) -> Result<Vec<Item>, Failure> {
    let route = Route::of(repo).then("git/trees").name(sha);
    let ask = Ask::new(route, Missing::Path(path.to_owned()));
    let tree: RawTree = api.read_json(turn, ask).await?;
    if tree.truncated {
        return Err(Broken::large().into());
    }
    let entries = tree.tree.into_iter();
    Ok(entries.map(|entry| unlisted(entry, path, url)).collect())
}

fn unlisted(entry: RawEntry, path: &str, url: &str) -> Item {
    let kind = match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => ItemKind::Dir,
        ("commit", _) => ItemKind::Submodule,
        (_, "120000") => ItemKind::Symlink,
        _ => ItemKind::File,
    };
    let below = |above: &str| match above {
        "" => entry.path.clone(),
        above => format!("{}/{}", above.trim_end_matches('/'), entry.path),
    };
    Item {
        kind,
        path: below(path),
        size: entry.size.unwrap_or_default(),
        url: match kind {
            ItemKind::Dir => below(&shown_as("tree", url)),
            _ => below(&shown_as("blob", url)),
        },
        name: entry.path,
    }
}

/// The address of a page, `https://HOST/OWNER/NAME/KIND/…`, as that of another kind.
fn shown_as(kind: &str, url: &str) -> String {
    let parts = url.split('/').enumerate();
    let parts = parts.map(|(place, part)| if place == 5 { kind } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_git_object_tells_a_submodule_in_a_listing() {
        let api = "https://api.github.com/repos/jquery/qunit/git";
        assert!(is_tree(&format!(
            "{api}/trees/6ca3721222109997540bd6d9ccd396902e0ad2f9"
        )));
        assert!(!is_tree(&format!(
            "{api}/blobs/6ca3721222109997540bd6d9ccd396902e0ad2f9"
        )));
        assert!(!is_tree(""));
    }

    #[test]
    fn a_page_is_shown_as_its_kind() {
        let page = "https://github.com/tree/tree/tree/v1/tree";
        assert_eq!(
            shown_as("blob", page),
            "https://github.com/tree/tree/blob/v1/tree"
        );
        assert_eq!(shown_as("blob", ""), "");
    }

    #[test]
    fn base64_in_lines_is_decoded() {
        assert_eq!(decoded("aGVs\nbG8=\n".to_owned()), Ok(b"hello".to_vec()));
        assert_eq!(decoded(String::new()), Ok(Vec::new()));
        assert!(decoded("a".to_owned()).is_err());
    }
}
