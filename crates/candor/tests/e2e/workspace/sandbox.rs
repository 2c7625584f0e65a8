//! Hostile commands of plans, run through the program. Each test is named after its row in the table of defects.

use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::{lacks_sandbox, without_namespaces};
use crate::workspace::requests::AgentClient;
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

/// Runs a shell script as the command of an approved plan. Returns its output.
fn run(
    fixture: &WorkspaceFixture,
    client: &mut AgentClient,
    script: &str,
    network: bool,
) -> String {
    let mut phase = json!({
        "allow": ["src/**"],
        "verify": [["bash", "-c", format!("({script}) 2>&1; true")]],
    });
    if network {
        phase["network"] = json!(true);
    }
    let plan = fixture.allow_phase(phase);
    let answer = client.call_ok("run_preflight", json!({ "plan_hash": plan }));
    let output = &answer["preflight"][0]["output_tail"];
    output.as_str().unwrap().to_owned()
}

/// Changes limits and priorities of a process, each with one line of output.
fn attack_on_process(pid: u32) -> String {
    [
        format!("prlimit --pid {pid} --fsize=0"),
        format!("renice -n 19 -p {pid}"),
        format!("ionice -c 3 -p {pid}"),
        format!("chrt --batch -p 0 {pid}"),
        format!("taskset -p 1 {pid}"),
        format!("kill -9 {pid}"),
    ]
    .map(|attempt| format!("{attempt} && echo DONE"))
    .join("; ")
}

#[test]
fn p2_command_cannot_limit_or_reschedule_the_server() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let script = attack_on_process(client.server.process().pid());
    let output = run(&fixture, &mut client, &script, false);
    assert_eq!(output.matches("No such process").count(), 6, "{output}");
    assert!(!output.contains("DONE"), "{output}");
    fixture.verify();

    without_namespaces(|| {
        let mut client = fixture.executor(&["--sandbox", "landlock"]);
        let script = attack_on_process(client.server.process().pid());
        let output = run(&fixture, &mut client, &script, false);
        assert_eq!(output.matches("not permitted").count(), 6, "{output}");
        assert!(!output.contains("DONE"), "{output}");
    });
}

#[test]
fn p3_command_cannot_change_modes() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    fixture.write("src/tool.sh", "#!/bin/sh\n");
    let key = fixture.path_beside("config/approver.key");
    fs::write(&key, "key").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mut client = fixture.executor(&[]);
    let mut paths = vec![
        fixture.path("audit-log.jsonl"),
        fixture.path("src/a.txt"),
        fixture.path("src/tool.sh"),
        fixture.path("src"),
        fixture.root(),
        key,
        fixture.path_beside("config/approvers"),
        fixture.path_beside("state"),
        fixture.state(),
    ];
    let in_state = fs::read_dir(fixture.state()).unwrap();
    paths.extend(in_state.map(|entry| entry.unwrap().path()));
    let modes = || -> Vec<u32> {
        let mode = |path| fs::metadata(path).unwrap().mode();
        paths.iter().map(mode).collect()
    };
    let before = modes();
    let attempts = paths.iter().map(|path| {
        let path = path.display();
        format!("for mode in 666 4755 0; do chmod $mode '{path}' && echo DONE; done")
    });
    let script = attempts.collect::<Vec<_>>().join("; ");
    let output = run(&fixture, &mut client, &script, false);
    assert!(!output.contains("DONE"), "{output}");
    assert_eq!(modes(), before);
    assert!(output.contains("Read-only file system"), "{output}");
}

/// Returns the ids of the System V segments of the machine.
fn segments() -> String {
    let list = Command::new("ipcs").args(["-m"]).output().unwrap();
    String::from_utf8(list.stdout).unwrap()
}

#[test]
fn p4_command_shares_no_memory_with_others_and_leaves_none() {
    if lacks_sandbox() {
        return;
    }
    let made = Command::new("ipcmk").args(["-M", "4096"]).output().unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    let id = made.rsplit(' ').next().unwrap().trim();
    let fixture = WorkspaceFixture::new();
    let script = format!(
        "ipcs -m -i {id}; ipcs -m | grep -c 0x; ipcmk -M 268435456 && ipcs -m | grep -c 268435456"
    );
    let mut client = fixture.executor(&[]);
    let output = run(&fixture, &mut client, &script, false);
    assert!(
        output.contains("\n0\n") && output.ends_with("\n1\n"),
        "{output}"
    );
    assert!(!segments().contains("268435456"));

    without_namespaces(|| {
        let mut client = fixture.executor(&["--sandbox", "landlock"]);
        let output = run(
            &fixture,
            &mut client,
            "ipcmk -M 268435456 || echo none",
            false,
        );
        assert!(output.ends_with("none\n"), "{output}");
        assert!(!segments().contains("268435456"));
    });
    let removed = Command::new("ipcrm").args(["-m", id]).status().unwrap();
    assert!(removed.success());
}

