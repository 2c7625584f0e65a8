//! Compatibility with OpenSSH: it reads our keys, checks our signatures, and we check its.

use super::*;
use ssh_key::rand_core::OsRng;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs ssh-keygen. Returns `None`, and skips the test, if it is not installed.
fn ssh_keygen(dir: &Path, args: &[&str], input: &[u8]) -> Option<Output> {
    let mut command = Command::new("ssh-keygen");
    command.args(args).current_dir(dir).env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.stderr(Stdio::piped()).spawn() else {
        candor_testkit::skip("ssh-keygen was not found");
        return None;
    };
    // It may end without reading everything.
    child.stdin.take().unwrap().write_all(input).ok();
    Some(child.wait_with_output().unwrap())
}

fn armored(signed: &SignedStatement<Approval>) -> String {
    let file: serde_json::Value = serde_json::from_str(&signed.to_file()).unwrap();
    file["signature"].as_str().unwrap().to_owned()
}

#[test]
fn ssh_keygen_verifies_an_approval() {
    let dir = tempfile::tempdir().unwrap();
    let signed = sign_approval(&key(1), approval("anna")).unwrap();
    let approvers = approver_line("anna", key(1).public_key());
    fs::write(dir.path().join("approvers"), approvers).unwrap();
    fs::write(dir.path().join("signature"), armored(&signed)).unwrap();
    let mut message = SignedStatement::message(signed.statement());
    let verify = |message: &[u8], namespace: &str| {
        let args = [
            "-Y",
            "verify",
            "-f",
            "approvers",
            "-I",
            "anna",
            "-n",
            namespace,
        ];
        let args = [&args[..], &["-s", "signature"]].concat();
        let output = ssh_keygen(dir.path(), &args, message)?;
        Some(output.status.success())
    };
    let Some(good) = verify(&message, NAMESPACE) else {
        return;
    };
    assert!(good);
    assert_eq!(verify(&message, "file"), Some(false));
    message.push(b'\n');
    assert_eq!(verify(&message, NAMESPACE), Some(false));
}

#[test]
fn ssh_keygen_reads_our_key_file() {
    let dir = tempfile::tempdir().unwrap();
    let approver_key = ApproverKey::generate(&mut OsRng, "anna").unwrap();
    let path = dir.path().join("key");
    fs::write(
        &path,
        approver_key.to_file(&mut OsRng, b"open sesame").unwrap(),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let args = ["-y", "-P", "open sesame", "-f", "key"];
    let Some(output) = ssh_keygen(dir.path(), &args, b"") else {
        return;
    };
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.trim_end(), approver_key.public_line());
    let listed = ssh_keygen(dir.path(), &["-l", "-f", "key"], b"").unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains(&approver_key.key_id().to_string()),
        "{listed}"
    );
}

#[test]
fn signatures_of_ssh_keygen_verify() {
    let dir = tempfile::tempdir().unwrap();
    for (name, kind, bits) in [
        ("ed", "ed25519", "256"),
        ("ec", "ecdsa", "256"),
        ("rsa", "rsa", "2048"),
    ] {
        let args = ["-q", "-t", kind, "-b", bits, "-N", "", "-f", name];
        let Some(output) = ssh_keygen(dir.path(), &args, b"") else {
            return;
        };
        assert!(output.status.success(), "{output:?}");
        let statement = approval("anna");
        let message = SignedStatement::message(&statement);
        let args = ["-Y", "sign", "-f", name, "-n", NAMESPACE];
        let signature = ssh_keygen(dir.path(), &args, &message).unwrap();
        let signature = String::from_utf8(signature.stdout).unwrap();
        let signed = SignedStatement::with_signature(statement.clone(), &signature).unwrap();
        assert_eq!(
            SignedStatement::read(signed.to_file().as_bytes()),
            Ok(signed.clone())
        );

        let public = fs::read_to_string(dir.path().join(format!("{name}.pub"))).unwrap();
        let signers = Signers::parse(&format!("anna {public}")).unwrap();
        let standing = signers.standing("anna", signed.public_key(), &[]);
        assert_eq!(standing, SignerTrust::Trusted, "{kind}");

        let args = ["-Y", "sign", "-f", name, "-n", "file"];
        let other = ssh_keygen(dir.path(), &args, &message).unwrap();
        let other = String::from_utf8(other.stdout).unwrap();
        let refused = SignedStatement::with_signature(statement, &other);
        assert_eq!(refused, Err(SignedError::BadSignature));
    }
}

#[test]
fn only_an_ed25519_key_signs_in_this_process() {
    let dir = tempfile::tempdir().unwrap();
    for (name, kind, bits) in [
        ("ed", "ed25519", "256"),
        ("ec", "ecdsa", "256"),
        ("rsa", "rsa", "2048"),
    ] {
        let args = ["-q", "-t", kind, "-b", bits, "-N", "pass", "-f", name];
        if ssh_keygen(dir.path(), &args, b"").is_none() {
            return;
        }
        let text = fs::read_to_string(dir.path().join(name)).unwrap();
        let approver_key = ApproverKey::from_file(&text, Some(b"pass"));
        match approver_key.and_then(|approver_key| sign_approval(&approver_key, approval("anna"))) {
            Ok(signed) => {
                assert!(SignedStatement::<Approval>::read(signed.to_file().as_bytes()).is_ok())
            }
            Err(KeyError::NotEd25519 { is_encrypted, .. }) => {
                assert!(is_encrypted && kind != "ed25519");
            }
            Err(other) => panic!("{kind}: {other}"),
        }
    }
}
