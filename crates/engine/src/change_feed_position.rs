//! Positions in a change feed, in the form that clients store.
//!
//! A position consists of digits alone, because some clients store only digits:
//!
//! ```text
//! 12                       one write region: all partitions up to LSN 12
//! 1 003 000000000000012    multi-write: the same in the order of region 3
//! 9 ....                   anything else: its text with two digits for each character
//! ```
//!
//! Plain text positions (`3@12`, `-1F:12,1F-FF:7`) of earlier releases are also read.

use std::fmt::Write as _;

use orrery_keys::{Epk, EpkRange};
use orrery_model::{Failure, Lsn};
use orrery_regions::RegionId;

/// Positions in the feed: one LSN for all partitions, or one LSN per part of the key space. Parts
/// are key ranges, so a position survives splits and merges.
///
/// In a multi-write account each region orders changes by itself, and a position names the region.
/// Another region, or the same region after its state was copied from another, cannot map the LSN
/// to its own order, so it starts from the beginning: a client that moves sees changes twice and
/// misses none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangeFeedPosition {
    One(Lsn),
    /// Parts in key order; the gaps between parts have not been read.
    Parts(Vec<(EpkRange, Lsn)>),
}

/// A change order: that of one region, and of the copied state on which the order rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeOrder {
    pub(crate) region: RegionId,
    pub(crate) copied: Option<(RegionId, u64)>,
}

/// First digit of a position in the order of a region whose state was never copied.
const OF_REGION: char = '1';
/// First digit of a text that is spelt in digits.
const ENCODED_TEXT: char = '9';
const REGION_DIGITS: usize = 3;
/// With this many digits the whole position fits a signed 64-bit integer.
const LSN_DIGITS: usize = 15;
const LSN_END: u64 = 1_000_000_000_000_000;
/// Separates the order from the position.
const ORDER_END: char = '@';
/// The alphabet of position texts. Each character is spelt as its two-digit index.
const CHARACTERS: &str = "0123456789ABCDEF-:,.@";

impl ChangeFeedPosition {
    /// Builds a position. Neighbouring parts with the same LSN become one part.
    pub(crate) fn of(reached: Vec<(EpkRange, Lsn)>) -> ChangeFeedPosition {
        let mut parts: Vec<(EpkRange, Lsn)> = Vec::new();
        for (range, lsn) in reached {
            match parts.last_mut() {
                Some((before, same)) if *same == lsn && before.max == range.min => {
                    before.max = range.max;
                }
                _ => parts.push((range, lsn)),
            }
        }
        match &parts[..] {
            [] => ChangeFeedPosition::One(Lsn(0)),
            [(_, lsn)] => ChangeFeedPosition::One(*lsn),
            _ => ChangeFeedPosition::Parts(parts),
        }
    }

    /// Writes the position in the digits that clients store.
    pub(crate) fn write(&self, order: Option<ChangeOrder>) -> String {
        match (order, self) {
            (None, ChangeFeedPosition::One(Lsn(lsn))) => lsn.to_string(),
            (
                Some(ChangeOrder {
                    region: RegionId(region),
                    copied: None,
                }),
                ChangeFeedPosition::One(Lsn(lsn)),
            ) if *lsn < LSN_END => {
                format!("{OF_REGION}{region:0REGION_DIGITS$}{lsn:0LSN_DIGITS$}")
            }
            (None, ChangeFeedPosition::Parts(_)) => encode_text(&self.text()),
            (Some(order), _) => encode_text(&format!("{}{ORDER_END}{}", order.text(), self.text())),
        }
    }

    /// Reads a position and translates it into this change order.
    pub(crate) fn parse(
        order: Option<ChangeOrder>,
        text: &str,
    ) -> Result<ChangeFeedPosition, Failure> {
        let text = text.trim_matches('"');
        let read = match order {
            // A plain number is tried first: an encoded text of two parts has more digits than a
            // 64-bit number.
            None if is_of_regions(text) => return Err(of_another_mode()),
            None => ChangeFeedPosition::parse_text(text)
                .or_else(|| ChangeFeedPosition::parse_text(&decode_text(text)?)),
            Some(order) => ChangeFeedPosition::parse_in_order(order, text),
        };
        read.ok_or_else(not_a_position)
    }

