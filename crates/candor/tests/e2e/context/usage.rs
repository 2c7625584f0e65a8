//! A wrong command line: exit code 1, a message for people, and nothing on stdout.

use crate::context::fixture::{ContextFixture, run_command};
use insta::assert_snapshot;

#[test]
fn usage_errors_have_tips() {
    let fixture = ContextFixture::empty();
    let complaint = |arguments: &[&str]| {
        let text = fixture.run_err(1, arguments);
        // Usage errors stay text.
        let json = [arguments, &["--error-format", "json"]].concat();
        if !arguments.is_empty() && arguments[0] != "serve" {
            let also = fixture.run(&json);
            assert_eq!((also.code, also.stdout.as_str()), (1, ""));
            assert_eq!(also.stderr.lines().next(), text.lines().next());
        }
        text
    };
    assert_snapshot!(complaint(&["resolv"]), @r"
    error: unrecognized subcommand 'resolv'

      tip: some similar subcommands exist: 'serve', 'resolve'

    Usage: context [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["resolve", "--cache", "c", "--query", "q"]), @r"
    error: the following required arguments were not provided:
      --budget <TOKENS>

    Usage: context resolve --cache <DIR> --query <TEXT> --budget <TOKENS>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["resolve", "--cache", "c", "--budget", "1"]), @r"
    error: the following required arguments were not provided:
      --query <TEXT>

    Usage: context resolve --cache <DIR> --query <TEXT> --budget <TOKENS>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["resolve", "--query", "q", "--budget", "1"]), @r"
    error: the following required arguments were not provided:
      --cache <DIR>

    Usage: context resolve --cache <DIR> --query <TEXT> --budget <TOKENS>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["resolve", "--cache", "c", "--query", "q", "--budget", "1", "--quick"]), @r"
    error: unexpected argument '--quick' found

    Usage: context resolve --cache <DIR> --query <TEXT> --budget <TOKENS>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["resolve", "--cache", "c", "--query", "q", "--budget", "1", "--format", "yaml"]), @r"
    error: invalid value 'yaml' for '--format <FORMAT>'
      [possible values: json, pretty]

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["build", "--source", "d", "--cache", "c"]), @r"
    error: unexpected argument '--source' found

      tip: a similar argument exists: '--sources'

    Usage: context build --sources <DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["build", "--cache", "c"]), @r"
    error: the following required arguments were not provided:
      --sources <DIR>

    Usage: context build --sources <DIR> --cache <DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["inspect"]), @r"
    error: the following required arguments were not provided:
      --cache <DIR>

    Usage: context inspect --cache <DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["inspect", "--cache", "c", "surplus"]), @r"
    error: unexpected argument 'surplus' found

    Usage: context inspect [OPTIONS] --cache <DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["get", "a b.md"]), @r"
    error: unexpected argument 'a b.md' found

      tip: to name the document, use --id 'a b.md'

    Usage: context get [OPTIONS] --id <ID>

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["list", "--under", "errors"]), @r"
    error: invalid value 'errors' for '--under <PATH/>': a folder ends in `/`; did you mean `errors/`?

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["serve", "--passages"]), @r"
    error: the following required arguments were not provided:
      --root <DIR>

    Usage: context serve --root <DIR> --passages [PATH]...

    For more information, try '--help'.
    ");
    assert_snapshot!(complaint(&["build", "--sources", "d", "--cache", "c", "--include", "["]), @"error: the glob `[` cannot be used: unclosed character class; missing ']'");
}

#[test]
fn unknown_error_format_is_a_usage_error() {
    let fixture = ContextFixture::empty();
    assert_snapshot!(fixture.run_err(1, &["inspect", "--cache", "c", "--error-format", "xml"]), @r"
    error: invalid value 'xml' for '--error-format <FORM>'
      [possible values: text, json]

    For more information, try '--help'.
    ");
}

#[test]
fn invalid_source_date_is_a_usage_error() {
    let fixture = ContextFixture::with_docs();
    let build = [
        "build",
        "--sources",
        "docs",
        "--cache",
        "cache",
        "--error-format",
        "json",
    ];
    for garbage in [
        "",
        "yesterday",
        "1.5",
        "99999999999999999999",
        "9999999999999999",
        " 1",
        "1\u{1b}[31m",
    ] {
        let mut command = fixture.command(&build);
        command.env("SOURCE_DATE_EPOCH", garbage);
        let output = run_command(command);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{garbage}");
        assert_eq!(
            output.stderr,
            format!(
                "error: SOURCE_DATE_EPOCH is `{}`\nhint: it must be a number of seconds since 1970, or not be set\n",
                garbage.escape_debug()
            )
        );
    }
    assert!(!fixture.path("cache").exists());
}
