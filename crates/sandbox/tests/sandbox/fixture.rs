//! A workspace with protected files, and commands that run in it.

use candor_sandbox::{
    CommandOutcome, Helper, Limits, PathRules, RunError, SYSTEM_PATHS, SandboxSupport, Spec,
    StopSignal, probe, run, stop_channel,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The program that is the helper and the attacker.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sandbox-test-program");

pub(crate) struct Fixture {
    base: PathBuf,
    _removed: tempfile::TempDir,
}

const PROTECTED: [&str; 4] = ["audit-log.jsonl", ".candor", "docs/plans", ".git"];

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let base = tempfile::tempdir().unwrap();
        let fixture = Fixture {
            base: base.path().canonicalize().unwrap(),
            _removed: base,
        };
        for (path, text) in [
            ("work/src/lib.rs", "source"),
            ("work/audit-log.jsonl", "line\n"),
            ("work/.git/hooks/pre-commit", "hook"),
            ("work/.git/config", "url with a token"),
            ("work/.git/HEAD", "ref"),
            ("work/.candor/settings", "settings"),
            ("work/docs/plans/p.toml", "plan"),
            ("work/.env", "secret"),
            ("work/config/.env", "secret"),
            ("work/config/app.toml", "app"),
            ("work/target/old", "old"),
            ("own/approval.key", "key"),
            ("own/lock", "lock"),
            ("own/checkpoint", "checkpoint"),
            ("own/revoked", "revoked"),
            ("tool/data", "data"),
        ] {
            let path = fixture.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fixture
    }

    /// Returns `None` and reports the test as skipped if this kernel cannot confine a command.
    pub(crate) fn with_sandbox() -> Option<Fixture> {
        if let SandboxSupport::Unavailable(reason) = probe() {
            candor_testkit::skip_for_kernel(reason);
            return None;
        }
        Some(Fixture::new())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    pub(crate) fn spec(&self, argv: &[&str]) -> Spec {
        let mut read: Vec<PathBuf> = SYSTEM_PATHS.iter().map(PathBuf::from).collect();
        // The home of the user, which contains the workspace, a toolchain and hidden directories.
        read.push(self.path(""));
        read.push(PROGRAM.into());
        Spec {
            argv: argv.iter().map(|&part| part.to_owned()).collect(),
            root: self.path("work"),
            write: vec!["target".into()],
            env: Vec::new(),
            network: false,
            limits: Limits {
                time: Duration::from_secs(60),
                ..Limits::default()
            },
            read,
            hide: vec![self.path("own")],
            path: "/usr/local/bin:/usr/bin:/bin".into(),
            lang: "C.UTF-8".into(),
            scratch: self.path("scratch"),
            allow_unsandboxed: false,
        }
    }

    pub(crate) fn run_until(
        &self,
        spec: &Spec,
        stop: &StopSignal,
    ) -> Result<CommandOutcome, RunError> {
        let rules = PathRules {
            is_hidden: &|path| path.ends_with(".env") || path == Path::new(".git/config"),
            can_be_writable: &|path| {
                !PROTECTED
                    .iter()
                    .any(|one| path.starts_with(one) || Path::new(one).starts_with(path))
            },
        };
        let helper = Helper {
            program: PROGRAM.into(),
            first_args: vec!["helper".into()],
        };
        let outcome = run(spec, &rules, &helper, stop);
        assert!(!spec.scratch.exists(), "the temporary directory is gone");
        outcome
    }

    pub(crate) fn try_run(&self, spec: &Spec) -> Result<CommandOutcome, RunError> {
        let (_handle, stop) = stop_channel().unwrap();
        self.run_until(spec, &stop)
    }

    pub(crate) fn run(&self, spec: &Spec) -> CommandOutcome {
        let outcome = self.try_run(spec).unwrap();
        assert!(outcome.sandboxed && outcome.descendants_ended);
        assert_eq!(outcome.argv, spec.argv);
        outcome
    }

    pub(crate) fn run_shell(&self, script: &str) -> CommandOutcome {
        self.run(&self.spec(&["sh", "-c", script]))
    }

    /// Runs an attack and returns its lines, one for each attempt.
    pub(crate) fn attack(&self, name: &str, change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = self.spec(&[PROGRAM, "attack", name]);
        spec.env = vec![
            ("BASE".into(), self.path("").to_str().unwrap().into()),
            ("SERVER".into(), std::process::id().to_string()),
        ];
        change(&mut spec);
        let outcome = self.run(&spec);
        assert_eq!(outcome.exit_code, Some(0), "{}", outcome.output_tail);
        let lines = outcome
            .output_tail
            .lines()
            .filter_map(|line| line.strip_prefix("> "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Returns every file that no command may change, with mode, owner and contents.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let unchanged = ["work/src", "work/config", "work/.env", "own", "tool"];
        let protected = PROTECTED.map(|path| self.path("work").join(path));
        let mut todo: Vec<PathBuf> = unchanged.iter().map(|path| self.path(path)).collect();
        todo.extend(protected);
        let mut files = Snapshot::new();
        while let Some(path) = todo.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let contents = match metadata.is_dir() {
                true => {
                    let entries = fs::read_dir(&path).unwrap();
                    todo.extend(entries.map(|entry| entry.unwrap().path()));
                    Vec::new()
                }
                false => fs::read(&path).unwrap(),
            };
            files.insert(path, (metadata.mode(), metadata.uid(), contents));
        }
        files
    }
}

/// Mode, owner and contents by path.
pub(crate) type Snapshot = BTreeMap<PathBuf, (u32, u32, Vec<u8>)>;
