//! Tags, which are in git, and releases, which are in the database.

use super::LocalForge;
use super::branch_swap::locked;
use super::errors::{OrBroken, run_blocking};
use super::history::{page, skipped};
use super::merge_commits::{message, signature};
use super::repository_root::OpenRepository;
use super::{times, url};
use crate::{
    BackendContext, BackendFuture, CreatedTag, Failure, MissingItem, NewRelease, NewTag, Paging,
    Release, ReleaseForge, ReleasePage, RepoName, Tag, TagPage, UnmetPrecondition,
};
use git2::{ErrorCode, Oid};
use std::sync::Arc;

const READ: &str = "the releases could not be read";
const WRITE: &str = "the release could not be written";

fn tag_ref(tag: &str) -> String {
    format!("refs/tags/{tag}")
}

impl OpenRepository {
    /// Returns all tags in the byte order of names, each with the object that it leads to in the end.
    fn all_tags(&self) -> Result<Vec<Tag>, Failure> {
        const WHAT: &str = "the tags could not be read";
        let mut tags = Vec::new();
        for reference in self.git.references_glob("refs/tags/*").or_broken(WHAT)? {
            let Ok(reference) = reference else { continue };
            let Ok(target) = reference.peel(git2::ObjectType::Any) else {
                continue;
            };
            let name = String::from_utf8_lossy(reference.name_bytes());
            if let Some(name) = name.strip_prefix("refs/tags/") {
                tags.push(Tag {
                    name: name.to_owned(),
                    sha: peeled(target).to_string(),
                });
            }
        }
        tags.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(tags)
    }

    /// Returns a tag of which one name is a directory of the other.
    fn find_conflicting_tag(&self, tag: &str) -> Result<Option<String>, Failure> {
        let below = |one: &str, other: &str| {
            let rest = one.strip_prefix(other);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let mut tags = self.all_tags()?.into_iter().map(|one| one.name);
        Ok(tags.find(|one| below(one, tag) || below(tag, one)))
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.git.find_reference(&tag_ref(tag)).is_ok()
    }

    /// Writes the object of an annotated tag, which nothing leads to yet.
    fn tag_object(
        &self,
        forge: &TagAuthor,
        commit: Oid,
        tag: &str,
        text: &str,
    ) -> Result<Oid, Failure> {
        const WHAT: &str = "the tag could not be made";
        let target = self.git.find_object(commit, None).or_broken(WHAT)?;
        let by = signature(&forge.by, forge.now)?;
        let made = self
            .git
            .tag_annotation_create(tag, &target, &by, &message(text));
        made.or_broken(WHAT)
    }

    fn make_tag(
        &self,
        context: &BackendContext,
        author: &TagAuthor,
        new: &NewTag,
    ) -> Result<CreatedTag, Failure> {
        const WHAT: &str = "the tag could not be made";
        let commit = self.resolve(&new.at)?.id;
        let name = tag_ref(&new.name);
        let elsewhere = || Failure::from(UnmetPrecondition::TagExists(new.name.clone()));
        if let Ok(there) = self.git.find_reference(&name) {
            let target = there.peel(git2::ObjectType::Any).or_broken(WHAT)?;
            return match peeled(target) == commit {
                true => Ok(CreatedTag {
                    sha: commit.to_string(),
                    created: false,
                }),
                false => Err(elsewhere()),
            };
        }
        if let Some(other) = self.find_conflicting_tag(&new.name)? {
            return Err(UnmetPrecondition::TagExists(other).into());
        }
        let target = match &new.message {
            Some(text) => self.tag_object(author, commit, &new.name, text)?,
            None => commit,
        };
        context.mark.begins()?;
        if let Err(error) = self.git.reference(&name, target, false, "tag: created") {
            context.mark.undone();
            return Err(match error.code() {
                ErrorCode::Exists => elsewhere(),
                ErrorCode::Locked => locked(),
                _ => return Err(error).or_broken(WHAT),
            });
        }
        self.sync_ref(&name)?;
        context.mark.done();
        Ok(CreatedTag {
            sha: commit.to_string(),
            created: true,
        })
    }
}

/// Follows annotated tags to the object that they lead to.
fn peeled(object: git2::Object<'_>) -> Oid {
    match object.peel(git2::ObjectType::Commit) {
        Ok(commit) => commit.id(),
        Err(_) => object.id(),
    }
}

/// The author of tags, and the time.
struct TagAuthor {
    by: super::Identity,
    now: candor_fault::Timestamp,
}

/// A release, as stored.
type ReleaseRow = (
    i64,
    String,
    Option<String>,
    Option<String>,
    i64,
    i64,
    String,
    i64,
    Option<i64>,
);

const COLUMNS: &str = "id, tag, title, body, draft, prerelease, author, created_at, published_at";

fn release(repo: &RepoName, row: ReleaseRow) -> Release {
    let (id, tag, title, body, draft, prerelease, author, created_at, published_at) = row;
    Release {
        id: id.unsigned_abs(),
        url: url::release(repo, &tag),
        tag,
        title,
        body,
        draft: draft != 0,
        prerelease: prerelease != 0,
        author: Some(author),
        created_at: times::of_micros(created_at),
        published_at: published_at.map(times::of_micros),
    }
}

impl LocalForge {
    async fn make_tag(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        new: &NewTag,
    ) -> Result<CreatedTag, Failure> {
        let location = self.location(repo).await?;
        let _lock = self.lock(&location).await?;
        let author = TagAuthor {
            by: self.identity.clone(),
            now: self.now(),
        };
        let (root, context, new) = (Arc::clone(&self.root), context.clone(), new.clone());
        run_blocking(move || root.open_at(location)?.make_tag(&context, &author, &new)).await
    }

