//! The keys of a file, its errors, and their precedence.

use super::settings::{KnownSettings, TABLES};
use super::*;
use crate::cli::Cli;
use std::fs;
use tempfile::TempDir;

/// Returns the settings and what is wrong, one line for each.
fn check(text: &str) -> (Vec<String>, Vec<String>) {
    check_file(text, 0o600)
}

fn check_file(text: &str, mode: u32) -> (Vec<String>, Vec<String>) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("candor.toml");
    fs::write(&path, text).unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(&path, permissions).unwrap();
    let file = file::read(&path).unwrap();
    let known = KnownSettings::new(&Cli::command());
    let (document, mut problems) = document::parse(&file.text);
    let mut words = Vec::new();
    if let Some(document) = &document {
        let (values, wrong) = values::check(document, &known, &file);
        problems.extend(wrong);
        words = values.into_iter().flat_map(|value| value.words).collect();
    }
    let root = directory.path().to_str().unwrap();
    let words = words.iter().map(|word| word.to_str().unwrap());
    let words = words.map(|word| word.replace(root, "DIR"));
    let problems = problems.iter().map(|problem| {
        let (line, column) = file::position(&file.text, problem.span.start);
        let hint = problem.hint.as_deref().unwrap_or("-");
        format!("{line}:{column} {} | {hint}", problem.message).replace(root, "DIR")
    });
    (words.collect(), problems.collect())
}

fn problems(text: &str) -> Vec<String> {
    check(&format!("version = 1\n{text}")).1
}

#[test]
fn every_flag_has_a_key_and_every_key_is_documented() {
    let known = KnownSettings::new(&Cli::command());
    let mut grammar = Cli::command();
    grammar.build();
    let orders = grammar.find_subcommand("orders").unwrap();
    let serve = orders.find_subcommand("serve").unwrap();
    let flags = serve.get_arguments().filter_map(clap::Arg::get_long);
    let without = ["config", "help", "version"];
    let flags: Vec<_> = flags.filter(|flag| !without.contains(flag)).collect();
    assert!(flags.len() > 30, "{flags:?}");
    let example = documented_example();
    for flag in &flags {
        let key = flag.replace('-', "_");
        let plural = format!("{key}s");
        let found = [Some("orders"), None].iter().find_map(|table| {
            let setting = known.find(*table, &key);
            setting.or_else(|| known.find(*table, &plural))
        });
        let setting = found.unwrap_or_else(|| panic!("--{flag} has no key"));
        assert_eq!(setting.flag, *flag);
        let is_key = |line: &str| {
            let line = line.trim_start_matches("# ");
            line.starts_with(&format!("{} = ", setting.key))
        };
        assert!(example.lines().any(is_key), "docs/orders.md has no `{key}`");
    }
    let keys = known.keys(Some("orders")).chain(known.keys(None));
    assert_eq!(keys.count(), flags.len());
}

/// Returns the example of the guide.
fn documented_example() -> &'static str {
    let page = include_str!("../../../../../docs/orders.md");
    let start = page.find("```toml\n").unwrap() + "```toml\n".len();
    let length = page[start..].find("```").unwrap();
    &page[start..start + length]
}

#[test]
fn documented_example_is_accepted() {
    let example = documented_example();
    assert_eq!(check(example).1, [""; 0]);
    // Each of its comments is a value that would be accepted.
    let is_key = |line: &str| line.starts_with("# ") && line.contains(" = ") && !line.contains(':');
    let is_url = |line: &str| line.contains("://");
    let lines = example
        .lines()
        .map(|line| match is_key(line) || is_url(line) {
            true => line.trim_start_matches("# "),
            false => line,
        });
    let whole: Vec<_> = lines.collect();
    let (words, wrong) = check(&whole.join("\n"));
    assert_eq!(wrong, [""; 0]);
    assert!(words.len() > 30, "{words:?}");
}

#[test]
fn every_table_belongs_to_a_command_that_reads_the_file() {
    let known = KnownSettings::new(&Cli::command());
    for table in TABLES {
        let command = known.command_of(table.name).unwrap();
        assert!(command.get_arguments().any(|flag| flag.get_id() == CONFIG));
    }
}

#[test]
fn values_become_words() {
    let text = r#"
version = 1
log = "debug"
data_dir = "data"
[orders]
port = 0x1F_90
http = true
allow_insecure_backend = false
database = "orders.db"
faulty = "/abs/script.json"
allowed_hosts = ["a", "b"]
allowed_origins = []
compat = "reference"
"#;
    let (mut words, wrong) = check(text);
    words.sort();
    assert_eq!(wrong, [""; 0]);
    assert_eq!(
        words,
        [
            "--allowed-host=a",
            "--allowed-host=b",
            "--compat=reference",
            "--data-dir=DIR/data",
            "--database=DIR/orders.db",
            "--faulty=/abs/script.json",
            "--http",
            "--log=debug",
            "--port=8080",
        ]
    );
    let place = |text: &str| check(&format!("version = 1\n[orders]\ndatabase = {text:?}\n")).0;
    assert_eq!(place("sqlite:o.db"), ["--database=sqlite:DIR/o.db"]);
    assert_eq!(place("postgres://u@h/d"), ["--database=postgres://u@h/d"]);
}

