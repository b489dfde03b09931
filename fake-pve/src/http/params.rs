//! Parameters from query and body, with the quirks of Proxmox's own decoder.
//!
//! `;` separates pairs like `&`; of `a=b=c` only `b` is the value; `a=` is the empty text and a bare `a` is undefined
//! (JSON null here); a repeated key is a list; a JSON body keeps its types. `_dc` is dropped everywhere.

use percent_encoding::percent_decode;
use serde_json::{Map, Value};

/// What a content type says about the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyType {
    Form,
    Json,
}

impl BodyType {
    /// Reads a header; `Err` is the type that is not implemented.
    pub fn of(content_type: &str) -> Result<BodyType, String> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind {
            "" | "application/x-www-form-urlencoded" => Ok(BodyType::Form),
            "application/json" => Ok(BodyType::Json),
            _ => Err(kind.to_string()),
        }
    }
}

/// Pairs of a query or a form body.
pub(crate) fn form(bytes: &[u8]) -> Map<String, Value> {
    let mut params = Map::new();
    for pair in bytes.split(|byte| matches!(byte, b'&' | b';')).filter(|pair| !pair.is_empty()) {
        let mut pieces = pair.split(|byte| *byte == b'=');
        let key = decode(pieces.next().unwrap_or_default());
        if key == "_dc" {
            continue;
        }
        let value = pieces.next().map_or(Value::Null, |piece| Value::String(decode(piece)));
        match params.get_mut(&key) {
            None => {
                params.insert(key, value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    params
}

/// An object of a JSON body. An empty body has no parameters.
///
/// # Errors
/// The text of Proxmox's JSON decoder.
pub(crate) fn json(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let text = String::from_utf8_lossy(bytes);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(mut params)) => {
            params.shift_remove("_dc");
            Ok(params)
        }
        Ok(_) => Err("Not a HASH reference at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.".into()),
        Err(_) => {
            let start: String = text.chars().take(20).collect();
            Err(format!(
                "malformed JSON string, neither tag, array, object, number, string or atom, at character offset 0 \
                 (before \"{start}\") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934."
            ))
        }
    }
}

fn decode(piece: &[u8]) -> String {
    let spaced: Vec<u8> = piece.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_are_read_as_proxmox_reads_them() {
        let read = |text: &str| Value::Object(form(text.as_bytes()));
        assert_eq!(read("a=1&b=x+y%2B;c=&d&_dc=9"), json!({"a": "1", "b": "x y+", "c": "", "d": null}));
        assert_eq!(read("a=b=c"), json!({"a": "b"}));
        assert_eq!(read("a=1&a="), json!({"a": ["1", ""]}));
    }

    proptest::proptest! {
        #[test]
        fn encoded_pairs_come_back(pairs in proptest::collection::btree_map("[a-z]{1,8}", "\\PC{0,12}", 0..6)) {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let read = form(text.as_bytes());
            proptest::prop_assert_eq!(read.len(), pairs.len());
            for (key, value) in &pairs {
                proptest::prop_assert_eq!(read[key].as_str(), Some(value.as_str()));
            }
        }

        #[test]
        fn no_bytes_break_the_decoder(bytes in proptest::collection::vec(0u8.., 0..64)) {
            let _read = form(&bytes);
            let _read = json(&bytes);
        }
    }
}
