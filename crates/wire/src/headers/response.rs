//! The headers of a response.

use std::fmt::{self, Display, Write as _};
use std::sync::LazyLock;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use orrery_keys::{ContainerRid, DatabaseRid};
use orrery_model::{
    Charge, Etag, Failure, Lsn, NotFoundKind, PartitionLsn, QUOTA_TEXT, RegionSession,
    SCRIPT_QUOTA_TEXT, script_usage_text, usage_text,
};

use super::names;
use crate::percent;
use crate::session_token::SessionToken;
use crate::status::ErrorStatus;

/// A header name checked at compile time. Inserting it allocates nothing.
macro_rules! name {
    ($name:ident) => {
        const { HeaderName::from_static(names::$name) }
    };
}

const GATEWAY_VERSION: HeaderValue = HeaderValue::from_static("version=2.14.0");
const SERVICE_VERSION: HeaderValue =
    HeaderValue::from_static(concat!("version=", env!("CARGO_PKG_VERSION"), ".0"));
const SERVER: HeaderValue = HeaderValue::from_static(concat!("orrery/", env!("CARGO_PKG_VERSION")));

/// The headers with the same value on every response. Cloning the map is cheaper than inserting
/// each header.
static CONSTANT: LazyLock<HeaderMap> = LazyLock::new(|| {
    let mut map = HeaderMap::with_capacity(HEADERS_TYPICAL);
    for (name, value) in [
        (
            names::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        ),
        (names::GATEWAY_VERSION, GATEWAY_VERSION),
        (names::SERVICE_VERSION, SERVICE_VERSION),
        (names::SCHEMA_VERSION, HeaderValue::from_static("1.19")),
        (names::VERSION, HeaderValue::from_static("2020-07-15")),
        (names::NUMBER_OF_READ_REGIONS, HeaderValue::from_static("0")),
        (names::SERVER, SERVER),
    ] {
        map.insert(name, value);
    }
    map
});

/// The number of headers of an answer about an item, with a reserve.
const HEADERS_TYPICAL: usize = 32;

/// Writes headers into the map of a response.
#[derive(Debug)]
pub struct ResponseHeaders {
    map: HeaderMap,
}

/// The owner of the resource in a response, by resource id and by name.
///
/// The owner of an item is its container, and the owner of a container is its database. SDKs file
/// session tokens under the owner.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'r> {
    Database {
        rid: DatabaseRid,
        name: &'r str,
    },
    Container {
        rid: ContainerRid,
        database: &'r str,
        name: &'r str,
    },
}

/// The size of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerUsage {
    pub documents: u64,
    pub kilobytes: u64,
    /// The percentage of the items whose index follows the present indexing policy.
    pub indexed_percent: u8,
}

/// The headers that name an owner, made once and shared by many responses.
#[derive(Debug, Clone)]
pub struct OwnerHeaders {
    content_path: HeaderValue,
    alt_content_path: HeaderValue,
    /// The usage of the container, for answers about its items.
    usage: Option<HeaderValue>,
}

impl OwnerHeaders {
    pub fn new(owner: Owner<'_>) -> OwnerHeaders {
        let (rid, link) = match owner {
            Owner::Database { rid, name } => (rid.to_string(), format!("dbs/{name}")),
            Owner::Container {
                rid,
                database,
                name,
            } => (rid.to_string(), format!("dbs/{database}/colls/{name}")),
        };
        let value = |text: &str| HeaderValue::from_str(text).expect("only visible ASCII is left");
        OwnerHeaders {
            content_path: value(&rid),
            alt_content_path: value(&percent::encode_for_header(&link)),
            usage: None,
        }
    }

    /// The same owner with the quota of the container and the size of its items.
    #[must_use]
    pub fn with_usage(self, documents: u64, kilobytes: u64) -> OwnerHeaders {
        let usage = HeaderValue::from_str(&usage_text(documents, kilobytes)).ok();
        OwnerHeaders { usage, ..self }
    }

    /// The same owner, for a client that must not learn the size of the whole container.
    #[must_use]
    pub fn without_usage(self) -> OwnerHeaders {
        OwnerHeaders {
            usage: None,
            ..self
        }
    }
}

