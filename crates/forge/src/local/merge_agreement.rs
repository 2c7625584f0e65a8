//! Random merges, compared with `git merge-tree` and with a merge of the whole trees by libgit2.

use super::conflicts::of_index;
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::tree_merge::{TreeMerge, TreeMerger};
use crate::RepoName;
use candor_testkit::is_long;
use git2::{MergeOptions, Oid, Repository};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Returns the number of random pairs.
fn pairs() -> usize {
    if is_long() { 500 } else { 60 }
}

/// A file of a random tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RandomFile {
    mode: u32,
    lines: Vec<String>,
}

type RandomTree = BTreeMap<String, RandomFile>;

/// The changes that a side makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Edit,
    Add,
    Delete,
    Rename,
    Mode,
    /// A directory takes the place of a file.
    Directory,
}

struct RandomMerges {
    random: fastrand::Rng,
    words: u64,
}

impl RandomMerges {
    fn line(&mut self) -> String {
        self.words += 1;
        format!("line {} {:x}", self.words, self.random.u64(..))
    }

    fn file(&mut self) -> RandomFile {
        let lines = 4 + self.random.usize(..20);
        RandomFile {
            mode: 0o100_644,
            lines: (0..lines).map(|_| self.line()).collect(),
        }
    }

    fn base(&mut self) -> RandomTree {
        let mut tree = RandomTree::new();
        for number in 0..6 + self.random.usize(..20) {
            let depth = self.random.usize(..4);
            let dirs: Vec<String> = (0..depth)
                .map(|_| format!("d{}", self.random.u8(..3)))
                .collect();
            let path = [&dirs[..], &[format!("f{number}")]].concat().join("/");
            let file = self.file();
            tree.insert(path, file);
        }
        tree
    }

    fn edit(&mut self, file: &mut RandomFile) {
        let at = self.random.usize(..file.lines.len());
        let line = self.line();
        match self.random.u8(..3) {
            0 => file.lines[at] = line,
            1 => file.lines.insert(at, line),
            _ if file.lines.len() > 3 => drop(file.lines.remove(at)),
            _ => file.lines[at] = line,
        }
    }

    /// Changes a tree, and returns the kinds of changes.
    fn side(&mut self, base: &RandomTree, name: &str) -> (RandomTree, Vec<Change>) {
        let mut tree = base.clone();
        let mut changes = Vec::new();
        for number in 0..1 + self.random.usize(..4) {
            let paths: Vec<String> = tree.keys().cloned().collect();
            let Some(path) = self.random.choice(paths) else {
                break;
            };
            let Some(mut file) = tree.get(&path).cloned() else {
                break;
            };
            let change = match self.random.u8(..20) {
                0..8 => Change::Edit,
                8..11 => Change::Add,
                11..13 => Change::Delete,
                13..17 => Change::Rename,
                17..19 => Change::Mode,
                _ => Change::Directory,
            };
            changes.push(change);
            match change {
                Change::Edit => {
                    self.edit(&mut file);
                    tree.insert(path, file);
                }
                Change::Add => {
                    // The other side may add the same path.
                    let own = self.random.bool();
                    let name = if own { name } else { "both" };
                    let file = self.file();
                    tree.insert(
                        format!("d{}/new-{name}-{number}", self.random.u8(..3)),
                        file,
                    );
                }
                Change::Delete => drop(tree.remove(&path)),
                Change::Rename => {
                    tree.remove(&path);
                    if self.random.bool() {
                        self.edit(&mut file);
                    }
                    let to = format!("d{}/moved-{name}-{number}", self.random.u8(..3));
                    tree.insert(to, file);
                }
                Change::Mode => {
                    file.mode ^= 0o111;
                    tree.insert(path, file);
                }
                Change::Directory => {
                    tree.remove(&path);
                    let file = self.file();
                    tree.insert(format!("{path}/inside-{name}"), file);
                }
            }
        }
        (tree, changes)
    }
}

/// Appends a commit for `git fast-import`.
fn write_commit(stream: &mut String, branch: &str, from: Option<&str>, tree: &RandomTree) {
    writeln!(
        stream,
        "commit refs/heads/{branch}\ncommitter a <a@b> 1700000000 +0000"
    )
    .unwrap();
    writeln!(stream, "data 1\nm").unwrap();
    if let Some(from) = from {
        writeln!(stream, "from refs/heads/{from}").unwrap();
    }
    writeln!(stream, "deleteall").unwrap();
    for (path, file) in tree {
        let text = file.lines.join("\n") + "\n";
        writeln!(
            stream,
            "M {:o} inline {path}\ndata {}\n{text}",
            file.mode,
            text.len()
        )
        .unwrap();
    }
}

