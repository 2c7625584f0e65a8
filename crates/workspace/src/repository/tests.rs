//! The identity of repositories that git made, and of hostile ones.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A directory with a workspace and a state directory.
struct Fixture {
    _directory: tempfile::TempDir,
    base: PathBuf,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Fixture {
            base: directory.path().canonicalize().unwrap(),
            _directory: directory,
        };
        fs::create_dir(fixture.path("ws")).unwrap();
        fixture
    }

    /// Contains a repository with one commit.
    fn with_commit() -> Fixture {
        let fixture = Fixture::new();
        fixture.git("ws", &["init", "-q", "-b", "main"]);
        fixture.commit("ws", "one");
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    fn git(&self, dir: &str, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
            .args(["-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(self.path(dir))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, dir: &str, message: &str) -> String {
        self.git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
        self.git(dir, &["rev-parse", "HEAD"])
    }

    /// Returns a reader that has seen nothing yet.
    fn reader(&self, dir: &str) -> RepositoryReader {
        RepositoryReader::new(&self.path(dir), self.path("state"), PATH.to_owned())
    }

    fn root_commits(&self, dir: &str) -> Result<Vec<String>, RepositoryError> {
        self.reader(dir).root_commits().map(Vec::from)
    }
}

#[test]
fn identity_is_the_sorted_root_commits_of_head() {
    let fixture = Fixture::with_commit();
    let one = fixture.git("ws", &["rev-parse", "HEAD"]);
    fixture.commit("ws", "two");
    assert_eq!(fixture.root_commits("ws"), Ok(vec![one.clone()]));

    fixture.git("ws", &["checkout", "-q", "--orphan", "other"]);
    assert_eq!(fixture.root_commits("ws"), Err(RepositoryError::NoCommit));
    let other = fixture.commit("ws", "three");
    assert_eq!(fixture.root_commits("ws"), Ok(vec![other.clone()]));
    let merge = [
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-m",
        "m",
        "main",
    ];
    fixture.git("ws", &merge);
    let mut both = vec![one, other];
    both.sort();
    assert_eq!(fixture.root_commits("ws"), Ok(both));
}

#[test]
fn head_is_found_in_reftables() {
    let fixture = Fixture::new();
    let init = ["init", "-q", "-b", "main", "--ref-format=reftable", "ws"];
    let mut git = Command::new("git");
    let made = git.args(init).current_dir(fixture.path("")).output();
    if !made.unwrap().status.success() {
        return candor_testkit::skip("git has no reftables; version 2.45 or newer has them");
    }
    assert_eq!(fixture.root_commits("ws"), Err(RepositoryError::NoCommit));
    let one = fixture.commit("ws", "one");
    fixture.git("ws", &["checkout", "-q", "-b", "other"]);
    // Names that fill several blocks, in several tables.
    for number in 0..300 {
        let name = format!("refs/heads/a/very/long/name/of/a/branch/{number}");
        fixture.git("ws", &["update-ref", &name, "HEAD"]);
    }
    let two = fixture.commit("ws", "two");
    let head = |dir: &str| GitDirectories::find(&fixture.path(dir)).unwrap().head();
    assert_eq!(head("ws"), Ok(two.clone()));
    fixture.git("ws", &["pack-refs", "--all"]);
    assert_eq!(head("ws"), Ok(two.clone()));
    assert_eq!(fixture.root_commits("ws"), Ok(vec![one.clone()]));
    fixture.git("ws", &["tag", "-a", "-m", "t", "v1"]);
    fixture.git("ws", &["worktree", "add", "-q", "../linked", "main"]);
    assert_eq!(head("linked"), Ok(one.clone()));
    assert_eq!(fixture.root_commits("linked"), Ok(vec![one.clone()]));
    let three = fixture.commit("linked", "three");
    assert_eq!((head("linked"), head("ws")), (Ok(three), Ok(two)));
    fixture.git("ws", &["checkout", "-q", "--detach", &one]);
    assert_eq!(head("ws"), Ok(one));
    fixture.git("ws", &["checkout", "-q", "--orphan", "new"]);
    assert_eq!(head("ws"), Err(RepositoryError::NoCommit));

    let list = fixture.path("ws/.git/reftable/tables.list");
    fs::write(&list, "../../HEAD.ref\n").unwrap();
    assert!(matches!(
        head("ws"),
        Err(RepositoryError::Unreadable { .. })
    ));
    fs::remove_file(&list).unwrap();
    assert!(matches!(
        head("ws"),
        Err(RepositoryError::Unreadable { .. })
    ));
}

#[test]
fn sha256_is_read_from_reftables() {
    let fixture = Fixture::new();
    let init = [
        "init",
        "-q",
        "--ref-format=reftable",
        "--object-format=sha256",
    ];
    let mut git = Command::new("git");
    let made = git.args(init).current_dir(fixture.path("ws")).output();
    if !made.unwrap().status.success() {
        return candor_testkit::skip("git has no reftables; version 2.45 or newer has them");
    }
    let one = fixture.commit("ws", "one");
    fixture.commit("ws", "two");
    assert_eq!(one.len(), 64);
    assert_eq!(fixture.root_commits("ws"), Ok(vec![one]));
}

#[test]
fn workspace_without_commits_has_no_identity() {
    let fixture = Fixture::new();
    let missing = fixture.root_commits("ws");
    assert_eq!(missing, Err(RepositoryError::NoRepository));
    fixture.git("ws", &["init", "-q"]);
    assert_eq!(fixture.root_commits("ws"), Err(RepositoryError::NoCommit));
}

#[test]
fn head_is_found_in_packed_refs_and_detached() {
    let fixture = Fixture::with_commit();
    let root = fixture.git("ws", &["rev-parse", "HEAD"]);
    fixture.git("ws", &["pack-refs", "--all"]);
    assert!(!fixture.path("ws/.git/refs/heads/main").exists());
    assert_eq!(fixture.root_commits("ws"), Ok(vec![root.clone()]));
    fixture.git("ws", &["gc", "-q"]);
    assert_eq!(fixture.root_commits("ws"), Ok(vec![root.clone()]));
    // A loose ref wins over a packed one.
    let second = fixture.commit("ws", "two");
    let directories = GitDirectories::find(&fixture.path("ws")).unwrap();
    assert_eq!(directories.head(), Ok(second));
    fixture.git("ws", &["checkout", "-q", "--detach", &root]);
    assert_eq!(fixture.root_commits("ws"), Ok(vec![root.clone()]));
    // A branch that leads to another one.
    fixture.git(
        "ws",
        &["symbolic-ref", "refs/heads/alias", "refs/heads/main"],
    );
    fixture.git("ws", &["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert_eq!(fixture.root_commits("ws"), Ok(vec![root]));
}

#[test]
fn worktrees_subdirectories_and_clones_have_the_same_identity() {
    let fixture = Fixture::with_commit();
    let root = vec![fixture.git("ws", &["rev-parse", "HEAD"])];
    fixture.git("ws", &["worktree", "add", "-q", "-b", "side", "../side"]);
    fixture.commit("side", "two");
    assert_eq!(fixture.root_commits("side"), Ok(root.clone()));
    fs::create_dir_all(fixture.path("ws/a/b")).unwrap();
    assert_eq!(fixture.root_commits("ws/a/b"), Ok(root.clone()));
    fixture.git("", &["clone", "-q", "ws", "clone"]);
    assert_eq!(fixture.root_commits("clone"), Ok(root.clone()));
    // Its objects are in the other repository.
    fixture.git("", &["clone", "-q", "--shared", "ws", "shared"]);
    assert_eq!(fixture.root_commits("shared"), Ok(root.clone()));
    fs::rename(fixture.path("clone/.git"), fixture.path("moved.git")).unwrap();
    symlink(fixture.path("moved.git"), fixture.path("clone/.git")).unwrap();
    assert_eq!(fixture.root_commits("clone"), Ok(root));
}

#[test]
fn repositories_with_sha256_have_an_identity() {
    let fixture = Fixture::new();
    fixture.git("ws", &["init", "-q", "--object-format=sha256"]);
    let root = fixture.commit("ws", "one");
    assert_eq!(root.len(), 64);
    fixture.commit("ws", "two");
    assert_eq!(fixture.root_commits("ws"), Ok(vec![root]));
}

#[test]
fn shallow_clone_has_no_identity() {
    let fixture = Fixture::with_commit();
    fixture.commit("ws", "two");
    let from = format!("file://{}", fixture.path("ws").display());
    fixture.git("", &["clone", "-q", "--depth", "1", &from, "clone"]);
    assert_eq!(fixture.root_commits("clone"), Err(RepositoryError::Shallow));
    fixture.git("clone", &["fetch", "-q", "--unshallow"]);
    assert_eq!(fixture.root_commits("clone"), fixture.root_commits("ws"));
}

#[test]
fn grafts_and_replacements_change_nothing() {
    let fixture = Fixture::with_commit();
    let one = fixture.git("ws", &["rev-parse", "HEAD"]);
    let two = fixture.commit("ws", "two");
    fs::write(fixture.path("ws/.git/info/grafts"), format!("{two}\n")).unwrap();
    assert_eq!(fixture.root_commits("ws"), Ok(vec![one.clone()]));
    fs::remove_file(fixture.path("ws/.git/info/grafts")).unwrap();
    fs::remove_dir_all(fixture.path("state")).unwrap();
    fixture.git("ws", &["replace", "--graft", &two]);
    assert_eq!(
        fixture.git("ws", &["rev-list", "--max-parents=0", "HEAD"]),
        two
    );
    assert_eq!(fixture.root_commits("ws"), Ok(vec![one]));
}

#[test]
fn git_runs_once_for_a_commit() {
    let fixture = Fixture::with_commit();
    let bin = fixture.path("bin");
    fs::create_dir(&bin).unwrap();
    let real = git::find_program(PATH, &fixture.path("ws")).unwrap();
    // A directory for each run: the limits forbid to write a file.
    let script = format!(
        "#!/bin/sh\nmkdir -p {}/runs/$$\nexec {} \"$@\"\n",
        fixture.base.display(),
        real.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let runs = || fs::read_dir(fixture.path("runs")).map_or(0, Iterator::count);
    let new = || {
        let path = bin.to_str().unwrap().to_owned();
        RepositoryReader::new(&fixture.path("ws"), fixture.path("state"), path)
    };
    let reader = new();
    assert_eq!(runs(), 0);
    let first = reader.root_commits().unwrap();
    assert_eq!(reader.root_commits(), Ok(first.clone()));
    assert_eq!(new().root_commits(), Ok(first.clone()));
    assert_eq!(runs(), 1);
    let head = fixture.commit("ws", "two");
    assert_eq!(reader.root_commits(), Ok(first.clone()));
    assert_eq!(new().root_commits(), Ok(first.clone()));
    assert_eq!(runs(), 2);
    // A damaged entry is computed again.
    fs::write(fixture.path("state/repository").join(&head), "x").unwrap();
    assert_eq!(new().root_commits(), Ok(first.clone()));
    assert_eq!(new().root_commits(), Ok(first));
    assert_eq!(runs(), 3);
    // A failure is remembered too.
    fixture.commit("ws", "three");
    fs::remove_dir_all(fixture.path("ws/.git/objects")).unwrap();
    fs::create_dir(fixture.path("ws/.git/objects")).unwrap();
    let failed = reader.root_commits().unwrap_err();
    assert!(matches!(failed, RepositoryError::Git(_)), "{failed}");
    assert_eq!(reader.root_commits(), Err(failed));
    assert_eq!(runs(), 4);
}

#[test]
fn configuration_and_hooks_of_the_repository_are_not_run() {
    let fixture = Fixture::with_commit();
    let head = fixture.commit("ws", "two");
    let one = fixture.root_commits("ws").unwrap();
    fs::remove_dir_all(fixture.path("state")).unwrap();
    let trap = fixture.path("trap");
    let script = format!("#!/bin/sh\ntouch {}\n", trap.display());
    fs::write(fixture.path("evil"), script).unwrap();
    fs::set_permissions(fixture.path("evil"), fs::Permissions::from_mode(0o755)).unwrap();
    let evil = fixture.path("evil");
    let evil = evil.to_str().unwrap();
    let ext = format!("ext::{evil}");
    for (name, value) in [
        ("core.fsmonitor", evil),
        ("core.sshCommand", evil),
        ("core.pager", evil),
        ("core.alternateRefsCommand", evil),
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", ext.as_str()),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", evil),
        ("protocol.allow", "always"),
    ] {
        fixture.git("ws", &["config", name, value]);
    }
    assert_eq!(fixture.root_commits("ws"), Ok(one));
    // A missing object is not fetched.
    fs::remove_dir_all(fixture.path("state")).unwrap();
    let object = format!("ws/.git/objects/{}/{}", &head[..2], &head[2..]);
    fs::remove_file(fixture.path(&object)).unwrap();
    let missing = fixture.root_commits("ws").unwrap_err();
    assert!(matches!(missing, RepositoryError::Git(_)), "{missing}");
    let reader = fixture.reader("ws");
    reader.tracked_files(&[Path::new("src")]).ok();
    assert!(!trap.exists());
}

#[test]
fn hostile_git_directory_is_bounded() {
    let refused = |make: &dyn Fn(&Fixture)| {
        let fixture = Fixture::with_commit();
        make(&fixture);
        let mut reader = fixture.reader("ws");
        reader.timeout = Duration::from_secs(5);
        reader.root_commits().unwrap_err()
    };
    let head = |text: &str| {
        let text = text.to_owned();
        refused(&move |fixture| fs::write(fixture.path("ws/.git/HEAD"), &text).unwrap())
    };
    for text in [
        "",
        "x",
        "ref: ../../../../etc/passwd",
        "ref: /etc/passwd",
        "ref: refs/heads/.invalid",
        "ref: refs/heads/../../HEAD",
        "--output=/tmp/x",
    ] {
        let error = head(text);
        assert!(
            matches!(error, RepositoryError::Unreadable { .. }),
            "{text}: {error}"
        );
    }
    let big = head(&"a".repeat(5000));
    assert!(matches!(big, RepositoryError::Unreadable { .. }), "{big}");
    let unknown = head(&"0".repeat(40));
    assert!(matches!(unknown, RepositoryError::Git(_)), "{unknown}");
    let replaced = |name: &'static str, target: &'static str| {
        refused(&move |fixture| {
            let at = fixture.path("ws/.git").join(name);
            fs::remove_file(&at).ok();
            symlink(target, at).unwrap();
        })
    };
    for (name, target) in [
        ("HEAD", "/dev/zero"),
        ("HEAD", "HEAD"),
        ("refs/heads/main", "/dev/zero"),
        ("objects/info/alternates", "/dev/zero"),
        ("commondir", "/dev/zero"),
    ] {
        let error = replaced(name, target);
        assert!(
            matches!(error, RepositoryError::Unreadable { .. }),
            "{name}: {error}"
        );
    }
    let fifo = refused(&|fixture| {
        fs::remove_file(fixture.path("ws/.git/HEAD")).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, fixture.path("ws/.git/HEAD"), kind, mode, 0).unwrap();
    });
    assert!(matches!(fifo, RepositoryError::Unreadable { .. }), "{fifo}");
    let looped = refused(&|fixture| {
        let main = fixture.path("ws/.git/refs/heads/main");
        fs::write(main, "ref: refs/heads/main\n").unwrap();
    });
    assert!(
        matches!(looped, RepositoryError::Unreadable { .. }),
        "{looped}"
    );
    let packed = refused(&|fixture| {
        fs::remove_file(fixture.path("ws/.git/refs/heads/main")).unwrap();
        let file = fs::File::create(fixture.path("ws/.git/packed-refs")).unwrap();
        file.set_len(MAX_PACKED_REFS as u64 + 1).unwrap();
    });
    assert!(
        matches!(packed, RepositoryError::Unreadable { .. }),
        "{packed}"
    );
    for text in ["", "gitdir: ", "gitdir: nowhere", "gitdir: .git", "x"] {
        let error = refused(&|fixture| {
            fs::remove_dir_all(fixture.path("ws/.git")).unwrap();
            fs::write(fixture.path("ws/.git"), text).unwrap();
        });
        assert!(
            matches!(error, RepositoryError::Unreadable { .. }),
            "{text}: {error}"
        );
    }
    let nested = refused(&|fixture| {
        // A list that names a directory which names a device.
        let other = fixture.path("other");
        fs::create_dir_all(other.join("info")).unwrap();
        symlink("/dev/zero", other.join("info/alternates")).unwrap();
        let list = format!("{}\n", other.display());
        fs::write(fixture.path("ws/.git/objects/info/alternates"), list).unwrap();
    });
    assert!(
        matches!(nested, RepositoryError::Unreadable { .. }),
        "{nested}"
    );
    let many = refused(&|fixture| {
        let names = (0..100).map(|number| format!("/nowhere/{number}\n"));
        let list: String = names.collect();
        fs::write(fixture.path("ws/.git/objects/info/alternates"), list).unwrap();
    });
    assert!(matches!(many, RepositoryError::Unreadable { .. }), "{many}");
}

#[test]
fn object_that_claims_to_be_huge_is_bounded() {
    let fixture = Fixture::with_commit();
    let head = fixture.commit("ws", "two");
    // The header of a commit of 1 TiB, in a stored block of zlib.
    let header = b"commit 1099511627776\0";
    let length = header.len() as u16;
    let mut object = vec![0x78, 0x01, 0x01];
    object.extend(length.to_le_bytes());
    object.extend((!length).to_le_bytes());
    object.extend(header);
    let path = format!("ws/.git/objects/{}/{}", &head[..2], &head[2..]);
    fs::remove_file(fixture.path(&path)).unwrap();
    fs::write(fixture.path(&path), object).unwrap();
    let error = fixture.root_commits("ws").unwrap_err();
    assert!(matches!(error, RepositoryError::Git(_)), "{error}");
}

#[test]
fn repository_of_another_user_above_the_workspace_does_not_count() {
    let fixture = Fixture::with_commit();
    fs::create_dir(fixture.path("ws/sub")).unwrap();
    assert!(fixture.root_commits("ws/sub").is_ok());
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(fixture.path("ws/.git"), Some(1500), Some(1500)).unwrap();
        let refused = fixture.root_commits("ws/sub");
        assert_eq!(refused, Err(RepositoryError::OtherOwner));
        assert!(fixture.root_commits("ws").is_ok());
    }
}

#[test]
fn missing_git_is_an_error() {
    let fixture = Fixture::with_commit();
    let new = |path: &str| {
        let state = fixture.path("state");
        RepositoryReader::new(&fixture.path("ws"), state, path.to_owned())
    };
    assert_eq!(new("").root_commits(), Err(RepositoryError::NoGit));
    // An identity that was computed before needs no git.
    let known = fixture.root_commits("ws");
    assert!(known.is_ok());
    assert_eq!(new("").root_commits().map(Vec::from), known);
}

#[test]
fn tracked_files_are_counted_below_each_path() {
    let fixture = Fixture::new();
    let count = |dir: &str, paths: &[&str]| -> Vec<usize> {
        let paths: Vec<_> = paths.iter().map(Path::new).collect();
        let counted = fixture.reader(dir).tracked_files(&paths).unwrap();
        counted.iter().map(|files| files.count).collect()
    };
    fixture.git("ws", &["init", "-q"]);
    assert_eq!(count("ws", &["src"]), [0]);
    for name in ["src/a", "src/b/c", "src2/d", "*/x", "top", "a b/\u{e4}"] {
        let path = fixture.path("ws").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fixture.git("ws", &["add", "src", "src2", "top", "*/x", "a b"]);
    fs::write(fixture.path("ws/src/new"), "").unwrap();
    let paths = ["src", "src2", "top", "target", "*", "a b", "src/b"];
    assert_eq!(count("ws", &paths), [2, 1, 1, 0, 1, 1, 1]);
    fixture.commit("ws", "one");
    assert_eq!(count("ws/src", &["b", "a", "x"]), [1, 1, 0]);
    assert_eq!(count("ws", &[]), [0; 0]);
    fs::rename(fixture.path("ws/.git/index"), fixture.path("index")).unwrap();
    symlink(fixture.path("index"), fixture.path("ws/.git/index")).unwrap();
    let refused = fixture.reader("ws").tracked_files(&[Path::new("src")]);
    assert!(matches!(refused, Err(RepositoryError::Unreadable { .. })));
    let disk = RealDisk::at(fixture.path("state/repository/git")).unwrap();
    assert_eq!(disk.list("").unwrap().len(), 4);
}
