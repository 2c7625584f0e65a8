//! Reads directories, files and whole trees at a revision. Sizes come from the headers of objects; only
//! the blob of a requested file is loaded.
//!
//! Names that are not UTF-8 are shown with U+FFFD, so such a file is listed and cannot be read. The
//! content of a symbolic link is its target path; no link is followed.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::tree_size::TreeSizes;
use super::url;
use crate::{
    Directory, DirectoryItem, Failure, File, ItemKind, MissingItem, Revision, Tree, TreeItem,
    UnmetPrecondition,
};
use candor_fault::Cause;
use git2::{ObjectType, Odb, Oid, TreeEntry};

/// The maximum number of entries of a directory.
pub const MAX_ITEMS: usize = 100_000;

/// The maximum size of a directory's object.
const MAX_TREE_BYTES: usize = 64 << 20;

const LINK: i32 = 0o120_000;
const TREE: i32 = 0o040_000;
const COMMIT: i32 = 0o160_000;

/// Returns the kind of an entry by its mode.
pub(super) fn kind(entry: &TreeEntry<'_>) -> ItemKind {
    match entry.filemode_raw() & 0o170_000 {
        TREE => ItemKind::Dir,
        LINK => ItemKind::Symlink,
        COMMIT => ItemKind::Submodule,
        _ => ItemKind::File,
    }
}

/// Returns the entry of a name. libgit2's wrapper would panic on a name with a NUL.
pub(super) fn child<'a>(tree: &'a git2::Tree<'_>, name: &str) -> Option<TreeEntry<'a>> {
    match name.contains('\0') {
        true => None,
        false => tree.get_name(name),
    }
}

fn has_bytes(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::File | ItemKind::Symlink)
}

fn join(parent: &str, name: &str) -> String {
    match parent {
        "" => name.to_owned(),
        _ => format!("{parent}/{name}"),
    }
}

fn lossy(entry: &TreeEntry<'_>) -> String {
    String::from_utf8_lossy(entry.name_bytes()).into_owned()
}

