//! Tests every attempt to leave the root, and the paths that resolve within it.

use super::*;
use crate::as_other_user::{is_other_user, run_as_other_user};
use candor_disk::{Disk, DiskFile, Open};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

/// A workspace `ws` with a twin `ws-evil` beside it that holds a secret.
struct Place {
    _dir: tempfile::TempDir,
    top: PathBuf,
    root: Root,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("ws")).unwrap();
        fs::create_dir(top.join("ws-evil")).unwrap();
        fs::write(top.join("ws-evil/secret"), "SECRET").unwrap();
        let root = Root::open(top.join("ws")).unwrap();
        Place {
            _dir: dir,
            top,
            root,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.join("ws").join(path)
    }

    fn dir(&self, path: &str) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    fn file(&self, path: &str) {
        fs::write(self.at(path), path).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(path)).unwrap();
    }

    fn find(&self, typed: &str) -> Result<ResolvedPath, PathError> {
        resolve_path(&self.root, &TypedPath::read(typed, &self.root)?)
    }

    /// Returns the result in one line.
    fn say(&self, typed: &str) -> String {
        match self.find(typed) {
            Err(error) => format!("{error:?}"),
            Ok(located) => {
                let kind = located.file_stat.map(|file_stat| match file_stat.kind {
                    FileKind::File => "file",
                    FileKind::Directory => "directory",
                });
                format!("{} {}", located.real.display(), kind.unwrap_or("nothing"))
            }
        }
    }
}

const OUT: &str = "Outside { typed: false }";

