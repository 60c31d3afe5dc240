//! Effective partition keys (EPK): points on the line that is divided among physical partitions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A point between [`Epk::min`] and [`Epk::max`], of any length.
///
/// Order and equality treat a missing tail as zeros, so `X`, `X00` and `X0000` are one point: the
/// boundary of a hierarchical container may have fewer levels than a key has. Two different keys
/// never become equal by this rule, because the EPK of a complete key is never a prefix of another
/// key's EPK.
#[derive(Debug, Clone, Default)]
pub struct Epk(Vec<u8>);

/// The reason why a text is not an effective partition key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an even number of hexadecimal digits")]
pub struct EpkError(String);

impl Epk {
    /// The smallest point, printed as the empty text.
    pub fn min() -> Epk {
        Epk(Vec::new())
    }

    /// Greater than the EPK of every key, printed as `FF`.
    pub fn max() -> Epk {
        Epk(vec![0xFF])
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Epk {
        Epk(bytes)
    }

    /// Reads hexadecimal digits of either case.
    pub fn from_hex(text: &str) -> Result<Epk, EpkError> {
        let error = || EpkError(text.to_owned());
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(error());
        }
        pairs
            .iter()
            .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
            .collect::<Option<_>>()
            .map(Epk)
            .ok_or_else(error)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes without the zeros at their end.
    ///
    /// Used as a bound on stored keys, these bytes select the same keys as the point itself: a
    /// plain byte comparison would sort `X00` after a stored `X`.
    pub fn significant_bytes(&self) -> &[u8] {
        let end = self.0.iter().rposition(|&byte| byte != 0);
        &self.0[..end.map_or(0, |last| last + 1)]
    }

    /// The first point after every point that begins with these bytes.
    pub(crate) fn successor(&self) -> Epk {
        let mut bytes = self.0.clone();
        for byte in bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return Epk(bytes);
            }
        }
        // Every byte was `FF`, so no point of this length follows.
        Epk::max()
    }
}

impl PartialEq for Epk {
    fn eq(&self, other: &Self) -> bool {
        self.significant_bytes() == other.significant_bytes()
    }
}

impl Eq for Epk {}

impl PartialOrd for Epk {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Epk {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant_bytes().cmp(other.significant_bytes())
    }
}

impl Hash for Epk {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant_bytes().hash(state);
    }
}

impl fmt::Display for Epk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

fn digit(text: u8) -> Option<u8> {
    match text {
        b'0'..=b'9' => Some(text - b'0'),
        b'A'..=b'F' => Some(text - b'A' + 10),
        b'a'..=b'f' => Some(text - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epk(hex: &str) -> Epk {
        Epk::from_hex(hex).unwrap()
    }

    #[test]
    fn hex_round_trips() {
        for (text, expected) in [("", ""), ("FF", "FF"), ("05c1", "05C1"), ("0500", "0500")] {
            assert_eq!(epk(text).to_string(), expected);
        }
        for text in ["0", "0G", "0x", "é", "+1", " 1"] {
            assert!(Epk::from_hex(text).is_err(), "{text}");
        }
        assert_eq!(epk(""), Epk::min());
        assert_eq!(epk("FF"), Epk::max());
    }

    #[test]
    fn a_missing_tail_is_zeros() {
        assert_eq!(epk(""), epk("0000"));
        assert_eq!(epk("12"), epk("1200"));
        let ascending = ["", "0001", "01", "0100000001", "3F", "3FFF", "FF"].map(epk);
        assert!(ascending.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn the_successor_is_the_next_point_of_the_same_length() {
        for (point, expected) in [("1F", "20"), ("1FFF", "2000"), ("00", "01"), ("FFFF", "FF")] {
            assert_eq!(epk(point).successor().to_string(), expected, "{point}");
        }
    }
}
