//! Resolution of paths inside the root, and attempts to leave it.

use super::*;
use candor_disk::{Disk, DiskFile, Open};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

/// A workspace `ws`, and beside it a directory `ws-evil` that contains a secret.
struct WorkspaceFixture {
    _dir: tempfile::TempDir,
    top: PathBuf,
    root: Root,
}

impl WorkspaceFixture {
    fn new() -> WorkspaceFixture {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("ws")).unwrap();
        fs::create_dir(top.join("ws-evil")).unwrap();
        fs::write(top.join("ws-evil/secret"), "SECRET").unwrap();
        let root = Root::open(top.join("ws")).unwrap();
        WorkspaceFixture {
            _dir: dir,
            top,
            root,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.join("ws").join(path)
    }

    fn make_dir(&self, path: &str) {
        fs::create_dir_all(self.path(path)).unwrap();
    }

    fn write_file(&self, path: &str) {
        fs::write(self.path(path), path).unwrap();
    }

    fn make_link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    fn resolve(&self, typed: &str) -> Result<ResolvedPath, PathError> {
        resolve_path(&self.root, &TypedPath::read(typed, &self.root)?)
    }

    fn resolve_new(&self, typed: &str) -> Result<ResolvedPath, PathError> {
        resolve_new_path(&self.root, &TypedPath::read(typed, &self.root)?)
    }

    /// Makes the directories that are missing, and checks that the path is then the one that was resolved.
    fn make_missing(&self, typed: &str) -> Result<(), TestCaseError> {
        let Ok(new) = self.resolve_new(typed) else {
            // A path that ends in a slash, or a link that goes up from a missing directory.
            return Ok(());
        };
        prop_assert_eq!(new.file_stat, None);
        for dir in &new.missing_dirs {
            fs::create_dir(self.top.join("ws").join(dir)).unwrap();
        }
        let now = self.resolve(typed).unwrap();
        prop_assert_eq!(now.real, new.real);
        Ok(())
    }

    /// Returns the result in one line.
    fn describe(&self, typed: &str) -> String {
        match self.resolve(typed) {
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
fn plain_paths_are_resolved() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("a/b");
    fixture.write_file("a/b/f");
    fs::set_permissions(fixture.path("a/b/f"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fixture.describe("a/b/f"), "a/b/f file");
    assert_eq!(fixture.describe("./a//b"), "a/b directory");
    assert_eq!(fixture.describe("a/b/"), "a/b directory");
    assert_eq!(fixture.describe("a/b/new"), "a/b/new nothing");
    assert_eq!(fixture.describe("new"), "new nothing");
    assert_eq!(
        fixture.describe("new/"),
        "ParentMissing { parent: \"new\" }"
    );
    assert_eq!(
        fixture.describe("new/er/est"),
        "ParentMissing { parent: \"new\" }"
    );
    assert_eq!(
        fixture.describe("a/b/f/g"),
        "ParentIsFile { parent: \"a/b/f\" }"
    );
    assert_eq!(
        fixture.describe("a/b/f/"),
        "ParentIsFile { parent: \"a/b/f\" }"
    );
    let file_stat = fixture.resolve("a/b/f").unwrap().file_stat.unwrap();
    assert_eq!(
        (file_stat.size, file_stat.mode, file_stat.names),
        (5, 0o640, 1)
    );
    let root = resolve_path(&fixture.root, &TypedPath::root()).unwrap();
    assert_eq!(root.real, Path::new(""));
    assert_eq!(root.file_stat.unwrap().kind, FileKind::Directory);
}

#[test]
fn links_inside_the_root_are_resolved_to_real_names() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("real/deep");
    fixture.write_file("real/f");
    fixture.make_link("dir", "real");
    fixture.make_link("real/up", "../real/deep/../f");
    fixture.make_link("chain", "dir/up");
    fixture.make_link("absolute", fixture.path("dir/f"));
    fixture.make_link("self", ".");
    fixture.make_link("top", fixture.path(""));
    fixture.make_link("slash", "real/f/");
    assert_eq!(fixture.describe("dir/f"), "real/f file");
    assert_eq!(fixture.describe("chain"), "real/f file");
    assert_eq!(fixture.describe("absolute"), "real/f file");
    assert_eq!(
        fixture.describe("self/self/dir/deep"),
        "real/deep directory"
    );
    assert_eq!(fixture.describe("top/dir/new"), "real/new nothing");
    assert_eq!(fixture.describe("top"), " directory");
    assert_eq!(
        fixture.describe("slash"),
        "ParentIsFile { parent: \"real/f\" }"
    );
    let links = fixture.resolve("chain").unwrap().links;
    assert_eq!(links, ["chain", "dir", "real/up"].map(PathBuf::from));
}

#[test]
fn link_that_leads_outside_is_refused() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("in");
    fixture.make_link("file", fixture.top.join("ws-evil/secret"));
    fixture.make_link("dir", "../ws-evil");
    fixture.make_link("none", "../ws-evil/none/at/all");
    fixture.make_link("absent", "/nowhere/at/all");
    fixture.make_link("in/up", "../../ws-evil/secret");
    fixture.make_link("back", "../ws/in");
    fixture.make_link("through", fixture.path("../ws-evil/secret"));
    fixture.make_link("chain", "in/up");
    fixture.make_link("environ", "/proc/self/environ");
    fixture.make_link("magic", "/proc/self/root");
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
        assert_eq!(fixture.describe(typed), OUT, "{typed}");
    }
}