#[test]
fn plain_paths_are_found_where_they_are() {
    let place = Place::new();
    place.dir("a/b");
    place.file("a/b/f");
    fs::set_permissions(place.at("a/b/f"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(place.say("a/b/f"), "a/b/f file");
    assert_eq!(place.say("./a//b"), "a/b directory");
    assert_eq!(place.say("a/b/"), "a/b directory");
    assert_eq!(place.say("a/b/new"), "a/b/new nothing");
    assert_eq!(place.say("new"), "new nothing");
    assert_eq!(place.say("new/"), "ParentMissing { parent: \"new\" }");
    assert_eq!(place.say("new/er/est"), "ParentMissing { parent: \"new\" }");
    assert_eq!(place.say("a/b/f/g"), "ParentIsFile { parent: \"a/b/f\" }");
    assert_eq!(place.say("a/b/f/"), "ParentIsFile { parent: \"a/b/f\" }");
    let file_stat = place.find("a/b/f").unwrap().file_stat.unwrap();
    assert_eq!(
        (file_stat.size, file_stat.mode, file_stat.names),
        (5, 0o640, 1)
    );
    let root = resolve_path(&place.root, &TypedPath::root()).unwrap();
    assert_eq!(root.real, Path::new(""));
    assert_eq!(root.file_stat.unwrap().kind, FileKind::Directory);
}

#[test]
fn links_within_the_root_are_followed_to_real_names() {
    let place = Place::new();
    place.dir("real/deep");
    place.file("real/f");
    place.link("dir", "real");
    place.link("real/up", "../real/deep/../f");
    place.link("chain", "dir/up");
    place.link("absolute", place.at("dir/f"));
    place.link("self", ".");
    place.link("top", place.at(""));
    place.link("slash", "real/f/");
    assert_eq!(place.say("dir/f"), "real/f file");
    assert_eq!(place.say("chain"), "real/f file");
    assert_eq!(place.say("absolute"), "real/f file");
    assert_eq!(place.say("self/self/dir/deep"), "real/deep directory");
    assert_eq!(place.say("top/dir/new"), "real/new nothing");
    assert_eq!(place.say("top"), " directory");
    assert_eq!(place.say("slash"), "ParentIsFile { parent: \"real/f\" }");
    let links = place.find("chain").unwrap().links;
    assert_eq!(links, ["chain", "dir", "real/up"].map(PathBuf::from));
}

#[test]
fn a_link_that_leads_out_is_refused_whether_its_target_exists_or_not() {
    let place = Place::new();
    place.dir("in");
    place.link("file", place.top.join("ws-evil/secret"));
    place.link("dir", "../ws-evil");
    place.link("none", "../ws-evil/none/at/all");
    place.link("absent", "/nowhere/at/all");
    place.link("in/up", "../../ws-evil/secret");
    place.link("back", "../ws/in");
    place.link("through", place.at("../ws-evil/secret"));
    place.link("chain", "in/up");
    place.link("environ", "/proc/self/environ");
    place.link("magic", "/proc/self/root");
    for typed in [
        "file",
        "dir",
        "dir/secret",
        "dir/new",
        "none",
        "absent",
        "in/up",
        "back",
        "back/f",
        "through",
        "chain",
        "environ",
        "magic",
        "magic/etc/passwd",
    ] {
        assert_eq!(place.say(typed), OUT, "{typed}");
    }
}

#[test]
fn a_dangling_link_stands_for_the_place_that_it_names() {
    let place = Place::new();
    place.dir("in");
    place.link("new", "in/new");
    place.link("deep", "in/none/new");
    place.link("odd", "none/../in/new");
    assert_eq!(place.say("new"), "in/new nothing");
    assert_eq!(place.say("deep"), "ParentMissing { parent: \"in/none\" }");
    assert_eq!(place.say("odd"), "ParentMissing { parent: \"none\" }");
}

#[test]
fn links_without_an_end_are_given_up() {
    let place = Place::new();
    place.link("self", "self");
    place.link("a", "b");
    place.link("b", "a/x");
    assert_eq!(place.say("self"), "Loop");
    assert_eq!(place.say("a"), "Loop");
    place.file("0");
    for n in 1..=MAX_LINKS + 1 {
        place.link(&n.to_string(), (n - 1).to_string());
    }
    assert_eq!(place.say(&MAX_LINKS.to_string()), "0 file");
    assert_eq!(place.say(&(MAX_LINKS + 1).to_string()), "Loop");
}

#[test]
fn what_is_no_file_is_told_without_waiting_for_it() {
    let place = Place::new();
    for (name, kind) in [("fifo", FileType::Fifo), ("socket", FileType::Socket)] {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(&place.root, name, kind, mode, 0).unwrap();
    }
    place.link("link", "fifo");
    assert_eq!(place.say("fifo"), "NotOrdinary(Fifo)");
    assert_eq!(place.say("link"), "NotOrdinary(Fifo)");
    assert_eq!(place.say("socket"), "NotOrdinary(Socket)");
    assert_eq!(place.say("fifo/x"), "ParentIsFile { parent: \"fifo\" }");
    let devices = Root::open("/dev").unwrap();
    let null = TypedPath::read("null", &devices).unwrap();
    let error = resolve_path(&devices, &null).unwrap_err();
    assert!(matches!(error, PathError::NotOrdinary(SpecialFile::Device)));
}

#[test]
fn names_are_bytes() {
    let place = Place::new();
    let long = "n".repeat(255);
    place.file(&long);
    assert_eq!(place.say(&long), format!("{long} file"));
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    place.file(composed);
    assert_eq!(place.say(composed), format!("{composed} file"));
    assert_eq!(place.say(decomposed), format!("{decomposed} nothing"));
    place.file("a\nb");
    assert_eq!(place.say("a\nb"), "a\nb file");
}

#[test]
fn lengths_that_links_add_up_to_are_bounded() {
    let place = Place::new();
    place.link("long", "n".repeat(256));
    assert_eq!(place.say("long"), "Invalid(NameTooLong)");
    let name = "d".repeat(250);
    let mut dir = OsString::new();
    let disk = place.root.disk();
    for _ in 0..16 {
        dir.push(&name);
        disk.create_dir(&dir, 0o700).unwrap();
        dir.push("/");
    }
    let deep = dir.into_string().unwrap();
    place.link("deep", &deep[..15 * 251]);
    assert_eq!(
        place.say(&format!("deep/{name}/x")),
        format!("{deep}x nothing")
    );
    let too_long = place.say(&format!("deep/{name}/{name}"));
    assert_eq!(too_long, "Invalid(PathTooLong)");
}

/// Deeper than a process has handles, usually.
#[test]
fn a_deep_path_takes_few_handles() {
    const DEPTH: usize = 1100;
    let place = Place::new();
    let open = |dir: &OwnedFd| {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        rustix::fs::openat(dir, "d", flags, Mode::empty()).unwrap()
    };
    let mut dir = place.root.open_dir(Path::new(""), OFlags::PATH).unwrap();
    for _ in 0..DEPTH {
        rustix::fs::mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = open(&dir);
    }
    let deep = "d/".repeat(DEPTH) + "f";
    assert_eq!(place.say(&deep), format!("{deep} nothing"));
    // Removed from below: it is too deep for a removal that holds one handle for each level.
    for depth in (1..=DEPTH).rev() {
        let dir = &deep[..depth * 2 - 1];
        rustix::fs::unlinkat(&place.root, dir, rustix::fs::AtFlags::REMOVEDIR).unwrap();
    }
}

#[test]
fn a_name_that_is_replaced_leaves_its_other_names_alone() {
    let place = Place::new();
    fs::hard_link(place.top.join("ws-evil/secret"), place.at("twin")).unwrap();
    let located = place.find("twin").unwrap();
    assert_eq!(located.file_stat.unwrap().names, 2);
    let disk = place.root.disk();
    let file = disk.open("twin.new", Open::CreateNew(0o600)).unwrap();
    file.append_all(b"NEW").unwrap();
    disk.rename("twin.new", &located.real).unwrap();
    assert_eq!(fs::read(place.at("twin")).unwrap(), b"NEW");
    let secret = fs::read(place.top.join("ws-evil/secret")).unwrap();
    assert_eq!(secret, b"SECRET");
}

#[test]
fn the_root_is_held_where_its_name_is_given_to_another() {
    let place = Place::new();
    place.file("f");
    fs::rename(place.at(""), place.top.join("away")).unwrap();
    symlink("ws-evil", place.top.join("ws")).unwrap();
    assert_eq!(place.say("f"), "f file");
    assert_eq!(place.say("secret"), "secret nothing");
    assert!(!place.root.unchanged().unwrap());
}

#[test]
fn protected_names_are_seen_through_links() {
    let place = Place::new();
    place.dir("gitdir");
    place.link(".git", "gitdir");
    place.link("x", ".git");
    let located = place.find("x/config").unwrap();
    assert_eq!(located.real, Path::new("gitdir/config"));
    assert!(located.any(|path| path == Path::new(".git")));
    assert!(!located.any(|path| path == Path::new("y")));
}

/// While a thread swaps a directory with a link to outside, nothing is ever read or written there.
#[test]
fn a_race_leads_nowhere() {
    let place = Place::new();
    place.dir("d");
    place.file("d/secret");
    fs::create_dir(place.at("sub")).unwrap();
    place.link("sub/hop", "../d/secret");
    place.link("evil", "../ws-evil");
    let done = AtomicBool::new(false);
    let disk = place.root.disk();
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (from, to) = (place.at("d"), place.at("evil"));
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &from, cwd, &to, swap).unwrap();
            }
        });
        for turn in 0..20_000 {
            let typed = ["d/secret", "sub/hop", "evil/secret", "d/new"][turn % 4];
            let Ok(located) = place.find(typed) else {
                refused += 1;
                continue;
            };
            let how = match turn % 4 {
                3 => Open::Create(0o600),
                _ => Open::Read,
            };
            match disk.open(&located.real, how) {
                Ok(file) => {
                    assert_ne!(file.read_all(100).unwrap(), b"SECRET");
                    inside += 1;
                }
                Err(error) => {
                    let code = error.raw_os_error().map(Errno::from_raw_os_error);
                    assert!(matches!(code, Some(Errno::LOOP | Errno::NOENT)), "{error}");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(inside > 0 && refused > 0, "{inside} {refused}");
    let outside: Vec<_> = fs::read_dir(place.top.join("ws-evil")).unwrap().collect();
    assert_eq!(outside.len(), 1);
}

#[test]
fn what_the_system_does_not_permit_is_told_apart() {
    if is_other_user() {
        let root = Root::open(std::env::current_dir().unwrap()).unwrap();
        let shut = TypedPath::read("shut/file", &root).unwrap();
        let error = resolve_path(&root, &shut).unwrap_err();
        assert!(matches!(error, PathError::Denied(_)), "{error:?}");
        let unreadable = TypedPath::read("unreadable", &root).unwrap();
        let located = resolve_path(&root, &unreadable).unwrap();
        let error = root.disk().open(&located.real, Open::Read).unwrap_err();
        let error = PathError::of_real(error);
        assert!(matches!(error, PathError::Denied(_)), "{error:?}");
        return;
    }
    let place = Place::new();
    place.dir("shut");
    place.file("shut/file");
    place.file("unreadable");
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&place.top, 0o755);
    set(&place.at("shut"), 0o000);
    set(&place.at("unreadable"), 0o000);
    run_as_other_user(
        "path::resolve::tests::what_the_system_does_not_permit_is_told_apart",
        &place.at(""),
    );
    set(&place.at("shut"), 0o700);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// On any tree of links, the result is the one that the kernel has when it resolves beneath the
    /// root; except that links with absolute targets in the root, which it refuses, are followed.
    #[test]
    fn the_kernel_agrees(
        links in prop::collection::vec(("[abcd](/[abcd])?", "(\\.\\./|\\./|[abcd]/){0,3}[abcd.]{1,2}/?"), 0..6),
        typed in "[abcd](/[abcd]){0,3}/?",
    ) {
        use rustix::fs::ResolveFlags;
        let place = Place::new();
        place.dir("a/b");
        place.dir("c");
        place.file("c/a");
        for (at, target) in &links {
            let _ = symlink(target, place.at(at));
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let kernel =
            rustix::fs::openat2(&place.root, &typed, flags, Mode::empty(), beneath);
        let ours = place.find(&typed);
        match (kernel, ours) {
            (Ok(theirs), Ok(located)) => {
                let theirs = rustix::fs::fstat(&theirs).unwrap();
                let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
                let real = match located.real.as_os_str().is_empty() {
                    true => Path::new("."),
                    false => &located.real,
                };
                let ours =
                    rustix::fs::openat2(&place.root, real, flags, Mode::empty(), straight).unwrap();
                prop_assert_eq!(rustix::fs::fstat(ours).unwrap().st_ino, theirs.st_ino);
            }
            (Err(Errno::NOENT), Ok(located)) => prop_assert_eq!(located.file_stat, None),
            (Err(Errno::NOENT), Err(PathError::ParentMissing { .. })) => {}
            (Err(Errno::NOTDIR), Err(PathError::ParentIsFile { .. })) => {}
            (Err(Errno::XDEV), Err(PathError::Outside { typed: false })) => {}
            (Err(Errno::LOOP), Err(PathError::Loop)) => {}
            (kernel, ours) => prop_assert!(false, "{:?} {:?}", kernel, ours),
        }
    }
}
