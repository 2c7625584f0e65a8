//! Tests of what counts as a secret. Tokens are assembled at run time so that no scanner reports this
//! file.

use super::*;
use proptest::prelude::*;

fn body(count: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(count).collect()
}

fn pem(label: &str) -> String {
    let line = body(64);
    format!("-----BEGIN {label}-----\n{line}\n{line}==\n-----END {label}-----")
}

/// Returns one secret of every known shape with its kind.
fn secrets() -> Vec<(String, SecretKind)> {
    let of = |prefix: &str, count: usize| format!("{prefix}{}", body(count));
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
fn known_shape_is_found_whole_in_any_surroundings() {
    for (secret, kind) in secrets() {
        for (before, after) in [
            ("", ""),
            ("key = \"", "\";\n"),
            ("see ", ", there"),
            ("ä", "ä"),
            ("x\\n", "\\n"),
        ] {
            let text = format!("{before}{secret}{after}");
            let expected = SecretMatch {
                range: before.len()..before.len() + secret.len(),
                kind,
            };
            assert_eq!(find(&text), [expected], "{text:?}");
            assert!(kind.is_certain());
            assert_eq!(redact(&text), format!("{before}[redacted:{kind}]{after}"));
        }
    }
}

#[test]
fn assigned_secret_of_known_shape_keeps_its_kind() {
    for (secret, kind) in secrets() {
        for text in [
            format!("TOKEN={secret}"),
            format!("\"api_key\": \"{secret}\""),
            format!("password: 'x/{secret}'"),
        ] {
            let secrets = find(&text);
            assert!(
                secrets.iter().any(|secret| secret.kind == kind),
                "{text:?}: {secrets:?}"
            );
            assert!(!redact(&text).contains(&secret), "{text:?}");
        }
    }
}

#[test]
fn assigned_value_is_redacted_but_not_certain() {
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
    for (text, expected) in cases {
        assert_eq!(redact(text), expected);
        assert!(
            find(text).iter().all(|secret| !secret.kind.is_certain()),
            "{text}"
        );
    }
}

#[test]
fn similar_text_is_not_a_secret() {
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

/// Reads a megabyte of beginnings without an end. Quadratic work would not end in time.
#[test]
fn unterminated_secrets_are_read_in_linear_time() {
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

/// Returns texts of secrets and separators in random order.
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
    fn redaction_is_idempotent(text in pieces()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn secrets_are_in_order_and_absent_after_redaction(text in pieces()) {
        let secrets = find(&text);
        let mut done = 0;
        let mut expected = String::new();
        for SecretMatch { range, kind } in &secrets {
            prop_assert!(range.start >= done && range.end > range.start);
            expected += &text[done..range.start];
            expected += &format!("[redacted:{}]", kind.name());
            done = range.end;
        }
        expected += &text[done..];
        prop_assert_eq!(redact(&text), expected);
        prop_assert_eq!(secrets.is_empty(), matches!(redact(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn hexadecimal_and_base64_are_not_secrets(hex in "[0-9a-f]{1,128}", base64 in "[A-Z]{3}[A-Za-z0-9+/]{1,200}={0,2}") {
        prop_assert_eq!(find(&hex), []);
        prop_assume!(!base64.contains("AIza") && !base64.contains("KIA") && !base64.contains("SIA"));
        prop_assert_eq!(find(&base64), []);
    }
}