#[test]
fn dangling_link_resolves_to_its_target() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("in");
    fixture.make_link("new", "in/new");
    fixture.make_link("deep", "in/none/new");
    fixture.make_link("odd", "none/../in/new");
    assert_eq!(fixture.describe("new"), "in/new nothing");
    assert_eq!(
        fixture.describe("deep"),
        "ParentMissing { parent: \"in/none\" }"
    );
    assert_eq!(
        fixture.describe("odd"),
        "ParentMissing { parent: \"none\" }"
    );
}

#[test]
fn link_loops_are_refused() {
    let fixture = WorkspaceFixture::new();
    fixture.make_link("self", "self");
    fixture.make_link("a", "b");
    fixture.make_link("b", "a/x");
    assert_eq!(fixture.describe("self"), "Loop");
    assert_eq!(fixture.describe("a"), "Loop");
    fixture.write_file("0");
    for n in 1..=MAX_LINKS + 1 {
        fixture.make_link(&n.to_string(), (n - 1).to_string());
    }
    assert_eq!(fixture.describe(&MAX_LINKS.to_string()), "0 file");
    assert_eq!(fixture.describe(&(MAX_LINKS + 1).to_string()), "Loop");
}

#[test]
fn special_files_are_refused_without_opening() {
    let fixture = WorkspaceFixture::new();
    for (name, kind) in [("fifo", FileType::Fifo), ("socket", FileType::Socket)] {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(&fixture.root, name, kind, mode, 0).unwrap();
    }
    fixture.make_link("link", "fifo");
    assert_eq!(fixture.describe("fifo"), "NotOrdinary(Fifo)");
    assert_eq!(fixture.describe("link"), "NotOrdinary(Fifo)");
    assert_eq!(fixture.describe("socket"), "NotOrdinary(Socket)");
    assert_eq!(
        fixture.describe("fifo/x"),
        "ParentIsFile { parent: \"fifo\" }"
    );
    let devices = Root::open("/dev").unwrap();
    let null = TypedPath::read("null", &devices).unwrap();
    let error = resolve_path(&devices, &null).unwrap_err();
    assert!(matches!(error, PathError::NotOrdinary(SpecialFile::Device)));
}

#[test]
fn names_are_compared_as_bytes() {
    let fixture = WorkspaceFixture::new();
    let long = "n".repeat(255);
    fixture.write_file(&long);
    assert_eq!(fixture.describe(&long), format!("{long} file"));
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    fixture.write_file(composed);
    assert_eq!(fixture.describe(composed), format!("{composed} file"));
    assert_eq!(
        fixture.describe(decomposed),
        format!("{decomposed} nothing")
    );
    fixture.write_file("a\nb");
    assert_eq!(fixture.describe("a\nb"), "a\nb file");
}

