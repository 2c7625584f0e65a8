//! A workspace with something to protect, and commands run in it.

use candor_workspace::preflight::{
    Fence, Fingerprint, Helper, Limits, Order, Ran, RunError, SYSTEM, Stop, run, stop,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct Place {
    base: PathBuf,
    _removed: Option<tempfile::TempDir>,
}

const PROTECTED: [&str; 4] = ["audit-log.jsonl", ".candor", "docs/plans", ".git"];

impl Place {
    pub(crate) fn new() -> Place {
        let base = tempfile::tempdir().unwrap();
        let place = Place {
            base: base.path().canonicalize().unwrap(),
            _removed: Some(base),
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
            let path = place.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    /// The place that another process made.
    pub(crate) fn of(base: PathBuf) -> Place {
        Place {
            base,
            _removed: None,
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    pub(crate) fn order(&self, argv: &[&str]) -> Order {
        let mut readable: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        // The home of the user, which holds workspace, toolchain and our own directories.
        readable.push(self.at(""));
        readable.push(std::env::current_exe().unwrap());
        Order {
            argv: argv.iter().map(|&part| part.to_owned()).collect(),
            root: self.at("work"),
            writable: vec!["target".into()],
            env: Vec::new(),
            network: false,
            limits: Limits {
                time: Duration::from_secs(60),
                ..Limits::default()
            },
            readable,
            never: vec![self.at("own")],
            path: "/usr/local/bin:/usr/bin:/bin".into(),
            lang: "C.UTF-8".into(),
            scratch: self.at("scratch"),
            allow_unsandboxed: false,
        }
    }

    pub(crate) fn run_until(&self, order: &Order, stop: &Stop) -> Result<Ran, RunError> {
        let protected_paths = PROTECTED.map(PathBuf::from);
        let fence = Fence {
            unreadable: &|path| path.ends_with(".env") || path == Path::new(".git/config"),
            protected: &|path| PROTECTED.iter().any(|one| path.starts_with(one)),
            protected_paths: &protected_paths,
        };
        let helper = Helper {
            program: env!("CARGO_BIN_EXE_candor").into(),
            first_args: vec!["internal-sandbox".into()],
        };
        let ran = run(order, &fence, &helper, stop);
        assert!(!order.scratch.exists(), "the temporary directory is gone");
        ran
    }

    pub(crate) fn try_run(&self, order: &Order) -> Result<Ran, RunError> {
        let (_stopper, stop) = stop().unwrap();
        self.run_until(order, &stop)
    }

    pub(crate) fn run(&self, order: &Order) -> Ran {
        let ran = self.try_run(order).unwrap();
        assert!(ran.sandboxed && ran.swept);
        assert_eq!(ran.argv, order.argv);
        ran
    }

    pub(crate) fn shell(&self, script: &str) -> Ran {
        self.run(&self.order(&["sh", "-c", script]))
    }

    /// Runs this test binary as an attacker, and answers what it says about each attempt.
    pub(crate) fn attack(&self, what: &str, change: impl FnOnce(&mut Order)) -> String {
        let exe = std::env::current_exe().unwrap();
        let exe = exe.to_str().unwrap();
        let mut order = self.order(&[
            exe,
            "attacker::attacker",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ]);
        order.env = vec![
            ("ATTACK".into(), what.into()),
            ("BASE".into(), self.at("").to_str().unwrap().into()),
            ("SERVER".into(), std::process::id().to_string()),
        ];
        change(&mut order);
        let ran = self.run(&order);
        assert_eq!(ran.exit_code, Some(0), "{}", ran.output_tail);
        let said = ran
            .output_tail
            .lines()
            .filter_map(|line| line.strip_prefix("> "));
        said.map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn everything_else(&self) -> Fingerprint {
        let kept = ["work/src", "work/config", "work/.env", "own", "tool"];
        let protected = PROTECTED.map(|path| self.at("work").join(path));
        let all: Vec<PathBuf> = kept
            .iter()
            .map(|path| self.at(path))
            .chain(protected)
            .collect();
        Fingerprint::take(&all).unwrap()
    }
}
