//! Reads directories, files and whole trees at a revision. Sizes come from the headers of objects; only
//! the blob of a requested file is loaded.
//!
//! Names that are not UTF-8 are shown with U+FFFD, so such a file is listed and cannot be read. The
//! content of a symbolic link is its target path; no link is followed.

use super::errors::OrBroken;
use super::object_cache::{CachedFact, CachedValue, MAX_CACHED_OBJECT};
use super::repository_root::OpenRepository;
use super::tree_entries::{NamedEntry, TreeEntries};
use super::tree_size::TreeSizes;
use super::url;
use crate::{
    DamagedItem, Directory, DirectoryItem, Failure, File, ItemKind, MissingItem, Revision, Tree,
    TreeItem, UnmetPrecondition,
};
use candor_fault::Cause;
use git2::{ObjectType, Odb, Oid, TreeEntry};
use std::sync::Arc;

/// The maximum number of entries of a directory.
pub const MAX_ITEMS: usize = 100_000;

/// The maximum number of paths that a failure names beside a missing one.
pub const MAX_SIMILAR: usize = 5;

/// The maximum size of a directory's object.
const MAX_TREE_BYTES: usize = 64 << 20;

const LINK: u32 = 0o120_000;
const TREE: u32 = 0o040_000;
const COMMIT: u32 = 0o160_000;

/// Returns the kind of an entry.
pub(super) fn kind(entry: &TreeEntry<'_>) -> ItemKind {
    kind_of_mode(entry.filemode_raw().cast_unsigned())
}