fn git(dir: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new("git")
        .current_dir(dir)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// The merge that git makes: its tree, or the conflicting paths.
fn merge_of_git(dir: &Path, one: &str, other: &str) -> Result<Oid, BTreeSet<String>> {
    // libgit2 does not follow renamed directories.
    let options = [
        "-c",
        "merge.directoryRenames=false",
        "merge-tree",
        "--write-tree",
    ];
    let rest = ["--name-only", "--no-messages", one, other];
    let output = git(dir, &[&options[..], &rest].concat(), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let tree = Oid::from_str(lines.next().unwrap()).unwrap();
    match output.status.code() {
        Some(0) => Ok(tree),
        Some(1) => Err(lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()),
        code => panic!("{code:?}"),
    }
}

fn open(dir: &Path) -> OpenRepository {
    let opened = OpenRepository {
        location: RepositoryLocation {
            name: RepoName::parse("a/b").unwrap(),
            path: dir.to_path_buf(),
        },
        git: Repository::open_bare(dir).unwrap(),
        objects: None,
        is_spent: Cell::new(false),
        is_cached_only: false,
    };
    opened.write_to_memory().unwrap();
    opened
}

/// The merge of whole trees that libgit2 makes.
fn whole_merge(opened: &OpenRepository, base: Oid, head: Oid) -> TreeMerge {
    let (base, head) = (
        opened.commit_at(base).unwrap(),
        opened.commit_at(head).unwrap(),
    );
    let mut options = MergeOptions::new();
    options.find_renames(true);
    let mut index = opened
        .git
        .merge_commits(&base, &head, Some(&options))
        .unwrap();
    match index.has_conflicts() {
        true => TreeMerge::Conflicts(of_index(&index).unwrap()),
        false => TreeMerge::Tree(index.write_tree_to(&opened.git).unwrap()),
    }
}

#[test]
fn random_merges_agree_with_git_and_with_whole_merges() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "--bare", "-b", "main", "."], "");
    let mut merges = RandomMerges {
        random: fastrand::Rng::with_seed(17),
        words: 0,
    };
    let mut stream = String::new();
    let mut kinds = Vec::new();
    for number in 0..pairs() {
        let base = merges.base();
        let sides = [merges.side(&base, "one"), merges.side(&base, "two")];
        write_commit(&mut stream, &format!("base-{number}"), None, &base);
        let from = format!("base-{number}");
        for (side, (tree, _)) in sides.iter().enumerate() {
            write_commit(
                &mut stream,
                &format!("side-{number}-{side}"),
                Some(&from),
                tree,
            );
        }
        kinds.push(sides.map(|(_, changes)| changes));
    }
    let imported = git(dir.path(), &["fast-import", "--quiet"], &stream);
    assert!(
        imported.status.success(),
        "{}",
        String::from_utf8_lossy(&imported.stderr)
    );
    let opened = open(dir.path());
    let (mut clean, mut conflicting) = (0, 0);
    for (number, kinds) in kinds.iter().enumerate() {
        let names = [0, 1].map(|side| format!("refs/heads/side-{number}-{side}"));
        let [base, head] = names
            .each_ref()
            .map(|name| opened.git.refname_to_id(name).unwrap());
        let merged = TreeMerger::new(&opened)
            .unwrap()
            .commits(base, head)
            .unwrap();
        assert_eq!(
            merged,
            whole_merge(&opened, base, head),
            "{number} {kinds:?}"
        );
        let expected = merge_of_git(dir.path(), &names[0], &names[1]);
        match (merged, expected) {
            (TreeMerge::Tree(tree), Ok(expected)) => {
                assert_eq!(tree, expected, "{number} {kinds:?}");
                clean += 1;
            }
            (TreeMerge::Conflicts(conflicts), Err(expected)) => {
                let paths: BTreeSet<String> = conflicts
                    .into_iter()
                    .map(|conflict| conflict.path)
                    .collect();
                if is_comparable(kinds) {
                    assert_eq!(paths, expected, "{number} {kinds:?}");
                }
                conflicting += 1;
            }
            other => panic!("{number} {kinds:?} {other:?}"),
        }
    }
    assert!(
        clean > pairs() / 4 && conflicting > pairs() / 10,
        "{clean} {conflicting}"
    );
}

/// Returns true if both programs name conflicting paths alike. For a renamed file and for a directory in the
/// place of a file, git also names paths that it invents.
fn is_comparable(kinds: &[Vec<Change>; 2]) -> bool {
    let invents = |change: &Change| matches!(change, Change::Rename | Change::Directory);
    !kinds.iter().flatten().any(invents)
}
