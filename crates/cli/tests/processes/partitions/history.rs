//! What clients record of one account, and what the tokens in it say.
//!
//! Every attempt to write has a value of its own, and an update names the value it was made over, which
//! its etag proves. So a value is a version, and who came after whom is known without a clock.

use std::time::Duration;

use crate::account::REGIONS;

/// Unique among all attempts.
pub(super) type Value = u64;

#[derive(Debug, Clone)]
pub(super) struct Event {
    /// Client, and how many sessions it had before.
    pub(super) session: (usize, usize),
    pub(super) item: String,
    pub(super) region: usize,
    pub(super) begun: Duration,
    pub(super) ended: Duration,
    pub(super) what: What,
    /// Of the answer. A write without one may have happened or not.
    pub(super) token: Option<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Over nothing if it made the item.
    Wrote { value: Value, over: Option<Value> },
    /// None if the region said that there is no such item.
    Read(Option<Value>),
}

/// How many records of each region's stream whoever gave it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token(pub(super) [u64; REGIONS.len()]);

impl Token {
    /// Of an answer of one partition, with the partition: `RANGE:VERSION#ACCOUNT#0=…#1=…`.
    pub(super) fn parse(text: &str) -> Option<(&str, Token)> {
        let (range, token) = text.split_once(':')?;
        let mut streams = [0; REGIONS.len()];
        for part in token.split('#').skip(2) {
            let (region, sequence) = part.split_once('=')?;
            let region: usize = region.parse().ok()?;
            *streams.get_mut(region)? = sequence.parse().ok()?;
        }
        Some((range, Token(streams)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_a_partition_and_streams() {
        for (text, expected) in [
            ("3:7#20#0=5#2=9", Some(("3", Token([5, 0, 9])))),
            ("0:1#2", Some(("0", Token([0, 0, 0])))),
            ("0:1#2#9=1", None),
            ("0:1#2#1", None),
            ("", None),
        ] {
            assert_eq!(Token::parse(text), expected, "{text}");
        }
    }
}
