//! Builds the file tree of a process from nothing: an empty file system, the granted paths, five devices and
//! a fresh `/proc`, all read-only unless granted for writing.
//!
//! The old tree stays reachable under `/old` until the end, and the new one grows under `/new`. Paths of the
//! old tree are opened without following links, so a link that appears meanwhile leads nowhere.

use super::namespaces::missing;
use crate::error::SetupStep;
use crate::job::{Right, StartFailure};
use crate::level::{Level, Part};
use crate::spec::DEVICES;
use crate::tree::{MountPlan, TreePlan};
use rustix::fs::{
    FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A directory that exists on every system, over which the first file system is mounted.
const BASES: [&str; 3] = ["/tmp", "/usr", "/proc"];
/// The directory of the empty file and the empty directory that cover hidden paths.
const COVERS: &str = "/.covers";
const COVER_FILE: &str = "/.covers/file";
const COVER_DIRECTORY: &str = "/.covers/directory";

/// Returns the paths that this module makes, with the right that Landlock grants there.
pub(super) fn own_paths(level: Level) -> &'static [(&'static str, Right)] {
    match level {
        Level::Full => &[
            ("/", Right::List),
            ("/proc", Right::Read),
            (COVER_FILE, Right::Read),
            (COVER_DIRECTORY, Right::Read),
        ],
        _ => &[],
    }
}

/// Builds the tree and makes it the root directory of every process in this mount namespace.
pub(super) fn build(plan: &TreePlan) -> Result<(), StartFailure> {
    prepare().map_err(|(step, error)| lacks(Part::Mount, step, error))?;
    let tree = Tree {
        old: open_directory("/old")?,
        new: open_directory("/new")?,
        mounts: &plan.mounts,
    };
    tree.add_devices()
        .map_err(|error| lacks(Part::Mount, "mounting devices", error))?;
    tree.add_covers()
        .map_err(|error| lacks(Part::Mount, "mounting a file system read-only", error))?;
    for mount in &plan.mounts {
        tree.add(mount)?;
    }
    for (link, target) in &plan.links {
        tree.add_link(link.path(), &target.0)?;
    }
    for path in &plan.covers {
        tree.cover(path.path())?;
    }
    tree.add_proc()
        .map_err(|error| lacks(Part::Proc, "mounting a fresh /proc", error))?;
    tree.restrict()?;
    enter().map_err(|error| lacks(Part::Mount, "leaving the old file tree", error))
}

fn lacks(part: Part, step: &str, error: Errno) -> StartFailure {
    StartFailure::Missing(missing(part, step, &error.into()))
}

fn failed(path: &Path, error: Errno) -> StartFailure {
    StartFailure::Setup {
        step: SetupStep::Tree,
        message: format!("{}: {}", path.display(), io::Error::from(error)),
        code: Some(error.raw_os_error()),
    }
}

/// Moves the old tree to `/old` and mounts an empty file system on `/new`.
fn prepare() -> Result<(), (&'static str, Errno)> {
    let at = |step| move |error| (step, error);
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(at("making mounts private"))?;
    let base = BASES.into_iter().find(|path| Path::new(path).is_dir());
    let base = base.unwrap_or("/proc");
    mount_empty(base).map_err(at("mounting an empty file system"))?;
    let move_old = || {
        chdir(base)?;
        for directory in ["old", "new"] {
            mkdirat(rustix::fs::CWD, directory, DIRECTORY_MODE)?;
        }
        pivot_root(".", "old")?;
        chdir("/")?;
        mount_empty("/new")
    };
    move_old().map_err(at("moving the old file tree"))
}

fn mount_empty(at: &str) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, c"mode=0755")
}

/// Makes `/new` the root and lets go of everything else.
fn enter() -> Result<(), Errno> {
    chdir("/new")?;
    // The old root is mounted over the new one, and is what "." means until it is unmounted.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")
}

const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_directory(path: &str) -> Result<OwnedFd, StartFailure> {
    openat(rustix::fs::CWD, path, HANDLE, Mode::empty())
        .map_err(|error| failed(Path::new(path), error))
}

