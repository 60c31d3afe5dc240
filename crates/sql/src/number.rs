//! The text of numbers, and their values.

use orrery_json::Number;

/// The bytes at the beginning of `text` that form a number: digits, a fraction, an exponent, or
/// `0x` with hexadecimal digits. The last two may lack their digits, see [`is_complete`].
pub(crate) fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return 2 + run(hex.as_bytes(), u8::is_ascii_hexdigit);
    }
    let whole = run(bytes, u8::is_ascii_digit);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = run(&bytes[end + 1..], u8::is_ascii_digit);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    }
    if end > 0 && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end += 1 + sign + run(&bytes[end + 1 + sign..], u8::is_ascii_digit);
    }
    end
}

/// Whether a text measured by [`length`] ends with a digit or a dot, and not with `0x` or `1e+`.
pub(crate) fn is_complete(text: &str) -> bool {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    text.ends_with(|c: char| c.is_ascii_digit() || c == '.' || is_hex && c.is_ascii_hexdigit())
}

/// The value of a text measured by [`length`]; `None` if no finite double can hold it.
pub(crate) fn value(text: &str, negative: bool) -> Option<Number> {
    // The sign takes part in the conversion: the smallest integer has no positive counterpart.
    let sign = if negative { "-" } else { "" };
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(&format!("{sign}{hex}"), 16)
            .ok()
            .map(Number::Int);
    }
    let signed = format!("{sign}{text}");
    if let Ok(int) = signed.parse::<i64>() {
        return Some(Number::Int(int));
    }
    let double = signed.parse::<f64>().ok()?;
    double.is_finite().then(|| Number::from(double))
}

/// The number of leading bytes that satisfy a condition.
fn run(bytes: &[u8], accept: fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| accept(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for (text, expected) in [
            ("0", 1),
            ("10 ", 2),
            ("1.5e10)", 6),
            ("1.", 2),
            (".5", 2),
            ("1E2", 3),
            ("1e-7", 4),
            ("0xFF", 4),
            (".", 0),
            ("007", 3),
            ("0x", 2),
            ("0.E", 3),
            ("1e", 2),
            ("1e+", 3),
        ] {
            assert_eq!(length(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_without_their_digits_are_incomplete() {
        for (text, expected) in [
            ("1", true),
            ("1.", true),
            ("0xF", true),
            ("1e2", true),
            ("0x", false),
            ("1e", false),
            ("1e-", false),
        ] {
            assert_eq!(is_complete(text), expected, "{text}");
        }
    }

    #[test]
    fn values() {
        for (text, negative, expected) in [
            ("9223372036854775807", false, Some(Number::Int(i64::MAX))),
            ("9223372036854775808", true, Some(Number::Int(i64::MIN))),
            ("1.", false, Some(Number::Int(1))),
            (".5", true, Some(Number::Float(-0.5))),
            ("1E2", false, Some(Number::Int(100))),
            ("0xff", true, Some(Number::Int(-255))),
            ("1e999", false, None),
        ] {
            assert_eq!(value(text, negative), expected, "{text}");
        }
    }
}
