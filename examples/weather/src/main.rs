//! A whole MCP server: one tool, and two codes of its own.
use candor::{Candor, SimpleServer, Tool, registry, reply, serde_json::Value, serde_json::json};
use std::{process::ExitCode, time::Duration};

registry! { Candor<Code>, "weather";
    UnknownCity { code: "unknown_city", meaning: "No station reports from this city.",
        class: Caller, retry: AfterChange, effect: None, remedy: "Ask for Oslo or Lima." }
    StationOffline { code: "station_offline", meaning: "The city's station does not answer.",
        class: Upstream, retry: AfterDelay, effect: None, remedy: "Wait, then send the same call." }
}

fn main() -> ExitCode {
    let input = json!({ "type": "object", "properties": { "city": { "type": "string" } },
        "required": ["city"], "additionalProperties": false });
    let output = json!({ "properties": { "sky": { "type": "string" } }, "required": ["sky"] });
    let run = |_, ask: Value, _| async move {
        match ask["city"].as_str() {
            Some("Oslo") => reply(&json!({ "sky": "snow" })),
            Some("Lima") => Err(StationOffline.fault().after(Duration::from_secs(60))),
            _ => Err(UnknownCity.fault()),
        }
    };
    let tool = Tool::read_only("forecast", "Tomorrow's weather in a city.", input, run);
    candor::stdio(SimpleServer::new("weather", "1.0.0").with_tool_returning(tool, output))
}