impl ResponseHeaders {
    /// The headers of every response, failures included.
    pub fn new(activity_id: &str, charge: Charge, duration: Duration) -> ResponseHeaders {
        let map = CONSTANT.clone();
        let mut headers = ResponseHeaders { map };
        headers.set(name!(ACTIVITY_ID), activity_id);
        headers.set_display(name!(REQUEST_CHARGE), charge);
        let (whole, thousandths) = (duration.as_millis(), duration.subsec_micros() % 1_000);
        headers.set_display(
            name!(REQUEST_DURATION_MS),
            format_args!("{whole}.{thousandths:03}"),
        );
        headers
    }

    /// The position of the partition that answered, on success and on failure, and the session
    /// token with the present version.
    #[must_use]
    pub fn partition_lsn(
        mut self,
        partition_lsn: PartitionLsn,
        session: &RegionSession,
    ) -> ResponseHeaders {
        let lsn = HeaderValue::from(partition_lsn.lsn.0);
        // Orrery states the same position in all five headers.
        for name in [
            name!(LSN),
            name!(GLOBAL_COMMITTED_LSN),
            name!(QUORUM_ACKED_LSN),
            name!(LLSN),
            name!(QUORUM_ACKED_LLSN),
        ] {
            self.map.insert(name, lsn.clone());
        }
        let range = HeaderValue::from(partition_lsn.range.0);
        self.map
            .insert(name!(PARTITION_KEY_RANGE_ID), range.clone());
        self.map.insert(name!(INTERNAL_PARTITION_ID), range);
        let token = SessionToken {
            session,
            partition_lsn,
        };
        self.set_display(name!(SESSION_TOKEN), token);
        self
    }

    /// The number of regions that answer reads beside the first one. The constant headers contain
    /// 0.
    #[must_use]
    pub fn read_regions(mut self, count: usize) -> ResponseHeaders {
        if count > 0 {
            self.map
                .insert(name!(NUMBER_OF_READ_REGIONS), HeaderValue::from(count));
        }
        self
    }

    /// Replaces the token of [`partition_lsn`](Self::partition_lsn), for answers of several ranges
    /// and for the echo of a token that is ahead. An empty token is not sent.
    #[must_use]
    pub fn session_token(mut self, token: &str) -> ResponseHeaders {
        if !token.is_empty() {
            self.set(name!(SESSION_TOKEN), token);
        }
        self
    }

    #[must_use]
    pub fn owner(mut self, owner: &OwnerHeaders) -> ResponseHeaders {
        self.map
            .insert(name!(CONTENT_PATH), owner.content_path.clone());
        self.map
            .insert(name!(ALT_CONTENT_PATH), owner.alt_content_path.clone());
        if let Some(usage) = &owner.usage {
            self.map
                .insert(name!(RESOURCE_QUOTA), HeaderValue::from_static(QUOTA_TEXT));
            self.map.insert(name!(RESOURCE_USAGE), usage.clone());
        }
        self
    }

    /// The script quota of a container, and the number of scripts of each kind in the order of
    /// [`SCRIPT_QUOTA_TEXT`].
    #[must_use]
    pub fn script_quota(mut self, counts: [usize; 3]) -> ResponseHeaders {
        self.map.insert(
            name!(RESOURCE_QUOTA),
            HeaderValue::from_static(SCRIPT_QUOTA_TEXT),
        );
        self.set(name!(RESOURCE_USAGE), &script_usage_text(counts));
        self
    }

    /// The URL of the item in the answer.
    #[must_use]
    pub fn content_location(mut self, location: HeaderValue) -> ResponseHeaders {
        self.map.insert(name!(CONTENT_LOCATION), location);
        self
    }

    #[must_use]
    pub fn etag(mut self, etag: &Etag) -> ResponseHeaders {
        self.set(name!(ETAG), etag.as_str());
        self
    }

    /// The etag of a feed, which is its continuation.
    #[must_use]
    pub fn feed_etag(mut self, etag: &str) -> ResponseHeaders {
        self.set(name!(ETAG), etag);
        self
    }

    /// The LSN of the transaction that wrote the item.
    #[must_use]
    pub fn item_lsn(mut self, lsn: Lsn) -> ResponseHeaders {
        self.map.insert(name!(ITEM_LSN), HeaderValue::from(lsn.0));
        self.map.insert(name!(ITEM_LLSN), HeaderValue::from(lsn.0));
        self
    }

    #[must_use]
    pub fn item_count(mut self, count: usize) -> ResponseHeaders {
        self.map.insert(name!(ITEM_COUNT), HeaderValue::from(count));
        self
    }

