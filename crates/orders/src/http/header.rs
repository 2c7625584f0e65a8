//! Header values of texts: visible ASCII as it is, everything else in Base64.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use candor_http_client::header::HeaderValue;

/// The prefix of an encoded text. A text that already starts with it is encoded too, so that no two
/// texts have the same value.
const ENCODED: &str = "b64:";

/// Returns the header value of a text.
pub(crate) fn value(text: &str) -> HeaderValue {
    let plain = !text.is_empty()
        && !text.starts_with(ENCODED)
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    let value_of = match plain {
        true => HeaderValue::from_str(text),
        false => {
            let encoded = URL_SAFE_NO_PAD.encode(text);
            HeaderValue::from_str(&format!("{ENCODED}{encoded}"))
        }
    };
    // Both forms are visible ASCII.
    value_of.unwrap_or_else(|_| HeaderValue::from_static(ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(value: &HeaderValue) -> String {
        let text = value.to_str().unwrap();
        match text.strip_prefix(ENCODED) {
            Some(encoded) => String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap(),
            None => text.to_owned(),
        }
    }

    #[test]
    fn header_values_of_texts() {
        let value_of = |text: &str| value(text).to_str().unwrap().to_owned();
        assert_eq!(value_of("3f1c-9"), "3f1c-9");
        assert_eq!(value_of("two words"), "b64:dHdvIHdvcmRz");
        assert_eq!(value_of("größe"), "b64:Z3LDtsOfZQ");
        assert_eq!(value_of("b64:3f1c"), "b64:YjY0OjNmMWM");
        assert_eq!(value_of(""), "b64:");
    }

    proptest! {
        #[test]
        fn every_text_decodes_to_itself(text in any::<String>()) {
            prop_assert_eq!(decoded(&value(&text)), text);
        }
    }
}