    fn parse_in_order(order: ChangeOrder, text: &str) -> Option<ChangeFeedPosition> {
        let (written_order, positions) = match read_digits(text) {
            Some(read) => read,
            // Zero is the beginning in every order.
            None if text == "0" => return Some(ChangeFeedPosition::One(Lsn(0))),
            None => {
                let text = decode_text(text).unwrap_or_else(|| text.to_owned());
                let (written_order, positions) = text.split_once(ORDER_END)?;
                (
                    ChangeOrder::parse(written_order)?,
                    ChangeFeedPosition::parse_text(positions)?,
                )
            }
        };
        // A position of another order restarts from the beginning, see the type's comment.
        Some(if written_order == order {
            positions
        } else {
            ChangeFeedPosition::One(Lsn(0))
        })
    }

    /// The text form: `12` for all partitions, `-1F:12,1F-FF:7` for parts.
    fn text(&self) -> String {
        let parts = match self {
            ChangeFeedPosition::One(lsn) => return lsn.to_string(),
            ChangeFeedPosition::Parts(parts) => parts,
        };
        let mut out = String::new();
        for (EpkRange { min, max }, lsn) in parts {
            let comma = if out.is_empty() { "" } else { "," };
            write!(out, "{comma}{min}-{max}:{lsn}").expect("a string takes any text");
        }
        out
    }

    fn parse_text(text: &str) -> Option<ChangeFeedPosition> {
        if let Ok(one) = text.parse() {
            return Some(ChangeFeedPosition::One(Lsn(one)));
        }
        let parts = text.split(',').map(|part| {
            let (range, lsn) = part.split_once(':')?;
            let (min, max) = range.split_once('-')?;
            let range = EpkRange::new(Epk::from_hex(min).ok()?, Epk::from_hex(max).ok()?);
            Some((range, Lsn(lsn.parse().ok()?)))
        });
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        // Clients send this text, so overlapping parts must be refused here: `within` relies on key
        // order.
        let in_order = parts.windows(2).all(|two| two[0].0.max <= two[1].0.min);
        in_order.then_some(ChangeFeedPosition::Parts(parts))
    }

    /// Cuts a key range into the parts of this position, each with its LSN. A gap starts at zero.
    pub(crate) fn within(&self, range: &EpkRange) -> Vec<(EpkRange, Lsn)> {
        let parts = match self {
            ChangeFeedPosition::One(lsn) => return vec![(range.clone(), *lsn)],
            ChangeFeedPosition::Parts(parts) => parts,
        };
        let mut found = Vec::new();
        let mut covered = range.min.clone();
        let mut add = |min: &Epk, max: &Epk, lsn| {
            let part = EpkRange::new(min.clone(), max.clone());
            if !part.is_empty() {
                found.push((part, lsn));
            }
        };
        for (part, lsn) in parts {
            if let Some(both) = part.intersect(range) {
                add(&covered, &both.min, Lsn(0));
                add(&both.min, &both.max, *lsn);
                covered = both.max;
            }
        }
        add(&covered, &range.max, Lsn(0));
        found
    }
}

impl ChangeOrder {
    /// The text form: `3`, or `3.0.120` after a copy of region 0 at its position 120.
    fn text(self) -> String {
        let RegionId(region) = self.region;
        match self.copied {
            None => region.to_string(),
            Some((RegionId(source), position)) => format!("{region}.{source}.{position}"),
        }
    }

    fn parse(text: &str) -> Option<ChangeOrder> {
        let mut parts = text.split('.');
        let region = RegionId(parts.next()?.parse().ok()?);
        let copied = match parts.next() {
            Some(source) => Some((RegionId(source.parse().ok()?), parts.next()?.parse().ok()?)),
            None => None,
        };
        let order = ChangeOrder { region, copied };
        parts.next().is_none().then_some(order)
    }
}

