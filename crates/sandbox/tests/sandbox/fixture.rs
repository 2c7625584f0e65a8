//! A directory with protected files, and commands that run in it.

use candor_sandbox::{
    Ended, Held, Helper, Level, Limits, Network, Offer, SYSTEM_PATHS, Spec, StartError, probe,
    start,
};
use candor_testkit::with_refused_call;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

/// The program that is the helper and the attacker.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sandbox-test-program");

pub(crate) const ENOSYS: u32 = 38;
pub(crate) const EPERM: u32 = 1;

pub(crate) fn helper() -> Helper {
    Helper {
        program: PROGRAM.into(),
        first_args: vec!["helper".into()],
    }
}

pub(crate) struct Fixture {
    base: PathBuf,
    /// The level at which commands run.
    pub(crate) level: Level,
    _removed: tempfile::TempDir,
}

/// A command that ran.
pub(crate) struct Ran {
    pub(crate) end: Ended,
    pub(crate) held: Held,
    pub(crate) output: String,
}

impl Ran {
    pub(crate) fn is_success(&self) -> bool {
        self.end.exit_code == Some(0)
    }
}

const PROTECTED: [&str; 4] = ["audit-log.jsonl", ".candor", "docs/plans", ".git"];

/// Runs a test at both levels. A machine without namespaces is simulated for the lower one. A level that this
/// machine does not offer is reported as skipped.
pub(crate) fn at_both_levels(work: impl Fn(&Fixture) + Sync) {
    let offer = probe(&helper());
    match offer.level {
        Level::Full => work(&Fixture::new(Level::Full)),
        _ => skip(&offer),
    }
    match offer.landlock {
        Some(_) => with_refused_call(nix::libc::SYS_unshare, EPERM, || {
            work(&Fixture::new(Level::Landlock));
        }),
        None => skip(&offer),
    }
}

/// Runs a test at the full level, or reports it as skipped.
pub(crate) fn at_full_level(work: impl Fn(&Fixture)) {
    let offer = probe(&helper());
    match offer.level {
        Level::Full => work(&Fixture::new(Level::Full)),
        _ => skip(&offer),
    }
}

fn skip(offer: &Offer) {
    let missing: Vec<String> = offer.missing.iter().map(ToString::to_string).collect();
    candor_testkit::skip_for_kernel(missing.join("; "));
}

impl Fixture {
    pub(crate) fn new(level: Level) -> Fixture {
        let base = tempfile::tempdir().unwrap();
        let fixture = Fixture {
            base: base.path().canonicalize().unwrap(),
            level,
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
            ("scratch/home/.keep", ""),
            ("scratch/tmp/.keep", ""),
        ] {
            let path = fixture.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fixture
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
            cwd: self.path("work"),
            env: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), self.path("scratch/home").into()),
                ("TMPDIR".into(), self.path("scratch/tmp").into()),
            ],
            read,
            write: vec![self.path("work/target"), self.path("scratch")],
            hide: ["own", "work/.env", "work/config/.env", "work/.git/config"]
                .map(|path| self.path(path))
                .to_vec(),
            network: Network::Off,
            limits: Limits {
                time: Some(Duration::from_secs(60)),
                ..Limits::default()
            },
            least: self.level,
            merge_output: true,
        }
    }

    pub(crate) fn try_run(&self, spec: &Spec) -> Result<Ran, StartError> {
        let mut running = start(spec, &helper())?;
        let held = running.held().clone();
        drop(running.stdin());
        let mut output = Vec::new();
        let mut stdout = running.stdout().unwrap();
        stdout.read_to_end(&mut output).unwrap();
        Ok(Ran {
            end: running.wait().unwrap(),
            held,
            output: String::from_utf8_lossy(&output).into_owned(),
        })
    }

    pub(crate) fn run(&self, spec: &Spec) -> Ran {
        let ran = self.try_run(spec).unwrap();
        assert_eq!(ran.held.level, self.level);
        assert!(ran.held.seccomp && ran.end.descendants_ended);
        ran
    }

    pub(crate) fn run_shell(&self, script: &str) -> Ran {
        self.run(&self.spec(&["sh", "-c", script]))
    }

    /// Runs an attack and returns its lines, one for each attempt.
    pub(crate) fn attack(&self, name: &str, change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = self.spec(&[PROGRAM, "attack", name]);
        let server = std::process::id().to_string();
        spec.env.push(("BASE".into(), self.path("").into()));
        spec.env.push(("SERVER".into(), server.into()));
        change(&mut spec);
        let ran = self.run(&spec);
        assert_eq!(ran.end.exit_code, Some(0), "{}", ran.output);
        let lines = ran
            .output
            .lines()
            .filter_map(|line| line.strip_prefix("> "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Runs an attack of which every attempt must be refused, and returns the number of attempts.
    pub(crate) fn refused_attack(&self, name: &str) -> usize {
        let attempts = self.attack(name, |_| {});
        for line in attempts.lines() {
            let refused = ["EACCES", "EPERM", "EROFS", "EXDEV", "ENOENT", "EBUSY"];
            assert!(
                refused
                    .iter()
                    .any(|error| line.ends_with(&format!(": {error}"))),
                "{attempts}"
            );
        }
        attempts.lines().count()
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
