//! The report of a client, and its comparison with the expectation.

use super::cases::{Case, Form};
use serde_json::{Value, json};

/// The era that a client uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Era {
    /// The era that the order requests; `None` for the default of the client.
    pub(crate) requested: Option<&'static str>,
    /// The revision that client and server then use.
    pub(crate) negotiated: &'static str,
    /// True if the client then gets the server's name.
    pub(crate) has_server_info: bool,
}

impl Era {
    pub(crate) const fn new(requested: Option<&'static str>, negotiated: &'static str) -> Self {
        Era {
            requested,
            negotiated,
            has_server_info: true,
        }
    }

    pub(crate) fn is_stateless(self) -> bool {
        self.negotiated == STATELESS
    }

    /// The form of failures by default.
    pub(crate) fn own_form(self) -> Form {
        if self.is_stateless() {
            Form::Result
        } else {
            Form::Error
        }
    }
}

/// The revision of all clients with a handshake.
pub(crate) const HANDSHAKE: &str = "2025-11-25";

/// The revision without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The expectation of one session.
pub(crate) struct Expected<'a> {
    /// The name of the session in failure messages.
    pub(crate) session: String,
    /// The server's name and version.
    pub(crate) server: (&'a str, &'a str),
    pub(crate) era: Era,
    pub(crate) tools: &'a [&'a str],
    pub(crate) cases: &'a [Case],
    pub(crate) form: Form,
    /// Changes an outcome into the one that this client reports.
    pub(crate) quirks: fn(&Case, &mut Value),
}

impl Expected<'_> {
    /// Compares the report, one value for each step, with the expectation.
    pub(crate) fn check(&self, report: Vec<Value>) {
        let report: Vec<_> = report.into_iter().map(mask_times).collect();
        let expected = self.steps();
        for (actual, expected) in report.iter().zip(&expected) {
            let session = &self.session;
            assert!(
                actual == expected,
                "{session}\nseen: {actual:#}\nexpected: {expected:#}"
            );
        }
        assert_eq!(report.len(), expected.len(), "steps of {}", self.session);
    }

    fn steps(&self) -> Vec<Value> {
        let (name, version) = self.server;
        let server = json!({ "name": name, "version": version });
        let server = if self.era.has_server_info {
            server
        } else {
            Value::Null
        };
        let connect = json!({ "step": "connect", "ok": true, "protocol": self.era.negotiated, "server": server, "instructions": null });
        let list = json!({ "step": "list", "tools": self.tools });
        let calls = self.cases.iter().enumerate().map(|(index, case)| {
            let mut step = json!({ "step": "call", "index": index });
            append(&mut step, self.outcome(case));
            step
        });
        let close = json!({ "step": "close", "ok": true });
        [connect, list]
            .into_iter()
            .chain(calls)
            .chain([close])
            .collect()
    }

    fn outcome(&self, case: &Case) -> Value {
        let mut outcome = case.outcome(self.form);
        if self.era.is_stateless() && outcome["outcome"] == "result" {
            outcome["extra"]["resultType"] = json!("complete");
        }
        (self.quirks)(case, &mut outcome);
        outcome
    }
}

fn append(step: &mut Value, outcome: Value) {
    if let (Value::Object(step), Value::Object(outcome)) = (step, outcome) {
        step.extend(outcome);
    }
}

/// Replaces times and generated ids by names, also within texts.
fn mask_times(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask_times_in_text(&text)),
        Value::Array(items) => items.into_iter().map(mask_times).collect(),
        Value::Object(members) => {
            let mask_times = |(name, value)| (name, mask_times(value));
            members.into_iter().map(mask_times).collect()
        }
        other => other,
    }
}

/// The forms of values that differ between runs, and their names: `0` matches a digit, `x` a hexadecimal one.
const FORMS: [(&[u8], &str); 3] = [
    (b"0000-00-00T00:00:00.000000Z", "TIME"),
    (b"0000-00-00T00:00:00.000Z", "TIME"),
    (b"ord_xxxxxxxxxxxxxxxxxxxxxxxxx", "ord_ID"),
];

fn mask_times_in_text(text: &str) -> String {
    let fits = |rest: &[u8], form: &[u8]| {
        let byte = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            form => byte == form,
        };
        rest.len() >= form.len() && rest.iter().zip(form).all(byte)
    };
    let bytes = text.as_bytes();
    let matched = (0..bytes.len()).find_map(|start| {
        let rest = &bytes[start..];
        let form = FORMS.iter().find(|(form, _)| fits(rest, form))?;
        Some((start, form))
    });
    let Some((start, (form, name))) = matched else {
        return text.to_owned();
    };
    let rest = &text[start + form.len()..];
    format!("{}{name}{}", &text[..start], mask_times_in_text(rest))
}