/// Returns the kind of an entry by its mode.
pub(super) fn kind_of_mode(mode: u32) -> ItemKind {
    match mode & 0o170_000 {
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

/// The maximum number of entries of a directory or tree that is answered without a thread of its own.
const MAX_QUICK_ENTRIES: usize = 1000;

const NOT_CACHED: &str = "an object is not cached";

const READ_TREE: &str = "a directory could not be read";

/// Fails if an object is not a directory or is too large to be read.
fn require_readable_tree(odb: &Odb<'_>, id: Oid) -> Result<(), Failure> {
    let (size, kind) = odb.read_header(id).or_broken(READ_TREE)?;
    if kind != ObjectType::Tree {
        let cause = Cause::Text(format!("the object of a directory is a {kind}"));
        return Err(Failure::Damaged(DamagedItem::Object, cause));
    }
    if size > MAX_TREE_BYTES {
        let cause = Cause::Text(format!("it has {size} bytes"));
        return Err(Failure::Broken(READ_TREE, cause));
    }
    Ok(())
}

/// The kind and the object of the entry at a path.
#[derive(Clone, Copy)]
struct FoundEntry {
    kind: ItemKind,
    id: Oid,
}

/// Returns a mode as six octal digits. The usual ones need no formatting.
fn mode_text(mode: u32) -> String {
    match mode {
        0o100_644 => "100644".to_owned(),
        0o100_755 => "100755".to_owned(),
        0o040_000 => "040000".to_owned(),
        0o120_000 => "120000".to_owned(),
        mode => format!("{mode:06o}"),
    }
}

/// As [`join`], for a name that may not be UTF-8.
fn join_bytes(parent: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    match parent {
        "" => name.into_owned(),
        _ => [parent, &name].join("/"),
    }
}

impl OpenRepository {
    pub(super) fn odb(&self) -> Result<Odb<'_>, Failure> {
        self.git.odb().or_broken("the objects could not be opened")
    }

    /// Reads a directory of a bounded size as git's own object.
    pub(super) fn tree_at(&self, odb: &Odb<'_>, id: Oid) -> Result<git2::Tree<'_>, Failure> {
        require_readable_tree(odb, id)?;
        self.git.find_tree(id).or_broken(READ_TREE)
    }

    /// Reads the entries of a directory of a bounded size.
    pub(super) fn entries(&self, odb: &Odb<'_>, id: Oid) -> Result<Arc<TreeEntries>, Failure> {
        if let Some(CachedValue::Entries(entries)) = self.cached(id, CachedFact::Entries) {
            return self.require_quick(entries.len()).map(|()| entries);
        }
        self.require_disk()?;
        require_readable_tree(odb, id)?;
        let object = odb.read(id).or_broken(READ_TREE)?;
        let entries = TreeEntries::parse(object.data()).ok_or_else(|| {
            let cause = Cause::from("the entries of a directory cannot be parsed");
            Failure::Damaged(DamagedItem::Object, cause)
        })?;
        let entries = Arc::new(entries);
        let value = CachedValue::Entries(Arc::clone(&entries));
        self.keep(id, CachedFact::Entries, value);
        Ok(entries)
    }

    /// Fails if the disk may not be read.
    pub(super) fn require_disk(&self) -> Result<(), Failure> {
        match self.is_cached_only {
            true => Err(Failure::Broken(NOT_CACHED, Cause::from(NOT_CACHED))),
            false => Ok(()),
        }
    }

    /// Fails if the disk may not be read and this many entries would take long.
    fn require_quick(&self, entries: usize) -> Result<(), Failure> {
        match entries > MAX_QUICK_ENTRIES {
            true => self.require_disk(),
            false => Ok(()),
        }
    }

    pub(super) fn cached(&self, id: Oid, fact: CachedFact) -> Option<CachedValue> {
        self.objects.as_ref()?.get(id, fact)
    }

    pub(super) fn keep(&self, id: Oid, fact: CachedFact, value: CachedValue) {
        if let Some(objects) = &self.objects {
            objects.put(id, fact, value);
        }
    }

    /// Returns the sizes of the entries of a directory: of files and links, and 0 for all others.
    fn sizes(&self, odb: &Odb<'_>, id: Oid, tree: &TreeEntries) -> Result<Arc<[u64]>, Failure> {
        if let Some(CachedValue::Sizes(sizes)) = self.cached(id, CachedFact::Sizes) {
            return Ok(sizes);
        }
        self.require_disk()?;
        let size = |entry: NamedEntry<'_>| match has_bytes(entry.kind()) {
            true => self.blob_size(odb, entry.id()),
            false => Ok(0),
        };
        let sizes: Result<Arc<[u64]>, Failure> = tree.iter().map(size).collect();
        let sizes = sizes?;
        let value = CachedValue::Sizes(Arc::clone(&sizes));
        self.keep(id, CachedFact::Sizes, value);
        Ok(sizes)
    }

    /// Returns the size of a blob from its header.
    pub(super) fn blob_size(&self, odb: &Odb<'_>, id: Oid) -> Result<u64, Failure> {
        const WHAT: &str = "a file could not be read";
        self.require_disk()?;
        match odb.read_header(id).or_broken(WHAT)? {
            (size, ObjectType::Blob) => Ok(size as u64),
            (_, kind) => Err(Failure::Damaged(
                DamagedItem::Object,
                Cause::Text(format!("the object of a file is a {kind}")),
            )),
        }
    }

    /// Returns the entry at a path that is not empty.
    fn entry(&self, odb: &Odb<'_>, root: Oid, path: &str) -> Result<FoundEntry, Failure> {
        let missing = || Failure::Missing(MissingItem::Path(path.to_owned()));
        let mut parts = path.split('/').peekable();
        let mut tree = self.entries(odb, root)?;
        while let Some(part) = parts.next() {
            let found = tree.find(part.as_bytes()).map(|entry| FoundEntry {
                kind: entry.kind(),
                id: entry.id(),
            });
            let Some(entry) = found else {
                return Err(self.missing_path(odb, root, path)?);
            };
            match (parts.peek(), entry.kind) {
                (None, _) => return Ok(entry),
                (Some(_), ItemKind::Dir) => tree = self.entries(odb, entry.id)?,
                (Some(_), _) => return Err(missing()),
            }
        }
        Err(missing())
    }

    /// Returns the failure for a path that does not exist, with the paths that differ in case only.
    pub(super) fn missing_path(
        &self,
        odb: &Odb<'_>,
        root: Oid,
        path: &str,
    ) -> Result<Failure, Failure> {
        let mut found = vec![(String::new(), root)];
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let mut next = Vec::new();
            for (parent, id) in found {
                for entry in self.entries(odb, id)?.iter() {
                    let name = entry.shown_name();
                    let is_usable = parts.peek().is_none() || entry.is_directory();
                    if is_usable && name.to_lowercase() == part.to_lowercase() {
                        next.push((join(&parent, &name), entry.id()));
                    }
                }
            }
            next.truncate(MAX_SIMILAR);
            found = next;
        }
        // A name that is not UTF-8 may be shown like the path.
        found.retain(|(similar, _)| similar != path);
        let path = path.to_owned();
        Ok(Failure::Missing(match found.is_empty() {
            true => MissingItem::Path(path),
            false => MissingItem::PathInOtherCase {
                path,
                similar: found.into_iter().map(|(path, _)| path).collect(),
            },
        }))
    }

    pub(super) fn directory(&self, path: &str, at: &Revision) -> Result<Directory, Failure> {
        let (root, at) = self.root_tree(at)?;
        let odb = self.odb()?;
        let id = match path {
            "" => root,
            _ => {
                let entry = self.entry(&odb, root, path)?;
                if entry.kind != ItemKind::Dir {
                    return Err(UnmetPrecondition::NotADirectory(path.to_owned()).into());
                }
                entry.id
            }
        };
        let tree = self.entries(&odb, id)?;
        if tree.len() > MAX_ITEMS {
            return Err(Failure::Unmet(UnmetPrecondition::TooLarge {
                path: path.to_owned(),
                size: None,
                most: MAX_ITEMS as u64,
            }));
        }
        let sizes = self.sizes(&odb, id, &tree)?;
        let mut items = Vec::with_capacity(tree.len());
        for (entry, size) in tree.iter().zip(sizes.iter()) {
            let item = self.item(&entry, *size, path, &at);
            items.push((entry.name, item));
        }
        // Git sorts directories as if their names ended with a slash.
        items.sort_by_key(|(name, _)| *name);
        let items = items.into_iter().map(|(_, item)| item).collect();
        Ok(Directory { at, items })
    }

    fn item(&self, entry: &NamedEntry<'_>, size: u64, parent: &str, at: &str) -> DirectoryItem {
        let name = entry.shown_name();
        let kind = entry.kind();
        let path = join(parent, &name);
        let url = match kind {
            ItemKind::Dir | ItemKind::Submodule => url::tree(&self.location.name, at, &path),
            ItemKind::File | ItemKind::Symlink => url::blob(&self.location.name, at, &path),
        };
        DirectoryItem {
            name,
            kind,
            path,
            size,
            url,
        }
    }

    pub(super) fn file(&self, path: &str, at: &Revision, most: u64) -> Result<File, Failure> {
        let (root, at) = self.root_tree(at)?;
        let odb = self.odb()?;
        if path.is_empty() {
            return Err(UnmetPrecondition::IsDirectory(String::new()).into());
        }
        let entry = self.entry(&odb, root, path)?;
        match entry.kind {
            ItemKind::Dir => return Err(UnmetPrecondition::IsDirectory(path.to_owned()).into()),
            ItemKind::Submodule => {
                return Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into());
            }
            ItemKind::File | ItemKind::Symlink => {}
        }
        let bytes = self.blob(&odb, entry.id, path, most)?;
        let url = url::blob(&self.location.name, &at, path);
        let sha = entry.id.to_string();
        Ok(File {
            at,
            sha,
            bytes,
            url,
        })
    }

    /// Reads a blob of at most `most` bytes.
    pub(super) fn blob(
        &self,
        odb: &Odb<'_>,
        id: Oid,
        path: &str,
        most: u64,
    ) -> Result<Vec<u8>, Failure> {
        let require_size = |size| match size > most {
            true => Err(Failure::Unmet(UnmetPrecondition::TooLarge {
                path: path.to_owned(),
                size: Some(size),
                most,
            })),
            false => Ok(()),
        };
        if let Some(CachedValue::Content(bytes)) = self.cached(id, CachedFact::Content) {
            require_size(bytes.len() as u64)?;
            return Ok(bytes.to_vec());
        }
        self.require_disk()?;
        require_size(self.blob_size(odb, id)?)?;
        let blob = odb.read(id).or_broken("a file could not be read")?;
        if blob.len() <= MAX_CACHED_OBJECT {
            let value = CachedValue::Content(blob.data().into());
            self.keep(id, CachedFact::Content, value);
        }
        Ok(blob.data().to_vec())
    }

    pub(super) fn whole_tree(&self, at: &Revision, most: usize) -> Result<Tree, Failure> {
        let (root, at) = self.root_tree(at)?;
        let odb = self.odb()?;
        let total = self.total_entries(&odb, root)?;
        let entries = match usize::try_from(total) {
            Ok(all) if all <= most => self.all_entries(&odb, root, all)?,
            _ => self.first_entries(&odb, root, most)?.into(),
        };
        Ok(Tree {
            at,
            sha: root.to_string(),
            total,
            truncated: total > entries.len() as u64,
            entries,
        })
    }

    /// Returns the number of entries of a tree and of all trees below it.
    fn total_entries(&self, odb: &Odb<'_>, root: Oid) -> Result<u64, Failure> {
        if let Some(CachedValue::Total(total)) = self.cached(root, CachedFact::Total) {
            return self.require_quick(total as usize).map(|()| total);
        }
        self.require_disk()?;
        let total = TreeSizes::default().entries(self, odb, root)?;
        self.keep(root, CachedFact::Total, CachedValue::Total(total));
        Ok(total)
    }

    /// Returns all entries, which are this many, in tree order.
    fn all_entries(
        &self,
        odb: &Odb<'_>,
        root: Oid,
        total: usize,
    ) -> Result<Arc<[TreeItem]>, Failure> {
        if let Some(CachedValue::Listing(items)) = self.cached(root, CachedFact::Listing) {
            return Ok(items);
        }
        let items: Arc<[TreeItem]> = self.first_entries(odb, root, total)?.into();
        let value = CachedValue::Listing(Arc::clone(&items));
        self.keep(root, CachedFact::Listing, value);
        Ok(items)
    }

    /// Returns the first entries in tree order, a directory before its content.
    fn first_entries(
        &self,
        odb: &Odb<'_>,
        root: Oid,
        most: usize,
    ) -> Result<Vec<TreeItem>, Failure> {
        let mut items: Vec<TreeItem> = Vec::new();
        let open_directory = |path, id, left| OpenDirectory::new(self, odb, (path, id), left);
        let mut open = vec![open_directory(String::new(), root, most)?];
        while let Some(dir) = open.last_mut() {
            if items.len() >= most {
                break;
            }
            let Some(entry) = dir.entries.get(dir.next) else {
                open.pop();
                continue;
            };
            let size = match (has_bytes(entry.kind()), &dir.sizes) {
                (true, Some(sizes)) => sizes.get(dir.next).copied(),
                (true, None) => Some(self.blob_size(odb, entry.id())?),
                (false, _) => None,
            };
            dir.next += 1;
            let path = join_bytes(&dir.path, entry.name);
            let kind = entry.kind();
            let below = (kind == ItemKind::Dir).then(|| (path.clone(), entry.id()));
            items.push(TreeItem {
                path,
                kind: match kind {
                    ItemKind::Dir => "tree",
                    ItemKind::Submodule => "commit",
                    ItemKind::File | ItemKind::Symlink => "blob",
                },
                size,
                mode: mode_text(entry.mode),
            });
            if let Some((path, id)) = below {
                let left = most.saturating_sub(items.len());
                open.push(open_directory(path, id, left)?);
            }
        }
        Ok(items)
    }
}

/// A directory whose entries are being listed.
struct OpenDirectory {
    path: String,
    entries: Arc<TreeEntries>,
    /// `None` if only some of the entries are listed: then only their sizes are read.
    sizes: Option<Arc<[u64]>>,
    next: usize,
}

impl OpenDirectory {
    fn new(
        opened: &OpenRepository,
        odb: &Odb<'_>,
        (path, id): (String, Oid),
        left: usize,
    ) -> Result<OpenDirectory, Failure> {
        let entries = opened.entries(odb, id)?;
        let sizes = match entries.len() <= left {
            true => Some(opened.sizes(odb, id, &entries)?),
            false => None,
        };
        Ok(OpenDirectory {
            path,
            sizes,
            entries,
            next: 0,
        })
    }
}