struct Tree<'a> {
    old: OwnedFd,
    new: OwnedFd,
    mounts: &'a [MountPlan],
}

impl Tree<'_> {
    fn add_devices(&self) -> Result<(), Errno> {
        self.make_directories(Path::new("/dev"))?;
        for device in DEVICES {
            let path = Path::new(device);
            match open_beneath(&self.old, path) {
                Ok(source) => attach(&source, &self.make_target(path, false)?)?,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            symlinkat(target, &self.new, format!("dev/{name}"))?;
        }
        Ok(())
    }

    /// Makes the file and the directory that cover hidden paths, on a read-only file system of their own.
    fn add_covers(&self) -> Result<(), Errno> {
        self.make_directories(Path::new(COVERS))?;
        let at = format!("/new{COVERS}");
        mount_empty(&at)?;
        drop(self.make_target(Path::new(COVER_FILE), false)?);
        self.make_directories(Path::new(COVER_DIRECTORY))?;
        let flags = MountFlags::BIND
            | MountFlags::RDONLY
            | MountFlags::NOSUID
            | MountFlags::NODEV
            | MountFlags::NOEXEC;
        mount_remount(&at, flags, c"")
    }

    /// Mounts a path of the old tree. A readable path that is gone by now is left out.
    fn add(&self, plan: &MountPlan) -> Result<(), StartFailure> {
        let path = plan.path.path();
        let source = match open_beneath(&self.old, path) {
            Ok(source) => source,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) if !plan.writable => {
                return Ok(());
            }
            Err(error) => return Err(failed(path, error)),
        };
        let add = || {
            let is_directory = match FileType::from_raw_mode(fstat(&source)?.st_mode) {
                FileType::Symlink => return Err(Errno::LOOP),
                kind => kind == FileType::Directory,
            };
            let target = match self.is_nested(path) {
                true => open_beneath(&self.new, path)?,
                false => self.make_target(path, is_directory)?,
            };
            attach(&source, &target)
        };
        add().map_err(|error| failed(path, error))
    }

    fn add_link(&self, link: &Path, target: &OsStr) -> Result<(), StartFailure> {
        // Links in a mount are there already. The tree has its own /proc and /dev.
        if self.is_nested(link) || link.starts_with("/proc") || link.starts_with("/dev") {
            return Ok(());
        }
        let add = || {
            self.make_directories(link.parent().unwrap_or(Path::new("/")))?;
            match symlinkat(target, &self.new, relative(link)) {
                Err(Errno::EXIST) => Ok(()),
                made => made,
            }
        };
        add().map_err(|error| failed(link, error))
    }

    /// Covers a path by an empty file or directory. A path that does not exist needs no cover.
    fn cover(&self, path: &Path) -> Result<(), StartFailure> {
        let cover = || {
            let target = match open_beneath(&self.new, path) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                target => target?,
            };
            let source = match FileType::from_raw_mode(fstat(&target)?.st_mode) {
                FileType::Symlink => return Ok(()),
                FileType::Directory => COVER_DIRECTORY,
                _ => COVER_FILE,
            };
            attach(&open_beneath(&self.new, Path::new(source))?, &target)
        };
        cover().map_err(|error| failed(path, error))
    }

    fn add_proc(&self) -> Result<(), Errno> {
        self.make_directories(Path::new("/proc"))?;
        let flags =
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("proc", "/new/proc", "proc", flags, None)
    }

    /// Remounts everything in the new tree without rights that were not granted.
    fn restrict(&self) -> Result<(), StartFailure> {
        let list = Path::new("/old/proc/self/mountinfo");
        let text = fs::read(list).map_err(|error| StartFailure::io(SetupStep::Tree, &error))?;
        // A path that is mounted twice is listed twice; the last mount covers the others.
        let mounts: BTreeMap<PathBuf, MountFlags> = text
            .split(|byte| *byte == b'\n')
            .filter_map(parse_mount)
            .collect();
        for (path, flags) in mounts {
            let wanted = flags | self.restrictions(&path);
            if wanted != flags {
                remount(&self.new, &path, wanted).map_err(|error| failed(&path, error))?;
            }
        }
        Ok(())
    }

    fn restrictions(&self, path: &Path) -> MountFlags {
        let is_device = DEVICES.iter().any(|device| path == Path::new(device));
        let covering = self
            .mounts
            .iter()
            .rev()
            .find(|mount| path.starts_with(mount.path.path()));
        let mut flags = MountFlags::NOSUID;
        if !is_device {
            flags |= MountFlags::NODEV;
        }
        if !covering.is_some_and(|mount| mount.writable) {
            flags |= MountFlags::RDONLY;
        }
        flags
    }

    /// Returns true if the path lies in a mounted directory. Nothing may be made there.
    fn is_nested(&self, path: &Path) -> bool {
        let mut mounts = self.mounts.iter().map(|mount| mount.path.path());
        mounts.any(|mount| mount != path && path.starts_with(mount))
    }

    /// Makes an empty file or directory to mount on.
    fn make_target(&self, path: &Path, is_directory: bool) -> Result<OwnedFd, Errno> {
        if is_directory {
            self.make_directories(path)?;
        } else {
            self.make_directories(path.parent().unwrap_or(Path::new("/")))?;
            let how = OFlags::CREATE | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(&self.new, relative(path), how, Mode::from_raw_mode(0o444))?;
        }
        open_beneath(&self.new, path)
    }

    fn make_directories(&self, path: &Path) -> Result<(), Errno> {
        let mut made = PathBuf::new();
        for part in path.components() {
            if let Component::Normal(name) = part {
                made.push(name);
                match mkdirat(&self.new, &made, DIRECTORY_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

fn relative(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(rest) if !rest.as_os_str().is_empty() => rest,
        _ => Path::new("."),
    }
}

/// Opens a path in a tree without following any link.
fn open_beneath(tree: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    openat2(tree, relative(path), HANDLE, Mode::empty(), how)
}

/// Mounts a copy of what is mounted at `source`, and below it, on `target`.
fn attach(source: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
    let how = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let copy = open_tree(source, c"", how)?;
    let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&copy, c"", target, c"", how)
}

fn remount(tree: &OwnedFd, path: &Path, flags: MountFlags) -> Result<(), Errno> {
    let mounted = open_beneath(tree, path)?;
    // By handle, because the path could lead elsewhere a moment later.
    let by_handle = format!("/old/proc/self/fd/{}", mounted.as_raw_fd());
    mount_remount(by_handle, MountFlags::BIND | flags, c"")
}

/// Reads a line of `mountinfo`. Returns the path in the new tree and the flags that must stay, or `None` for
/// a mount elsewhere.
fn parse_mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let path = PathBuf::from(OsStr::from_bytes(&unescape(fields.next()?)));
    let path = Path::new("/").join(path.strip_prefix("/new").ok()?);
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(|byte| *byte == b',') {
        flags |= match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"nosymfollow" => MountFlags::NOSYMFOLLOW,
            // Times of access are kept as they are.
            _ => MountFlags::empty(),
        };
    }
    Some((path, flags))
}

/// Replaces escapes such as `\040` by their bytes.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_flags() {
        let line =
            br"36 35 98:0 /a /new/with\040space/\134x ro,nosuid,relatime shared:1 - ext4 /dev/x rw";
        let (path, flags) = parse_mount(line).unwrap();
        assert_eq!(path, Path::new("/with space/\\x"));
        assert_eq!(flags, MountFlags::RDONLY | MountFlags::NOSUID);
        let (path, flags) = parse_mount(b"1 1 0:1 / /new rw - tmpfs tmpfs rw").unwrap();
        assert_eq!(
            (path.as_path(), flags),
            (Path::new("/"), MountFlags::empty())
        );
        assert_eq!(parse_mount(b"1 1 0:1 / /newer rw - tmpfs tmpfs rw"), None);
        assert_eq!(parse_mount(b"1 1 0:1 / /old/new rw - tmpfs tmpfs rw"), None);
        assert_eq!(parse_mount(b""), None);
    }
}