#[test]
fn path_lengths_are_bounded_through_links() {
    let fixture = WorkspaceFixture::new();
    fixture.make_link("long", "n".repeat(256));
    assert_eq!(fixture.describe("long"), "Invalid(NameTooLong)");
    let name = "d".repeat(250);
    let mut dir = OsString::new();
    let disk = fixture.root.disk();
    for _ in 0..16 {
        dir.push(&name);
        disk.create_dir(&dir, 0o700).unwrap();
        dir.push("/");
    }
    let deep = dir.into_string().unwrap();
    fixture.make_link("deep", &deep[..15 * 251]);
    assert_eq!(
        fixture.describe(&format!("deep/{name}/x")),
        format!("{deep}x nothing")
    );
    let too_long = fixture.describe(&format!("deep/{name}/{name}"));
    assert_eq!(too_long, "Invalid(PathTooLong)");
}

/// The path is deeper than the usual number of handles of a process.
#[test]
fn deep_path_takes_few_handles() {
    const DEPTH: usize = 1100;
    let fixture = WorkspaceFixture::new();
    let open = |dir: &OwnedFd| {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        rustix::fs::openat(dir, "d", flags, Mode::empty()).unwrap()
    };
    let mut dir = fixture.root.open_dir(Path::new(""), OFlags::PATH).unwrap();
    for _ in 0..DEPTH {
        rustix::fs::mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = open(&dir);
    }
    let deep = "d/".repeat(DEPTH) + "f";
    assert_eq!(fixture.describe(&deep), format!("{deep} nothing"));
    // Removed from below, because it is too deep for removal with one handle per level.
    for depth in (1..=DEPTH).rev() {
        let dir = &deep[..depth * 2 - 1];
        rustix::fs::unlinkat(&fixture.root, dir, rustix::fs::AtFlags::REMOVEDIR).unwrap();
    }
}

#[test]
fn replacing_a_name_leaves_its_hard_links_unchanged() {
    let fixture = WorkspaceFixture::new();
    fs::hard_link(fixture.top.join("ws-evil/secret"), fixture.path("twin")).unwrap();
    let located = fixture.resolve("twin").unwrap();
    assert_eq!(located.file_stat.unwrap().names, 2);
    let disk = fixture.root.disk();
    let file = disk.open("twin.new", Open::CreateNew(0o600)).unwrap();
    file.append_all(b"NEW").unwrap();
    disk.rename("twin.new", &located.real).unwrap();
    assert_eq!(fs::read(fixture.path("twin")).unwrap(), b"NEW");
    let secret = fs::read(fixture.top.join("ws-evil/secret")).unwrap();
    assert_eq!(secret, b"SECRET");
}

#[test]
fn root_is_kept_when_its_path_is_replaced() {
    let fixture = WorkspaceFixture::new();
    fixture.write_file("f");
    fs::rename(fixture.path(""), fixture.top.join("away")).unwrap();
    symlink("ws-evil", fixture.top.join("ws")).unwrap();
    assert_eq!(fixture.describe("f"), "f file");
    assert_eq!(fixture.describe("secret"), "secret nothing");
    assert!(!fixture.root.unchanged().unwrap());
}

#[test]
fn protected_names_are_recognised_through_links() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("gitdir");
    fixture.make_link(".git", "gitdir");
    fixture.make_link("x", ".git");
    let located = fixture.resolve("x/config").unwrap();
    assert_eq!(located.real, Path::new("gitdir/config"));
    assert!(located.any(|path| path == Path::new(".git")));
    assert!(!located.any(|path| path == Path::new("y")));
}