#[test]
fn p5_granted_network_does_not_reach_this_machine() {
    if lacks_sandbox() {
        return;
    }
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let script = format!(
        "exec 4<>/dev/tcp/127.0.0.1/{port} && echo REACHED; \
         for host in 127.0.0.1 localhost 2130706433 '[::ffff:127.0.0.1]' 169.254.169.254; do \
         exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}; \
         printf 'CONNECT %s:{port} HTTP/1.1\\r\\n\\r\\n' $host >&3; head -1 <&3; exec 3>&-; done"
    );
    let output = run(&fixture, &mut client, &script, true);
    assert_eq!(
        output.matches("HTTP/1.1 403 Forbidden").count(),
        5,
        "{output}"
    );
    assert!(!output.contains("REACHED"), "{output}");
    // Nobody connected.
    service.set_nonblocking(true).unwrap();
    assert!(service.accept().is_err());

    // At the lower level the network is the machine's, as the documents say.
    without_namespaces(|| {
        service.set_nonblocking(false).unwrap();
        let mut client = fixture.executor(&["--sandbox", "landlock"]);
        let script = format!("exec 4<>/dev/tcp/127.0.0.1/{port} && cat <&4");
        std::thread::scope(|scope| {
            scope.spawn(|| service.accept().unwrap().0.write_all(b"REACHED").unwrap());
            let output = run(&fixture, &mut client, &script, true);
            assert_eq!(output, "REACHED");
        });
    });
}

/// A machine that offers less than the server accepts runs nothing, and the answer names what is missing.
#[test]
fn p13_command_sees_no_process_but_its_own() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let script = r#"cat /proc/[0-9]*/cmdline | tr "\0" " "; echo; ls -d /proc/[0-9]* | wc -l"#;
    let output = run(&fixture, &mut client, script, false);
    for theirs in ["serve", "--role", "e2e", "--state-dir"] {
        assert!(!output.contains(theirs), "{output}");
    }
    let count: usize = output.lines().last().unwrap().trim().parse().unwrap();
    assert!((2..=6).contains(&count), "{output}");
}

#[test]
fn p13_empty_path_is_a_wrong_value_as_the_guide_says() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for tool in ["read_file", "write_file"] {
        let failed = client.call_err(tool, json!({ "path": "", "content": "x" }));
        assert_eq!(failed.code(), "INVALID_INPUT_VALUE", "{tool}");
    }
    let guide = include_str!("../../../../../docs/workspace.md");
    assert!(guide.contains("An empty `path` is `INVALID_INPUT_VALUE`"));
    assert!(!guide.contains("a path that is empty"));
}

#[test]
fn weaker_machine_runs_no_command() {
    if lacks_sandbox() {
        return;
    }
    without_namespaces(|| {
        let fixture = WorkspaceFixture::new();
        fixture.write(".gitignore", "/target\n");
        let plan = fixture.allow_phase(json!({
            "allow": ["src/**"],
            "verify": [["touch", "target/ran"]],
            "writable": ["target"],
        }));
        let mut client = fixture.executor(&[]);
        let failed = client.call_err("run_preflight", json!({ "plan_hash": plan }));
        assert_eq!(
            (failed.code(), failed.effect()),
            ("PREFLIGHT_FAILED", "none")
        );
        assert_eq!(
            failed.cause()["sandbox"],
            json!({
                "level": "landlock",
                "missing": [{
                    "part": "user",
                    "why": "making a user namespace failed with EPERM (Operation not permitted)",
                }],
            })
        );
        let message = failed.envelope["human_message"].as_str().unwrap();
        assert!(
            message.contains("candor workspace serve --sandbox landlock"),
            "{message}"
        );
        assert!(!fixture.path("target/ran").exists());

        for flags in [
            &["--sandbox", "landlock"][..],
            &["--allow-unsandboxed-preflight"],
        ] {
            let mut client = fixture.executor(flags);
            client.call_ok("run_preflight", json!({ "plan_hash": plan }));
            assert!(fixture.path("target/ran").exists());
            fs::remove_file(fixture.path("target/ran")).unwrap();
        }
    });
}

/// The server names the level at its start.
#[test]
fn server_announces_its_sandbox() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let announced = || {
        let mut command = fixture.command("executor", &[]);
        command
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut text = String::new();
        let mut stderr = server.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        server.wait().unwrap();
        text
    };
    assert_eq!(announced(), "sandbox: full\n");
    assert_eq!(
        without_namespaces(announced),
        "sandbox: landlock; without user: making a user namespace failed with EPERM (Operation not permitted); commands of plans will not run, because they need full (--sandbox)\n"
    );
}

/// The rest of the output is read and dropped, so that the command does not wait for a reader.
#[test]
fn the_end_of_a_hundred_megabytes_is_kept() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let script = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let output = run(&fixture, &mut client, script, false);
    assert_eq!(output.len(), 8 * 1024);
    assert!(output.ends_with("xxx\nthe end\n"), "{output}");
}

/// Output is text that a terminal can show.
#[test]
fn bytes_that_are_not_text_become_text() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let script = r"printf '\033[2J\377\000\r\nok'";
    let output = run(&fixture, &mut client, script, false);
    assert_eq!(output, "\\u{1b}[2J\u{fffd}\\u{0}\nok");
}
