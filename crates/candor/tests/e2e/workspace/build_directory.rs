//! The private build directory: where commands build, how long it is kept, and what they cannot do with it.

use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::lacks_sandbox;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Returns the build directories of the workspace, without the files beside them.
fn directories(fixture: &WorkspaceFixture) -> Vec<PathBuf> {
    let of_root = fixture.state().file_name().unwrap().to_owned();
    let of_root = fixture.path_beside("cache/candor/build").join(of_root);
    let Ok(entries) = fs::read_dir(of_root) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// The owner's `target` stays as it is, whatever a test of the agent writes.
#[test]
fn p1_commands_build_outside_the_tree() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.write("target/debug/app", "the owner's");
    let script = "echo evil > target/debug/app; mkdir -p $CARGO_TARGET_DIR/debug && \
        echo built > $CARGO_TARGET_DIR/debug/app; ls $CARGO_TARGET_DIR/debug; \
        case $CARGO_TARGET_DIR in $CANDOR_BUILD_DIR/*) echo inside;; esac; \
        for dir in $GOCACHE $GOTMPDIR $PYTHONPYCACHEPREFIX $npm_config_cache $PIP_CACHE_DIR $XDG_CACHE_HOME; \
        do test -d $dir || echo missing $dir; done; true";
    let phase = json!({ "allow": ["tests/**"], "verify": [["bash", "-c", script]] });
    let plan = fixture.allow_phase(phase);
    let mut client = fixture.executor(&[]);
    let answer = client.call_ok("run_preflight", json!({ "plan_hash": plan }));
    let output = answer["preflight"][0]["output_tail"].as_str().unwrap();
    assert!(output.ends_with("app\ninside\n"), "{output}");
    assert!(output.contains("Read-only file system"), "{output}");
    assert_eq!(fixture.read("target/debug/app"), "the owner's");
    let [build] = directories(&fixture).try_into().unwrap();
    assert_eq!(
        fs::read_to_string(build.join("cargo/debug/app")).unwrap(),
        "built\n"
    );
}

/// Within one approval it is kept; a new approval of the same plan starts empty, and the old directory goes.
#[test]
fn p1_new_approval_starts_empty() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let script =
        "ls $CANDOR_BUILD_DIR/kept 2>/dev/null || echo empty; touch $CANDOR_BUILD_DIR/kept";
    let phase = json!({ "allow": ["src/**"], "verify": [["bash", "-c", script]] });
    let plan = fixture.allow_phase(phase);
    let run = |arguments: Value| {
        let mut client = fixture.executor(&[]);
        let answer = client.call_ok("run_preflight", arguments);
        let fresh = fixture.log_lines().last().unwrap()["commands"][0]["fresh"].clone();
        let output = answer["preflight"][0]["output_tail"].as_str().unwrap();
        (output.contains("empty"), fresh)
    };
    assert_eq!(run(json!({})), (true, json!(false)));
    assert_eq!(run(json!({})), (false, json!(false)));
    assert_eq!(run(json!({ "fresh": true })), (true, json!(true)));
    assert_eq!(run(json!({ "fresh": false })), (false, json!(false)));
    let old = directories(&fixture);
    assert_eq!(old.len(), 1);
    fixture.sign(&plan, fixture.key(), -60, 7200);
    assert_eq!(run(json!({})), (true, json!(false)));
    let new = directories(&fixture);
    assert_eq!(new.len(), 1, "{new:?}");
    assert_ne!(new, old);
    fixture.revoke(&plan);
    fixture.executor(&[]).end();
    assert_eq!(directories(&fixture), Vec::<PathBuf>::new());
}

#[test]
fn placeholder_stands_for_the_directory() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.allow_phase(json!({
        "allow": ["src/**"],
        "commands": [["bash", "-c", "*"], ["echo", "**"]],
        "env": ["OUT={build_dir}/out", "CANDOR_BUILD_DIR=/evil", "GOCACHE=/chosen"],
    }));
    let mut client = fixture.executor(&[]);
    let script = "echo $OUT $CANDOR_BUILD_DIR $GOCACHE";
    let answer = client.call_ok("run_command", json!({ "argv": ["bash", "-c", script] }));
    let build = directories(&fixture).remove(0).canonicalize().unwrap();
    let build = build.display();
    assert_eq!(answer["output"], format!("{build}/out {build} /chosen\n"));
    let argv = json!(["echo", "--into={build_dir}"]);
    let answer = client.call_ok("run_command", json!({ "argv": argv }));
    assert_eq!(answer["output"], format!("--into={build}\n"));
    assert_eq!(answer["argv"], argv);
}

#[test]
fn directory_in_reach_of_the_agent_is_refused() {
    let fixture = WorkspaceFixture::new();
    for inside in ["ws/build", "config/build", "state/build"] {
        let path = fixture.path_beside(inside).display().to_string();
        let envelope = fixture.failed_start(&["--build-dir", &path]);
        assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE");
        let message = envelope["human_message"].as_str().unwrap();
        assert!(message.contains("--build-dir"), "{message}");
    }
}