    /// The continuation token. The last page has none.
    #[must_use]
    pub fn continuation(mut self, continuation: Option<&str>) -> ResponseHeaders {
        if let Some(text) = continuation.filter(|text| !text.is_empty()) {
            self.set(name!(CONTINUATION), text);
        }
        self
    }

    /// The quota and the usage of a container.
    #[must_use]
    pub fn container_quota(mut self, usage: ContainerUsage) -> ResponseHeaders {
        let ContainerUsage {
            documents,
            kilobytes,
            indexed_percent,
        } = usage;
        self.map
            .insert(name!(RESOURCE_QUOTA), HeaderValue::from_static(QUOTA_TEXT));
        self.set(name!(RESOURCE_USAGE), &usage_text(documents, kilobytes));
        self.map.insert(
            name!(INDEX_TRANSFORMATION_PROGRESS),
            HeaderValue::from(u16::from(indexed_percent)),
        );
        self
    }

    /// The headers of an answer about throughput.
    #[must_use]
    pub fn offer(mut self, min_throughput: u32, replace_pending: bool) -> ResponseHeaders {
        self.map
            .insert(name!(MIN_THROUGHPUT), HeaderValue::from(min_throughput));
        let pending = if replace_pending { "True" } else { "False" };
        self.map.insert(
            name!(OFFER_REPLACE_PENDING),
            HeaderValue::from_static(pending),
        );
        self
    }

    /// The log of a stored procedure. SDKs decode it like a component of a query string.
    #[must_use]
    pub fn script_log(mut self, log: &str) -> ResponseHeaders {
        self.set(name!(SCRIPT_LOG_RESULTS), &percent::encode_component(log));
        self
    }

    /// Leaves only the name of the owner, without its resource id.
    #[must_use]
    pub fn without_content_path(mut self) -> ResponseHeaders {
        self.map.remove(names::CONTENT_PATH);
        self
    }

    /// The sub-status and the retry delay of a failure, which has no etag. As in Cosmos DB, an
    /// answer of 404 names its owner by name alone.
    #[must_use]
    pub fn failure(mut self, failure: &Failure) -> ResponseHeaders {
        // The etag belongs to a resource, and a failure has none.
        self.map.remove(names::ETAG);
        if matches!(failure, Failure::NotFound(NotFoundKind::Resource)) {
            self = self.without_content_path();
        }
        if let Some(substatus) = ErrorStatus::of(failure).substatus {
            self.map
                .insert(name!(SUBSTATUS), HeaderValue::from(substatus));
        }
        match failure {
            Failure::TooManyRequests { retry_after_ms }
            | Failure::BucketExceeded { retry_after_ms }
            | Failure::BucketsChanging { retry_after_ms }
            | Failure::TooManyScripts { retry_after_ms }
            | Failure::ClientLimitExceeded { retry_after_ms, .. } => {
                self.map
                    .insert(name!(RETRY_AFTER_MS), HeaderValue::from(*retry_after_ms));
            }
            Failure::SessionNotAvailable(token) => self.set(name!(SESSION_TOKEN), token),
            _ => {}
        }
        self
    }

    /// The number of this request since the start of the server, and the start time.
    #[must_use]
    pub fn server_state(mut self, request_number: u32, since: &HeaderValue) -> ResponseHeaders {
        self.map.insert(
            name!(TRANSPORT_REQUEST_ID),
            HeaderValue::from(request_number),
        );
        self.map.insert(name!(LAST_STATE_CHANGE), since.clone());
        self
    }

    /// Any other header. A value that no header can contain is left out.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> ResponseHeaders {
        self.set(HeaderName::from_static(name), value);
        self
    }

    pub fn into_map(self) -> HeaderMap {
        self.map
    }

    fn set(&mut self, name: HeaderName, value: &str) {
        self.set_bytes(name, value.as_bytes());
    }

    fn set_display(&mut self, name: HeaderName, value: impl Display) {
        let mut text = ShortText::default();
        match write!(text, "{value}") {
            Ok(()) => self.set_bytes(name, &text.bytes[..text.length]),
            // A longer text is formatted again on the heap; it is rare.
            Err(fmt::Error) => self.set(name, &value.to_string()),
        }
    }

    fn set_bytes(&mut self, name: HeaderName, value: &[u8]) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            self.map.insert(name, value);
        }
    }
}

