//! Writes a response of HTTP as a frame.
//!
//! The clients decide by the positions in an answer whether it counts, also by those of a refusal.
//! So an answer that knows no position of its own repeats the position that the client has sent.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use orrery_rntbd::{ResponseHead, ResponseToken};
use orrery_wire::{ReplicaPath, decode_percent, names};

use super::request::RequestEcho;

/// The position of a partition that was never written. Clients do not believe the position 0.
const LSN_MIN: i64 = 1;

/// Statuses of answers that do not tell the state of a partition.
const WITHOUT_STATE: [u16; 7] = [400, 401, 403, 410, 413, 429, 500];

/// The two parts of a frame: the head with the tokens, and the payload.
pub(super) struct Frame {
    pub(super) head: Bytes,
    pub(super) payload: Bytes,
}

/// The position that an answer states: its number, and its session token without the range.
#[derive(Debug, PartialEq, Eq)]
struct Position {
    lsn: i64,
    session_token: String,
}

/// Writes the frame of a response. `is_invalid` tells the client that no replica can carry out the
/// request.
pub(super) fn write(response: Response<Bytes>, echo: &RequestEcho, is_invalid: bool) -> Frame {
    let (parts, payload) = response.into_parts();
    let mut frame = ResponseHead::new(u32::from(parts.status.as_u16()), echo.activity_id);
    let tokens = &mut frame.tokens;
    tokens.number(ResponseToken::TransportRequestId, echo.transport_request_id);
    let position = position(parts.status, &parts.headers, echo);
    // One number for all replicas: nothing that the client compares differs.
    for token in [
        ResponseToken::LSN,
        ResponseToken::LocalLSN,
        ResponseToken::QuorumAckedLSN,
        ResponseToken::QuorumAckedLocalLSN,
        ResponseToken::GlobalCommittedLSN,
    ] {
        tokens.number(token, position.lsn);
    }
    tokens.number(ResponseToken::CurrentReplicaSetSize, 1);
    tokens.number(ResponseToken::CurrentWriteQuorum, 1);
    if let Some(ReplicaPath::Range(container, range)) = echo.replica {
        tokens.text(ResponseToken::SessionToken, &position.session_token);
        // The answer may come from another range than the path names, after a split.
        let own = text(&parts.headers, names::PARTITION_KEY_RANGE_ID);
        let own = own.map_or_else(|| range.to_string(), str::to_owned);
        tokens.text(ResponseToken::PartitionKeyRangeId, &own);
        // Under HTTP a 404 has no resource id of its owner.
        let owner = text(&parts.headers, names::CONTENT_PATH);
        let owner = owner.map_or_else(|| container.to_string(), str::to_owned);
        tokens.text(ResponseToken::OwnerId, &owner);
    }
    if is_invalid {
        tokens.number(ResponseToken::RequestValidationFailure, 1);
    }
    for (name, value) in &parts.headers {
        write_token(name.as_str(), value, &mut frame);
    }
    Frame {
        head: frame.finish(payload.len()),
        payload,
    }
}

/// The position of the partition that answered. Without one, the position in the session token of
/// the client.
fn position(status: StatusCode, headers: &HeaderMap, echo: &RequestEcho) -> Position {
    let own = own_position(headers);
    let sent = echo.session_token.as_deref().map(|token| Position {
        lsn: lsn_in(token).max(LSN_MIN),
        session_token: token.to_owned(),
    });
    // A refusal counts for the client only at a position that the client has reached.
    let is_behind = |own: &Position| {
        let sent_lsn = sent.as_ref().map_or(0, |sent| sent.lsn);
        WITHOUT_STATE.contains(&status.as_u16()) && own.lsn < sent_lsn
    };
    let own = own.filter(|own| !is_behind(own));
    own.or(sent).unwrap_or_else(|| Position {
        lsn: LSN_MIN,
        session_token: format!("-1#{LSN_MIN}"),
    })
}

fn own_position(headers: &HeaderMap) -> Option<Position> {
    let lsn: i64 = text(headers, names::LSN)?.parse().ok()?;
    let tokens = text(headers, names::SESSION_TOKEN)?;
    let range = text(headers, names::PARTITION_KEY_RANGE_ID);
    // A token of several ranges has a part for each; the part of the named range is the one.
    let mut parts = tokens.split(',').filter_map(|part| part.split_once(':'));
    let first = parts.clone().next();
    let (_, token) = parts.find(|(id, _)| Some(*id) == range).or(first)?;
    Some(Position {
        lsn: lsn.max(LSN_MIN),
        session_token: token.to_owned(),
    })
}

/// The position in a session token without a range: `-1#12`, `1#12#1=8`.
fn lsn_in(token: &str) -> i64 {
    let mut fields = token.split('#');
    let second = fields.nth(1);
    second.and_then(|lsn| lsn.parse().ok()).unwrap_or(LSN_MIN)
}

