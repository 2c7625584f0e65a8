//! stub until the real one lands
#![allow(missing_docs)]
use candor_fault::*;
use serde_json::Value;
#[derive(Debug)]
pub struct Schema {
    text: String,
    value: Value,
}
#[derive(Debug, Clone)]
pub struct SchemaError;
impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bad schema")
    }
}
impl std::error::Error for SchemaError {}
impl Schema {
    pub fn new(value: Value) -> Result<Self, SchemaError> {
        Ok(Schema {
            text: value.to_string(),
            value,
        })
    }
    pub fn text(&self) -> &str {
        &self.text
    }
    pub fn check(&self, v: &Value) -> Result<(), Violations> {
        let mut out = Violations::default();
        let mk = |keyword, message: String, params| Violation {
            path: Path::default(),
            keyword,
            message,
            params,
            value: excerpt(v),
            expected: "x".into(),
            hint: None,
        };
        if !v.is_object() {
            out.push(mk(
                "type",
                "must be object".into(),
                serde_json::json!({"type":"object"}),
            ));
            return Err(out);
        }
        if let Some(Value::Array(req)) = self.value.get("required") {
            for r in req {
                let r = r.as_str().unwrap_or("");
                if v.get(r).is_none() {
                    out.push(mk(
                        "required",
                        format!("must have required property '{r}'"),
                        serde_json::json!({"missingProperty": r}),
                    ))
                }
            }
        }
        if out.is_empty() { Ok(()) } else { Err(out) }
    }
}
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|k| (strsim::levenshtein(word, k), k))
        .filter(|(d, _)| *d <= 2)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}
