//! The session tokens that a client has received, so that its reads see its writes.
//!
//! ```text
//! header = part *("," part)
//! part   = range ":" position
//! ```
//!
//! An answer usually names only the partition key range that served the request, so a token is
//! stored for each range, and the positions of one range are merged.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};

/// The tokens of a client, by the link of the container.
#[derive(Debug, Default)]
pub(crate) struct SessionTokens {
    containers: HashMap<String, ContainerSession>,
}

#[derive(Debug, Default)]
struct ContainerSession {
    /// The resource id of the container, if an answer has named it.
    rid: Option<String>,
    /// The positions of the ranges, by the id of the range.
    ranges: BTreeMap<String, String>,
}

/// A position in a range: `version#lsn`, then `#region=sequence` for each region that writes. The
/// oldest form has only an LSN.
#[derive(Debug, PartialEq, Eq)]
struct SessionPosition {
    version: i64,
    lsn: i64,
    regions: BTreeMap<u32, i64>,
}

impl SessionTokens {
    /// The token for a request to a container, with all ranges of which answers have come.
    pub(crate) fn token(&self, container: &str) -> Option<String> {
        let session = self.containers.get(container)?;
        let mut token = String::new();
        for (range, position) in &session.ranges {
            let before = if token.is_empty() { "" } else { "," };
            write!(token, "{before}{range}:{position}").expect("a string takes any text");
        }
        Some(token)
    }

    /// Records the token of an answer. `rid` is the resource id of the container, if the answer
    /// names it: another container of the same name begins a new session, because its positions
    /// count other records.
    pub(crate) fn record(&mut self, container: &str, rid: Option<&str>, token: &str) {
        let session = self.containers.entry(container.to_owned()).or_default();
        if let Some(rid) = rid {
            if session.rid.as_deref().is_some_and(|known| known != rid) {
                session.ranges.clear();
            }
            session.rid = Some(rid.to_owned());
        }
        // SDKs and servers may leave a comma at the end.
        let parts = token.split(',').map(str::trim);
        for (range, position) in parts.filter_map(|part| part.split_once(':')) {
            match session.ranges.get_mut(range) {
                Some(known) => *known = merged(known, position),
                None => {
                    session.ranges.insert(range.to_owned(), position.to_owned());
                }
            }
        }
    }

    /// Ends the session of a container whose token a server could not satisfy, if the answer names
    /// another container than the session belongs to. Returns whether it did.
    pub(crate) fn end_of_other(&mut self, container: &str, rid: Option<&str>) -> bool {
        let known = self.containers.get(container);
        let known = known.and_then(|session| session.rid.as_deref());
        let is_other = known.is_some() && rid.is_some() && known != rid;
        if is_other {
            self.containers.remove(container);
        }
        is_other
    }
}

/// The position that is at least as far as both. A position in an unknown form replaces the other.
fn merged(known: &str, new: &str) -> String {
    match (SessionPosition::parse(known), SessionPosition::parse(new)) {
        (Some(known), Some(new)) => known.merge(new).to_string(),
        _ => new.to_owned(),
    }
}

impl SessionPosition {
    fn parse(text: &str) -> Option<SessionPosition> {
        let mut pieces = text.split('#');
        let first = pieces.next()?;
        let (version, lsn) = match pieces.next() {
            Some(lsn) => (first.parse().ok()?, lsn.parse().ok()?),
            None => (-1, first.parse().ok()?),
        };
        let regions = pieces.map(|region| {
            let (id, sequence) = region.split_once('=')?;
            Some((id.parse().ok()?, sequence.parse().ok()?))
        });
        Some(SessionPosition {
            version,
            lsn,
            regions: regions.collect::<Option<_>>()?,
        })
    }

    /// The newer version decides the LSN and the set of regions: an older version counts other
    /// records. The sequence of a region continues across versions.
    fn merge(self, other: SessionPosition) -> SessionPosition {
        let (mut newer, older) = if (self.version, self.lsn) >= (other.version, other.lsn) {
            (self, other)
        } else {
            (other, self)
        };
        let is_same = newer.version == older.version;
        for (region, sequence) in older.regions {
            match newer.regions.get_mut(&region) {
                Some(known) => *known = sequence.max(*known),
                None if is_same => {
                    newer.regions.insert(region, sequence);
                }
                None => {}
            }
        }
        newer
    }
}

impl fmt::Display for SessionPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.version, self.lsn)?;
        for (region, sequence) in &self.regions {
            write!(f, "#{region}={sequence}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINER: &str = "dbs/d/colls/c";

    #[test]
    fn an_answer_of_one_range_leaves_the_other_ranges() {
        let mut tokens = SessionTokens::default();
        assert_eq!(tokens.token(CONTAINER), None);
        for (answer, expected) in [
            ("0:-1#5", "0:-1#5"),
            ("1:-1#7", "0:-1#5,1:-1#7"),
            ("0:-1#6", "0:-1#6,1:-1#7"),
            // A region that is behind.
            ("1:-1#3", "0:-1#6,1:-1#7"),
            ("0:-1#8,1:-1#9,", "0:-1#8,1:-1#9"),
            ("nonsense", "0:-1#8,1:-1#9"),
        ] {
            tokens.record(CONTAINER, Some("rid"), answer);
            assert_eq!(tokens.token(CONTAINER).as_deref(), Some(expected));
        }
        assert_eq!(tokens.token("dbs/d/colls/other"), None);
    }

    #[test]
    fn positions_of_a_range_are_merged() {
        for (known, new, expected) in [
            ("-1#5", "-1#4", "-1#5"),
            ("5", "-1#6", "-1#6"),
            ("2#99", "3#1", "3#1"),
            ("3#1", "2#99", "3#1"),
            ("1#5#0=3#1=9", "1#6#0=4#1=2", "1#6#0=4#1=9"),
            ("1#5#0=3#1=9#2=1", "2#1#0=1#1=10", "2#1#0=3#1=10"),
            ("1#5#0=3", "1#5#1=2", "1#5#0=3#1=2"),
            ("1#5", "of another form", "of another form"),
            ("of another form", "1#5", "1#5"),
        ] {
            assert_eq!(merged(known, new), expected, "{known} and {new}");
        }
    }

    #[test]
    fn another_container_of_the_name_begins_a_session() {
        let mut tokens = SessionTokens::default();
        tokens.record(CONTAINER, Some("old"), "0:-1#50,1:-1#50");
        // An answer of 404 names no container.
        tokens.record(CONTAINER, None, "0:-1#51");
        assert_eq!(tokens.token(CONTAINER).unwrap(), "0:-1#51,1:-1#50");
        assert!(!tokens.end_of_other(CONTAINER, Some("old")));
        assert!(!tokens.end_of_other(CONTAINER, None));
        assert_eq!(tokens.token(CONTAINER).unwrap(), "0:-1#51,1:-1#50");
        tokens.record(CONTAINER, Some("new"), "0:-1#1");
        assert_eq!(tokens.token(CONTAINER).unwrap(), "0:-1#1");
        assert!(tokens.end_of_other(CONTAINER, Some("newer")));
        assert_eq!(tokens.token(CONTAINER), None);
    }
}