/// Writes the token of one header. Headers without a token are of HTTP alone, or were written
/// before.
fn write_token(name: &str, value: &HeaderValue, frame: &mut ResponseHead) {
    let tokens = &mut frame.tokens;
    let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
        return;
    };
    if let Some(token) = text_token(name) {
        // A report that is longer than a token can be is left out; continuations are bounded.
        tokens.text(token, text);
    } else if let Some(token) = number_token(name)
        && let Ok(number) = text.parse()
    {
        tokens.number(token, number);
    } else if let Some(token) = double_token(name)
        && let Ok(number) = text.parse()
    {
        tokens.double(token, number);
    } else if name == names::ALT_CONTENT_PATH {
        // The header escapes what a header cannot contain.
        let link = decode_percent(text);
        tokens.text(
            ResponseToken::OwnerFullName,
            link.as_deref().unwrap_or(text),
        );
    } else if name == names::QUERY_REQUIRES_DISTRIBUTION {
        let flag = text.eq_ignore_ascii_case("true");
        tokens.number(ResponseToken::RequiresDistribution, i64::from(flag));
    }
}

fn text_token(header: &str) -> Option<ResponseToken> {
    Some(match header {
        names::ETAG => ResponseToken::ETag,
        names::CONTINUATION => ResponseToken::ContinuationToken,
        names::RESOURCE_QUOTA => ResponseToken::StorageMaxResoureQuota,
        names::RESOURCE_USAGE => ResponseToken::StorageResourceQuotaUsage,
        names::LAST_STATE_CHANGE => ResponseToken::LastStateChangeDateTime,
        names::SCHEMA_VERSION => ResponseToken::SchemaVersion,
        names::SCRIPT_LOG_RESULTS => ResponseToken::LogResults,
        names::QUERY_METRICS => ResponseToken::QueryMetrics,
        names::INDEX_UTILIZATION => ResponseToken::IndexUtilization,
        names::QUERY_EXECUTION_INFO => ResponseToken::QueryExecutionInfo,
        _ => return None,
    })
}

fn number_token(header: &str) -> Option<ResponseToken> {
    Some(match header {
        names::SUBSTATUS => ResponseToken::SubStatus,
        names::RETRY_AFTER_MS => ResponseToken::RetryAfterMilliseconds,
        names::ITEM_COUNT => ResponseToken::ItemCount,
        names::ITEM_LSN => ResponseToken::ItemLSN,
        names::ITEM_LLSN => ResponseToken::ItemLocalLSN,
        names::NUMBER_OF_READ_REGIONS => ResponseToken::NumberOfReadRegions,
        names::INDEX_TRANSFORMATION_PROGRESS => ResponseToken::CollectionUpdateProgress,
        _ => return None,
    })
}

fn double_token(header: &str) -> Option<ResponseToken> {
    Some(match header {
        names::REQUEST_CHARGE => ResponseToken::RequestCharge,
        names::REQUEST_DURATION_MS => ResponseToken::BackendRequestDurationMilliseconds,
        _ => return None,
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_refusal_repeats_the_position_of_the_client() {
        let at_seven = headers(&[
            (names::LSN, "7"),
            (names::SESSION_TOKEN, "3:-1#7"),
            (names::PARTITION_KEY_RANGE_ID, "3"),
        ]);
        let unwritten = headers(&[(names::LSN, "0"), (names::SESSION_TOKEN, "0:-1#0")]);
        let several = headers(&[
            (names::LSN, "9"),
            (names::SESSION_TOKEN, "4:-1#8,3:-1#9"),
            (names::PARTITION_KEY_RANGE_ID, "3"),
        ]);
        let nothing = HeaderMap::new();
        for (status, headers, sent, lsn, token) in [
            (200, &at_seven, None, 7, "-1#7"),
            (200, &at_seven, Some("-1#9"), 7, "-1#7"),
            (404, &at_seven, Some("-1#9"), 7, "-1#7"),
            (429, &at_seven, Some("-1#9"), 9, "-1#9"),
            (429, &at_seven, Some("-1#2"), 7, "-1#7"),
            (401, &nothing, Some("2#12#1=3"), 12, "2#12#1=3"),
            (401, &nothing, Some("nonsense"), 1, "nonsense"),
            (410, &nothing, None, 1, "-1#1"),
            (200, &unwritten, None, 1, "-1#0"),
            (200, &several, None, 9, "-1#9"),
        ] {
            let echo = RequestEcho {
                session_token: sent.map(str::to_owned),
                ..RequestEcho::default()
            };
            let found = position(StatusCode::from_u16(status).unwrap(), headers, &echo);
            let expected = Position {
                lsn,
                session_token: token.to_owned(),
            };
            assert_eq!(found, expected, "{status} {sent:?}");
        }
    }
}
