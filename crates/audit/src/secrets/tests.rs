//! What is a secret and what is not. Tokens are put together here, so that no scanner finds one in this
//! file.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn body(count: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(count).collect()
}

fn pem(label: &str) -> String {
    let line = body(64);
    format!("-----BEGIN {label}-----\n{line}\n{line}==\n-----END {label}-----")
}

/// Every shape alone, with its kind.
fn secrets() -> Vec<(String, SecretKind)> {
    let of = |begins: &str, count: usize| format!("{begins}{}", body(count));
    let upper = body(16).to_uppercase();
    let jwt = format!("eyJ{}.eyJ{}.{}", body(20), body(40), body(43));
    vec![
        (of("ghp_", 36), SecretKind::Github),
        (of("gho_", 36), SecretKind::Github),
        (of("ghs_", 36), SecretKind::Github),
        (of("github_pat_", 22) + "_" + &body(59), SecretKind::Github),
        (of("glpat-", 20), SecretKind::Gitlab),
        (format!("AKIA{upper}"), SecretKind::Aws),
        (format!("ASIA{upper}"), SecretKind::Aws),
        (of("xoxb-", 12) + "-" + &body(24), SecretKind::Slack),
        (of("AIza", 35), SecretKind::Google),
        (of("sk-", 48), SecretKind::ModelProvider),
        (of("sk-proj-", 40), SecretKind::ModelProvider),
        (of("sk-ant-api03-", 90) + "-AA", SecretKind::ModelProvider),
        (of("npm_", 36), SecretKind::Npm),
        (of("pypi-AgEI", 120), SecretKind::Pypi),
        (of("sk_live_", 24), SecretKind::Stripe),
        (of("rk_live_", 24), SecretKind::Stripe),
        (jwt, SecretKind::Jwt),
        (pem("PRIVATE KEY"), SecretKind::PrivateKey),
        (pem("RSA PRIVATE KEY"), SecretKind::PrivateKey),
        (pem("OPENSSH PRIVATE KEY"), SecretKind::PrivateKey),
        (pem("PGP PRIVATE KEY BLOCK"), SecretKind::PrivateKey),
        (
            pem("PRIVATE KEY").replace('\n', "\\n"),
            SecretKind::PrivateKey,
        ),
    ]
}

#[test]
fn every_shape_is_found_whole_wherever_it_stands() {
    for (secret, kind) in secrets() {
        for (before, after) in [
            ("", ""),
            ("key = \"", "\";\n"),
            ("see ", ", there"),
            ("ä", "ä"),
            ("x\\n", "\\n"),
        ] {
            let text = format!("{before}{secret}{after}");
            let wanted = Found {
                range: before.len()..before.len() + secret.len(),
                kind,
            };
            assert_eq!(find(&text), [wanted], "{text:?}");
            assert!(kind.is_certain());
            assert_eq!(redact(&text), format!("{before}[redacted:{kind}]{after}"));
        }
    }
}

#[test]
fn a_secret_under_a_name_keeps_its_own_kind() {
    for (secret, kind) in secrets() {
        for text in [
            format!("TOKEN={secret}"),
            format!("\"api_key\": \"{secret}\""),
            format!("password: 'x/{secret}'"),
        ] {
            let found = find(&text);
            assert!(
                found.iter().any(|found| found.kind == kind),
                "{text:?}: {found:?}"
            );
            assert!(!redact(&text).contains(&secret), "{text:?}");
        }
    }
}

