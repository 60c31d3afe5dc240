//! Session tokens: how far a client has read or written, for each physical partition.
//!
//! ```text
//! header = part *("," part)
//! part   = range ":" token
//! token  = "-1#" lsn | version "#" lsn *("#" region "=" lsn) | lsn
//! ```
//!
//! An account of one region writes the first form. With several it is the second: the version rises
//! with every change of the write region and of the members, and decides before positions do. What a
//! token of an older version names was part of another history, or of fewer regions: it passes.

use std::fmt::{self, Write as _};

use orrery_model::{Failure, Lsn, RangeId, Stamp};

/// One part of a token. Ranges that are not numbers belong to no partition of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPart {
    pub range: Option<RangeId>,
    pub version: i64,
    pub lsn: Lsn,
}

/// Where the serving range is.
#[derive(Debug, Clone, Copy)]
pub struct SessionPosition<'r> {
    pub range: RangeId,
    /// Ranges this one was split from; their parts count too.
    pub ancestors: &'r [RangeId],
    pub version: i64,
    pub lsn: Lsn,
}

/// Version of the tokens of an account of one region, and of those that name none.
pub const SINGLE_REGION_VERSION: i64 = -1;

/// The token of one range: `0:-1#12`.
#[derive(Debug, Clone, Copy)]
pub struct SessionToken {
    pub version: i64,
    pub stamp: Stamp,
}

impl fmt::Display for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionToken { version, stamp } = self;
        write!(f, "{}:{version}#{}", stamp.range, stamp.lsn)
    }
}

/// The token of an answer of several ranges.
pub fn session_token(version: i64, stamps: &[Stamp]) -> String {
    let mut token = String::new();
    for (place, stamp) in stamps.iter().copied().enumerate() {
        let before = if place == 0 { "" } else { "," };
        let part = SessionToken { version, stamp };
        write!(token, "{before}{part}").expect("a string takes any text");
    }
    token
}

/// Reads a token. Every part must be well formed, also those of unrelated ranges.
pub fn parse_session_token(token: &str) -> impl Iterator<Item = Result<SessionPart, Failure>> + '_ {
    token.split(',').map(move |part| {
        parse_part(part.trim()).ok_or_else(|| {
            Failure::BadRequest(format!("The session token provided '{token}' is invalid."))
        })
    })
}

/// Whether the serving range has reached what the token names.
pub fn check_session_token(token: &str, position: SessionPosition<'_>) -> Result<(), Failure> {
    let mut is_behind = false;
    for part in parse_session_token(token) {
        let part = part?;
        let concerns = part
            .range
            .is_some_and(|range| range == position.range || position.ancestors.contains(&range));
        let ahead = part.version > position.version
            || (part.version == position.version && part.lsn > position.lsn);
        is_behind |= concerns && ahead;
    }
    if is_behind {
        Err(Failure::SessionNotAvailable(token.to_owned()))
    } else {
        Ok(())
    }
}

fn parse_part(part: &str) -> Option<SessionPart> {
    let (range, token) = part.split_once(':')?;
    if range.is_empty() {
        return None;
    }
    let mut pieces = token.split('#');
    let first = pieces.next()?;
    let (version, lsn) = match pieces.next() {
        Some(lsn) => (first.parse().ok()?, parse_lsn(lsn)?),
        None => (SINGLE_REGION_VERSION, parse_lsn(first)?),
    };
    for region in pieces {
        let (id, lsn) = region.split_once('=')?;
        id.parse::<u32>().ok()?;
        parse_lsn(lsn)?;
    }
    Some(SessionPart {
        range: range.parse().ok().map(RangeId),
        version,
        lsn,
    })
}

/// A client that has seen nothing may say -1.
fn parse_lsn(text: &str) -> Option<Lsn> {
    match text {
        "-1" => Some(Lsn(0)),
        text => text.parse().ok().map(Lsn),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(token: &str) -> Result<(), Failure> {
        check_at(SINGLE_REGION_VERSION, token)
    }

    fn check_at(version: i64, token: &str) -> Result<(), Failure> {
        let ancestors = [RangeId(0)];
        let position = SessionPosition {
            range: RangeId(2),
            ancestors: &ancestors,
            version,
            lsn: Lsn(10),
        };
        check_session_token(token, position)
    }

    #[test]
    fn only_tokens_of_this_range_or_its_ancestors_hold_a_read_back() {
        for (token, served) in [
            ("2:-1#10", true),
            ("2:-1#11", false),
            ("2:10", true),
            ("2:11", false),
            ("0:-1#10", true),
            ("0:-1#11", false),
            ("1:-1#99", true),
            ("M:-1#99", true),
            ("1:-1#99,2:-1#10", true),
            ("1:-1#99, 2:-1#11", false),
            ("2:1#5", false),
            ("2:-2#99", true),
            ("2:-1#10#1=4#2=9", true),
            ("2:-1#-1", true),
        ] {
            let expected = if served {
                Ok(())
            } else {
                Err(Failure::SessionNotAvailable(token.to_owned()))
            };
            assert_eq!(check(token), expected, "{token}");
        }
    }

    #[test]
    fn versions_decide_before_positions() {
        for (version, token, served) in [
            (7, "2:7#10", true),
            (7, "2:7#11", false),
            (7, "2:6#99", true),
            (7, "2:8#1", false),
            (7, "2:-1#99", true),
            (7, "2:99", true),
            (7, "1:8#99", true),
            (7, "0:8#1", false),
            (7, "2:7#10#1=99", true),
            (0, "2:0#10", true),
            (0, "2:0#11", false),
            (-1, "2:0#1", false),
        ] {
            let found = check_at(version, token).is_ok();
            assert_eq!(found, served, "{token} at version {version}");
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        for token in [
            "",
            "x",
            "0",
            "0:",
            ":1",
            "0:a#1",
            "0:1#a",
            "0:1#2#3",
            "0:1#2#a=3",
            "0:-1#1,",
        ] {
            let expected = format!("The session token provided '{token}' is invalid.");
            assert_eq!(check(token), Err(Failure::BadRequest(expected)), "{token}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let stamp = |(range, lsn)| Stamp {
            range: RangeId(range),
            lsn: Lsn(lsn),
        };
        let stamps = [(0, 12), (1, 3)].map(stamp);
        for (version, expected) in [(-1, "0:-1#12,1:-1#3"), (5, "0:5#12,1:5#3")] {
            let token = session_token(version, &stamps);
            assert_eq!(token, expected);
            let parts: Result<Vec<_>, _> = parse_session_token(&token).collect();
            let part = |Stamp { range, lsn }| SessionPart {
                range: Some(range),
                version,
                lsn,
            };
            assert_eq!(parts, Ok(stamps.map(part).to_vec()));
        }
        assert_eq!(session_token(5, &[]), "");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(token in ".*") {
            let _ = check(&token);
        }
    }
}
