//! Numbers: IEEE doubles, with integers of 64 bits kept exactly.

use std::cmp::Ordering;

/// A JSON number. Integers that fit into 64 bits are exact; every other number is a double.
///
/// A whole double within the exact integer range of doubles is always stored as `Int`, so that `1`
/// and `1.0` are one value with one text.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    Int(i64),
    Float(f64),
}

/// Whole doubles up to this magnitude are exact, so the integer form represents the same number.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the language computes in doubles"
            )]
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The integer value, if the number is an integer.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Number::Int(value) => Some(value),
            Number::Float(_) => None,
        }
    }

    pub fn is_finite(self) -> bool {
        self.as_f64().is_finite()
    }

    /// Numeric order. NaN sorts before all other numbers, which makes the order total.
    pub fn total_cmp(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(&b),
            (a, b) => {
                let (a, b) = (a.as_f64(), b.as_f64());
                a.partial_cmp(&b)
                    .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
            }
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Int(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
            Number::Int(value as i64)
        } else {
            Number::Float(value)
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (a, b) => a.as_f64() == b.as_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_doubles_are_integers() {
        assert_eq!(Number::from(1.0).as_i64(), Some(1));
        assert_eq!(Number::from(-0.0).as_i64(), Some(0));
        assert_eq!(Number::from(1.5).as_i64(), None);
        assert_eq!(Number::from(1e300).as_i64(), None);
    }

    #[test]
    fn order_is_total() {
        let nan = Number::from(f64::NAN);
        assert_eq!(nan.total_cmp(Number::from(1)), Ordering::Less);
        assert_eq!(Number::from(1).total_cmp(nan), Ordering::Greater);
        assert_eq!(nan.total_cmp(nan), Ordering::Equal);
        assert_eq!(Number::from(1).total_cmp(Number::from(1.5)), Ordering::Less);
    }
}
