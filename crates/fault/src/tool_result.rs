//! The MCP result object, its members in their fixed order.

use crate::quoted_json::push_escaped;
use crate::{Answer, FiveAnswers, Receipt, ToolOutput, to_json, to_json_with_capacity};
use serde::Serialize;
use serde_json::value::RawValue;

/// An MCP result with one text block. `S` is the type of `structuredContent`, `E` of `error`.
#[derive(Debug, Serialize)]
pub struct ToolResult<'a, S: Serialize, E: Serialize> {
    content: [TextBlock<'a>; 1],
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<S>,
    #[serde(rename = "isError", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<E>,
    #[serde(rename = "_meta", skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta<'a, E>,
}

#[derive(Debug, Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The members of `_meta`.
#[derive(Debug, Serialize)]
pub struct ResultMeta<'a, E: Serialize> {
    #[serde(rename = "dev.candor/error", skip_serializing_if = "Option::is_none")]
    pub error: Option<E>,
    #[serde(rename = "dev.candor/fault", skip_serializing_if = "Option::is_none")]
    pub fault: Option<FiveAnswers<'a>>,
    #[serde(rename = "dev.candor/receipt", skip_serializing_if = "Option::is_none")]
    pub receipt: Option<&'a Receipt>,
    /// The key that a server gave a change whose call had none.
    #[serde(rename = "dev.candor/key", skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
}

impl<E: Serialize> ResultMeta<'_, E> {
    fn is_empty(&self) -> bool {
        self.error.is_none() && self.fault.is_none() && self.receipt.is_none() && self.key.is_none()
    }
}

impl<'a, S: Serialize, E: Serialize> ToolResult<'a, S, E> {
    /// Returns a result with one text block and no other member.
    pub fn text(text: &'a str) -> Self {
        ToolResult {
            content: [TextBlock {
                r#type: "text",
                text,
            }],
            structured: None,
            is_error: false,
            error: None,
            meta: ResultMeta {
                error: None,
                fault: None,
                receipt: None,
                key: None,
            },
        }
    }

    /// Encodes the result.
    pub fn answer(self) -> Answer {
        let capacity = text_capacity(self.content[0].text);
        Answer::Result(to_json_with_capacity(&self, capacity).into())
    }
}

/// Returns the capacity for a result with this text: the text is escaped, and the same object is in up to two
/// more members.
fn text_capacity(text: &str) -> usize {
    3 * text.len() + 256
}

impl ToolResult<'_, &RawValue, ()> {
    /// Encodes a success as most dialects do: one text block of compact JSON, the same object as
    /// `structuredContent`, and the receipt if there is one.
    pub fn encode_success(output: &ToolOutput, receipt: Option<&Receipt>) -> Answer {
        let (text, structured) = match output {
            ToolOutput::Whole(whole) => return Answer::Result(whole.get().into()),
            ToolOutput::Text(text) => (text.as_str(), None),
            ToolOutput::Json(json) => {
                let is_object = json.get().starts_with('{');
                (json.get(), is_object.then_some(json.get()))
            }
        };
        // Written by hand, which is faster than serializing a `ToolResult`.
        let mut result = String::with_capacity(text_capacity(text));
        result.push_str(r#"{"content":[{"type":"text","text":""#);
        push_escaped(text, &mut result);
        result.push_str(r#""}]"#);
        if let Some(structured) = structured {
            result.push_str(r#","structuredContent":"#);
            result.push_str(structured);
        }
        if let Some(receipt) = receipt {
            result.push_str(r#","_meta":{"dev.candor/receipt":"#);
            result.push_str(&to_json(receipt));
            result.push('}');
        }
        result.push('}');
        Answer::Result(result.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn output() -> impl Strategy<Value = ToolOutput> {
        prop_oneof![
            any::<String>().prop_map(ToolOutput::Text),
            any::<String>().prop_map(|text| ToolOutput::Json(crate::to_raw_json(&text))),
            any::<(String, u32)>().prop_map(|(text, number)| {
                ToolOutput::Json(crate::to_raw_json(&serde_json::json!({ text: number })))
            }),
        ]
    }

    proptest! {
        #[test]
        fn success_is_what_serde_would_write(output in output(), hash in any::<Option<String>>()) {
            let receipt = hash.map(|hash| Receipt { seq: 7, hash });
            let (text, structured) = match &output {
                ToolOutput::Json(json) => (json.get(), Some(json.as_ref()).filter(|json| json.get().starts_with('{'))),
                ToolOutput::Text(text) => (text.as_str(), None),
                ToolOutput::Whole(whole) => (whole.get(), None),
            };
            let mut expected = ToolResult::<&RawValue, ()>::text(text);
            expected.structured = structured;
            expected.meta.receipt = receipt.as_ref();
            prop_assert_eq!(ToolResult::encode_success(&output, receipt.as_ref()), expected.answer());
        }
    }
}
