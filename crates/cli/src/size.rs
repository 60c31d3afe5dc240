//! Sizes as people write them: `256MB`, `1GiB`, `4096`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

impl Size {
    pub(crate) const fn mebibytes(count: u64) -> Size {
        Size(count << 20)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let factor = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor);
        let (Ok(number), Some(factor)) = (number.parse::<u64>(), factor) else {
            return Err(format!(
                "'{text}' is not a size; write a whole number with a unit, such as 256MB or 1GiB"
            ));
        };
        number
            .checked_mul(factor)
            .map(Size)
            .ok_or_else(|| format!("'{text}' is too large"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = [
            (1 << 40, "TiB"),
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1 << 10, "KiB"),
        ]
        .into_iter()
        .find(|(factor, _)| self.0 != 0 && self.0.is_multiple_of(*factor));
        match exact {
            Some((factor, unit)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("12b", 12),
            ("256MB", 256_000_000),
            ("256 mb", 256_000_000),
            ("64KiB", 65_536),
            ("1GiB", 1 << 30),
            (" 2tib ", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "MB", "1.5GB", "-1", "1 XB", "99999999TiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_printed_size_reads_back() {
        for (bytes, text) in [
            (0, "0B"),
            (1000, "1000B"),
            (128 << 20, "128MiB"),
            (3 << 30, "3GiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Size(bytes)));
        }
    }
}