#[test]
fn everything_that_is_wrong_is_reported() {
    for (text, expected) in [
        (
            "[orders]\nprot = 1",
            "3:1 unknown key `prot` in [orders] | did you mean `port`?",
        ),
        (
            "[orders]\nlog = 'info'",
            "3:1 unknown key `log` in [orders] | `log` is set at the top of the file, before the first table",
        ),
        (
            "port = 5",
            "2:1 unknown key `port` at the top of the file | `port` is set in [orders]",
        ),
        (
            "[ordres]\nx = 1",
            "2:2 unknown table [ordres] | did you mean [orders]?",
        ),
        ("[orders.x]", "2:9 unknown table [orders.x] | -"),
        (
            "orders = 3",
            "2:1 [orders] must be a table, but is a whole number | -",
        ),
        (
            "[[orders]]\nport = 1",
            "2:3 [orders] must be a table, but is an array | -",
        ),
        (
            "[orders]\nport = '5'",
            "3:8 `port` in [orders] must be a whole number, but is a string | -",
        ),
        (
            "[orders]\nport = 1.5",
            "3:8 `port` in [orders] must be a whole number, but is a number with a fraction | -",
        ),
        (
            "[orders]\nport = 70000",
            "3:8 `port` in [orders] must be from 0 to 65535, but is 70000 | -",
        ),
        (
            "[orders]\nport = -1",
            "3:8 `port` in [orders] must be from 0 to 65535, but is -1 | -",
        ),
        (
            "[orders]\nhttp = 1",
            "3:8 `http` in [orders] must be true or false, but is a whole number | -",
        ),
        (
            "[orders]\nadapter = 'sqk'",
            "3:11 `adapter` in [orders] must be `sql` or `http`, but is `sqk` | did you mean `sql`?",
        ),
        (
            "[orders]\nallowed_hosts = 'x'",
            "3:17 `allowed_hosts` in [orders] must be an array, but is a string | -",
        ),
        (
            "[orders]\nallowed_host = ['x']",
            "3:1 unknown key `allowed_host` in [orders] | did you mean `allowed_hosts`?",
        ),
        (
            "[orders]\nclients = ''",
            "3:11 `clients` in [orders] must not be empty, but is `` | -",
        ),
        (
            "[orders]\nconfig = 'x'",
            "3:1 unknown key `config` in [orders] | -",
        ),
        (
            "[orders]\nbind = 'näh'",
            "3:8 `bind` in [orders] is not valid (invalid IP address syntax), but is `näh` | -",
        ),
        (
            "[orders]\nallowed_hosts = ['x', 5]",
            "3:23 an item of `allowed_hosts` in [orders] must be a string, but is a whole number | -",
        ),
        (
            "verison = 1",
            "2:1 unknown key `verison` at the top of the file | did you mean `version`?",
        ),
        (
            "[orders]\ndeadline_ms = 99999999999999999999999999999999999999999",
            "3:15 `deadline_ms` in [orders] is not valid (number too large to fit in target type), but is 99999999999999999999999999999999999999999 | -",
        ),
        (
            "[orders]\nport = 1\nport = 2",
            "4:1 the key `port` is set twice | -",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text}");
    }
    let several = problems("a = 1\n[orders]\nallowed_hosts = [1, 'x', true]\nport = 'x'");
    assert_eq!(several.len(), 4, "{several:?}");
}

#[test]
fn version_is_needed() {
    let hint = "the first line of the file is `version = 1`";
    for (text, expected) in [
        ("", "1:1 `version` is missing"),
        ("version = 2", "1:11 `version` must be 1, but is 2"),
        ("version = '1'", "1:11 `version` must be 1, but is a string"),
    ] {
        assert_eq!(check(text).1, [format!("{expected} | {hint}")]);
    }
}

#[test]
fn syntax_errors_have_their_place() {
    let several = problems("log = \n[orders]\nport = 87x\n= 5\n");
    assert!(several.len() >= 3, "{several:?}");
    for (problem, place) in several.iter().zip(["2:7 ", "4:", "5:1 "]) {
        assert!(problem.starts_with(place), "{problem}");
        assert!(problem.contains("this is not TOML"), "{problem}");
    }
}

#[test]
fn password_needs_a_private_file() {
    let text = "version = 1\n[orders]\ndatabase = \"postgres://u:canary@h/d\"\n";
    assert_eq!(check_file(text, 0o600).1, [""; 0]);
    for mode in [0o640, 0o604] {
        let (_, wrong) = check_file(text, mode);
        let expected = "3:12 `database` in [orders] contains a password, and other users may read this file | to let only its owner read the file, run:\n  chmod 600 DIR/candor.toml";
        assert_eq!(wrong, [expected]);
    }
    let without = text.replace(":canary", "");
    assert_eq!(check_file(&without, 0o644).1, [""; 0]);
}

#[test]
fn bounds_are_kept() {
    let nested = |levels: usize| format!("x = {}1{}", "[".repeat(levels), "]".repeat(levels));
    let too_deep = "tables and arrays have more than 32 levels";
    assert!(!problems(&nested(31))[0].contains(too_deep));
    for levels in [32, 79, 1_000, 400_000] {
        let found = problems(&nested(levels));
        assert!(
            found.iter().any(|problem| problem.contains(too_deep)),
            "{levels}"
        );
    }
    let dotted = format!("{}a = 1", "a.".repeat(400_000));
    assert!(problems(&dotted)[0].contains(too_deep));
    let keys = |count: usize| {
        let keys = (0..count).map(|number| format!("k{number} = 1\n"));
        problems(&keys.collect::<String>())
    };
    assert_eq!(keys(MAX_CONFIG_KEYS - 1).len(), MAX_CONFIG_KEYS - 1);
    let found = keys(MAX_CONFIG_KEYS);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("more than 4096 keys"), "{found:?}");
}
