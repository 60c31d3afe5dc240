//! Session tokens: how far a client has read or written, for each physical partition.
//!
//! ```text
//! header = part *("," part)
//! part   = range ":" token
//! token  = "-1#" lsn | version "#" lsn *("#" region "=" lsn) | lsn
//! ```
//!
//!
//! An account of one region writes the first form. An account with several regions writes the
//! second: the version rises with every change of the write region and of the members, and is
//! compared before positions. A position in a token of an older version is of another history or of
//! fewer regions, so it is ignored.
//!
//! In a multi-write account the positions of partitions have no meaning in other regions. There a
//! token contains the applied position of the account stream and of the stream of each region, the
//! same for all partitions of an answer. The streams of regions continue across versions, so an
//! older token still counts for the regions that remain.

use std::fmt::{self, Write as _};

use orrery_model::{Failure, Lsn, PartitionLsn, RangeId, RegionSession};

/// One part of a token. Range names that are not numbers belong to no partition of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPart {
    pub range: Option<RangeId>,
    pub version: i64,
    pub lsn: Lsn,
    /// The positions of the regions' streams, by the number of the region.
    pub locals: Vec<(u32, u64)>,
}

/// The position of the partition that serves the request.
#[derive(Debug, Clone, Copy)]
pub struct SessionPosition<'r> {
    pub range: RangeId,
    /// The ancestor ranges, from which splits made this range. Their parts of a token apply to it
    /// too.
    pub ancestors: &'r [RangeId],
    pub session: &'r RegionSession,
    pub lsn: Lsn,
}

/// The token of one range: `0:-1#12`.
#[derive(Debug, Clone, Copy)]
pub struct SessionToken<'s> {
    pub session: &'s RegionSession,
    pub partition_lsn: PartitionLsn,
}

impl fmt::Display for SessionToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionToken {
            session,
            partition_lsn,
        } = self;
        let RegionSession { version, vector } = session;
        let Some(vector) = vector else {
            return write!(f, "{}:{version}#{}", partition_lsn.range, partition_lsn.lsn);
        };
        write!(f, "{}:{version}#{}", partition_lsn.range, vector.global)?;
        for (region, sequence) in &vector.locals {
            write!(f, "#{region}={sequence}")?;
        }
        Ok(())
    }
}

/// The token of an answer from several ranges.
pub fn session_token(session: &RegionSession, partition_lsns: &[PartitionLsn]) -> String {
    let mut token = String::new();
    for (index, partition_lsn) in partition_lsns.iter().copied().enumerate() {
        let before = if index == 0 { "" } else { "," };
        let part = SessionToken {
            session,
            partition_lsn,
        };
        write!(token, "{before}{part}").expect("a string takes any text");
    }
    token
}

/// Parses a token. Every part must be well formed, also parts of unrelated ranges. A comma may
/// follow the last part: SDKs that join the parts of several tokens leave it there.
pub fn parse_session_token(token: &str) -> impl Iterator<Item = Result<SessionPart, Failure>> + '_ {
    let parts = token.strip_suffix(',').unwrap_or(token);
    parts.split(',').map(move |part| {
        parse_part(part.trim()).ok_or_else(|| {
            Failure::BadRequest(format!("The session token provided '{token}' is invalid."))
        })
    })
}

/// Checks that the serving partition has reached the positions in the token.
pub fn check_session_token(token: &str, position: SessionPosition<'_>) -> Result<(), Failure> {
    let mut is_behind = false;
    // A malformed part fails the whole token, so the loop does not stop at the first part that is
    // ahead.
    for part in parse_session_token(token) {
        let part = part?;
        let concerns = part
            .range
            .is_some_and(|range| range == position.range || position.ancestors.contains(&range));
        is_behind |= concerns && is_ahead(&part, position.session, position.lsn);
    }
    if is_behind {
        Err(Failure::SessionNotAvailable(token.to_owned()))
    } else {
        Ok(())
    }
}

/// Whether this region has every record that a token names, in all ranges. In a multi-write account
/// only a region with these records may accept a write from a client that has seen them.
pub fn has_reached(session: &RegionSession, token: &str) -> bool {
    let parts = parse_session_token(token).filter_map(Result::ok);
    session.vector.is_none()
        || !parts
            .into_iter()
            .any(|part| is_ahead(&part, session, part.lsn))
}

