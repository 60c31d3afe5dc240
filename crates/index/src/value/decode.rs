//! Decodes value bytes of index entries.

use orrery_json::{Number, Object, Value};
use orrery_keys::number_from_sortable;

use super::{
    ARRAY, END_CUT, END_WHOLE, FALSE, INTEGERS_EXACT_END, NULL, NUMBER, OBJECT, STRING, TRUE,
    UNDEFINED, ZERO, skip,
};

/// A value as far as its index entry preserves it.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedValue {
    pub value: Value,
    /// Whether the entry preserves the whole value. Otherwise a reader must load the document.
    pub is_exact: bool,
}

/// Decodes the value at the start of `encoded`, ascending or descending, and returns the rest after
/// it. `None` for invalid bytes.
pub fn decode(encoded: &[u8]) -> Option<(DecodedValue, &[u8])> {
    let rest = skip(encoded)?;
    let bytes = &encoded[..encoded.len() - rest.len()];
    let decoded = if bytes.first()? & 0x80 == 0 {
        ascending(bytes)
    } else {
        ascending(&bytes.iter().map(|byte| !byte).collect::<Vec<_>>())
    };
    Some((decoded?, rest))
}

fn ascending(bytes: &[u8]) -> Option<DecodedValue> {
    let (marker, content) = bytes.split_first()?;
    let exact = |value| DecodedValue {
        value,
        is_exact: true,
    };
    let vague = |value| DecodedValue {
        value,
        is_exact: false,
    };
    Some(match *marker {
        UNDEFINED => exact(Value::Undefined),
        NULL => exact(Value::Null),
        FALSE => exact(Value::Bool(false)),
        TRUE => exact(Value::Bool(true)),
        NUMBER => {
            let bits = u64::from_be_bytes(content.try_into().ok()?);
            let number = match bits {
                0 => f64::NAN,
                bits => number_from_sortable(bits),
            };
            DecodedValue {
                value: Value::Number(Number::from(number)),
                is_exact: number.abs() < INTEGERS_EXACT_END,
            }
        }
        STRING => {
            let (text, end) = content.split_last_chunk::<2>()?;
            DecodedValue {
                value: Value::String(read_text(text)?),
                is_exact: match end[1] {
                    END_WHOLE => true,
                    END_CUT => false,
                    _ => return None,
                },
            }
        }
        ARRAY => vague(Value::Array(Vec::new())),
        OBJECT => vague(Value::Object(Object::default())),
        _ => return None,
    })
}

fn read_text(encoded: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(encoded.len());
    let mut bytes = encoded.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            0x00 => match *bytes.next()? {
                ZERO => 0,
                _ => return None,
            },
            0xFD => 0xEE,
            0xFE => 0xEF,
            byte => *byte,
        });
    }
    String::from_utf8(text).ok()
}
