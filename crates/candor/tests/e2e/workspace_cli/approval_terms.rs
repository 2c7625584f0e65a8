//! The terms of an approval, which a person sees before the question.

use crate::fixture::{CANDOR, LIMIT};
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use crate::workspace_cli::terminal::run_at_terminal;
use candor_testkit::{Exit, Process};
use serde_json::json;

/// Contains a commit, and a key without a passphrase.
fn fixture() -> OwnerFixture {
    let fixture = OwnerFixture::empty();
    fixture.write("ws/.github/workflows/ci.yml", "on: push\n");
    fixture.commit("ws", "one");
    fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    fixture
}

/// Returns the part of an output before a question.
fn before<'o>(output: &'o str, question: &str) -> &'o str {
    let position = output.find(question);
    &output[..position.unwrap_or_else(|| panic!("no {question:?} in {output}"))]
}

#[test]
fn p16_allow_shows_its_terms_before_the_question() {
    let fixture = fixture();
    let root = fixture.git("ws", &["rev-parse", "HEAD"]);
    let command = "allow 'src/**' '.github/workflows/*' --for 4h --verify 'make test' --writable src --writable out --network";
    let (output, succeeded) = run_at_terminal(&fixture, command, &[("Sign it? [y/N] ", "n")]);
    assert!(succeeded, "{output}");
    let shown = before(&output, "Sign it?");
    for line in [
        "  executed   .github/workflows/*\n",
        "             (1 file now)\n               .github/workflows/ci.yml\n",
        "  runs       make test\n",
        "  writable   1 tracked file in src\n             no tracked file in out\n",
        "  network    every public host, on every port\n",
        "  bound to   this path: BASE/ws\n",
        &format!("             and this repository: {}\n", &root[..12]),
        "  until      UNTIL\n             4 hours from now\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let bound = "--bind repository --for 1d --verify true";
    let command = format!("allow 'src/**' {bound}");
    let (output, _) = run_at_terminal(&fixture, &command, &[("Sign it? [y/N] ", "n")]);
    let shown = before(&output, "Sign it?");
    let clones = format!(
        "  bound to   every clone of this repository: {}\n  until      UNTIL\n             1 day from now\n",
        &root[..12]
    );
    assert!(shown.contains(&clones), "{shown}");
    assert!(shown.contains("  network    none\n"), "{shown}");
}

#[tokio::test]
async fn p16_review_and_approve_show_the_terms_before_the_question() {
    let fixture = fixture();
    let planner = Agent::planner(&fixture).await;
    let phase = json!({
        "id": "A",
        "allow": ["src/**"],
        "operations": ["modify"],
        "verify": [["true"]],
        "writable": ["src"],
    });
    let plan = json!({ "title": "One", "objective": "o", "phase": [phase] });
    planner.call_ok("save_plan", json!({ "plan": plan })).await;
    planner.end().await;
    for command in ["review --for 30m", "approve --for 30m"] {
        let question = "Approve it? [y/N] ";
        let (output, succeeded) = run_at_terminal(&fixture, command, &[(question, "n")]);
        assert!(succeeded, "{output}");
        let shown = before(&output, question);
        for line in [
            "  writable   1 tracked file in src\n",
            "  network    none\n",
            "  bound to   this path: BASE/ws\n             and this repository: ",
            "  until      UNTIL\n             30 minutes from now\n",
        ] {
            assert!(shown.contains(line), "{line:?} is not in {shown}");
        }
    }
}

#[test]
fn p16_end_is_shown_in_local_time_and_in_utc_and_signed_as_shown() {
    let fixture = fixture();
    let shown = |zone: &str| {
        let arguments = ["workspace", "allow", "src/**", "--for", "4h", "--yes"];
        let mut command = fixture.command(CANDOR, &arguments);
        command.env("TZ", zone);
        let ended = Process::run(command, LIMIT);
        assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
        let output = String::from_utf8(ended.stdout).unwrap();
        let until = output
            .lines()
            .find_map(|line| line.strip_prefix("  until      "));
        let signed = output.lines().last().unwrap().rsplit(' ').next().unwrap();
        (until.unwrap().to_owned(), signed.to_owned())
    };
    for (zone, offset, hours) in [("<+0530>-5:30", "+05:30", 5), ("UTC0", "+00:00", 0)] {
        let (until, signed) = shown(zone);
        // 2026-11-17 11:30:00 +05:30 (2026-11-17 06:00:00 UTC)
        let (local, utc) = until.split_once(" (").unwrap();
        assert!(local.ends_with(&format!(" {offset}")), "{until}");
        let utc = utc.strip_suffix(" UTC)").unwrap();
        assert_eq!(&signed[..19], utc.replace(' ', "T"), "{signed}");
        let hour = |text: &str| text[11..13].parse::<u32>().unwrap();
        let minutes = |text: &str| text[14..16].parse::<u32>().unwrap();
        let minutes = |text: &str| hour(text) * 60 + minutes(text);
        let half = if hours == 0 { 0 } else { 30 };
        let expected = (minutes(utc) + hours * 60 + half) % (24 * 60);
        assert_eq!(minutes(local), expected, "{until}");
    }
    // Without a usable zone only UTC is shown.
    let (until, signed) = shown("No/Such Zone");
    assert_eq!(until, format!("{} UTC", signed[..19].replace('T', " ")));
}
