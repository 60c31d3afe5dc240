//! The text of numbers, and their values.

use orrery_json::Number;

/// The bytes at the beginning of `text` that form a number: digits without leading zeros, a
/// fraction, an exponent, or `0x` with hexadecimal digits. Zero without a number.
pub(crate) fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits = run(hex.as_bytes(), u8::is_ascii_hexdigit);
        return if digits > 0 { 2 + digits } else { 0 };
    }
    let whole = run(bytes, u8::is_ascii_digit);
    // The grammar permits no leading zeros.
    if whole > 1 && bytes[0] == b'0' {
        return 0;
    }
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
        let digits = run(&bytes[end + 1 + sign..], u8::is_ascii_digit);
        // Without digits the letter is not an exponent, and the caller refuses the word.
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    end
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
            ("007", 0),
            ("0x", 0),
            ("0.E", 2),
            ("1e", 1),
        ] {
            assert_eq!(length(text), expected, "{text}");
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