/// Reads a position in the order of a region whose state was never copied.
fn read_digits(text: &str) -> Option<(ChangeOrder, ChangeFeedPosition)> {
    let digits = text.strip_prefix(OF_REGION)?;
    if digits.len() != REGION_DIGITS + LSN_DIGITS || !is_digits(digits) {
        return None;
    }
    let (region, lsn) = digits.split_at(REGION_DIGITS);
    let order = ChangeOrder {
        region: RegionId(region.parse().ok()?),
        copied: None,
    };
    Some((order, ChangeFeedPosition::One(Lsn(lsn.parse().ok()?))))
}

/// Whether a multi-write account issued this position. Read as a plain LSN it would be far ahead of
/// every partition.
fn is_of_regions(text: &str) -> bool {
    let spelt = decode_text(text);
    read_digits(text).is_some()
        || spelt
            .as_deref()
            .unwrap_or(text)
            .split_once(ORDER_END)
            .is_some_and(|(order, positions)| {
                ChangeOrder::parse(order).is_some()
                    && ChangeFeedPosition::parse_text(positions).is_some()
            })
}

fn encode_text(text: &str) -> String {
    let mut out = String::from(ENCODED_TEXT);
    for character in text.chars() {
        let index = CHARACTERS.find(character);
        let index = index.expect("positions are made of these characters");
        write!(out, "{index:02}").expect("a string takes any text");
    }
    out
}