/// While a thread swaps a directory with a link to outside, nothing is ever read or written there.
#[test]
fn race_with_a_link_never_leads_outside() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("d");
    fixture.write_file("d/secret");
    fs::create_dir(fixture.path("sub")).unwrap();
    fixture.make_link("sub/hop", "../d/secret");
    fixture.make_link("evil", "../ws-evil");
    let done = AtomicBool::new(false);
    let disk = fixture.root.disk();
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (from, to) = (fixture.path("d"), fixture.path("evil"));
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &from, cwd, &to, swap).unwrap();
            }
        });
        for turn in 0..20_000 {
            let typed = ["d/secret", "sub/hop", "evil/secret", "d/new"][turn % 4];
            let Ok(located) = fixture.resolve(typed) else {
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
    let outside: Vec<_> = fs::read_dir(fixture.top.join("ws-evil")).unwrap().collect();
    assert_eq!(outside.len(), 1);
}

#[test]
fn missing_directories_are_listed_from_the_root_down() {
    let fixture = WorkspaceFixture::new();
    fixture.make_dir("a");
    fixture.write_file("f");
    fixture.make_link("out", fixture.top.join("ws-evil"));
    let missing = |typed: &str| fixture.resolve_new(typed).map(|new| new.missing_dirs);
    assert_eq!(missing("a/x").unwrap(), Vec::<PathBuf>::new());
    let dirs: Vec<PathBuf> = ["a/b", "a/b/c"].map(PathBuf::from).into();
    assert_eq!(missing("a/b/c/x").unwrap(), dirs);
    let real = fixture.resolve_new("a/b/c/x").unwrap().real;
    assert_eq!(real, Path::new("a/b/c/x"));
    let error = |typed: &str| format!("{:?}", fixture.resolve_new(typed).unwrap_err());
    assert_eq!(error("n/"), "ParentMissing { parent: \"n\" }");
    assert_eq!(error("n/m/"), "ParentMissing { parent: \"n\" }");
    assert_eq!(error("f/x"), "ParentIsFile { parent: \"f\" }");
    assert_eq!(error("out/n/x"), "Outside { typed: false }");
    let deep = format!("{}x", "d/".repeat(MAX_MADE_DIRS));
    assert_eq!(missing(&deep).unwrap().len(), MAX_MADE_DIRS);
    assert_eq!(
        error(&format!("d/{deep}")),
        "ParentMissing { parent: \"d\" }"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// For any tree of links, the result agrees with the kernel's resolution beneath the root;
    /// except that links with absolute targets in the root, which it refuses, are followed.
    #[test]
    fn resolution_agrees_with_the_kernel(
        links in prop::collection::vec(("[abcd](/[abcd])?", "(\\.\\./|\\./|[abcd]/){0,3}[abcd.]{1,2}/?"), 0..6),
        typed in "[abcd](/[abcd]){0,3}/?",
    ) {
        use rustix::fs::ResolveFlags;
        let fixture = WorkspaceFixture::new();
        fixture.make_dir("a/b");
        fixture.make_dir("c");
        fixture.write_file("c/a");
        for (at, target) in &links {
            let _ = symlink(target, fixture.path(at));
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let kernel =
            rustix::fs::openat2(&fixture.root, &typed, flags, Mode::empty(), beneath);
        let ours = fixture.resolve(&typed);
        match (kernel, ours) {
            (Ok(theirs), Ok(located)) => {
                let theirs = rustix::fs::fstat(&theirs).unwrap();
                let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
                let real = match located.real.as_os_str().is_empty() {
                    true => Path::new("."),
                    false => &located.real,
                };
                let ours =
                    rustix::fs::openat2(&fixture.root, real, flags, Mode::empty(), straight).unwrap();
                prop_assert_eq!(rustix::fs::fstat(ours).unwrap().st_ino, theirs.st_ino);
            }
            (Err(Errno::NOENT), Ok(located)) => prop_assert_eq!(located.file_stat, None),
            (Err(Errno::NOENT), Err(PathError::ParentMissing { .. })) => fixture.make_missing(&typed)?,
            (Err(Errno::NOTDIR), Err(PathError::ParentIsFile { .. })) => {}
            (Err(Errno::XDEV), Err(PathError::Outside { typed: false })) => {}
            (Err(Errno::LOOP), Err(PathError::Loop)) => {}
            (kernel, ours) => prop_assert!(false, "{:?} {:?}", kernel, ours),
        }
    }
}