    async fn releases_of(&self, repo: &RepoName, paging: Paging) -> Result<ReleasePage, Failure> {
        let name = self.location(repo).await?.name;
        let mut reading = self.database.read().await?;
        let query = format!(
            "SELECT {COLUMNS} FROM releases WHERE repo = ? ORDER BY id DESC LIMIT ? OFFSET ?"
        );
        let rows: Vec<ReleaseRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(repo.folded())
            .bind(i64::from(paging.per_page) + 1)
            .bind(i64::try_from(skipped(paging)).unwrap_or(i64::MAX))
            .fetch_all(&mut *reading)
            .await
            .or_broken(READ)?;
        let per_page = paging.per_page as usize;
        let more = rows.len() > per_page;
        let rows = rows.into_iter().take(per_page);
        Ok(ReleasePage {
            releases: rows.map(|row| release(&name, row)).collect(),
            more,
        })
    }

    async fn make_release(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        new: &NewRelease,
    ) -> Result<Release, Failure> {
        let name = self.location(repo).await?.name;
        let (root, wanted, tag) = (Arc::clone(&self.root), repo.clone(), new.tag.clone());
        let has_tag = run_blocking(move || root.read(&wanted, |opened| Ok(opened.has_tag(&tag))));
        if !has_tag.await? {
            return Err(MissingItem::Tag(new.tag.clone()).into());
        }
        let mut writing = self.database.write().await?;
        let now = self.now().as_microsecond();
        let query = format!(
            "INSERT INTO releases (repo, tag, title, body, draft, prerelease, author, created_at, published_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (repo, tag) DO NOTHING RETURNING {COLUMNS}"
        );
        let row: Option<ReleaseRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(repo.folded())
            .bind(&new.tag)
            .bind(&new.title)
            .bind(&new.body)
            .bind(i64::from(new.draft))
            .bind(i64::from(new.prerelease))
            .bind(&self.identity.name)
            .bind(now)
            .bind(Some(now).filter(|_| !new.draft))
            .fetch_optional(&mut *writing)
            .await
            .or_broken(WRITE)?;
        let exists = || UnmetPrecondition::ReleaseExists(new.tag.clone());
        let row = row.ok_or_else(exists)?;
        context.mark.begins()?;
        writing.commit_change(WRITE, &context.mark).await?;
        Ok(release(&name, row))
    }
}

impl ReleaseForge for LocalForge {
    fn tags<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, TagPage> {
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        Box::pin(run_blocking(move || {
            root.read(&repo, |opened| {
                let (tags, more) = page(opened.all_tags()?.into_iter(), paging);
                Ok(TagPage { tags, more })
            })
        }))
    }

    fn create_tag<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewTag,
    ) -> BackendFuture<'a, CreatedTag> {
        Box::pin(self.make_tag(context, repo, new))
    }

    fn releases<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, ReleasePage> {
        Box::pin(self.releases_of(repo, paging))
    }

    fn create_release<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRelease,
    ) -> BackendFuture<'a, Release> {
        Box::pin(self.make_release(context, repo, new))
    }
}