/// Decodes the text that a digit string spells, if it spells one.
fn decode_text(digits: &str) -> Option<String> {
    let spelt = digits.strip_prefix(ENCODED_TEXT)?;
    if spelt.len() % 2 != 0 || !is_digits(spelt) {
        return None;
    }
    let character = |pair: &[u8]| {
        let index = std::str::from_utf8(pair).ok()?.parse().ok()?;
        CHARACTERS.chars().nth(index)
    };
    spelt.as_bytes().chunks(2).map(character).collect()
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn not_a_position() -> Failure {
    Failure::bad_request(
        "The If-None-Match header is not a continuation of the change feed. Send the etag of an earlier \
         answer as it was, or leave it out to begin anew.",
    )
}

fn of_another_mode() -> Failure {
    Failure::bad_request(
        "The If-None-Match header is a continuation of the change feed from when all regions of the account took \
         writes, which they no longer do. Leave it out to begin anew.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> EpkRange {
        EpkRange::new(Epk::from_hex(min).unwrap(), Epk::from_hex(max).unwrap())
    }

    fn parts(parts: &[(&str, &str, u64)]) -> ChangeFeedPosition {
        let part = |(min, max, lsn): &(&str, &str, u64)| (range(min, max), Lsn(*lsn));
        ChangeFeedPosition::Parts(parts.iter().map(part).collect())
    }

    fn one(lsn: u64) -> ChangeFeedPosition {
        ChangeFeedPosition::One(Lsn(lsn))
    }

    const HERE: ChangeOrder = ChangeOrder {
        region: RegionId(1),
        copied: None,
    };
    const COPIED: ChangeOrder = ChangeOrder {
        region: RegionId(1),
        copied: Some((RegionId(0), 300)),
    };

    #[test]
    fn positions_are_digits_and_read_back() {
        let longest = "05C1D9FFFFFFFFFFFFFFFFFFFFFFFFFF";
        for order in [None, Some(HERE), Some(COPIED)] {
            for positions in [
                one(0),
                one(12),
                one(912),
                one(999_999_999_999_999),
                one(u64::MAX),
                parts(&[("", "10", 5), ("10", "FF", 7)]),
                parts(&[("", longest, u64::MAX), (longest, "FF", 0)]),
            ] {
                let text = positions.write(order);
                assert!(is_digits(&text), "{text}");
                let quoted = format!("\"{text}\"");
                assert_eq!(
                    ChangeFeedPosition::parse(order, &quoted).unwrap(),
                    positions
                );
            }
        }
        assert_eq!(one(12).write(None), "12");
        assert_eq!(one(12).write(Some(HERE)), "1001000000000000012");
        let region = RegionId(u8::MAX);
        let last = ChangeOrder { region, ..HERE };
        let text = one(999_999_999_999_999).write(Some(last));
        assert!(text.parse::<i64>().is_ok(), "{text}");
    }

    #[test]
    fn a_position_of_another_region_is_the_beginning() {
        let other = ChangeOrder {
            region: RegionId(0),
            ..HERE
        };
        for (from, to) in [(HERE, other), (HERE, COPIED), (COPIED, HERE)] {
            for positions in [one(12), parts(&[("10", "20", 5)])] {
                let text = positions.write(Some(from));
                assert_eq!(ChangeFeedPosition::parse(Some(to), &text).unwrap(), one(0));
                assert!(ChangeFeedPosition::parse(None, &text).is_err(), "{text}");
            }
        }
    }

    /// Read as a plain LSN, such a position would be far ahead of every partition.
    #[test]
    fn a_position_from_when_every_region_wrote_says_so() {
        let copied = Some((RegionId(0), 3));
        for region in [HERE, COPIED, ChangeOrder { copied, ..HERE }] {
            for positions in [one(1), one(12), parts(&[("10", "20", 5)])] {
                let text = positions.write(Some(region));
                let refused = ChangeFeedPosition::parse(None, &text).unwrap_err();
                assert!(
                    refused.to_string().contains("all regions"),
                    "{text}: {refused}"
                );
            }
        }
    }

    #[test]
    fn positions_in_the_old_text_form_are_read() {
        for (order, text, expected) in [
            (
                None,
                "\"-10:5,10-FF:7\"",
                Some(parts(&[("", "10", 5), ("10", "FF", 7)])),
            ),
            (None, "1@12", None),
            (Some(HERE), "\"1@12\"", Some(one(12))),
            (Some(HERE), "1@10-20:5", Some(parts(&[("10", "20", 5)]))),
            (Some(HERE), "0@12", Some(one(0))),
            (Some(HERE), "0@10-20:5", Some(one(0))),
            (Some(HERE), "0@x", None),
            (Some(HERE), "0", Some(one(0))),
            (Some(HERE), "12", None),
            (Some(HERE), "1999000000000000012", None),
            (Some(HERE), "x@12", None),
            (Some(HERE), "1.0@12", None),
            (Some(HERE), "1.0.300@12", Some(one(0))),
            (Some(COPIED), "1@12", Some(one(0))),
            (Some(COPIED), "1.0.300@12", Some(one(12))),
        ] {
            assert_eq!(
                ChangeFeedPosition::parse(order, text).ok(),
                expected,
                "{text}"
            );
        }
        for text in ["", "x", "1:", "10-20", "20-30:1,10-20:2", "0;1", "9é"] {
            assert!(ChangeFeedPosition::parse(None, text).is_err(), "{text}");
            assert!(
                ChangeFeedPosition::parse(Some(HERE), text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn positions_survive_splits_and_merges() {
        assert_eq!(
            one(12).within(&range("", "10")),
            [(range("", "10"), Lsn(12))]
        );
        let several = ChangeFeedPosition::of(vec![
            (range("", "10"), Lsn(5)),
            (range("10", "20"), Lsn(5)),
            (range("20", "FF"), Lsn(7)),
        ]);
        assert_eq!(several.text(), "-20:5,20-FF:7");
        for (min, max, expected) in [
            ("", "10", &[("", "10", 5)][..]),
            ("10", "30", &[("10", "20", 5), ("20", "30", 7)]),
            ("30", "FF", &[("30", "FF", 7)]),
        ] {
            let found = several.within(&range(min, max));
            assert_eq!(ChangeFeedPosition::Parts(found), parts(expected));
        }
        let gaps = parts(&[("10", "20", 5)]).within(&EpkRange::full());
        let expected = [("", "10", 0), ("10", "20", 5), ("20", "FF", 0)];
        assert_eq!(ChangeFeedPosition::Parts(gaps), parts(&expected));
        assert_eq!(
            ChangeFeedPosition::of(vec![(range("", "FF"), Lsn(9))]),
            one(9)
        );
    }
}
