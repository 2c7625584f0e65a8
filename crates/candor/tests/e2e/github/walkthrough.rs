//! The whole loop in the guide has the answers that the guide shows.

use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use serde_json::Value;
use std::collections::BTreeMap;

const GUIDE: &str = include_str!("../../../../../docs/github.md");

/// Returns the lines of all blocks `calls`.
fn lines() -> Vec<&'static str> {
    let blocks = GUIDE.split("```calls\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).collect()
}

#[test]
fn whole_loop_of_the_guide_works() {
    let fixture = GithubFixture::new();
    fixture.write(
        "build.log",
        "compiling\nerror: src/goodbye.txt has no test\n",
    );
    let flags = ["--allow-writes", "--toolsets", "default,pull_requests"];
    let mut server = fixture.stdio(&flags);
    let (mut answer, mut kept) = (Value::Null, BTreeMap::<&str, String>::new());
    let lines = lines();
    for (number, line) in lines.iter().enumerate() {
        let (sign, rest) = line.split_once(' ').unwrap();
        let fill = |text: &str| {
            let fill = |text: String, (name, value): (&&str, &String)| {
                text.replace(&format!("${name}"), value)
            };
            kept.iter().fold(text.to_owned(), fill)
        };
        match sign {
            ">" => {
                let (tool, arguments) = rest.split_once(' ').unwrap();
                let arguments = serde_json::from_str(&fill(arguments)).unwrap();
                let is_refused = lines
                    .get(number + 1)
                    .is_some_and(|next| next.starts_with("! "));
                answer = match is_refused {
                    true => server.call_err(tool, arguments),
                    false => server.call_ok(tool, arguments),
                };
            }
            "~" | "!" => {
                let (shown, part) = (answer.to_string(), fill(rest));
                assert!(shown.contains(&part), "{line}: {shown}");
            }
            "$" => {
                let command = fill(rest);
                let words = command.strip_prefix("candor github ").unwrap();
                fixture.run_ok(&words.split(' ').collect::<Vec<_>>());
            }
            name => {
                let value = answer.pointer(rest.strip_prefix("= ").unwrap()).unwrap();
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                kept.insert(name, value);
            }
        }
    }
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("> ")).count(),
        15
    );
}
