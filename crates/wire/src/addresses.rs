//! `GET /addresses/`: where clients in direct mode find the replicas of a partition.

use std::borrow::Cow;

use http::Uri;
use orrery_keys::ContainerRid;
use orrery_model::{Failure, RangeId};

use crate::ReplicaPath;
use crate::body::{ObjectWriter, array_of};
use crate::path::RequestPath;
use crate::percent;
use crate::replica_path::REPLICAS;

/// What the query string of the request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressesQuery<'q> {
    resolve_for: Cow<'q, str>,
    filter: Cow<'q, str>,
    ranges: Option<Cow<'q, str>>,
}

impl<'q> AddressesQuery<'q> {
    /// Parses the query string. The parameters come in any order, and a plus sign in a resource id
    /// is a plus sign.
    pub fn of_uri(uri: &'q Uri) -> Result<AddressesQuery<'q>, Failure> {
        let mut query = AddressesQuery::default();
        for parameter in uri.query().unwrap_or_default().split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let decode = |text| percent::decode(text).ok_or_else(unreadable);
            match decode(name)?.as_ref() {
                "$resolveFor" => query.resolve_for = decode(value)?,
                "$filter" => query.filter = decode(value)?,
                "$partitionKeyRangeIds" => query.ranges = Some(decode(value)?),
                _ => {}
            }
        }
        if query.resolve_for.is_empty() {
            return Err(unreadable());
        }
        // The other protocol is HTTPS to the replicas, which only old versions of one SDK speak.
        if !query.filter.is_empty() && !query.filter.to_ascii_lowercase().contains("rntbd") {
            return Err(Failure::NotImplemented(
                "Direct mode speaks TCP only. Use Protocol.Tcp, or gateway mode.".to_owned(),
            ));
        }
        Ok(query)
    }

    /// The path whose partition the client looks for. The client signs this path and not its URL.
    pub fn path(&self) -> Result<RequestPath<'_>, Failure> {
        RequestPath::parse(&self.resolve_for)
    }

    /// Whether the client asks for a range. Without a list it asks for all ranges.
    pub fn wants(&self, range: RangeId) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| {
            let mut ranges = ranges.split(',');
            ranges.any(|text| text.trim().parse() == Ok(range.0))
        })
    }
}

fn unreadable() -> Failure {
    Failure::bad_request(
        "One of the input values is invalid. The request for addresses needs $resolveFor.",
    )
}

/// The body of the answer: the addresses of the replicas of each partition, at one listener.
pub fn addresses_body(
    container: Option<ContainerRid>,
    paths: &[ReplicaPath],
    listener: &str,
) -> Vec<u8> {
    let addresses = paths.iter().flat_map(|path| {
        REPLICAS.iter().enumerate().map(move |(index, replica)| {
            // `physcialUri` and `Addresss` are the spellings of the protocol.
            ObjectWriter::new()
                .literal("isPrimary", index == 0)
                .text("protocol", "rntbd")
                .text("logicalUri", "urn:orrery")
                .text(
                    "physcialUri",
                    &format!("rntbd://{listener}/{path}/{replica}/"),
                )
                .text("partitionIndex", &path.range_text())
                .text("partitionKeyRangeId", &path.range_text())
                .finish()
        })
    });
    let rid = container.map(|rid| rid.to_string()).unwrap_or_default();
    ObjectWriter::new()
        .text("_rid", &rid)
        .raw("Addresss", &array_of(addresses))
        .literal("_count", paths.len() * REPLICAS.len())
        .finish()
}

#[cfg(test)]
mod tests {
    use orrery_keys::DatabaseRid;

    use super::*;

    #[test]
    fn parameters_come_in_any_order() {
        for text in [
            "//addresses/?$resolveFor=dbs%2fPG7zYg%3d%3d%2fcolls%2fPG7zYrxu82I%3d%2fdocs&$filter=protocol%20eq%20rntbd&$partitionKeyRangeIds=0,3",
            "/addresses/?$partitionKeyRangeIds=0%2C3&$filter=protocol%20eq%20rntbd&$resolveFor=dbs%2FPG7zYg%3D%3D%2Fcolls%2FPG7zYrxu82I%3D%2Fdocs%2F",
        ] {
            let uri: Uri = text.parse().unwrap();
            let query = AddressesQuery::of_uri(&uri).unwrap();
            assert!(query.path().unwrap().is_by_rid(), "{text}");
            let wanted: Vec<_> = (0..5).filter(|id| query.wants(RangeId(*id))).collect();
            assert_eq!(wanted, [0, 3], "{text}");
        }
        let uri = Uri::from_static("/addresses/?$resolveFor=dbs");
        assert!(AddressesQuery::of_uri(&uri).unwrap().wants(RangeId(9)));
    }

    #[test]
    fn what_is_not_asked_for_is_refused() {
        for text in [
            "/addresses",
            "/addresses/?$resolveFor=",
            "/addresses/?$resolveFor=%zz",
            "/addresses/?$resolveFor=dbs&$filter=protocol%20eq%20https",
        ] {
            let uri: Uri = text.parse().unwrap();
            assert!(AddressesQuery::of_uri(&uri).is_err(), "{text}");
        }
    }

    #[test]
    fn every_range_has_one_primary() {
        let container = ContainerRid::new(DatabaseRid::new(1), 2);
        let path = ReplicaPath::Range(container, RangeId(3));
        let body = addresses_body(Some(container), &[path], "db:7");
        let text = String::from_utf8(body).unwrap();
        assert_eq!(text.matches("\"isPrimary\":true").count(), 1);
        assert_eq!(text.matches("\"partitionKeyRangeId\":\"3\"").count(), 4);
        assert!(
            text.contains(&format!("\"physcialUri\":\"rntbd://db:7/{path}/1p/\"")),
            "{text}"
        );
        assert!(text.ends_with("\"_count\":4}"), "{text}");
    }
}