/// A buffer on the stack, in which numbers and tokens are formatted before a header copies them.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 32],
    length: usize,
}

impl fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        // A text that does not fit is an error, and the caller formats it on the heap.
        let slot = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        slot.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use orrery_model::RangeId;

    use super::*;

    fn headers() -> ResponseHeaders {
        ResponseHeaders::new(
            "a-1",
            Charge::from_units(5.71),
            Duration::from_micros(1_500),
        )
    }

    fn text(map: &HeaderMap, name: &str) -> String {
        map.get(name)
            .map_or(String::new(), |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn item_responses() {
        let rid = ContainerRid::new(DatabaseRid::new(1), 2);
        let owner = OwnerHeaders::new(Owner::Container {
            rid,
            database: "d é",
            name: "c%",
        });
        let etag = Etag::of_write(0, 1, 0, 2);
        let map = headers()
            .partition_lsn(
                PartitionLsn {
                    range: RangeId(3),
                    lsn: Lsn(12),
                },
                &RegionSession {
                    version: 7,
                    vector: None,
                },
            )
            .read_regions(2)
            .owner(&owner)
            .etag(&etag)
            .item_lsn(Lsn(7))
            .item_count(1)
            .continuation(Some(""))
            .into_map();
        for (name, expected) in [
            (names::CONTENT_TYPE, "application/json"),
            (names::ACTIVITY_ID, "a-1"),
            (names::REQUEST_CHARGE, "5.71"),
            (names::REQUEST_DURATION_MS, "1.500"),
            (names::GATEWAY_VERSION, "version=2.14.0"),
            (names::LSN, "12"),
            (names::GLOBAL_COMMITTED_LSN, "12"),
            (names::SESSION_TOKEN, "3:7#12"),
            (names::NUMBER_OF_READ_REGIONS, "2"),
            (names::PARTITION_KEY_RANGE_ID, "3"),
            (names::CONTENT_PATH, rid.to_string().as_str()),
            (names::ALT_CONTENT_PATH, "dbs/d %C3%A9/colls/c%25"),
            (names::ETAG, etag.as_str()),
            (names::ITEM_LSN, "7"),
            (names::ITEM_COUNT, "1"),
            (names::CONTINUATION, ""),
            (names::SUBSTATUS, ""),
        ] {
            assert_eq!(text(&map, name), expected, "{name}");
        }
        assert!(!map.contains_key(names::CONTINUATION));
    }

    #[test]
    fn failures() {
        let partition_lsn = PartitionLsn {
            range: RangeId(0),
            lsn: Lsn(1),
        };
        let map = headers()
            .partition_lsn(partition_lsn, &RegionSession::SINGLE_REGION)
            .failure(&Failure::SessionNotAvailable("0:-1#9".into()));
        let map = map.into_map();
        assert_eq!(text(&map, names::SUBSTATUS), "1002");
        assert_eq!(text(&map, names::SESSION_TOKEN), "0:-1#9");
        let throttled = headers()
            .failure(&Failure::TooManyRequests { retry_after_ms: 8 })
            .into_map();
        assert_eq!(text(&throttled, names::RETRY_AFTER_MS), "8");
        let missing = headers()
            .failure(&Failure::NOT_FOUND)
            .session_token("")
            .into_map();
        assert!(!missing.contains_key(names::SUBSTATUS));
        assert!(!missing.contains_key(names::SESSION_TOKEN));
    }

    #[test]
    fn logs_of_scripts_are_escaped() {
        let map = headers().script_log("x is 1.\né%").into_map();
        assert_eq!(
            text(&map, names::SCRIPT_LOG_RESULTS),
            "x%20is%201.%0A%C3%A9%25"
        );
    }

    #[test]
    fn quotas_and_offers() {
        let usage = ContainerUsage {
            documents: 2,
            kilobytes: 1,
            indexed_percent: 40,
        };
        let map = headers()
            .container_quota(usage)
            .offer(400, false)
            .into_map();
        let usage = "documentSize=0;documentsSize=1;documentsCount=2;collectionSize=1;";
        assert_eq!(text(&map, names::RESOURCE_USAGE), usage);
        assert_eq!(text(&map, names::INDEX_TRANSFORMATION_PROGRESS), "40");
        assert_eq!(text(&map, names::MIN_THROUGHPUT), "400");
        assert_eq!(text(&map, names::OFFER_REPLACE_PENDING), "False");
    }
}
