//! Binary JSON as the .NET SDK writes it, and forms and mistakes that no SDK writes.

use orrery_json::{BinaryLimits, parse, parse_binary};

const LIMITS: BinaryLimits = BinaryLimits {
    depth_max: 128,
    text_bytes_max: 2 << 20,
};

/// Each line has the bytes in hexadecimal form and the JSON text, or `!` for bytes that stand for no
/// JSON.
#[test]
fn recorded_texts() {
    for line in include_str!("data/binary.txt").lines() {
        let (hex, text) = line.split_once(' ').unwrap();
        let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(pair).collect();
        let found = parse_binary(&bytes, LIMITS);
        if text == "!" {
            assert!(found.is_err(), "{hex} is {found:?}");
            continue;
        }
        assert_eq!(found, Ok(parse(text.as_bytes()).unwrap()), "{hex}");
        for end in 0..bytes.len() {
            // A cut text is an error, and no reader fails otherwise.
            assert!(
                parse_binary(&bytes[..end], LIMITS).is_err(),
                "{hex} to {end}"
            );
        }
    }
}
