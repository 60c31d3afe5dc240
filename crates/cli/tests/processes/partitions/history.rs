//! The events that clients record of one account, and the meaning of session tokens.
//!
//! Every attempt to write has a value of its own, and an update names the value that it replaced,
//! which the etag of the update proves. So a value identifies a version, and the order of versions
//! is known without a clock.

use std::time::Duration;

use crate::account::REGIONS;

/// Unique among all attempts.
pub(super) type Value = u64;

#[derive(Debug, Clone)]
pub(super) struct Event {
    /// The client, and the number of its sessions before this one.
    pub(super) session: (usize, usize),
    pub(super) item: String,
    pub(super) region: usize,
    pub(super) begun: Duration,
    pub(super) ended: Duration,
    pub(super) what: What,
    /// The session token of the answer. A write without an answer may have happened or not.
    pub(super) token: Option<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A write: over `None` if the write created the item.
    Wrote { value: Value, over: Option<Value> },
    /// A read: None if the region answered that the item does not exist.
    Read(Option<Value>),
}

/// How many records of each region's stream the answering region had.
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
