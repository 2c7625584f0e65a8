//! The workspace as cargo describes it, and cargo itself.

use crate::problem::{Problem, ProblemContext};
use crate::program::Program;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The checkout that xtask was started in.
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) members: Vec<Member>,
}

/// A package of the workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    folder: PathBuf,
    features: Vec<String>,
    targets: Vec<(String, String)>,
}

impl Repo {
    pub(crate) fn find() -> Result<Repo, Problem> {
        let here =
            std::env::current_dir().context(|| "cannot find the current directory".to_owned())?;
        let arguments = ["metadata", "--no-deps", "--format-version", "1"];
        let text = Program::new(cargo_path(), &here)
            .args(arguments)
            .captured()?;
        Repo::from_metadata(&text)
    }

    fn from_metadata(text: &str) -> Result<Repo, Problem> {
        let value: Value = serde_json::from_str(text)
            .context(|| "`cargo metadata` did not print JSON".to_owned())?;
        let packages = value["packages"].as_array().into_iter().flatten();
        Ok(Repo {
            root: path(&value["workspace_root"]),
            target: path(&value["target_directory"]),
            members: packages.map(Member::from_metadata).collect(),
        })
    }

    /// Returns `cargo` with arguments, to be run at the root of the checkout.
    pub(crate) fn cargo<I>(&self, args: I) -> Program
    where
        I: IntoIterator,
        I::Item: AsRef<std::ffi::OsStr>,
    {
        Program::new(cargo_path(), &self.root).args(args)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    pub(crate) fn member_in(&self, folder: &str) -> Option<&Member> {
        let folder = self.root.join(folder);
        self.members.iter().find(|member| member.folder == folder)
    }

    /// Returns every feature of every package, as `package/feature`.
    ///
    /// All test steps build with the same features. Otherwise each would compile the workspace again.
    pub(crate) fn features(&self) -> Vec<String> {
        let of = |member: &Member| {
            let wanted = member
                .features
                .iter()
                .filter(|feature| *feature != "default");
            wanted
                .map(|feature| format!("{}/{feature}", member.name))
                .collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of).collect()
    }

    /// Returns a path relative to the root, for messages.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        below.display().to_string()
    }
}

impl Member {
    fn from_metadata(package: &Value) -> Member {
        let manifest = path(&package["manifest_path"]);
        let folder = manifest.parent().map(Path::to_owned).unwrap_or_default();
        let features = package["features"].as_object();
        let targets = package["targets"].as_array().into_iter().flatten();
        Member {
            name: text(&package["name"]),
            folder,
            features: features
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default(),
            targets: targets
                .map(|target| (text(&target["kind"][0]), text(&target["name"])))
                .collect(),
        }
    }

    /// Returns the name of its program, if it has one.
    pub(crate) fn program(&self) -> Option<&str> {
        let mut programs = self.targets.iter().filter(|(kind, _)| kind == "bin");
        programs.next().map(|(_, name)| name.as_str())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns true if `cargo NAME` is installed.
pub(crate) fn has_subcommand(repo: &Repo, name: &str) -> bool {
    repo.cargo([name, "--version"]).captured().is_ok()
}

/// Returns true if the environment has `CI=true`.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn path(value: &Value) -> PathBuf {
    PathBuf::from(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"workspace_root":"/w","target_directory":"/t","packages":[
        {"name":"candor","manifest_path":"/w/crates/candor/Cargo.toml",
         "features":{"default":[],"extra":[]},
         "targets":[{"kind":["bin"],"name":"candor"},{"kind":["test"],"name":"e2e"}]},
        {"name":"weather","manifest_path":"/w/examples/weather/Cargo.toml","features":{},
         "targets":[{"kind":["bin"],"name":"weather"}]}]}"#;

    #[test]
    fn members_are_found_by_name_and_by_folder() {
        let repo = Repo::from_metadata(METADATA).unwrap();
        assert_eq!(repo.member("candor").unwrap().program(), Some("candor"));
        let weather = repo.member_in("examples/weather").unwrap();
        assert_eq!(weather.program(), Some("weather"));
        assert!(repo.member("candor-bench").is_none());
    }

    #[test]
    fn all_features_are_built() {
        let repo = Repo::from_metadata(METADATA).unwrap();
        assert_eq!(repo.features(), ["candor/extra"]);
    }

    #[test]
    fn paths_are_shown_from_the_root() {
        let repo = Repo::from_metadata(METADATA).unwrap();
        assert_eq!(repo.shown(Path::new("/w/docs/a.md")), "docs/a.md");
        assert_eq!(repo.shown(Path::new("/t/ci")), "/t/ci");
    }
}