fn is_ahead(part: &SessionPart, session: &RegionSession, lsn: Lsn) -> bool {
    let is_same = part.version == session.version;
    // A newer version is another history with records that this region may not have.
    if part.version > session.version {
        return true;
    }
    // Without a vector the versions decide first, and positions only within one version.
    let Some(vector) = &session.vector else {
        return is_same && part.lsn > lsn;
    };
    // An unknown region in the token has left the account; its stream is not compared.
    let lacks = |(region, sequence): &(u8, u64)| {
        let mut locals = part.locals.iter();
        locals.any(|(other, wanted)| *other == u32::from(*region) && wanted > sequence)
    };
    // The account stream is compared only within one version: another version may count other
    // records.
    (is_same && part.lsn.0 > vector.global) || vector.locals.iter().any(lacks)
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
        // The oldest form has only a position.
        None => (RegionSession::SINGLE_REGION.version, parse_lsn(first)?),
    };
    let locals = pieces.map(|region| {
        let (id, lsn) = region.split_once('=')?;
        Some((id.parse().ok()?, parse_lsn(lsn)?.0))
    });
    Some(SessionPart {
        range: range.parse().ok().map(RangeId),
        version,
        lsn,
        locals: locals.collect::<Option<_>>()?,
    })
}

/// The LSN of a part. A client that has seen no records may send -1.
fn parse_lsn(text: &str) -> Option<Lsn> {
    match text {
        "-1" => Some(Lsn(0)),
        text => text.parse().ok().map(Lsn),
    }
}

#[cfg(test)]
mod tests {
    use orrery_model::SessionVector;
    use proptest::prelude::*;

    use super::*;

    fn check(token: &str) -> Result<(), Failure> {
        check_at(RegionSession::SINGLE_REGION.version, token)
    }

    fn check_at(version: i64, token: &str) -> Result<(), Failure> {
        let session = RegionSession {
            version,
            vector: None,
        };
        check_in(&session, token)
    }

    fn check_in(session: &RegionSession, token: &str) -> Result<(), Failure> {
        let position = SessionPosition {
            range: RangeId(2),
            ancestors: &[RangeId(0)],
            session,
            lsn: Lsn(10),
        };
        check_session_token(token, position)
    }

    /// Version 7, account stream 5, region 0 at 20 and region 3 at 30.
    fn multi_write() -> RegionSession {
        RegionSession {
            version: 7,
            vector: Some(SessionVector {
                global: 5,
                locals: vec![(0, 20), (3, 30)],
            }),
        }
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
    fn where_every_region_writes_streams_decide() {
        for (token, served) in [
            ("2:7#5#0=20#3=30", true),
            ("2:7#4#0=1#3=30", true),
            ("2:7#6#0=20#3=30", false),
            ("2:7#5#0=21#3=30", false),
            ("2:7#5#0=20#3=31", false),
            ("2:7#5", true),
            ("1:7#5#0=21#3=30", true),
            ("0:7#5#0=21#3=30", false),
            ("2:8#1#0=1", false),
            ("2:6#99#0=20", true),
            ("2:6#1#0=21", false),
            ("2:6#1#1=99", true),
            ("2:-1#99", true),
        ] {
            let found = check_in(&multi_write(), token).is_ok();
            assert_eq!(found, served, "{token}");
        }
    }

    #[test]
    fn a_write_waits_for_every_part() {
        let alone = RegionSession::SINGLE_REGION;
        for (session, token, expected) in [
            (&alone, "0:-1#99", true),
            (&alone, "0:9#99#0=99", true),
            (&multi_write(), "", true),
            (&multi_write(), "nonsense", true),
            (&multi_write(), "0:7#5#0=20#3=30,1:7#5#0=20#3=30", true),
            (&multi_write(), "0:7#5#0=20#3=30,1:7#5#0=20#3=31", false),
            (&multi_write(), "9:8#1", false),
        ] {
            assert_eq!(has_reached(session, token), expected, "{token}");
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
            "0:-1#1,,",
        ] {
            let expected = format!("The session token provided '{token}' is invalid.");
            assert_eq!(check(token), Err(Failure::BadRequest(expected)), "{token}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let partition_lsn = |(range, lsn)| PartitionLsn {
            range: RangeId(range),
            lsn: Lsn(lsn),
        };
        let partition_lsns = [(0, 12), (1, 3)].map(partition_lsn);
        for (version, expected) in [(-1, "0:-1#12,1:-1#3"), (5, "0:5#12,1:5#3")] {
            let session = RegionSession {
                version,
                vector: None,
            };
            let token = session_token(&session, &partition_lsns);
            assert_eq!(token, expected);
            let parts: Result<Vec<_>, _> = parse_session_token(&token).collect();
            let part = |PartitionLsn { range, lsn }| SessionPart {
                range: Some(range),
                version,
                lsn,
                locals: Vec::new(),
            };
            assert_eq!(parts, Ok(partition_lsns.map(part).to_vec()));
        }
        let token = session_token(&multi_write(), &partition_lsns);
        assert_eq!(token, "0:7#5#0=20#3=30,1:7#5#0=20#3=30");
        let locals = vec![(0, 20), (3, 30)];
        assert!(parse_session_token(&token).all(|part| part.unwrap().locals == locals));
        assert_eq!(session_token(&RegionSession::SINGLE_REGION, &[]), "");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(token in ".*") {
            let _ = check(&token);
        }
    }
}