#[test]
fn what_is_assigned_or_sent_is_redacted_but_not_certain() {
    let aws = format!("aws_secret_access_key = {}", body(40));
    assert_eq!(redact(&aws), "aws_secret_access_key = [redacted:AWS_KEY]");
    let cases = [
        ("password=hunter2", "password=[redacted:ASSIGNED]"),
        (
            "DB_PASSWORD=correcthorse\n",
            "DB_PASSWORD=[redacted:ASSIGNED]\n",
        ),
        ("token: abc123def456", "token: [redacted:ASSIGNED]"),
        (
            "\"clientSecret\": \"abcdefgh\",",
            "\"clientSecret\": \"[redacted:ASSIGNED]\",",
        ),
        (
            "{\\\"password\\\":\\\"s3cr3t!\\\"}",
            "{\\\"password\\\":\\\"[redacted:ASSIGNED]\\\"}",
        ),
        ("api-key = 'über-geheim'", "api-key = '[redacted:ASSIGNED]'"),
        (
            "'secret' => 'abcdefgh'",
            "'secret' => '[redacted:ASSIGNED]'",
        ),
        ("?token=abcdef1&x=1", "?token=[redacted:ASSIGNED]&x=1"),
        (
            "Authorization: Bearer abcdefghijklmnop1",
            "Authorization: Bearer [redacted:BEARER]",
        ),
        (
            "postgres://me:pass:w@rd@host/db",
            "postgres://me:[redacted:URL_PASSWORD]@host/db",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(redact(text), wanted);
        assert!(
            find(text).iter().all(|found| !found.kind.is_certain()),
            "{text}"
        );
    }
}

#[test]
fn what_only_looks_a_little_like_one_stays() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let image = format!(
        "data:image/png;base64,iVBORw0KGgo{}+/{}==",
        body(300),
        body(300)
    );
    let texts = [
        hash,
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        image.as_str(),
        "struct sk_buff *skb; sk_live_count; npm_config_registry; task-manager",
        "sk-loading-spinner-container-number-1 { color: red }",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and ghp_TOKEN",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "https://example.com:8080/a@b?c=d and git@github.com:o/r.git",
        "https://user:${PASSWORD}@host and https://{user}:{password}@host",
        "let token = lexer.next(); let secret = read_secret()?; password: String,",
        "token: \"expected an identifier\", max_tokens: 4096, token == other1",
        "password = \"<your password>\" and password=\"${PASSWORD}\"",
        "the bearer of bad news brings nothing; Bearer token",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "AKIA is a prefix, AKIAshort, and AKIA1234567890123456789",
    ];
    for text in texts {
        assert_eq!(find(text), [], "{text:?}");
        assert!(matches!(redact(text), Cow::Borrowed(_)));
    }
}

#[test]
fn json_is_redacted_by_text_and_by_name() {
    let (token, _) = secrets().remove(0);
    let mut value = json!({
        "password": "abcdefgh", "token": "two words", "secret": 7, "note": format!("use {token}"),
        "list": [{ "apiKey": "abcdefgh" }, "plain"], "nested": { "token": ["kept"] }
    });
    redact_value(&mut value);
    let wanted = json!({
        "password": "[redacted:ASSIGNED]", "token": "two words", "secret": 7, "note": "use [redacted:GITHUB_TOKEN]",
        "list": [{ "apiKey": "[redacted:ASSIGNED]" }, "plain"], "nested": { "token": ["kept"] }
    });
    assert_eq!(value.to_string(), wanted.to_string());
    let once = value.clone();
    redact_value(&mut value);
    assert_eq!(value, once);
}

/// A megabyte of beginnings without an end; quadratic work would not come back.
#[test]
fn beginnings_without_an_end_cost_no_more_than_their_length() {
    for piece in [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "eyJ-",
        "eyJa.",
        "eyJaaaaaaa.eyJ",
        "sk-",
        "sk-a",
        "ghp_",
        "Bearer ",
        "://",
        "://a:",
        "token=",
        "token=\"",
        "token:'",
        "password=\\\"",
        "hooks.slack.com/services/",
        "=",
        "-",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        find(&text);
    }
}

/// Pieces that meet in all ways.
fn pieces() -> impl Strategy<Value = String> {
    let shapes: Vec<String> = secrets().into_iter().map(|(secret, _)| secret).collect();
    let glue = [
        " ",
        "\n",
        "=",
        ":",
        "\"",
        "'",
        "\\",
        "_",
        "-",
        ".",
        "/",
        "@",
        "a",
        "1",
        "ä",
        "]",
        "[redacted:",
        "password=",
        "token: ",
        "api_key\": \"",
        "Bearer ",
        "://u:",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "sk-",
        "hunter2",
        "(",
        ";",
    ];
    let piece = prop_oneof![3 => prop::sample::select(glue.to_vec()).prop_map(String::from), 1 => prop::sample::select(shapes)];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_was_redacted_once_stays_as_it_is(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn what_is_found_is_in_order_and_gone_afterwards(text in pieces()) {
        let found = find(&text);
        let mut done = 0;
        let mut wanted = String::new();
        for Found { range, kind } in &found {
            prop_assert!(range.start >= done && range.end > range.start);
            wanted += &text[done..range.start];
            wanted += &format!("[redacted:{}]", kind.name());
            done = range.end;
        }
        wanted += &text[done..];
        prop_assert_eq!(redact(&text), wanted);
        prop_assert_eq!(found.is_empty(), matches!(redact(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn hexadecimal_and_base64_are_no_secrets(hex in "[0-9a-f]{1,128}", base64 in "[A-Z]{3}[A-Za-z0-9+/]{1,200}={0,2}") {
        prop_assert_eq!(find(&hex), []);
        prop_assume!(!base64.contains("AIza") && !base64.contains("KIA") && !base64.contains("SIA"));
        prop_assert_eq!(find(&base64), []);
    }
}