impl OpenRepository {
    pub(super) fn odb(&self) -> Result<Odb<'_>, Failure> {
        self.git.odb().or_broken("the objects could not be opened")
    }

    /// Reads a directory of a bounded size.
    pub(super) fn tree_at(&self, odb: &Odb<'_>, id: Oid) -> Result<git2::Tree<'_>, Failure> {
        const WHAT: &str = "a directory could not be read";
        let (size, _) = odb.read_header(id).or_broken(WHAT)?;
        if size > MAX_TREE_BYTES {
            return Err(Failure::Broken(
                WHAT,
                Cause::Text(format!("it has {size} bytes")),
            ));
        }
        self.git.find_tree(id).or_broken(WHAT)
    }

    /// Returns the size of a blob from its header.
    pub(super) fn blob_size(&self, odb: &Odb<'_>, id: Oid) -> Result<u64, Failure> {
        const WHAT: &str = "a file could not be read";
        match odb.read_header(id).or_broken(WHAT)? {
            (size, ObjectType::Blob) => Ok(size as u64),
            (_, kind) => Err(Failure::Broken(
                WHAT,
                Cause::Text(format!("its object is a {kind}")),
            )),
        }
    }

    /// Returns the entry at a path that is not empty.
    fn entry(&self, odb: &Odb<'_>, root: Oid, path: &str) -> Result<TreeEntry<'static>, Failure> {
        let missing = || Failure::Missing(MissingItem::Path(path.to_owned()));
        let mut parts = path.split('/').peekable();
        let mut tree = self.tree_at(odb, root)?;
        while let Some(part) = parts.next() {
            let entry = child(&tree, part).ok_or_else(missing)?.to_owned();
            match (parts.peek(), kind(&entry)) {
                (None, _) => return Ok(entry),
                (Some(_), ItemKind::Dir) => tree = self.tree_at(odb, entry.id())?,
                (Some(_), _) => return Err(missing()),
            }
        }
        Err(missing())
    }

    pub(super) fn directory(&self, path: &str, at: &Revision) -> Result<Directory, Failure> {
        let (commit, at) = self.commit(at)?;
        let odb = self.odb()?;
        let tree = match path {
            "" => commit.tree_id(),
            _ => {
                let entry = self.entry(&odb, commit.tree_id(), path)?;
                if kind(&entry) != ItemKind::Dir {
                    return Err(UnmetPrecondition::NotADirectory(path.to_owned()).into());
                }
                entry.id()
            }
        };
        let tree = self.tree_at(&odb, tree)?;
        if tree.len() > MAX_ITEMS {
            return Err(Failure::Unmet(UnmetPrecondition::TooLarge {
                path: path.to_owned(),
                size: None,
                most: MAX_ITEMS as u64,
            }));
        }
        let mut items = Vec::with_capacity(tree.len());
        for entry in &tree {
            items.push((
                entry.name_bytes().to_vec(),
                self.item(&odb, &entry, path, &at)?,
            ));
        }
        // Git sorts directories as if their names ended with a slash.
        items.sort_by(|(one, _), (other, _)| one.cmp(other));
        let items = items.into_iter().map(|(_, item)| item).collect();
        Ok(Directory { at, items })
    }

    fn item(
        &self,
        odb: &Odb<'_>,
        entry: &TreeEntry<'_>,
        parent: &str,
        at: &str,
    ) -> Result<DirectoryItem, Failure> {
        let name = lossy(entry);
        let kind = kind(entry);
        let path = join(parent, &name);
        let url = match kind {
            ItemKind::Dir | ItemKind::Submodule => url::tree(&self.location.name, at, &path),
            ItemKind::File | ItemKind::Symlink => url::blob(&self.location.name, at, &path),
        };
        let size = match has_bytes(kind) {
            true => self.blob_size(odb, entry.id())?,
            false => 0,
        };
        Ok(DirectoryItem {
            name,
            kind,
            path,
            size,
            url,
        })
    }

    pub(super) fn file(&self, path: &str, at: &Revision, most: u64) -> Result<File, Failure> {
        let (commit, at) = self.commit(at)?;
        let odb = self.odb()?;
        if path.is_empty() {
            return Err(UnmetPrecondition::IsDirectory(String::new()).into());
        }
        let entry = self.entry(&odb, commit.tree_id(), path)?;
        match kind(&entry) {
            ItemKind::Dir => return Err(UnmetPrecondition::IsDirectory(path.to_owned()).into()),
            ItemKind::Submodule => {
                return Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into());
            }
            ItemKind::File | ItemKind::Symlink => {}
        }
        let bytes = self.blob(&odb, entry.id(), path, most)?;
        let url = url::blob(&self.location.name, &at, path);
        Ok(File { at, bytes, url })
    }

    /// Reads a blob of at most `most` bytes.
    pub(super) fn blob(
        &self,
        odb: &Odb<'_>,
        id: Oid,
        path: &str,
        most: u64,
    ) -> Result<Vec<u8>, Failure> {
        let size = self.blob_size(odb, id)?;
        if size > most {
            return Err(Failure::Unmet(UnmetPrecondition::TooLarge {
                path: path.to_owned(),
                size: Some(size),
                most,
            }));
        }
        let blob = odb.read(id).or_broken("a file could not be read")?;
        Ok(blob.data().to_vec())
    }

    pub(super) fn whole_tree(&self, at: &Revision, most: usize) -> Result<Tree, Failure> {
        let (commit, at) = self.commit(at)?;
        let root = commit.tree_id();
        let odb = self.odb()?;
        let total = TreeSizes::default().entries(self, &odb, root)?;
        let entries = self.first_entries(&odb, root, most)?;
        Ok(Tree {
            at,
            sha: root.to_string(),
            total,
            truncated: total > entries.len() as u64,
            entries,
        })
    }

    /// Returns the first entries in tree order, a directory before its content.
    fn first_entries(
        &self,
        odb: &Odb<'_>,
        root: Oid,
        most: usize,
    ) -> Result<Vec<TreeItem>, Failure> {
        let mut entries = Vec::new();
        let mut open = vec![(String::new(), self.tree_at(odb, root)?, 0)];
        while let Some((parent, tree, next)) = open.last_mut() {
            if entries.len() >= most {
                break;
            }
            let Some(entry) = tree.get(*next).map(|entry| entry.to_owned()) else {
                open.pop();
                continue;
            };
            *next += 1;
            let path = join(parent, &lossy(&entry));
            let kind = kind(&entry);
            let size = match has_bytes(kind) {
                true => Some(self.blob_size(odb, entry.id())?),
                false => None,
            };
            entries.push(TreeItem {
                path: path.clone(),
                kind: match kind {
                    ItemKind::Dir => "tree",
                    ItemKind::Submodule => "commit",
                    ItemKind::File | ItemKind::Symlink => "blob",
                },
                size,
                mode: format!("{:06o}", entry.filemode_raw()),
            });
            if kind == ItemKind::Dir {
                let below = self.tree_at(odb, entry.id())?;
                open.push((path, below, 0));
            }
        }
        Ok(entries)
    }
}
