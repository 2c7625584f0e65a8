//! The report of a client, and its comparison with the expectation.

use super::cases::{Case, Form};
use serde_json::{Value, json};

/// An era as a client is asked for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Era {
    /// The era in the order; nothing leaves the client alone.
    pub(crate) asked: Option<&'static str>,
    /// The revision that is spoken then.
    pub(crate) spoken: &'static str,
    /// True if the client then gets the server's name.
    pub(crate) introduced: bool,
}

impl Era {
    pub(crate) const fn new(asked: Option<&'static str>, spoken: &'static str) -> Self {
        Era {
            asked,
            spoken,
            introduced: true,
        }
    }

    pub(crate) fn is_stateless(self) -> bool {
        self.spoken == STATELESS
    }

    /// The form that failures take if the server is left alone too.
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

/// The revision without one.
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
    /// Turns what was sent into what this client shows of it.
    pub(crate) quirks: fn(&Case, &mut Value),
}

impl Expected<'_> {
    /// Fails unless the report, one value a step, is what was expected.
    pub(crate) fn judge(&self, report: Vec<Value>) {
        let report: Vec<_> = report.into_iter().map(timeless).collect();
        let expected = self.steps();
        for (seen, expected) in report.iter().zip(&expected) {
            let session = &self.session;
            assert!(
                seen == expected,
                "{session}\nseen: {seen:#}\nexpected: {expected:#}"
            );
        }
        assert_eq!(report.len(), expected.len(), "steps of {}", self.session);
    }

    fn steps(&self) -> Vec<Value> {
        let (name, version) = self.server;
        let server = json!({ "name": name, "version": version });
        let server = if self.era.introduced {
            server
        } else {
            Value::Null
        };
        let connect =
            json!({ "step": "connect", "ok": true, "protocol": self.era.spoken, "server": server });
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

/// The value with names for points in time and made ids, in texts too.
fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(timeless_text(&text)),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(members) => {
            let timeless = |(name, value)| (name, timeless(value));
            members.into_iter().map(timeless).collect()
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

fn timeless_text(text: &str) -> String {
    let fits = |rest: &[u8], form: &[u8]| {
        let byte = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            form => byte == form,
        };
        rest.len() >= form.len() && rest.iter().zip(form).all(byte)
    };
    let bytes = text.as_bytes();
    let found = (0..bytes.len()).find_map(|start| {
        let rest = &bytes[start..];
        let form = FORMS.iter().find(|(form, _)| fits(rest, form))?;
        Some((start, form))
    });
    let Some((start, (form, name))) = found else {
        return text.to_owned();
    };
    let rest = &text[start + form.len()..];
    format!("{}{name}{}", &text[..start], timeless_text(rest))
}
